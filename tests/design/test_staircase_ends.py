"""Properties on wide ranges: staircase noise with mended ends, against the optimum where a matrix is small."""

from fractions import Fraction

import numpy as np
import pytest

import inbounds as ib
from inbounds.design import designer
from inbounds.design.goal import DesignGoal, build_problem
from inbounds.design.large import design_mended
from inbounds.design.problem import Problem
from inbounds.design.routes.baseline import has_properties
from inbounds.design.routes.staircase_ends import mend_staircase
from inbounds.design.run import NEGLIGIBLE
from inbounds.losses import to_loss

SETS = [
    ["fair"],
    ["column_honest", "weakly_honest"],
    ["column_monotone"],
    ["row_honest", "column_honest"],
    ["fair", "row_monotone", "column_monotone", "symmetric"],
]


def make_problem(properties: list[str], loss: str = "absolute", aim: str = "average") -> Problem:
    return build_problem(ib.total(50, 0, 3), Fraction(1), to_loss(loss), None, frozenset(properties), aim)  # type: ignore[arg-type]


def mend(problem: Problem, power: float = 1.0) -> np.ndarray:
    matrix = mend_staircase(problem, 3, 1.0, np.arange(151.0) ** power)
    assert matrix is not None
    return matrix


@pytest.mark.parametrize("properties", SETS, ids=" ".join)
@pytest.mark.parametrize("aim", ["average", "worst"])
def test_mended_noise_is_private_and_has_its_properties(properties: list[str], aim: str) -> None:
    problem = make_problem(properties, aim=aim)
    matrix = mend(problem)
    assert has_properties(problem, matrix, NEGLIGIBLE)
    assert np.allclose(matrix.sum(axis=0), 1, rtol=0, atol=1e-14)
    for steps in (1, 3):
        ratios = matrix[:, steps:] / matrix[:, :-steps]
        assert max(ratios.max(), 1 / ratios.min()) <= np.e * (1 + 1e-9)


@pytest.mark.long
def test_mended_noise_of_fifty_people_loses_one_percent_more_than_the_best_matrix_at_most() -> None:
    best = ib.optimal(ib.total(50, 0, 3), 1, properties=["fair"]).optimality
    assert best is not None
    value = make_problem(["fair"]).value(mend(make_problem(["fair"])))
    assert best.bound <= value * (1 + 1e-12)
    assert value <= 1.01 * best.value


def test_the_worst_answer_loses_less_if_that_is_the_aim() -> None:
    average, worst = (make_problem(["fair", "column_honest"], aim=aim) for aim in ("average", "worst"))
    assert worst.value(mend(worst)) < worst.value(mend(average))
    assert average.value(mend(average)) < average.value(mend(worst))


def test_a_property_that_steps_of_noise_cannot_have_is_left_to_other_routes() -> None:
    assert mend_staircase(make_problem(["column_ratio(2)"]), 3, 1.0, np.arange(151.0)) is None
    assert mend_staircase(make_problem(["weakly_honest"]), 3, 0.001, np.arange(151.0)) is None


def test_a_range_too_narrow_for_two_ends_is_left_to_other_routes() -> None:
    problem = build_problem(ib.total(10, 0, 3), Fraction(1), to_loss("absolute"), None, frozenset(["fair"]), "average")
    assert mend_staircase(problem, 3, 1.0, np.arange(31.0)) is None


def test_a_wide_fair_total_is_designed_with_a_gap_below_one_percent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(designer, "MANY", 200)  # as from 1,000 answers on
    made = ib.optimal(ib.total(75, 0, 3), 1, properties=["fair", "column_monotone"])
    assert made.origin.parameters["route"] == "staircase noise, mended ends"
    assert made.optimality is not None
    assert made.optimality.gap < 0.01 * made.optimality.value
    assert made.properties()["fair"]
    assert made.properties()["column_monotone"]


@pytest.mark.long
def test_the_bound_holds_for_a_prior_too() -> None:
    query, prior = ib.total(30, 0, 2), np.exp(-np.arange(61.0) / 20)
    goal = DesignGoal(to_loss("squared"), prior, frozenset(["fair"]), "average", ())
    made, best = design_mended(query, Fraction(1), goal, 10), ib.optimal(query, 1, "squared", prior, ["fair"])
    assert made is not None
    assert made.optimality is not None
    assert best.optimality is not None
    assert made.optimality.bound <= best.optimality.value * (1 + 1e-9)
    assert best.optimality.bound <= made.optimality.value * (1 + 1e-9)


def test_closed_forms_come_before_mended_noise() -> None:
    goal = DesignGoal(to_loss("zero-one"), None, frozenset(["fair"]), "average", ())
    assert design_mended(ib.count(60), Fraction(1), goal, 10) is None
