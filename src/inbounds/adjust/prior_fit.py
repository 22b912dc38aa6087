"""The prior of leaves, learned from the reports alone (empirical Bayes: post-processing).

Every parent of leaves has a mean rate, unknown, and given it the leaves are independent, of a common shape. Which shape
is unknown too, and so is the beta distribution that parents' rates are from. All of it is averaged over, as likely as
*the other* parents' reports make it together: one's own are counted once, by the posterior. Were parents thought to
differ more than they do (any rate alike, or what each says of itself, noise and all), leaves would look more alike
than they are, and intervals would be too short.

Shapes are beta-binomials of several spreads (`BetaBinomialShape`), or leaves of several kinds whose shares are
learned (`MixtureShape`).
Kinds have many parameters, so they are judged by leaves that they were not learned from.

One prior for all leaves, or a flat one, makes margins worse: a flat prior pulls every rate to one half, and a common
one every parent to the others.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import logsumexp, xlog1py, xlogy

from inbounds.adjust.likelihoods import LevelReports, reach
from inbounds.adjust.prior import LabelRates, Rates
from inbounds.adjust.prior_shapes import BetaBinomialShape, MixtureShape, Shape
from inbounds.adjust.tree import Tree
from inbounds.exact import Floats, Ints

SPREADS = tuple((k / 16) ** 2 for k in range(14))
"""Correlations of two people of one leaf that are tried; 0 is the binomial.

Their roots, standard deviations of rates within a parent, are equally likely beforehand, as Gelman (2006) advises.
"""

PASSES = 3
MATCHED = 50
"""How often each value of a shape is computed where halves of the leaves are compared, and how many products with a
report cost as much as computing one value."""

NEGLIGIBLE = 0.02
"""Shapes of less probability are left out."""

PARENT_SPREADS = tuple((k / 16) ** 2 for k in (1, 2, 3, 4, 5, 6, 8, 10, 8 * np.sqrt(2)))
"""Correlations of the beta distributions of parents' rates that are tried; at 1/2 they are nearly flat in arcsin √p."""

RATES = 9
REACH = 3.5
"""Rates of a parent's grid, and its half width in standard deviations."""

KINDS = 41
ROUNDS = 2000
SETTLED = 1e-6
"""Rates that a kind of leaf may have; most steps of expectation and maximization for their shares, and when to stop."""

WIDEST = 256
FEWEST = 50
"""Values of a leaf up to which kinds are considered, and leaves from which on."""

PORTION = 1 << 22
"""Rates × values that are held at a time."""


def fit_local_rates(tree: Tree, reports: Sequence[LevelReports]) -> Rates:
    """The rates of every parent of leaves and their shapes, from the reports about the leaves and about the parents.

    The grid must be as fine as what leaves and parent say together: rates further apart than that make a comb of the
    parent's posterior.
    """
    told = _DistinctReports.from_reports(tree.sizes[0], tree.parents[0], reports[0])
    steps = _steps(tree.sizes[1])
    evidence = _evidence(told, _rate(steps), reports[1])
    likely = _likely(evidence, steps)
    places = [_grid(evidence[shape], steps) for shape in likely]
    weights = np.concatenate(
        [_interpolate(own, steps, at) * _spacing(at) for own, at in zip(likely.values(), places, strict=True)], axis=1
    )
    rates = _rate(np.concatenate(places, axis=1))
    return Rates(tree.sizes[0], tree.parents[0], rates, _scale_mass(weights), tuple(likely))


def fit_label_rates(sizes: Ints, label: Ints, parents: int, reports: LevelReports) -> LabelRates:
    """The rates of labels that leaves of different parents share, and shapes, from the reports about the leaves."""
    told = _DistinctReports.from_reports(sizes, label, reports)
    steps = _steps(np.bincount(label, sizes))
    evidence: Evidence = {shape: told.log_evidence(_rate(steps), shape) for shape in map(BetaBinomialShape, SPREADS)}
    every = _shares(evidence)
    shapes = tuple(shape for shape, chance in every.items() if chance > NEGLIGIBLE)
    chances = np.array([every[shape] for shape in shapes]) / sum(every[shape] for shape in shapes)
    places = [_grid(evidence[shape], steps) for shape in shapes]
    known = [
        chance * _scale_mass(np.exp(_interpolate(_peak(evidence[shape]), steps, own)))
        for shape, own, chance in zip(shapes, places, chances, strict=True)
    ]
    rates = _rate(np.concatenate(places, axis=1))
    return LabelRates(sizes, label, rates, np.concatenate(known, axis=1), shapes, np.ones((parents, 1)))


