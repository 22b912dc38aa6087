"""A zCDP filter for adaptively chosen questions: charges in whole units, and their conversion to (epsilon, delta).

Pure epsilons add up exactly and do not need this module. If the budget allows a small delta, every epsilon-private
answer is charged rho = epsilon·tanh(epsilon/2). As long as the charges sum to at most R, all answers together are
R-zCDP (zero-concentrated differential privacy), even if each question depends on earlier answers
(docs/theory/zcdp-filter.md). R-zCDP answers are (epsilon, delta)-private with

    epsilon = min over alpha > 1 of alpha·R + ln(1/(alpha·delta))/(alpha - 1) + ln(1 - 1/alpha)

(Canonne, Kamath, Steinke 2020, Proposition 12). Charges are rounded up, the conversion is rounded up, the cap down.
"""

from decimal import Context, Decimal, localcontext
from fractions import Fraction

from inbounds.directed_rounding import as_decimal, log_above, log_below
from inbounds.exact import EXPONENT_CAP
from inbounds.trusted.bounds import EXP_BITS, exp_lower_bound

RHO_UNIT = Fraction(1, 10**15)
"""The unit of charges: every charge is a whole multiple of it."""

EPSILON_UNIT = Fraction(1, 10**40)
"""A converted epsilon is rounded up to a multiple of this."""


LARGEST_DELTA = 1 - Fraction(1, 10**30)
"""The largest delta: with forty digits, larger ones cannot be told from 1."""


def rho_upper_bound(epsilon: Fraction) -> int:
    """Return the charge of one epsilon-private answer: epsilon·tanh(epsilon/2) in units of 10^-15, rounded up.

    tanh(epsilon/2) = (e^epsilon - 1) / (e^epsilon + 1) increases with e^epsilon, which is replaced by a rational above
    it. The charge is the least possible: randomized response needs it, and dominates every epsilon-private mechanism.

    >>> rho_upper_bound(Fraction(1, 10)) * RHO_UNIT
    Fraction(1248959373947, 250000000000000)
    """
    if not epsilon >= 0:
        raise ValueError(f"epsilon must not be negative, got {epsilon}")
    rho = epsilon
    if 0 < epsilon <= EXPONENT_CAP:
        below = exp_lower_bound(epsilon)
        above = Fraction(below + (below >> 119) + 1, 1 << EXP_BITS)  # off by less than 2^-120 of itself
        rho = epsilon * (above - 1) / (above + 1)
    return _units_above(rho, RHO_UNIT)


def epsilon_from_rho(units: int, delta: Fraction) -> Fraction:
    """Return the epsilon of `units` of 10^-15 at delta, rounded up by a relative error below 10^-30.

    Any alpha gives a valid epsilon, so the best alpha is computed to twenty digits only.

    >>> float(epsilon_from_rho(5 * 10**15, Fraction(1, 10**10)))
    25.536334138513
    """
    _check_delta(delta)
    if not units >= 0:
        raise ValueError(f"units must not be negative, got {units}")
    if not units:
        return Fraction(0)
    rho, b = units * RHO_UNIT, _best_order(units * RHO_UNIT, delta)
    epsilon = (1 + b) * rho + (log_above(1 / delta) - log_below(1 + b)) / b + log_above(b) - log_below(1 + b)
    return _units_above(max(epsilon, Fraction(0)), EPSILON_UNIT) * EPSILON_UNIT


def max_rho(epsilon: Fraction, delta: Fraction) -> int:
    """Return the largest whole number of units of 10^-15 that converts to at most (epsilon, delta).

    >>> cap = max_rho(Fraction(1), Fraction(1, 10**6))
    >>> [epsilon_from_rho(units, Fraction(1, 10**6)) <= 1 for units in (cap, cap + 1)]
    [True, False]
    """
    if not epsilon >= 0:
        raise ValueError(f"epsilon must not be negative, got {epsilon}")
    low, high = 0, 1
    while epsilon_from_rho(high, delta) <= epsilon:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if epsilon_from_rho(middle, delta) <= epsilon else (low, middle)
    return low


def _best_order(rho: Fraction, delta: Fraction) -> Fraction:
    """Return b = alpha - 1 at which the derivative of the conversion, rho - (ln(1/delta) - ln(1 + b))/b^2, is zero.

    Newton's method for rho·e^(2u) + ln(1 + e^u) = ln(1/delta), u = ln b. The left side is increasing and convex in u,
    so the iteration decreases from above to the root.
    """
    with localcontext(Context(prec=40)):
        r, d = as_decimal(rho), as_decimal(delta)
        target = -d.ln()
        u = min((target / r).ln() / 2, (1 / d - 1).ln())
        step = Decimal(1)
        while step > Decimal("1e-20"):
            b = u.exp()
            step = (r * b * b + (1 + b).ln() - target) / (2 * r * b * b + b / (1 + b))
            u -= step
        with localcontext(Context(prec=20)):
            return Fraction(u.exp())


def _units_above(value: Fraction, unit: Fraction) -> int:
    return -(-value // unit)


def _check_delta(delta: Fraction) -> None:
    if not 0 < delta < 1:
        raise ValueError(f"delta must be above 0 and below 1, got {delta}; for delta 0 add up the epsilons")
    if delta > LARGEST_DELTA:
        raise ValueError("delta must be at most 1 - 10^-30; anything is private at a delta of 1")
