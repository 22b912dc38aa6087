"""Histogram cells that add up: post-processing of noisy cells, without another look at the data."""

import numpy as np

from inbounds.exact import Ints


def summing_to(cells: Ints, totals: Ints) -> Ints:
    """The nearest whole non-negative cells with the given totals; `cells` is labels × groups.

    First the least-squares projection onto {x >= 0, sum x = total}: x = max(cell - t, 0) with the t that makes
    the sum right, found from the sorted cells. Then whole numbers by largest remainders, earlier labels first
    among equals. O(labels·log(labels)) per group.

    >>> summing_to(np.array([[5], [3], [0]]), np.array([7])).ravel().tolist()
    [5, 2, 0]
    """
    falling = -np.sort(-cells, axis=0).astype(np.float64)
    ranks = np.arange(1, len(cells) + 1)[:, None]
    shifts = (np.cumsum(falling, axis=0) - totals) / ranks
    kept = (falling > shifts).sum(axis=0)  # cells that stay positive: a prefix of the falling order
    shift = np.take_along_axis(shifts, kept[None, :] - 1, axis=0)
    real = np.maximum(cells - shift, 0.0)
    whole = np.floor(real + 1e-9).astype(np.int64)
    order = np.argsort(np.argsort(whole - real, axis=0, kind="stable"), axis=0, kind="stable")
    return np.asarray(whole + (order < totals - whole.sum(axis=0)), dtype=np.int64)
