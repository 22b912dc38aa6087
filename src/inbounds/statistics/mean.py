"""The mean of a column of numbers.

With public sizes, the sum divided by n: n·w + 1 answers, and one changed record moves it by w of them. With a maximum,
the share of two sums that are drawn together: see `_mean_pair`.
"""

from typing import ClassVar, Literal

from inbounds.exact import Ints
from inbounds.query import RangeQuery, Reach, Scale
from inbounds.statistics._mean_pair import mean_pair, pair_positions, pair_query
from inbounds.statistics._numbers import SummedStatistic, make_range_query, pad_sum, to_python_ints
from inbounds.statistics.base import DerivedValue, GroupAggregates, StatisticContext


class Mean(SummedStatistic):
    """The mean of a column of numbers."""

    kind: Literal["mean"] = "mean"

    by_unit: ClassVar[bool] = True
    averages: ClassVar[bool] = True
    pads: ClassVar[bool] = True
    fills_empty: ClassVar[bool] = True

    def query(self, context: StatisticContext, size: int) -> RangeQuery:
        column = self.number_column(context)
        if not context.public:
            return pair_query(column, size)
        scale = Scale(column.low, column.step / size, range(size * column.width + 1))
        return make_range_query("mean", scale, Reach(column.width))

    def positions(self, context: StatisticContext, aggregates: GroupAggregates) -> list[Ints]:
        column = self.number_column(context)
        if not context.public:
            return pair_positions(column, aggregates)
        total, sizes, rows = to_python_ints(aggregates.measure, aggregates.sizes, aggregates.rows)
        return [pad_sum(column, total, sizes, rows)]

    def derive(self, context: StatisticContext) -> DerivedValue | None:
        return None if context.public else mean_pair(self.number_column(context))
