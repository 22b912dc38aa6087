"""Conditions: a small typed language over declared columns, kept as a tree and never as SQL text.

A comparison with a missing value is neither true nor false; a record counts when the whole condition is true.
Text is compared for equality only, its order differs between engines; but for dates, written 2024-01-31.
`parser` reads the language.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal as Choice

from inbounds.schema.text import is_date

Type = Choice["number", "text", "boolean"]

ORDERS = ("<", "<=", ">", ">=")

_DATE = re.compile(r"[0-9]{4}[-/.][0-9]|[0-9]{1,2}[-./][0-9]{1,2}[-./][0-9]{2,4}")
"""A date in whatever form; the one that can be ordered is 2024-01-31."""


# --- the tree ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ColumnRef:
    """A declared column."""

    name: str


@dataclass(frozen=True)
class Literal:
    """A constant; numbers are exact."""

    value: Fraction | str | bool


Operand = ColumnRef | Literal


@dataclass(frozen=True)
class Compare:
    """left sign right."""

    sign: str
    left: Operand
    right: Operand


@dataclass(frozen=True)
class In:
    """subject in (…)."""

    subject: Operand
    values: tuple[Literal, ...]


@dataclass(frozen=True)
class IsNull:
    """subject is null."""

    subject: Operand


@dataclass(frozen=True)
class IsTrue:
    """A boolean operand by itself."""

    subject: Operand


@dataclass(frozen=True)
class Not:
    """The condition is false."""

    inner: "Condition"


@dataclass(frozen=True)
class And:
    """All parts are true."""

    parts: tuple["Condition", ...]


@dataclass(frozen=True)
class Or:
    """At least one part is true."""

    parts: tuple["Condition", ...]


Condition = Compare | In | IsNull | IsTrue | Not | And | Or


# --- types ------------------------------------------------------------------------------------------------


def check_condition(condition: Condition, types: Mapping[str, Type]) -> None:
    """A `ValueError` unless every column is declared and every comparison is between values of one type."""
    match condition:
        case Compare(sign, left, right):
            if not isinstance(right, ColumnRef):
                _check_subject(left)
            kind = operand_type(left, types)
            if isinstance(right, ColumnRef) and right.name not in types:
                raise ValueError(f"must use declared columns only, got {right.name}; {hint_text_type(right.name)}")
            said, hint = f"got {_as_written(left)} {sign} {_as_written(right)}", _number_hint(left, right)
            if kind != operand_type(right, types):
                way = _type_hint(left, right, types) or _type_hint(right, left, types)
                raise ValueError(f"must compare values of one type, {said}{way or hint}")
            if kind != "number" and sign in ORDERS and not _orders_dates(left, right):
                way = _date_hint(left, right) or "; use =, != or in"
                raise ValueError(f"must order numbers only, or dates such as '2024-01-31', {said}{hint or way}")
        case In(subject, values):
            for value in values:
                check_condition(Compare("=", subject, value), types)
        case IsNull(subject):
            _check_subject(subject)
            operand_type(subject, types)
        case IsTrue(subject):
            _check_subject(subject)
            if operand_type(subject, types) != "boolean":
                said = f"must compare {_as_written(subject)} with something; only true or false stand alone"
                raise ValueError(said + _type_hint(subject, Literal(True), types))
        case Not(inner):
            check_condition(inner, types)
        case And(parts) | Or(parts):
            for part in parts:
                check_condition(part, types)


def _check_subject(operand: Operand) -> None:
    """A text where a column belongs: nothing about a record would be compared, and every group be answered alike."""
    if isinstance(operand, Literal) and isinstance(operand.value, str):
        way = f'is it a column? write "{operand.value}" in double quotes'
        raise ValueError(f"must compare a column with something, got the text '{operand.value}' in its place; {way}")


def operand_type(operand: Operand, types: Mapping[str, Type]) -> Type:
    """The type of a column as declared, or of a constant."""
    if isinstance(operand, ColumnRef):
        if operand.name not in types:
            known = ", ".join(sorted(types)) or "none"
            raise ValueError(f"must use declared columns only, got {operand.name}; declared are: {known}")
        return types[operand.name]
    value = operand.value
    return "boolean" if isinstance(value, bool) else "text" if isinstance(value, str) else "number"


def columns_used(condition: Condition) -> dict[str, Type | None]:
    """The columns of a condition and the type that their comparisons with constants suggest."""
    found: dict[str, Type | None] = {}

    def note(operand: Operand, other: Operand | None) -> None:
        if isinstance(operand, ColumnRef):
            hint = operand_type(other, {}) if isinstance(other, Literal) else None
            found[operand.name] = found.get(operand.name) or hint

    def walk(part: Condition) -> None:
        match part:
            case Compare(_, left, right):
                note(left, right)
                note(right, left)
            case In(subject, values):
                note(subject, values[0])
            case IsNull(subject):
                note(subject, None)
            case IsTrue(subject):
                note(subject, Literal(True))
            case Not(inner):
                walk(inner)
            case And(parts) | Or(parts):
                for inside in parts:
                    walk(inside)

    walk(condition)
    return found


def replace_texts(condition: Condition, rename: Callable[[str, str], str]) -> Condition:
    """The condition with every text that a column is compared with renamed: `rename` gets the column and the text."""

    def renamed(value: Literal, name: str) -> Literal:
        return Literal(rename(name, value.value)) if isinstance(value.value, str) else value

    match condition:
        case Compare(sign, ColumnRef(name) as left, Literal() as right):
            return Compare(sign, left, renamed(right, name))
        case Compare(sign, Literal() as left, ColumnRef(name) as right):
            return Compare(sign, renamed(left, name), right)
        case In(ColumnRef(name) as subject, values):
            return In(subject, tuple(renamed(value, name) for value in values))
        case Not(inner):
            return Not(replace_texts(inner, rename))
        case And(parts):
            return And(tuple(replace_texts(part, rename) for part in parts))
        case Or(parts):
            return Or(tuple(replace_texts(part, rename) for part in parts))
    return condition


def texts_compared(condition: Condition) -> list[tuple[str, str]]:
    """Every column and text that are compared with each other."""
    found: list[tuple[str, str]] = []

    def note(name: str, text: str) -> str:
        found.append((name, text))
        return text

    replace_texts(condition, note)
    return found


def constants_compared(condition: Condition) -> set[str]:
    """Names on the right of a comparison: columns, or texts whose quotation marks were forgotten."""
    match condition:
        case Compare(_, _, ColumnRef(name)):
            return {name}
        case Not(inner):
            return constants_compared(inner)
        case And(parts) | Or(parts):
            return set().union(*map(constants_compared, parts))
    return set()


def is_ordering(condition: Condition) -> set[str]:
    """The columns that are ordered by dates."""
    match condition:
        case Compare(sign, ColumnRef(name), Literal(str())) | Compare(sign, Literal(str()), ColumnRef(name)):
            return {name} if sign in ORDERS else set()
        case Not(inner):
            return is_ordering(inner)
        case And(parts) | Or(parts):
            return set().union(*map(is_ordering, parts))
    return set()


def _orders_dates(left: Operand, right: Operand) -> bool:
    """One is a column, the other a date."""
    match (left, right):
        case (ColumnRef(), Literal(str(value))) | (Literal(str(value)), ColumnRef()):
            return is_date(value)
    return False


def hint_text_type(name: str) -> str:
    return f"is it a text? write '{name}' in single quotes"


def _number_hint(*operands: Operand) -> str:
    """A way out when a number stands in quotes."""
    for operand in operands:
        if isinstance(operand, Literal) and isinstance(operand.value, str):
            plain = operand.value.strip()
            if plain.removeprefix("-").replace(".", "", 1).isdecimal():
                return f"; is it a number? write {plain} without quotes"
    return ""


def _type_hint(column: Operand, value: Operand, types: Mapping[str, Type]) -> str:
    """A way out when a constant is not of its column's declared type."""
    if not isinstance(column, ColumnRef) or not isinstance(value, Literal):
        return ""
    name, declared = column.name, types[column.name]
    if declared == "boolean":
        return f"; {name} is declared as boolean: write {name} = true, or {name} = false"
    if declared == "text" and isinstance(value.value, bool):
        return f"; {name} is declared as text: write {name} = '{_as_written(value)}', or declare type = \"boolean\""
    if declared == "text":
        return f"; {name} is declared as text: write '{_as_written(value)}' in single quotes"
    return ""


def _date_hint(*operands: Operand) -> str:
    """A way out when a date is written in another form."""
    for operand in operands:
        if isinstance(operand, Literal) and isinstance(operand.value, str) and _DATE.match(operand.value.strip()):
            return "; is it a date? write year, month and day as there"
    return ""


def _as_written(operand: Operand) -> str:
    """An operand as it was written."""
    if isinstance(operand, ColumnRef):
        return operand.name
    return f"'{operand.value}'" if isinstance(operand.value, str) else str(operand.value).lower()
