"""Fit of the prior of leaves to the outputs alone (empirical Bayes, which is post-processing).

Every parent of leaves has an unknown mean rate. Given it, the leaves are independent and have a common shape. The shape
is unknown, and so is the beta distribution of the parents' rates. The prior averages over all of them, weighted by the
outputs of *the other* parents: the posterior already counts the parent's own outputs. If parents were assumed to differ
more than they do (any rate equally likely, or each parent's noisy estimate), leaves would look more alike than they
are, and intervals would be too short.

Shapes are beta-binomials of several spreads (`BetaBinomialShape`), or a mixture of kinds of leaves with fitted shares
(`MixtureShape`). Mixtures have many parameters, so they are tested on leaves that were not used to fit them.

One prior for all leaves, or a flat prior, makes margins worse: a flat prior pulls every rate to one half, and a common
prior pulls every parent to the others.
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
from inbounds.adjust.spreads import LEAF_ROOTS, PARENT_ROOTS
from inbounds.adjust.tree import Tree
from inbounds.exact import Floats, Ints

SPREADS = tuple(root**2 for root in LEAF_ROOTS)
"""Candidate correlations of two people of one leaf; 0 is the binomial."""

PASSES = 3
MATCHED = 50
"""How often each value of a shape is computed where halves of the leaves are compared, and how many products with a
output cost as much as computing one value."""

NEGLIGIBLE = 0.02
"""Shapes with a smaller probability are left out."""

PARENT_SPREADS = tuple(root**2 for root in PARENT_ROOTS)
"""Candidate correlations of the beta distributions of parents' rates."""

RATES = 9
REACH = 3.5
"""Number of rates of a parent's grid, and its half width in standard deviations."""

KINDS = 41
ROUNDS = 2000
SETTLED = 1e-6
"""Number of candidate rates of a kind of leaf; largest number of EM steps for their shares; change at which EM stops.
"""

WIDEST = 256
"""Mixtures are considered for leaves with fewer values than this, since they are computed for all values, and only if
there are at least as many leaves as kinds: a mixture has a parameter for each kind."""

PORTION = 1 << 22
"""Largest number of rates × values in memory at a time."""


def fit_local_rates(tree: Tree, reports: Sequence[LevelReports]) -> Rates:
    """Fit the rates of every parent of leaves, and the shapes, to the outputs about leaves and parents.

    The grid of rates must be as fine as the combined information of leaves and parent. Rates further apart would make
    the posterior of the parent a comb of separate peaks.
    """
    distinct = _DistinctReports.from_reports(tree.sizes[0], tree.parents[0], reports[0])
    steps = _steps(tree.sizes[1])
    evidence = _evidence(distinct, _rate(steps), reports[1])
    likely = _select_shapes(evidence, steps)
    places = [_grid(evidence[shape], steps) for shape in likely]
    weights = np.concatenate(
        [_interpolate(prior, steps, at) * _spacing(at) for prior, at in zip(likely.values(), places, strict=True)],
        axis=1,
    )
    rates = _rate(np.concatenate(places, axis=1))
    return Rates(tree.sizes[0], tree.parents[0], rates, _scale_mass(weights), tuple(likely))


def fit_label_rates(sizes: Ints, label: Ints, parents: int, reports: LevelReports) -> LabelRates:
    """Fit the rates of labels, which leaves of different parents share, and the shapes to the outputs about the
    leaves.
    """
    distinct = _DistinctReports.from_reports(sizes, label, reports)
    steps = _steps(np.bincount(label, sizes))
    evidence: Evidence = {
        shape: distinct.log_evidence(_rate(steps), shape) for shape in map(BetaBinomialShape, SPREADS)
    }
    shape_shares = _shares(evidence)
    shapes = tuple(shape for shape, chance in shape_shares.items() if chance > NEGLIGIBLE)
    chances = np.array([shape_shares[shape] for shape in shapes]) / sum(shape_shares[shape] for shape in shapes)
    places = [_grid(evidence[shape], steps) for shape in shapes]
    by_shape = [
        chance * _scale_mass(np.exp(_interpolate(_peak(evidence[shape]), steps, at)))
        for shape, at, chance in zip(shapes, places, chances, strict=True)
    ]
    rates = _rate(np.concatenate(places, axis=1))
    return LabelRates(sizes, label, rates, np.concatenate(by_shape, axis=1), shapes, np.ones((parents, 1)))


# --- which shapes, and how common each rate is --------------------------------------------------------------

