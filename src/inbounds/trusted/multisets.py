"""Multisets: the central order statistics of a group, as positions in a list of all there can be.

The window of a group holds its records of rank first..first + length - 1 in order. Where one record of the group is
changed, at most one record of the window is: the records in order shift by one place along a stretch of ranks, so the
window loses one and gains one (docs/theory/quantiles.md). A multiset of `length` values in 0..width is a histogram; its
position is its rank in lexicographic order, in the combinatorial number system.
"""

from functools import lru_cache
from math import comb

import numpy as np

from inbounds.errors import TooLarge
from inbounds.exact import FrozenArray, Ints


def central_window(histograms: Ints, first: int, length: int) -> Ints:
    """Histograms of the records of rank first..first + length - 1; groups must have so many."""
    upto = np.cumsum(histograms, axis=1)
    inside = np.clip(upto, first - 1, first - 1 + length)
    return np.diff(inside, axis=1, prepend=first - 1)


def count_multisets(length: int, width: int) -> int:
    """Multisets of `length` values in 0..width."""
    return comb(length + width, width)


def multiset_index(histograms: Ints, length: int) -> Ints:
    """Where each histogram of `length` records stands among all of them, in lexicographic order of the histograms.

    Before a histogram h stand those with fewer records at value t, and the same ones before t: for every t
    sum_{v < h_t} C(left - v + w - t - 1, w - t - 1), which the hockey-stick identity sums to a difference of two.
    """
    width = histograms.shape[1] - 1
    table = _binomials(length, width).array
    left = length - np.cumsum(histograms, axis=1) + histograms
    rest = width - np.arange(width + 1)
    before = table[left, rest] - table[left - histograms, rest]
    return np.asarray(before[:, :-1].sum(axis=1))


def all_multisets(length: int, width: int) -> Ints:
    """Every histogram of `length` records on 0..width, in the order of `multiset_index`."""
    left, grown = np.array([length]), list[tuple[Ints, Ints]]()
    for _ in range(width):  # every beginning, once for each number of records that its next value may have
        beginning = np.repeat(np.arange(len(left)), left + 1)
        here = np.arange(len(beginning)) - (np.cumsum(left + 1) - left - 1)[beginning]
        grown.append((here, beginning))
        left = left[beginning] - here
    columns, place = [left], np.arange(len(left))
    for here, beginning in reversed(grown):
        columns.append(here[place])
        place = beginning[place]
    return np.stack(columns[::-1], axis=1)


def neighbour_groups(length: int, width: int) -> Ints:
    """Rows of positions that are neighbours of each other: all multisets that have length - 1 records in common."""
    common = all_multisets(length - 1, width)
    rows = [multiset_index(common + one, length) for one in np.eye(width + 1, dtype=np.int64)]
    return np.stack(rows, axis=1)


@lru_cache(maxsize=16)
def _binomials(length: int, width: int) -> FrozenArray:
    """C(left + rest, rest) for left <= length, rest <= width: each row the running sums of the one before (Pascal).

    All are at most how_many(length, width), and its matrix is far larger than this table.
    """
    if count_multisets(length, width) >= 1 << 62:
        raise TooLarge("there are too many multisets to number them; use fewer central records, or a larger step")
    short, long = sorted((length, width))
    rows = [np.ones(long + 1, dtype=np.int64)]
    for _ in range(short):
        rows.append(np.cumsum(rows[-1]))
    table = np.stack(rows)  # C(i + j, j) is the same with i and j exchanged
    return FrozenArray.from_array(np.ascontiguousarray(table if short == length else table.T))
