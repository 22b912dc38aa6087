"""Exponentials and logarithms that are rounded in a known direction, or with a proved error.

Python's Decimal rounds exp and ln correctly to the given precision on every machine, so one unit in the last digit
bounds the error.
"""

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cache

import numpy as np

from inbounds.exact import Floats

ROUNDOFF = 2.0**-53
"""u: the largest relative error of a floating-point operation."""

TINY = 1e-300
"""A number far below all summands, and far above the range where floats lose digits."""

DIGITS = 60

LARGEST_EXPONENT = 695
"""Exponents of tables of floats are clipped to this size."""


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
    """Return exp(rate·j - offset) for j = first, first + 1, …, each with relative error at most 4u, clipped to
    1e-302..1e302.

    Each is a product of two table entries, which are floats nearest to decimals right to 10^-30: three roundings.
    """
    block = _block(abs(rate), count)
    with localcontext(_context(40)):  # of exponents: at most 695 in size, so right to 10^-36
        step, shift = as_decimal(rate), as_decimal(offset)
        outer = _geometric(step * first - shift, step * block, -(-count // block))
        inner = _geometric(Decimal(0), step, block)
    return np.outer(outer, inner).ravel()[:count]


def _geometric(start: Decimal, step: Decimal, count: int) -> list[float]:
    """Return exp(start + step·j), exponents clipped to -695..695: an exponential, times that of a step again and again.

    Every product has an error of half a unit in the last digit, and there are at most some thousand.
    """
    values, ratio, product = [], step.exp(), None
    for exponent in [start + step * j for j in range(count)]:
        if abs(exponent) > LARGEST_EXPONENT:
            values.append(_limit(1 if exponent > 0 else -1))
            product = None
        else:
            product = exponent.exp() if product is None else product * ratio
            values.append(float(product))
    return values


@cache
def _limit(sign: int) -> float:
    return float(Decimal(sign * LARGEST_EXPONENT).exp(_context(30)))


def powers_below(step: Fraction, low: int, high: int, bits: int) -> list[int]:
    """Return integers X with X / 2**bits at or below exp(step·j), by about 2^-120 of it, for j = -low..high."""
    count = low + high + 1
    block = _block(step, count)
    with localcontext(_context(60)):
        outer = [_whole_below(step * (start - low), bits) for start in range(0, count, block)]
        inner = [_whole_below(step * j, 128) for j in range(block)]
    return [a * b >> 128 for a in outer for b in inner][:count]


def _block(rate: Fraction, count: int) -> int:
    """Return the size of the inner table: about that of the outer one, with all entries between 1/e and e."""
    return max(1, min(math.isqrt(count), int(1 / rate)))


def as_decimal(value: Fraction) -> Decimal:
    """Return the quotient to the precision of the context."""
    return Decimal(value.numerator) / Decimal(value.denominator)


def _context(digits: int) -> Context:
    return Context(prec=digits, Emin=-(10**9), Emax=10**9)


def _whole_below(exponent: Fraction, bits: int) -> int:
    return int(Fraction(as_decimal(exponent).exp()) * (1 - Fraction(1, 10**50)) * (1 << bits))


def _log(number: int) -> tuple[Fraction, Fraction]:
    """Return rationals at or below and at or above ln(number)."""
    if number == 1:
        return Fraction(0), Fraction(0)
    with localcontext(_context(DIGITS)):
        rounded = Decimal(number).ln()
        return Fraction(rounded.next_minus()), Fraction(rounded.next_plus())
