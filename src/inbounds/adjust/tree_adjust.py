"""From reports to a table that adds up: whole numbers in range, with intervals. Post-processing, the same every time.

Published are the whole numbers d that add up and minimise Σ_l weight[l] · (mean over the nodes of level l of E|X - d|)
under the posterior. They are not the most likely table, whose totals are biased.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from inbounds.adjust.costs import NodeCost, PosteriorCost
from inbounds.adjust.likelihoods import KnownTotals, LevelReports
from inbounds.adjust.margins import adjust_by_branch, margin_values
from inbounds.adjust.posterior import Marginals, OutOfWindow, leaf_window
from inbounds.adjust.prior import Prior
from inbounds.adjust.prior_fit import RATES, fit_local_rates, fitting_cost
from inbounds.adjust.squares import least_squares, nearest_whole, variances_up
from inbounds.adjust.tree import Tree
from inbounds.adjust.tree_optimum import best_sums
from inbounds.exact import Floats, Ints
from inbounds.schema.report_types import LEAST_SQUARES, POSTERIOR

LARGEST = 10**8
"""Leaves × rates × values of a leaf up to which the posterior is computed: about a minute."""

LEARNED = 10**9
"""Values of shapes up to which a prior is learned: about a minute."""

MARGINS = 4 * 10**7
"""Nodes of a level × values of a window up to which margins are held at once: below 2 GB."""

SIBLINGS = 10**7
"""Children of one parent × rates × values of a window up to which they are held at once: below 2 GB."""


@dataclass(frozen=True, eq=False)
class TreeLevelResult:
    """The nodes of one level: published values, the ends of their intervals, and their expected absolute errors."""

    values: Ints
    low: Ints
    high: Ints
    errors: Floats


@dataclass(frozen=True, eq=False)
class AdjustedTree:
    """Levels from the leaves up, and how they were found."""

    levels: tuple[TreeLevelResult, ...]
    by: str

    def around(self, values: Sequence[Ints]) -> "AdjustedTree":
        """Other values with these intervals, widened where they must be."""
        pairs = zip(self.levels, values, strict=True)
        levels = [
            TreeLevelResult(own, np.minimum(level.low, own), np.maximum(level.high, own), level.errors)
            for level, own in pairs
        ]
        return AdjustedTree(tuple(levels), self.by)


def adjust_tree(
    tree: Tree,
    reports: Sequence[LevelReports],
    weights: Sequence[float],
    interval: float,
    prior: Callable[[], Prior] | None = None,
) -> AdjustedTree:
    """Nodes of a tree whose children add up to their parents.

    weights: of the levels' mean errors. interval: the probability that the intervals hold. prior: how that of the
    leaves is learned, by default as rates of their parents. Where the posterior would be too large, least squares and
    intervals of normal errors take its place, and `by` says so.
    """
    top = reports[-1].y if isinstance(reports[-1], KnownTotals) else None
    if is_feasible(tree, reports):
        try:
            found = adjust_by_branch(tree, reports, fit_local_rates(tree, reports) if prior is None else prior())
        except OutOfWindow:
            pass
        else:
            values = best_sums(tree, expected_errors(found, weights), top)
            return AdjustedTree(tuple(tree_level_results(found, values, interval)), POSTERIOR)
    return round_least_squares(tree, reports, interval)


def is_feasible(tree: Tree, reports: Sequence[LevelReports]) -> bool:
    """Whether prior and posterior of a tree take about a minute and 2 GB at most, whatever was reported."""
    widest = int(tree.sizes[0].max()) + 1
    held = int(tree.children[0].max()) * RATES * leaf_window(widest, reports[0])
    if len(tree.sizes[0]) * RATES * widest > LARGEST or held > SIBLINGS or margin_values(tree, reports) > MARGINS:
        return False
    return fitting_cost(tree.sizes[0], reports[0]) <= LEARNED


def expected_errors(found: Sequence[Marginals], weights: Sequence[float]) -> list[NodeCost]:
    """The cost of each level: its weight for the mean over its nodes."""
    return [PosteriorCost(own, weight / len(own.low)) for own, weight in zip(found, weights, strict=True)]


def tree_level_results(found: Sequence[Marginals], values: Sequence[Ints], interval: float) -> list[TreeLevelResult]:
    """Published values with their intervals."""
    return [_level(own, value, interval) for own, value in zip(found, values, strict=True)]


def _level(marginals: Marginals, values: Ints, interval: float) -> TreeLevelResult:
    """A published value may lie outside the shortest interval; then that is widened to it."""
    low, high = marginals.intervals(interval)
    return TreeLevelResult(values, np.minimum(low, values), np.maximum(high, values), marginals.errors(values))


def round_least_squares(tree: Tree, reports: Sequence[LevelReports], interval: float) -> AdjustedTree:
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
        levels.append(TreeLevelResult(value, np.maximum(value - half, 0), np.minimum(value + half, size), errors))
    return AdjustedTree(tuple(levels), LEAST_SQUARES)
