"""Answers of any mechanisms, chosen as one goes, accounted at one Rényi order that is declared before.

For a whole order a >= 2 let M be the largest sum of P^a·Q^(1 - a) over outputs, for neighbours P and Q: a fraction, as
weights are whole. If ln M of all answers add up to at most C on every path, all together are (epsilon, delta)-private
with

    delta = exp(C - (a - 1)·epsilon)·(a - 1)^(a - 1) / a^a

(docs/theory/repeated-noise.md). Which mechanism comes next, and how many, may depend on all answers before.
"""

from fractions import Fraction

from inbounds.accounting.compose import check_common_neighbours
from inbounds.accounting.dominating_pairs import unique_curves
from inbounds.accounting.pairs import neighbouring_pairs, pair_curve
from inbounds.directed_rounding import log_above, log_below
from inbounds.exact import Number, to_fraction, to_int
from inbounds.mechanism import Mechanism, check_mechanism
from inbounds.trusted.bounds import TOTAL

QUOTIENT_BITS = 128
"""Each quotient P^a / Q^(a - 1) is rounded up to a multiple of 2**-QUOTIENT_BITS units of weight."""


def renyi_cost(mechanism: Mechanism, order: int) -> Fraction:
    """Return ln M of a mechanism at an order, rounded up; it adds up over answers.

    order: a whole number of at least 2. Raises ValueError if an output is possible under one of two neighbours alone,
    as with a delta.

    >>> import inbounds as ib
    >>> round(float(renyi_cost(ib.catalog.truncated_geometric(ib.count(9), "0.1"), 8)), 4)
    0.257
    """
    check_mechanism(mechanism, "the mechanism", may_have_delta=True)
    check_common_neighbours([mechanism.query])
    a, weights = to_int(order, "order", 2), mechanism.weights
    curves = unique_curves(pair_curve(weights, pair) for pair in neighbouring_pairs(mechanism.query))
    if any(curve.leak for curve in curves):
        raise ValueError("mechanism must give every output a probability under all answers, or none")
    sums = (
        sum(-(-(p**a << QUOTIENT_BITS) // q ** (a - 1)) for p, q in zip(curve.upper, curve.lower, strict=True))
        for curve in curves
    )
    return max(log_above(Fraction(max(sums), TOTAL << QUOTIENT_BITS)), Fraction(0))


def epsilon_at_order(cost: Number, order: int, delta: Number) -> Fraction:
    """Return the epsilon at delta of answers whose costs at an order add up to `cost`, rounded up.

    >>> float(epsilon_at_order(20 * Fraction(1, 10), 9, "1e-6")) < 1.62
    True
    """
    total, d, a = to_fraction(cost, "cost"), to_fraction(delta, "delta"), to_int(order, "order", 2)
    if not total >= 0 or not 0 < d < 1:
        raise ValueError(f"cost must not be negative and delta between 0 and 1, got {cost} and {delta}")
    return max(Fraction(0), (total + log_above(1 / d) + _constant_above(a)) / (a - 1))


def most_cost(epsilon: Number, order: int, delta: Number) -> Fraction:
    """Return the budget of costs at an order that keeps (epsilon, delta), rounded down; negative if no cost does."""
    e, d, a = to_fraction(epsilon, "epsilon"), to_fraction(delta, "delta"), to_int(order, "order", 2)
    return (a - 1) * e - log_above(1 / d) - _constant_above(a)


def _constant_above(order: int) -> Fraction:
    """Return ln((a - 1)^(a - 1) / a^a), rounded up."""
    return (order - 1) * log_above(Fraction(order - 1)) - order * log_below(Fraction(order))
