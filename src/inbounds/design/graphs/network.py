"""A graph of answers as plain arrays, one connected component at a time."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, shortest_path

from inbounds.design.problem import EdgeArrays, Floats, Ints

Flags = NDArray[np.bool_]

FAR = 40.0
"""Larger log-ratios count as this one in a proposal: a ratio of 10^17. No bound uses such edges."""

DENSE = 1 / 16
"""Share of all pairs of answers that are edges from which all shortest paths are found together (Floyd, Warshall)."""

AT_ONCE, STEP = 1000, 1 << 21
"""The most answers for that; without it, edges that are passed before the time is looked at."""


@dataclass(frozen=True, eq=False)
class Network:
    """x[tail] <= exp(length) x[head] for every edge; lengths are in units of 1 / epsilon.

    Every edge has a reverse edge: a one-way edge gets one of length FAR, and longer edges are cut to FAR. `real` marks
    the other edges, which a bound may use.
    """

    size: int
    tails: Ints
    heads: Ints
    lengths: Floats
    real: Flags

    @cached_property
    def ratios(self) -> Floats:
        return np.exp(self.lengths)

    @cached_property
    def distances(self) -> Floats:
        """distances[j, k]: the shortest path from j to k; log x_j - log x_k is at most that."""
        distances = self.find_distances(np.inf)
        assert distances is not None
        return distances

    def find_distances(self, deadline: float) -> Floats | None:
        """Return `distances`, or None if they are not all found before the deadline."""
        if "distances" in self.__dict__:
            return self.distances
        joined = csr_array((self.lengths, (self.tails, self.heads)), shape=(self.size, self.size))
        if len(self.tails) > DENSE * self.size**2 and self.size <= AT_ONCE:
            return np.asarray(shortest_path(joined, method="FW"))
        distances = np.empty((self.size, self.size))
        step = max(1, STEP // len(self.tails))
        for start in range(0, self.size, step):
            if time.monotonic() > deadline:
                return None
            some = np.arange(start, min(start + step, self.size))
            distances[some] = shortest_path(joined, method="D", indices=some)
        self.__dict__["distances"] = distances
        return distances

    @property
    def diameter(self) -> float:
        return float(self.distances.max())

    @cached_property
    def is_tree(self) -> bool:
        return len(self.tails) == 2 * (self.size - 1)

    def slack(self, potentials: Floats) -> Floats:
        """Return how far each row of log x is from the limit of each edge, rows × edges."""
        return np.asarray(self.lengths - (potentials[:, self.tails] - potentials[:, self.heads]))


def find_components(edges: EdgeArrays, epsilon: float, size: int) -> Iterator[tuple[Ints, Network]]:
    """Yield the answers of each connected component, and its network with renumbered answers."""
    joined = csr_array((np.ones(len(edges.tails)), (edges.tails, edges.heads)), shape=(size, size))
    count, component = connected_components(joined, directed=False)
    for part in range(count):
        answers = np.flatnonzero(component == part)
        place = np.full(size, -1, dtype=np.int64)
        place[answers] = np.arange(len(answers))
        here = component[edges.tails] == part
        yield (
            answers,
            undirected_network(
                len(answers), place[edges.tails[here]], place[edges.heads[here]], epsilon * edges.lengths[here]
            ),
        )


def undirected_network(size: int, tails: Ints, heads: Ints, lengths: Floats) -> Network:
    """Build the network of these edges, with a reverse edge for each."""
    missing = np.setdiff1d(heads * size + tails, tails * size + heads)
    t = np.concatenate([tails, missing // size])
    h = np.concatenate([heads, missing % size])
    d = np.concatenate([lengths, np.full(len(missing), FAR)])
    real = (d < FAR) & (np.arange(len(d)) < len(tails))
    order = np.lexsort((h, t))
    return Network(size, t[order], h[order], np.minimum(d, FAR)[order], real[order])
