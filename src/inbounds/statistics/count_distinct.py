"""The number of persons with a record that meets a condition.

    min(persons with such a record among those that count, n)       answers 0..n

One person is counted once in a group, however many records the person has there, so a person moves the number of each
group by 1. n is the largest number of records of a group. Numbers of several groups do not add up: a person may be in
more than one.
"""

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np

from inbounds.exact import Ints
from inbounds.query import RangeQuery, count
from inbounds.schema.errors import PlanError
from inbounds.sources.groups import Groups
from inbounds.sources.open import Source
from inbounds.statistics.base import GroupAggregates, StatisticContext
from inbounds.statistics.conditions import ConditionStatistic


class CountDistinct(ConditionStatistic):
    """The number of persons with a record that meets a condition."""

    kind: Literal["count_distinct"] = "count_distinct"

    once: ClassVar[bool] = True

    def check(self, context: StatisticContext, groups: Groups) -> None:
        super().check(context, groups)
        if not context.persons:
            raise PlanError(
                "counts persons with several records, but every record is one person here; ask for a count, or name "
                "the column that tells persons apart under [people] id"
            )

    def query(self, context: StatisticContext, size: int) -> RangeQuery:
        return count(size)

    def positions(self, context: StatisticContext, aggregates: GroupAggregates) -> list[Ints]:
        return [np.minimum(aggregates.measure, aggregates.sizes)]

    @staticmethod
    def describe_handling(members: Sequence["CountDistinct"], context: StatisticContext, source: Source) -> list[str]:
        names = ", ".join(one.name for one in members)
        return [
            f"{names}: a person counts once in a group, if any of the person's records that count there meets the "
            "condition"
        ]