# --- which shapes, and how common each rate is --------------------------------------------------------------

Evidence = dict[Shape, Floats]
"""For every shape, parents × rates: the log probability of a parent's reports."""


def _evidence(told: "_DistinctReports", rates: Floats, sums: LevelReports) -> Evidence:
    """Of all shapes that are tried, from the reports about leaves and parents."""
    if int(told.sizes.max()) >= WIDEST or told.counts.sum() < FEWEST:
        return {shape: told.log_evidence(rates, shape, sums) for shape in map(BetaBinomialShape, SPREADS)}
    own = _evidence_of_leaves(told, rates)
    return {shape: log + told.log_evidence_of_sums(rates, shape, sums) for shape, log in own.items()}


def _evidence_of_leaves(told: "_DistinctReports", rates: Floats) -> Evidence:
    """Of the beta-binomials, or of kinds where those foretell leaves better."""
    alike = [BetaBinomialShape(spread) for spread in SPREADS]
    halves = told.halves
    of_halves = [{shape: half.log_evidence(rates, shape) for shape in alike} for half in halves]
    every: Evidence = {shape: of_halves[0][shape] + of_halves[1][shape] for shape in alike}
    gain = 0.0
    for known, before, new in zip(halves, of_halves, halves[::-1], strict=True):
        kinds = known.kinds()
        own = known.log_evidence(rates, kinds)
        gain += _total({kinds: own + new.log_evidence(rates, kinds)}) - _total({kinds: own})
        gain -= _total(every) - _total(before)
    if gain <= 0:
        return every
    kinds = told.kinds()
    return {kinds: told.log_evidence(rates, kinds)}


def _total(evidence: Mapping[Any, Floats]) -> float:
    """The log probability of all reports, shapes and rates equally likely."""
    return float(logsumexp([_parent_log_mean(own).sum() for own in evidence.values()])) - float(np.log(len(evidence)))


def _parent_log_mean(log: Floats) -> Floats:
    """log mean exp over rates: the log probability of each parent's reports."""
    return np.asarray(logsumexp(log, axis=1) - np.log(log.shape[1]))


def _shares(evidence: Evidence) -> dict[Shape, float]:
    """How likely each shape is, whatever the rates."""
    log = np.array([_parent_log_mean(own).sum() for own in evidence.values()])
    return dict(zip(evidence, np.exp(log - logsumexp(log)).tolist(), strict=True))


def _likely(evidence: Evidence, steps: Floats) -> dict[Shape, Floats]:
    """The shapes that all reports leave likely, each with a prior, parents × rates: of the shape and the rate together.

    With E_u(shape, population) the probability of the reports about parent u, averaged over a population's rates, the
    weight of both for parent v is Π_{u ≠ v} E_u.
    """
    betas, beforehand = _populations(steps)
    log = np.array([_log_of_populations(own, betas) for own in evidence.values()])
    total = log.sum(axis=1) + beforehand
    chances = np.exp(logsumexp(total, axis=1) - logsumexp(total))
    kept = np.flatnonzero(chances > NEGLIGIBLE)
    rest = total[kept, None] - log[kept]
    weights = np.exp(rest - logsumexp(rest, axis=(0, 2), keepdims=True))
    shapes = list(evidence)
    return {shapes[k]: own @ betas for k, own in zip(kept.tolist(), weights, strict=True)}


def _populations(steps: Floats) -> tuple[Floats, Floats]:
    """Beta distributions on the steps, as rows, and the log chance of each.

    Standard deviations on the scale of the steps are √spread/π, and means that far apart; all deviations are equally
    likely beforehand, and all means of each.
    """
    rate, rows, beforehand = _rate(steps), [], []
    for spread in PARENT_SPREADS:
        means = _rate(_midpoints(int(np.ceil(np.pi / np.sqrt(spread)))))[:, None]
        a, b = means * (1 / spread - 1), (1 - means) * (1 / spread - 1)
        rows.append(_scale_mass(_peaked_mass(xlogy(a - 0.5, rate) + xlog1py(b - 0.5, -rate))))
        beforehand += [-np.log(len(PARENT_SPREADS) * len(means))] * len(means)
    return np.concatenate(rows), np.array(beforehand)


