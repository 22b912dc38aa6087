"""A delta for several answers together, for plans that declare one: whole numbers, one answer after the other.

An answer of epsilon e shows two neighbouring tables apart at most like a coin with the odds exp(e): its loss is +e with
probability p = exp(e) / (1 + exp(e)), else -e. delta is the mean of max(0, 1 - exp(epsilon - sum of losses)).

Losses are whole multiples of a unit, rounded up where the epsilons have no common one with few enough points.
Probabilities are rounded up, and exp(epsilon - loss) down.
"""

from fractions import Fraction
from math import ceil, floor, gcd, lcm

DIGITS = 256
"""Numbers are whole multiples of 2**-DIGITS."""

WHOLE = 1 << DIGITS

MOST_TOGETHER = 1 << 10
"""Most answers whose delta is computed: the time grows with their square. More of them must add up."""

MOST_POINTS = 1 << 14
"""Most points of the losses of all answers. The grids of a release are coarser, so a bound here is never larger."""


def delta_together(epsilons: list[Fraction], epsilon: Fraction) -> Fraction:
    """Return a delta at `epsilon` for answers of these epsilons."""
    common = lcm(*(one.denominator for one in epsilons))
    unit = Fraction(gcd(*(int(one * common) for one in epsilons)), common)
    unit = max(unit, sum(epsilons, Fraction(0)) / MOST_POINTS)
    lowest, law = 0, [WHOLE]
    for one in sorted(epsilons):
        law, lowest = _add_answer(law, one, unit), lowest - floor(one / unit)
    total = Fraction(0)
    for k, mass in enumerate(law):
        loss = (lowest + k) * unit
        if mass and loss > epsilon:
            total += mass * (WHOLE - enclose_exp(epsilon - loss)[0])
    return min(total / WHOLE**2, Fraction(1))


def _add_answer(law: list[int], epsilon: Fraction, unit: Fraction) -> list[int]:
    """Return the probabilities of the sums with one more answer; the first is that of all losses negative."""
    low, high = enclose_exp(epsilon)
    positive, negative = -(-WHOLE * high // (WHOLE + high)), -(-WHOLE * WHOLE // (WHOLE + low))
    width = ceil(epsilon / unit) + floor(epsilon / unit)
    longer = [mass * negative for mass in law] + [0] * width
    for k, mass in enumerate(law):
        longer[k + width] += mass * positive
    return [-(-mass // WHOLE) for mass in longer]


def enclose_exp(exponent: Fraction) -> tuple[int, int]:
    """Return whole numbers below and above exp(exponent) · 2**DIGITS.

    The sum of x^n / n! for x = |exponent| / 2^m <= 1/2, with every term rounded down: each loses less than one, and all
    terms after the last are together less than one. Then m squarings.
    """
    halvings = max(0, (2 * abs(exponent)).__ceil__().bit_length())
    x = abs(exponent) / 2**halvings
    term, low, terms = WHOLE, 0, 0
    while term:
        low, terms = low + term, terms + 1
        term = term * x.numerator // (x.denominator * terms)
    high = low + 2 * terms + 2
    for _ in range(halvings):
        low, high = low * low // WHOLE, -(-high * high // WHOLE)
    return (low, high) if exponent >= 0 else (WHOLE * WHOLE // high, -(-WHOLE * WHOLE // low))
