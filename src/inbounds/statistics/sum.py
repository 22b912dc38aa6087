"""The sum of a column of numbers.

With public sizes a table has n records per group, and an absent one counts as `missing`:

    n·d + sum of (v - d), clamped to 0..n·w       n·w + 1 answers      one changed record moves it by w

With a maximum, clamped to the range of at most n values: one record moves it by max(|low|, |high|).
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np

from inbounds.exact import Floats, Ints
from inbounds.query import RangeQuery, Reach, Scale
from inbounds.schema.columns import NumberColumn
from inbounds.statistics._numbers import SummedStatistic, clamp, make_range_query, pad_sum, to_python_ints
from inbounds.statistics.base import GroupAggregates, StatisticContext
from inbounds.statistics.sizes import SizeBeliefs


@dataclass(frozen=True)
class SumGrid:
    """A column's bounds and step as whole multiples of `unit`."""

    unit: Fraction
    low: int
    high: int
    step: int


def open_grid(column: NumberColumn) -> SumGrid:
    """Find the coarsest grid through zero that holds every value of the column."""
    common = math.lcm(column.low.denominator, column.step.denominator)
    unit = Fraction(math.gcd(int(column.low * common), int(column.step * common)), common)
    return SumGrid(unit, int(column.low / unit), int(column.high / unit), int(column.step / unit))


def _open_sum(column: NumberColumn, size: int) -> RangeQuery:
    """Build the query of sums of at most `size` values: min(0, n·low)..max(0, n·high) on the grid of low and step."""
    grid = open_grid(column)
    first, last = min(0, size * grid.low), max(0, size * grid.high)
    scale = Scale(first * grid.unit, grid.unit, range(last - first + 1))
    return make_range_query("total", scale, Reach(max(abs(grid.low), abs(grid.high))))


class Sum(SummedStatistic):
    """The sum of a column of numbers."""

    kind: Literal["sum"] = "sum"

    over_groups: ClassVar[bool] = True
    pads: ClassVar[bool] = True

    def query(self, context: StatisticContext, size: int) -> RangeQuery:
        column = self.number_column(context)
        if not context.public:
            return _open_sum(column, size)
        scale = Scale(size * column.low, column.step, range(size * column.width + 1))
        return make_range_query("total", scale, Reach(column.width))

    def moves_twice(self, context: StatisticContext) -> bool:
        column = self.number_column(context)
        return column.low < 0 < column.high

    def answer_prior(self, context: StatisticContext, size: int, beliefs: SizeBeliefs) -> Floats | None:
        """Return the prior under which, given N records, all sums from N·low to N·high are equally likely."""
        if context.public:
            return None
        grid = open_grid(self.number_column(context))
        first, last = min(0, size * grid.low), max(0, size * grid.high)
        starts, stops = beliefs.sizes * grid.low - first, beliefs.sizes * grid.high - first + 1
        changes = np.zeros(last - first + 2)
        np.add.at(changes, starts, beliefs.weights[0] / (stops - starts))
        np.subtract.at(changes, stops, beliefs.weights[0] / (stops - starts))
        prior = np.maximum(np.cumsum(changes)[:-1], 0.0)
        return np.asarray(prior / prior.sum())

    def positions(self, context: StatisticContext, aggregates: GroupAggregates) -> list[Ints]:
        column = self.number_column(context)
        total, sizes, rows = to_python_ints(aggregates.measure, aggregates.sizes, aggregates.rows)
        if context.public:
            return [pad_sum(column, total, sizes, rows)]
        grid = open_grid(column)
        first, last = np.minimum(0, sizes * grid.low), np.maximum(0, sizes * grid.high)
        return [clamp(rows * grid.low + total * grid.step - first, 0, last - first)]
