"""Promises, the smallest epsilon that keeps one, the best one at an epsilon."""

import json
from fractions import Fraction

import numpy as np
import pytest
from typer.testing import CliRunner

import inbounds as ib
from inbounds.cli import app
from inbounds.evaluate.goals import (
    DIGITS,
    _grid,
    _grid_index,
    average,
    best_goal_at,
    best_of_each_kind,
    calibrate_epsilon,
    narrowest_interval_at,
    within,
    worst,
)
from inbounds.exact import EPSILON_RANGE
from raising import rejects

QUERY = ib.count(12)
MONOTONE = [
    (QUERY, average("absolute", 1), "optimal"),
    (QUERY, average("absolute", 1), "truncated_geometric"),
    (QUERY, average("squared", "2.5"), "variant_2"),
    (QUERY, within(2, "0.9"), "optimal"),
    (QUERY, within(2, "0.9"), "snapped_laplace"),
    (QUERY, within(0, "0.5"), "explicit_fair"),
    (QUERY, worst("absolute", "1.5"), "snapped_staircase"),
    (ib.extreme(1, 5), average("absolute", "0.75", [1, 2, 3, 2, 1]), "optimal"),
    (ib.mean(4, 1, 3), within("1/2", "0.8"), "exponential"),
    (ib.category(["a", "b", "c"]), worst("zero-one", "1/4"), "randomized_response"),
]


def exact_value(promise, mechanism):
    """The loss from the definition, in Fractions."""
    P = [[Fraction(int(w), 2**62) for w in row] for row in mechanism.weights]
    table = promise.loss.table(mechanism.query)
    losses = [
        sum(P[i][j] * _loss(promise.loss.name, mechanism.query, i, j, table) for i in range(len(P)))
        for j in range(len(P[0]))
    ]
    if promise.aim == "worst":
        return max(losses)
    prior = [Fraction(str(w)) for w in promise.prior or [1] * len(losses)]
    return sum(q * x for q, x in zip(prior, losses, strict=True)) / sum(prior)


def _loss(name, query, i, j, table):
    if not query.is_ordered:
        return Fraction(i != j)
    error = abs(query.outputs[i][2] - query.answers[j])
    return {"absolute": error, "squared": error**2}.get(name, Fraction(table[i, j]))


@pytest.mark.long
@pytest.mark.parametrize(("query", "promise", "family"), MONOTONE, ids=lambda value: str(value)[:40])
def test_the_returned_epsilon_keeps_the_promise_and_a_thousandth_less_does_not(query, promise, family):
    """Exactly, on the certified mechanism that comes with it; and on a grid below, nothing keeps it."""
    from inbounds.evaluate.compare import families

    kept = calibrate_epsilon(query, promise, family)
    assert kept.mechanism.epsilon == kept.epsilon
    assert kept.mechanism.query == query
    assert exact_value(promise, kept.mechanism) <= promise.at_most
    assert promise.is_met_by(kept.mechanism)

    def made(epsilon):
        if family == "optimal":
            return ib.optimal(query, epsilon, promise.loss, promise.prior, (), promise.aim)
        return families()[family](query, epsilon)

    for share in ("0.999", "0.9", "0.4"):
        assert exact_value(promise, made(kept.epsilon * Fraction(share))) > promise.at_most


@pytest.mark.long
def test_the_optimal_family_needs_no_more_epsilon_than_any_other():
    """What one mechanism keeps, the best one keeps at the same epsilon or less."""
    promise = within(2, "0.9")
    least = calibrate_epsilon(QUERY, promise).epsilon
    for family in ("truncated_geometric", "explicit_fair", "variant_2", "snapped_laplace"):
        assert least <= calibrate_epsilon(QUERY, promise, family).epsilon


def test_a_family_whose_error_does_not_fall_is_asked_again_below():
    """A made-up family that is good at one, bad around a half and good below a quarter: the lowest is found."""

    def odd(query, epsilon):
        good = epsilon >= 1 or epsilon <= Fraction(1, 4)
        return ib.optimal(query, epsilon) if good else ib.catalog.uniform(query, epsilon)

    kept = calibrate_epsilon(QUERY, average("absolute", "2.5"), odd)
    assert kept.epsilon < Fraction(1, 4)
    assert exact_value(average("absolute", "2.5"), kept.mechanism) <= Fraction(5, 2)


def test_a_promise_that_needs_nothing_is_kept_at_the_least_epsilon():
    """Always reporting the middle is within half the range."""
    assert calibrate_epsilon(QUERY, within(6, 1), "optimal").epsilon == EPSILON_RANGE[0]


@pytest.mark.parametrize(
    ("promise", "family"),
    [
        (average("absolute", 0), "truncated_geometric"),
        (within(2, "0.9"), "uniform"),
        (worst("zero-one", "1/4"), "uniform"),
        (within(1, 1), "truncated_geometric"),
    ],
)
def test_a_promise_that_no_epsilon_keeps_is_infeasible(promise, family):
    """The error repeats the promise and says what to do."""
    with rejects(ib.InfeasibleDesign, about="64"):
        calibrate_epsilon(QUERY, promise, family)


def test_large_counts_keep_promises_without_a_matrix():
    """The noise table is searched as well; the closed form says what epsilon it takes."""
    query, promise = ib.count(10_000), within(3, "0.95")
    kept = calibrate_epsilon(query, promise, "truncated_geometric")
    # Pr[|noise| > 3] = 2·a^4/(1+a) with a = exp(-epsilon)
    a = np.exp(-float(kept.epsilon))
    assert 2 * a**4 / (1 + a) <= 0.05
    below = np.exp(-float(kept.epsilon) * 0.999)
    assert 2 * below**4 / (1 + below) > 0.05