Evidence = dict[Shape, Floats]
"""The log probability of each parent's outputs for every shape, parents × rates."""


def _evidence(distinct: "_DistinctReports", rates: Floats, sums: LevelReports) -> Evidence:
    """Compute the evidence of all candidate shapes from the outputs about leaves and parents."""
    if int(distinct.sizes.max()) >= WIDEST or distinct.counts.sum() < KINDS:
        return {shape: distinct.log_evidence(rates, shape, sums) for shape in map(BetaBinomialShape, SPREADS)}
    return _evidence_by_halves(distinct, rates, sums)


def _evidence_by_halves(distinct: "_DistinctReports", rates: Floats, sums: LevelReports) -> Evidence:
    """Compute the evidence of the beta-binomials, or of a mixture if it predicts held-out leaves better.

    The values of a shape are computed once for both halves and for the sums.
    """
    halves, of_halves, of_sums = distinct.halves, (Evidence(), Evidence()), Evidence()
    for shape in map(BetaBinomialShape, SPREADS):
        moments = distinct.moments(rates, shape, 2)
        for half, evidence in zip(halves, of_halves, strict=True):
            evidence[shape] = half.log_evidence_of_leaves(moments)
        of_sums[shape] = distinct.log_evidence_of_sums(moments, sums)
    every: Evidence = {shape: of_halves[0][shape] + of_halves[1][shape] for shape in of_sums}
    gain = -2 * _total(every)
    for fitted, before, held_out in zip(halves, of_halves, halves[::-1], strict=True):
        kinds = fitted.kinds()
        moments = distinct.moments(rates, kinds, 0)
        log_evidence = fitted.log_evidence_of_leaves(moments)
        both = log_evidence + held_out.log_evidence_of_leaves(moments)
        gain += _total({kinds: both}) - _total({kinds: log_evidence})
        gain += _total(before)
    if gain <= 0:
        return {shape: every[shape] + of_sums[shape] for shape in every}
    kinds = distinct.kinds()
    return {kinds: distinct.log_evidence(rates, kinds, sums)}


def _total(evidence: Mapping[Any, Floats]) -> float:
    """Compute the log probability of all outputs, with shapes and rates equally likely."""
    return float(logsumexp([_parent_log_mean(log).sum() for log in evidence.values()])) - float(np.log(len(evidence)))


def _parent_log_mean(log: Floats) -> Floats:
    """Compute log mean exp over rates: the log probability of each parent's outputs."""
    top = log.max(axis=1)
    return np.asarray(top + np.log(np.exp(log - top[:, None]).mean(axis=1)))


def _shares(evidence: Evidence) -> dict[Shape, float]:
    """Compute the probability of each shape, averaged over rates."""
    log = np.array([_parent_log_mean(by_rate).sum() for by_rate in evidence.values()])
    return dict(zip(evidence, np.exp(log - logsumexp(log)).tolist(), strict=True))


def _select_shapes(evidence: Evidence, steps: Floats) -> dict[Shape, Floats]:
    """Select the shapes that are likely given all outputs, each with a joint prior of shape and rate, parents × rates.

    With E_u(shape, population) the probability of the outputs about parent u, averaged over a population's rates, the
    weight of both for parent v is Π_{u ≠ v} E_u.
    """
    betas, log_priors = _populations(steps)
    log = np.array([_population_evidence(by_rate, betas) for by_rate in evidence.values()])
    total = log.sum(axis=1) + log_priors
    chances = np.exp(logsumexp(total, axis=1) - logsumexp(total))
    likely = np.flatnonzero(chances > NEGLIGIBLE)
    rest = total[likely, None] - log[likely]
    weights = np.exp(rest - logsumexp(rest, axis=(0, 2), keepdims=True))
    shapes = list(evidence)
    return {shapes[k]: by_population @ betas for k, by_population in zip(likely.tolist(), weights, strict=True)}


def _populations(steps: Floats) -> tuple[Floats, Floats]:
    """Build the candidate beta distributions on the steps, as rows, and the log prior probability of each.

    On the scale of the steps the standard deviations are √spread/π, and the means are that far apart. All deviations
    are equally likely, and for each deviation all means.
    """
    rate, densities, log_priors = _rate(steps), [], []
    for spread in PARENT_SPREADS:
        means = _rate(_midpoints(int(np.ceil(np.pi / np.sqrt(spread)))))[:, None]
        a, b = means * (1 / spread - 1), (1 - means) * (1 / spread - 1)
        densities.append(_scale_mass(_peaked_mass(xlogy(a - 0.5, rate) + xlog1py(b - 0.5, -rate))))
        log_priors += [-np.log(len(PARENT_SPREADS) * len(means))] * len(means)
    return np.concatenate(densities), np.array(log_priors)


