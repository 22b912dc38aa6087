"""The prior of a table that adds up, before any output: how much groups of one parent are expected to differ.

Leaves scatter around the rate of their parent, and parents around the rate of theirs, each with an unknown spread: the
correlation of two people of one node. Roots of spreads, the standard deviations of rates, have a uniform prior, as
Gelman (2006) advises. The rates of all labels of the whole table are uniform on the simplex.

`prior_fit` averages over this prior given the outputs, `simulated` draws surveys from it, and `shares` uses its second
moments.
"""

import math
from collections.abc import Sequence

LEAF_ROOTS = tuple(k / 16 for k in range(14))
"""Candidate standard deviations of the rates of leaves within a parent; 0 is the binomial."""

PARENT_ROOTS = (*(k / 16 for k in (1, 2, 3, 4, 5, 6, 8, 10)), math.sqrt(1 / 2))
"""Candidate standard deviations of parents' rates within the node above; at √(1/2) nearly flat in arcsin √p."""


def mean_square(roots: Sequence[float]) -> float:
    """Return the prior mean of a spread."""
    return sum(root**2 for root in roots) / len(roots)


def node_deviation(size: float, labels: int, spread: float) -> float:
    """Return the prior standard deviation of a node around its parent's rate.

    size: the largest value of the node. labels: how many labels share it; 2 for a count and for a sum. The variance is
    size·E[p(1 - p)]·(1 + (size - 1)·spread), where E[p(1 - p)] = (labels - 1)/(labels·(labels + 1)).
    """
    rates = (labels - 1) / (labels * (labels + 1))
    return math.sqrt(size * rates * (1 + max(size - 1, 0) * spread))


def root_deviation(size: float, labels: int) -> float:
    """Return the prior standard deviation of a node without a parent, whose rate is uniform."""
    share = (labels - 1) / (labels**2 * (labels + 1))
    sampled = (labels - 1) / (labels * (labels + 1))
    return math.sqrt(size**2 * share + size * sampled)
