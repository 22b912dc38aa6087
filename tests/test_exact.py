"""Exact numbers: bounds on exp from below, numbers as people write them, and the repair of float matrices."""

import math
import random
from decimal import Decimal
from fractions import Fraction
from functools import partial

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import inbounds as ib
from inbounds.exact import EXPONENT_CAP, to_epsilon, to_fraction, to_int
from inbounds.mechanism.rounding import least_neighbour, raise_small_weights, round_on_line, round_symmetric
from inbounds.trusted.bounds import EXP_BITS, TOTAL, exp_lower_bound, ratio_lower_bound
from raising import rejects

# --- exp from below ---------------------------------------------------------------------------------------


def assert_just_below(x: Fraction) -> None:
    flint.ctx.prec = 600
    value = flint.arb(flint.fmpq(x.numerator, x.denominator)).exp()
    bound = flint.arb(exp_lower_bound(x)) / flint.arb(2) ** EXP_BITS
    assert bound <= value, x  # arb comparisons hold only when they are certain; exp(0) = 1 is exact
    assert value - bound < value * flint.arb(2) ** -100, x


def test_exp_below_is_never_above_exp_and_close_on_ten_thousand_rationals():
    rng = random.Random(20240611)
    for _ in range(10_000):
        size = rng.choice([1, 10, 10**3, 10**9, 10**30])
        x = Fraction(rng.randint(0, size), rng.randint(1, size)) * rng.choice([Fraction(1), Fraction(1, 10**6), 40])
        assert_just_below(min(x, EXPONENT_CAP))


@pytest.mark.parametrize("x", ["0", "1e-60", "1e-9", "1", "45/2", "64", "63.99"])
def test_exp_below_holds_at_the_ends_of_its_range(x):
    assert_just_below(Fraction(x))


def test_exp_below_of_zero_is_exactly_one():
    assert exp_lower_bound(Fraction(0)) == 1 << EXP_BITS


@pytest.mark.parametrize("x", [Fraction(-1, 10**9), Fraction(64) + Fraction(1, 10**9), Fraction(10**6)])
def test_exp_below_refuses_exponents_outside_its_range(x):
    with rejects(ValueError, "exp_lower_bound", about="64"):
        exp_lower_bound(x)


def test_a_capped_ratio_still_allows_any_two_positive_weights_and_stays_below_exp():
    p = ratio_lower_bound(Fraction(64), Fraction(10**6))
    assert p == exp_lower_bound(EXPONENT_CAP)
    assert p >= TOTAL << EXP_BITS


@settings(deadline=None)
@given(st.fractions(0, 32), st.fractions(0, 32))
def test_products_of_lower_bounds_stay_below_the_bound_of_the_sum(x, y):
    """The ratios along a chain of neighbours multiply to less than exp of the whole distance."""
    product = exp_lower_bound(x) * exp_lower_bound(y)
    above = exp_lower_bound(x + y) + (exp_lower_bound(x + y) >> 100) + 1
    assert product <= above << EXP_BITS


# --- numbers ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_value", "meant"),
    [
        (0.1, Fraction(1, 10)),
        ("0.1", Fraction(1, 10)),
        (" 1/3 ", Fraction(1, 3)),
        (Decimal("0.10"), Fraction(1, 10)),
        (np.float32(0.1), Fraction(1, 10)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.int64(3), Fraction(3)),
        (1e-5, Fraction(1, 100_000)),
        (Fraction(22, 7), Fraction(22, 7)),
        ("-.5e1", Fraction(-5)),
    ],
)
def test_a_number_means_the_decimal_it_prints_as(given_value, meant):
    assert to_fraction(given_value, "x") == meant


@pytest.mark.parametrize("value", [True, np.True_, None, [1], {}, b"1", 1j])
def test_things_that_are_not_numbers_are_refused_by_type(value):
    with rejects(TypeError, "x"):
        to_fraction(value, "x")


@pytest.mark.parametrize(
    "value", ["abc", "", "nan", "inf", math.nan, math.inf, -math.inf, 1e400, "1/0", "0x1", "1e5000", "1_0", "1/2/3"]
)
def test_text_that_is_no_finite_number_is_refused(value):
    with rejects(ValueError, "x"):
        to_fraction(value, "x")


def test_a_bad_epsilon_is_refused_with_the_rule(golden):
    golden.errors(
        "wrong_epsilons",
        [
            lambda: to_epsilon(0),
            lambda: to_epsilon("0.0"),
            lambda: to_epsilon(-1),
            lambda: to_epsilon(math.nan),
            lambda: to_epsilon(math.inf),
            lambda: to_epsilon(1e400),
            lambda: to_epsilon("abc"),
            lambda: to_epsilon("1e400"),
            lambda: to_epsilon(1e-10),
            lambda: to_epsilon(64.5),
            lambda: to_epsilon(True),
            lambda: to_epsilon(None),
        ],
    )


