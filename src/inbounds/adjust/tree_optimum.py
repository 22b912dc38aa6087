"""Whole numbers of least cost that add up on a tree, without a solver.

A convex cost is given by its slopes. The cheapest way for siblings to sum to s takes the s smallest of all their
slopes: the (min, +) convolution of convex functions merges their sorted slopes. Slopes are merged level by level
upwards, and each parent adds its own. Then the steps chosen at the top are counted back down.
O(total range · depth · log).
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from inbounds.adjust.costs import NodeCost
from inbounds.adjust.tree import Tree
from inbounds.exact import Floats, Ints

BEYOND = 1e15
"""Slope of a value beyond a node's range: larger than all costs together."""


def best_sums(
    tree: Tree, costs: Sequence[NodeCost], top: Ints | None = None, low: Ints | None = None, high: Ints | None = None
) -> list[Ints]:
    """Find values 0..size of every node of least total cost, with children adding up to their parent.

    costs: one for each level. top: public values of the topmost level. low, high: search range of the leaves' values,
    which saves time for long ranges.
    """
    low = np.zeros_like(tree.sizes[0]) if low is None else low
    spans = [(tree.sizes[0] if high is None else high) - low]
    bases = [low, *tree.sums(low)[1:]]
    for parent in tree.parents:
        spans.append(np.bincount(parent, spans[-1]).astype(np.int64))
    owner, step = _number_steps(spans[0])
    value = costs[0].slopes(owner, low[owner] + step)
    merged = []
    for level in range(tree.depth - 1):
        order = _sorted_within(spans[level + 1], value)
        merged.append(owner[order])
        owner, step = _number_steps(spans[level + 1])
        d = bases[level + 1][owner] + step
        value = value[order] + costs[level + 1].slopes(owner, d) + BEYOND * (d >= tree.sizes[level + 1][owner])
    chosen_steps = value < 0 if top is None else step < (np.asarray(top) - bases[-1])[owner]
    values = [np.bincount(owner[chosen_steps], minlength=len(spans[-1]))]
    for level in range(tree.depth - 2, -1, -1):
        owner, step = _number_steps(spans[level + 1])
        child = merged[level][step < values[0][owner]]
        values.insert(0, np.bincount(child, minlength=len(spans[level])))
    return [base + value for base, value in zip(bases, values, strict=True)]


def _sorted_within(spans: Ints, value: Floats) -> Ints:
    """Sort the values of each run separately; return their places, earlier ones first if tied.

    One run at a time, since each run consists of sorted parts, which a stable sort merges.
    """
    ends = np.cumsum(spans).tolist()
    order = np.empty(len(value), np.int64)
    for start, stop in pairwise([0, *ends]):
        order[start:stop] = start + np.argsort(value[start:stop], kind="stable")
    return order


def _number_steps(spans: Ints) -> tuple[Ints, Ints]:
    """Return for every step of every node the node and the place of the step within it."""
    owner = np.repeat(np.arange(len(spans)), spans)
    return owner, np.arange(len(owner)) - (np.cumsum(spans) - spans)[owner]
