"""Exact numbers: conversion from what callers write to fractions, conversion back to text, and array types.

Every room uses this module. Privacy-relevant numbers are Fractions; a rounded result names its direction.
"""

import math
import re
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, SupportsFloat

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Wholes = NDArray[Any]
"""An object array of Python integers of any size."""

Number = int | float | str | Fraction | Decimal | SupportsFloat
"""What callers may pass as an exact number. A float means the decimal it prints as, a string a decimal or fraction."""

EXPONENT_CAP = Fraction(64)
"""The largest exponent used. exp(64) > 2**92, so any two positive weights up to 2**62 are within this ratio."""

EPSILON_RANGE = (Fraction(1, 10**9), EXPONENT_CAP)

_NUMBER = re.compile(r"[+-]?(\d{1,40}(\.\d{0,400})?|\.\d{1,400})([eE][+-]?\d{1,3})?|[+-]?\d{1,400}/\d{1,400}")

_WITH_COMMA = re.compile(r"[+-]?\d{1,40},\d{1,40}")


def to_fraction(value: Number, name: str) -> Fraction:
    """Return the exact rational that `value` means. A float means the decimal it prints as (0.1 is 1/10).

    name: the argument's name, for messages. Raises `TypeError` for what is not a number, `ValueError` for a number
    that is not finite or a text that is not a number.
    """
    if isinstance(value, Fraction):  # a subclass could calculate differently later
        return value if type(value) is Fraction else Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | str | Decimal | SupportsFloat):
        raise TypeError(f"{name} must be a number, got {type(value).__name__}")
    number = parse_exact(str(value))
    if number is None:
        plain = str(value).strip()
        point = "; write a decimal point, not a comma" if _WITH_COMMA.fullmatch(plain) else ""
        raise ValueError(f"{name} must be a finite number such as 0.5 or '1/2', got {plain[:40]!r}{point}")
    return number


def parse_exact(text: str) -> Fraction | None:
    """Parse a text that is a decimal or a fraction; return None for any other text."""
    plain = text.strip()
    if not _NUMBER.fullmatch(plain):
        return None
    _, slash, denominator = plain.partition("/")
    return None if slash and int(denominator) == 0 else Fraction(plain)


DIGITS = 6
"""The most digits after the point in `format_decimal`; a number that needs more is written as a fraction."""


def format_cost(epsilon: Fraction, delta: Fraction) -> str:
    """Write what an output costs: "epsilon 1", or "epsilon 1, delta 0.000001"."""
    cost = f"epsilon {format_decimal(epsilon)}"
    return f"{cost}, delta {format_decimal(delta)}" if delta else cost


def format_decimal(number: Fraction) -> str:
    """Write an exact number as a decimal if at most six digits follow the point, else as a fraction.

    >>> format_decimal(Fraction(4, 5)), format_decimal(Fraction(2)), format_decimal(Fraction(1, 3))
    ('0.8', '2', '1/3')
    """
    if 10**DIGITS % number.denominator:
        return str(number)
    text = f"{Decimal(int(number * 10**DIGITS)).scaleb(-DIGITS):f}"
    return text.rstrip("0").rstrip(".")


def format_all_digits(number: Fraction) -> str:
    """Write an exact number as a decimal with all its digits, or as a fraction if the decimal does not end.

    >>> format_all_digits(Fraction(1, 10**15)), format_all_digits(Fraction(2)), format_all_digits(Fraction(1, 3))
    ('0.000000000000001', '2', '1/3')
    """
    places, cofactor = 0, number.denominator
    while (common := math.gcd(cofactor, 10)) > 1:
        cofactor, places = cofactor // common, places + 1
    if cofactor != 1:
        return str(number)
    digits = f"{abs(number.numerator) * 10**places // number.denominator:0{places + 1}}"
    whole_part, decimals = digits[: len(digits) - places], digits[len(digits) - places :].rstrip("0")
    return ("-" if number < 0 else "") + whole_part + (f".{decimals}" if decimals else "")


def freeze(values: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only copy. It is stored in immutable bytes, so it cannot be made writable again."""
    return FrozenArray.from_array(values).array


@dataclass(frozen=True)
class FrozenArray:
    """The content of an array as immutable bytes.

    `array` is a new view each time, because dtype, shape and strides of an array can be assigned to even if its memory
    is read-only.
    """

    content: bytes
    dtype: str
    shape: tuple[int, ...]

    @classmethod
    def from_array(cls, values: NDArray[Any]) -> "FrozenArray":
        array = np.ascontiguousarray(values)
        return cls(array.tobytes(), array.dtype.str, np.shape(values))

    @property
    def array(self) -> NDArray[Any]:
        return np.frombuffer(self.content, dtype=self.dtype).reshape(self.shape)

    def integer(self, index: int) -> int:
        """Return one of 64-bit integers, counted through all rows, without an array."""
        whole: int = memoryview(self.content).cast("Q" if self.dtype[1] == "u" else "q")[index]
        return whole


def round_up_to_float(value: Fraction) -> float:
    """Return the least float at or above an exact number; `inf` if it is above the largest float."""
    try:
        nearest = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.nextafter(math.inf, 0.0)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def round_up_to_printed(value: Fraction) -> float:
    """Return the least float that is at or above `value` both in binary and as the decimal it prints as.

    People copy printed results back in, and an input float means the decimal it prints as.
    """
    candidate = round_up_to_float(value)
    while math.isfinite(candidate) and Fraction(repr(candidate)) < value:
        candidate = math.nextafter(candidate, math.inf)
    return candidate


def to_int(value: Number, name: str, at_least: int) -> int:
    """Return `value` as an int; raise `ValueError` unless it is a whole number of at least `at_least`."""
    number = value if type(value) is int else to_fraction(value, name)
    if number.denominator != 1 or number < at_least:
        raise ValueError(f"{name} must be a whole number of at least {at_least}, got {value!r}")
    return int(number)


def to_epsilon(value: Number) -> Fraction:
    """Return the privacy parameter as an exact number; raise `ValueError` unless it is in 10^-9..64.

    Below that, 62-bit weights cannot tell the answers apart; above it, the promise is empty.
    """
    epsilon = to_fraction(value, "epsilon")
    if not epsilon > 0:
        raise ValueError(f"epsilon must be positive, got {str(value)[:40]}")
    low, high = EPSILON_RANGE
    if not low <= epsilon <= high:
        raise ValueError(f"epsilon must be between 1e-9 and {high}, got {str(value)[:40]}")
    return epsilon


def epsilon_from_alpha(value: Number) -> Fraction:
    """Return epsilon for the papers' alpha = exp(-epsilon), rounded down by less than 10^-40.

    >>> float(epsilon_from_alpha("10/11"))
    0.09531017980432487
    """
    a = to_fraction(value, "alpha")
    if not 0 < a < 1:
        raise ValueError(f"alpha must be between 0 and 1, got {str(value)[:40]}")
    with localcontext() as context:
        context.prec = 60
        log = (Decimal(a.denominator) / Decimal(a.numerator)).ln()
    return to_epsilon(Fraction(math.floor(Fraction(log) * 10**45) - 1, 10**45))
