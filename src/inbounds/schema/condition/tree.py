"""Conditions: a small typed language over declared columns, held as a tree and never as SQL text.

A comparison with a missing value is neither true nor false. A record counts if the whole condition is true. Texts are
compared for equality only, because their order differs between engines; dates such as 2024-01-31 may be ordered.
`parser` builds the tree, `sources.expressions` writes it as SQL.
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
"""The beginning of a date in any form; only dates such as 2024-01-31 can be ordered."""


# --- the tree ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ColumnRef:
    """A reference to a declared column."""

    name: str


@dataclass(frozen=True)
class Literal:
    """A constant; numbers are exact."""

    value: Fraction | str | bool


Operand = ColumnRef | Literal


@dataclass(frozen=True)
class Compare:
    """A comparison: left sign right."""

    sign: str
    left: Operand
    right: Operand


@dataclass(frozen=True)
class In:
    """A test whether the subject is one of several values."""

    subject: Operand
    values: tuple[Literal, ...]


@dataclass(frozen=True)
class IsNull:
    """A test whether the subject is missing."""

    subject: Operand


@dataclass(frozen=True)
class IsTrue:
    """A boolean operand that stands alone."""

    subject: Operand


@dataclass(frozen=True)
class Not:
    """A negation."""

    inner: "Condition"


@dataclass(frozen=True)
class And:
    """A conjunction: all parts are true."""

    parts: tuple["Condition", ...]


@dataclass(frozen=True)
class Or:
    """A disjunction: at least one part is true."""

    parts: tuple["Condition", ...]


Condition = Compare | In | IsNull | IsTrue | Not | And | Or


# --- types ------------------------------------------------------------------------------------------------


def check_condition(condition: Condition, types: Mapping[str, Type]) -> None:
    """Raise ValueError unless every column is declared and every comparison is between values of one type."""
    match condition:
        case Compare(sign, left, right):
            if not isinstance(right, ColumnRef):
                _check_subject(left)
            kind = operand_type(left, types)
            if isinstance(right, ColumnRef) and right.name not in types:
                raise ValueError(f"must use declared columns only, got {right.name}; {hint_text_type(right.name)}")
            message, hint = f"got {_format_operand(left)} {sign} {_format_operand(right)}", _number_hint(left, right)
            if kind != operand_type(right, types):
                way = _type_hint(left, right, types) or _type_hint(right, left, types)
                raise ValueError(f"must compare values of one type, {message}{way or hint}")
            if kind != "number" and sign in ORDERS and not _orders_dates(left, right):
                way = _date_hint(left, right) or "; use =, != or in"
                raise ValueError(f"must order numbers only, or dates such as '2024-01-31', {message}{hint or way}")
        case In(subject, values):
            for value in values:
                check_condition(Compare("=", subject, value), types)
        case IsNull(subject):
            _check_subject(subject)
            operand_type(subject, types)
        case IsTrue(subject):
            _check_subject(subject)
            if operand_type(subject, types) != "boolean":
                message = f"must compare {_format_operand(subject)} with something; only true or false stand alone"
                raise ValueError(message + _type_hint(subject, Literal(True), types))
        case Not(inner):
            check_condition(inner, types)
        case And(parts) | Or(parts):
            for part in parts:
                check_condition(part, types)


def _check_subject(operand: Operand) -> None:
    """Raise ValueError for a text in the place of a column: the comparison would be the same for every record."""
    if isinstance(operand, Literal) and isinstance(operand.value, str):
        way = f'is it a column? write "{operand.value}" in double quotes'
        raise ValueError(f"must compare a column with something, got the text '{operand.value}' in its place; {way}")


def operand_type(operand: Operand, types: Mapping[str, Type]) -> Type:
    """Return the declared type of a column, or the type of a constant."""
    if isinstance(operand, ColumnRef):
        if operand.name not in types:
            known = ", ".join(sorted(types)) or "none"
            raise ValueError(f"must use declared columns only, got {operand.name}; declared are: {known}")
        return types[operand.name]
    value = operand.value
    return "boolean" if isinstance(value, bool) else "text" if isinstance(value, str) else "number"


def columns_used(condition: Condition) -> dict[str, Type | None]:
    """Return the columns of a condition, each with the type that its comparisons with constants suggest."""
    types: dict[str, Type | None] = {}

    def note(operand: Operand, other: Operand | None) -> None:
        if isinstance(operand, ColumnRef):
            hint = operand_type(other, {}) if isinstance(other, Literal) else None
            types[operand.name] = types.get(operand.name) or hint

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
    return types


def replace_texts(condition: Condition, rename: Callable[[str, str], str]) -> Condition:
    """Replace every text that a column is compared with; `rename` gets the column and the text."""

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


def find_text_comparisons(condition: Condition) -> list[tuple[str, str]]:
    """Return every pair of a column and a text that are compared with each other."""
    pairs: list[tuple[str, str]] = []

    def note(name: str, text: str) -> str:
        pairs.append((name, text))
        return text

    replace_texts(condition, note)
    return pairs


def right_hand_names(condition: Condition) -> set[str]:
    """Return the names on the right of comparisons: columns, or texts that lack their quotation marks."""
    match condition:
        case Compare(_, _, ColumnRef(name)):
            return {name}
        case Not(inner):
            return right_hand_names(inner)
        case And(parts) | Or(parts):
            return set().union(*map(right_hand_names, parts))
    return set()


def date_ordered_columns(condition: Condition) -> set[str]:
    """Return the columns that are ordered by dates."""
    match condition:
        case Compare(sign, ColumnRef(name), Literal(str())) | Compare(sign, Literal(str()), ColumnRef(name)):
            return {name} if sign in ORDERS else set()
        case Not(inner):
            return date_ordered_columns(inner)
        case And(parts) | Or(parts):
            return set().union(*map(date_ordered_columns, parts))
    return set()


def _orders_dates(left: Operand, right: Operand) -> bool:
    """Return whether one operand is a column and the other a date."""
    match (left, right):
        case (ColumnRef(), Literal(str(value))) | (Literal(str(value)), ColumnRef()):
            return is_date(value)
    return False


def hint_text_type(name: str) -> str:
    """Return a hint for a name that is probably a text without quotation marks."""
    return f"is it a text? write '{name}' in single quotes"


def _number_hint(*operands: Operand) -> str:
    """Return a hint if a number stands in quotes."""
    for operand in operands:
        if isinstance(operand, Literal) and isinstance(operand.value, str):
            plain = operand.value.strip()
            if plain.removeprefix("-").replace(".", "", 1).isdecimal():
                return f"; is it a number? write {plain} without quotes"
    return ""


def _type_hint(column: Operand, value: Operand, types: Mapping[str, Type]) -> str:
    """Return a hint if a constant is not of its column's declared type."""
    if not isinstance(column, ColumnRef) or not isinstance(value, Literal):
        return ""
    name, declared = column.name, types[column.name]
    if declared == "boolean":
        return f"; {name} is declared as boolean: write {name} = true, or {name} = false"
    if declared == "text" and isinstance(value.value, bool):
        return f"; {name} is declared as text: write {name} = '{_format_operand(value)}', or declare type = \"boolean\""
    if declared == "text":
        return f"; {name} is declared as text: write '{_format_operand(value)}' in single quotes"
    return ""


def _date_hint(*operands: Operand) -> str:
    """Return a hint if a date is written in another form."""
    for operand in operands:
        if isinstance(operand, Literal) and isinstance(operand.value, str) and _DATE.match(operand.value.strip()):
            return "; is it a date? write year, month and day as there"
    return ""


def _format_operand(operand: Operand) -> str:
    """Format an operand as it was written."""
    if isinstance(operand, ColumnRef):
        return operand.name
    return f"'{operand.value}'" if isinstance(operand.value, str) else str(operand.value).lower()
