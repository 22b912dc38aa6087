"""Symmetries of a map: turned or mirrored it is the same problem, so one output of each orbit is enough.

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
"""Losses that differ by this share of the largest are the same: rounding. Bounds use each as it is."""


@dataclass(frozen=True, eq=False)
class Symmetry:
    """group[k]: a permutation of the answers, the identity first. outputs: one of each orbit. of: the orbit of every
    answer. onto[i]: the output and the permutation that takes it to i."""

    group: Ints
    outputs: Ints
    of: Ints
    onto: tuple[Ints, Ints]

    @classmethod
    def under(cls, group: Ints) -> "Symmetry":
        first = group.min(axis=0)
        outputs, of = np.unique(first, return_inverse=True)
        n = group.shape[1]
        takes = np.array([int(np.flatnonzero(group[:, outputs[of[i]]] == i)[0]) for i in range(n)])
        return cls(group, outputs, of.reshape(-1), (of.reshape(-1), takes))

    @property
    def sizes(self) -> Ints:
        """Of the orbits."""
        return np.bincount(self.of)

    @cached_property
    def means(self) -> Floats:
        """M, orbits × answers."""
        return np.asarray((self.of == np.arange(len(self.outputs))[:, None]) / self.sizes[:, None])

    def fold(self, x: Floats) -> Floats:
        """The means over the orbits, along the last axis."""
        return np.asarray(x if len(self.group) == 1 else x @ self.means.T)

    def unfold(self, v: Floats) -> Floats:
        """The transpose of `fold`."""
        return np.asarray((v / self.sizes)[self.of])

    def everywhere(self, y: Floats) -> Floats:
        """full[g i, g j] = y[i, j], for all outputs."""
        of, takes = self.onto
        back = np.argsort(self.group, axis=1)
        return np.asarray(y[of[:, None], back[takes]])

    def mechanism(self, y: Floats) -> Floats:
        """P from y: an output's share of its orbit, averaged over the group."""
        P = np.zeros((len(self.of), len(self.of)))
        for g in self.group:
            P[np.ix_(g[self.outputs], g)] += y / len(self.group)
        return P


def find_symmetry(loss: Floats, prior: Floats, network: Network) -> Symmetry:
    """The symmetries of a problem whose answers are a map in reading order; the identity alone for any other."""
    n = network.size
    every, group = np.arange(n), {tuple(range(n))}
    if len(loss) == n:
        for g in _candidates(n):
            if _keeps(g, loss, prior, network):
                group |= {tuple(np.array(h)[g].tolist()) for h in group}
    closed = {tuple(every[list(a)][list(b)].tolist()) for a, b in product(group, group)}
    while len(closed) > len(group):
        group, closed = closed, {tuple(every[list(a)][list(b)].tolist()) for a, b in product(closed, closed)}
    return Symmetry.under(np.array(sorted(group)))


def _candidates(n: int) -> Iterator[Ints]:
    """For every number of rows: upside down, left to right, and across the diagonal of a square."""
    for rows in range(1, n + 1):
        if n % rows == 0:
            cells = np.arange(n).reshape(rows, n // rows)
            yield cells[::-1].ravel()
            yield cells[:, ::-1].ravel()
            if rows * rows == n:
                yield cells.T.ravel()


def _keeps(g: Ints, loss: Floats, prior: Floats, network: Network) -> bool:
    if not np.array_equal(prior[g], prior) or not np.abs(loss[np.ix_(g, g)] - loss).max() <= ALIKE * loss.max():
        return False
    moved = g[network.tails] * network.size + g[network.heads]
    order = np.argsort(moved)  # edges are sorted by tail and head
    own = network.tails * network.size + network.heads
    lengths = np.array_equal(network.lengths[order], network.lengths)
    return lengths and np.array_equal(moved[order], own) and np.array_equal(network.real[order], network.real)
