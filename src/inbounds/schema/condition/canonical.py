"""One form for conditions that mean the same: order, repetition, spelling and double negation do not matter.

Every rewriting holds in the logic of three values that conditions have (a comparison with a missing value is neither
true nor false), so that two conditions with one form are true of the same records. The reverse is not claimed: two
conditions of different forms may still mean the same.
"""

import re
from collections.abc import Iterable

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
    """The form that all spellings of a condition share.

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
    """The condition as text that `parse` reads back."""
    return _format(condition, 0)


def canonical_text(text: str) -> str:
    """The canonical spelling of a condition; a `ValueError` if a number in it has too many digits to be written out."""
    found = canonical_condition(parse(text))
    written = format_condition(found)
    try:
        same = canonical_condition(parse(written)) == found
    except ValueError:
        same = False
    if not same:
        raise ValueError("must have numbers of at most 40 digits before and after the point")
    return written


def _comparison(test: Compare) -> Condition:
    """The column on the left; of two columns, the first by name. A boolean is compared with `=` alone."""
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
    kept = tuple(sorted(set(values), key=_operand))
    return Compare("=", subject, kept[0]) if len(kept) == 1 else In(subject, kept)


def _negate(inner: Condition) -> Condition:
    """The negation of a condition in canonical form, moved inwards."""
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
    """Equalities of one column, any of which will do, as one list of values."""
    found: list[Condition] = []
    values: dict[ColumnRef, list[Literal]] = {}
    for part in _flat(Or, parts):
        match part:
            case Compare("=", ColumnRef() as subject, Literal() as value):
                values.setdefault(subject, []).append(value)
            case In(ColumnRef() as subject, several):
                values.setdefault(subject, []).extend(several)
            case _:
                found.append(part)
    return found + [_among(subject, several) for subject, several in values.items()]


def _flat(kind: type[And] | type[Or], parts: Iterable[Condition]) -> list[Condition]:
    return [inner for part in parts for inner in (part.parts if isinstance(part, kind) else (part,))]


def _join(kind: type[And] | type[Or], parts: Iterable[Condition]) -> Condition:
    """All or any of the parts, each once, in the order of their spelling; what changes nothing is left out."""
    neutral, deciding = IsTrue(Literal(kind is And)), IsTrue(Literal(kind is Or))
    kept = set(_flat(kind, parts)) - {neutral}
    if deciding in kept:
        return deciding
    if not kept:
        return neutral
    ordered = tuple(sorted(kept, key=format_condition))
    return ordered[0] if len(ordered) == 1 else kind(ordered)


def _format(condition: Condition, outer: int) -> str:
    """outer: 0 stands alone or under `or`, 1 under `and`, 2 under `not`."""
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
