"""Conditions as Ibis expressions: constants travel as literals, never as SQL text."""

from fractions import Fraction
from typing import Any

from inbounds.tables import condition as language


def translated(condition: language.Condition, columns: dict[str, Any]) -> Any:
    """A condition as an Ibis expression over typed columns; constants travel as literals, never as SQL text."""

    def value(operand: language.Operand) -> Any:
        return columns[operand.name] if isinstance(operand, language.Column) else _literal(operand)

    match condition:
        case language.Comparison(sign, left, right):
            return _COMPARED[sign](value(left), value(right))
        case language.Among(subject, values):
            return value(subject).isin([_literal(item) for item in values])
        case language.IsNull(subject):
            return value(subject).isnull()
        case language.Truth(subject):
            return value(subject)
        case language.Not(inner):
            return ~translated(inner, columns)
        case language.Every(parts):
            return _folded(parts, columns, lambda a, b: a & b)
        case language.Some(parts):
            return _folded(parts, columns, lambda a, b: a | b)


def _folded(parts: tuple[language.Condition, ...], columns: dict[str, Any], join: Any) -> Any:
    first, *rest = (translated(part, columns) for part in parts)
    for part in rest:
        first = join(first, part)
    return first


def _literal(operand: language.Literal) -> Any:
    import ibis

    value = operand.value
    return ibis.literal(value if isinstance(value, bool | str) else constant(value))


def constant(value: Fraction) -> int | float:
    """A number as engines write it."""
    return int(value) if value.denominator == 1 and abs(value) < 1 << 63 else float(value)


_COMPARED: dict[str, Any] = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
