"""The sum of a column of numbers.

With public sizes a table is n records per group, an absent one counting as `missing`:

    n·d + sum of (v - d), clamped to 0..n·w       n·w + 1 answers      one changed record moves it by w

With a maximum, clamped to the range of at most n values: one record moves it by max(|low|, |high|).
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from inbounds.numbers import Ints
from inbounds.query import Query, Reach, Scale
from inbounds.tables.columns import Number
from inbounds.tables.statistics.kind import Aggregates, StatisticKind, Subject
from inbounds.tables.statistics.numbers import (
    NUMBERS,
    asked,
    check_answers,
    clamped,
    filled_up,
    of_any_size,
    summed,
    words,
)


@dataclass(frozen=True)
class SumGrid:
    """A column's bounds and step as whole multiples of `unit`."""

    unit: Fraction
    low: int
    high: int
    step: int


def open_grid(column: Number) -> SumGrid:
    """The coarsest grid through zero that holds every value of the column."""
    common = math.lcm(column.low.denominator, column.step.denominator)
    unit = Fraction(math.gcd(int(column.low * common), int(column.step * common)), common)
    return SumGrid(unit, int(column.low / unit), int(column.high / unit), int(column.step / unit))


def _query(subject: Subject[Number], size: int) -> Query:
    column = subject.declared
    if not subject.public:
        return _open_sum(column, size)
    return asked("total", Scale(size * column.low, column.step, range(size * column.width + 1)), Reach(column.width))


def _open_sum(column: Number, size: int) -> Query:
    """Sums of at most `size` values: from min(0, n·low) to max(0, n·high) on the grid that holds low and step."""
    grid = open_grid(column)
    first, last = min(0, size * grid.low), max(0, size * grid.high)
    scale = Scale(first * grid.unit, grid.unit, range(last - first + 1))
    return asked("total", scale, Reach(max(abs(grid.low), abs(grid.high))))


def _positions(subject: Subject[Number], found: Aggregates) -> list[Ints]:
    own, sizes, rows = of_any_size(found.own, found.sizes, found.rows)
    if subject.public:
        return [filled_up(subject.declared, own, sizes, rows)]
    grid = open_grid(subject.declared)
    first, last = np.minimum(0, sizes * grid.low), np.maximum(0, sizes * grid.high)
    return [clamped(rows * grid.low + own * grid.step - first, 0, last - first)]


SUM = StatisticKind(
    word="sum",
    domain=NUMBERS,
    query=_query,
    measures=summed,
    positions=_positions,
    words=words,
    check=check_answers,
    short=True,
    over_groups=True,
)
