"""The number of records that meet a condition.

    min(records that meet it, n)       answers 0..n      one record moves it by 1

n is the group's size, public or at most.
"""

from functools import cached_property, lru_cache
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from inbounds.exact import Ints
from inbounds.query import RangeQuery, count
from inbounds.schema import types
from inbounds.schema.columns import check_condition
from inbounds.schema.condition.canonical import canonical_condition, canonical_text
from inbounds.schema.condition.parser import parse
from inbounds.schema.condition.tree import Condition, columns_used
from inbounds.sources.expressions import RecordWriter
from inbounds.sources.groups import Groups
from inbounds.statistics.base import GroupAggregates, Statistic, StatisticContext, Sum

EVERYTHING = "true"
"""The condition that every record meets."""


@lru_cache(maxsize=1024)
def _count_query(size: int) -> RangeQuery:
    """Build the query, which does not depend on what is counted; cached, because many questions share it."""
    return count(size)


class Count(Statistic):
    """The number of records that meet a condition."""

    kind: Literal["count"] = "count"
    condition: types.Condition = Field(
        description='The condition; "true" counts all records.', examples=["age > 50", "answer = 'yes'"]
    )

    subject: ClassVar[str] = "condition"
    over_groups: ClassVar[bool] = True
    metavar: ClassVar[str] = "CONDITION"

    @property
    def default_name(self) -> str:
        return "count"

    def to_canonical(self) -> "Count":
        return self.replace(name="", condition=canonical_text(self.condition))

    def with_condition(self, condition: str) -> "Count":
        return self.replace(condition=canonical_text(f"({self.condition}) and ({condition})"))

    @property
    def columns_read(self) -> tuple[str, ...]:
        return tuple(columns_used(self.where))

    @cached_property
    def where(self) -> Condition:
        return parse(self.condition)

    @property
    def counts_all(self) -> bool:
        """Whether the condition is "true", in any spelling."""
        return canonical_condition(self.where) == parse(EVERYTHING)

    def check(self, context: StatisticContext, groups: Groups) -> None:
        check_condition(self.where, context.columns)

    def number(self, context: StatisticContext, writer: RecordWriter) -> str:
        return writer.one_if(self.where)

    def measures(self, context: StatisticContext, number: str, total: Sum) -> dict[str, str]:
        return {"": total(number)}

    def query(self, context: StatisticContext, size: int) -> RangeQuery:
        return _count_query(size)

    def positions(self, context: StatisticContext, aggregates: GroupAggregates) -> list[Ints]:
        return [np.minimum(aggregates.measure, aggregates.sizes)]
