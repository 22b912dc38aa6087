"""The posterior where every leaf belongs to two trees, such as cells under rows and columns, or labels under regions
and group sizes.

Exact elimination is too expensive on a two-way table. The two trees exchange messages about the leaves until they agree
(loopy sum-product). Within each tree the posterior is exact. The approximation: each tree treats the other tree's
messages about different leaves as independent.
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
"""The trees agree when no probability of a leaf differs by more. They stop after ROUNDS in any case."""

DAMPING = 0.3
"""Share of the previous message in the new one. Without it two margins can overshoot in turn."""

LEAST = 1e-13
"""Smaller probabilities are rounding errors of the Fourier transforms."""

FAINTEST = -25.0
"""Least logarithm of a message relative to its largest value, so that no message excludes a value for good."""


@dataclass(frozen=True, eq=False)
class Side:
    """One of two trees over the same leaves, with the outputs of its levels from the leaves up."""

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

    def log_mass(self, leaves: Ints | slice, low: Ints, width: int) -> Floats:
        log_message = self.log_message[leaves]
        column = np.clip(low[:, None] + np.arange(width), 0, log_message.shape[1] - 1)
        return np.asarray(
            self.prior.log_mass(leaves, low, width) + np.take_along_axis(log_message, column, axis=1)[:, None, :]
        )


def crossed_posterior(one: Side, other: Side, order: Ints, prior: Prior) -> tuple[list[Marginals], list[Marginals]]:
    """Compute the marginals of all nodes of both trees, level by level from the leaves.

    order[i] is the leaf of `one` that is leaf i of `other`. prior: of the leaves of `one`.
    """
    width = int(one.tree.sizes[0].max()) + 1
    inverse_order = np.argsort(order)
    message = np.zeros((len(order), width))
    leaves = one.reports[0]
    no_reports = NoReports(leaves.y[order], leaves.variance, leaves.steepness)
    one_class = np.ones((len(other.tree.sizes[1]), 1))
    first = adjust_by_branch(one.tree, one.reports, prior)
    for _ in range(ROUNDS):
        first_mass = _to_full_range(first[0], width)
        cavity = _divide_message(first_mass, message)[order]
        second = posterior(
            other.tree, [no_reports, *other.reports[1:]], TablePrior(np.exp(cavity)[:, None, :], one_class)
        )
        second_mass = _to_full_range(second[0], width)
        if np.abs(second_mass[inverse_order] - first_mass).max() < SETTLED:
            break
        message = DAMPING * message + (1 - DAMPING) * np.maximum(
            _divide_message(second_mass, cavity)[inverse_order], FAINTEST
        )
        first = adjust_by_branch(one.tree, one.reports, _WeightedPrior(prior, message))
    return first, second


def _divide_message(mass: Floats, log_message: Floats) -> Floats:
    """Compute log(mass/message), shifted so that the largest is 0; -inf where there is no mass."""
    positive = mass > LEAST
    log = np.where(positive, np.log(np.where(positive, mass, 1.0)) - np.where(positive, log_message, 0.0), -np.inf)
    return np.asarray(log - log.max(axis=1, keepdims=True))


def _to_full_range(marginals: Marginals, width: int) -> Floats:
    """Extend the marginals of leaves to the whole range 0..width - 1."""
    if marginals.mass.shape[1] == width:
        return marginals.mass
    full = np.zeros((len(marginals.low), width))
    column = marginals.low[:, None] + np.arange(marginals.mass.shape[1])
    np.put_along_axis(full, column, marginals.mass, axis=1)
    return full
