"""The baseline: a private mechanism with every requested property, and a bound, from closed forms without a search."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from inbounds.design.bounds.duality import trivial_bound
from inbounds.design.closed.fair import fair_matrix
from inbounds.design.closed.noise import snap_to_cells, staircase_tail
from inbounds.design.closed.response import response_matrix
from inbounds.design.comparisons import floors, property_comparisons, requested_properties
from inbounds.design.problem import Floats, Problem, Proposal
from inbounds.design.routes import geometric
from inbounds.design.routes.outward_fill import FillBounds, fill_outward

name = "a mechanism at hand"
HOLDS = 1e-14  # a comparison of formulas that fails by less is rounding
FAR = 745.0  # exp(-745) is the least positive float: answers that far apart do not constrain each other
GAMMAS = (0.25, 0.5, 1.0)  # widths of the upper step of a staircase, beside the best for absolute errors
REMAPPED = 1e9  # products that a remap of a staircase may take


def accepts(problem: Problem) -> bool:
    """Return whether this route applies: always."""
    return True


def solve(problem: Problem, deadline: float = np.inf) -> Proposal:
    """Return the best closed form and its bound, at once; with limits only a bound."""
    matrix = None if problem.limits else find_baseline(problem)
    return Proposal(matrix, max(trivial_bound(problem), baseline_bound(problem)), name)


def find_baseline(problem: Problem) -> Floats:
    """Return the best closed form that has the properties.

    Candidates: uniform (003, Definition 5), randomized response, explicit fair, the outward fill, the truncated
    geometric mechanism and staircases, and the last two with the best remap.
    """
    candidates = [P for P in _closed_forms(problem) if has_properties(problem, P)]
    return min(candidates, key=problem.value)


def baseline_bound(problem: Problem) -> float:
    """Compute a bound from the ratios between answers k apart alone: every k-th answer then forms a separate chain.

    The theorem of `geometric` solves those. Any k up to the width of the windows will do: the largest is best unless
    the prior is narrow. The worst answer loses at least the average of all. Cost: as a few `geometric.solve`.
    """
    n, cliques = problem.shape[1], problem.cliques
    if problem.edges is not None:
        return -np.inf
    prior = np.full(n, 1.0 / n) if problem.worst else problem.prior
    free = replace(problem, prior=prior, worst=False, properties=frozenset(), limits=())
    if all(b - a <= 2 for a, b, _ in cliques):
        bound = geometric.solve(free).bound
    else:
        width, d = cliques[0][1] - cliques[0][0] - 1, cliques[0][2]
        alike = len(cliques) == n - width and all((b - a - 1, e) == (width, d) for a, b, e in cliques)
        widest = min(width, n // 2) if alike else 0
        bound = max((_spaced_bound(free, k, d) for k in (widest, widest // 8, widest // 64) if k), default=-np.inf)
    return bound - 2.0**-50 * abs(bound)


def _spaced_bound(problem: Problem, k: int, d: float) -> float:
    """Sum the bounds of the k chains of answers k apart."""
    bounds = []
    for r in range(k):
        loss, prior, home = problem.loss[:, r::k], problem.prior[r::k], problem.home[r::k]
        links = tuple((j, j + 2, d) for j in range(len(prior) - 1))
        bounds.append(geometric.solve(replace(problem, cliques=links, loss=loss, prior=prior, home=home)).bound)
    return sum(bounds) - 2.0**-50 * sum(map(abs, bounds))


def _closed_forms(problem: Problem) -> Iterator[Floats]:
    """Yield matrices that are private for every neighbourhood.

    A clique of k steps and distance d allows the ratio alpha^-k when a step allows 1/alpha. Neighbouring outputs of
    explicit fair then differ by at most 1/alpha too.
    """
    m, n = problem.shape
    if problem.edges is not None:
        yield np.full((m, n), 1.0 / m)
        yield response_matrix(problem.home, m, problem.epsilon * float(problem.edges.lengths.min()))
        return
    wide = [(b - a - 1, d) for a, b, d in problem.cliques if b - a > 1]
    nearest, per_step = min((d for _, d in wide), default=1.0), min((d / k for k, d in wide), default=1.0)
    ratios = [_property_ratio(name) for name in requested_properties(problem) if name.startswith("column_ratio")]
    most = float(np.log(min(ratios, default=np.inf)))
    yield np.full((m, n), 1.0 / m)
    if m == n and np.array_equal(problem.home, np.arange(n)):
        yield response_matrix(problem.home, n, min(problem.epsilon * nearest, most))
        yield fair_matrix(n, min(problem.epsilon * per_step, most))
        yield fill_outward(n, FillBounds(float(np.exp(-problem.epsilon * per_step)))).matrix
    yield from _geometric(problem, per_step)
    yield from _staircases(problem, max((k for k, _ in wide), default=1), nearest)


def _geometric(problem: Problem, per_step: float) -> Iterator[Floats]:
    """Yield the truncated geometric mechanism on the chain of all answers, without and with the best remap."""
    n = problem.shape[1]
    chain = all(b - a <= 2 for a, b, _ in problem.cliques)
    links = problem.cliques if chain else tuple((j, j + 2, per_step) for j in range(n - 1))
    step = np.full(n - 1, np.inf)
    for a, b, d in links:
        step[a : b - 1] = problem.epsilon * d
    x = np.cumsum(np.append(0.0, np.minimum(step, FAR)))
    P = np.zeros(problem.shape)
    np.add.at(P, problem.home, geometric.peak_weights(step)[:, None] * np.exp(-np.abs(x[:, None] - x)))
    yield P / P.sum(axis=0)
    if not problem.worst and not problem.properties:
        yield geometric.remap(replace(problem, cliques=links))[0]


def _staircases(problem: Problem, reach: int, distance: float) -> Iterator[Floats]:
    """Yield staircase noise (Geng and Viswanath 2014) on the positions of the answers, with steps of several widths,
    without and with the best remap."""
    (m, n), rate = problem.shape, min(problem.epsilon * distance, FAR)
    edges = (np.arange(n - 1)[:, None] + 0.5 - np.arange(n)) / reach
    for gamma in (1 / (1 + float(np.exp(rate / 2))), *GAMMAS):
        S = snap_to_cells(staircase_tail(rate, gamma), edges)
        P = np.zeros((m, n))
        np.add.at(P, problem.home, S)
        yield P
        if not problem.worst and not problem.properties and m * n * n <= REMAPPED:
            Q = np.zeros((m, n))
            np.add.at(Q, ((problem.prior * problem.loss) @ S.T).argmin(axis=0), S)
            yield Q


def has_properties(problem: Problem, P: Floats, slack: float = HOLDS) -> bool:
    """Return whether P has the requested properties, up to `slack` of probability."""
    comparisons = property_comparisons(problem, requested_properties(problem))
    return bool(np.all(comparisons.shortfall(P) <= slack) and np.all(floors(problem) - P <= slack))


def _property_ratio(name: str) -> float:
    """Read the ratio from the name of a `column_ratio` property."""
    top, _, bottom = name.removeprefix("column_ratio(").removesuffix(")").partition("/")
    return int(top) / int(bottom or 1)
