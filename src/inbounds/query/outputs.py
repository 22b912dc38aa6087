"""Output cells: the possible outputs of a mechanism, and the bounds of a range."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, overload

from inbounds.exact import Number, to_fraction, to_int
from inbounds.trusted.scale import Scale


@dataclass(frozen=True)
class OutputCells(Sequence[tuple[Fraction, Fraction, Fraction]]):
    """Output cells (lower, upper, value), disjoint and in order; `value` stands for the cell."""

    lowers: Scale
    uppers: Scale
    values: Scale

    @classmethod
    def one_per_answer(cls, answers: Scale) -> "OutputCells":
        """Return one cell per answer, half a unit to each side."""
        half = answers.unit / 2
        return cls(
            Scale(answers.start - half, answers.unit, answers.ticks),
            Scale(answers.start + half, answers.unit, answers.ticks),
            answers,
        )

    @classmethod
    def from_edges(cls, cells: Sequence[Sequence[Number]]) -> "OutputCells":
        """Build cells from (lower, upper) or (lower, upper, value); the value defaults to the middle."""
        rows = []
        for cell in cells:
            if len(cell) not in (2, 3):
                raise ValueError("a cell must be (lower, upper) or (lower, upper, value)")
            low, high, *midpoint = (to_fraction(edge, "cell edge") for edge in cell)
            value = midpoint[0] if midpoint else (low + high) / 2
            if not low < high or not low <= value <= high:
                raise ValueError(f"a cell must rise and hold its value, got {value} in a cell from {low} to {high}")
            rows.append((low, high, value))
        if not rows:
            raise ValueError("outputs must be at least one cell")
        if any(cell_row[1] > next_row[0] for cell_row, next_row in pairwise(rows)):
            raise ValueError("cells must be disjoint and in increasing order")
        lowers, uppers, values = zip(*rows, strict=True)
        return cls(Scale.from_numbers(lowers), Scale.from_numbers(uppers), Scale.from_numbers(values))

    @classmethod
    def validated(cls, lowers: Scale, uppers: Scale, values: Scale) -> "OutputCells":
        """Build cells from scales of edges and values; raise as `from_edges` does."""
        if not len(lowers) == len(uppers) == len(values):
            raise ValueError("cells must have as many edges as values")
        low, high, value = to_common_integers(lowers, uppers, values)
        if not all(a < c and a <= b <= c for a, b, c in zip(low, value, high, strict=True)):
            raise ValueError("a cell must rise and hold its value")
        if any(end > start for end, start in zip(high, low[1:], strict=False)):
            raise ValueError("cells must be disjoint and in increasing order")
        return cls(lowers, uppers, values)

    @overload
    def __getitem__(self, index: int) -> tuple[Fraction, Fraction, Fraction]: ...
    @overload
    def __getitem__(self, index: slice) -> list[tuple[Fraction, Fraction, Fraction]]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return list(zip(self.lowers[index], self.uppers[index], self.values[index], strict=True))
        return self.lowers[index], self.uppers[index], self.values[index]

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"{len(self)} cells over {self.lowers[0]}..{self.uppers[-1]}"


def to_common_integers(*scales: Scale) -> list[list[int]]:
    """Return the values of several scales as integer multiples of one unit: comparisons are exact and fast."""
    common = math.lcm(*(part.denominator for scale in scales for part in (scale.start, scale.unit)))
    ends = [(int(scale.start * common), int(scale.unit * common), scale.ticks) for scale in scales]
    return [[start + unit * tick for tick in ticks] for start, unit, ticks in ends]


def cells(lower: Number, upper: Number, count: int) -> OutputCells:
    """Return `count` equal output cells over lower..upper, each published as its middle.

    >>> cells(0, 10, 2)[1]
    (Fraction(5, 1), Fraction(10, 1), Fraction(15, 2))
    """
    low, high = parse_bounds(lower, upper)
    steps = range(to_int(count, "count", 1))
    width = (high - low) / len(steps)
    return OutputCells(*(Scale(low + shift, width, steps) for shift in (Fraction(0), width, width / 2)))


def parse_bounds(low: Number, high: Number) -> tuple[Fraction, Fraction]:
    """Return the exact bounds of a range; raise unless low < high."""
    lower, upper = to_fraction(low, "low"), to_fraction(high, "high")
    if not lower < upper:
        raise ValueError(f"low must be less than high, got {low} and {high}")
    return lower, upper
