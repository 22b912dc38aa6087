"""Requests at the edge: odd scales, sparse priors, far answers, solves that are stopped."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest

import inbounds as ib
from inbounds import catalog
from inbounds.design.goal import build_problem
from inbounds.design.routes import baseline, count_remap
from inbounds.exact import to_epsilon
from inbounds.losses import to_loss
from inbounds.mechanism import Mechanism
from inbounds.query import AllPairs, Metric, OutputCells, RangeQuery, Reach, Scale, with_neighbours, with_outputs
from raising import rejects


def optimality(mechanism: Mechanism) -> tuple[float, float]:
    assert mechanism.optimality is not None
    return mechanism.optimality.value, mechanism.optimality.bound


@pytest.mark.long
@pytest.mark.parametrize("unit", [1e-12, 1e-9, 1e9])
@pytest.mark.parametrize("properties", [["row_honest"], ["column_monotone", "weakly_honest"], ["fair", "row_honest"]])
@pytest.mark.parametrize("aim", ["average", "worst"])
def test_the_unit_of_the_loss_does_not_matter(unit: float, properties: list[str], aim: str) -> None:
    query, table = ib.extreme(0, 6), np.random.default_rng(3).random((7, 7))
    value, bound = optimality(ib.optimal(query, 1, table, properties=properties, aim=aim))  # type: ignore[arg-type]
    scaled = optimality(ib.optimal(query, 1, unit * table, properties=properties, aim=aim))  # type: ignore[arg-type]
    assert scaled == pytest.approx((unit * value, unit * bound), rel=1e-9, abs=0)
    assert value - bound <= 1e-9 * value


def test_a_small_loss_beside_large_ones_is_still_solved_to_the_end() -> None:
    query = with_neighbours(ib.count(4), Metric(Fraction(1, 2)))
    for properties in (["row_honest"], ["column_monotone"]):
        value, bound = optimality(ib.optimal(query, 3, ib.power_loss(3), properties=properties, aim="worst"))
        assert value - bound <= 1e-7 * value


@pytest.mark.long
@pytest.mark.parametrize("loss", ["absolute", "squared", "power", "zero-one"])
@pytest.mark.parametrize("at", [0, 7000, 9999])
def test_a_large_count_with_a_sure_prior_is_always_right(loss: str, at: int) -> None:
    """Far from the only possible answer every report costs nothing; that tie must not bind the others."""
    prior = np.zeros(10_000)
    prior[at] = 1
    value, bound = optimality(ib.optimal(ib.count(9_999), 1, ib.power_loss("1/2") if loss == "power" else loss, prior))
    assert bound <= 1e-9  # reporting `at` whatever happens is private and never wrong
    assert value <= 1e-7  # rounding of squares up to 1e8


def test_the_remap_of_a_large_count_is_that_of_the_matrix_for_a_sparse_prior() -> None:
    prior = np.zeros(120)
    prior[[20, 21, 60, 115]] = 0.25
    for loss in (lambda e: e**0.5, lambda e: np.floor(e / 3), lambda e: e, lambda e: e * e):
        found = count_remap.remap(3.0, loss(np.arange(120.0)), prior)
        value, bound = found.loss, found.bound
        table = loss(np.abs(np.subtract.outer(np.arange(120.0), np.arange(120.0))))
        best, _ = optimality(ib.optimal(ib.count(119), 3, table, prior))
        assert value == pytest.approx(best, rel=1e-9)
        assert bound <= best


@pytest.mark.parametrize("count", [2, 3])
def test_weak_honesty_reaches_every_answer_of_a_coarse_cell(count: int) -> None:
    query = with_outputs(with_neighbours(ib.count(8), Metric(Fraction(5, 4))), count)
    table = np.random.default_rng(1).integers(0, 4, query.shape).astype(float)
    mechanism = ib.optimal(query, 0.5, table, properties=["weakly_honest"])
    assert mechanism.properties()["weakly_honest"]
    assert mechanism.truth_probability().min() >= 1 / count - 1e-12


def test_a_request_that_can_be_met_without_loss_is() -> None:
    answers = Scale(Fraction(1), Fraction(1), (0, 3, 6, 7))
    query = RangeQuery("holes", answers, OutputCells.one_per_answer(answers), Reach(1))
    loss = ib.threshold_loss(1)
    value, bound = optimality(ib.optimal(query, "0.000001", loss, properties=["row_honest", "column_honest"]))
    assert 0 <= bound <= value <= 1e-9


def test_evening_out_a_nearly_symmetric_loss_keeps_the_bound_true() -> None:
    table = np.full((4, 4), 1e9)
    table[1], table[2] = [0, 1e-6, 0, 1e-6], 1e-5
    _, bound = optimality(ib.optimal(ib.count(3), 0.5, table))
    assert bound <= 5e-7  # always output 1


@pytest.mark.parametrize("aim", ["average", "worst"])
@pytest.mark.parametrize("properties", [[], ["fair"], ["column_monotone"], ["column_ratio(2)"]])
def test_answers_too_far_apart_to_constrain_each_other_are_no_trouble(aim: str, properties: list[str]) -> None:
    far = Scale(Fraction(0), Fraction(1), (0, 1, 5000, 5001))
    for query in (
        with_neighbours(ib.count(4), Metric(Fraction(1, 1000))),
        RangeQuery("far", far, OutputCells.one_per_answer(far), Metric()),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            value, bound = optimality(ib.optimal(query, 10, properties=properties, aim=aim))  # type: ignore[arg-type]
        assert 0 <= bound <= value


def test_losses_that_cannot_be_summed_are_refused() -> None:
    with rejects(ValueError, about="1e+150"):
        ib.optimal(ib.count(4), 1, np.full((5, 5), 1e308))


STOPPED = {
    "wide windows": (with_neighbours(ib.count(120), Reach(12)), {}),
    "wide windows, worst": (with_neighbours(ib.count(120), Reach(4)), {"aim": "worst"}),
    "chain, worst": (ib.count(150), {"aim": "worst"}),
    "everyone, worst": (with_neighbours(ib.count(150), AllPairs()), {"aim": "worst"}),
    "wide windows, honest": (with_neighbours(ib.count(80), Reach(12)), {"properties": ["row_honest"]}),
}


@pytest.mark.long
@pytest.mark.parametrize("name", STOPPED)
def test_a_stopped_solve_returns_the_best_closed_form_and_a_bound(name: str) -> None:
    query, asked = STOPPED[name]
    value, bound = optimality(ib.optimal(query, 0.5, **asked, max_seconds=1e-3))  # type: ignore[arg-type]
    for known in (catalog.truncated_geometric, catalog.uniform, catalog.explicit_fair):
        other = known(query, 0.5)
        assert value <= (other.worst_loss() if "aim" in asked else other.loss()) * (1 + 1e-7)
    assert value > bound > value / 3


@pytest.mark.long
@pytest.mark.parametrize("loss", ["absolute", pytest.param("squared", marks=pytest.mark.slow), "zero-one"])
@pytest.mark.parametrize("neighbours", [Reach(1), Reach(3), Reach(9), AllPairs(), Metric(Fraction(2, 3))])
@pytest.mark.parametrize("aim", ["average", "worst"])
def test_what_is_at_hand_brackets_the_optimum(loss: str, neighbours: object, aim: str) -> None:
    query = with_neighbours(ib.count(9), neighbours)  # type: ignore[arg-type]
    prior = np.arange(1, 11.0) if aim == "average" else None
    for properties in (frozenset[str](), frozenset({"fair"}), frozenset({"column_ratio(3/2)", "weakly_honest"})):
        problem = build_problem(query, to_epsilon(0.7), to_loss(loss), prior, properties, aim)  # type: ignore[arg-type]
        best, _ = optimality(ib.optimal(query, 0.7, loss, prior, properties, aim))  # type: ignore[arg-type]
        assert baseline.baseline_bound(problem) <= best * (1 + 1e-12)
        assert baseline.baseline_bound(problem) > 0
        P = baseline.find_baseline(problem)
        assert problem.value(P) >= best * (1 - 1e-9)
        assert ib.certify(P, query, 0.7, tolerance=1e-12).epsilon == Fraction(7, 10)
        assert math.isclose(P.sum(), 10)