# --- the reverse ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("like", [average("absolute", 1), worst("squared", 1), within(1, "0.5")], ids=str)
@pytest.mark.parametrize("family", ["optimal", "explicit_fair"])
def test_the_best_promise_is_kept_and_cannot_be_tightened(like, family):
    """Rounded up to six digits: one digit less is broken."""
    kept = best_goal_at(QUERY, "0.8", like, family)
    value = exact_value(kept.promise, kept.mechanism)
    assert value <= kept.promise.at_most <= value * Fraction(100_001, 100_000)
    assert kept.epsilon == Fraction(4, 5)
    assert kept.promise.loss.name == like.loss.name


@pytest.mark.parametrize("query", [QUERY, ib.mean(4, 1, 3), ib.count(9, outputs=4)], ids=["count", "mean", "cells"])
def test_the_narrowest_distance_is_kept_and_the_next_smaller_is_not(query):
    """Against all distances between a report and an answer."""
    family = ib.catalog.truncated_geometric
    kept = narrowest_interval_at(query, 1, "0.9", family)
    mechanism = family(query, 1)
    distances = sorted({abs(cell[2] - a) for cell in query.outputs for a in query.answers})
    good = [d for d in distances if mechanism.worst_loss(ib.threshold_loss(d)) <= 0.1]
    assert kept.promise.distance == min(good)


def test_best_and_smallest_are_inverse():
    """The best promise at an epsilon needs that epsilon, to the digits of the search."""
    kept = best_goal_at(QUERY, "0.6", average("absolute", 1))
    again = calibrate_epsilon(QUERY, kept.promise)
    assert again.epsilon <= Fraction(3, 5)
    assert float(again.epsilon) == pytest.approx(0.6, rel=1e-4)


def test_the_menu_has_a_promise_of_each_kind():
    """All are kept by their own mechanism."""
    menu = best_of_each_kind(QUERY, "0.8", "truncated_geometric")
    assert len(menu) == 7
    assert all(kept.promise.is_met_by(kept.mechanism) for kept in menu)
    labels = best_of_each_kind(ib.category(["a", "b"]), 1, "randomized_response")
    assert [kept.promise.aim for kept in labels] == ["average", "worst"]


# --- words and misuse -------------------------------------------------------------------------------------


def test_promises_read_as_sentences():
    """As they are asked for."""
    assert str(average("absolute", 1)) == "mean absolute error at most 1"
    assert str(within(2, "0.9")) == "within ±2 with probability 0.9 for every true answer"
    assert str(within(0, "0.5")) == "exactly right with probability 0.5 for every true answer"
    assert str(worst("squared", "2.5")) == "worst-case squared error at most 2.5"


def test_the_search_grid_is_the_five_digit_decimals():
    """Every index is one; rounding goes up, by less than a ten-thousandth."""
    rng = np.random.default_rng(5)
    for value in 10 ** rng.uniform(-9, 1.8, 500):
        epsilon = Fraction(value)
        index = _grid_index(epsilon)
        assert epsilon <= _grid(index) < epsilon * (1 + Fraction(1, 10 ** (DIGITS - 1)))
        assert _grid(index - 1) < epsilon
        assert _grid_index(_grid(index)) == index


def test_bad_input_is_refused_with_the_rule(golden):
    """One sentence."""
    golden.errors(
        "wrong_goals",
        [
            lambda: within(2, 0),
            lambda: within(2, "1.1"),
            lambda: within(-1, "0.9"),
            lambda: average("absolute", -1),
            lambda: average("absolute", "nan"),
            lambda: calibrate_epsilon(QUERY, average("absolute", 1), "gaussian"),
            lambda: calibrate_epsilon(QUERY, average("absolute", 1, [1, 2]), "uniform"),
            lambda: best_goal_at(QUERY, 0, average("absolute", 1)),
        ],
    )


# --- the command ------------------------------------------------------------------------------------------


def run(line, *words):
    return CliRunner().invoke(app, ["calibrate", *line.split(), *words], catch_exceptions=False, env={"COLUMNS": "120"})


def test_the_command_finds_the_epsilon_and_saves_the_mechanism(tmp_path):
    """What it saves is certified for what it prints."""
    file = tmp_path / "m.json"
    shown = run("count --size 12 --within 2 --probability 0.9 --family truncated_geometric --json --out", str(file))
    found = json.loads(shown.output)
    mechanism = ib.load(file)
    assert mechanism.epsilon == Fraction(found["epsilon"])
    assert mechanism.worst_loss(ib.threshold_loss(2)) <= 0.1
    text = run("count --size 12 --mean-error 1 --family explicit_fair").output
    assert "mean absolute error at most 1" in text
    assert "certified" in text


def test_the_command_shows_the_best_promises():
    """The reverse question."""
    menu = json.loads(run("count --size 12 --at 0.8 --family truncated_geometric --json").output)
    assert {entry["epsilon"] for entry in menu} == {"4/5"}
    assert "one can promise" in run("count --size 12 --at 0.8 --family truncated_geometric").output


def test_the_command_needs_exactly_one_promise():
    """None or two are refused."""
    for words in ("", "--mean-error 1 --within 2"):
        with rejects(ValueError, "calibrate", about="promise"):
            run(f"count --size 12 {words}")
