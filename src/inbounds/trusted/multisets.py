"""Multisets: the central order statistics of a group, as positions in a list of all there can be.

The window of a group holds its records of rank first..first + length - 1 in order. Where one record of the group is
changed, at most one record of the window is: the records in order shift by one place along a stretch of ranks, so the
window loses one and gains one (docs/theory/quantiles.md). A multiset of `length` values in 0..width is a histogram; its
position is its rank in lexicographic order, in the combinatorial number system.
"""

from functools import lru_cache
from math import comb

import numpy as np

from inbounds.numbers import Ints, Sealed


def window(histograms: Ints, first: int, length: int) -> Ints:
    """Histograms of the records of rank first..first + length - 1; groups must have so many."""
    upto = np.cumsum(histograms, axis=1)
    inside = np.clip(upto, first - 1, first - 1 + length)
    return np.diff(inside, axis=1, prepend=first - 1)


def how_many(length: int, width: int) -> int:
    """Multisets of `length` values in 0..width."""
    return comb(length + width, width)


def positions(histograms: Ints, length: int) -> Ints:
    """Where each histogram of `length` records stands among all of them, in lexicographic order of the histograms.

    Before a histogram h stand those with fewer records at value t, and the same ones before t: for every t
    sum_{v < h_t} C(left - v + w - t - 1, w - t - 1), which the hockey-stick identity sums to a difference of two.
    """
    width = histograms.shape[1] - 1
    table = _binomials(length + width)
    left = length - np.cumsum(histograms, axis=1) + histograms
    rest = width - np.arange(width + 1)
    before = table[left + rest, rest] - table[left - histograms + rest, rest]
    return np.asarray(before[:, :-1].sum(axis=1))


def all_multisets(length: int, width: int) -> Ints:
    """Every histogram of `length` records on 0..width, in the order of `positions`."""
    if width == 0:
        return np.full((1, 1), length, dtype=np.int64)
    parts = []
    for here in range(length + 1):
        rest = all_multisets(length - here, width - 1)
        parts.append(np.column_stack([np.full(len(rest), here, dtype=np.int64), rest]))
    return np.concatenate(parts)


def neighbouring(length: int, width: int) -> Ints:
    """Rows of positions that are neighbours of each other: all multisets that have length - 1 records in common."""
    common = all_multisets(length - 1, width)
    rows = [positions(common + one, length) for one in np.eye(width + 1, dtype=np.int64)]
    return np.stack(rows, axis=1)


def _binomials(size: int) -> Ints:
    return _sealed_binomials(size).array


@lru_cache(maxsize=16)
def _sealed_binomials(size: int) -> Sealed:
    """C[n, k] for n, k <= size, cut off where none is needed: positions stay far below 2**62."""
    table = [[min(comb(n, k), 1 << 62) for k in range(size + 1)] for n in range(size + 1)]
    return Sealed.of(np.array(table, dtype=np.int64))
