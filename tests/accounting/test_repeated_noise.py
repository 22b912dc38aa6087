"""Noise for many answers: proved by the account of its weights, better than its special cases, exact at an order."""

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import inbounds as ib
from inbounds.accounting import compose, epsilon_at_order, most_cost, noise_for_uses, renyi_cost, repeated_noise
from inbounds.directed_rounding import exp_above
from inbounds.mechanism import passport
from raising import rejects

DELTA = Fraction(1, 10**6)
COUNT = ib.count(60)


@cache
def found(uses, adaptive=False, query=COUNT):
    return noise_for_uses(query, uses, 4, DELTA, adaptive=adaptive)


@pytest.mark.parametrize(
    "query",
    [COUNT, *(pytest.param(q, marks=pytest.mark.long) for q in (ib.count(3), ib.total(9, 0, 3), ib.mean(6, 1, 3)))],
)
def test_all_uses_together_keep_epsilon_and_delta_by_the_account_of_their_weights(query):
    made = found(20, query=query)
    together = compose(made.mechanism, 20)
    assert together.delta(4) <= DELTA
    assert together.delta(Fraction(398, 100)) > DELTA * Fraction(97, 100)


def test_less_noise_of_the_same_shape_is_not_proved():
    made = found(20)
    search = repeated_noise._NoiseSearch(made.mechanism.query, 20, Fraction(4), DELTA, np.arange(61.0), adaptive=False)
    assert search._try_scale(made.shape, made.scale, None) is not None
    assert search._try_scale(made.shape, made.scale * 0.999, None) is None


@pytest.mark.parametrize(
    ("uses", "gain"),
    [(20, 0.185), pytest.param(50, 0.445, marks=pytest.mark.long), pytest.param(100, 0.565, marks=pytest.mark.long)],
)
def test_errors_fall_against_equal_parts_of_epsilon_and_against_geometric_and_gaussian_noise(uses, gain):
    query = ib.count(200)
    made = found(uses, query=query)
    alone = ib.optimal(query, Fraction(4, uses)).optimality.value
    assert made.error < (1 - gain) * alone
    search = repeated_noise._NoiseSearch(query, uses, Fraction(4), DELTA, np.arange(201.0), adaptive=False)
    assert made.error < min(search.error_of(1.0), search.error_of(2.0))
    assert 1 < made.shape < 2


def test_the_stated_error_is_that_of_the_mechanism():
    made = found(20)
    matrix, answers = made.mechanism.matrix, np.arange(61)
    assert made.error == pytest.approx(float((matrix * abs(answers[:, None] - answers)).sum() / 61), rel=1e-9)


def test_the_noise_is_a_law_whose_passport_proves_itself(tmp_path):
    made = found(20)
    assert made.mechanism.law.kind == "noise"
    passport.to_passport(made.mechanism).save(tmp_path / "noise.json")
    assert ib.verify(tmp_path / "noise.json").is_valid


@pytest.mark.parametrize("epsilon", [2.0, 4.0])
def test_googles_accountant_finds_the_same_delta(epsilon):
    """It rounds each loss up to 1e-4, so its delta lies between ours at this epsilon and at 20 such steps less."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    made, low, high = found(20), 0.0, 0.0
    for j, k in ((30, 31), (31, 30), (0, 1), (1, 0)):
        columns = (made.mechanism.matrix[:, x].tolist() for x in (j, k))
        upper, lower = ({i: math.log(p) for i, p in enumerate(column) if p} for column in columns)
        one = pld.from_two_probability_mass_functions(lower, upper, value_discretization_interval=1e-4, symmetric=False)
        together = one.self_compose(20)
        low, high = (
            max(worst, together.get_delta_for_epsilon(at))
            for worst, at in ((low, epsilon + 20 * 1e-4), (high, epsilon))
        )
    assert low <= compose(made.mechanism, 20).delta(epsilon) <= high * (1 + 1e-9)


# --- one order -----------------------------------------------------------------------------------------------


def test_a_cost_is_the_moment_of_the_worst_neighbours_rounded_up():
    mechanism = ib.catalog.truncated_geometric(ib.count(7), "1/2")
    columns = mechanism.matrix.T
    for order in (2, 5, 17):
        pairs = [(j, k) for j in range(8) for k in (j - 1, j + 1) if 0 <= k < 8]
        moments = [float((columns[j] ** order * columns[k] ** (1.0 - order)).sum()) for j, k in pairs]
        cost = renyi_cost(mechanism, order)
        assert float(cost) == pytest.approx(math.log(max(moments)), rel=1e-9)
        exact = max(
            sum(Fraction(p) ** order / Fraction(q) ** (order - 1) for p, q in zip(a, b, strict=True))
            for a, b in ((mechanism.weights[:, j].tolist(), mechanism.weights[:, k].tolist()) for j, k in pairs)
        )
        assert exact <= 2**62 * exp_above(cost) < exact * (1 + Fraction(1, 10**15))


@pytest.mark.parametrize("order", [2, 9, 40])
def test_an_order_never_promises_more_than_the_exact_account(order):
    mechanism = ib.catalog.truncated_geometric(ib.count(20), "0.3")
    for uses in (5, 40):
        promised = epsilon_at_order(uses * renyi_cost(mechanism, order), order, DELTA)
        assert float(promised) >= compose(mechanism, uses).epsilon(DELTA)
        assert most_cost(promised, order, DELTA) == pytest.approx(uses * renyi_cost(mechanism, order), rel=1e-12)


def test_noise_for_answers_chosen_as_one_goes_keeps_its_order_and_costs_little():
    made, exact = found(20, adaptive=True), found(20)
    assert 20 * renyi_cost(made.mechanism, made.order) <= most_cost(4, made.order, DELTA)
    assert compose(made.mechanism, 20).delta(4) < DELTA
    assert exact.error < made.error < 1.06 * exact.error


# --- what is refused -----------------------------------------------------------------------------------------


def test_what_cannot_be_is_refused():
    with rejects(ValueError, "delta"):
        noise_for_uses(ib.count(9), 3, 1, 0)
    with rejects(ValueError, "uses"):
        noise_for_uses(ib.count(9), 0, 1, DELTA)
    with rejects(ValueError, "order"):
        renyi_cost(ib.catalog.truncated_geometric(ib.count(7), 1), 1)
    with rejects(ValueError, "mechanism"):
        renyi_cost(ib.catalog.threshold(ib.count(20), 1, "1e-3"), 3)
    for query in (ib.count(3000), ib.category(4)):
        with rejects(ValueError, "query"):
            noise_for_uses(query, 3, 1, DELTA)
