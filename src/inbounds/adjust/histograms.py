"""Histogram cells that add up: true ones before the draw, and noisy ones after it, without another look."""

import numpy as np

from inbounds.exact import Ints


def fill_to_size(cells: Ints, other: int, sizes: Ints) -> Ints:
    """True cells in which each record short of the public size is in the cell `other`; `cells` is labels × groups.

    With c[i] records in cell i, r = sum c, and the size n:

        cell i = min(c[i], n) for i != other,    cell other = min(c[other] + max(n - r, 0), n)

    Formal guarantee: neighbours differ in at most two cells, by 1 in each. (a) A record that is changed takes 1 from
    one c[i], adds 1 to another, and leaves r. (b) A record that is left out takes 1 from one c[i]. If r <= n, then
    max(n - r, 0) grows by 1, so `other` gains what c[i] loses (nothing moves if i is `other`); if r > n, it stays 0
    and nothing else moves. min(·, n) brings no two values further apart. Up to n records, the cells sum to n.

    >>> fill_to_size(np.array([[5], [3], [0]]), 2, np.array([10])).ravel().tolist()
    [5, 3, 2]
    """
    full = cells.copy()
    full[other] += np.maximum(sizes - cells.sum(axis=0), 0)
    return np.asarray(np.minimum(full, sizes), dtype=np.int64)


def round_to_sum(cells: Ints, totals: Ints) -> Ints:
    """The nearest whole non-negative cells with the given totals; `cells` is labels × groups.

    The least-squares projection onto {x >= 0, sum x = total} is x = max(cell - t, 0), with the t that makes the sum
    right, found from the sorted cells. Whole numbers: cells lose t rounded up, and the first labels that stay positive
    get back what is then missing. All in whole numbers. O(labels·log(labels)) per group.

    >>> round_to_sum(np.array([[5], [3], [0]]), np.array([7])).ravel().tolist()
    [5, 2, 0]
    """
    falling = -np.sort(-cells, axis=0)
    upto, ranks = np.cumsum(falling, axis=0), np.arange(1, len(cells) + 1)[:, None]
    kept = np.maximum((ranks * falling > upto - totals).sum(axis=0), 1)  # cells that stay positive: the largest ones
    excess = np.take_along_axis(upto, kept[None, :] - 1, axis=0)[0] - totals
    whole = np.maximum(cells + -excess // kept, 0)
    positive = kept * cells > excess
    missing = totals - whole.sum(axis=0)
    return np.asarray(whole + (positive & (np.cumsum(positive, axis=0) <= missing)), dtype=np.int64)
