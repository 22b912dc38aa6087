"""The checker of noise on a map: one table of integer weights for all cells, compared along every kind of edge.

A map has rows × columns cells in reading order. The report of cell j is j + noise, moved to the nearest cell of the
map; table[a + rows - 1, b + columns - 1] is the weight of the noise (a, b). In addition, whatever the answer is, every
cell has the weight `anywhere`, and the first cell what remains of 2**62.
"""

from collections.abc import Iterable, Iterator
from fractions import Fraction

import numpy as np

from inbounds.errors import InvalidDistribution, PrivacyViolation, TooLarge
from inbounds.exact import Ints
from inbounds.trusted.bounds import EXP_BITS, TOTAL, Edge, ratio_lower_bound
from inbounds.trusted.certify import are_within_ratio, is_within_ratio, ratio_as_float
from inbounds.trusted.limits import MOST_MOVES

Move = tuple[int, int]
"""From the tail of an edge to its head: rows down, columns to the right."""


def map_moves(edges: Iterable[Edge], columns: int) -> dict[Move, Fraction]:
    """Return the different moves along edges, each with the length of its shortest edge."""
    lengths: dict[Move, Fraction] = {}
    for tail, head, length in edges:
        move = head // columns - tail // columns, head % columns - tail % columns
        shortest = lengths.get(move)
        if shortest is None or (length is not shortest and length < shortest):
            lengths[move] = length
            if len(lengths) > MOST_MOVES:
                raise TooLarge(f"noise on a map must serve at most {MOST_MOVES} kinds of edges; use a larger stretch")
    return lengths


def check_plane(table: Ints, anywhere: int, moves: dict[Move, Fraction], epsilon: Fraction) -> None:
    """Raise unless noise on a map is a distribution and private across every edge that is one of the moves.

    Under the answers j and j + move, an output i of one family has the weights K[i - j] and K[i - j - move] for a
    table K of `tail_families`, and the same constant beside them. All such pairs are compared, wherever K has both.
    """
    if table.dtype != np.int64 or table.ndim != 2 or not all(size % 2 for size in table.shape):
        raise InvalidDistribution("a table of noise must be an int64 array for the noise -K..K each way")
    if (table < 0).any() or anywhere < 0:
        raise InvalidDistribution("weights must not be negative")
    if remaining_weight(table, anywhere) < 0:
        raise InvalidDistribution(
            f"weights must sum to at most 2**62, they exceed it by {-remaining_weight(table, anywhere)}"
        )
    for K in tail_families(table):
        for move, length in moves.items():
            _check_move(K + anywhere, move, ratio_lower_bound(epsilon, length))


def remaining_weight(table: Ints, anywhere: int) -> int:
    """Return what noise and `anywhere` leave of 2**62: the first cell gets it, whatever the answer is."""
    cells = (table.shape[0] // 2 + 1) * (table.shape[1] // 2 + 1)
    return int(TOTAL - int(table.sum(dtype=object)) - cells * anywhere)


def tail_families(table: Ints) -> Iterator[Ints]:
    """Yield the weights of outputs inside the map, on each of its sides, and in its corners, by output minus answer.

    Noise that would leave the map is clamped to the side, so an output there has the sum of all noise at or beyond it.
    """
    for across in _sides(table):
        for K in _sides(across.T):
            yield K.T


def _sides(table: Ints) -> list[Ints]:
    """Return tables along the first axis: the noise itself for outputs between the ends, sums from below, sums from
    above.
    """
    size = len(table) // 2 + 1
    below, above = np.cumsum(table, axis=0), np.cumsum(table[::-1], axis=0)[::-1]
    return [*([table[1:-1]] if size > 2 else []), below[:size], above[size - 1 :]]


def shift_table(K: Ints, move: Move) -> tuple[Ints, Ints]:
    """Return (K[d], K[d - move]) for all d for which the table has both."""
    forward = tuple(slice(max(m, 0), max(n + min(m, 0), 0)) for m, n in zip(move, K.shape, strict=True))
    backward = tuple(slice(max(-m, 0), max(n - max(m, 0), 0)) for m, n in zip(move, K.shape, strict=True))
    return K[forward], K[backward]


def _check_move(K: Ints, move: Move, p: int) -> None:
    highs, lows = shift_table(K, move)
    if not highs.size or are_within_ratio(highs, lows, p):
        return
    for d, (high, low) in enumerate(zip(highs.ravel().tolist(), lows.ravel().tolist(), strict=True)):
        if not is_within_ratio(high, low, p):
            raise PrivacyViolation(d, (d, d + 1), ratio_as_float(high, low), p / 2**EXP_BITS)
