"""Canonical form of conditions: order, repetition, spelling and double negation do not matter.

Conditions have three truth values, because a comparison with a missing value is neither true nor false. Every rewriting
here holds in that logic, so conditions with the same canonical form are true for the same records. The converse does
not hold: conditions with different forms may still mean the same.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from inbounds.exact import format_all_digits
from inbounds.schema.condition.parser import WORDS, parse
from inbounds.schema.condition.tree import (
    And,
    ColumnRef,
    Compare,
    Condition,
    In,
    IsNull,
    IsTrue,
    Literal,
    Not,
    Operand,
    Or,
)

MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
NEGATED = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}

_PLAIN = re.compile(r"[^\W\d]\w*")


def canonical_condition(condition: Condition) -> Condition:
    """Rewrite a condition to the form that all its spellings share.

    >>> format_condition(canonical_condition(parse("not (18.0 > age) and sex in ('m')")))
    "age >= 18 and sex = 'm'"
    """
    match condition:
        case Compare():
            return _comparison(condition)
        case In(subject, values):
            return _among(subject, values)
        case IsTrue(ColumnRef() as subject):
            return Compare("=", subject, Literal(True))
        case Not(inner):
            return _negate(canonical_condition(inner))
        case And(parts):
            return _join(And, map(canonical_condition, parts))
        case Or(parts):
            return _join(Or, _merge_equalities(map(canonical_condition, parts)))
    return condition


def format_condition(condition: Condition) -> str:
    """Format a condition as text that `parse` reads back."""
    return _format(condition, 0)


@lru_cache(maxsize=256)
def canonical_text(text: str) -> str:
    """Return the canonical spelling of a condition; cached, as parsing is.

    Raises ValueError if a number in it has too many digits to be written out.
    """
    condition = canonical_condition(parse(text))
    spelling = format_condition(condition)
    try:
        same = canonical_condition(parse(spelling)) == condition
    except ValueError:
        same = False
    if not same:
        raise ValueError("must have numbers of at most 40 digits before and after the point")
    return spelling


def _comparison(test: Compare) -> Condition:
    """Put the column on the left, of two columns the first by name; compare booleans with `=` only."""
    sign, left, right = test.sign, test.left, test.right
    mirrored = isinstance(left, Literal) and isinstance(right, ColumnRef)
    if isinstance(left, ColumnRef) and isinstance(right, ColumnRef):
        mirrored = right.name < left.name
    if mirrored:
        sign, left, right = MIRRORED[sign], right, left
    if sign == "!=" and isinstance(right, Literal) and isinstance(right.value, bool):
        return Compare("=", left, Literal(not right.value))
    return Compare(sign, left, right)


def _among(subject: Operand, values: Iterable[Literal]) -> Condition:
    distinct = tuple(sorted(set(values), key=_operand))
    return Compare("=", subject, distinct[0]) if len(distinct) == 1 else In(subject, distinct)


def _negate(inner: Condition) -> Condition:
    """Negate a condition in canonical form, with the negation moved inwards."""
    match inner:
        case Compare(sign, left, right):
            return _comparison(Compare(NEGATED[sign], left, right))
        case Not(inside):
            return inside
        case And(parts):
            return _join(Or, _merge_equalities(map(_negate, parts)))
        case Or(parts):
            return _join(And, map(_negate, parts))
        case IsTrue(Literal(bool(value))):
            return IsTrue(Literal(not value))
    return Not(inner)


def _merge_equalities(parts: Iterable[Condition]) -> list[Condition]:
    """Merge equalities of one column that are joined by `or` into one list of values."""
    others: list[Condition] = []
    values: dict[ColumnRef, list[Literal]] = {}
    for part in _flat(Or, parts):
        match part:
            case Compare("=", ColumnRef() as subject, Literal() as value):
                values.setdefault(subject, []).append(value)
            case In(ColumnRef() as subject, more):
                values.setdefault(subject, []).extend(more)
            case _:
                others.append(part)
    return others + [_among(subject, more) for subject, more in values.items()]


def _flat(kind: type[And] | type[Or], parts: Iterable[Condition]) -> list[Condition]:
    return [inner for part in parts for inner in (part.parts if isinstance(part, kind) else (part,))]


def _join(kind: type[And] | type[Or], parts: Iterable[Condition]) -> Condition:
    """Join the parts: each once, in the order of their spelling, without parts that change nothing."""
    neutral, deciding = IsTrue(Literal(kind is And)), IsTrue(Literal(kind is Or))
    distinct = set(_flat(kind, parts)) - {neutral}
    if deciding in distinct:
        return deciding
    if not distinct:
        return neutral
    ordered = tuple(sorted(distinct, key=format_condition))
    return ordered[0] if len(ordered) == 1 else kind(ordered)


def _format(condition: Condition, outer: int) -> str:
    """Format a condition. outer: 0 if it stands alone or under `or`, 1 under `and`, 2 under `not`."""
    match condition:
        case Compare(sign, left, right):
            return _within(f"{_operand(left)} {sign} {_operand(right)}", outer > 1)
        case In(subject, values):
            return _within(f"{_operand(subject)} in ({', '.join(map(_operand, values))})", outer > 1)
        case IsNull(subject):
            return _within(f"{_operand(subject)} is null", outer > 1)
        case IsTrue(subject):
            return _operand(subject)
        case Not(inner):
            return f"not {_format(inner, 2)}"
        case And(parts):
            return _within(" and ".join(_format(part, 1) for part in parts), outer > 1)
        case Or(parts):
            return _within(" or ".join(_format(part, 0) for part in parts), outer > 0)


def _within(text: str, parentheses: bool) -> str:
    return f"({text})" if parentheses else text


def _operand(operand: Operand) -> str:
    if isinstance(operand, ColumnRef):
        plain = _PLAIN.fullmatch(operand.name) and operand.name.lower() not in WORDS
        return operand.name if plain else '"' + operand.name.replace('"', '""') + '"'
    value = operand.value
    if isinstance(value, bool):
        return "true" if value else "false"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else format_all_digits(value)
