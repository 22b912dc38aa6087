"""Exponentials and logarithms whose rounding has a direction, or a proved size.

Python's Decimal rounds exp and ln correctly to the precision asked for, on every machine; one unit in the last digit
therefore bounds what is wrong.
"""

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np

from inbounds.exact import Floats

ROUNDOFF = 2.0**-53
"""u: a floating-point operation is wrong by at most this share of its result."""

TINY = 1e-300
"""Far below everything that is added up, far above where floats lose digits."""

DIGITS = 60


def log_above(value: Fraction) -> Fraction:
    """Return a rational at or above ln(value), by less than 10^-55 of the logarithms of numerator and denominator."""
    return _log(value.numerator)[1] - _log(value.denominator)[0]


def log_below(value: Fraction) -> Fraction:
    """Return a rational at or below ln(value)."""
    return -log_above(1 / value)


def exp_above(value: Fraction) -> Fraction:
    """Return a rational at or above exp(value), by less than 10^-50 of it for |value| below 10^6."""
    with localcontext(_context(DIGITS)):
        return Fraction(as_decimal(value + abs(value) / 10**58).exp()) * (1 + Fraction(1, 10**57))


def exp_below(value: Fraction) -> Fraction:
    """Return a rational at or below exp(value)."""
    return 1 / exp_above(-value)


def exponentials(rate: Fraction, first: int, count: int, offset: Fraction = Fraction(0)) -> Floats:
    """exp(rate·j - offset) for j = first, first + 1, …, each within 4u of itself, or at the ends of 1e-302..1e302.

    A product of two table entries, each the float nearest to a correctly rounded exponential: three roundings.
    """
    block = _block(abs(rate), count)
    with localcontext(_context(30)):
        outer = [_clip(rate * (first + start) - offset) for start in range(0, count, block)]
        inner = [float(as_decimal(rate * j).exp()) for j in range(block)]
    return np.outer(outer, inner).ravel()[:count]


def powers_below(step: Fraction, low: int, high: int, bits: int) -> list[int]:
    """Whole numbers X with X / 2**bits at or below exp(step·j), by about 2^-120 of it, for j = -low..high."""
    count = low + high + 1
    block = _block(step, count)
    with localcontext(_context(60)):
        outer = [_whole_below(step * (start - low), bits) for start in range(0, count, block)]
        inner = [_whole_below(step * j, 128) for j in range(block)]
    return [a * b >> 128 for a in outer for b in inner][:count]


def _block(rate: Fraction, count: int) -> int:
    """Entries of the inner table: about as many as of the outer one, all of them between 1/e and e."""
    return max(1, min(math.isqrt(count), int(1 / rate)))


def as_decimal(value: Fraction) -> Decimal:
    """Return the quotient, to the precision of the context."""
    return Decimal(value.numerator) / Decimal(value.denominator)


def _context(digits: int) -> Context:
    return Context(prec=digits, Emin=-(10**9), Emax=10**9)


def _clip(exponent: Fraction) -> float:
    return float(as_decimal(max(Fraction(-695), min(Fraction(695), exponent))).exp())


def _whole_below(exponent: Fraction, bits: int) -> int:
    return int(Fraction(as_decimal(exponent).exp()) * (1 - Fraction(1, 10**50)) * (1 << bits))


def _log(number: int) -> tuple[Fraction, Fraction]:
    """Rationals at or below and at or above ln(number)."""
    if number == 1:
        return Fraction(0), Fraction(0)
    with localcontext(_context(DIGITS)):
        near = Decimal(number).ln()
        return Fraction(near.next_minus()), Fraction(near.next_plus())
