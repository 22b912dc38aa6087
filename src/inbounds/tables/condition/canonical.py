"""One form for conditions that mean the same: order, repetition, spelling and double negation do not matter.

Every rewriting holds in the logic of three values that conditions have (a comparison with a missing value is neither
true nor false), so that two conditions with one form are true of the same records. The reverse is not claimed: two
conditions of different forms may still mean the same.
"""

import re
from collections.abc import Iterable

from inbounds.numbers import all_digits
from inbounds.tables.condition import (
    Among,
    Column,
    Comparison,
    Condition,
    Every,
    IsNull,
    Literal,
    Not,
    Operand,
    Some,
    Truth,
)
from inbounds.tables.condition.grammar import WORDS, parse

MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
NEGATED = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}

_PLAIN = re.compile(r"[^\W\d]\w*")


def canonical(condition: Condition) -> Condition:
    """The form that all spellings of a condition share.

    >>> spelled(canonical(parse("not (18.0 > age) and sex in ('m')")))
    "age >= 18 and sex = 'm'"
    """
    match condition:
        case Comparison():
            return _comparison(condition)
        case Among(subject, values):
            return _among(subject, values)
        case Truth(Column() as subject):
            return Comparison("=", subject, Literal(True))
        case Not(inner):
            return _negated(canonical(inner))
        case Every(parts):
            return _joined(Every, map(canonical, parts))
        case Some(parts):
            return _joined(Some, _merged(map(canonical, parts)))
    return condition


def spelled(condition: Condition) -> str:
    """The condition as text that `parse` reads back."""
    return _spelled(condition, 0)


def canonical_text(text: str) -> str:
    """The canonical spelling of a condition; a `ValueError` if a number in it has too many digits to be written out."""
    found = canonical(parse(text))
    written = spelled(found)
    try:
        same = canonical(parse(written)) == found
    except ValueError:
        same = False
    if not same:
        raise ValueError("must have numbers of at most 40 digits before and after the point")
    return written


def _comparison(test: Comparison) -> Condition:
    """The column on the left; of two columns, the first by name. A boolean is compared with `=` alone."""
    sign, left, right = test.sign, test.left, test.right
    mirrored = isinstance(left, Literal) and isinstance(right, Column)
    if isinstance(left, Column) and isinstance(right, Column):
        mirrored = right.name < left.name
    if mirrored:
        sign, left, right = MIRRORED[sign], right, left
    if sign == "!=" and isinstance(right, Literal) and isinstance(right.value, bool):
        return Comparison("=", left, Literal(not right.value))
    return Comparison(sign, left, right)


def _among(subject: Operand, values: Iterable[Literal]) -> Condition:
    kept = tuple(sorted(set(values), key=_operand))
    return Comparison("=", subject, kept[0]) if len(kept) == 1 else Among(subject, kept)


def _negated(inner: Condition) -> Condition:
    """The negation of a condition in canonical form, moved inwards."""
    match inner:
        case Comparison(sign, left, right):
            return _comparison(Comparison(NEGATED[sign], left, right))
        case Not(inside):
            return inside
        case Every(parts):
            return _joined(Some, _merged(map(_negated, parts)))
        case Some(parts):
            return _joined(Every, map(_negated, parts))
        case Truth(Literal(bool(value))):
            return Truth(Literal(not value))
    return Not(inner)


def _merged(parts: Iterable[Condition]) -> list[Condition]:
    """Equalities of one column, any of which will do, as one list of values."""
    found: list[Condition] = []
    values: dict[Column, list[Literal]] = {}
    for part in _flat(Some, parts):
        match part:
            case Comparison("=", Column() as subject, Literal() as value):
                values.setdefault(subject, []).append(value)
            case Among(Column() as subject, several):
                values.setdefault(subject, []).extend(several)
            case _:
                found.append(part)
    return found + [_among(subject, several) for subject, several in values.items()]


def _flat(kind: type[Every] | type[Some], parts: Iterable[Condition]) -> list[Condition]:
    return [inner for part in parts for inner in (part.parts if isinstance(part, kind) else (part,))]


def _joined(kind: type[Every] | type[Some], parts: Iterable[Condition]) -> Condition:
    """All or any of the parts, each once, in the order of their spelling; what changes nothing is left out."""
    neutral, deciding = Truth(Literal(kind is Every)), Truth(Literal(kind is Some))
    kept = set(_flat(kind, parts)) - {neutral}
    if deciding in kept:
        return deciding
    if not kept:
        return neutral
    ordered = tuple(sorted(kept, key=spelled))
    return ordered[0] if len(ordered) == 1 else kind(ordered)


def _spelled(condition: Condition, outer: int) -> str:
    """outer: 0 stands alone or under `or`, 1 under `and`, 2 under `not`."""
    match condition:
        case Comparison(sign, left, right):
            return _within(f"{_operand(left)} {sign} {_operand(right)}", outer > 1)
        case Among(subject, values):
            return _within(f"{_operand(subject)} in ({', '.join(map(_operand, values))})", outer > 1)
        case IsNull(subject):
            return _within(f"{_operand(subject)} is null", outer > 1)
        case Truth(subject):
            return _operand(subject)
        case Not(inner):
            return f"not {_spelled(inner, 2)}"
        case Every(parts):
            return _within(" and ".join(_spelled(part, 1) for part in parts), outer > 1)
        case Some(parts):
            return _within(" or ".join(_spelled(part, 0) for part in parts), outer > 0)


def _within(text: str, parentheses: bool) -> str:
    return f"({text})" if parentheses else text


def _operand(operand: Operand) -> str:
    if isinstance(operand, Column):
        plain = _PLAIN.fullmatch(operand.name) and operand.name.lower() not in WORDS
        return operand.name if plain else '"' + operand.name.replace('"', '""') + '"'
    value = operand.value
    if isinstance(value, bool):
        return "true" if value else "false"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else all_digits(value)
