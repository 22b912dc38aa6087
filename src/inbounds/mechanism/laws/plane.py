"""Noise on a map as a law: one table of weights for all cells, so that no cells × cells matrix is needed."""

import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, NoReturn, Self

import numpy as np

from inbounds.errors import InvalidDistribution, PrivacyViolation, TooLarge
from inbounds.exact import Floats, FrozenArray, Ints
from inbounds.losses import Loss
from inbounds.mechanism.audit import log_upper_bound
from inbounds.mechanism.cells import best_map_cells, step_losses
from inbounds.mechanism.json_values import format_integers, format_rows, parse_array, parse_integer, parse_rows
from inbounds.mechanism.laws.base import BROWSER, COQ, AnswerLaw
from inbounds.mechanism.limits import is_too_large, refuse_beyond_limit
from inbounds.mechanism.ratios import largest_ratio
from inbounds.query import RangeQuery
from inbounds.query.maps import MapMetric, find_map_metric
from inbounds.trusted.bounds import EXP_BITS, TOTAL, TOTAL_BITS
from inbounds.trusted.limits import MOST_MOVES
from inbounds.trusted.plane_noise import Move, check_plane, map_moves, remaining_weight, shift_table, tail_families
from inbounds.trusted.samplers import PlaneSampler

LARGEST_DECAY = 45.0
"""Noise with -log above this has no weight: exp(-45) is below 2^-62."""

WIDEST = 1 << 24
"""The most steps for which the density is computed when a table is made."""

HELD_BACK, MOST_HELD_BACK = 1e-13, 1e-6
"""The share of epsilon held back for float errors: at first, and at most."""

ROUNDING = 1e-12
"""The relative error of a norm in floats: steps that are longer by at most this share count as equally long."""

Decay = Callable[[Ints, Ints], Floats]
"""A function of steps (a, b): -log of the probability of this noise, up to a constant."""


