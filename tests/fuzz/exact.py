"""What a value means, in plain Python: a number, a text or a truth; `Unclear` where docs/totality.md leaves room."""

import math
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

from fuzz.conditions import Unclear, fold
from fuzz.values import Type

WORDS = {**dict.fromkeys(("true", "t", "yes", "y", "1"), True), **dict.fromkeys(("false", "f", "no", "n", "0"), False)}
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")


def meaning(own: Type, value: Any, kind: str) -> Any:
    """A value of a type, declared as a number, a text or a boolean; None where it is missing."""
    if not own.clear or (value in (None, "") and kind == "text" and not own.gaps):
        return Unclear
    if value is None:
        return None
    if type(value) is not type(own.ordinary[0]) and {type(value), type(own.ordinary[0])} != {int, Decimal}:
        return Unclear  # of SQLite and of Python's objects
    return {"number": _number, "text": _text, "boolean": _truth}[kind](value)


def _number(value: Any) -> Any:
    if isinstance(value, str):
        return _said(value)
    if isinstance(value, float):
        return value if math.isfinite(value) and abs(value) <= 1e300 else None
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return Unclear
    found = Fraction(value)  # what PostgreSQL takes for zero, and what is beyond 38 digits, is not said here
    return found if found == 0 or Fraction(1, 10**200) < abs(found) < 10**38 else Unclear


def _said(text: str) -> Any:
    """The number that a text says, a float; of letters around it, engines take several for spaces."""
    if text != text.strip() or not text.isprintable():
        return Unclear
    found = float(text) if len(text) <= 400 and NUMBER.fullmatch(text) else math.nan
    return found if abs(found) <= 1e300 else None


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    return fold(value) if isinstance(value, str) and "\0" not in value else Unclear


def _truth(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    return WORDS.get(value.lower()) if isinstance(value, str) and value.isprintable() else Unclear


def step_of(value: Any, low: Fraction, high: Fraction, step: Fraction, missing: Fraction) -> Fraction:
    """The value that a record counts as in a sum."""
    if value is None:
        return missing
    inside = max(low, min(high, Fraction(value)))
    return low + step * math.floor((inside - low) / step + Fraction(1, 2))
