"""What statistics are computed of, and how every record becomes a small whole number: in every engine the same."""

from collections.abc import Mapping
from typing import Any

from inbounds.tables import condition as language
from inbounds.tables.columns import Category, Declared, Number, check_labels
from inbounds.tables.condition import Condition
from inbounds.tables.errors import PlanError
from inbounds.tables.expression import translated
from inbounds.tables.grammar import parse
from inbounds.tables.statistics.kind import Domain, Fit


def one_if(condition: Any) -> Any:
    """1 where the condition is true, 0 where it is false or cannot be told."""
    import ibis

    return ibis.cases((condition, ibis.literal(1, "int64")), else_=ibis.literal(0, "int64"))


def _column(of: str, columns: Mapping[str, Declared]) -> Declared:
    if of not in columns:
        raise PlanError(f"must name a declared column, got {of!r}; add [columns.{of}]")
    return columns[of]


def _only(options: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: options[name] for name in names if name in options}


# --- a condition ------------------------------------------------------------------------------------------


def _checked(of: str, columns: Mapping[str, Declared]) -> Condition:
    where = parse(of)
    language.check(where, {name: column.type for name, column in columns.items()})
    check_labels(language.texts(where), columns)
    return where


def _meets(of: str, where: Condition, columns: Mapping[str, Any], fit: Fit) -> Any:
    return one_if(translated(language.retold(where, fit), dict(columns)))


CONDITIONS = Domain(declared=_checked, reads=lambda of: list(language.used(parse(of))), number=_meets, condition=parse)


# --- a column of numbers ----------------------------------------------------------------------------------


def _bounded(of: str, columns: Mapping[str, Declared]) -> Number:
    column = _column(of, columns)
    if not isinstance(column, Number):
        raise PlanError(f"needs low and high of the column {of!r}")
    return column


def step_number(values: Any, column: Number) -> Any:
    """The nearest step of the range, a whole number of 0..width; a missing value counts as the default.

        clamp(floor((clamp(v, low, high) - low + step/2) / step), 0, width)

    Clamped before the division, so that no engine overflows, and after the floor, because the floats nearest to the
    bounds may lie beside them. Half a step is added before the division: PostgreSQL stops where a quotient
    underflows.
    """
    import ibis

    low, high, step = float(column.low), float(column.high), float(column.step)
    inside = _within(values.cast("float64"), low, high)
    nearest = _within(((inside - low + step / 2) / step).floor(), 0.0, float(column.width))
    return ibis.cases((values.notnull(), nearest.cast("int64")), else_=ibis.literal(column.default, "int64"))


def _within(values: Any, low: float, high: float) -> Any:
    import ibis

    return ibis.least(ibis.greatest(values, ibis.literal(low, "float64")), ibis.literal(high, "float64"))


def _bounds_given(word: str, options: Mapping[str, Any]) -> dict[str, Any]:
    if "low" not in options or "high" not in options:
        raise ValueError(f"--{word} needs --low and --high, the public bounds of the column")
    return _only(options, "low", "high", "step", "missing")


NUMBERS = Domain(
    declared=_bounded,
    reads=lambda of: [of],
    number=lambda of, column, columns, fit: step_number(columns[of], column),
    options=("low", "high", "step", "missing"),
    column_from=_bounds_given,
)


# --- a column of labels -----------------------------------------------------------------------------------


def _labelled(of: str, columns: Mapping[str, Declared]) -> Category:
    column = _column(of, columns)
    if not isinstance(column, Category):
        raise PlanError(f"needs the labels of the column {of!r}")
    return column


def _label_number(of: str, column: Category, columns: Mapping[str, Any], fit: Fit) -> Any:
    """The position of the label; every other value is `other`, or -1 for no cell at all."""
    import ibis

    branches = [(columns[of] == fit(of, label), ibis.literal(k, "int64")) for k, label in enumerate(column.labels)]
    return ibis.cases(*branches, else_=ibis.literal(column.rest, "int64"))


def _labels_given(word: str, options: Mapping[str, Any]) -> dict[str, Any]:
    if "labels" not in options:
        raise ValueError(f"--{word} needs --labels, separated by commas")
    return {"labels": [label.strip() for label in options["labels"].split(",")]}


LABELS = Domain(
    declared=_labelled,
    reads=lambda of: [of],
    number=_label_number,
    options=("labels",),
    column_from=_labels_given,
    compares_labels=True,
)
