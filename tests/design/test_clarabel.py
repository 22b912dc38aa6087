"""Clarabel's answers: those of HiGHS, the same on every run, and nothing once the time is over."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

import inbounds as ib
from inbounds.design.problem import Problem
from inbounds.design.routes import linear_program
from inbounds.design.routes.folding import fold_program
from inbounds.design.solver import clarabel


def square(n: int, worst: bool, asked: str) -> Problem:
    i, j = np.indices((n, n))
    k = np.arange(n)
    cliques = tuple((a, a + 3, 1.0) for a in range(n - 2))
    return Problem(0.5, cliques, abs(i - j).astype(float), np.full(n, 1 / n), k, k + 1, k, worst, frozenset({asked}))


@pytest.mark.parametrize("worst", [False, True])
@pytest.mark.parametrize("asked", ["fair", "column_monotone", "weakly_honest"])
def test_the_interior_point_has_the_value_of_the_simplex_method(asked: str, worst: bool) -> None:
    problem = square(14, worst, asked)
    built = fold_program(problem)
    inner, vertex = (
        solve(built, np.inf) for solve in (linear_program._solve_by_interior_point, linear_program._solve_by_simplex)
    )
    assert problem.value(inner.matrix) == pytest.approx(problem.value(vertex.matrix), rel=1e-8)
    assert inner.bound <= problem.value(vertex.matrix) * (1 + 1e-12)
    assert inner.is_closed(problem)
    again = linear_program._solve_by_interior_point(built, np.inf)
    assert np.array_equal(inner.matrix, again.matrix)
    assert inner.bound == again.bound


def test_rows_of_every_kind_have_the_duals_of_a_minimum() -> None:
    """Minimize 2x + 3y + z with x + y = 4, y >= 1, z <= 5, z >= 2."""
    rows = csr_array(np.array([[1.0, 1, 0], [0, 1, 0], [0, 0, 1]]))
    lower, upper = np.array([4.0, 1, -np.inf]), np.array([4.0, np.inf, 5])
    found = clarabel.solve_linear_program(np.array([2.0, 3, 1]), np.array([0.0, 0, 2]), rows, lower, upper, np.inf)
    assert found is not None
    assert found.values == pytest.approx([3, 1, 2], abs=1e-9)
    assert found.duals == pytest.approx([2, 1, 0], abs=1e-9)


def test_without_time_the_bound_still_holds() -> None:
    problem = square(14, False, "column_monotone")
    built = fold_program(problem)
    best = linear_program._solve_by_simplex(built, np.inf)
    hasty = linear_program._solve_by_interior_point(built, -np.inf)
    assert hasty.bound <= problem.value(best.matrix)
    assert hasty.matrix is None or problem.value(hasty.matrix) >= best.bound


@pytest.mark.parametrize("worst", [False, True])
def test_of_all_optima_the_one_nearest_to_the_truth_is_found(worst: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    even = square(14, worst, "fair")
    prior = np.where(np.arange(14) % 5 == 0, 1 / 3, 0.0)
    problem = replace(even, loss=(even.loss > 2).astype(float), prior=prior)
    far = np.square(even.loss)
    built = fold_program(problem)
    nearest, vertex = (
        solve(built, np.inf).matrix
        for solve in (linear_program._solve_by_interior_point, linear_program._solve_by_simplex)
    )
    monkeypatch.setattr(linear_program, "may_tie", lambda _problem: False)
    middle = linear_program._solve_by_interior_point(built, np.inf).matrix
    assert (far * nearest).sum() == pytest.approx((far * vertex).sum(), rel=1e-3)
    assert (far * middle).sum() > 1.01 * (far * vertex).sum()


def test_ties_are_expected_where_an_answer_does_not_tell_outputs_apart() -> None:
    problem = square(14, False, "fair")
    assert not linear_program.may_tie(problem)
    assert not linear_program.may_tie(replace(problem, loss=problem.loss**2))
    assert linear_program.may_tie(replace(problem, loss=(problem.loss > 2).astype(float)))
    assert linear_program.may_tie(replace(problem, prior=np.eye(14)[0]))
    assert linear_program.may_tie(replace(problem, worst=True))


@pytest.mark.parametrize("names", [{"fair", "row_monotone", "weakly_honest"}, {"fair"}, {"column_monotone"}])
@pytest.mark.parametrize("epsilon", ["0.3", "4.06"])
def test_mechanisms_from_interior_points_have_their_properties(epsilon: str, names: set[str]) -> None:
    query = ib.interval(0, 24, 2, 24, holes=[(8, 11)])
    prior = np.round(np.random.default_rng(13).random(len(query.answers)), 2) + 0.01
    mechanism = ib.optimal(query, epsilon, prior=prior, properties=names)
    assert "interior point" in mechanism.origin.parameters["route"]
    held = mechanism.properties()
    assert all(held[name] for name in names)
    assert mechanism.optimality.gap <= 1e-8 * mechanism.optimality.value
