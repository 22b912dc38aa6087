"""Many linear systems with the same graph, factored at once: one for every output of an interior point.

Each matrix A_i has an entry for every answer and for every two answers that share an edge. `Branches` eliminates a
tree from its leaves; `BlockBand` anything else, as a band of blocks in an order that keeps it narrow (Cuthill and McKee
1969). Both solve A_i y = right for all i, and sum up all inverses without holding any of them.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, reverse_cuthill_mckee

from inbounds.design.graphs.network import Network
from inbounds.design.problem import Floats, Ints

AT_A_TIME = 32
"""Outputs whose inverses are summed up together."""


@dataclass(frozen=True, eq=False)
class EdgePairs:
    """The answers that share an edge, once each: first < second; `of` is the pair of every edge."""

    first: Ints
    second: Ints
    of: Ints

    @classmethod
    def among(cls, network: Network) -> "EdgePairs":
        low, high = np.minimum(network.tails, network.heads), np.maximum(network.tails, network.heads)
        keys, of = np.unique(low * network.size + high, return_inverse=True)
        return cls(keys // network.size, keys % network.size, of.reshape(-1))


@dataclass(frozen=True, eq=False)
class Branches:
    """Trees: child before parent. lengths of elimination: ratio[k] = A[child, parent] / pivot[child]."""

    order: Ints
    parent: Ints
    pivot: Floats
    ratio: Floats

    @classmethod
    def of(cls, pairs: EdgePairs, diagonal: Floats, beside: Floats) -> "Branches":
        n = diagonal.shape[1]
        ends = np.r_[pairs.first, pairs.second], np.r_[pairs.second, pairs.first]
        joined = csr_array((np.ones(2 * len(pairs.first)), ends), shape=(n, n))
        order, parent = breadth_first_order(joined, 0)
        parent[0] = 0  # the root
        place = {(a, b): k for k, (a, b) in enumerate(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True))}
        pivot, ratio = diagonal.T.copy(), np.zeros((n, len(diagonal)))
        for child in order[:0:-1].tolist():
            above = int(parent[child])
            off = beside[:, place[min(child, above), max(child, above)]]
            ratio[child] = off / pivot[child]
            pivot[above] -= off * ratio[child]
        return cls(order.astype(np.int64), parent.astype(np.int64), pivot, ratio)

    def solve(self, right: Floats) -> Floats:
        y = right.T.copy()
        for child in self.order[:0:-1].tolist():
            y[self.parent[child]] -= self.ratio[child] * y[child]
        y /= self.pivot
        for child in self.order[1:].tolist():
            y[child] -= self.ratio[child] * y[self.parent[child]]
        return np.asarray(y.T)

    def inverses(self, scale: Floats) -> Floats:
        """sum_i diag(scale_i) A_i^-1 diag(scale_i). Row k of an inverse is -ratio times its parent's, for all answers
        that come before k."""
        n, count = self.pivot.shape
        total, above = np.zeros((n, n)), np.argsort(self.order)[self.parent[self.order]]
        pivot, ratio = self.pivot[self.order], self.ratio[self.order]
        for start in range(0, count, AT_A_TIME):
            some = slice(start, start + AT_A_TIME)
            g = np.zeros((n, n, len(pivot[0, some])))
            g[0, 0] = 1 / pivot[0, some]
            for k in range(1, n):
                g[k, :k] = -ratio[k, some] * g[above[k], :k]
                g[:k, k] = g[k, :k]
                g[k, k] = 1 / pivot[k, some] - ratio[k, some] * g[above[k], k]
            by = scale.T[self.order, some]
            total += np.einsum("jki,ji,ki->jk", g, by, by)
        place = np.argsort(self.order)
        return total[np.ix_(place, place)]


@dataclass(frozen=True, eq=False)
class BlockBand:
    """A band of blocks: left[k] = pivot[k]^-1 A[k, k+1], inverted[k] = pivot[k]^-1, for blocks k in turn."""

    place: Ints
    inverted: list[Floats]
    left: list[Floats]
    width: int = field(default=0)

    @classmethod
    def of(cls, pairs: EdgePairs, diagonal: Floats, beside: Floats) -> "BlockBand":
        m, n = diagonal.shape
        ends = np.r_[pairs.first, pairs.second], np.r_[pairs.second, pairs.first]
        joined = csr_array((np.ones(2 * len(pairs.first)), ends), shape=(n, n))
        order = reverse_cuthill_mckee(joined, symmetric_mode=True)
        place = np.argsort(order).astype(np.int64)
        a, b = np.minimum(place[pairs.first], place[pairs.second]), np.maximum(place[pairs.first], place[pairs.second])
        width = max(int((b - a).max()), 1)
        count = -(-n // width)
        middle, right = np.zeros((count, m, width, width)), np.zeros((count, m, width, width))
        every = np.arange(count * width)
        middle[every // width, :, every % width, every % width] = 1.0  # answers that fill the last block
        middle[place // width, :, place % width, place % width] = diagonal.T
        same = a // width == b // width
        middle[a[same] // width, :, a[same] % width, b[same] % width] = beside[:, same].T
        middle[a[same] // width, :, b[same] % width, a[same] % width] = beside[:, same].T
        right[a[~same] // width, :, a[~same] % width, b[~same] % width] = beside[:, ~same].T
        inverted, left = [], []
        pivot = middle[0]
        for k in range(count):
            inverted.append(np.linalg.inv(pivot))
            if k + 1 < count:
                left.append(inverted[k] @ right[k])
                pivot = middle[k + 1] - right[k].transpose(0, 2, 1) @ left[k]
        return cls(place, inverted, left, width)

    def solve(self, right: Floats) -> Floats:
        count, width = len(self.inverted), self.width
        padded = np.zeros((len(right), count * width))
        padded[:, self.place] = right
        y = [padded[:, k * width : (k + 1) * width, None] for k in range(count)]
        for k in range(1, count):
            y[k] = y[k] - self.left[k - 1].transpose(0, 2, 1) @ y[k - 1]
        x = [self.inverted[k] @ y[k] for k in range(count)]
        for k in range(count - 2, -1, -1):
            x[k] = x[k] - self.left[k] @ x[k + 1]
        return np.asarray(np.concatenate(x, axis=1)[:, self.place, 0])

    def inverses(self, scale: Floats) -> Floats:
        """sum_i diag(scale_i) A_i^-1 diag(scale_i). Row k of blocks of an inverse is -left[k] times row k + 1, and its
        own block is added."""
        count, width, m = len(self.inverted), self.width, len(self.inverted[0])
        total = np.zeros((count * width, count * width))
        by = np.zeros((m, count * width))
        by[:, self.place] = scale
        for start in range(0, m, AT_A_TIME):
            some = slice(start, start + AT_A_TIME)
            row = self.inverted[-1][some]
            for k in range(count - 1, -1, -1):
                if k + 1 < count:
                    ahead = -self.left[k][some] @ row
                    own = self.inverted[k][some] - ahead[:, :, :width] @ self.left[k][some].transpose(0, 2, 1)
                    row = np.concatenate([own, ahead], axis=2)
                here, ahead_of = by[some, k * width : (k + 1) * width], by[some, k * width :]
                total[k * width : (k + 1) * width, k * width :] += np.einsum("iab,ia,ib->ab", row, here, ahead_of)
        total = np.triu(total) + np.triu(total, 1).T
        return total[np.ix_(self.place, self.place)]


Factors = Branches | BlockBand
