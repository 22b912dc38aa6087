"""Estimates without a likelihood: the inverse of the matrix, and projections onto the simplex."""

import numpy as np

from inbounds.exact import Floats


def onto_simplex(x: Floats) -> Floats:
    """Return the distribution nearest to x in Euclidean distance: max(x - t, 0) with t such that it sums to one.

    Sorted from the top, t is the mean excess of as many entries as stay positive. O(n log n).

    >>> onto_simplex(np.array([0.5, 0.9, -0.4])).round(3).tolist()
    [0.3, 0.7, 0.0]
    """
    falling = np.sort(x)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, len(x) + 1)
    t = excess[np.flatnonzero(falling > excess)[-1]]
    return np.asarray(np.maximum(x - t, 0.0))
