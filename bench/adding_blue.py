"""Best linear unbiased estimates of a tree, as census offices compute them: a peer of bench/adding.py.

Every node is measured with noise that may leave the range, so measurements are unbiased. Generalized least squares
takes two passes. Up: a node's own measurement and the sum of its children are averaged by their variances. Down: what
a parent differs from its children is divided among them in proportion to theirs. Intervals are those of normal errors,
from the variances of the estimates.

These estimates are real numbers, and may be negative. What is published is found from the top down, one parent after
the other: the whole numbers in range that sum to the parent. First the nearest real numbers, distances weighed by the
variances; then those are rounded up or down, the largest remainders up.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from inbounds.adjust.squares import nearest_whole
from inbounds.adjust.tree import Tree

BISECTIONS = 100

Levels = list[np.ndarray]


@dataclass(frozen=True, eq=False)
class Estimates:
    """Real estimates of every level, their variances, and those given a node's own measurement and those below it."""

    values: Levels
    variances: Levels
    below: Levels

    def intervals(self, tree: Tree, level: float) -> list[tuple[np.ndarray, np.ndarray]]:
        """Normal intervals, cut to the range: what leaves it is impossible."""
        reach = float(ndtri((1 + level) / 2))
        parts = zip(self.values, self.variances, tree.sizes, strict=True)
        return [
            (np.clip(value - reach * np.sqrt(own), 0, size), np.clip(value + reach * np.sqrt(own), 0, size))
            for value, own, size in parts
        ]


def estimate(tree: Tree, measured: Sequence[np.ndarray], variances: Sequence[float]) -> Estimates:
    """Generalized least squares. measured: of every level, leaves first. variances: of the noise of each level."""
    values, below = [measured[0].astype(float)], [np.full(len(measured[0]), variances[0])]
    for parent, own, variance in zip(tree.parents, measured[1:], variances[1:], strict=True):
        total, spread = np.bincount(parent, values[-1]), np.bincount(parent, below[-1])
        values.append(total + spread / (spread + variance) * (own - total))
        below.append(spread * variance / (spread + variance))
    after = [below[-1]]
    for level in range(tree.depth - 2, -1, -1):
        parent = tree.parents[level]
        part = below[level] / np.bincount(parent, below[level])[parent]
        missing = values[level + 1] - np.bincount(parent, values[level])
        values[level] = values[level] + part * missing[parent]
        after.insert(0, below[level] * (1 - part) + part**2 * after[0][parent])
    return Estimates(values, after, below)


def publish(tree: Tree, found: Estimates) -> Levels:
    """The whole numbers in range that add up, from the top down."""
    published = [np.clip(np.rint(found.values[-1]), 0, tree.sizes[-1]).astype(np.int64)]
    for level in range(tree.depth - 2, -1, -1):
        parent, size = tree.parents[level], tree.sizes[level]
        real = nearest_in_range(found.values[level], found.below[level], parent, size, published[0])
        published.insert(0, nearest_whole(real, parent, size, published[0]))
    return published


def nearest_in_range(
    values: np.ndarray, variances: np.ndarray, parent: np.ndarray, sizes: np.ndarray, totals: np.ndarray
) -> np.ndarray:
    """The real numbers 0..size that sum to the totals of their parents and minimize Σ (x - value)²/variance.

    x = value - t·variance, cut to 0..size, with the t of each parent that makes the sum right.
    """
    far = (np.abs(values).max() + sizes.max() + 1) / variances.min()
    low, high = np.full(len(totals), -far), np.full(len(totals), far)
    for _ in range(BISECTIONS):
        t = (low + high) / 2
        over = np.bincount(parent, np.clip(values - t[parent] * variances, 0, sizes)) > totals
        low, high = np.where(over, t, low), np.where(over, high, t)
    return np.asarray(np.clip(values - high[parent] * variances, 0, sizes))
