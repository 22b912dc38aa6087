"""Public texts: keys, labels and texts in conditions, spelled as their column spells them.

A text that no record of its column can hold would match nothing, and every group would get the answer 0. The schema
is public, so such a text is refused, or converted to the spelling of the column.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import Any

TRUTHS = ("true", "false")
"""The two words that match in any case, because programs spell them differently."""

LONGEST_TEXT = 10_000
"""Most characters of a public text and of an id; a longer text in a record matches nothing."""

FLOATS = 'pandas makes whole numbers with gaps floats; convert them with .astype("Int64")'

_ABSENT = ("NoneType", "NAType", "NaTType")
_WHOLE, _FLOAT = re.compile(r"-?[0-9]+(\.0)?"), re.compile(r"-?[0-9]+\.0")
_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[ T]00:00(?::00(?:\.0+)?)?)?")


def split_statement(statement: str) -> tuple[str, str]:
    """Split the statement of a release into the promise, two sentences, and its details.

    >>> split_statement("Each row counts as one person. Sizes are public.\\nA row is a record.")
    ('Each row counts as one person. Sizes are public.', 'A row is a record.')
    """
    promise, _, details = statement.partition("\n")
    return promise, details


def to_text(value: Any) -> str:
    """Convert a public value to text: a boolean to true or false, a date or a midnight to 2024-01-31.

    >>> to_text(True), to_text(3), to_text(datetime(2024, 1, 31))
    ('true', '3', '2024-01-31')
    """
    if type(value) is str:
        return value
    kind = type(value).__name__
    if kind in _ABSENT or isinstance(value, bytes):
        raise ValueError(f"must be texts, whole numbers, booleans or dates, got {value!r}")
    if isinstance(value, float | Decimal):
        raise ValueError(f"must be texts, whole numbers, booleans or dates, got {value}; {FLOATS}")
    if kind in ("bool", "bool_"):
        return str(value).lower()
    return format_midnight(value) or str(value)


def format_midnight(value: Any) -> str:
    """Format a midnight as its date, 2024-01-31; return an empty text for any other value."""
    midnight = isinstance(value, datetime) and value.tzinfo is None and value.time() == time()
    return value.date().isoformat() if midnight else ""


def to_list(values: Any) -> Any:
    """Convert Numpy arrays and columns of frames to lists; return anything else unchanged."""
    if getattr(getattr(values, "dtype", None), "kind", "") == "M" and not hasattr(values, "encode"):
        values = values.astype("datetime64[us]")  # finer ones become plain numbers in a list
    convert = getattr(values, "tolist", None) or getattr(values, "to_list", None)
    return convert() if convert else values


def fold_text(text: str) -> str:
    """Fold spellings that mean the same: True and TRUE to true, 3.0 to 3; return other texts unchanged.

    >>> fold_text("TRUE"), fold_text("3.0"), fold_text("v3.0")
    ('true', '3', 'v3.0')
    """
    if len(text) <= len("false") and text.lower() in TRUTHS:
        return text.lower()
    return text.removesuffix(".0") if text.endswith(".0") and looks_like_float(text) else text


def are_folded(texts: Sequence[str]) -> bool:
    """Return whether no text is too long or changed by `fold_text`; true is certain, as a text may hold several lines.

    >>> are_folded(["North", "3"]), are_folded(["North", "3.0"])
    (True, False)
    """
    lines = "\n".join(("", *texts, ""))
    may_be_folded = ".0\n" in lines or any(f"\n{word}\n" in lines.lower() for word in TRUTHS)
    return max(map(len, texts), default=0) <= LONGEST_TEXT and not may_be_folded


def is_boolean_text(text: str) -> bool:
    """Return whether the text is true or false, in any case."""
    return len(text) <= len("false") and text.lower() in TRUTHS


def match_spelling(text: str, kind: Any) -> str:
    """Spell a text as a column of this Ibis type does.

    Raises ValueError, which states what the column holds, if no value of the column has this text.
    """
    if len(text) > LONGEST_TEXT:
        raise ValueError(f"at most {LONGEST_TEXT} characters long, got {len(text)}")
    if kind.is_string():
        return fold_text(text)
    if kind.is_boolean():
        return _check_spelling(fold_text(text.strip()), is_boolean_text(text.strip()), "true or false", text)
    if kind.is_integer():
        fits = is_whole(text.strip())
        return _check_spelling(str(int(text)) if fits else "", fits, "whole numbers", text)
    if kind.is_date() or kind.is_timestamp():
        form = _day(text.strip())
        return _check_spelling(form, bool(form), "dates such as 2024-01-31", text)
    return fold_text(text)


def _check_spelling(form: str, fits: bool, rule: str, text: str) -> str:
    if not fits:
        raise ValueError(f"{rule}, got {text!r}")
    return form


def is_whole(text: str) -> bool:
    """Return whether the text is a whole number of at most 64 bits."""
    return len(text) < 20 and text.isascii() and text.removeprefix("-").isdecimal() and abs(int(text)) < 1 << 63


def writes_integer(text: str) -> bool:
    """Return whether the text is a whole number, 3, or 3.0 as pandas writes it in a column with gaps."""
    return _WHOLE.fullmatch(text) is not None


def looks_like_float(text: str) -> bool:
    """Return whether the text is a whole number with the ending .0."""
    return _FLOAT.fullmatch(text) is not None


def _day(text: str) -> str:
    match = _DAY.fullmatch(text)
    try:
        return date.fromisoformat(match[1]).isoformat() if match else ""
    except ValueError:
        return ""


def is_date(text: str) -> bool:
    """Return whether the text is a date such as 2024-01-31; the order of such texts is that of their dates."""
    return len(text) == 10 and _day(text) == text


PERIODS = {"day": "2024-01-31", "month": "2024-01", "quarter": "2024-Q1", "year": "2024"}
"""How dates and times name a group, each with an example."""

_PERIOD = {"month": re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])"), "quarter": re.compile(r"[0-9]{4}-Q[1-4]")}


def is_period(text: str, period: str) -> bool:
    """Return whether a text names a day, month, quarter or year.

    >>> is_period("2024-Q1", "quarter"), is_period("2024-13", "month")
    (True, False)
    """
    if period == "day":
        return is_date(text)
    form = _PERIOD.get(period, re.compile(r"[0-9]{4}"))
    return form.fullmatch(text) is not None


def find_close(name: str, names: Iterable[str]) -> list[str]:
    """Return the names that differ from this one only in capitals, spaces and underscores."""
    return [other for other in names if strip_text(other) == strip_text(name)]


def strip_text(name: str) -> str:
    """Fold capitals, and remove spaces and underscores."""
    return "".join(name.casefold().replace("_", " ").split())


def format_groups(number: int, by: Sequence[str]) -> str:
    """Describe the groups of a plan: how many, and by which columns. number: 0 for groups that the data holds."""
    if not by:
        return "the whole table"
    return f"{f'{number} groups' if number else 'groups from the data'} by {', '.join(by)}"


def format_number(value: Fraction) -> str:
    """Format an exact number: as a decimal if six digits are exact, else as a fraction.

    >>> format_number(Fraction(1, 4)), format_number(Fraction(1, 3))
    ('0.25', '1/3')
    """
    short = f"{float(value):.6g}"
    return short if Fraction(short) == value else str(value)
