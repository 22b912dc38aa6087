"""The transform and its error bound, exponentials and logarithms with a direction."""

from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from flint import acb, arb, ctx

from inbounds.accounting import transform
from inbounds.accounting.transform import fourier, fourier_back, relative_error, roots_of_unity
from inbounds.directed_rounding import (
    ROUNDOFF,
    exp_above,
    exp_below,
    exponentials,
    log_above,
    log_below,
    powers_below,
)
from raising import rejects

SIZES = [1 << bits for bits in range(14)]


def exactly(values: list[float], sign: int) -> list[acb]:
    """The transform in 120 bits, by its definition."""
    size = len(values)
    roots = [acb(arb(2 * k) / size).exp_pi_i() ** sign for k in range(size)]
    return [sum((acb(x) * roots[j * k % size] for j, x in enumerate(values)), acb(0)) for k in range(size)]


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16, 64, 256])
def test_the_error_of_a_transform_is_within_its_bound(size):
    ctx.prec = 120
    values = np.random.default_rng(size).random(size) ** 8
    off = [abs(acb(complex(a)) - b) for a, b in zip(fourier(values), exactly(values.tolist(), -1), strict=True)]
    error = sum((x**2 for x in off), arb(0)).sqrt()
    assert float(error.mid()) <= relative_error(size) * np.sqrt(size) * np.linalg.norm(values)


@pytest.mark.parametrize("size", SIZES)
def test_there_and_back_is_within_both_bounds(size):
    values = np.random.default_rng(size).random(size)
    off = np.linalg.norm(fourier_back(fourier(values)) - values)
    assert off <= 2.01 * relative_error(size) * np.linalg.norm(values)
    assert np.allclose(fourier(values), np.fft.fft(values), rtol=0, atol=1e-12 * size)


@pytest.mark.parametrize("size", [8, 64, 1024, 1 << 16])
def test_roots_of_unity_are_within_their_measured_bound(size):
    ctx.prec = 120
    roots = roots_of_unity(size)
    at = np.random.default_rng(0).integers(0, size, 200)
    worst = max(float(abs(acb(complex(roots[k])) - acb(arb(-2 * int(k)) / size).exp_pi_i()).mid()) for k in at)
    assert worst <= transform._root_error(size) < 16 * ROUNDOFF


def test_roots_that_are_not_where_they_should_be_are_refused(monkeypatch):
    """A sine that is wrong shows in the squares: a quadrant left raises, anything less enlarges the bound."""
    wrong = roots_of_unity(64).copy()
    wrong[5] = wrong[5] * (1 + 1e-10j)
    monkeypatch.setattr(transform, "roots_of_unity", lambda size: wrong)
    assert transform._root_error(64) >= 1e-10
    wrong[5] = -wrong[5]
    with rejects(ArithmeticError, about="roots"):
        transform._root_error(64)


@pytest.mark.parametrize("value", ["0", "1e-30", "1e-9", "0.5", "3", "64", "700", "12345.678", "-3", "-900"])
def test_exponentials_and_logarithms_lie_on_their_side(value):
    x = Fraction(value)
    with localcontext(Context(prec=120, Emin=-(10**6), Emax=10**6)):
        truth = (Decimal(x.numerator) / Decimal(x.denominator)).exp()
        above, below = (Decimal(y.numerator) / Decimal(y.denominator) for y in (exp_above(x), exp_below(x)))
        assert below <= truth <= above <= below * (1 + Decimal("1e-50"))
    assert log_below(exp_below(x)) <= x <= log_above(exp_above(x)) <= x + Fraction(1, 10**50) * (1 + abs(x))


@pytest.mark.parametrize(
    ("rate", "first", "count"), [("1e-7", -5, 3000), ("0.01", -400, 900), ("-3.3", 0, 150), ("50", -9, 20)]
)
def test_tables_of_exponentials_are_within_four_roundings(rate, first, count):
    found = exponentials(Fraction(rate), first, count, Fraction(1, 3))
    with localcontext(Context(prec=50)):
        for j, value in zip(range(first, first + count), found.tolist(), strict=True):
            exponent = Decimal(rate) * j - Decimal(1) / 3
            if abs(exponent) < 690:
                truth = exponent.exp()
                assert abs(Decimal(value) - truth) <= 4 * Decimal(ROUNDOFF) * truth
            elif exponent < 0:
                assert Decimal(value) >= exponent.exp()


@pytest.mark.parametrize(("step", "low", "high"), [("1e-13", 40, 90), ("0.001", 500, 700), ("2.5", 6, 9)])
def test_powers_are_whole_numbers_just_below(step, low, high):
    bits = 128 + int(1.5 * low * float(step))
    with localcontext(Context(prec=160)):
        for j, value in zip(range(-low, high + 1), powers_below(Fraction(step), low, high, bits), strict=True):
            truth = (Decimal(step) * j).exp() * (1 << bits)
            assert truth * (1 - Decimal(2) ** -115) <= value <= truth
