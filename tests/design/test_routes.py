"""The contract of routes: `accepts` solves nothing, `solve` returns in time, and what it returns is true."""

import time
from dataclasses import replace
from fractions import Fraction

import highspy
import numpy as np
import pytest

import inbounds as ib
from design.definition import GIVEN, LOSSES, Program, random_request
from inbounds.design.goal import average_mirror, build_problem
from inbounds.design.loss_limits import limit_tables
from inbounds.design.problem import Problem, Proposal, Route
from inbounds.design.routes import baseline, windows_interior
from inbounds.design.run import ROUTES, run_routes
from inbounds.design.solver import pricing
from inbounds.losses import to_loss, weigh_loss

EVERY_ROUTE = (*ROUTES, baseline)
FITTED = [  # requests that a random one seldom is
    (ib.count(45), Fraction(1, 8), "squared", None, ("column_monotone",), False),
    (ib.count(6), Fraction(1, 2), "absolute", None, (), False),
    (ib.count(9), Fraction(1), "absolute", None, ("fair", "row_monotone"), False),
    (ib.count(9), Fraction(1, 2), "absolute", None, ("symmetric",), False),
]


def to_problem(query, epsilon, loss, prior, names, worst) -> Problem:
    judged = to_loss(GIVEN[loss])
    if worst and prior is not None:
        judged = weigh_loss(judged, prior, query)
    return build_problem(query, epsilon, judged, prior, frozenset(names), "worst" if worst else "average")


def requests(count: int):
    rng = np.random.default_rng(11)
    return [*FITTED, *(random_request(rng) for _ in range(count))]


def assert_sound(problem: Problem, proposal: Proposal, best: float) -> None:
    """The bound is no more than the optimum; a matrix has columns that sum to one and no smaller loss."""
    scale = max(best, 1e-3)
    assert proposal.bound <= best + 1e-8 * scale
    if proposal.matrix is not None:
        assert proposal.matrix.sum(axis=0) == pytest.approx(1, abs=1e-9)
        assert problem.value(proposal.matrix) >= best - 1e-7 * scale
        assert baseline.has_properties(problem, proposal.matrix, 1e-9)


@pytest.mark.long
def test_every_route_keeps_its_word_with_time_and_without() -> None:
    tried = set[str]()
    for request in requests(30):
        query, epsilon, loss, prior, names, worst = request
        problem, best = to_problem(*request), Program(query, epsilon, LOSSES[loss], prior, names, worst).highs()
        for route in EVERY_ROUTE:
            if route.accepts(problem):
                tried.add(route.name)
                for deadline in (-np.inf, time.monotonic() + 60):
                    assert_sound(problem, route.solve(problem, deadline), best)
        found = run_routes(problem, np.inf)
        assert found.is_closed(problem)
        assert_sound(problem, found, best)
    assert tried == {route.name for route in EVERY_ROUTE} - {"graphs", "cone rays with limits"}


def limited_problem() -> Problem:
    query, tail = ib.count(12), ib.threshold_loss(2)
    problem = to_problem(query, Fraction(1), "squared", None, (), False)
    return replace(problem, limits=tuple(limit_tables(ib.limit_loss(tail, "0.07"), query, average_mirror)))


def graph_problem() -> Problem:
    query = ib.grid(3, 4)
    return build_problem(query, Fraction(1), to_loss("distance"), None, frozenset(), "average")


@pytest.mark.parametrize("make", [limited_problem, graph_problem])
def test_limits_and_graphs_have_bounds_that_hold_without_time(make) -> None:
    problem = make()
    best = run_routes(problem, np.inf)
    assert best.is_closed(problem)
    value = problem.value(best.matrix)
    for route in EVERY_ROUTE:
        if route.accepts(problem):
            hasty = route.solve(problem, -np.inf)
            assert hasty.bound <= value
            assert hasty.matrix is None or problem.value(hasty.matrix) >= best.bound
    assert run_routes(problem, -np.inf).bound <= value


def test_accepting_solves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    problems = [*(to_problem(*request) for request in requests(40)), limited_problem(), graph_problem()]

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("accepts must not solve")

    monkeypatch.setattr(highspy.Highs, "run", refuse)
    monkeypatch.setattr(windows_interior, "points", refuse)
    monkeypatch.setattr(pricing, "min_over_cone", refuse)
    monkeypatch.setattr("inbounds.design.run.run_routes", refuse)
    accepted = {route.name for problem in problems for route in EVERY_ROUTE if route.accepts(problem)}
    assert accepted == {route.name for route in EVERY_ROUTE}


def test_names_of_routes_differ() -> None:
    assert len({route.name for route in EVERY_ROUTE}) == len(EVERY_ROUTE)


class Fixed:
    """A route that returns one proposal, and counts."""

    def __init__(self, proposal: Proposal) -> None:
        self.name, self.proposal, self.calls = proposal.route, proposal, 0

    def accepts(self, problem: Problem) -> bool:
        return True

    def solve(self, problem: Problem, deadline: float) -> Proposal:
        self.calls += 1
        return self.proposal


def run_fixed(monkeypatch, routes: tuple[Route, ...], deadline: float = np.inf) -> tuple[Problem, Proposal]:
    monkeypatch.setattr("inbounds.design.run.ROUTES", routes)
    problem = to_problem(ib.count(4), Fraction(1), "absolute", None, (), False)
    return problem, run_routes(problem, deadline)


def test_the_loop_joins_the_best_matrix_with_the_best_bound_and_stops_when_closed(monkeypatch) -> None:
    problem = to_problem(ib.count(4), Fraction(1), "absolute", None, (), False)
    best = run_routes(problem, np.inf)
    assert best.matrix is not None
    bound_only, matrix_only = Fixed(Proposal(None, best.bound, "bound")), Fixed(Proposal(best.matrix, -9.0, "matrix"))
    unused = Fixed(Proposal(None, -np.inf, "unused"))
    _, found = run_fixed(monkeypatch, (bound_only, matrix_only, unused))
    assert (found.bound, found.route) == (best.bound, "matrix")
    assert np.array_equal(found.matrix, best.matrix)
    assert (bound_only.calls, matrix_only.calls, unused.calls) == (1, 1, 0)


def test_after_the_deadline_only_the_baseline_is_added(monkeypatch) -> None:
    first, second = Fixed(Proposal(None, -np.inf, "first")), Fixed(Proposal(None, -np.inf, "second"))
    problem, found = run_fixed(monkeypatch, (first, second), -np.inf)
    assert (first.calls, second.calls) == (1, 0)
    assert found.route == baseline.name
    assert found.bound <= problem.value(found.matrix)
