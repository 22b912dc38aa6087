"""Multisets: the central order statistics of a group, as positions in the list of all multisets.

The window of a group holds its records of rank first..first + length - 1 in order. If one record of the group changes,
at most one record of the window changes: the ordered records shift by one place along a stretch of ranks, so the
window loses one and gains one (docs/theory/quantiles.md). A multiset of `length` values in 0..width is a histogram. Its
position is its rank in lexicographic order, in the combinatorial number system.
"""

from functools import lru_cache
from math import comb

import numpy as np

from inbounds.errors import TooLarge
from inbounds.exact import FrozenArray, Ints


def central_window(histograms: Ints, first: int, length: int) -> Ints:
    """Return histograms of the records of rank first..first + length - 1; every group must have that many records."""
    upto = np.cumsum(histograms, axis=1)
    inside = np.clip(upto, first - 1, first - 1 + length)
    return np.diff(inside, axis=1, prepend=first - 1)


def count_multisets(length: int, width: int) -> int:
    """Return the number of multisets of `length` values in 0..width."""
    return comb(length + width, width)


def multiset_index(histograms: Ints, length: int) -> Ints:
    """Return the rank of each histogram of `length` records among all of them, in lexicographic order.

    Before a histogram h come those that agree with h before value t and have fewer records at t: for every t sum_{v <
    h_t} C(left - v + w - t - 1, w - t - 1), which the hockey-stick identity sums to a difference of two binomials.
    """
    width = histograms.shape[1] - 1
    table = _binomials(length, width).array
    left = length - np.cumsum(histograms, axis=1) + histograms
    values_after = width - np.arange(width + 1)
    before = table[left, values_after] - table[left - histograms, values_after]
    return np.asarray(before[:, :-1].sum(axis=1))


def all_multisets(length: int, width: int) -> Ints:
    """Return every histogram of `length` records on 0..width, in the order of `multiset_index`."""
    left, stages = np.array([length]), list[tuple[Ints, Ints]]()
    for _ in range(width):  # extend every prefix by each possible count at the next value
        prefix = np.repeat(np.arange(len(left)), left + 1)
        counts = np.arange(len(prefix)) - (np.cumsum(left + 1) - left - 1)[prefix]
        stages.append((counts, prefix))
        left = left[prefix] - counts
    columns, place = [left], np.arange(len(left))
    for counts, prefix in reversed(stages):
        columns.append(counts[place])
        place = prefix[place]
    return np.stack(columns[::-1], axis=1)


def neighbour_groups(length: int, width: int) -> Ints:
    """Return rows of positions that are neighbours of each other: the multisets with length - 1 records in common."""
    common = all_multisets(length - 1, width)
    rows = [multiset_index(common + unit_vector, length) for unit_vector in np.eye(width + 1, dtype=np.int64)]
    return np.stack(rows, axis=1)


@lru_cache(maxsize=16)
def _binomials(length: int, width: int) -> FrozenArray:
    """Return C(left + rest, rest) for left <= length, rest <= width; each row has the running sums of the row before
    (Pascal).

    All entries are at most count_multisets(length, width); a matrix over all multisets is far larger than this table.
    """
    if count_multisets(length, width) >= 1 << 62:
        raise TooLarge("there are too many multisets to number them; use fewer central records, or a larger step")
    short, long = sorted((length, width))
    rows = [np.ones(long + 1, dtype=np.int64)]
    for _ in range(short):
        rows.append(np.cumsum(rows[-1]))
    table = np.stack(rows)  # C(i + j, j) is the same with i and j exchanged
    return FrozenArray.from_array(np.ascontiguousarray(table if short == length else table.T))
