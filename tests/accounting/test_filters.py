"""Concentrated privacy in whole units: charges, caps and conversions against fifty digits, always on the safe side."""

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inbounds.accounting.zcdp_filter import RHO_UNIT, epsilon_from_rho, max_rho, rho_upper_bound
from raising import rejects

EPSILONS = [Fraction(e) for e in ("1e-9", "1e-6", "0.001", "0.1", "1", "3", "10", "40", "64", "65", "1000")]
DELTAS = [Fraction(d) for d in ("0.999", "0.5", "0.01", "1e-6", "1e-15", "1e-40", "1e-300")]
UNITS = [1, 1000, 10**9, 10**13, 10**15, 10**17, 10**20]


def decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def charge(epsilon: Fraction) -> Decimal:
    e = decimal(epsilon).exp()
    return decimal(epsilon) * (e - 1) / (e + 1) / decimal(RHO_UNIT)


def converted(units: int, delta: Fraction, b: Decimal) -> Decimal:
    """alpha·R + ln(1/(alpha·delta))/(alpha - 1) + ln(1 - 1/alpha) at alpha = 1 + b."""
    return (1 + b) * units * decimal(RHO_UNIT) - ((1 + b) * decimal(delta)).ln() / b + (b / (1 + b)).ln()


def least(units: int, delta: Fraction) -> Decimal:
    """The conversion at the root of its derivative, found by bisection of the logarithm of b."""
    low, high = Decimal(-800), Decimal(800)
    for _ in range(150):
        b = ((low + high) / 2).exp()
        rising = units * decimal(RHO_UNIT) * b * b + (1 + b).ln() > -decimal(delta).ln()
        low, high = (low, (low + high) / 2) if rising else ((low + high) / 2, high)
    return max(converted(units, delta, high.exp()), Decimal(0))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_charge_is_the_least_whole_number_above_epsilon_tanh_half_epsilon(epsilon):
    with localcontext() as context:
        context.prec = 80
        assert charge(epsilon) <= rho_upper_bound(epsilon) < charge(epsilon) + 1


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("alpha", ["1.000001", "1.5", "2", "7", "100", "1e6"])
def test_a_charge_covers_the_divergence_of_randomized_response_at_every_order(epsilon, alpha):
    """ln(cosh((alpha - 1/2)·epsilon) / cosh(epsilon/2)) / (alpha - 1) <= alpha·rho."""
    with localcontext() as context:
        context.prec = 60
        a, e = Decimal(alpha), decimal(epsilon)
        high, low = (x + (1 + (-2 * x).exp()).ln() for x in ((a - Decimal("0.5")) * e, e / 2))
        assert (high - low) / (a - 1) <= a * rho_upper_bound(epsilon) * decimal(RHO_UNIT)


@pytest.mark.parametrize(("units", "delta"), [*product(UNITS, DELTAS)][::2])
def test_a_conversion_is_never_below_the_best_order_and_hardly_above_it(units, delta):
    with localcontext() as context:
        context.prec = 90
        assert least(units, delta) <= decimal(epsilon_from_rho(units, delta)) <= least(units, delta) + Decimal("1e-30")


@settings(max_examples=15, deadline=None)
@given(st.fractions("0.000001", 100), st.sampled_from(DELTAS))
def test_the_cap_is_the_last_that_converts_to_what_is_declared(epsilon, delta):
    cap = max_rho(epsilon, delta)
    assert epsilon_from_rho(cap, delta) <= epsilon < epsilon_from_rho(cap + 1, delta)


def test_the_larger_budget_has_the_larger_cap():
    caps = [[max_rho(e, d) for e in map(Fraction, ("0.1", "1", "5"))] for d in (DELTAS[5], DELTAS[3], DELTAS[1])]
    assert all(row == sorted(row) for row in caps)
    assert all(column == tuple(sorted(column)) for column in zip(*caps, strict=True))


def test_nothing_spent_is_nothing_revealed():
    assert rho_upper_bound(Fraction(0)) == 0
    assert epsilon_from_rho(0, Fraction(1, 2)) == 0


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1), Fraction(2), Fraction(-1)])
def test_a_delta_that_is_no_probability_is_refused(delta):
    with rejects(ValueError, "delta"):
        epsilon_from_rho(1, delta)
    with rejects(ValueError, "delta"):
        max_rho(Fraction(1), delta)


def test_negative_amounts_are_refused():
    with rejects(ValueError, "epsilon"):
        rho_upper_bound(Fraction(-1))
    with rejects(ValueError, "epsilon"):
        max_rho(Fraction(-1), Fraction(1, 2))
    with rejects(ValueError, "units"):
        epsilon_from_rho(-1, Fraction(1, 2))
