"""Counted score tables: permute-and-flip with a score that also counts how many records have the value.

For the k-th smallest of a public number of records, where neighbours differ in one record. Let F(t) be the number of
records at most t, L(t) the number below t, and c(t) = F(t) - L(t) the number at t. The score of t is

    max(L(t) - k, k - 1 - F(t)) + min(max(c(t) - low, 0) // every, most) .

The first part is the path length less 1; only at the quantile it is negative, namely -(depth + 1). When a record
changes, F(t) and L(t) move by at most 1, both in the same direction. If both move, c(t) stays. If one moves, c(t)
moves by 1, the second part by 0 or 1 in the same direction, and the first part by 0 or 1 in the opposite one. So the
score moves by at most 1, and so does the least score. Output t has the level

    score(t) - the least score

and is eligible with probability T[level] / 2**62, as in `permute_flip`. If the least score stays, no level moves by
more than 1. If it rises by 1, levels fall by at most 2 and do not rise, and the other way round. By Theorem 1 of
docs/theory/quantiles.md the square of the table's largest step bounds the ratio between neighbours.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from inbounds.errors import InvalidDistribution
from inbounds.exact import Ints
from inbounds.trusted.sided_scores import Side, check_sides

MOST_COUNTED = 1 << 40
"""The largest value of `low`, `most` and `every`: no group has more records."""

ALIKE: Side = (1, 1, 0, 0)
"""One level per unit of the score on both sides, so that `check_sides` compares the square of the largest step."""


def counted_levels(full: Ints, k: int, low: int, most: int, every: int = 1) -> Ints:
    """Return the level of every output in every group.

    full: histograms of at least the public size, as `path_lengths.pad_histograms` makes them.
    """
    upto = np.cumsum(full, axis=1)
    score = np.maximum(upto - full - k, k - 1 - upto) + np.clip((full - low) // every, 0, most)
    return np.asarray(score - score.min(axis=1, keepdims=True))


def check_counted(table: Sequence[int], low: int, most: int, width: int, epsilon: Fraction, every: int = 1) -> None:
    """Raise unless permute-and-flip with these levels over the outputs 0..width is private, drawn by `ScoreSampler`."""
    if not all(type(number) is int and 0 <= number <= MOST_COUNTED for number in (low, most, every)):
        raise InvalidDistribution(f"a counted score table must count from 0 or more, at most {MOST_COUNTED} records")
    if every == 0:
        raise InvalidDistribution("a counted score table must count one record of every 1 or more")
    check_sides(table, ALIKE, ALIKE, 0, width, epsilon)
