"""Symmetries of a map: a turned or mirrored map is the same problem, so one output of each orbit is enough.

If loss, prior and edges are the same after each permutation g of a group, so is the average of a solution over the
group: P[g i, g j] = P[i, j]. With y_i = |orbit of i| · P[i, :] for one output i of each orbit, the objective is
sum_i c_i · y_i, and columns sum to one where the means of sum_i y_i over the orbits of the answers do.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from inbounds.design.graphs.network import Network
from inbounds.design.problem import Floats, Ints

ALIKE = 1e-12
"""Losses that differ by at most this share of the largest are equal up to rounding. Bounds use the exact losses."""


@dataclass(frozen=True, eq=False)
class Symmetry:
    """A group of symmetries of a problem.

    group[k]: a permutation of the answers, the identity first. outputs: one of each orbit. orbit: the orbit of every
    answer. onto: for every answer i, an orbit and the permutation that takes its output to i.
    """

    group: Ints
    outputs: Ints
    orbit: Ints
    onto: tuple[Ints, Ints]

    @classmethod
    def under(cls, group: Ints) -> "Symmetry":
        """Find the orbits of a group of permutations."""
        first = group.min(axis=0)
        outputs, orbit = np.unique(first, return_inverse=True)
        n = group.shape[1]
        takes = np.array([int(np.flatnonzero(group[:, outputs[orbit[i]]] == i)[0]) for i in range(n)])
        return cls(group, outputs, orbit.reshape(-1), (orbit.reshape(-1), takes))

    @property
    def sizes(self) -> Ints:
        """Sizes of the orbits."""
        return np.bincount(self.orbit)

    @cached_property
    def means(self) -> Floats:
        """The matrix M of means over orbits, orbits × answers."""
        return np.asarray((self.orbit == np.arange(len(self.outputs))[:, None]) / self.sizes[:, None])

    def fold(self, x: Floats) -> Floats:
        """Average over the orbits, along the last axis."""
        return np.asarray(x if len(self.group) == 1 else x @ self.means.T)

    def unfold(self, v: Floats) -> Floats:
        """Apply the transpose of `fold`."""
        return np.asarray((v / self.sizes)[self.orbit])

    def everywhere(self, y: Floats) -> Floats:
        """Expand y to all outputs: full[g i, g j] = y[i, j]."""
        orbit, takes = self.onto
        back = np.argsort(self.group, axis=1)
        return np.asarray(y[orbit[:, None], back[takes]])

    def mechanism(self, y: Floats) -> Floats:
        """Compute P from y: the share of each output of its orbit, averaged over the group."""
        P = np.zeros((len(self.orbit), len(self.orbit)))
        for g in self.group:
            P[np.ix_(g[self.outputs], g)] += y / len(self.group)
        return P


def find_symmetry(loss: Floats, prior: Floats, network: Network) -> Symmetry:
    """Find the symmetries of a problem whose answers are a map in reading order; for others the identity alone."""
    n = network.size
    every, group = np.arange(n), {tuple(range(n))}
    if len(loss) == n:
        for g in _candidates(n):
            if _is_symmetry(g, loss, prior, network):
                group |= {tuple(np.array(h)[g].tolist()) for h in group}
    closed = {tuple(every[list(a)][list(b)].tolist()) for a, b in product(group, group)}
    while len(closed) > len(group):
        group, closed = closed, {tuple(every[list(a)][list(b)].tolist()) for a, b in product(closed, closed)}
    return Symmetry.under(np.array(sorted(group)))


def _candidates(n: int) -> Iterator[Ints]:
    """Yield for every number of rows the reflections upside down, left to right, and at the diagonal of a square."""
    for rows in range(1, n + 1):
        if n % rows == 0:
            cells = np.arange(n).reshape(rows, n // rows)
            yield cells[::-1].ravel()
            yield cells[:, ::-1].ravel()
            if rows * rows == n:
                yield cells.T.ravel()


def _is_symmetry(g: Ints, loss: Floats, prior: Floats, network: Network) -> bool:
    """Return whether loss, prior and edges are the same after the permutation g."""
    if not np.array_equal(prior[g], prior) or not np.abs(loss[np.ix_(g, g)] - loss).max() <= ALIKE * loss.max():
        return False
    images = g[network.tails] * network.size + g[network.heads]
    order = np.argsort(images)  # edges are sorted by tail and head
    edges = network.tails * network.size + network.heads
    lengths = np.array_equal(network.lengths[order], network.lengths)
    return lengths and np.array_equal(images[order], edges) and np.array_equal(network.real[order], network.real)
