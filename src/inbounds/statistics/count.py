"""The number of records that meet a condition.

    min(records that meet it, n)       answers 0..n      one record moves it by 1

n is the group's size, public or at most.
"""

from functools import lru_cache
from typing import ClassVar, Literal

import numpy as np

from inbounds.exact import Ints
from inbounds.query import RangeQuery, count
from inbounds.schema.condition.canonical import canonical_text
from inbounds.statistics.base import GroupAggregates, StatisticContext
from inbounds.statistics.conditions import ConditionStatistic


@lru_cache(maxsize=1024)
def _count_query(size: int) -> RangeQuery:
    """Build the query, which does not depend on what is counted; cached, because many questions share it."""
    return count(size)


class Count(ConditionStatistic):
    """The number of records that meet a condition."""

    kind: Literal["count"] = "count"

    over_groups: ClassVar[bool] = True

    def with_condition(self, condition: str) -> "Count":
        return self.replace(condition=canonical_text(f"({self.condition}) and ({condition})"))

    def query(self, context: StatisticContext, size: int) -> RangeQuery:
        return _count_query(size)

    def positions(self, context: StatisticContext, aggregates: GroupAggregates) -> list[Ints]:
        return [np.minimum(aggregates.measure, aggregates.sizes)]
