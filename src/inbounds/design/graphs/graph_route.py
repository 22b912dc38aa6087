"""The route for graphs: each connected component by the cheapest method that closes its gap."""

import time
from collections.abc import Iterator

import numpy as np

from inbounds.design.graphs import graph_interior, graph_remap, sparsify, symmetry
from inbounds.design.graphs.graph_columns import GraphComponent, generate
from inbounds.design.graphs.network import find_components
from inbounds.design.problem import Floats, Ints, Problem, Proposal

name = "graphs"
#: relative gap at which no other method is tried, on small and on larger graphs; values that are the same
CLOSED, NEARLY, ALIKE = 1e-6, 1e-5, 1e-12
#: epsilon · diameter below which an interior point comes first, from so many answers on; edges per answer (each way is
#: one) from which it does; answers from which a tree does
FLAT, SMALL, CROWDED, LARGE_TREE = 14.0, 25, 16, 60
#: the same epsilon · diameter for maps with so many symmetries, which only an interior point makes use of
FLAT_TURNED, TURNED = 45.0, 4

#: answers beyond which the metric's own mechanism is remapped first, for a share of the time, and beyond which nothing
#: else is tried
QUICK, AT_FIRST, LARGE = 150, 0.1, 1000

#: outputs times edges beyond which the longest edges are left out
MOST_PAIRS = 1 << 24


def accepts(problem: Problem) -> bool:
    """Return whether this route applies: answers on a graph, no properties or limits."""
    return problem.edges is not None and not (problem.properties or problem.limits)


def solve(problem: Problem, deadline: float = np.inf) -> Proposal:
    """Find the optimal private matrix for any edges, loss table, prior and aim, with a bound that includes rounding.

    Returns at about the deadline at the latest, then with the best matrix so far and a valid but weaker bound.
    """
    matrix, bounds, routes = np.zeros(problem.shape), [], set()
    for answers, part, floor in _parts(problem):
        P, low, route = solve_part(part, deadline)
        matrix[:, answers] = P
        bounds.append(low + floor)
        routes.add(route)
    low = max(bounds) if problem.worst else sum(bounds) - 2.0**-50 * sum(map(abs, bounds))
    return Proposal(matrix, low, " and ".join(sorted(routes)))


def _parts(problem: Problem) -> Iterator[tuple[Ints, GraphComponent, float]]:
    """Yield the connected components, with the constant subtracted from their losses to make the least one zero."""
    assert problem.edges is not None
    for answers, network in find_components(problem.edges, problem.epsilon, problem.shape[1]):
        loss, prior = problem.loss[:, answers], problem.prior[answers]
        floor = np.full(len(answers), loss.min()) if problem.worst else loss.min(axis=0)
        terms = floor[:1] if problem.worst else prior * floor
        off = float(terms.sum() - 2.0**-50 * len(terms) * np.abs(terms).sum())
        yield answers, GraphComponent(loss - floor, prior, problem.worst, network), off


def solve_part(part: GraphComponent, deadline: float) -> tuple[Floats, float, str]:
    """Solve a component by the method that suits it, and by another one if a gap and time remain."""
    if part.network.size == 1 or not (part.loss * part.weights).any():
        return part.constant, 0.0, "one output"
    best, low, name = part.constant, 0.0, "one output"
    if part.network.size > QUICK and len(part.loss) == part.network.size:
        now = time.monotonic()
        share = 1.0 if part.network.size > LARGE else AT_FIRST
        best, low = graph_remap.solve(part, now + share * (deadline - now), solve_part)
        name = "metric geometric remap"
    if part.network.size > LARGE:
        return best, low, name
    for method in _choose_methods(part):
        P, proved = METHODS[method](part, deadline)
        low = max(low, proved)
        if part.value(P) <= part.value(best) * (1 + ALIKE):
            best, name = P, method
        gap = part.value(best) - low
        if gap <= (CLOSED if part.network.size <= QUICK else NEARLY) * part.value(best) or time.monotonic() > deadline:
            break
    return best, low, name


METHODS = {
    "closures": generate,
    "tree rows": generate,
    "interior point": graph_interior.solve,
    "interior point without long edges": sparsify.solve,
}


def _choose_methods(part: GraphComponent) -> list[str]:
    """List the methods to try, in order.

    Closed sets where rows fall steeply; an interior point for the worst answer, where rows are nearly flat, where
    answers have many edges, and on large trees; without long edges if there are very many.
    """
    network = part.network
    rows = "tree rows" if network.is_tree else "closures"
    if len(part.loss) != network.size:
        return [rows]
    if len(part.loss) * len(network.tails) > MOST_PAIRS:
        return ["interior point without long edges"]
    has_symmetries = len(symmetry.find_symmetry(part.loss, part.weights, network).group) >= TURNED
    crowded = len(network.tails) > CROWDED * network.size
    interior_first = (
        part.worst
        or network.diameter < (FLAT_TURNED if has_symmetries else FLAT)
        or crowded
        or (network.is_tree and network.size >= LARGE_TREE)
    )
    if interior_first and network.size >= SMALL:
        return ["interior point", rows]
    return [rows, "interior point"]
