"""A column of numbers, and what all statistics of it share.

Write v in 0..w for a record's value in steps from low, d for the step that a record without a value counts as, n for
the group's size, public or at most.
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
    column = find_column(of, columns)
    if not isinstance(column, NumberColumn):
        raise PlanError(f"needs low and high of the column {of!r}")
    return column


def _bounds_given(word: str, options: Mapping[str, Any]) -> dict[str, Any]:
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
    return RangeQuery(kind, answers, OutputCells.one_per_answer(answers), neighbours)


def make_all_pairs_query(kind: str, column: NumberColumn) -> RangeQuery:
    """One of the column's values, which one record may move anywhere."""
    return make_range_query(kind, Scale(column.low, column.step, range(column.width + 1)), AllPairs())


def sum_measure(subject: StatisticContext[Any], own: str, total: Sum) -> dict[str, str]:
    """The records' whole numbers, added up."""
    return {"": total(own)}


def pad_sum(column: NumberColumn, own: Any, sizes: Any, rows: Any) -> Ints:
    """The sum with n public: n·d + sum of (v - d), clamped to 0..n·w."""
    return clamp(own + (sizes - rows) * column.default, 0, sizes * column.width)


def clamp(values: Any, low: Any, high: Any) -> Ints:
    return np.asarray(np.minimum(np.maximum(values, low), high), dtype=np.int64)


def to_python_ints(*arrays: Ints) -> list[Any]:
    """Whole numbers that no sum overflows."""
    return [array.astype(object) for array in arrays]


def check_answers(subject: StatisticContext[NumberColumn], groups: Groups) -> None:
    if subject.declared.width * int(groups.sizes.max()) >= LARGEST:
        raise PlanError("has too many possible answers; give the column a larger step")


def describe_number_handling(
    members: Sequence[tuple[StatisticKind[NumberColumn], StatisticContext[NumberColumn]]], source: Source
) -> list[str]:
    """What becomes of values outside the bounds, and of none at all, in all statistics of one column."""
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
        f"a record without a value{_unread(source)}{', ' if short else ' '}{short}"
        f"counts as {format_number(column.missing)} (missing)",
        *_compute_sums(members),
        *_as_large_as_may_be(members),
    ]


def _compute_sums(members: Sequence[tuple[StatisticKind[NumberColumn], StatisticContext[NumberColumn]]]) -> list[str]:
    found = [(subject.name, kind.derived(subject)) for kind, subject in members]
    return [f"{name}: computed as {derived.words}" for name, derived in found if derived is not None]


def _as_large_as_may_be(
    members: Sequence[tuple[StatisticKind[NumberColumn], StatisticContext[NumberColumn]]],
) -> list[str]:
    """Of which groups the expected errors of quantiles are, where sizes are not public."""
    names = [subject.name for kind, subject in members if kind.counts_values and not subject.public]
    supposed = "expected errors and intervals are those of groups as large as their maximum; smaller groups err more"
    return [f"{', '.join(names)}: {supposed}"] if names else []


def _unread(source: Source) -> str:
    """Which texts of a CSV file are no numbers: a decimal comma that nobody declared is the usual reason."""
    if not source.textual:
        return ""
    one, none = ("4,5", "4.5") if source.decimal == "," else ("4.5", "4,5")
    return f" or with text that is no number ({one} is one, {none} is not)"
