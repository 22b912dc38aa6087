"""Sided score tables: permute-and-flip with one pace for the values below the answer and another for those above.

For the k-th smallest of a public number of records, where neighbours differ in one record
(`path_lengths.path_lengths_changed`). If a record moves up, no value below the answer comes nearer to it and no value
above gets farther: lengths below rise or stay, those above fall or stay. So a table may fall faster on one side, as
long as both paces together are epsilon.

A side is (first, stride, spread, near). The answer has the level 0; outputs within the spread of it have the level
`near`, at most `first`. An output farther away takes the length of the value that is nearer to the answer by the
spread, and has the level

    first + stride · (length - 1) + deeper · depth

where the depth is that of the lengths themselves. It is eligible with probability T[level] / 2**62, as in
`permute_flip`. `check_sides` compares the bound of Theorem 4 of docs/theory/quantiles.md with exp(epsilon).
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from inbounds.errors import InvalidDistribution, ScoreRatioViolation
from inbounds.exact import Ints
from inbounds.trusted.bounds import EXP_BITS, TOTAL, TOTAL_BITS, ratio_lower_bound
from inbounds.trusted.certify import ratio_as_float
from inbounds.trusted.permute_flip import MOST_OUTPUTS, check_table, score_depths, table_step

Side = tuple[int, int, int, int]
"""(first, stride, spread, near): the level of an output one record away, the levels added by each further record, how
many values beside the answer count as nearly as good, and their level."""


# --- levels -----------------------------------------------------------------------------------------------


def sided_score_levels(lengths: Ints, below: Side, above: Side, deeper: int, size: int) -> Ints:
    """Return the table level of each output of each group; lengths from `size`, the table's length, on are beyond
    it.
    """
    capped = np.minimum(lengths, size)
    place, answer = np.arange(capped.shape[1]), capped.argmin(axis=1)[:, None]
    first, stride, _, near = (np.where(place < answer, *pair) for pair in zip(below, above, strict=True))
    shifted = place + np.clip(answer - place, -above[2], below[2])
    length = np.take_along_axis(capped, shifted, axis=1)
    near_level = np.where(place == answer, 0, near)
    return np.where(length == 0, near_level, first + stride * (length - 1) + deeper * score_depths(capped)[:, None])


# --- the checker ------------------------------------------------------------------------------------------


def check_sides(table: Sequence[int], below: Side, above: Side, deeper: int, width: int, epsilon: Fraction) -> None:
    """Raise unless permute-and-flip with these levels over the outputs 0..width is private, as `ScoreSampler` draws it.

    Choosing among the eligible outputs costs (2**62 + m) / (2**62 - m) for m = width + 1 outputs, as in `check_scores`.
    """
    check_table(table, width)
    _check_levels(below, above, deeper)
    p, m, unit = ratio_lower_bound(epsilon, Fraction(1)), width + 1, TOTAL * TOTAL
    for high in sided_ratio_bounds(table, below, above, deeper):
        if not high * (TOTAL + m) << EXP_BITS <= p * unit * (TOTAL - m):
            raise ScoreRatioViolation(ratio_as_float(high, unit), p / 2**EXP_BITS)


def _check_levels(below: Side, above: Side, deeper: int) -> None:
    numbers = (*below, *above, deeper)
    if not (len(below) == len(above) == 4 and all(type(number) is int for number in numbers)):
        raise InvalidDistribution("the levels of a sided score table must be whole numbers, four for each side")
    if not all(1 <= first < MOST_OUTPUTS and 1 <= stride < MOST_OUTPUTS for first, stride, *_ in (below, above)):
        raise InvalidDistribution("the levels of a sided score table must rise with every record")
    if not all(0 <= spread < MOST_OUTPUTS for _, _, spread, _ in (below, above)):
        raise InvalidDistribution(f"the spread of a sided score table must be at least 0 and below {MOST_OUTPUTS}")
    if not all(0 <= near <= first for first, _, _, near in (below, above)):
        raise InvalidDistribution("the level of a spread must be at least 0 and at most that of a record")
    if not 0 <= deeper <= min(below[1], above[1]):
        raise InvalidDistribution("the levels of a sided score table must rise with the depth by at most either stride")


def sided_ratio_bounds(table: Sequence[int], below: Side, above: Side, deeper: int) -> Iterator[int]:
    """Yield bounds, over 2**124, on the ratio of any output's probabilities between neighbours (Theorem 4).

    If a record moves up, a weight falls at most by the first factor, and another rises at most by the second.
    """
    (b, a), d = (below[1], above[1]), deeper
    yield _pace(table, below) * _pace(table, above)  # the depth stays, or the answer changes
    yield table_step(table, b + d) * table_step(table, a - d)  # the depth rises
    yield table_step(table, b - d) * table_step(table, a + d)  # the depth falls


def _pace(table: Sequence[int], side: Side) -> int:
    """Return the largest ratio of weights one record apart on a side, including the answer's, times 2**62, rounded
    up.
    """
    nearest = table[min(side[0], len(table) - 1)]
    return max(table_step(table, side[1]), -(-(TOTAL << TOTAL_BITS) // nearest))
