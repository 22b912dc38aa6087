"""Which way to the optimum on a graph: part by part, each by the cheapest way that closes."""

import time
from collections.abc import Iterator

import numpy as np

from inbounds.design.graphs.columns import Part, generate
from inbounds.design.graphs.network import parts
from inbounds.design.problem import Floats, Ints, Problem, Proposal


def applies(problem: Problem) -> bool:
    """Answers on a graph, without properties or limits."""
    return problem.edges is not None and not problem.properties and not problem.limits


def solve(problem: Problem, max_seconds: float) -> Proposal:
    """The optimal private matrix for any edges, loss table, prior and aim, with a bound that rounding cannot break.

    Returns after about `max_seconds` at the latest, then with the best found and a valid but weaker bound.
    """
    deadline = time.monotonic() + max_seconds
    matrix, bounds, routes = np.zeros(problem.shape), [], set()
    for chosen, part, floor in _parts(problem):
        P, low, route = _solve_part(part, deadline)
        matrix[:, chosen] = P
        bounds.append(low + floor)
        routes.add(route)
    low = max(bounds) if problem.worst else sum(bounds) - 2.0**-50 * sum(map(abs, bounds))
    return Proposal(matrix, low, " and ".join(sorted(routes)))


def _parts(problem: Problem) -> Iterator[tuple[Ints, Part, float]]:
    """The connected parts, with the constant that was taken off their losses to make the least one zero."""
    assert problem.edges is not None
    for chosen, network in parts(problem.edges, problem.epsilon, problem.shape[1]):
        loss, prior = problem.loss[:, chosen], problem.prior[chosen]
        floor = np.full(len(chosen), loss.min()) if problem.worst else loss.min(axis=0)
        terms = floor[:1] if problem.worst else prior * floor
        off = float(terms.sum() - 2.0**-50 * len(terms) * np.abs(terms).sum())
        yield chosen, Part(loss - floor, prior, problem.worst, network), off


def _solve_part(part: Part, deadline: float) -> tuple[Floats, float, str]:
    if part.network.size == 1 or not (part.loss * (1.0 if part.worst else part.prior)).any():
        return part.constant, 0.0, "one report"
    P, low = generate(part, deadline)
    P = min(P, part.constant, key=part.value)
    return P, low, "tree rows" if part.network.is_tree else "closures"
