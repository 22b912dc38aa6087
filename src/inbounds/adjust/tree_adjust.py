"""Adjustment of the outputs of a tree: whole numbers in range that add up, with credible intervals.

This is deterministic post-processing. The published whole numbers d add up and minimize
Σ_l weight[l] · (mean over the nodes of level l of E|X - d|) under the posterior. They are not the most likely table,
whose totals are biased.
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
"""Largest leaves × rates × values of a leaf for which the posterior is computed: about a minute."""

LEARNED = 10**9
"""Largest number of values of shapes for which a prior is fitted: about a minute."""

MARGINS = 4 * 10**7
"""Largest nodes of a level × values of a window for the margins: below 2 GB."""

SIBLINGS = 10**7
"""Largest children of one parent × rates × values of a window: below 2 GB."""


@dataclass(frozen=True, eq=False)
class TreeLevelResult:
    """The result for the nodes of one level: published values, ends of intervals, and expected absolute errors."""

    values: Ints
    low: Ints
    high: Ints
    errors: Floats


@dataclass(frozen=True, eq=False)
class AdjustedTree:
    """Results of the levels from the leaves up, and the method: POSTERIOR or LEAST_SQUARES."""

    levels: tuple[TreeLevelResult, ...]
    method: str

    def with_values(self, values: Sequence[Ints]) -> "AdjustedTree":
        """Replace the values; widen intervals that do not hold them."""
        pairs = zip(self.levels, values, strict=True)
        levels = [
            TreeLevelResult(value, np.minimum(level.low, value), np.maximum(level.high, value), level.errors)
            for level, value in pairs
        ]
        return AdjustedTree(tuple(levels), self.method)


def adjust_tree(
    tree: Tree,
    reports: Sequence[LevelReports],
    weights: Sequence[float],
    interval: float,
    prior: Callable[[], Prior] | None = None,
) -> AdjustedTree:
    """Adjust the nodes of a tree so that children add up to their parents.

    weights: of the levels' mean errors. interval: probability of the credible intervals. prior: fits the prior of the
    leaves; by default `fit_local_rates`. If the posterior would be too large or fails, least squares and intervals of
    normal errors are used instead, and `method` says so.
    """
    top = reports[-1].y if isinstance(reports[-1], KnownTotals) else None
    if is_feasible(tree, reports):
        try:
            marginals = adjust_by_branch(tree, reports, fit_local_rates(tree, reports) if prior is None else prior())
        except OutOfWindow:
            pass
        else:
            values = best_sums(tree, expected_errors(marginals, weights), top)
            return AdjustedTree(tuple(tree_level_results(marginals, values, interval)), POSTERIOR)
    return round_least_squares(tree, reports, interval)


def is_feasible(tree: Tree, reports: Sequence[LevelReports]) -> bool:
    """Return whether fitting the prior and computing the posterior need at most a minute and 2 GB, for any outputs."""
    widest = int(tree.sizes[0].max()) + 1
    siblings = int(tree.children[0].max()) * RATES * leaf_window(widest, reports[0])
    if len(tree.sizes[0]) * RATES * widest > LARGEST or siblings > SIBLINGS or margin_values(tree, reports) > MARGINS:
        return False
    return fitting_cost(tree.sizes[0], reports[0]) <= LEARNED


def expected_errors(marginals: Sequence[Marginals], weights: Sequence[float]) -> list[NodeCost]:
    """Return the cost of each level: its weight times the mean expected error of its nodes."""
    return [PosteriorCost(level, weight / len(level.low)) for level, weight in zip(marginals, weights, strict=True)]


def tree_level_results(
    marginals: Sequence[Marginals], values: Sequence[Ints], interval: float
) -> list[TreeLevelResult]:
    """Combine published values with their intervals and expected errors."""
    return [_level_result(level, value, interval) for level, value in zip(marginals, values, strict=True)]


def _level_result(marginals: Marginals, values: Ints, interval: float) -> TreeLevelResult:
    """Compute intervals; widen the shortest interval if the published value is outside it."""
    low, high = marginals.intervals(interval)
    return TreeLevelResult(values, np.minimum(low, values), np.maximum(high, values), marginals.errors(values))


def round_least_squares(tree: Tree, reports: Sequence[LevelReports], interval: float) -> AdjustedTree:
    """Round least squares to whole numbers that add up, level by level from the top; intervals assume normal errors."""
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