def _log_of_populations(log_evidence: Floats, betas: Floats) -> Floats:
    """parents × populations: the log probability of each parent's reports, averaged over the rates of each."""
    top = log_evidence.max(axis=1, keepdims=True)
    return np.asarray(top + np.log(np.maximum(np.exp(log_evidence - top) @ betas.T, 1e-300)))


def _spacing(places: Floats) -> Floats:
    """How far apart the places of each row are: what a place stands for."""
    return np.asarray(places[:, 1:2] - places[:, :1])


def _peak(log: Floats) -> Floats:
    return np.asarray(log - log.max(axis=1, keepdims=True))


def _peaked_mass(log: Floats) -> Floats:
    return np.asarray(np.exp(_peak(log)))


def _scale_mass(mass: Floats) -> Floats:
    return np.asarray(mass / mass.sum(axis=1, keepdims=True))


def _interpolate(rows: Floats, steps: Floats, places: Floats) -> Floats:
    """Each row's function of the steps at its places."""
    at = np.clip(np.searchsorted(steps, places) - 1, 0, len(steps) - 2)
    part = np.clip((places - steps[at]) / (steps[at + 1] - steps[at]), 0.0, 1.0)
    below, above = np.take_along_axis(rows, at, axis=1), np.take_along_axis(rows, at + 1, axis=1)
    return np.asarray(below * (1 - part) + above * part)


# --- grids of rates -----------------------------------------------------------------------------------------


def _steps(sizes: Ints | Floats | np.int64) -> Floats:
    """A grid of (0, 1) as fine as the largest parent may be known."""
    many = int(np.clip(8 * np.sqrt(sizes.max()), 100, 600))
    return _midpoints(many)


def _midpoints(many: int) -> Floats:
    """The middles of so many equal parts of (0, 1)."""
    return np.asarray((np.arange(many) + 0.5) / many)


def _rate(t: Floats) -> Floats:
    """From the scale on which every rate is known about equally well, (2/π)·arcsin √p, back to p."""
    return np.asarray(np.sin(t * np.pi / 2) ** 2)


def _grid(log_evidence: Floats, t: Floats) -> Floats:
    """parents × RATES places around the mean of each parent's posterior of t, as far as REACH, inside (0, 1)."""
    post = _scale_mass(_peaked_mass(log_evidence))
    mean = post @ t
    step = 1 / len(t)
    deviation = np.sqrt(np.maximum(post @ t**2 - mean**2, (0.3 * step) ** 2))
    low = np.maximum(mean - REACH * deviation, step / 4)
    high = np.minimum(mean + REACH * deviation, 1 - step / 4)
    return np.asarray(low[:, None] + (high - low)[:, None] * np.linspace(0, 1, RATES))


# --- what learning costs ------------------------------------------------------------------------------------


