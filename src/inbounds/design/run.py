"""The list of routes, and the loop that tries them."""

import time
from dataclasses import replace
from typing import Final

from inbounds.design.graphs import graph_route
from inbounds.design.problem import Problem, Proposal, Route
from inbounds.design.routes import (
    baseline,
    column_generation,
    flowchart,
    geometric,
    limited,
    linear_program,
    outward_fill,
    row_program,
)

FREE_SHARE = 0.25
"""Share of the time that a problem without its properties or limits may take."""

NEGLIGIBLE = 2.0**-42
"""A property that a proposal misses by no more counts as satisfied: a quarter of the tolerance for mechanisms."""


class RelaxedRoute:
    """The problem without its limits, or without its properties: if its optimum happens to have them, it is optimal.

    In any case its bound holds.
    """

    name = "relaxed"

    def accepts(self, problem: Problem) -> bool:
        """Return whether something can be left out, and what is left is easy."""
        if problem.limits:
            return True
        return bool(problem.properties) and column_generation.accepts(self._relax(problem))

    def solve(self, problem: Problem, deadline: float) -> Proposal:
        """Solve the relaxed problem in a share of the time; keep its matrix where the full problem allows it."""
        now = time.monotonic()
        free = run_routes(self._relax(problem), now + FREE_SHARE * max(deadline - now, 0.0))
        assert free.matrix is not None
        keeps = all((limit.values(free.matrix, problem.prior) <= limit.inside).all() for limit in problem.limits)
        if not problem.limits:
            keeps = free.is_closed(problem) and baseline.has_properties(problem, free.matrix, NEGLIGIBLE)
        return free if keeps else replace(free, matrix=None)

    @staticmethod
    def _relax(problem: Problem) -> Problem:
        return replace(problem, limits=()) if problem.limits else replace(problem, properties=frozenset())


ROUTES: Final[tuple[Route, ...]] = (
    graph_route,
    flowchart,
    geometric,
    outward_fill,
    RelaxedRoute(),
    column_generation,
    limited,
    row_program,
    linear_program,
)
"""Routes in the order in which they are tried: closed forms, then what is cheaper."""


def run_routes(problem: Problem, deadline: float) -> Proposal:
    """Try the routes until one closes the gap or the deadline passes; if none does, the baseline too.

    Without limits there is always a matrix: the uniform mechanism has every property.
    """
    best = Proposal(None, float("-inf"), baseline.name)
    for route in ROUTES:
        if route.accepts(problem):
            best = best.improve(problem, route.solve(problem, deadline))
            if best.is_closed(problem) or best.least_excess > 0:
                return best
            if time.monotonic() > deadline:
                break
    return best.improve(problem, baseline.solve(problem, deadline))
