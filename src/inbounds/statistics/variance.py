"""The variance of a column of numbers in groups of public size.

Let v be the values of n records in steps from low, w the largest, and S and Q the sums of v and v². The variance is

    (n·Q - S²) / n²       steps squared; n·Q - S² is a whole number from 0 to ⌊n²/4⌋·w²

n·Q - S² is the sum of (v_i - v_j)² over all pairs, so one changed record moves it by at most (n - 1)·w². It is rounded
to multiples of q = max(1, ⌊(n - 1)·w² / 16⌋), which one record moves by ⌈(n - 1)·w² / q⌉ of them.

A record short of n counts as `missing`. If there are more than n, the n least values count, which one changed record
changes in one value.
"""

from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np

from inbounds.exact import Ints
from inbounds.query import RangeQuery, Reach, Scale
from inbounds.schema.columns import LARGEST, NumberColumn
from inbounds.schema.errors import PlanError
from inbounds.sources.groups import Groups
from inbounds.statistics._numbers import NumberStatistic, make_range_query
from inbounds.statistics.base import GroupAggregates, StatisticContext
from inbounds.statistics.quantile import MOST_VALUES

PARTS = 16
"""Rounding moves an answer by at most half of this part of what one record can move it by."""

BLOCK = 1 << 22
"""The most counts in memory at a time."""


def unit_of(size: int, width: int) -> int:
    """Return q: to multiples of it n·Q - S² is rounded."""
    return max(1, (size - 1) * width**2 // PARTS)


class Variance(NumberStatistic):
    """The variance of a column of numbers, with public sizes; its root is the standard deviation."""

    kind: Literal["variance"] = "variance"

    counts_values: ClassVar[bool] = True
    of_levels: ClassVar[bool] = True
    pads: ClassVar[bool] = True

    def check(self, context: StatisticContext, groups: Groups) -> None:
        column = self.number_column(context)
        if not context.public:
            raise PlanError("needs public sizes, groups.size: with a maximum the number of records is secret as well")
        if groups.distinct_sizes[0] < 2:
            raise PlanError("needs groups of at least two records: one record has no variance")
        if column.width >= MOST_VALUES:
            raise PlanError(f"has more than {MOST_VALUES} possible values; give the column a larger step")
        if (groups.distinct_sizes[-1] * column.width) ** 2 >= LARGEST:
            raise PlanError("has too many possible answers; give the column a larger step")

    def query(self, context: StatisticContext, size: int) -> RangeQuery:
        column = self.number_column(context)
        unit, most = unit_of(size, column.width), size**2 // 4 * column.width**2
        scale = Scale(Fraction(0), unit * (column.step / size) ** 2, range(_round(most, unit) + 1))
        return make_range_query("total", scale, Reach(-(-(size - 1) * column.width**2 // unit)))

    def positions(self, context: StatisticContext, aggregates: GroupAggregates) -> list[Ints]:
        column, counts = self.number_column(context), aggregates.by_value
        found, rows = np.empty(len(aggregates.sizes), dtype=np.int64), max(1, BLOCK // (column.width + 1))
        for start in range(0, len(found), rows):
            members = np.arange(start, min(start + rows, len(found)))
            found[members] = _positions(column, counts.histograms(members), aggregates.sizes[members])
        return [found]


def _positions(column: NumberColumn, histograms: Ints, sizes: Ints) -> Ints:
    """Compute positions from the numbers of records with each value, groups × values."""
    upto = np.minimum(np.cumsum(histograms, axis=1), sizes[:, None])  # the n least values
    kept = np.diff(upto, axis=1, prepend=0)
    kept[:, column.default] += sizes - upto[:, -1]
    values = np.arange(column.width + 1)
    units = np.array([unit_of(int(size), column.width) for size in sizes], dtype=np.int64)
    squares, sums = (np.asarray(kept @ part, dtype=np.int64) for part in (values**2, values))
    return np.asarray(_round(sizes * squares - sums**2, units))


def _round(number: Any, unit: Any) -> Any:
    """Return how many units the nearest multiple of a unit has."""
    return (number + unit // 2) // unit
