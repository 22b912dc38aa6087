"""Statistics of columns of labels: what they share."""

from typing import ClassVar

import numpy as np
from pydantic import Field

from inbounds.exact import Ints
from inbounds.schema.columns import LabelColumn
from inbounds.schema.errors import PlanError
from inbounds.schema.types import LabelColumnName
from inbounds.sources.expressions import RecordWriter
from inbounds.statistics.base import GroupAggregates, Statistic, StatisticContext, Sum


class LabelStatistic(Statistic):
    """A statistic of one column with labels."""

    column: LabelColumnName = Field(description="A column with labels.", examples=["answer"])

    compares_labels: ClassVar[bool] = True
    column_options: ClassVar[tuple[str, ...]] = ("labels", "other")
    needed_options: ClassVar[tuple[str, ...]] = ("labels",)

    def label_column(self, context: StatisticContext) -> LabelColumn:
        """Return the declared column; raise PlanError if it has no labels."""
        return find_label_column(self.column, context)

    def number(self, context: StatisticContext, writer: RecordWriter) -> str:
        return writer.layout.label(self.column)

    def measures(self, context: StatisticContext, number: str, total: Sum) -> dict[str, str]:
        return count_places(number, len(self.label_column(context).labels), total)

    def counts(self, context: StatisticContext, aggregates: GroupAggregates) -> Ints:
        """Return the number of records with each label, labels × groups."""
        return np.array([aggregates.measures[f"_{i}"] for i in range(len(self.label_column(context).labels))])


def find_label_column(name: str, context: StatisticContext) -> LabelColumn:
    """Return a declared column; raise PlanError if it has no labels."""
    column = context.column(name)
    if not isinstance(column, LabelColumn):
        raise PlanError(f"needs the labels of the column {name!r}")
    return column


def count_places(number: str, places: int, total: Sum) -> dict[str, str]:
    """Write SQL for the number of records with each of the whole numbers 0, 1, … places - 1."""
    return {f"_{i}": total(f"CASE WHEN {number} = {i} THEN 1 ELSE 0 END") for i in range(places)}
