"""Random graphs, trees and maps, and what they promise, by definition."""

from fractions import Fraction
from typing import Any

import numpy as np

import inbounds as ib
from inbounds.trusted.bounds import TOTAL


def random_graph(rng: np.random.Generator, size: int, *, more: float = 1.0, one_way: int = 0) -> ib.query.RangeQuery:
    """A connected graph with real lengths: a random tree, `more` edges for each node beside it, and one-way ones."""
    names = [f"n{j}" for j in range(size)]
    pairs = {(int(rng.integers(0, j)), j) for j in range(1, size)}
    while len(pairs) < min(size - 1 + int(more * size), size * (size - 1) // 2):
        a, b = sorted(rng.choice(size, 2, replace=False).tolist())
        pairs.add((a, b))
    edges = [(names[a], names[b], repr(round(float(rng.uniform(0.2, 2.0)), 6))) for a, b in sorted(pairs)]
    free = [(a, b) for a in range(size) for b in range(size) if a != b and (min(a, b), max(a, b)) not in pairs]
    ways = [free[k] for k in rng.permutation(len(free))[:one_way]]
    return ib.graph(names, edges, one_way=[(names[a], names[b], "0.5") for a, b in ways])


def random_tree(rng: np.random.Generator, size: int) -> ib.query.RangeQuery:
    return ib.tree(
        {f"n{j}": (f"n{rng.integers(0, j)}", repr(round(float(rng.uniform(0.2, 2.0)), 6))) for j in range(1, size)}
    )


def shortest_paths(query: ib.query.RangeQuery) -> list[list[Fraction | None]]:
    """Exact lengths of shortest paths, by Floyd and Warshall in Fractions; None where there is no path."""
    n = len(query.answers)
    d: list[list[Fraction | None]] = [[Fraction(0) if j == k else None for k in range(n)] for j in range(n)]
    for tail, head, length in query.edges:
        d[tail][head] = length
    for via in range(n):
        for j in range(n):
            for k in range(n):
                first, second, known = d[j][via], d[via][k], d[j][k]
                if first is not None and second is not None:
                    way = first + second
                    d[j][k] = way if known is None or way < known else known
    return d


def keeps_all_pairs(mechanism: ib.Mechanism) -> bool:
    """Pr[i | j] <= exp(epsilon · shortest path) · Pr[i | k] for all j, k: at 60 digits, by the definition."""
    from mpmath import mp, mpf

    W, far = mechanism.weights, shortest_paths(mechanism.query)
    n = W.shape[1]
    assert (W >= 0).all()
    assert all(int(s) == TOTAL for s in W.sum(axis=0, dtype=object))
    with mp.workdps(60):
        for j in range(n):
            for k in range(n):
                length = far[j][k]
                if j != k and length is not None:
                    e = mechanism.epsilon * length
                    ratio = mp.exp(mpf(e.numerator) / e.denominator)
                    if any(int(a) > ratio * int(b) for a, b in zip(W[:, j], W[:, k], strict=True)):
                        return False
    return True


def half(query: ib.query.RangeQuery, epsilon: float = 1.0) -> np.ndarray[Any, Any]:
    """The exponential kernel of half the epsilon: private by the triangle inequality."""
    P = np.exp(-float(epsilon) / 2 * np.minimum(query.distances(directed=False), 80))
    scaled: np.ndarray[Any, Any] = P / P.sum(axis=0)
    return scaled
