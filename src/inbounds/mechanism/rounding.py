"""Rounding: integer weights near a float matrix that keep every privacy ratio.

The result is only a proposal; the checker in `trusted` decides whether it is private.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from inbounds.errors import ConvergenceError
from inbounds.exact import Floats, Ints, Wholes
from inbounds.query import RangeQuery
from inbounds.trusted.bounds import EXP_BITS, TOTAL, Clique, Edge, ratio_lower_bound
from inbounds.trusted.certify import PAIRS_AT_A_TIME, edges_by_length

Windows = Sequence[tuple[slice | tuple[slice, ...], int]]
"""Neighbours as windows of answers (or of answers and levels), each with p: weights in the window may differ at most by
the factor p / 2**EXP_BITS."""

NEAR = 1 - 1e-9
"""Pairs of weights whose ratio is above this share of the allowed one are compared in integers."""


@dataclass(frozen=True, eq=False)
class EdgeRounding:
    """Neighbours as edges: W[:, tails] <= p / 2**EXP_BITS · W[:, heads] for each group (tails, heads, p)."""

    groups: Sequence[tuple[Ints, Ints, int]]

    @classmethod
    def from_edges(cls, edges: Iterable[Edge], epsilon: Fraction) -> "EdgeRounding":
        """Group edges by their length, each group with its ratio under epsilon."""
        groups = edges_by_length(edges)
        arrays = [(*np.array(pairs, dtype=np.int64).T, ratio_lower_bound(epsilon, length)) for length, pairs in groups]
        return cls([(tails, heads, p) for tails, heads, p in arrays])

    def raise_rows(self, weights: Ints) -> None:
        """Raise entries in place until every row keeps every ratio; only neighbours of raised answers are revisited."""
        raised = np.ones(weights.shape[1], dtype=np.bool_)
        while raised.any():
            changed, raised = raised, np.zeros_like(raised)
            for tails, heads, p in self.groups:
                active = np.flatnonzero(changed[tails])
                step = max(1, PAIRS_AT_A_TIME // len(weights))
                for start in range(0, len(active), step):
                    batch = active[start : start + step]
                    raised[_raise_heads(weights, tails[batch], heads[batch], p)] = True

    def shortage(self, leftover: Wholes) -> int:
        """Return how many more units each column needs, as `_leftover_shortage`."""
        units = max(0, -int(leftover.min()))
        for tails, heads, p in self.groups:
            gain = max(1, p - (1 << EXP_BITS))
            lacking = (leftover[tails] * (1 << EXP_BITS)) - p * leftover[heads]
            units = max(units, -(-int(lacking.max()) // gain))
        return units


def _raise_heads(weights: Ints, tails: Ints, heads: Ints, p: int) -> Ints:
    """Raise the heads of some edges in place; return those that rose."""
    highs, lows = weights[:, tails], weights[:, heads]
    rows, columns = np.nonzero(highs > lows * (p / 2**EXP_BITS * NEAR))
    least = least_neighbour(highs[rows, columns], p)
    lacking = least > lows[rows, columns]
    raised: Ints = heads[columns[lacking]]
    np.maximum.at(weights, (rows[lacking], raised), least[lacking])
    return raised


Ratios = Windows | EdgeRounding


def least_neighbour(high: Ints, p: int) -> Ints:
    """Return the least weight that a neighbour of `high` may have: ceil(high · 2**EXP_BITS / p).

    Nearly always ceil(high · R / 2**64) with R = ceil(2**(EXP_BITS + 64) / p) < 2**64, from products of halves that fit
    64 bits. R is up to one too large, which adds less than `high` to the product. If the product's last 64 bits are
    at most `high`, Python integers decide.
    """
    if p == 1 << EXP_BITS:
        return high.copy()
    reciprocal = -(-(1 << (EXP_BITS + 64)) // p)
    top, bottom = np.uint64(reciprocal >> 32), np.uint64(reciprocal & 0xFFFFFFFF)
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    x = high.astype(np.uint64)
    a, b = x >> half, x & low
    one, two = a * bottom + (b * bottom >> half), b * top
    whole = a * top + (one >> half) + (two >> half) + ((one & low) + (two & low) >> half)
    least: Ints = whole.astype(np.int64) + 1
    near = x * np.uint64(reciprocal) <= x  # the product modulo 2**64
    least[near] = -((-(high[near].astype(object) << EXP_BITS)) // p)
    return least


def raise_small_weights(weights: Ints, ratios: Windows) -> None:
    """Raise entries in place until every row keeps every ratio. Raising costs only utility.

    On a line one sweep each way is enough (an entry is raised by its larger neighbour, never by a smaller
    one); sweeps repeat until nothing changes, so other neighbourhoods are covered as well.
    """
    changed = True
    while changed:
        changed = False
        for window, p in (*ratios, *reversed(ratios)):
            block = weights.T[window]
            least = least_neighbour(block.max(axis=tuple(range(block.ndim - 1))), p)
            if (block < least).any():
                np.maximum(block, least, out=block)
                changed = True


def _leftover_shortage(leftover: Wholes, ratios: Windows) -> int:
    """Return how many more units each column needs before its leftovers are a private row; 0 if they are."""
    shortage = max(0, -int(leftover.min()))
    for window, p in ratios:
        block = leftover.T[window]
        high, low = int(block.max()), int(block.min())
        if high << EXP_BITS > p * low:
            gain = max(1, p - (1 << EXP_BITS))  # (low + c)·p >= (high + c)·2^EXP_BITS  <=>  c >= …
            shortage = max(shortage, -((p * low - (high << EXP_BITS)) // gain))
    return shortage


def enforce_ratios(
    shares: Floats, ratios: Ratios, *, total: int = TOTAL, even: bool = False, reserve_limit: int | None = None
) -> Ints:
    """Return integer weights near `shares` (outputs × answers, or × levels × answers) that keep every ratio exactly.

    Round down to multiples of 1/total, raise rows, then give each column's leftover to the output with the largest
    least weight. The leftovers differ a little between columns; a reserve of units held back in all columns makes the
    leftover a private row, and a sum of private rows is private. even: every output receives the reserve, which keeps
    fairness and monotonicity to the few units by which the leftovers differ. Raises `ConvergenceError` if a reserve of
    `reserve_limit` (by default the total) is not enough.
    """
    others = len(shares) - 1 if even else 0
    reserve = 0
    while reserve < (reserve_limit or total):
        weights = np.floor(shares * float(total - reserve)).astype(np.int64)
        ratios.raise_rows(weights) if isinstance(ratios, EdgeRounding) else raise_small_weights(weights, ratios)
        leftover: Wholes = total - weights.sum(axis=0, dtype=object)
        even_share = max(0, leftover.min()) // (others + 1) if even else 0
        rest = leftover - others * even_share
        shortage = ratios.shortage(rest) if isinstance(ratios, EdgeRounding) else _leftover_shortage(rest, ratios)
        if not shortage:
            surest = weights.min(axis=tuple(range(1, weights.ndim))).argmax()
            weights += even_share
            weights[surest] += rest.astype(np.int64) - even_share
            return weights
        reserve += (others + 1) * (shortage + (shortage >> 3) + 2)
    raise ConvergenceError("no whole numbers near the proposal keep every ratio; use fewer answers or a larger epsilon")


def round_on_line(
    matrix: Floats, cliques: Iterable[Clique], epsilon: Fraction, *, total: int = TOTAL, even: bool = False
) -> Ints:
    """Round a matrix (not negative, no zero column) to private weights for answers on a line.

    If no private weights are found, the first output gets all weight under every answer.
    """
    ratios = [(slice(c.start, c.stop), ratio_lower_bound(epsilon, c.distance)) for c in cliques]
    return _weights_near(matrix, ratios, total, even)


def round_on_graph(
    matrix: Floats, edges: Iterable[Edge], epsilon: Fraction, *, total: int = TOTAL, even: bool = False
) -> Ints:
    """Round a matrix as `round_on_line`, for answers on a graph."""
    return _weights_near(matrix, EdgeRounding.from_edges(edges, epsilon), total, even)


def _weights_near(matrix: Floats, ratios: Ratios, total: int, even: bool) -> Ints:
    try:
        return enforce_ratios(matrix / matrix.sum(axis=0), ratios, total=total, even=even)
    except ConvergenceError:
        weights = np.zeros(matrix.shape, dtype=np.int64)
        weights[0] = total
        return weights


def round_symmetric(matrix: Floats, query: RangeQuery, epsilon: Fraction, *, even: bool = False) -> Ints:
    """Round a symmetric matrix, exactly symmetric: half the total each for it and its mirror image.

    On a graph both halves keep the mirror images of the edges too, which the matrix does up to rounding.
    """
    if query.neighbours.is_line:
        half = round_on_line(matrix, query.cliques(), epsilon, total=TOTAL // 2, even=even)
    else:
        last = len(query.answers) - 1
        mirror_images = [Edge(last - tail, last - head, length) for tail, head, length in query.edges]
        half = round_on_graph(matrix, [*query.edges, *mirror_images], epsilon, total=TOTAL // 2, even=even)
    return half + half[::-1, ::-1]
