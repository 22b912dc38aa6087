"""Numbers and texts in passports: strict readers, and writers of exactly what they read.

Integers are decimal text, because other JSON readers round numbers beyond 2**53. Readers raise `ValueError` or
`TypeError` for malformed values.
"""

import re
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from inbounds.exact import Ints
from inbounds.trusted.limits import MOST_DIGITS

_MOST_WHOLE = 10**19
_EXACT = re.compile(rf"-?[0-9]{{1,{MOST_DIGITS}}}(/[0-9]{{1,{MOST_DIGITS}}})?")


def format_integers(numbers: Iterable[int]) -> str:
    """Return integers as one line of decimals separated by spaces."""
    return " ".join(map(str, numbers))


def parse_integers(text: str) -> list[int]:
    """Parse a line of `format_integers`; raise `ValueError` unless it is written exactly so, with none negative."""
    try:
        numbers = [*map(int, text.split(" "))]
    except ValueError:
        numbers = []
    if format_integers(numbers) != text or not numbers or not 0 <= min(numbers) <= max(numbers) < _MOST_WHOLE:
        raise ValueError("weights must be whole numbers in decimal, separated by single spaces")
    return numbers


def parse_integer(text: str) -> int:
    """Parse one integer."""
    (number,) = parse_integers(text)
    return number


def parse_array(text: str) -> Ints:
    """Parse a line of integers as an int64 array."""
    return np.array(parse_integers(text), dtype=np.int64)


def format_rows(matrix: Ints) -> list[str]:
    """Return a matrix of integers as a list of lines."""
    return [format_integers(row) for row in matrix.tolist()]


def parse_rows(part: Any) -> Ints:
    """Parse the rows of a matrix from a list of lines; refuse a text or an object in place of the list."""
    if not isinstance(part, list):
        raise TypeError("a matrix must be a list of rows")
    rows = [parse_integers(row) for row in part]
    if len({len(row) for row in rows}) != 1:
        raise ValueError("the rows of a matrix must have the same length")
    return np.array(rows, dtype=np.int64)


def count_words(line: Any) -> int:
    """Return the number of words in a line; 0 for anything but a text."""
    return line.count(" ") + 1 if isinstance(line, str) else 0


def parse_line(text: Any) -> str:
    """Return a text for people; refuse control characters, which could change what a terminal shows."""
    if not isinstance(text, str) or not text.isprintable():
        raise ValueError("a text must be one printable line")
    return text


def read_object(value: Any, name: str) -> dict[str, Any]:
    """Return a JSON object; raise `TypeError` for any other value of the field `name`."""
    if not isinstance(value, dict):
        raise TypeError(f"the field {name!r} must be an object")
    return value


def parse_fraction(text: Any) -> Fraction:
    """Parse an exact number such as '3' or '1/2', in lowest terms and of at most MOST_DIGITS digits."""
    if not isinstance(text, str) or not _EXACT.fullmatch(text) or str(number := Fraction(text)) != text:
        raise ValueError(
            f"an exact number must be text such as '3' or '1/2', in lowest terms and of at most {MOST_DIGITS} digits"
        )
    return number
