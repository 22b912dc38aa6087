"""The posterior where leaves belong to two trees: cells to rows and columns, labels of groups to regions and sizes.

No elimination order is short on a two-way table, so the two trees exchange what each says of the leaves, until they
agree (loopy sum-product). Within each tree the posterior is exact; what is approximate is that each tree takes what the
other says of one leaf and of the next as independent.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inbounds.numbers import Floats, Ints
from inbounds.tables.adding.margins import branchwise
from inbounds.tables.adding.posterior import Marginals, posterior
from inbounds.tables.adding.prior import Prior, TablePrior
from inbounds.tables.adding.reports import Reports, Unreported
from inbounds.tables.adding.tree import Tree

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
    reports: Sequence[Reports]


@dataclass(frozen=True, eq=False)
class _Weighed:
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


def crossed(one: Side, other: Side, order: Ints, prior: Prior) -> tuple[list[Marginals], list[Marginals]]:
    """The marginals of both trees. order[i]: the leaf of `one` that is leaf i of `other`; prior: of `one`'s leaves."""
    width = int(one.tree.sizes[0].max()) + 1
    back = np.argsort(order)
    message = np.zeros((len(order), width))
    leaves = one.reports[0]
    silent = Unreported(leaves.y[order], leaves.variance, leaves.steepness)
    flat = np.ones((len(other.tree.sizes[1]), 1))
    first = branchwise(one.tree, one.reports, prior)
    for _ in range(ROUNDS):
        mine = _full(first[0], width)
        cavity = _divided(mine, message)[order]
        second = posterior(other.tree, [silent, *other.reports[1:]], TablePrior(np.exp(cavity)[:, None, :], flat))
        theirs = _full(second[0], width)
        if np.abs(theirs[back] - mine).max() < SETTLED:
            break
        message = DAMPING * message + (1 - DAMPING) * np.maximum(_divided(theirs, cavity)[back], FAINTEST)
        first = branchwise(one.tree, one.reports, _Weighed(prior, message))
    return first, second


def _divided(mass: Floats, log_message: Floats) -> Floats:
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
