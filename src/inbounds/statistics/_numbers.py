"""Statistics of a column of numbers: what they share.

Let v in 0..w be a record's value in steps from low, d the step of a record without a value, and n the group's size,
public or at most.
"""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from inbounds.exact import Ints
from inbounds.query import AllPairs, Neighbours, OutputCells, RangeQuery, Scale
from inbounds.schema.columns import LARGEST, NumberColumn
from inbounds.schema.errors import PlanError
from inbounds.schema.text import format_number
from inbounds.schema.types import NumberColumnName
from inbounds.sources.expressions import RecordWriter
from inbounds.sources.groups import Groups
from inbounds.sources.open import Source
from inbounds.statistics.base import Statistic, StatisticContext, Sum


class NumberStatistic(Statistic):
    """A statistic of one column with low and high.

    pads: with public sizes, a record short of the size counts as `missing`. fills_empty: a group without records
    counts as `missing`.
    """

    column: NumberColumnName = Field(description="A column with low and high.", examples=["age"])

    column_options: ClassVar[tuple[str, ...]] = ("low", "high", "step", "missing")
    needed_options: ClassVar[tuple[str, ...]] = ("low", "high")
    pads: ClassVar[bool] = False
    fills_empty: ClassVar[bool] = False

    def number_column(self, context: StatisticContext) -> NumberColumn:
        """Return the declared column; raise PlanError if it has no bounds."""
        column = context.column(self.column)
        if not isinstance(column, NumberColumn):
            raise PlanError(f"needs low and high of the column {self.column!r}")
        return column

    def number(self, context: StatisticContext, writer: RecordWriter) -> str:
        return writer.layout.steps(self.column)

    @staticmethod
    def describe_handling(members: Sequence["NumberStatistic"], context: StatisticContext, source: Source) -> list[str]:
        column, name = members[0].number_column(context), members[0].column
        steps = "" if column.step == 1 else f" in steps of {format_number(column.step)}"
        if context.public and any(one.pads for one in members):
            some = "" if all(one.pads for one in members) else f"for {_join_names(one for one in members if one.pads)} "
            short = f"and {some}each record short of the size, "
        else:
            short = "and a group without records, " if any(one.fills_empty for one in members) else ""
        return [
            f"{name}: values are moved into {format_number(column.low)}..{format_number(column.high)}{steps}; "
            f"a record without a value{_describe_number_texts(source)}{', ' if short else ' '}{short}"
            f"counts as {format_number(column.missing)} (missing)",
            *_describe_derived(members, context),
        ]


class SummedStatistic(NumberStatistic):
    """A statistic that follows from the sum of a column."""

    def check(self, context: StatisticContext, groups: Groups) -> None:
        """Raise PlanError if sums of the largest group are too large."""
        if self.number_column(context).width * groups.distinct_sizes[-1] >= LARGEST:
            raise PlanError("has too many possible answers; give the column a larger step")

    def measures(self, context: StatisticContext, number: str, total: Sum) -> dict[str, str]:
        return {"": total(number)}


def make_range_query(kind: str, answers: Scale, neighbours: Neighbours) -> RangeQuery:
    """Build a query with one output per answer."""
    return RangeQuery(kind, answers, OutputCells.one_per_answer(answers), neighbours)


def make_all_pairs_query(kind: str, column: NumberColumn) -> RangeQuery:
    """Build the query of one of the column's values, which one record may change to any other."""
    return make_range_query(kind, Scale(column.low, column.step, range(column.width + 1)), AllPairs())


def pad_sum(column: NumberColumn, total: Any, sizes: Any, rows: Any) -> Ints:
    """Compute the sum for a public size n: n·d + sum of (v - d), clamped to 0..n·w."""
    return clamp(total + (sizes - rows) * column.default, 0, sizes * column.width)


def clamp(values: Any, low: Any, high: Any) -> Ints:
    """Clamp whole numbers to low..high."""
    return np.asarray(np.minimum(np.maximum(values, low), high), dtype=np.int64)


def to_python_ints(*arrays: Ints) -> list[Any]:
    """Convert to Python integers, which do not overflow."""
    return [array.astype(object) for array in arrays]


def _describe_derived(members: Sequence[NumberStatistic], context: StatisticContext) -> list[str]:
    """Describe how numbers are computed that are not drawn themselves."""
    derived_values = [(one.name, one.derive(context)) for one in members]
    return [f"{name}: computed as {derived.words}" for name, derived in derived_values if derived is not None]


def _join_names(members: Iterable[NumberStatistic]) -> str:
    return ", ".join(one.name for one in members)


def _describe_number_texts(source: Source) -> str:
    """Describe which texts of a CSV file are no numbers; an undeclared decimal comma is a common mistake."""
    if not source.textual:
        return ""
    mark, other = (",", ".") if source.decimal == "," else (".", ",")
    if source.thousands:
        return f" or with text that is no number (1{source.thousands}234{mark}5 is one, 4{other}5 is not)"
    none = f"4{other}5 and 1.234,5 are not" if mark == "," else f"4{other}5 is not"
    return f" or with text that is no number (4{mark}5 is one, {none})"
