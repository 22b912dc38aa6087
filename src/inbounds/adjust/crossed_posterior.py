"""The posterior where leaves belong to two trees: cells to rows and columns, labels of groups to regions and sizes.

No elimination order is short on a two-way table, so the two trees exchange what each says of the leaves, until they
agree (loopy sum-product). Within each tree the posterior is exact; what is approximate is that each tree takes what the
other says of one leaf and of the next as independent.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inbounds.adjust.likelihoods import LevelReports, NoReports
from inbounds.adjust.margins import adjust_by_branch
from inbounds.adjust.posterior import Marginals, posterior
from inbounds.adjust.prior import Prior, TablePrior
from inbounds.adjust.tree import Tree
from inbounds.exact import Floats, Ints

ROUNDS = 40
SETTLED = 1e-4
"""The trees have agreed when no probability of a leaf differs by more; they stop after ROUNDS in any case."""

DAMPING = 0.3
"""How much of the message before is kept: without it two margins can overshoot in turn."""

LEAST = 1e-13
"""Probabilities below it are noise of the transforms."""

FAINTEST = -25.0
"""Least logarithm of a message beside its largest: no message rules a value out for good."""


@dataclass(frozen=True, eq=False)
class Side:
    """One of two trees over the same leaves, with the reports of its levels, the leaves' first."""

    tree: Tree
    reports: Sequence[LevelReports]


@dataclass(frozen=True, eq=False)
class _WeightedPrior:
    """A prior times a message about every leaf."""

    prior: Prior
    log_message: Floats

    @property
    def weights(self) -> Floats:
        return self.prior.weights

    def log_mass(self, leaves: slice, low: Ints, width: int) -> Floats:
        own = self.log_message[leaves]
        at = np.clip(low[:, None] + np.arange(width), 0, own.shape[1] - 1)
        return np.asarray(self.prior.log_mass(leaves, low, width) + np.take_along_axis(own, at, axis=1)[:, None, :])


def crossed_posterior(one: Side, other: Side, order: Ints, prior: Prior) -> tuple[list[Marginals], list[Marginals]]:
    """The marginals of both trees. order[i]: the leaf of `one` that is leaf i of `other`; prior: of `one`'s leaves."""
    width = int(one.tree.sizes[0].max()) + 1
    back = np.argsort(order)
    message = np.zeros((len(order), width))
    leaves = one.reports[0]
    silent = NoReports(leaves.y[order], leaves.variance, leaves.steepness)
    flat = np.ones((len(other.tree.sizes[1]), 1))
    first = adjust_by_branch(one.tree, one.reports, prior)
    for _ in range(ROUNDS):
        mine = _full(first[0], width)
        cavity = _divide_message(mine, message)[order]
        second = posterior(other.tree, [silent, *other.reports[1:]], TablePrior(np.exp(cavity)[:, None, :], flat))
        theirs = _full(second[0], width)
        if np.abs(theirs[back] - mine).max() < SETTLED:
            break
        message = DAMPING * message + (1 - DAMPING) * np.maximum(_divide_message(theirs, cavity)[back], FAINTEST)
        first = adjust_by_branch(one.tree, one.reports, _WeightedPrior(prior, message))
    return first, second


def _divide_message(mass: Floats, log_message: Floats) -> Floats:
    """log(mass/message), the largest 0; nothing where there is no mass."""
    held = mass > LEAST
    log = np.where(held, np.log(np.where(held, mass, 1.0)) - np.where(held, log_message, 0.0), -np.inf)
    return np.asarray(log - log.max(axis=1, keepdims=True))


def _full(marginals: Marginals, width: int) -> Floats:
    """Leaves' marginals on the whole range."""
    if marginals.mass.shape[1] == width:
        return marginals.mass
    out = np.zeros((len(marginals.low), width))
    at = marginals.low[:, None] + np.arange(marginals.mass.shape[1])
    np.put_along_axis(out, at, marginals.mass, axis=1)
    return out
