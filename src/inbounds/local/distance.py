"""Distances between two distributions over the same answers.

A distribution is one non-negative weight per answer; weights are scaled to sum to one, so counts will do.
"""

import numpy as np
from numpy.typing import ArrayLike

from inbounds.exact import Floats
from inbounds.optional import import_optional
from inbounds.query import RangeQuery


def kantorovich(p: ArrayLike, q: ArrayLike, at: RangeQuery | ArrayLike | None = None) -> float:
    """Return the least average distance that mass must move to turn p into q, on the real line (001 Definition 2).

    Equal to the area between the two distribution functions, sum_k |F_p(k) - F_q(k)| · (x_{k+1} - x_k).
    `at` gives the places x: a query with numeric answers, or increasing numbers; by default 0, 1, 2, …
    O(domain). For labels on a graph (maps, trees) the distance is the shortest path, one-way edges gone both ways: the
    least cost of a flow along the edges, by a linear program.

    >>> kantorovich([1, 0, 0], [0, 0, 1])
    2.0
    >>> kantorovich([1, 1], [0, 1], at=[0, 10])
    5.0
    """
    first, second = _pair(p, q)
    if isinstance(at, RangeQuery) and not (at.is_ordered or at.neighbours.is_line):
        return _least_flow(first - second, at)
    between = np.diff(_places(at, len(first)))
    return float(np.abs(np.cumsum(first - second)[:-1]) @ between)


def total_variation(p: ArrayLike, q: ArrayLike) -> float:
    """Return the largest difference in the probability of any event: sum |p - q| / 2.

    >>> total_variation([1, 0], [1, 1])
    0.5
    """
    first, second = _pair(p, q)
    return float(np.abs(first - second).sum() / 2)


def kl(p: ArrayLike, q: ArrayLike) -> float:
    """Return the Kullback-Leibler divergence of q from p in nats: sum p · log(p / q); infinite where q lacks mass that
    p has.

    >>> round(kl([1, 1], [3, 1]), 4), kl([1, 1], [1, 0])
    (0.1438, inf)
    """
    first, second = _pair(p, q)
    held = first > 0
    if (second[held] == 0).any():
        return float("inf")
    return max(0.0, float(first[held] @ np.log(first[held] / second[held])))


def transport(p: ArrayLike, q: ArrayLike, cost: ArrayLike) -> float:
    """Return the least cost of moving p to q when moving mass from answer j to k costs cost[j, k] (extra `transport`).

    For any ground distance: places on a map, a hierarchy of labels. `kantorovich` is the case |x_j - x_k|, in
    O(domain) instead of a network program. Solved exactly by the Python Optimal Transport library.
    """
    first, second = _pair(p, q)
    table = np.ascontiguousarray(cost, dtype=np.float64)
    size = len(first)
    if table.shape != (size, size):
        raise ValueError(f"cost must have the shape {(size, size)}, from answer to answer, got {table.shape}")
    if not (np.isfinite(table).all() and (table >= 0).all()):
        raise ValueError("cost must be finite and not negative")
    return float(import_optional("ot", "transport").emd2(first, second, table, numItermax=_PIVOTS))


def _least_flow(surplus: Floats, query: RangeQuery) -> float:
    """Return min sum_e length_e · flow_e over flows >= 0 that carry off the surplus of every answer."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    if len(surplus) != len(query.answers):
        raise ValueError(f"p and q must be over the {len(query.answers)} answers of the graph, got {len(surplus)}")
    tails, heads, lengths = zip(*query.edges, strict=True)
    leaves, enters = np.array([*tails, *heads]), np.array([*heads, *tails])
    edges, ones = np.arange(len(leaves)), np.ones(len(leaves))
    shape = len(surplus), len(edges)
    net = csr_array((ones, (leaves, edges)), shape) - csr_array((ones, (enters, edges)), shape)
    solution = linprog(np.tile([*map(float, lengths)], 2), A_eq=net, b_eq=surplus, method="highs")
    if solution.status != 0:
        raise ValueError("p and q must have as much mass in every part of the graph: there is no path between parts")
    return float(solution.fun)


_PIVOTS = 10_000_000
"""Pivots allowed to the network simplex; the library's own limit is too low for a thousand answers."""


def _pair(p: ArrayLike, q: ArrayLike) -> tuple[Floats, Floats]:
    first, second = _distribution(p, "p"), _distribution(q, "q")
    if len(first) != len(second):
        raise ValueError(f"p and q must be over the same answers, got {len(first)} and {len(second)}")
    return first, second


def _distribution(weights: ArrayLike, name: str) -> Floats:
    values = np.asarray(weights, dtype=np.float64)
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(f"{name} must be one weight for each answer, got the shape {values.shape}")
    if not (np.isfinite(values).all() and (values >= 0).all() and values.sum() > 0):
        raise ValueError(f"{name} must be finite, not negative and not all zero")
    return np.asarray(values / values.sum())


def _places(at: RangeQuery | ArrayLike | None, size: int) -> Floats:
    if isinstance(at, RangeQuery):
        if not at.is_ordered:
            raise ValueError("labels have no distance; give `transport` a table of costs, or use total_variation")
        return _places(at.answers.floats(), size)
    places = np.arange(size, dtype=np.float64) if at is None else np.asarray(at, dtype=np.float64)
    if places.shape != (size,):
        raise ValueError(f"at must be one place for each of the {size} answers, got the shape {places.shape}")
    if not (np.isfinite(places).all() and (np.diff(places) > 0).all()):
        raise ValueError("at must be finite and strictly increasing")
    return places
