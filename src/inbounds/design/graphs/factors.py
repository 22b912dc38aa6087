"""Factorizations of many linear systems on the same graph: one for every output of `graph_interior`.

Each matrix A_i has an entry for every answer and for every two answers that share an edge. `TreeFactors` eliminates a
tree from its leaves; `DenseFactors` treats a graph with many edges as a full matrix; `BandFactors` handles anything
else as a band of blocks, in an order that keeps it narrow (Cuthill and McKee 1969). All solve A_i y = right for all i,
and sum the inverses.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, reverse_cuthill_mckee

from inbounds.design.graphs.network import Network
from inbounds.design.problem import Floats, Ints

MANY_PAIRS = 12
"""With more pairs per answer a band is no faster than the full matrix."""

AT_A_TIME = 32
"""Number of outputs whose inverses are summed together."""


class TimeIsUp(LinAlgError):  # type: ignore[misc]
    """The deadline passed before all outputs were factored. The interior point ends, as where a system is singular."""


def stop_at(deadline: float) -> None:
    """Raise `TimeIsUp` after the deadline (monotonic clock)."""
    if time.monotonic() > deadline:
        raise TimeIsUp("no time is left")


@dataclass(frozen=True, eq=False)
class EdgePairs:
    """The pairs of answers that share an edge, once each, first < second; pair_of_edge: the pair of every edge."""

    first: Ints
    second: Ints
    pair_of_edge: Ints

    @classmethod
    def among(cls, network: Network) -> "EdgePairs":
        """List the pairs of a network."""
        low, high = np.minimum(network.tails, network.heads), np.maximum(network.tails, network.heads)
        keys, pair_of_edge = np.unique(low * network.size + high, return_inverse=True)
        return cls(keys // network.size, keys % network.size, pair_of_edge.reshape(-1))


@dataclass(frozen=True, eq=False)
class TreeFactors:
    """Factors of trees, eliminated child before parent: ratio[child] = A[child, parent] / pivot[child]."""

    order: Ints
    parent: Ints
    pivot: Floats
    ratio: Floats

    @classmethod
    def from_pairs(cls, pairs: EdgePairs, diagonal: Floats, beside: Floats, deadline: float) -> "TreeFactors":
        """Factor the matrices with this diagonal and these entries `beside` it, one per pair."""
        n = diagonal.shape[1]
        ends = np.r_[pairs.first, pairs.second], np.r_[pairs.second, pairs.first]
        joined = csr_array((np.ones(2 * len(pairs.first)), ends), shape=(n, n))
        root = _middle(joined)
        order, parent = breadth_first_order(joined, root)
        parent[root] = root
        place = {(a, b): k for k, (a, b) in enumerate(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True))}
        pivot, ratio = diagonal.T.copy(), np.zeros((n, len(diagonal)))
        for child in order[:0:-1].tolist():
            stop_at(deadline)
            above = int(parent[child])
            off = beside[:, place[min(child, above), max(child, above)]]
            ratio[child] = off / pivot[child]
            pivot[above] -= off * ratio[child]
        return cls(order.astype(np.int64), parent.astype(np.int64), pivot, ratio)

    def solve(self, right: Floats) -> Floats:
        """Solve A_i y_i = right_i for all outputs i."""
        y = right.T.copy()
        for child in self.order[:0:-1].tolist():
            y[self.parent[child]] -= self.ratio[child] * y[child]
        y /= self.pivot
        for child in self.order[1:].tolist():
            y[child] -= self.ratio[child] * y[self.parent[child]]
        return np.asarray(y.T)

    def inverses(self, weights: Sequence[Floats], deadline: float = np.inf) -> Floats:
        """Compute sum_i diag(a_i) A_i^-1 diag(b_i) for any two weights a and b, as blocks of one matrix.

        A^-1[j, l] is the sum over common ancestors k of u_jk u_lk / pivot_k, u_jk the product of -ratio on the way from
        j up to k: one product of matrices for every node, over its descendants and all outputs.
        """
        n = len(self.pivot)
        total, below = np.zeros((len(weights) * n,) * 2), dict[int, list[tuple[Ints, Floats]]]()
        for k in self.order[::-1].tolist():
            stop_at(deadline)
            leaf_part = np.array([k]), np.ones((1, self.pivot.shape[1]))
            nodes, u = (np.concatenate(parts) for parts in zip(leaf_part, *below.pop(k, []), strict=True))
            weighted = np.concatenate([weight.T[nodes] * u for weight in weights])
            places = np.concatenate([nodes + start for start in range(0, len(total), n)])
            total[np.ix_(places, places)] += (weighted / self.pivot[k]) @ weighted.T
            below.setdefault(int(self.parent[k]), []).append((nodes, -self.ratio[k] * u))
        return total


def _middle(joined: csr_array) -> int:
    """Return the node of a tree whose largest branch is smallest."""
    order, parent = breadth_first_order(joined, 0)
    sizes, largest = np.ones(len(order)), np.zeros(len(order))
    for child in order[:0:-1].tolist():
        sizes[parent[child]] += sizes[child]
        largest[parent[child]] = max(largest[parent[child]], sizes[child])
    return int(np.maximum(largest, len(order) - sizes).argmin())


@dataclass(frozen=True, eq=False)
class BandFactors:
    """Factors of a band of blocks: left[k] = pivot[k]^-1 A[k, k+1], inverted[k] = pivot[k]^-1, for blocks k in turn."""

    place: Ints
    inverted: list[Floats]
    left: list[Floats]
    width: int

    @classmethod
    def from_pairs(cls, pairs: EdgePairs, diagonal: Floats, beside: Floats, deadline: float) -> "BandFactors":
        """Factor the matrices with this diagonal and these entries `beside` it, one per pair."""
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
            stop_at(deadline)
            inverted.append(np.linalg.inv(pivot))
            if k + 1 < count:
                left.append(inverted[k] @ right[k])
                pivot = middle[k + 1] - right[k].transpose(0, 2, 1) @ left[k]
        return cls(place, inverted, left, width)

    def solve(self, right: Floats) -> Floats:
        """Solve A_i y_i = right_i for all outputs i."""
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

    def inverses(self, weights: Sequence[Floats], deadline: float = np.inf) -> Floats:
        """Compute sum_i diag(a_i) A_i^-1 diag(b_i) for any two weights a and b, as blocks of one matrix.

        Block row k of an inverse is -left[k] times block row k + 1, plus its diagonal block.
        """
        count, width, m = len(self.inverted), self.width, len(self.inverted[0])
        size, kinds = count * width, range(len(weights))
        totals = np.zeros((len(weights), len(weights), size, size))  # each with its upper blocks of the inverse alone
        padded = np.zeros((len(weights), m, size))
        padded[:, :, self.place] = weights
        for start in range(0, m, AT_A_TIME):
            batch = slice(start, start + AT_A_TIME)
            row = self.inverted[-1][batch]
            for k in range(count - 1, -1, -1):
                if k + 1 < count:
                    ahead = -self.left[k][batch] @ row
                    diagonal_block = self.inverted[k][batch] - ahead[:, :, :width] @ self.left[k][batch].transpose(
                        0, 2, 1
                    )
                    row = np.concatenate([diagonal_block, ahead], axis=2)
                stop_at(deadline)
                at, ahead_of = slice(k * width, (k + 1) * width), slice(k * width, size)
                for a, b in product(kinds, kinds):
                    scaled = row * padded[a, batch, at, None]
                    totals[a, b, at, ahead_of] += np.einsum("iab,ib->ab", scaled, padded[b, batch, ahead_of])
        upper = np.arange(size)[:, None] // width <= np.arange(size) // width
        places = np.ix_(self.place, self.place)
        full = [[np.where(upper, totals[a, b], totals[b, a].T)[places] for b in kinds] for a in kinds]
        return np.block(full)


@dataclass(frozen=True, eq=False)
class DenseFactors:
    """Factors of full matrices, for graphs with many edges: one triangle for every output."""

    roots: list[Floats]

    @classmethod
    def from_pairs(cls, pairs: EdgePairs, diagonal: Floats, beside: Floats, deadline: float) -> "DenseFactors":
        """Factor the matrices with this diagonal and these entries `beside` it, one per pair."""
        n, roots = diagonal.shape[1], []
        for entries, beside_entries in zip(diagonal, beside, strict=True):
            stop_at(deadline)
            A = np.zeros((n, n), order="F")
            A[pairs.second, pairs.first] = beside_entries
            A[np.diag_indices(n)] = entries
            root, failed = dpotrf(A, lower=1, overwrite_a=1)
            if failed:
                raise LinAlgError("not positive definite")
            roots.append(root)
        return cls(roots)

    def solve(self, right: Floats) -> Floats:
        """Solve A_i y_i = right_i for all outputs i."""
        return np.array([dpotrs(root, b, lower=1)[0] for root, b in zip(self.roots, right, strict=True)])

    def inverses(self, weights: Sequence[Floats], deadline: float = np.inf) -> Floats:
        """Compute sum_i diag(a_i) A_i^-1 diag(b_i) for any two weights a and b, as blocks of one matrix."""
        n, kinds = len(self.roots[0]), range(len(weights))
        totals = np.zeros((len(weights), len(weights), n, n))
        for i, root in enumerate(self.roots):
            stop_at(deadline)
            inverse = dpotri(root, lower=1)[0]  # its lower triangle
            if len(weights) > 1:
                inverse = np.tril(inverse) + np.tril(inverse, -1).T
            for a, b in product(kinds, kinds):
                if a <= b:
                    totals[a, b] += inverse * weights[b][i] * weights[a][i][:, None]
        if len(weights) == 1:
            return np.asarray(np.tril(totals[0, 0]) + np.tril(totals[0, 0], -1).T)
        return np.block([[totals[a, b] if a <= b else totals[b, a].T for b in kinds] for a in kinds])

    def spread(self, scale: Floats, means: Floats) -> Floats:
        """Compute diag(scale_i) A_i^-1 diag(scale_i) M' for every output i."""
        return np.array(
            [
                factor[:, None] * dpotrs(root, np.asfortranarray((means * factor).T), lower=1)[0]
                for root, factor in zip(self.roots, scale, strict=True)
            ]
        )


def make_factors(pairs: EdgePairs, diagonal: Floats, beside: Floats, deadline: float = np.inf) -> "Factors":
    """Factor by the method that suits the graph: a tree, a full matrix for many edges, else a band."""
    n = diagonal.shape[1]
    if len(pairs.first) == n - 1:
        return TreeFactors.from_pairs(pairs, diagonal, beside, deadline)
    method = DenseFactors if len(pairs.first) > MANY_PAIRS * n else BandFactors
    return method.from_pairs(pairs, diagonal, beside, deadline)


Factors = TreeFactors | BandFactors | DenseFactors
