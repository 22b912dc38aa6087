"""Bounds that the checkers use: weights over 2**62, and a rational at or below exp."""

from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from inbounds.exact import EXPONENT_CAP

TOTAL_BITS = 62
TOTAL = 1 << TOTAL_BITS
"""The sum of every column of weights: the largest power of two up to which sums fit an int64."""

EXP_BITS = 128
"""`exp_lower_bound` returns multiples of 2**-EXP_BITS."""


class Clique(NamedTuple):
    """Answers start..stop-1 are neighbours of each other, `distance` apart: ratio at most exp(epsilon·distance)."""

    start: int
    stop: int
    distance: Fraction


class Edge(NamedTuple):
    """Pr[i | tail] <= exp(epsilon·length) · Pr[i | head] for every output i; the other direction needs another edge."""

    tail: int
    head: int
    length: Fraction


@lru_cache(maxsize=4096)
def exp_lower_bound(x: Fraction) -> int:
    """Return an integer p with p / 2**EXP_BITS <= exp(x), for 0 <= x <= 64; the relative error is below 2**-120.

    exp(x) = exp(x / 2**r)**(2**r). The Taylor sum and every squaring are floored, all terms are positive,
    so each step is below the true value.
    """
    if not 0 <= x <= EXPONENT_CAP:
        raise ValueError("exp_lower_bound takes exponents from 0 to 64")
    bits = EXP_BITS + 64
    r = 8
    y = Fraction(x, 1 << r)
    term = total = 1 << bits
    k = 0
    while term:
        k += 1
        term = term * y.numerator // (y.denominator * k)
        total += term
    for _ in range(r):
        total = total * total >> bits
    return total >> (bits - EXP_BITS)


def ratio_lower_bound(epsilon: Fraction, distance: Fraction) -> int:
    """Return `exp_lower_bound` of epsilon·distance, capped where a larger ratio would allow nothing more."""
    return exp_lower_bound(min(epsilon * distance, EXPONENT_CAP))