@dataclass(frozen=True, eq=False)
class PlaneNoise(AnswerLaw):
    """A law that returns the nearest cell of the map to cell + noise, then maps it to another cell by `remap`.

    table[a + rows - 1, b + columns - 1] is the weight of the noise (a, b) over 2**62. Independently of the answer, each
    cell also has the weight `anywhere`, and the first cell the rest up to 2**62.
    """

    table: Ints
    anywhere: int
    remap: Ints | None = None
    _sealed: tuple[FrozenArray, FrozenArray | None] = field(init=False, repr=False)

    kind = "plane"
    fields = dict.fromkeys(("table", "anywhere", "remap"))
    checkers = frozenset({BROWSER, COQ})
    measured_exactly = False

    def __post_init__(self) -> None:
        for values in (self.table, self.remap):
            if values is not None and np.asarray(values).dtype != np.int64:
                raise InvalidDistribution("weights, and cells of a remap, must be int64")
        remap = None if self.remap is None else FrozenArray.from_array(self.remap)
        object.__setattr__(self, "_sealed", (FrozenArray.from_array(self.table), remap))
        object.__setattr__(self, "table", self._sealed[0].array)
        object.__setattr__(self, "remap", None if remap is None else remap.array)
        object.__setattr__(self, "anywhere", int(operator.index(self.anywhere)))  # the checker needs plain ints

    def __reduce__(self) -> tuple[type["PlaneNoise"], tuple[Any, ...]]:
        return PlaneNoise, (self.table, self.anywhere, self.remap)  # copies and pickles freeze their weights again

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PlaneNoise) and self._content() == other._content()

    def __hash__(self) -> int:
        return hash(self._content())

    def _content(self) -> tuple[Any, ...]:
        table, remap = self._sealed
        return table.shape, table.array.tobytes(), self.anywhere, None if remap is None else remap.array.tobytes()

    @property
    def size(self) -> tuple[int, int]:
        """Rows and columns of the map."""
        rows, columns = (length // 2 + 1 for length in self._sealed[0].shape)
        return rows, columns

    def check(self, query: RangeQuery, epsilon: Fraction) -> None:
        """Raise unless the noise fits the query and is epsilon-private, in integers.

        The remap is post-processing: only its targets are checked.
        """
        table, remap = self._sealed
        if len(table.shape) != 2 or query.neighbours.is_line:
            raise InvalidDistribution("noise on a map needs a table of two dimensions, and answers on a graph")
        if query.labels is None or not query.one_output_per_answer:
            raise InvalidDistribution("noise on a map needs named cells, each an output of its own")
        rows, columns = self.size
        if rows * columns != len(query.answers):
            raise InvalidDistribution(f"a map of {rows} × {columns} cells must have as many answers")
        if remap is not None and (
            remap.shape != (rows * columns,) or remap.array.min() < 0 or remap.array.max() >= rows * columns
        ):
            raise InvalidDistribution("remap must name a cell for every cell of the map")
        check_plane(table.array, self.anywhere, map_moves(query.edges, columns), epsilon)

    # --- the probabilities --------------------------------------------------------------------------------

    @cached_property
    def _sums(self) -> FrozenArray:
        """sums[y, x, a, b]: the weight of noise (a, b), with y and x in {0, 1, 2}.

        1: the output is between the ends of the axis, and only this noise leads to it. 0: it is in the first row or
        column, and all noise at or below leads to it. 2: it is in the last one, and all noise at or above does.
        """

        def tail_sums(table: Ints, axis: int) -> list[Ints]:
            back = np.flip(np.cumsum(np.flip(table, axis), axis=axis), axis)
            return [np.cumsum(table, axis=axis), table, back]

        return FrozenArray.from_array(np.array([tail_sums(rows, 1) for rows in tail_sums(self._sealed[0].array, 0)]))

    def row(self, i: int) -> Ints:
        """Return the weights of output i under all answers, rows × columns, before any remap."""
        (rows, columns), sums = self.size, self._sums.array
        y, x = divmod(i, columns)
        weights = sums[_end(y, rows), _end(x, columns), y : y + rows, x : x + columns][::-1, ::-1] + self.anywhere
        return np.asarray(weights if i else weights + remaining_weight(self._sealed[0].array, self.anywhere))

    def output_weights(self, output: int) -> Ints:
        """Return the weights of an output under all answers, rows × columns, after the remap."""
        weights = np.zeros(self.size, dtype=np.int64)
        for i in np.flatnonzero(self._targets() == output).tolist():
            weights += self.row(i)
        return weights

    def _targets(self) -> Ints:
        rows, columns = self.size
        return np.arange(rows * columns) if self._sealed[1] is None else self._sealed[1].array

    def matrix(self, query: RangeQuery) -> Ints:
        refuse_beyond_limit(query)
        weights, targets = np.zeros(query.shape, dtype=np.int64), self._targets()
        for i, target in enumerate(targets.tolist()):
            weights[target] += self.row(i).ravel()
        return weights

    def likelihood(self, query: RangeQuery, output: int) -> Floats:
        """Return Pr[output | answer] for every answer, without writing out the matrix."""
        return np.asarray(self.output_weights(output).ravel() / TOTAL)

    # --- measures, for every true answer; O(cells²) time, O(cells) memory ----------------------------------

    def losses(self, query: RangeQuery, loss: Loss) -> Floats:
        """Return sum_i P[i, j] · loss of the step from j to remap[i], for every answer j."""
        if loss.name == "zero-one":
            return 1.0 - self.truth_probability(query)
        cost, (rows, columns), targets = step_losses(query, loss), self.size, self._targets()
        sums = np.zeros(self.size)
        for i, target in enumerate(targets.tolist()):
            y, x = divmod(target, columns)
            sums += self.row(i) * cost[y : y + rows, x : x + columns][::-1, ::-1]
        return np.asarray(sums.ravel() / TOTAL)

    def truth_probability(self, query: RangeQuery) -> Floats:
        """Return Pr[the output is the answer] for every answer: the sum over the outputs that are remapped to it."""
        (rows, columns), targets = self.size, self._targets()
        outputs, rest = np.arange(rows * columns), remaining_weight(self._sealed[0].array, self.anywhere)
        (y, x), (to_y, to_x) = np.divmod(outputs, columns), np.divmod(targets, columns)
        steps = y - to_y + rows - 1, x - to_x + columns - 1
        weights = self._sums.array[_end(y, rows), _end(x, columns), *steps] + self.anywhere
        weights[0] += rest
        sums = np.zeros(rows * columns, dtype=np.int64)
        np.add.at(sums, targets, weights)
        return np.asarray(sums / TOTAL)

    def ends(self, query: RangeQuery) -> Floats:
        _refuse_numbers()

    def bias(self, query: RangeQuery) -> Floats:
        _refuse_numbers()

    def variance(self, query: RangeQuery) -> Floats:
        _refuse_numbers()

    # --- what it reveals ----------------------------------------------------------------------------------

    def ratio_within(self, query: RangeQuery, steps: int) -> float:
        """Return the largest ratio of a noisy cell's probabilities under two answers. A remap can only lower it."""
        rows = map(self.row, range(len(query.answers)))
        return max(largest_ratio(row.max(keepdims=True), row.min(keepdims=True)) for row in rows) if steps else 1.0

    def ratio_apart(self, query: RangeQuery, distance: float) -> float:
        """Return the largest ratio under two answers at most `distance` apart, in the norm of the map."""
        if not is_too_large(query):
            return super().ratio_apart(query, distance)
        (rows, columns), metric = self.size, require_map_metric(query)
        a, b = np.indices((2 * rows - 1, 2 * columns - 1)) - np.array([rows - 1, columns - 1])[:, None, None]
        near = (metric.norm(a, b) <= distance * (1 + ROUNDING)) & ((a != 0) | (b != 0))
        if near.sum() > MOST_MOVES:
            return self.ratio_within(query, 1)
        steps = zip(a[near].tolist(), b[near].tolist(), strict=True)
        return max(1.0, *(self._step_ratio(step) for step in steps), 1.0)

    def _step_ratio(self, step: Move) -> float:
        pairs = [shift_table(K + self.anywhere, step) for K in tail_families(self._sealed[0].array)]
        return max(1.0, *(largest_ratio(*pair) for pair in pairs if pair[0].any()), 1.0)

    def neighbour_ratios(self, query: RangeQuery) -> list[float]:
        _refuse_numbers()

    def ratios(self, query: RangeQuery) -> Iterator[tuple[float, Fraction]]:
        """Yield for every move the largest ratio, rounded up, and the move's length. A remap can only lower it."""
        for move, length in map_moves(query.edges, self.size[1]).items():
            yield self._step_ratio(move), length

    def proof_steps(self, query: RangeQuery) -> list[str]:
        (rows, columns), moves = self.size, len(map_moves(query.edges, self.size[1]))
        return [
            f"{self.table.size} noise probabilities, and {self.anywhere}/2^{TOTAL_BITS} for each of {rows * columns} "
            "cells whatever the answer is, are whole multiples of 2^-62, none negative; the first cell has the rest",
            f"for each of {moves} moves along edges (each direction is one), any two noise probabilities that far "
            "apart, and any two sums of all beyond a side or a corner of the map, differ at most by the factor p/2^128",
            f"p/2^{EXP_BITS} ≤ e^(epsilon·length), found by a sum rounded down at every step",
            "along a path the ratios multiply and the lengths add up, so any two answers keep the shortest one",
            "moving to the map and renaming outputs look only at the noisy cell, so they reveal nothing more",
        ]

    def tight_epsilon(self, query: RangeQuery) -> float:
        return max(log_upper_bound(Fraction(ratio), length) for ratio, length in self.ratios(query))

    def sampler(self, query: RangeQuery) -> PlaneSampler:
        (rows, columns), (table, remap) = self.size, self._sealed
        constant = np.full(rows * columns, self.anywhere, dtype=np.int64)
        constant[0] += remaining_weight(table.array, self.anywhere)
        targets = None if remap is None else remap.array
        return PlaneSampler.from_weights(table.array, constant, targets)

    def best_guesses(self, query: RangeQuery, loss: Loss, prior: Floats) -> tuple[Ints, Floats] | None:
        if not is_too_large(query):
            return None
        joints = (self.output_weights(i) * prior.reshape(self.size) / TOTAL for i in range(prior.size))
        return best_map_cells(query, loss, joints)

    # --- files --------------------------------------------------------------------------------------------

    def to_json(self) -> Any:
        remap = None if self.remap is None else format_integers(self.remap.tolist())
        return {"table": format_rows(self.table), "anywhere": str(self.anywhere), "remap": remap}

    @classmethod
    def from_json(cls, part: Any, query: RangeQuery) -> Self:
        remap = None if part["remap"] is None else parse_array(part["remap"])
        return cls(parse_rows(part["table"]), parse_integer(part["anywhere"]), remap)


def _end(k: Any, size: int) -> Any:
    """Return 0 for the first row or column, 2 for the last one, 1 between them."""
    return 1 - (k == 0) * 1 + ((k == size - 1) & (k > 0)) * 1


def _refuse_numbers() -> NoReturn:
    raise ValueError("this needs numeric answers; cells of a map have none")


def make_plane_noise(query: RangeQuery, epsilon: Fraction, decay: Decay, remap: Ints | None = None) -> PlaneNoise:
    """Make integer noise with Pr[(a, b)] near exp(-decay(a, b)), private for the edges of a map.

    decay must rise by at most epsilon · length along every move. A sum of E rounded weights is at most E below the true
    sum, so K[d] <= r (K[d - m] + E) with r = exp(epsilon · length). If r E <= (r - 1) u, then K + u is private for
    every move; u is `anywhere`. A small share of epsilon is held back for float errors; it is raised until the check
    passes.
    """
    metric = require_map_metric(query)
    shortest, held_back = float(epsilon * min(metric.moves.values())), HELD_BACK
    anywhere = math.ceil((2 * metric.rows) * (2 * metric.columns) / -math.expm1(-shortest))
    while True:
        floats = _fold_tail(metric, decay, 1 - held_back / min(shortest, 1.0))
        weights = np.floor(floats * float(TOTAL - metric.rows * metric.columns * anywhere) * (1 - 2.0**-50))
        law = PlaneNoise(weights.astype(np.int64), anywhere, remap)
        try:
            law.check(query, epsilon)
        except PrivacyViolation:
            if held_back > MOST_HELD_BACK:
                raise
            held_back *= 10
        else:
            return law


def require_map_metric(query: RangeQuery) -> MapMetric:
    """Return the map of the query's answers. Raises `TooLarge` if they are no map."""
    metric = find_map_metric(query)
    if metric is None:
        raise TooLarge("a graph of this size must be a map of cells in reading order, such as ib.grid(100, 100)")
    return metric


def _fold_tail(metric: MapMetric, decay: Decay, share: float) -> Floats:
    """Return exp(-share · decay), normalized over the plane, with noise beyond the map's size added at its border."""
    rows, columns = metric.size
    slowest = float(min(decay(np.array([1, 0]), np.array([0, 1]))))
    reach = math.ceil(LARGEST_DECAY / slowest) + max(rows, columns)
    if (2 * reach + 1) ** 2 > WIDEST:
        raise TooLarge("epsilon is too small for a map of cells this small; use larger cells")
    steps = np.arange(-reach, reach + 1)
    noise = np.exp(-share * decay(*np.broadcast_arrays(steps[:, None], steps[None, :])))
    noise /= noise.sum()
    for size in (rows, columns):
        inner = noise[reach - size + 1 : reach + size].copy()
        below, above = noise[: reach - size + 1].sum(axis=0), noise[reach + size :].sum(axis=0)
        inner[0] += below
        inner[-1] += above
        noise = inner.T
    return noise
