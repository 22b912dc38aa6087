"""Encoders: the only way from a true answer to its position among the possible answers.

Every comparison is exact: a float means its binary value, an integer is compared as an integer. Positions keep the
shape of the input and are -1 for what is no answer. No message here repeats a value. Queries choose an encoder,
samplers take its positions.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inbounds.exact import Ints, freeze, round_up_to_float
from inbounds.trusted.inputs import exact_value, find_float_type, infinity_sign, read_array, read_numbers
from inbounds.trusted.scale import Scale

Table = tuple[NDArray[Any], float, float]
"""The edges that numbers of one type are compared with, and the least and the largest number in range."""

ON_GRID = Fraction(1, 10**6)
"""A numeric answer may miss its grid point by this share of a step: 1/3 comes in as 0.3333333333333333."""

FINE_ENOUGH = 64
"""Floats are accepted if the grid points are at least this many float spacings apart."""


WRITTEN_OUT, WRITTEN_OUT_FOR = 1 << 12, 16
"""Up to this many even cells, or this many per answer, all cell edges are written out."""


@dataclass(frozen=True)
class LabelEncoder:
    """Answers without order: a text is a label, nothing else is an answer."""

    labels: tuple[str, ...]

    @cached_property
    def _place(self) -> dict[str, int]:
        return {label: j for j, label in enumerate(self.labels)}

    def positions(self, answers: Any, *, clip: bool = False) -> Ints:
        values = read_array(answers)
        flat = [self._place.get(label, -1) if isinstance(label, str) else -1 for label in values.ravel().tolist()]
        return np.array(flat, dtype=np.int64).reshape(values.shape)


@dataclass(frozen=True)
class PlaceEncoder:
    """Answers with coordinates: the label of a place, or its coordinates along the last axis; nothing in between.

    Coordinates are below 2**52 in size and differ as floats. So a float, or an int converted to one, matches at most
    one place; an int that no float holds is beyond all places.
    """

    labels: tuple[str, ...]
    places: tuple[tuple[Fraction, ...], ...]

    @cached_property
    def _sorted_places(self) -> list[tuple[tuple[Fraction, ...], int]]:
        """The places in order. A dictionary would be slow if many Fractions had one hash."""
        return sorted((place, j) for j, place in enumerate(self.places))

    def _place(self, point: tuple[Fraction, ...]) -> int:
        k = bisect_left(self._sorted_places, (point, -1))
        return self._sorted_places[k][1] if k < len(self._sorted_places) and self._sorted_places[k][0] == point else -1

    @cached_property
    def _near(self) -> dict[tuple[float, ...], int]:
        return {tuple(map(float, place)): j for j, place in enumerate(self.places)}

    def positions(self, answers: Any, *, clip: bool = False) -> Ints:
        raw = read_array(answers)
        if is_text_array(raw):
            return LabelEncoder(self.labels).positions(answers)
        axes = len(self.places[0])
        values = read_numbers(raw)
        if values.ndim == 0 or values.shape[-1] != axes:
            raise ValueError(f"true answers must be labels, or {axes} coordinates each along the last axis")
        rows = values.reshape(-1, axes)
        if values.dtype.kind == "O":
            flat = [self._encode_objects(row) for row in rows.tolist()]
        else:
            flat = [self._near.get(tuple(row), -1) for row in rows.astype(np.float64).tolist()]
        return np.array(flat, dtype=np.int64).reshape(values.shape[:-1])

    def _encode_objects(self, row: list[Any]) -> int:
        """Compare exact numbers; a row that contains a float is also compared as floats."""
        coordinates = tuple(value for value in map(exact_value, row) if value is not None)
        if len(coordinates) < len(row):
            return -1
        place = self._place(coordinates)
        if place < 0 and any(isinstance(value, float) for value in row):
            return self._near.get(tuple(map(_float, coordinates)), -1)
        return place


def _float(value: Fraction) -> float:
    """Return the nearest float, or infinity for what is larger than every float."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def is_text_array(values: NDArray[Any]) -> bool:
    """Return whether an array holds texts only: labels, not coordinates."""
    return values.dtype.kind == "U" or (
        values.dtype.kind == "O"
        and values.size > 0
        and all(isinstance(value, str) for value in values.ravel().tolist())
    )


