"""The search behind `preround`: all ways to round an answer into wide cells before noise, evaluated by prefix sums.

The answer is rounded into m cells; inner cells are at least as wide as the sensitivity, so neighbours fall into the
same cell or the next. Geometric noise moves between cells, Pr[cell c | cell d] ~ e^(-epsilon·|c-d|), truncated at the
ends. Every noisy cell gets the output with the least expected loss (004 §5.2.2).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, pairwise

import numpy as np

from inbounds.exact import Floats, Ints, Number, to_epsilon, to_fraction
from inbounds.losses import LossLike, to_loss
from inbounds.query import RangeQuery

Edges = tuple[int, ...]
"""The position of the first answer of every cell but the first."""

EVERY, SOME = 100_000, 5_000
"""Up to EVERY pre-roundings are all tried; above, about SOME that are spread evenly, followed by a descent."""


@dataclass(frozen=True, eq=False)
class Search:
    """The pre-roundings of a query. losses: loss[output, answer]; after[e]: the least edge allowed after edge e."""

    query: RangeQuery
    epsilon: Fraction
    losses: Floats
    after: Ints
    candidates: tuple[Edges, ...]
    complete: bool

    @classmethod
    def over(cls, query: RangeQuery, epsilon: Number, loss: LossLike, width: Number | None) -> "Search":
        if not query.is_ordered:
            raise ValueError("pre-rounding needs numeric answers; labels have no neighbouring cells")
        if query.neighbours.has_distances:
            raise ValueError(
                "pre-rounding cannot keep metric privacy, or distances along edges: close answers may fall into two "
                "cells"
            )
        after = _after(query, width)
        partitions = tuple(islice(_partitions(after, range(1, len(after))), EVERY + 1))
        if len(partitions) <= EVERY:
            return cls(query, to_epsilon(epsilon), to_loss(loss).table(query), after, partitions, True)
        return cls(query, to_epsilon(epsilon), to_loss(loss).table(query), after, _selection(after), False)

    def best(self, prior: Floats) -> Edges:
        """Return the edges with the least expected loss under one prior, with the best output for each noisy cell."""
        below = self._below(prior)
        edges = self.candidates[int(self._costs(self.candidates, below).argmin())]
        return edges if self.complete else self._descend(edges, below)

    def cost(self, edges: Edges, prior: Floats) -> float:
        return float(next(iter(self._costs([edges], self._below(prior)))))

    def values(self, edges: Edges, prior: Floats) -> Ints:
        """Return the output for each noisy cell."""
        return np.asarray(self._cell_costs(np.array([edges], dtype=np.int64), self._below(prior))[:, 0].argmin(axis=0))

    def matrix(self, edges: Edges, values: Ints) -> Floats:
        """Return P[output, answer] of rounding, noise and remap."""
        cell = np.searchsorted(edges, np.arange(len(self.after)), side="right")
        P = np.zeros(self.query.shape)
        np.add.at(P, values, between_cells(len(edges) + 1, float(self.epsilon))[:, cell])
        return P

    def evaluate(self, edges: Edges, values: Ints, priors: Floats) -> Floats:
        """Return the expected loss under every prior."""
        return np.asarray(priors @ (self.matrix(edges, values) * self.losses).sum(axis=0))

    def _below(self, prior: Floats) -> Floats:
        """Return below[v, e]: the loss of the output v for all answers before e, weighted by the prior."""
        return np.pad(np.cumsum(self.losses * prior, axis=1), ((0, 0), (1, 0)))

    def _costs(self, candidates: Sequence[Edges], below: Floats) -> Floats:
        costs = np.empty(len(candidates))
        sizes = np.array([len(edges) for edges in candidates])
        for size in np.unique(sizes).tolist():
            where = np.flatnonzero(sizes == size)
            block = max(1, (1 << 21) // (len(below) * (size + 1)))
            for start in range(0, len(where), block):
                part = where[start : start + block]
                edges = np.array([candidates[i] for i in part], dtype=np.int64).reshape(len(part), size)
                costs[part] = self._cell_costs(edges, below).min(axis=0).sum(axis=1)
        return costs

    def _cell_costs(self, edges: Ints, below: Floats) -> Floats:
        """Return costs[v, candidate, c] of the output v for noisy cell c: the sum over cells d of G[c, d] · loss in
        d.
        """
        count, size = edges.shape
        ends = np.concatenate([np.zeros((count, 1), int), edges, np.full((count, 1), len(self.after))], axis=1)
        inside = np.diff(below[:, ends], axis=2)
        return np.asarray(inside @ between_cells(size + 1, float(self.epsilon)).T)

    def _descend(self, edges: Edges, below: Floats) -> Edges:
        """Move one edge at a time to its best place until none moves."""
        least_cost, improved = float(self._costs([edges], below)[0]), True
        while improved:
            improved = False
            for i in range(len(edges)):
                first = int(self.after[edges[i - 1]]) if i else 1
                moves = [(*edges[:i], e, *edges[i + 1 :]) for e in range(first, len(self.after))]
                allowed = [m for m in moves if i + 1 == len(m) or m[i + 1] >= self.after[m[i]]]
                costs = self._costs(allowed, below)
                if costs.min() < least_cost - 1e-12 * abs(least_cost):
                    least_cost, edges, improved = float(costs.min()), allowed[int(costs.argmin())], True
        return edges


def between_cells(count: int, epsilon: float) -> Floats:
    """Return truncated geometric noise between cells: Pr[c | d] = (1-b)/(1+b)·b^|c-d|, without (1-b) at the ends."""
    if count == 1:
        return np.ones((1, 1))
    c, d = np.arange(count)[:, None], np.arange(count)[None, :]
    share = np.where((c == 0) | (c == count - 1), 1.0, -np.expm1(-epsilon)) / (1 + np.exp(-epsilon))
    return np.asarray(share * np.exp(-epsilon * np.abs(c - d)))


def _after(query: RangeQuery, width: Number | None) -> Ints:
    """Return after[e]: the least edge that may follow edge e, so that no two neighbours are two cells apart."""
    min_width = query.sensitivity if width is None else to_fraction(width, "width")
    if not min_width >= query.sensitivity:
        raise ValueError(
            f"width must be at least the sensitivity {query.sensitivity}, got {width}: "
            "in narrower cells neighbours would fall two cells apart"
        )
    size = len(query.answers)
    neighbour_stop = np.zeros(size, dtype=np.int64)  # the first answer after the neighbours
    for start, stop, _ in query.cliques():
        neighbour_stop[start:stop] = np.maximum(neighbour_stop[start:stop], stop)
    values = list(query.answers)
    after = np.full(size, size, dtype=np.int64)
    for e in range(1, size):
        wide_enough = next((f for f in range(e + 1, size) if values[f] - values[e] >= min_width), size)
        after[e] = max(int(neighbour_stop[e - 1]), wide_enough)
    return after


def _partitions(after: Ints, places: Sequence[int]) -> Iterator[Edges]:
    """Yield every choice of edges among `places`, from none to as many as fit."""
    stack: list[Edges] = [()]
    while stack:
        edges = stack.pop()
        yield edges
        first = int(after[edges[-1]]) if edges else 1
        stack.extend((*edges, place) for place in places if place >= first)


def _selection(after: Ints) -> tuple[Edges, ...]:
    """Return some thousand pre-roundings: all on the finest grid of edges with at most SOME, and even ones."""
    size, stride = len(after), 1
    while True:
        places = range(stride, size, stride)
        selection = list(islice(_partitions(after, places), SOME + 1))
        if len(selection) <= SOME:
            break
        stride += 1
    for count in range(1, size):
        even = tuple(round(size * (i + 1) / (count + 1)) for i in range(count))
        if all(b >= after[a] for a, b in pairwise(even)) and len(set(even)) == count:
            selection.append(even)
    return tuple(dict.fromkeys(selection))
