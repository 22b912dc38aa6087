"""Statistics of a column of numbers: what they share.

Let v in 0..w be a record's value in steps from low, d the step of a record without a value, and n the group's size,
public or at most.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from inbounds.exact import Ints
from inbounds.query import AllPairs, Neighbours, OutputCells, RangeQuery, Scale
from inbounds.schema.columns import LARGEST, Declared, NumberColumn
from inbounds.schema.errors import PlanError
from inbounds.schema.text import format_number
from inbounds.sources.groups import Groups
from inbounds.sources.open import Source
from inbounds.statistics.base import Domain, StatisticContext, StatisticKind, Sum, find_column


def _bounded_column(of: str, columns: Mapping[str, Declared]) -> NumberColumn:
    """Return the declared column; raise PlanError if it has no bounds."""
    column = find_column(of, columns)
    if not isinstance(column, NumberColumn):
        raise PlanError(f"needs low and high of the column {of!r}")
    return column


def _bounds_given(word: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the column that the options of the command line declare; raise ValueError without bounds."""
    if "low" not in options or "high" not in options:
        raise ValueError(f"--{word} needs --low and --high, the public bounds of the column")
    return {name: options[name] for name in NUMBERS.options if name in options}


NUMBERS = Domain(
    declared=_bounded_column,
    reads=lambda of: [of],
    number=lambda of, column, writer: writer.layout.steps(of),
    options=("low", "high", "step", "missing"),
    column_from=_bounds_given,
)


def make_range_query(kind: str, answers: Scale, neighbours: Neighbours) -> RangeQuery:
    """Build a query with one output per answer."""
    return RangeQuery(kind, answers, OutputCells.one_per_answer(answers), neighbours)


def make_all_pairs_query(kind: str, column: NumberColumn) -> RangeQuery:
    """Build the query of one of the column's values, which one record may change to any other."""
    return make_range_query(kind, Scale(column.low, column.step, range(column.width + 1)), AllPairs())


def sum_measure(subject: StatisticContext[Any], number: str, total: Sum) -> dict[str, str]:
    """Sum the records' whole numbers."""
    return {"": total(number)}


def pad_sum(column: NumberColumn, total: Any, sizes: Any, rows: Any) -> Ints:
    """Compute the sum for a public size n: n·d + sum of (v - d), clamped to 0..n·w."""
    return clamp(total + (sizes - rows) * column.default, 0, sizes * column.width)


def clamp(values: Any, low: Any, high: Any) -> Ints:
    """Clamp whole numbers to low..high."""
    return np.asarray(np.minimum(np.maximum(values, low), high), dtype=np.int64)


def to_python_ints(*arrays: Ints) -> list[Any]:
    """Convert to Python integers, which do not overflow."""
    return [array.astype(object) for array in arrays]


def check_answers(subject: StatisticContext[NumberColumn], groups: Groups) -> None:
    """Raise PlanError if sums of the largest group are too large."""
    if subject.declared.width * int(groups.sizes.max()) >= LARGEST:
        raise PlanError("has too many possible answers; give the column a larger step")


def describe_number_handling(
    members: Sequence[tuple[StatisticKind[NumberColumn], StatisticContext[NumberColumn]]], source: Source
) -> list[str]:
    """Describe what happens to values outside the bounds, and to missing ones, in statistics of one column."""
    (_, subject), kinds = members[0], [kind for kind, _ in members]
    column = subject.declared
    steps = "" if column.step == 1 else f" in steps of {format_number(column.step)}"
    if subject.public and any(kind.short for kind in kinds):
        some = "" if all(kind.short for kind in kinds) else "for sums and means "
        short = f"and {some}each record short of the size, "
    else:
        short = "and a group without records, " if any(kind.empty for kind in kinds) else ""
    return [
        f"{subject.of}: values are moved into {format_number(column.low)}..{format_number(column.high)}{steps}; "
        f"a record without a value{_describe_number_texts(source)}{', ' if short else ' '}{short}"
        f"counts as {format_number(column.missing)} (missing)",
        *_describe_derived(members),
        *_describe_error_sizes(members),
    ]


def _describe_derived(
    members: Sequence[tuple[StatisticKind[NumberColumn], StatisticContext[NumberColumn]]],
) -> list[str]:
    """Describe how numbers are computed that are not drawn themselves."""
    derived_values = [(subject.name, kind.derived(subject)) for kind, subject in members]
    return [f"{name}: computed as {derived.words}" for name, derived in derived_values if derived is not None]


def _describe_error_sizes(
    members: Sequence[tuple[StatisticKind[NumberColumn], StatisticContext[NumberColumn]]],
) -> list[str]:
    """Describe which groups the expected errors of quantiles are about, if sizes are not public."""
    names = [subject.name for kind, subject in members if kind.counts_values and not subject.public]
    supposed = "expected errors and intervals are those of groups as large as their maximum; smaller groups err more"
    return [f"{', '.join(names)}: {supposed}"] if names else []


def _describe_number_texts(source: Source) -> str:
    """Describe which texts of a CSV file are no numbers; an undeclared decimal comma is a common mistake."""
    if not source.textual:
        return ""
    one, none = ("4,5", "4.5") if source.decimal == "," else ("4.5", "4,5")
    return f" or with text that is no number ({one} is one, {none} is not)"