def _population_evidence(log_evidence: Floats, betas: Floats) -> Floats:
    """Compute the log probability of each parent's outputs, averaged over the rates of each population."""
    top = log_evidence.max(axis=1, keepdims=True)
    return np.asarray(top + np.log(np.maximum(np.exp(log_evidence - top) @ betas.T, 1e-300)))


def _spacing(places: Floats) -> Floats:
    """Return the distance between the places of each row."""
    return np.asarray(places[:, 1:2] - places[:, :1])


def _peak(log: Floats) -> Floats:
    """Shift each row so that its largest value is 0."""
    return np.asarray(log - log.max(axis=1, keepdims=True))


def _peaked_mass(log: Floats) -> Floats:
    """Exponentiate each row, scaled so that its largest value is 1."""
    return np.asarray(np.exp(_peak(log)))


def _scale_mass(mass: Floats) -> Floats:
    """Scale each row to sum to one."""
    return np.asarray(mass / mass.sum(axis=1, keepdims=True))


def _interpolate(rows: Floats, steps: Floats, places: Floats) -> Floats:
    """Interpolate each row, a function on the steps, at its places."""
    at = np.clip(np.searchsorted(steps, places) - 1, 0, len(steps) - 2)
    part = np.clip((places - steps[at]) / (steps[at + 1] - steps[at]), 0.0, 1.0)
    below, above = np.take_along_axis(rows, at, axis=1), np.take_along_axis(rows, at + 1, axis=1)
    return np.asarray(below * (1 - part) + above * part)


# --- grids of rates -----------------------------------------------------------------------------------------


def _steps(sizes: Ints | Floats | np.int64) -> Floats:
    """Build a grid of (0, 1) as fine as the rate of the largest parent can be known."""
    count = int(np.clip(8 * np.sqrt(sizes.max()), 100, 600))
    return _midpoints(count)


def _midpoints(count: int) -> Floats:
    """Return the midpoints of `count` equal parts of (0, 1)."""
    return np.asarray((np.arange(count) + 0.5) / count)


def _rate(t: Floats) -> Floats:
    """Convert t = (2/π)·arcsin √p, a scale on which every rate is known about equally well, to the rate p."""
    return np.asarray(np.sin(t * np.pi / 2) ** 2)


def _grid(log_evidence: Floats, t: Floats) -> Floats:
    """Place RATES points around the mean of each parent's posterior of t, within REACH deviations and (0, 1)."""
    post = _scale_mass(_peaked_mass(log_evidence))
    mean = post @ t
    step = 1 / len(t)
    deviation = np.sqrt(np.maximum(post @ t**2 - mean**2, (0.3 * step) ** 2))
    low = np.maximum(mean - REACH * deviation, step / 4)
    high = np.minimum(mean + REACH * deviation, 1 - step / 4)
    return np.asarray(low[:, None] + (high - low)[:, None] * np.linspace(0, 1, RATES))


# --- cost of the fit    ------------------------------------------------------------------------------------


