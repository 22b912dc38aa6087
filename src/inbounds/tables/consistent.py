"""Histogram cells that add up: true ones before the draw, and noisy ones after it, without another look."""

import numpy as np

from inbounds.numbers import Ints


def filled(cells: Ints, other: int, sizes: Ints) -> Ints:
    """True cells in which each record short of the public size is in the cell `other`; `cells` is labels × groups.

    With c[i] records in cell i, r = sum c, and the size n:

        cell i = min(c[i], n) for i != other,    cell other = min(c[other] + max(n - r, 0), n)

    Formal guarantee: neighbours differ in at most two cells, by 1 in each. (a) A record that is changed takes 1 from
    one c[i], adds 1 to another, and leaves r. (b) A record that is left out takes 1 from one c[i]. If r <= n, then
    max(n - r, 0) grows by 1, so `other` gains what c[i] loses (nothing moves if i is `other`); if r > n, it stays 0
    and nothing else moves. min(·, n) brings no two values further apart. Up to n records, the cells sum to n.

    >>> filled(np.array([[5], [3], [0]]), 2, np.array([10])).ravel().tolist()
    [5, 3, 2]
    """
    full = cells.copy()
    full[other] += np.maximum(sizes - cells.sum(axis=0), 0)
    return np.asarray(np.minimum(full, sizes), dtype=np.int64)


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
