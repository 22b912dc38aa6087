"""The number of records with each pair of labels of two columns, and the sums over either column.

    cell: min(records with the pair, n)       sums: min(sum of cells, n)       answers 0..n
    one record added or removed: one cell, and one sum of each column, moves by 1; one record changed: two of each

n is the group's size, public or at most. If sizes are public and both columns have a label for any `other` value,
every record is in a cell, records short of n are in the cell of both `other` (`adjust.histograms.fill_to_size`), and
the cells sum to n. `adjust.two_way` makes cells and sums agree.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, field_validator, model_validator

from inbounds.adjust.histograms import fill_to_size
from inbounds.exact import Ints
from inbounds.query import RangeQuery, count
from inbounds.schema.columns import LabelColumn
from inbounds.schema.errors import PlanError
from inbounds.schema.types import LabelColumnName
from inbounds.sources.expressions import RecordWriter
from inbounds.sources.groups import Groups
from inbounds.sources.open import Source
from inbounds.statistics._labels import count_places, find_label_column
from inbounds.statistics.base import GroupAggregates, Statistic, StatisticContext, Sum

CROSS = " × "
"""The separator of the names of the two columns in texts."""

ALL = "all"
"""The name of the sum over all labels."""


@dataclass(frozen=True)
class LabelPair:
    """Two columns of labels."""

    rows: LabelColumn
    columns: LabelColumn

    @property
    def full(self) -> bool:
        """Return whether every record is in a cell."""
        return bool(self.rows.other and self.columns.other)

    @property
    def shape(self) -> tuple[int, int]:
        """Return the numbers of labels of rows and columns."""
        return len(self.rows.labels), len(self.columns.labels)


class Crosstab(Statistic):
    """The number of records with each pair of labels of two columns."""

    kind: Literal["crosstab"] = "crosstab"
    columns: Annotated[tuple[LabelColumnName, ...], Field(min_length=2, max_length=2)] = Field(
        description="Two columns with labels.", examples=[["gender", "answer"]]
    )
    margins: tuple[LabelColumnName, ...] = Field(
        default=(), description="The columns whose labels are also counted alone; both if left out."
    )

    subject: ClassVar[str] = "columns"
    in_cells: ClassVar[bool] = True
    by_unit: ClassVar[bool] = True
    over_cells: ClassVar[bool] = True
    compares_labels: ClassVar[bool] = True
    column_options: ClassVar[tuple[str, ...]] = ("labels", "other")
    needed_options: ClassVar[tuple[str, ...]] = ("labels",)
    metavar: ClassVar[str] = "COLUMN,COLUMN"

    @model_validator(mode="before")
    @classmethod
    def _count_both_alone(cls, fields: Any) -> Any:
        if isinstance(fields, dict) and "margins" not in fields:
            return {**fields, "margins": fields.get("columns", ())}
        return fields

    @field_validator("columns", mode="before")
    @classmethod
    def _check_columns(cls, columns: Any) -> Any:
        if not isinstance(columns, list | tuple) or len(columns) != 2:
            raise PlanError('must be two columns of labels, such as ["gender", "answer"]')
        return columns

    @model_validator(mode="after")
    def _check_names(self) -> "Crosstab":
        if self.columns[0] == self.columns[1]:
            raise PlanError("must name two different columns of labels", ("columns",))
        for name in self.columns:
            if CROSS in name:
                raise PlanError(f"must name columns without {CROSS!r} in their names", ("columns",))
        if len(set(self.margins)) < len(self.margins) or not set(self.margins) <= set(self.columns):
            raise PlanError("must name different ones of its two columns", ("margins",))
        return self

    @classmethod
    def from_option(cls, text: str) -> dict[str, Any]:
        return {"crosstab": [name.strip() for name in text.split(",")]}

    def to_entry(self) -> dict[str, Any]:
        return {**super().to_entry(), "margins": list(self.margins)}

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "margins": list(self.margins)}

    @property
    def subject_text(self) -> str:
        return CROSS.join(self.columns)

    @property
    def default_name(self) -> str:
        return self.subject_text

    def to_canonical(self) -> "Crosstab":
        return self.replace(name="", margins=tuple(sorted(self.margins)))

    @property
    def columns_read(self) -> tuple[str, ...]:
        return self.columns

    def label_pair(self, context: StatisticContext) -> LabelPair:
        """Return the two declared columns; raise PlanError unless both have labels."""
        return LabelPair(*(find_label_column(name, context) for name in self.columns))

    def check(self, context: StatisticContext, groups: Groups) -> None:
        self.label_pair(context)

    def number(self, context: StatisticContext, writer: RecordWriter) -> str:
        """Write SQL for the position of the pair, row by row; -1 if either label has no cell."""
        row, column = (writer.layout.label(name) for name in self.columns)
        width = self.label_pair(context).shape[1]
        return f"CASE WHEN {row} < 0 OR {column} < 0 THEN -1 ELSE {row} * {width} + {column} END"

    def measures(self, context: StatisticContext, number: str, total: Sum) -> dict[str, str]:
        return count_places(number, math.prod(self.label_pair(context).shape), total)

    def query(self, context: StatisticContext, size: int) -> RangeQuery:
        return count(size)

    def positions(self, context: StatisticContext, aggregates: GroupAggregates) -> list[Ints]:
        pair = self.label_pair(context)
        cells = np.array([aggregates.measures[f"_{i}"] for i in range(math.prod(pair.shape))])
        if context.public and pair.full:
            return list(fill_to_size(cells, pair.rows.rest * pair.shape[1] + pair.columns.rest, aggregates.sizes))
        return list(np.minimum(cells, aggregates.sizes))

    def cells(self, context: StatisticContext) -> list[str]:
        """Return the columns of the cells, row by row."""
        pair = self.label_pair(context)
        return [f"{self.name}: {row}, {column}" for row, column in product(pair.rows.labels, pair.columns.labels)]

    def margin_cells(self, context: StatisticContext) -> list[str]:
        return [name for margin in self.margins for name in self.sum_names(context, margin)]

    def sum_names(self, context: StatisticContext, margin: str) -> list[str]:
        """Return the columns of the sums that belong to a margin."""
        pair = self.label_pair(context)
        if margin == self.columns[0]:
            return [f"{self.name}: {label}, {ALL}" for label in pair.rows.labels]
        return [f"{self.name}: {ALL}, {label}" for label in pair.columns.labels]

    @staticmethod
    def describe_handling(members: Sequence["Crosstab"], context: StatisticContext, source: Source) -> list[str]:
        pair, text = members[0].label_pair(context), members[0].subject_text
        if not pair.full:
            return [
                f"{text}: a record with any other value than the labels, or none, in either column may be in no cell"
            ]
        short = ", and each record short of the size," if context.public else ""
        both = f"{pair.rows.other}, {pair.columns.other}"
        return [f"{text}: any other value than a label, or none, counts as other{short}: {both}"]
