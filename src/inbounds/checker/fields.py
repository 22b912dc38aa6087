"""Read the JSON values of an untrusted file: every field by its type. A field that no rule reads is refused."""

import hashlib
import json
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NoReturn, TypeVar

from inbounds.errors import PassportError

T = TypeVar("T")
Json = dict[str, Any]

MOST_DIGITS = 1500
"""Digits of a numerator or denominator that is read."""

LARGEST = 1 << 53
"""Sizes and positions lie below this."""

_EXACT = re.compile(rf"-?[0-9]{{1,{MOST_DIGITS}}}(/[0-9]{{1,{MOST_DIGITS}}})?")
_LINE = re.compile(r"(0|[1-9][0-9]{0,15})( (0|[1-9][0-9]{0,15}))*")
_DIGEST = re.compile(r"[0-9a-f]{64}")


class NoRule(PassportError):
    """A record that holds as far as it was checked, but has a statistic for which this checker has no rule.

    It proves nothing: code that does not know this class must treat it like any other refusal.
    """


def refuse(reason: str) -> NoReturn:
    """Raise `PassportError` with this reason."""
    raise PassportError(reason)


def insist(holds: bool, reason: str) -> None:
    """Raise `PassportError` with this reason unless `holds`."""
    if not holds:
        refuse(reason)


def sha256_of_json(value: Any) -> str:
    """Return the sha256 of plain values: JSON with sorted keys, no spaces, ASCII."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


class Fields:
    """The fields of a JSON object. place: the name of the object in errors.

    Call `end` after the last field: it refuses fields that were not taken.
    """

    def __init__(self, values: Any, place: str) -> None:
        insist(type(values) is dict, f"{place} must be an object")
        self._values: Json = values
        self._left = set(values)
        self._place = place

    def has(self, name: str) -> bool:
        """Return whether the object has this field."""
        return name in self._values

    def take(self, name: str, read: Callable[[Any], T], what: str) -> T:
        """Return a field as `read` converts it; refuse it if `read` raises ValueError or TypeError."""
        insist(name in self._values, f"{self._place} must have the field {name!r}")
        self._left.discard(name)
        try:
            return read(self._values[name])
        except (ValueError, TypeError, ZeroDivisionError):
            refuse(f"the field {name!r} of {self._place} must be {what}")

    def optional(self, name: str, read: Callable[[Any], T], what: str) -> T | None:
        """Return a field as `take` does, or None if the object does not have it."""
        return self.take(name, read, what) if name in self._values else None

    def end(self) -> None:
        """Refuse fields that were not taken: an unknown field may change the meaning of the others."""
        insist(not self._left, f"{self._place} has a field that no rule knows: {min(self._left, default='')!r}")

    def text(self, name: str) -> str:
        return self.take(name, read_text, "text")

    def optional_text(self, name: str) -> str:
        return self.optional(name, read_text, "text") or ""

    def whole(self, name: str) -> int:
        return self.take(name, read_whole, "a whole number of at least 1")

    def exact(self, name: str) -> Fraction:
        return self.take(name, read_exact, "an exact number in text")

    def optional_exact(self, name: str) -> Fraction | None:
        return self.optional(name, read_exact, "an exact number in text")

    def digest(self, name: str) -> str:
        return self.take(name, read_digest, "a SHA-256 digest")

    def texts(self, name: str) -> tuple[str, ...]:
        return self.take(name, read_texts, "a list of texts")

    def objects(self, name: str) -> list[Any]:
        return self.take(name, read_list, "a list")

    def anything(self, name: str) -> Any:
        return self.take(name, lambda value: value, "anything")


def read_text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError
    return value


def read_whole(value: Any) -> int:
    if type(value) is not int or not 1 <= value < LARGEST:
        raise ValueError
    return value


def read_count(value: Any) -> int:
    """Read a whole number that may be 0."""
    return 0 if type(value) is int and value == 0 else read_whole(value)


def read_number(value: Any) -> int | float:
    if type(value) not in (int, float):
        raise TypeError
    return value  # type: ignore[no-any-return]


def read_flag(value: Any) -> bool:
    if type(value) is not bool:
        raise TypeError
    return value


def read_exact(value: Any) -> Fraction:
    """Read a fraction in lowest terms: each number has one spelling, so that texts can be compared."""
    if _EXACT.fullmatch(read_text(value)) is None or str(number := Fraction(value)) != value:
        raise ValueError
    return number


def read_digest(value: Any) -> str:
    if _DIGEST.fullmatch(read_text(value)) is None:
        raise ValueError
    return read_text(value)


def read_list(value: Any) -> list[Any]:
    if type(value) is not list:
        raise TypeError
    return value


def read_texts(value: Any) -> tuple[str, ...]:
    return tuple(map(read_text, read_list(value)))


def read_exacts(value: Any) -> tuple[Fraction, ...]:
    return tuple(map(read_exact, read_list(value)))


def read_wholes(value: Any) -> tuple[int, ...]:
    return tuple(map(read_whole, read_list(value)))


def read_object(value: Any) -> Json:
    if type(value) is not dict:
        raise TypeError
    return value


def read_line(value: Any) -> tuple[int, ...]:
    """Read whole numbers from one line of text, separated by single spaces."""
    if _LINE.fullmatch(read_text(value)) is None:
        raise ValueError
    return tuple(map(int, value.split(" ")))
