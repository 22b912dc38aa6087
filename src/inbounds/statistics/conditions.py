"""Statistics of a condition: what they share."""

from functools import cached_property
from typing import ClassVar

from pydantic import Field

from inbounds.schema import types
from inbounds.schema.columns import check_condition
from inbounds.schema.condition.canonical import canonical_condition, canonical_text
from inbounds.schema.condition.parser import parse
from inbounds.schema.condition.tree import Condition, columns_used
from inbounds.sources.expressions import RecordWriter
from inbounds.sources.groups import Groups
from inbounds.statistics.base import Statistic, StatisticContext, Sum

EVERYTHING = "true"
"""The condition that every record meets."""


class ConditionStatistic(Statistic):
    """A statistic of the records that meet a condition."""

    condition: types.Condition = Field(
        description='The condition; "true" is met by every record.', examples=["age > 50", "answer = 'yes'"]
    )

    subject: ClassVar[str] = "condition"
    metavar: ClassVar[str] = "CONDITION"

    @property
    def default_name(self) -> str:
        return self.kind

    def to_canonical(self) -> "ConditionStatistic":
        return self.replace(name="", condition=canonical_text(self.condition))

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
        """Write SQL for 1 if the record meets the condition, else 0; a condition that is unknown is not met."""
        return writer.one_if(self.where)

    def measures(self, context: StatisticContext, number: str, total: Sum) -> dict[str, str]:
        return {"": total(number)}
