"""Outward fill: optimal where it says so, with a bound that proves it."""

from dataclasses import replace

import numpy as np
import pytest

from inbounds.design.problem import Problem
from inbounds.design.routes import linear_program, outward_fill
from inbounds.properties import measure_properties, square_layout

VARIANT_2 = frozenset({"row_monotone", "column_monotone", "symmetric", "fair"})
TOTAL = 2**62
UNITS = 2**22  # 2^-40 of the total


def proved(problem):
    """Whether the fill is the route's answer."""
    return outward_fill.accepts(problem) and outward_fill.solve(problem).is_closed(problem)


def square(n, epsilon, loss, reach=1, **more):
    """One output per answer 0..n-1, answers at most `reach` apart neighbours, uniform prior unless given."""
    i, j = np.indices((n, n))
    table = {"absolute": abs(i - j), "squared": (i - j) ** 2, "zero-one": i != j}[loss].astype(float)
    cliques = tuple((k, k + reach + 1, 1.0) for k in range(n - reach))
    k = np.arange(n)
    return Problem(epsilon, cliques, table, home=k, below=k + 1, above=k, **{"prior": np.full(n, 1 / n)} | more)


def loss_of(problem, P):
    return float((problem.loss * P).sum(axis=0) @ problem.prior)


EPSILONS = [0.05, 0.1, 0.2, 0.5, 1.0, 2.0]


@pytest.mark.long
@pytest.mark.parametrize("loss", ["absolute", "squared", "zero-one"])
@pytest.mark.parametrize("others", ["column_monotone row_monotone symmetric", "", "row_honest", "column_monotone"])
@pytest.mark.parametrize("sizes", [(2, 3, 4, 5), pytest.param((6, 9, 10, 16), marks=pytest.mark.slow)], ids=str)
def test_the_fill_equals_the_linear_program_exactly_where_it_applies(loss, others, sizes):
    properties, applied = frozenset({"fair", *others.split()}), 0
    for size in sizes:
        for epsilon in EPSILONS:
            problem = square(size, epsilon, loss, properties=properties)
            best, found = linear_program.solve(problem), outward_fill.solve(problem)
            value = loss_of(problem, found.matrix)
            same = value <= loss_of(problem, best.matrix) * (1 + 1e-9)
            assert found.bound <= loss_of(problem, best.matrix) * (1 + 1e-12)
            assert proved(problem) == same
            applied += same
    assert applied >= len(sizes) * len(EPSILONS) // 2


@pytest.mark.parametrize("epsilon", [0.02, 0.1, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("size", [1, 2, 7, 30, 61, 150])
def test_the_monotone_fill_has_all_seven_properties_and_is_private(size, epsilon):
    alpha = np.exp(-epsilon)
    P = outward_fill.fill_outward(size, outward_fill.FillBounds(alpha)).matrix
    assert np.allclose(P.sum(axis=0), 1, rtol=0, atol=1e-13)
    assert (P[:, 1:] >= alpha * P[:, :-1] * (1 - 1e-13)).all()
    assert (P[:, :-1] >= alpha * P[:, 1:] * (1 - 1e-13)).all()
    weights = np.round(P * TOTAL).astype(np.int64)
    assert max(measure_properties(weights, square_layout(size), TOTAL).values()) <= UNITS


@pytest.mark.parametrize("asked", [{"row_honest"}, {"column_monotone", "row_honest"}, {"weakly_honest"}, set()])
@pytest.mark.parametrize("size", [2, 7, 30, 61])
def test_the_fill_has_whatever_was_asked_with_fairness(size, asked):
    for epsilon in (0.02, 0.1, 0.5, 3.0):
        problem = square(size, epsilon, "absolute", properties=frozenset({"fair", "symmetric", *asked}))
        P = outward_fill.solve(problem).matrix
        assert (P[:, 1:] >= np.exp(-epsilon) * P[:, :-1] * (1 - 1e-12)).all()
        assert (P[:, :-1] >= np.exp(-epsilon) * P[:, 1:] * (1 - 1e-12)).all()
        weights = np.round(P * TOTAL).astype(np.int64)
        assert max(measure_properties(weights, square_layout(size), TOTAL, problem.properties).values()) <= UNITS


@pytest.mark.parametrize("seed", range(30))
def test_one_fill_serves_every_prior_and_every_loss_that_grows(seed):
    """At the largest truth the fill minimizes every tail at once: wherever the bound closes, the program agrees."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(3, 14))
    half = rng.random(size) + 0.2
    prior = (half + half[::-1]) / (2 * half.sum())
    growth = np.concatenate(([0], np.cumsum(rng.random(size - 1))))
    i, j = np.indices((size, size))
    problem = square(size, float(rng.choice([0.3, 0.7, 1.5])), "absolute", prior=prior, properties=VARIANT_2)
    problem = replace(problem, loss=growth[abs(i - j)])
    found, best = outward_fill.solve(problem), linear_program.solve(problem)
    assert found.bound <= loss_of(problem, best.matrix) * (1 + 1e-12)
    if proved(problem):
        assert loss_of(problem, found.matrix) == pytest.approx(loss_of(problem, best.matrix), rel=1e-9)


def test_the_fill_does_not_apply_where_a_smaller_truth_is_better():
    """Squared loss at epsilon 0.05: giving up some truth pays, and the bound says so."""
    problem = square(10, 0.05, "squared", properties=VARIANT_2)
    best = linear_program.solve(problem).matrix
    assert best[0, 0] < outward_fill.max_fair_diagonal(10, np.exp(-0.05)) - 1e-4
    assert not proved(problem)


def test_the_fill_refuses_other_shapes():
    base = {"properties": VARIANT_2}
    assert outward_fill.accepts(square(6, 0.5, "absolute", **base))
    assert not outward_fill.accepts(square(6, 0.5, "absolute", 2, **base))
    assert not outward_fill.accepts(square(6, 0.5, "absolute", worst=True, **base))
    assert not outward_fill.accepts(square(6, 0.5, "absolute", properties=frozenset({"row_monotone"})))
    assert not outward_fill.accepts(square(6, 0.5, "absolute", properties=frozenset({"fair", "column_ratio(2)"})))


@pytest.mark.parametrize("loss", ["absolute", "squared"])
def test_five_hundred_answers_are_proved_optimal(loss):
    problem = square(501, 0.5, loss, properties=VARIANT_2)
    found = outward_fill.solve(problem)
    assert loss_of(problem, found.matrix) - found.bound <= 1e-9 * found.bound
