"""Least squares on a tree from the outputs alone, levels weighted by their variances, without ranges.

Two passes (Hay, Rastogi, Miklau, Suciu 2010, section 4, for any variances). Up: average each node's own output and the
sum of its children. Down: divide the difference between a parent and its children in proportion to their variances.
"""

from collections.abc import Sequence

import numpy as np

from inbounds.adjust.likelihoods import LevelReports
from inbounds.adjust.tree import Tree
from inbounds.exact import Floats, Ints

ROUNDING = 1e-7
"""Largest error of the bisection below a whole number."""

LEAST_VARIANCE = 1e-9
"""Variance of leaves whose values are public."""


def least_squares(tree: Tree, reports: Sequence[LevelReports]) -> list[Floats]:
    """Find the real values of every level that add up and are closest to the outputs."""
    variances = variances_up(tree, reports)
    values = [reports[0].y.astype(np.float64)]
    for level, parent in enumerate(tree.parents):
        total, spread = np.bincount(parent, values[-1]), np.bincount(parent, variances[level])
        values.append(total + spread / (spread + reports[level + 1].variance) * (reports[level + 1].y - total))
    for level in range(tree.depth - 2, -1, -1):
        parent, variance = tree.parents[level], variances[level]
        missing = values[level + 1] - np.bincount(parent, values[level])
        values[level] = values[level] + variance * (missing / np.bincount(parent, variance))[parent]
    return values


def variances_up(tree: Tree, reports: Sequence[LevelReports]) -> list[Floats]:
    """Compute the variance of every node given its own output (U) and the sum of its children (S): 1/(1/U + 1/S)."""
    variances = [np.full(len(tree.sizes[0]), max(reports[0].variance, LEAST_VARIANCE))]
    for parent, level_reports in zip(tree.parents, reports[1:], strict=True):
        spread = np.bincount(parent, variances[-1])
        variances.append(spread * level_reports.variance / (spread + level_reports.variance))
    return variances


def nearest_whole(values: Floats, parent: Ints, sizes: Ints, totals: Ints) -> Ints:
    """Find the nearest whole numbers 0..size whose sums over siblings are the totals.

    First the least-squares projection: x = value - t clipped to 0..size, with the t of each parent that makes the sum
    right, found by bisection. Then the largest remainders are rounded up, earlier siblings first if tied.
    """
    t_low, t_high = (
        np.full(len(totals), side * (float(np.abs(values).max()) + float(sizes.max()) + 1)) for side in (-1, 1)
    )
    for _ in range(100):
        t = (t_low + t_high) / 2
        over = np.bincount(parent, np.clip(values - t[parent], 0, sizes)) > totals
        t_low, t_high = np.where(over, t, t_low), np.where(over, t_high, t)
    real = np.clip(values - t_high[parent], 0, sizes)
    whole = np.minimum(np.floor(real + ROUNDING), sizes).astype(np.int64)
    order = np.lexsort((whole - real, whole == sizes, parent))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    first = np.searchsorted(parent, np.arange(len(totals)))
    missing = totals - np.bincount(parent, whole).astype(np.int64)
    return np.asarray(whole + (place - first[parent] < missing[parent]))
