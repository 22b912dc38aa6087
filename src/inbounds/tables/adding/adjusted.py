"""From reports to a table that adds up: whole numbers in range, with intervals. Post-processing, the same every time.

Published are the whole numbers d that add up and minimise Σ_l weight[l] · (mean over the nodes of level l of E|X - d|)
under the posterior. They are not the most likely table, whose totals are biased.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from inbounds.numbers import Floats, Ints
from inbounds.tables.adding.best import best_sums
from inbounds.tables.adding.cost import NodeCost, PosteriorCost
from inbounds.tables.adding.form import LEAST_SQUARES, POSTERIOR
from inbounds.tables.adding.learned import RATES, learning, local_rates
from inbounds.tables.adding.margins import branchwise, margin_values
from inbounds.tables.adding.posterior import Marginals, OutOfWindow, window_of
from inbounds.tables.adding.prior import Prior
from inbounds.tables.adding.reports import Known, Reports
from inbounds.tables.adding.squares import least_squares, nearest_whole, variances_up
from inbounds.tables.adding.tree import Tree

LARGEST = 10**8
"""Leaves × rates × values of a leaf up to which the posterior is computed: about a minute."""

LEARNED = 10**9
"""Values of shapes up to which a prior is learned: about a minute."""

MARGINS = 4 * 10**7
"""Nodes of a level × values of a window up to which margins are held at once: below 2 GB."""

SIBLINGS = 10**7
"""Children of one parent × rates × values of a window up to which they are held at once: below 2 GB."""


@dataclass(frozen=True, eq=False)
class Level:
    """The nodes of one level: published values, the ends of their intervals, and their expected absolute errors."""

    values: Ints
    low: Ints
    high: Ints
    errors: Floats


@dataclass(frozen=True, eq=False)
class Adjusted:
    """Levels from the leaves up, and how they were found."""

    levels: tuple[Level, ...]
    by: str

    def around(self, values: Sequence[Ints]) -> "Adjusted":
        """Other values with these intervals, widened where they must be."""
        pairs = zip(self.levels, values, strict=True)
        levels = [
            Level(own, np.minimum(level.low, own), np.maximum(level.high, own), level.errors) for level, own in pairs
        ]
        return Adjusted(tuple(levels), self.by)


def adjusted_tree(
    tree: Tree,
    reports: Sequence[Reports],
    weights: Sequence[float],
    interval: float,
    prior: Callable[[], Prior] | None = None,
) -> Adjusted:
    """Nodes of a tree whose children add up to their parents.

    weights: of the levels' mean errors. interval: the probability that the intervals hold. prior: how that of the
    leaves is learned, by default as rates of their parents. Where the posterior would be too large, least squares and
    intervals of normal errors take its place, and `by` says so.
    """
    top = reports[-1].y if isinstance(reports[-1], Known) else None
    if feasible(tree, reports):
        try:
            found = branchwise(tree, reports, local_rates(tree, reports) if prior is None else prior())
        except OutOfWindow:
            pass
        else:
            values = best_sums(tree, expected_errors(found, weights), top)
            return Adjusted(tuple(levels_of(found, values, interval)), POSTERIOR)
    return nearest_squares(tree, reports, interval)


def feasible(tree: Tree, reports: Sequence[Reports]) -> bool:
    """Whether prior and posterior of a tree take about a minute and 2 GB at most, whatever was reported."""
    widest = int(tree.sizes[0].max()) + 1
    held = int(tree.children[0].max()) * RATES * window_of(widest, reports[0])
    if len(tree.sizes[0]) * RATES * widest > LARGEST or held > SIBLINGS or margin_values(tree, reports) > MARGINS:
        return False
    return learning(tree.sizes[0], reports[0]) <= LEARNED


def expected_errors(found: Sequence[Marginals], weights: Sequence[float]) -> list[NodeCost]:
    """The cost of each level: its weight for the mean over its nodes."""
    return [PosteriorCost(own, weight / len(own.low)) for own, weight in zip(found, weights, strict=True)]


def levels_of(found: Sequence[Marginals], values: Sequence[Ints], interval: float) -> list[Level]:
    """Published values with their intervals."""
    return [_level(own, value, interval) for own, value in zip(found, values, strict=True)]


def _level(marginals: Marginals, values: Ints, interval: float) -> Level:
    """A published value may lie outside the shortest interval; then that is widened to it."""
    low, high = marginals.intervals(interval)
    return Level(values, np.minimum(low, values), np.maximum(high, values), marginals.errors(values))


def nearest_squares(tree: Tree, reports: Sequence[Reports], interval: float) -> Adjusted:
    """The whole numbers nearest to least squares, level by level from the top; intervals of normal errors."""
    near = least_squares(tree, reports)
    values = [np.clip(np.rint(near[-1]), 0, tree.sizes[-1]).astype(np.int64)]
    for level in range(tree.depth - 2, -1, -1):
        values.insert(0, nearest_whole(near[level], tree.parents[level], tree.sizes[level], values[0]))
    reach = float(ndtri((1 + interval) / 2))
    levels = []
    for value, variance, size in zip(values, variances_up(tree, reports), tree.sizes, strict=True):
        half = np.ceil(reach * np.sqrt(variance)).astype(np.int64)
        errors = np.sqrt(2 * variance / np.pi)
        levels.append(Level(value, np.maximum(value - half, 0), np.minimum(value + half, size), errors))
    return Adjusted(tuple(levels), LEAST_SQUARES)
