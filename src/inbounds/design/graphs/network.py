"""A graph of answers as plain arrays, one connected part at a time."""

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
"""Log-ratios beyond it count as this one in a proposal: it allows a ratio of 10^17. No bound relies on them."""


@dataclass(frozen=True, eq=False)
class Network:
    """x[tail] <= exp(length) x[head] for every edge; lengths are in units of 1 / epsilon.

    Every edge has one back: an edge that was one-way has one of length FAR, and longer ones are cut to FAR. `real` says
    where a bound may rely on an edge: not on these.
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
        joined = csr_array((self.lengths, (self.tails, self.heads)), shape=(self.size, self.size))
        return np.asarray(shortest_path(joined, method="D"))

    @property
    def diameter(self) -> float:
        return float(self.distances.max())

    @cached_property
    def is_tree(self) -> bool:
        return len(self.tails) == 2 * (self.size - 1)

    def slack(self, potentials: Floats) -> Floats:
        """How far each row of log x is from each edge's limit: rows × edges."""
        return np.asarray(self.lengths - (potentials[:, self.tails] - potentials[:, self.heads]))


def find_components(edges: EdgeArrays, epsilon: float, size: int) -> Iterator[tuple[Ints, Network]]:
    """The connected parts: which answers, and their network with answers numbered anew."""
    joined = csr_array((np.ones(len(edges.tails)), (edges.tails, edges.heads)), shape=(size, size))
    count, of = connected_components(joined, directed=False)
    for part in range(count):
        chosen = np.flatnonzero(of == part)
        place = np.full(size, -1, dtype=np.int64)
        place[chosen] = np.arange(len(chosen))
        here = of[edges.tails] == part
        yield (
            chosen,
            undirected_network(
                len(chosen), place[edges.tails[here]], place[edges.heads[here]], epsilon * edges.lengths[here]
            ),
        )


def undirected_network(size: int, tails: Ints, heads: Ints, lengths: Floats) -> Network:
    """The network of these edges, with one back for each."""
    back = np.setdiff1d(heads * size + tails, tails * size + heads)
    t = np.concatenate([tails, back // size])
    h = np.concatenate([heads, back % size])
    d = np.concatenate([lengths, np.full(len(back), FAR)])
    real = (d < FAR) & (np.arange(len(d)) < len(tails))
    order = np.lexsort((h, t))
    return Network(size, t[order], h[order], np.minimum(d, FAR)[order], real[order])
