"""Histogram cells that add up: true cells before noise is drawn, and noisy cells after it.

`round_to_sum` is post-processing: it sees only noisy cells and public totals.
"""

import numpy as np

from inbounds.exact import Ints


def fill_to_size(cells: Ints, other: int, sizes: Ints) -> Ints:
    """Count every record that is missing from the public size in the cell `other`; `cells` is labels × groups.

    With c[i] records in cell i, r = sum c, and the size n:

        cell i = min(c[i], n) for i != other,    cell other = min(c[other] + max(n - r, 0), n)

    Formal guarantee: neighbours differ in at most two cells, by 1 in each. (a) A changed record takes 1 from one
    c[i], adds 1 to another, and r stays the same. (b) A removed record takes 1 from one c[i]. If r <= n, then
    max(n - r, 0) grows by 1, so `other` gains what c[i] loses (nothing changes if i is `other`). If r > n, it stays
    0 and nothing else changes. min(·, n) moves no two values further apart. With at most n records the cells sum to n.

    >>> fill_to_size(np.array([[5], [3], [0]]), 2, np.array([10])).ravel().tolist()
    [5, 3, 2]
    """
    full = cells.copy()
    full[other] += np.maximum(sizes - cells.sum(axis=0), 0)
    return np.asarray(np.minimum(full, sizes), dtype=np.int64)


def round_to_sum(cells: Ints, totals: Ints) -> Ints:
    """Return the nearest whole non-negative cells with the given totals; `cells` is labels × groups.

    The least-squares projection onto {x >= 0, sum x = total} is x = max(cell - t, 0), with the t that makes the sum
    right, found from the sorted cells. Then t is rounded up, and the first labels that stay positive get back what is
    missing. All arithmetic is in integers. O(labels·log(labels)) per group.

    >>> round_to_sum(np.array([[5], [3], [0]]), np.array([7])).ravel().tolist()
    [5, 2, 0]
    """
    falling = -np.sort(-cells, axis=0)
    cumulative, ranks = np.cumsum(falling, axis=0), np.arange(1, len(cells) + 1)[:, None]
    positives = np.maximum((ranks * falling > cumulative - totals).sum(axis=0), 1)  # how many cells stay positive
    excess = np.take_along_axis(cumulative, positives[None, :] - 1, axis=0)[0] - totals
    whole = np.maximum(cells + -excess // positives, 0)
    stays_positive = positives * cells > excess
    missing = totals - whole.sum(axis=0)
    return np.asarray(whole + (stays_positive & (np.cumsum(stays_positive, axis=0) <= missing)), dtype=np.int64)
