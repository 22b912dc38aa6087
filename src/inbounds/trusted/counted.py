"""Counted score tables: permute-and-flip over a score that also counts how many records have the value.

For the k-th smallest of a public number of records, one of which may be another. With F(t) records at most t, L(t) of
them below t and c(t) = F(t) - L(t) at t, the score of t is

    max(L(t) - k, k - 1 - F(t)) + min(max(c(t) - low, 0) // every, most) .

The first part is the path length less 1, and at the quantile alone negative: its depth, and 1 more. When a record
moves, F(t) and L(t) move by at most 1, both the same way. If both do, c(t) stays; if one does, c(t) moves by 1, what it
adds by 0 or 1 the same way, and the first part by 0 or 1 against it: so the score moves by at most 1, and so does the
least score of all. Output t has the level

    score(t) - the least score

and raises its hand with probability T[level] / 2**62, as in `scores`. If the least score stays, no level moves by more
than 1; if it rises by 1, levels fall by at most 2 and do not rise, and the other way round: by Theorem 1 of
docs/theory/quantiles.md the square of the table's largest step bounds the ratio between neighbours.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from inbounds.errors import InvalidDistribution
from inbounds.exact import Ints
from inbounds.trusted.sided_scores import Side, check_sides

MOST_COUNTED = 1 << 40
"""The largest `low`, `most` and `every`: no group has more records."""

ALIKE: Side = (1, 1, 0, 0)
"""A level for every unit of the score, on both sides: `check_sides` then compares the square of the largest step."""


def counted_levels(full: Ints, k: int, low: int, most: int, every: int = 1) -> Ints:
    """The levels of every group. full: histograms of at least the public size, as `lengths.filled` makes them."""
    upto = np.cumsum(full, axis=1)
    score = np.maximum(upto - full - k, k - 1 - upto) + np.clip((full - low) // every, 0, most)
    return np.asarray(score - score.min(axis=1, keepdims=True))


def check_counted(table: Sequence[int], low: int, most: int, width: int, epsilon: Fraction, every: int = 1) -> None:
    """Raise unless permute-and-flip with these levels over the outputs 0..width is private, as it is drawn."""
    if not all(type(number) is int and 0 <= number <= MOST_COUNTED for number in (low, most, every)):
        raise InvalidDistribution(f"a counted score table must count from 0 or more, at most {MOST_COUNTED} records")
    if every == 0:
        raise InvalidDistribution("a counted score table must count one record of every 1 or more")
    check_sides(table, ALIKE, ALIKE, 0, width, epsilon)
