"""How likely the true values of the leaves are, estimated from the reports alone (empirical Bayes: post-processing).

Every parent of leaves has a rate p, unknown, on a small grid around what its reports say, weighed by how common each
rate is among all parents, as far as reports tell, on the scale arcsin √p. Given p its leaves are independent
beta-binomials, with one correlation `spread` for all parents, by marginal likelihood. One prior for all leaves, or
a flat one, makes margins worse: a flat prior pulls every rate to one half, and a common one every parent to the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import sparse
from scipy.special import betaln, gammaln

from inbounds.numbers import Floats, Ints
from inbounds.tables.adding.reports import Reports
from inbounds.tables.adding.tree import Tree

SPREADS = (0.0, 0.003, 0.01, 0.03, 0.06, 0.1, 0.2, 0.35, 0.6)
"""Correlations of two people of one leaf that are tried; 0 is the binomial."""

VAGUE = 10.0
"""Parents that equal weights count as."""

CAUTION = 0.75
"""Standard deviations that are added to the estimated spread."""

RATES = 9
REACH = 3.5
"""Rates of a parent's grid, and its half width in standard deviations."""


class Prior(Protocol):
    """Classes of every parent of leaves, and what its leaves are given each."""

    @property
    def weights(self) -> Floats:
        """parents × classes."""
        ...

    def log_mass(self, leaves: slice, low: Ints, width: int) -> Floats:
        """leaves × classes × window."""
        ...


@dataclass(frozen=True, eq=False)
class Rates:
    """Beta-binomial leaves with rates[parent, class], and the correlation `spread` within a leaf."""

    sizes: Ints
    parent: Ints
    rates: Floats
    weights: Floats
    spread: float

    def log_mass(self, leaves: slice, low: Ints, width: int) -> Floats:
        given, again = _given(self.sizes[leaves], self.parent[leaves], self.rates, self.spread, low, width)
        return np.asarray(given[again])


def _given(sizes: Ints, owner: Ints, rates: Floats, spread: float, low: Ints, width: int) -> tuple[Floats, Ints]:
    """log Pr[x] by rate for each kind of leaf there is, kinds × rates × window, and which kind every leaf is."""
    kinds = np.stack([owner, sizes, low])
    _, first, again = np.unique(kinds, axis=1, return_index=True, return_inverse=True)
    x = low[first][:, None, None] + np.arange(width)
    return log_beta_binomial(x, sizes[first][:, None, None], rates[owner[first]][..., None], spread), again


@dataclass(frozen=True, eq=False)
class LabelRates:
    """Beta-binomial leaves whose rate belongs to their label, averaged over rates[label]: one class for each parent."""

    sizes: Ints
    label: Ints
    rates: Floats
    spread: float
    weights: Floats

    def log_mass(self, leaves: slice, low: Ints, width: int) -> Floats:
        given, again = _given(self.sizes[leaves], self.label[leaves], self.rates, self.spread, low, width)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.exp(given).mean(axis=1))[again][:, None, :])


@dataclass(frozen=True, eq=False)
class TablePrior:
    """Any prior: mass[leaf, class, x]."""

    mass: Floats
    weights: Floats

    def log_mass(self, leaves: slice, low: Ints, width: int) -> Floats:
        own = self.mass[leaves]
        x = low[:, None, None] + np.arange(width)
        at = np.clip(x, 0, own.shape[-1] - 1)
        with np.errstate(divide="ignore"):
            taken = np.log(np.take_along_axis(own, np.broadcast_to(at, (*own.shape[:2], width)), axis=-1))
        return np.where(at == x, taken, -np.inf)


def log_beta_binomial(x: Ints, size: Ints, rate: Floats, spread: float) -> Floats:
    """log Pr[x] of a beta-binomial on 0..size with mean size·rate; -inf outside.

    spread: the correlation of two members, 1/(a + b + 1); at 0 it is the binomial.
    """
    inside = (x >= 0) & (x <= size)
    k = np.clip(x, 0, size)
    choices = gammaln(size + 1.0) - gammaln(k + 1.0) - gammaln(size - k + 1.0)
    if spread == 0.0:
        chance = k * np.log(rate) + (size - k) * np.log1p(-rate)
    else:
        a, b = rate * (1 / spread - 1), (1 - rate) * (1 / spread - 1)
        chance = betaln(k + a, size - k + b) - betaln(a, b)
    return np.where(inside, choices + chance, -np.inf)


def local_rates(tree: Tree, reports: Sequence[Reports]) -> Rates:
    """The rates of every parent of leaves and the spread, from the reports about the leaves and about the parents.

    The grid must be as fine as what leaves and parent say together: rates further apart than that make a comb of the
    parent's posterior.
    """
    told = _Told.of(tree.sizes[0], tree.parents[0], reports[0])
    steps = _steps(tree.sizes[1])
    evidence = {
        spread: told.log_evidence(_rate(steps), spread)
        + _log_evidence_of_parents(tree, reports[1], _rate(steps), spread)
        for spread in SPREADS
    }
    spread, places = _likeliest(evidence, steps)
    weights = np.interp(places, steps, _pooled(evidence[_nearest(evidence, spread)]))
    weights /= weights.sum(axis=1, keepdims=True)
    return Rates(tree.sizes[0], tree.parents[0], _rate(places), weights, spread)