def window_size(size: int, far: int, rates: int) -> int:
    """Return how many values are processed together: all of a short range, else about half the reach of an output."""
    return size + 1 if size < WIDEST else min(max(far, WIDEST // 4), PORTION // rates, size + 1)


def fitting_cost(sizes: Ints, reports: LevelReports) -> int:
    """Bound the number of values of shapes that the fit computes, for any outputs."""
    rates, far, values = len(_steps(sizes.sum())), reach(reports), 0
    for size, leaves in zip(*(column.tolist() for column in np.unique(sizes, return_counts=True)), strict=True):
        near = min(size + 1, 2 * far + 2 * window_size(size, far, rates))
        values += min(size + 1, leaves * near) + min(leaves, size + 1) * near // MATCHED
    passes = 1 if int(sizes.max()) >= WIDEST else PASSES
    return passes * len(SPREADS) * rates * values


# --- distinct outputs ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _DistinctReports:
    """The distinct outputs about leaves: size, an example leaf of each, and how often each parent has it.

    odd: the same counts over every other leaf.
    """

    sizes: Ints
    leaves: Ints
    reports: LevelReports
    counts: sparse.csr_matrix
    odd: sparse.csr_matrix

    @classmethod
    def from_reports(cls, leaf_sizes: Ints, parent: Ints, reports: LevelReports) -> "_DistinctReports":
        """Count equal pairs of size and output for every parent."""
        pairs = np.stack([leaf_sizes, reports.y])
        (sizes, _), leaf, which = np.unique(pairs, axis=1, return_index=True, return_inverse=True)
        shape = int(parent.max()) + 1, len(leaf)
        counts, odd = (
            sparse.csr_matrix((weights, (parent, which)), shape=shape)
            for weights in (np.ones(len(which)), np.arange(len(which)) % 2.0)
        )
        return cls(sizes, leaf, reports, counts, odd)

    @property
    def halves(self) -> tuple["_DistinctReports", "_DistinctReports"]:
        """The outputs of every other leaf, and those of the rest."""
        one, other = (replace(self, counts=half, odd=half) for half in (self.odd, self.counts - self.odd))
        return one, other

    def log_evidence(self, rates: Floats, shape: Shape, sums: LevelReports | None = None) -> Floats:
        """Compute the log probability of the outputs about a parent's leaves, and `sums` about itself, parents ×
        rates.
        """
        moments = self.moments(rates, shape, 0 if sums is None else 2)
        of_leaves = self.log_evidence_of_leaves(moments)
        return of_leaves if sums is None else of_leaves + self.log_evidence_of_sums(moments, sums)

    def log_evidence_of_leaves(self, moments: Floats) -> Floats:
        """Compute the log probability of the outputs about a parent's leaves from the moments of a shape."""
        return np.asarray(self.counts @ np.log(moments[0]))

    def log_evidence_of_sums(self, moments: Floats, sums: LevelReports) -> Floats:
        """Approximate the log probability of the outputs about parents, given the rate and the leaves' outputs.

        It is that of a normal density, which is accurate enough to place a grid. The means and variances of the leaves
        given their outputs add up. Treating the sums as independent of the leaves' outputs, which are about the same
        people, would make leaves look more alike than they are.
        """
        chances, first, second = moments
        mean = first / chances
        variance = sums.variance + self.counts @ np.maximum(second / chances - mean**2, 0.0) + 1e-9
        return np.asarray(-((sums.y[:, None] - self.counts @ mean) ** 2) / (2 * variance) - np.log(variance) / 2)

    def moments(self, rates: Floats, shape: Shape, most: int) -> Floats:
        """Compute E[x^power; output] of a leaf of each mean rate, powers 0..most × distinct outputs × rates.

        At power 0 this is the probability of the output. Only values within reach of the outputs are used.
        """
        moments = np.full((most + 1, len(self.sizes), len(rates)), 1e-300)
        for size in np.unique(self.sizes):
            for which, low, width in self._windows(int(size), len(rates)):
                x = low + np.arange(width)
                leaf = np.exp(shape.log_mass(x, np.asarray(size), rates[:, None])).T
                weighted = np.exp(self.reports.log_likelihood(self.leaves[which], np.full(len(which), low), width))
                for moment in moments:
                    moment[which] += weighted @ leaf
                    weighted = weighted * x
        return moments

    def _windows(self, size: int, rates: int) -> Iterator[tuple[Ints, int, int]]:
        """Yield the outputs within reach of each run of values of leaves of this size, with its start and length."""
        which, far = np.flatnonzero(self.sizes == size), reach(self.reports)
        run = window_size(size, far, rates)
        y = self.reports.y[self.leaves[which]]
        first, last = np.maximum(y - far, 0) // run, np.minimum(y + far, size) // run
        for k in np.unique(np.concatenate([np.arange(a, b + 1) for a, b in zip(first, last, strict=True)])).tolist():
            yield which[(first <= k) & (k <= last)], k * run, min(run, size + 1 - k * run)

    def kinds(self) -> MixtureShape:
        """Fit the shares of the kinds of leaves by expectation maximization from equal shares."""
        rates = _rate(_midpoints(KINDS))
        chances, counts = (
            self.moments(rates, BetaBinomialShape(0.0), 0)[0],
            np.asarray(self.counts.sum(axis=0)).ravel(),
        )
        shares = np.full(KINDS, 1 / KINDS)
        for _ in range(ROUNDS):
            before, shares = shares, shares * (chances.T @ (counts / (chances @ shares))) / counts.sum()
            if np.abs(shares - before).max() < SETTLED:
                break
        used = shares > 1e-4
        return MixtureShape(rates[used], shares[used] / shares[used].sum())
