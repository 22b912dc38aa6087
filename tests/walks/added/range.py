"""The range of a column of numbers: the largest value minus the least.

One record may move it from any answer to any other, so every answer is a neighbour of every other:

    0..high - low      one answer per step      moves anywhere

A group without records has the range 0.
"""

from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np

from inbounds.exact import Ints
from inbounds.query import AllPairs, RangeQuery, Scale
from inbounds.sources.groups import Groups
from inbounds.statistics._numbers import NumberStatistic, make_range_query
from inbounds.statistics.base import GroupAggregates, StatisticContext


class Range(NumberStatistic):
    """The largest minus the least value of a column of numbers."""

    kind: Literal["range"] = "range"

    counts_values: ClassVar[bool] = True

    def check(self, context: StatisticContext, groups: Groups) -> None:
        self.number_column(context)

    def query(self, context: StatisticContext, size: int) -> RangeQuery:
        column = self.number_column(context)
        return make_range_query("extreme", Scale(Fraction(0), column.step, range(column.width + 1)), AllPairs())

    def positions(self, context: StatisticContext, aggregates: GroupAggregates) -> list[Ints]:
        occurs = aggregates.by_value.histograms(np.arange(len(aggregates.rows))) > 0
        last = occurs.shape[1] - 1 - occurs[:, ::-1].argmax(axis=1)
        return [np.where(occurs.any(axis=1), last - occurs.argmax(axis=1), 0)]