def _pooled(log_evidence: Floats) -> Floats:
    """How common each rate is among the parents, as far as their reports tell: the mean of what each says of itself.

    One step from equal weights and no more: what it converges to follows the noise. A few parents say little about each
    other, so equal weights count as VAGUE more of them.
    """
    post = np.exp(log_evidence - log_evidence.max(axis=1, keepdims=True))
    post /= post.sum(axis=1, keepdims=True)
    return np.asarray((post.sum(axis=0) + VAGUE / post.shape[1]) / (len(post) + VAGUE))


def label_rates(sizes: Ints, label: Ints, parents: int, reports: Reports) -> LabelRates:
    """The rates of labels that leaves of different parents share, and the spread, from the reports about the leaves."""
    told = _Told.of(sizes, label, reports)
    steps = _steps(np.bincount(label, sizes))
    spread, places = _likeliest({own: told.log_evidence(_rate(steps), own) for own in SPREADS}, steps)
    return LabelRates(sizes, label, _rate(places), spread, np.ones((parents, 1)))


def _steps(sizes: Ints | Floats) -> Floats:
    """A grid of (0, 1) as fine as the largest parent may be known."""
    many = int(np.clip(8 * np.sqrt(sizes.max()), 100, 600))
    return np.asarray((np.arange(many) + 0.5) / many)


def _likeliest(evidence: dict[float, Floats], steps: Floats) -> tuple[float, Floats]:
    """The spread by marginal likelihood, and places on the grid around what it says of each parent.

    Vague reports tell little of the spread, and one that is too small makes intervals too short. So it is the mean over
    those that are tried, weighed by their likelihood, and CAUTION standard deviations more.
    """
    tried = np.array(list(evidence))
    log = np.array([float(_log_mean_exp(own).sum()) for own in evidence.values()])
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    mean = float(weight @ tried)
    spread = mean + CAUTION * float(np.sqrt(weight @ (tried - mean) ** 2))
    return spread, _grid(evidence[_nearest(evidence, spread)], steps)


def _nearest(evidence: dict[float, Floats], spread: float) -> float:
    return min(evidence, key=lambda own: abs(own - spread))


def _rate(t: Floats) -> Floats:
    """From the scale on which every rate is known about equally well, (2/π)·arcsin √p, back to p."""
    return np.asarray(np.sin(t * np.pi / 2) ** 2)


def _log_evidence_of_parents(tree: Tree, reports: Reports, rates: Floats, spread: float) -> Floats:
    """parents × rates: a normal approximation, enough to place a grid.

    The sum of beta-binomials has the variance Σ size·p·(1 - p)·(1 + (size - 1)·spread), and the report its own.
    """
    size = tree.sizes[1].astype(np.float64)[:, None]
    pairs = np.bincount(tree.parents[0], tree.sizes[0] * (tree.sizes[0] - 1.0))[:, None]
    variance = reports.variance + (size + spread * pairs) * rates * (1 - rates)
    return np.asarray(-((reports.y[:, None] - size * rates) ** 2) / (2 * variance) - np.log(variance) / 2)


def _grid(log_evidence: Floats, t: Floats) -> Floats:
    """parents × RATES places around the mean of each parent's posterior of t, as far as REACH, inside (0, 1)."""
    post = np.exp(log_evidence - log_evidence.max(axis=1, keepdims=True))
    post /= post.sum(axis=1, keepdims=True)
    mean = post @ t
    step = 1 / len(t)
    deviation = np.sqrt(np.maximum(post @ t**2 - mean**2, (0.3 * step) ** 2))
    low = np.maximum(mean - REACH * deviation, step / 4)
    high = np.minimum(mean + REACH * deviation, 1 - step / 4)
    return np.asarray(low[:, None] + (high - low)[:, None] * np.linspace(0, 1, RATES))


def _log_mean_exp(log: Floats) -> Floats:
    top = log.max(axis=1)
    return np.asarray(top + np.log(np.exp(log - top[:, None]).mean(axis=1)))


@dataclass(frozen=True, eq=False)
class _Told:
    """Reports about leaves without repetition: size, likelihood of each, and how often each parent has it."""

    sizes: Ints
    likelihoods: tuple[Floats, ...]
    counts: sparse.csr_matrix

    @classmethod
    def of(cls, leaf_sizes: Ints, parent: Ints, reports: Reports) -> "_Told":
        pairs = np.stack([leaf_sizes, reports.y])
        (sizes, _), leaf, which = np.unique(pairs, axis=1, return_index=True, return_inverse=True)
        counts = sparse.csr_matrix((np.ones(len(which)), (parent, which)))
        likelihoods = [
            np.exp(reports.log_likelihood(leaf[sizes == size], np.zeros((sizes == size).sum(), np.int64), size + 1))
            for size in np.unique(sizes)
        ]
        return cls(sizes, tuple(likelihoods), counts)

    def log_evidence(self, rates: Floats, spread: float) -> Floats:
        """parents × rates: the log probability of a parent's reports if that is its rate."""
        rows = []
        for size, likelihood in zip(np.unique(self.sizes), self.likelihoods, strict=True):
            leaf = np.exp(log_beta_binomial(np.arange(size + 1), size, rates[:, None], spread))
            rows.append(np.log(likelihood @ leaf.T + 1e-300))
        return np.asarray(self.counts @ np.concatenate(rows))