@pytest.mark.parametrize("value", [0, "0.0", -1, math.nan, math.inf, 1e400, "abc", "1e400", 1e-10, 64.5, True, None])
def test_a_bad_epsilon_is_refused_in_the_same_words_by_everything_that_takes_one(value):
    query = ib.count(3)
    takers = [
        lambda e: ib.certify(np.full((4, 4), 0.25), query, e),
        lambda e: ib.Mechanism(query, e, ib.catalog.uniform(query, 1).law, ib.catalog.uniform(query, 1).origin),
        lambda e: ib.catalog.prerounded_geometric(query, e, [-1, 1, 4]),
        lambda e: ib.catalog.snapped_noise(query, e, np.sign),
        *(
            partial(getattr(ib.catalog, name), query)
            for name in set(ib.catalog.__all__) - {"FineLaplace", "prerounded_geometric", "snapped_noise", "threshold"}
        ),
        lambda e: ib.catalog.threshold(query, e, "1e-6"),
    ]
    with pytest.raises((ValueError, TypeError)) as expected:
        to_epsilon(value)
    for take in takers:
        with rejects(expected.type, "epsilon") as caught:
            take(value)
        assert str(caught.value) == str(expected.value)


@pytest.mark.parametrize("value", [1, 1.0, "1", Fraction(1), Decimal("1.00"), np.float64(1), np.int8(1)])
def test_one_epsilon_in_many_spellings_is_one_mechanism(value):
    assert ib.catalog.truncated_geometric(ib.count(3), value) == ib.catalog.truncated_geometric(ib.count(3), 1)


@pytest.mark.parametrize("value", [2.5, "7/2", -3, 0])
def test_whole_refuses_fractions_and_what_is_too_small(value):
    with rejects(ValueError, "n"):
        to_int(value, "n", 1)


@pytest.mark.parametrize("value", ["10/11", "0.5", 0.9, "1/1000"])
def test_alpha_gives_an_epsilon_whose_exponential_is_at_least_alpha(value):
    """Rounding goes towards more privacy: exp(-epsilon) is never below the alpha that was asked for."""
    flint.ctx.prec = 600
    epsilon, wanted = ib.epsilon_from_alpha(value), to_fraction(value, "alpha")
    got = (-flint.arb(flint.fmpq(epsilon.numerator, epsilon.denominator))).exp()
    asked = flint.arb(flint.fmpq(wanted.numerator, wanted.denominator))
    assert got >= asked
    assert got - asked < flint.arb(10) ** -38


@pytest.mark.parametrize("value", [0, 1, -0.5, 2, "1.0"])
def test_alpha_must_lie_strictly_between_zero_and_one(value):
    with rejects(ValueError, "alpha"):
        ib.epsilon_from_alpha(value)


# --- the repair -------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.integers(0, TOTAL), st.fractions(Fraction(1, 10**9), 64))
def test_least_neighbour_is_the_smallest_weight_that_passes(high, epsilon):
    p = exp_lower_bound(epsilon)
    least = int(least_neighbour(np.array([high]), p)[0])
    assert high << EXP_BITS <= p * least
    assert least == 0 or high << EXP_BITS > p * (least - 1)


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 10**6), min_size=3, max_size=12),
    st.integers(1, 4),
    st.sampled_from(["1/100", "1/2", "3"]),
)
def test_raise_rows_only_raises_and_gives_the_least_private_row_above(row, reach, epsilon):
    """The repair returns the smallest row that is private and nowhere below the given one."""
    p = exp_lower_bound(Fraction(epsilon))
    weights = np.array([row], dtype=np.int64)
    ratios = [(slice(j, j + reach + 1), p) for j in range(max(1, len(row) - reach))]
    raise_small_weights(weights, ratios)
    expected = list(row)
    while True:  # the least fixed point, one entry at a time
        raised = [
            max([v] + [-((-other << EXP_BITS) // p) for k, other in enumerate(expected) if 0 < abs(k - j) <= reach])
            for j, v in enumerate(expected)
        ]
        if raised == expected:
            break
        expected = raised
    assert weights[0].tolist() == expected


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["1/1000", "1/2", "5"]), st.sampled_from([8, 30, 62]))
def test_weights_near_are_private_and_sum_to_the_total_at_any_total(judge, seed, epsilon, bits):
    rng = np.random.default_rng(seed)
    query = [ib.count(4), ib.extreme(0, 4), ib.total(2, 0, 2), ib.ordinal(0, 4)][seed % 4]
    matrix = rng.random((5, 5)) ** rng.integers(1, 30)
    weights = round_on_line(matrix, query.cliques(), Fraction(epsilon), total=1 << bits, even=seed % 3 == 0)
    assert (weights >= 0).all()
    assert weights.sum(axis=0, dtype=object).tolist() == [1 << bits] * 5
    assert judge.private(weights.tolist(), query, Fraction(epsilon))


def test_mirrored_weights_are_exactly_symmetric():
    query = ib.count(6)
    rng = np.random.default_rng(1)
    matrix = rng.random((7, 7)) + 2
    matrix = matrix + matrix[::-1, ::-1]
    weights = round_symmetric(matrix / matrix.sum(axis=0), query, Fraction(1, 2))
    assert np.array_equal(weights, weights[::-1, ::-1])
    assert weights.sum(axis=0).tolist() == [TOTAL] * 7