@dataclass(frozen=True)
class GridEncoder:
    """Answers on a grid: the nearest grid point, if it is close enough."""

    scale: Scale

    def positions(self, answers: Any, *, clip: bool = False) -> Ints:
        """Return positions. clip: an answer beyond the range counts as the nearer end."""
        raw = read_array(answers)
        floats, values = find_float_type(raw), read_numbers(raw).ravel()
        if floats is not None:
            self._refuse_coarse(floats)
        if values.dtype.kind in "iu" and self._whole_steps == 1:
            encoded = self._encode_ints(values, clip)
        elif values.dtype.kind == "f":
            encoded = self._encode_floats(values, floats or np.float64, clip)
        else:
            slack = self._slack(floats) if floats is not None else ON_GRID
            encoded = _one_by_one(values, lambda value: self._encode_exact(value, slack, clip))
        return encoded.reshape(raw.shape)

    def position(self, answer: int, *, clip: bool = False) -> int:
        """Return the position of one whole number, as `positions` does."""
        if self._whole_steps != 1 or not self.scale.is_regular:
            return self._encode_exact(answer, ON_GRID, clip)
        first, last, start, _ = self._wholes
        if first <= answer <= last:
            return answer * self._common - start
        return (0, len(self.scale) - 1)[answer > last] if clip else -1

    @cached_property
    def _common(self) -> int:
        """The least number that makes every grid point whole."""
        return math.lcm(self.scale.start.denominator, self.scale.unit.denominator)

    @cached_property
    def _whole_steps(self) -> int:
        return int(self.scale.unit * self._common)

    @cached_property
    def _wholes(self) -> tuple[int, int, int, bool]:
        """The first and the last whole number in the range, start · common, and whether int64 holds all ticks."""
        first, last = math.ceil(self.scale[0]), math.floor(self.scale[-1])
        fits = self._common * int(self._size + 1) < 1 << 62 and last >= first
        return first, last, int(self.scale.start * self._common), fits

    @cached_property
    def _size(self) -> Fraction:
        return max(abs(self.scale[0]), abs(self.scale[-1]))

    def _spacing(self, floats: type[np.floating[Any]]) -> float:
        return _spacing(self._size, floats)

    def _refuse_coarse(self, floats: type[np.floating[Any]]) -> None:
        if not FINE_ENOUGH * self._spacing(floats) <= self.scale.unit:
            raise ValueError(
                f"these answers are closer together than {np.dtype(floats).name} can tell; "
                "give whole numbers, Fractions or Decimals, or shift the range towards zero"
            )

    def _slack(self, floats: type[np.floating[Any]]) -> Fraction:
        """Return how far from its grid point a float may be, in steps: its rounding, plus what one division adds."""
        return ON_GRID + min(Fraction(16 * self._spacing(floats)) / self.scale.unit, Fraction(1, 4))

    def _encode_ints(self, values: NDArray[Any], clip: bool) -> Ints:
        """Compute tick = value · common - start · common, in int64 if that cannot overflow."""
        first, last, start, fits = self._wholes
        below, above = values < first, values > last
        outside = below | above
        in_range = np.where(outside, 0, values).astype(np.int64 if fits else object)
        ticks = np.where(outside, -1, in_range * self._common - start).astype(np.int64)
        return self._among(ticks, below, above, clip)

    def _encode_floats(self, values: NDArray[Any], floats: type[np.floating[Any]], clip: bool) -> Ints:
        """Round to the nearest grid point. Errors of subtraction and division stay below a tenth of a step by
        FINE_ENOUGH.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            steps = (values - float(self.scale.start)) / float(self.scale.unit)
            nearest = np.rint(steps)
            hit = (np.abs(steps - nearest) <= float(self._slack(floats))) & (np.abs(nearest) < 2**53)
            below, above = steps < 0, steps > self.scale.ticks[-1]
        ticks = np.where(hit, np.where(np.isfinite(nearest), nearest, -1), -1).astype(np.int64)
        return self._among(ticks, below, above, clip)

    def _among(self, ticks: Ints, below: NDArray[np.bool_], above: NDArray[np.bool_], clip: bool) -> Ints:
        encoded = _among(self.scale, ticks)
        if clip:
            encoded = np.where(below, 0, np.where(above, len(self.scale) - 1, encoded))
        return encoded

    def _encode_exact(self, value: Any, slack: Fraction, clip: bool) -> int:
        number = exact_value(value)
        end = len(self.scale) - 1
        if number is None:
            sign = infinity_sign(value)
            return (0, end)[sign > 0] if clip and sign else -1
        steps = (number - self.scale.start) / self.scale.unit
        tick = round(steps)
        if clip and not self.scale[0] <= number <= self.scale[-1]:
            return (0, end)[number > self.scale[-1]]
        is_near = abs(steps - tick) <= slack
        return int(_among(self.scale, np.array(tick if is_near and 0 <= tick < 1 << 62 else -1, dtype=np.int64)))


@dataclass(frozen=True)
class RoundingEncoder:
    """Real answers, rounded down into cells slightly wider than the scale's steps.

    Cell k holds low + k·cell <= x < low + (k+1)·cell, so answers at most r·cell apart land at most r cells apart:
    floor(y/cell) <= floor(x/cell + r) = floor(x/cell) + r. `allowance` is what the caller's arithmetic may add to the
    distance of two answers; an answer that far beyond the range, or inside a hole at `cuts` (which no neighbours
    straddle), is moved back. After a cut the cells start again.
    """

    scale: Scale
    cell: Fraction
    allowance: Fraction
    cuts: tuple[int, ...] = ()

    @cached_property
    def low(self) -> Fraction:
        return self.scale[0] - self.scale.unit / 2

    @cached_property
    def high(self) -> Fraction:
        return self.scale[-1] + self.scale.unit / 2

    def positions(self, answers: Any, *, clip: bool = False) -> Ints:
        """Return positions. clip: an answer beyond the range counts as the nearer end."""
        raw = read_array(answers)
        floats, values = find_float_type(raw), read_numbers(raw)
        if floats is not None:
            self._refuse_coarse(floats)
        if values.dtype.kind == "O" or self._few(values.size):
            return _one_by_one(values, lambda value: self._encode_exact(value, clip))
        if values.dtype.kind == "f":
            edges, bottom, top = self._floats
        else:
            edges, bottom, top = self._is_signed if values.dtype.kind == "i" else self._is_unsigned
        encoded = self.steps.positions[np.searchsorted(edges, values, side="right") - 1]
        below, above = values < bottom, values > top
        if clip:
            encoded = np.where(below, 0, np.where(above, len(self.scale) - 1, encoded))
        else:
            encoded = np.where(below | above, -1, encoded)
        return np.where(np.isnan(values), -1, encoded) if values.dtype.kind == "f" else encoded

    def position(self, answer: int, *, clip: bool = False) -> int:
        """Return the position of one whole number, as `positions` does."""
        return self._encode_exact(answer, clip)

    def _refuse_coarse(self, floats: type[np.floating[Any]]) -> None:
        """Raise if floats of this type round by more than the allowance; an allowance of 0 means that answers are
        exact.

        The decision depends on the query and the type only, never on a value.
        """
        size = max(abs(self.low), abs(self.high))
        if self.allowance and not _spacing(size, floats) <= self.allowance:
            raise ValueError(
                f"{np.dtype(floats).name} may round these answers by more than the query's allowance for arithmetic; "
                "give a finer type of float, whole numbers, Fractions or Decimals"
            )

    @cached_property
    def steps(self) -> "StepTable":
        """The edges of all cells, written out."""
        return StepTable.from_scale(self)

    @property
    def _even(self) -> bool:
        """Whether every edge is low + k·cell, so that a cell can be computed without writing the edges out."""
        return self.scale.is_regular and not self.cuts

    def _few(self, answers: int) -> bool:
        """Return whether encoding this many answers one by one is faster than writing all edges out."""
        return self._even and len(self.scale) > max(WRITTEN_OUT, answers * WRITTEN_OUT_FOR)

    @cached_property
    def common(self) -> int:
        """A common denominator of all edges."""
        lengths = self.low, self.cell, self.scale.unit, self.allowance
        return math.lcm(*(length.denominator for length in lengths))

    @cached_property
    def _bottom(self) -> Fraction:
        return self.low - self.allowance

    @cached_property
    def _top(self) -> Fraction:
        return self.high + self.allowance

    @cached_property
    def _floats(self) -> Table:
        """Edges and ends, rounded inward to floats: `value >= edge` stays exact for every float."""
        edges = np.array([round_up_to_float(Fraction(edge, self.common)) for edge in self.steps.edges])
        return freeze(edges), round_up_to_float(self._bottom), -round_up_to_float(-self._top)

    @cached_property
    def _is_signed(self) -> Table:
        return self._wholes(np.int64)

    @cached_property
    def _is_unsigned(self) -> Table:
        return self._wholes(np.uint64)

    def _wholes(self, kind: type[np.integer[Any]]) -> Table:
        """Return the same for integers: the edges in the range of a type; edges below the range count as its least
        value.
        """
        info = np.iinfo(kind)
        ceilings = (-(-edge // self.common) for edge in self.steps.edges)
        edges = np.array([max(edge, int(info.min)) for edge in ceilings if edge <= int(info.max)], dtype=kind)
        return freeze(edges), math.ceil(self._bottom), math.floor(self._top)

    def _encode_exact(self, value: Any, clip: bool) -> int:
        number, end = exact_value(value), len(self.scale) - 1
        if number is None:
            sign = infinity_sign(value)
            return (0, end)[sign > 0] if clip and sign else -1
        if not self._bottom <= number <= self._top:
            return (0, end)[number > self.high] if clip else -1
        if self._even:
            return min(max(math.floor((number - self.low) / self.cell), 0), end)
        scaled = number.numerator * self.common // number.denominator
        return int(self.steps.positions[bisect_right(self.steps.edges, scaled) - 1])


@dataclass(frozen=True, eq=False)
class StepTable:
    """Position as a step function of the answer: positions[i] from edges[i] / common on; the first step has no lower
    end.
    """

    edges: tuple[int, ...]
    positions: Ints

    @classmethod
    def from_scale(cls, encoder: RoundingEncoder) -> "StepTable":
        """Build the table. Consecutive cells share their edges; after a cut they start again at the nominal edge."""
        lengths = encoder.low, encoder.cell, encoder.scale.unit, encoder.allowance
        start, width, nominal, allowance = (int(length * encoder.common) for length in lengths)
        edges, positions, cuts = [start - allowance], [0], set(encoder.cuts)
        first = 0
        for j, (tick, after) in enumerate(pairwise(encoder.scale.ticks)):
            end = next_begin = start + first * nominal + (after - first) * width
            if j in cuts:
                next_begin = start + after * nominal - allowance
                end = min(max(end - (after - tick - 1) * width, start + (tick + 1) * nominal + allowance), next_begin)
                first = after
            elif after > tick + 1:
                end -= (after - tick - 1) * width
            if end < next_begin:
                edges.append(end)
                positions.append(-1)
            edges.append(next_begin)
            positions.append(j + 1)
        return cls(*_rising(edges, positions))


def _rising(edges: list[int], positions: list[int]) -> tuple[tuple[int, ...], Ints]:
    """Drop the steps that a later one covers, because wider cells have passed the end of their run."""
    steps: list[tuple[int, int]] = []
    for edge, position in zip(edges, positions, strict=True):
        while steps and steps[-1][0] >= edge:
            steps.pop()
        steps.append((edge, position))
    return tuple(edge for edge, _ in steps), freeze(np.array([position for _, position in steps], dtype=np.int64))


def _spacing(size: Fraction, floats: type[np.floating[Any]]) -> float:
    """Return the gap between floats of a type at `size`; infinite above the largest float."""
    if size > float(np.finfo(floats).max):
        return math.inf
    return float(np.spacing(floats(float(size))))


def _among(scale: Scale, ticks: Ints) -> Ints:
    """Return positions of ticks among the answers, -1 for a tick that is no answer."""
    answer_ticks = scale.ticks
    if isinstance(answer_ticks, range) and answer_ticks.step == 1:
        return np.where((ticks >= 0) & (ticks < len(answer_ticks)), ticks, -1)
    table = np.asarray(answer_ticks, dtype=np.int64)
    nearest = np.searchsorted(table, ticks).clip(max=len(table) - 1)
    return np.where(table[nearest] == ticks, nearest, -1)


def _one_by_one(answers: NDArray[Any], encode: Callable[[Any], int]) -> Ints:
    values = answers.ravel().tolist()
    if all(type(value) is str for value in values):
        encode = cache(encode)  # columns of text repeat values, and parsing takes longer than a lookup
    return np.array([encode(value) for value in values], dtype=np.int64).reshape(answers.shape)


Encoder = LabelEncoder | PlaceEncoder | GridEncoder | RoundingEncoder
"""Any class that encodes true answers as positions among the answers of a query."""
