"""Maps with the same edges everywhere: every cell has the same moves, so a distance depends on the step only."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np

from inbounds.exact import Floats, Ints
from inbounds.query.places import find_map_axes
from inbounds.query.query import RangeQuery
from inbounds.trusted.plane_noise import Move, map_moves


@dataclass(frozen=True, eq=False)
class MapMetric:
    """A map of rows × columns cells in reading order, with the moves along edges and their lengths.

    everywhere: each move is an edge from every cell from which it stays on the map.
    """

    rows: int
    columns: int
    moves: Mapping[Move, Fraction]
    everywhere: bool

    @property
    def size(self) -> tuple[int, int]:
        return self.rows, self.columns

    def norm(self, a: Ints, b: Ints) -> Floats:
        """Return the length of the shortest path to a cell (a, b) steps away.

        A step lies between two moves that are adjacent by angle. Their determinant is one, so they span all steps
        between them and the step is a whole number of both. No other moves are shorter if the lengths are convex, as
        those of straight lines are. Cost: O(steps · log moves).
        """
        (down, right), lengths = self._turning
        k = np.searchsorted(np.arctan2(down, right), np.arctan2(a, b) + ALIKE, side="right") - 1
        next_move = (k + 1) % len(down)
        first, second = b * down[next_move] - a * right[next_move], a * right[k] - b * down[k]
        return np.asarray(first * lengths[k] + second * lengths[next_move])

    @cached_property
    def _turning(self) -> tuple[Ints, Floats]:
        """The moves by angle, and their lengths.

        Raises unless any two adjacent moves have determinant one, and no move is longer than the path by the two beside
        it (before + after is a multiple of it, because it is an integer combination in both pairs).
        """
        lengths = self._both_ways
        ranked = sorted(lengths, key=lambda move: math.atan2(*move))
        around = [*ranked, *ranked[:2]]
        if not all(move[1] * after[0] - move[0] * after[1] == 1 for move, after in pairwise(around[:-1])):
            raise ValueError("noise on a map needs moves such as those of ib.grid, which can be combined to any other")
        for before, move, after in zip(around, around[1:], around[2:], strict=False):
            down, right = before[0] + after[0], before[1] + after[1]
            times = down // move[0] if move[0] else right // move[1]
            if times * lengths[move] > lengths[before] + lengths[after]:
                raise ValueError("noise on a map needs edges that are no longer than the way by those beside them")
        return np.array(ranked).T, np.array([float(lengths[move]) for move in ranked])

    @property
    def _both_ways(self) -> dict[Move, Fraction]:
        """The moves; a map with a single row or column gets moves across it, as part of a larger map."""
        shortest, moves = min(self.moves.values()), dict(self.moves)
        for size, ways in ((self.rows, ((1, 0), (-1, 0))), (self.columns, ((0, 1), (0, -1)))):
            moves |= dict.fromkeys(ways, shortest) if size == 1 else {}
        return moves


KEPT = "_map_metric"
"""Where a query keeps its map."""

ALIKE = 1e-12
"""Angles of two steps in one direction differ by less, those of different directions by more."""


def find_map_metric(query: RangeQuery) -> MapMetric | None:
    """Return the map of a query whose answers are its cells, with its moves; None for other queries.

    It is kept with the query, as a cached property is: finding it reads every edge.
    """
    if KEPT not in query.__dict__:
        query.__dict__[KEPT] = _read_map_metric(query)
    metric: MapMetric | None = query.__dict__[KEPT]
    return metric


def _read_map_metric(query: RangeQuery) -> MapMetric | None:
    axes = find_map_axes(query.coordinates)
    if axes is None or query.neighbours.is_line:
        return None
    rows, columns = len(axes[0]), len(axes[1])
    moves = map_moves(query.edges, columns)
    fitting = sum(max(0, rows - abs(a)) * max(0, columns - abs(b)) for a, b in moves)
    steps = ((head // columns - tail // columns, head % columns - tail % columns) for tail, head, _ in query.edges)
    same_lengths = all(moves[step] == edge.length for step, edge in zip(steps, query.edges, strict=True))
    return MapMetric(rows, columns, moves, same_lengths and fitting == len(query.edges))