def window_size(size: int, far: int, rates: int) -> int:
    """Values that are looked at together: all of short ranges, else about half of what one report reaches."""
    return size + 1 if size < WIDEST else min(max(far, WIDEST // 4), PORTION // rates, size + 1)


def fitting_cost(sizes: Ints, reports: LevelReports) -> int:
    """The most values of a shape that learning a prior of leaves has to compute, whatever was reported."""
    rates, far, values = len(_steps(sizes.sum())), reach(reports), 0
    for size, leaves in zip(*(own.tolist() for own in np.unique(sizes, return_counts=True)), strict=True):
        near = min(size + 1, 2 * far + 2 * window_size(size, far, rates))
        values += min(size + 1, leaves * near) + min(leaves, size + 1) * near // MATCHED
    passes = 1 if int(sizes.max()) >= WIDEST else PASSES
    return passes * len(SPREADS) * rates * values


# --- what reports say ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _DistinctReports:
    """Reports about leaves without repetition: size, a leaf that has each, and how often each parent has it."""

    sizes: Ints
    leaves: Ints
    reports: LevelReports
    counts: sparse.csr_matrix
    odd: sparse.csr_matrix

    @classmethod
    def from_reports(cls, leaf_sizes: Ints, parent: Ints, reports: LevelReports) -> "_DistinctReports":
        pairs = np.stack([leaf_sizes, reports.y])
        (sizes, _), leaf, which = np.unique(pairs, axis=1, return_index=True, return_inverse=True)
        shape = int(parent.max()) + 1, len(leaf)
        counts, odd = (
            sparse.csr_matrix((own, (parent, which)), shape=shape)
            for own in (np.ones(len(which)), np.arange(len(which)) % 2.0)
        )
        return cls(sizes, leaf, reports, counts, odd)

    @property
    def halves(self) -> tuple["_DistinctReports", "_DistinctReports"]:
        """Every other leaf, and the rest."""
        one, other = (replace(self, counts=own, odd=own) for own in (self.odd, self.counts - self.odd))
        return one, other

    def log_evidence(self, rates: Floats, shape: Shape, sums: LevelReports | None = None) -> Floats:
        """parents × rates: the log probability of a parent's leaves' reports if that is its rate; and of its own."""
        moments = self._moments(rates, shape, 0 if sums is None else 2)
        of_leaves = np.asarray(self.counts @ np.log(moments[0]))
        return of_leaves if sums is None else of_leaves + self._log_evidence_of_sums(moments, sums)

    def log_evidence_of_sums(self, rates: Floats, shape: Shape, sums: LevelReports) -> Floats:
        """parents × rates: the log probability of the parents' own reports, given their leaves' and the rate."""
        return self._log_evidence_of_sums(self._moments(rates, shape, 2), sums)

    def _log_evidence_of_sums(self, moments: Floats, sums: LevelReports) -> Floats:
        """Normal, enough to place a grid: the leaves' means and variances given their reports add up.

        Taken as independent of the leaves' reports, which are about the same people, it would make leaves look more
        alike than they are.
        """
        chances, first, second = moments
        mean = first / chances
        variance = sums.variance + self.counts @ np.maximum(second / chances - mean**2, 0.0) + 1e-9
        return np.asarray(-((sums.y[:, None] - self.counts @ mean) ** 2) / (2 * variance) - np.log(variance) / 2)

    def _moments(self, rates: Floats, shape: Shape, most: int) -> Floats:
        """powers 0..most × distinct reports × rates: E[x^power; report] of a leaf of that mean rate.

        At power 0 it is the report's probability. Values are looked at within reach of the reports alone.
        """
        found = np.full((most + 1, len(self.sizes), len(rates)), 1e-300)
        for size in np.unique(self.sizes):
            for told, low, width in self._windows(int(size), len(rates)):
                x = low + np.arange(width)
                leaf = np.exp(shape.log_mass(x, np.asarray(size), rates[:, None])).T
                weighed = np.exp(self.reports.log_likelihood(self.leaves[told], np.full(len(told), low), width))
                for moment in found:
                    moment[told] += weighed @ leaf
                    weighed = weighed * x
        return found

    def _windows(self, size: int, rates: int) -> Iterator[tuple[Ints, int, int]]:
        """Runs of values of leaves of a size, with the reports that they are within reach of."""
        told, far = np.flatnonzero(self.sizes == size), reach(self.reports)
        run = window_size(size, far, rates)
        y = self.reports.y[self.leaves[told]]
        first, last = np.maximum(y - far, 0) // run, np.minimum(y + far, size) // run
        for k in np.unique(np.concatenate([np.arange(a, b + 1) for a, b in zip(first, last, strict=True)])).tolist():
            yield told[(first <= k) & (k <= last)], k * run, min(run, size + 1 - k * run)

    def kinds(self) -> MixtureShape:
        """The kinds of leaves, by expectation and maximization from equal shares."""
        rates = _rate(_midpoints(KINDS))
        chances, counts = (
            self._moments(rates, BetaBinomialShape(0.0), 0)[0],
            np.asarray(self.counts.sum(axis=0)).ravel(),
        )
        shares = np.full(KINDS, 1 / KINDS)
        for _ in range(ROUNDS):
            before, shares = shares, shares * (chances.T @ (counts / (chances @ shares))) / counts.sum()
            if np.abs(shares - before).max() < SETTLED:
                break
        kept = shares > 1e-4
        return MixtureShape(rates[kept], shares[kept] / shares[kept].sum())
