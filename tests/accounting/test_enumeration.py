"""Enumeration of a few answers whose ratios are alike: never below the exact loss, and all but equal to it."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import inbounds as ib
from inbounds.accounting import compose, enumerate_losses
from inbounds.accounting.compose import Composition
from inbounds.accounting.dominating_pairs import AnswerGroup
from inbounds.accounting.enumeration import enumerate_if_small
from inbounds.accounting.merged_losses import MERGED_BITS, merge_losses, merged_curve
from inbounds.accounting.pairs import curves_for_any_question, merged_losses, neighbouring_pairs, pair_curve
from inbounds.accounting.tilted_convolution import LIFT
from inbounds.trusted.bounds import TOTAL

GEOMETRIC = ib.catalog.truncated_geometric(ib.count(60), "0.1")


def curve(losses, x):
    """sum max(0, P - x·Q) of a pair given by its losses, over 2**MERGED_BITS."""
    return sum((max(Fraction(0), p - x * p / r) for r, p in losses.items()), Fraction(0)) / (1 << MERGED_BITS)


def curve_of(upper, lower, x):
    return sum((max(Fraction(0), p - x * q) for p, q in zip(upper, lower, strict=True)), Fraction(0)) / TOTAL


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 6), st.integers(2, 4), st.randoms(use_true_random=False))
def test_the_merged_losses_dominate_every_pair_of_columns(outputs, answers, random):
    """For any columns: also where ratios differ by a unit of rounding, and at the points between and beyond them."""
    columns = []
    for _ in range(answers):
        cuts = sorted(random.randrange(1, TOTAL) for _ in range(outputs - 1))
        columns.append([b - a for a, b in zip([0, *cuts], [*cuts, TOTAL], strict=True)])
    moved = list(columns[0])
    moved[0], moved[1] = moved[0] + 1, moved[1] - 1
    weights = np.array([*columns, moved]).T
    if weights.min() < 1:
        return
    pairs = [(j, k) for j in range(answers + 1) for k in range(answers + 1) if j != k]
    losses = merge_losses(weights, pairs)
    points = [*losses, *(x * Fraction(9, 10) for x in losses), Fraction(0), Fraction(1), max(losses) * 2]
    for x in points:
        bound = curve(losses, x)
        for j, k in pairs:
            assert curve_of(weights[:, j].tolist(), weights[:, k].tolist(), x) <= bound


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("name", ["truncated_geometric", "explicit_fair", "randomized_response"])
def test_merged_answers_lose_a_trifle_more_than_exact_ones(name, k):
    total = compose(getattr(ib.catalog, name)(ib.count(3), 1), k)
    merged = compose(getattr(ib.catalog, name)(ib.count(3), 1), k)
    exact = enumerate_losses(total)
    losses = merge_losses(total.mechanisms[0].weights, neighbouring_pairs(total.mechanisms[0].query))
    found = enumerate_if_small(merged)
    for delta in ("1e-1", "1e-3", "1e-9", "1e-15"):
        assert exact.epsilon(delta) <= found.epsilon(delta) <= exact.epsilon(delta) * (1 + 1e-12)
    assert len(losses) <= 2 * len(total.mechanisms[0].weights) ** 2


def test_ten_answers_of_a_large_count_need_two_losses():
    assert len(merge_losses(GEOMETRIC.weights, neighbouring_pairs(GEOMETRIC.query))) == 2
    ten = compose(GEOMETRIC, 10)
    assert enumerate_if_small(ten) is not None
    long_way = Composition((GEOMETRIC,), (10,))._plans[0]
    for delta in (Fraction(1, 10), Fraction(1, 10**6), Fraction(1, 10**20)):
        tight, other = ten.least(delta), long_way.epsilon(delta)
        assert tight <= other * (1 + Fraction(1, 10**12)) <= tight * (1 + Fraction(1, 10**6))


def test_thousands_of_ratios_become_hundreds_that_dominate_and_lie_close():
    """For every pair of neighbours, at losses of the merged pair, between them, and at a crossing of two curves."""
    mechanism = ib.catalog.exponential(ib.count(60), 1)
    losses = merge_losses(mechanism.weights, neighbouring_pairs(mechanism.query))
    merged = merged_curve(losses)
    assert 100 < len(losses) < 1000 < 60**2
    rising = sorted(losses)
    between = [(one + other) / 2 for one, other in pairwise(rising[::150])]
    pairs = [pair_curve(mechanism.weights, pair) for pair in neighbouring_pairs(mechanism.query)]
    for x in [*rising[1::150], *between, Fraction(0), Fraction(1), 2 * rising[-1]]:
        bound, highest = merged.height(x) / (1 << MERGED_BITS), max(one.height(x) for one in pairs) / TOTAL
        assert highest <= bound <= highest + Fraction(1, 10**5)


def test_the_losses_of_one_pair_are_divided_between_grid_points_so_that_they_dominate():
    mechanism = ib.catalog.exponential(ib.count(12), 1)
    group = curves_for_any_question(mechanism, 1, merged_losses(mechanism))
    step = group.top * LIFT / 300
    masses = group.masses(step, 300)
    x = np.exp(float(step) * np.arange(301 - len(masses), 301))
    for ratio in np.exp(np.linspace(-1, 1, 41)) ** 0.7:
        found = float((masses * np.maximum(1 - ratio / x, 0)).sum())
        true = float(group.curves[0].height(Fraction(ratio)) / group.total)
        assert true - 1e-15 <= found <= true + 1e-5


def test_questions_about_one_value_and_mechanisms_with_many_losses_take_the_long_way():
    assert enumerate_if_small(compose(GEOMETRIC, 10, same_question=True)) is None
    assert enumerate_if_small(compose(ib.catalog.exponential(ib.count(60), 1), 10)) is None


def test_the_maximum_of_curves_is_found_from_the_ends_of_runs():
    """Against the exact value of every curve at every point."""
    for mechanism in (GEOMETRIC, ib.catalog.exponential(ib.count(12), 1), ib.optimal(ib.mean(4, 0, 3), "1/2")):
        group = curves_for_any_question(mechanism, 1, None)
        assert isinstance(group, AnswerGroup)
        bits, x = 200, np.exp(np.linspace(-1.2, 1.2, 301) * float(mechanism.epsilon))
        wholes = np.array([int(Fraction(value) * (1 << bits)) for value in x], dtype=object)
        every = [c.exactly(wholes, x, bits) for c in group.curves]
        assert group._highest(wholes, x, bits).tolist() == np.maximum.reduce(every).tolist()


@pytest.mark.parametrize("times", [1, 3])
def test_answers_that_say_nothing_lose_nothing_whatever_their_number(times):
    uniform = ib.certify(np.full((61, 61), 1 / 61), ib.count(60), "0.5")
    assert compose(uniform, times).epsilon("1e-6") == 0
