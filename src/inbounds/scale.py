"""Exact numbers on a grid, and the output cells around them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from inbounds.errors import TooLarge
from inbounds.exact import Floats, Ints, Number, exact, whole
from inbounds.extent import MOST_ANSWERS, MOST_LISTED


def refuse_beyond_list(size: int) -> None:
    """`TooLarge` when an array would have more than MOST_LISTED values."""
    if size > MOST_LISTED:
        raise TooLarge(f"{size} values are not written out in an array; use at most {MOST_LISTED}")


@dataclass(frozen=True)
class Scale(Sequence[Fraction]):
    """Strictly increasing exact numbers start + unit·tick, kept as whole ticks (the first is 0)."""

    start: Fraction
    unit: Fraction
    ticks: range | tuple[int, ...]

    def __post_init__(self) -> None:
        ticks = self.ticks if isinstance(self.ticks, range) else tuple(self.ticks)
        object.__setattr__(self, "ticks", ticks)
        if not ticks or ticks[0] != 0 or not self.unit > 0:
            raise ValueError("a scale must have a first tick 0 and a positive unit")
        if isinstance(ticks, range) and ticks[-1] > MOST_ANSWERS * abs(ticks.step):
            raise ValueError("a scale must have at most 2**53 values; use a coarser one")
        rising = ticks.step > 0 if isinstance(ticks, range) else all(a < b for a, b in pairwise(ticks))
        if not rising:
            raise ValueError("values must be strictly increasing")
        if len(ticks) == ticks[-1] + 1:
            object.__setattr__(self, "ticks", range(len(ticks)))

    @classmethod
    def of(cls, values: Sequence[Fraction]) -> "Scale":
        """The coarsest scale through increasing values."""
        gaps = [b - a for a, b in pairwise(values)]
        if any(gap <= 0 for gap in gaps):
            raise ValueError("values must be strictly increasing")
        common = math.lcm(*(gap.denominator for gap in gaps)) if gaps else 1
        unit = Fraction(math.gcd(*(int(gap * common) for gap in gaps)), common) if gaps else Fraction(1)
        ticks = tuple(int((value - values[0]) / unit) for value in values)
        return cls(values[0], unit, ticks)

    @overload
    def __getitem__(self, index: int) -> Fraction: ...
    @overload
    def __getitem__(self, index: slice) -> list[Fraction]: ...
    def __getitem__(self, index: int | slice) -> Fraction | list[Fraction]:
        if isinstance(index, slice):
            return [self.start + self.unit * tick for tick in self.ticks[index]]
        return self.start + self.unit * self.ticks[index]

    def __len__(self) -> int:
        return len(self.ticks)

    @property
    def regular(self) -> bool:
        """No gaps: consecutive values are one unit apart."""
        return isinstance(self.ticks, range) and self.ticks.step == 1

    @property
    def mirrored(self) -> bool:
        """The gaps read the same from both ends."""
        last = self.ticks[-1]
        return self.regular or all(a + b == last for a, b in zip(self.ticks, self.ticks[::-1], strict=True))

    @property
    def span(self) -> Fraction:
        return self[-1] - self[0]

    def floats(self) -> Floats:
        """The values as floats, rounded once; whole numbers stay whole."""
        return self._floats(self._listed())

    def numbers(self) -> NDArray[Any]:
        """The values as people write them: exact ints where all are whole, floats otherwise."""
        return self._numbers(self._listed())

    def numbers_at(self, positions: Ints) -> NDArray[Any]:
        """As `numbers`, for some positions only: however many values there are."""
        return self._numbers(positions if self.regular else self._listed()[positions])

    def _floats(self, ticks: Ints) -> Floats:
        scale = math.lcm(self.start.denominator, self.unit.denominator)
        numerators = int(self.start * scale) + int(self.unit * scale) * ticks.astype(np.float64)
        return np.asarray(numerators / scale, dtype=np.float64)

    def _numbers(self, ticks: Ints) -> NDArray[Any]:
        if not self.start.denominator == self.unit.denominator == 1:
            return self._floats(ticks)
        start, unit = int(self.start), int(self.unit)
        if max(abs(self[0]), abs(self[-1])) >= 1 << 62:
            return np.asarray(start + unit * ticks.astype(object), dtype=object)
        return np.asarray(start + unit * ticks)

    def _listed(self) -> Ints:
        """All ticks in an array; `TooLarge` beyond MOST_LISTED."""
        refuse_beyond_list(len(self))
        return np.asarray(self.ticks, dtype=np.int64)

    def __reduce__(self) -> tuple[type["Scale"], tuple[Any, ...]]:
        return Scale, (self.start, self.unit, self.ticks)  # copies and pickles are checked anew

    def __repr__(self) -> str:
        return f"{self[0]}..{self[-1]} ({len(self)} values)"


@dataclass(frozen=True)
class Cells(Sequence[tuple[Fraction, Fraction, Fraction]]):
    """Output cells (lower, upper, value): disjoint, in order; `value` is what is reported for the cell."""

    lowers: Scale
    uppers: Scale
    values: Scale

    @classmethod
    def around(cls, answers: Scale) -> "Cells":
        """One cell per answer, half a unit to each side."""
        half = answers.unit / 2
        return cls(
            Scale(answers.start - half, answers.unit, answers.ticks),
            Scale(answers.start + half, answers.unit, answers.ticks),
            answers,
        )

    @classmethod
    def of(cls, cells: Sequence[Sequence[Number]]) -> "Cells":
        """From (lower, upper) or (lower, upper, value); the value defaults to the middle."""
        rows = []
        for cell in cells:
            if len(cell) not in (2, 3):
                raise ValueError("a cell must be (lower, upper) or (lower, upper, value)")
            low, high, *rest = (exact(edge, "cell edge") for edge in cell)
            value = rest[0] if rest else (low + high) / 2
            if not low < high or not low <= value <= high:
                raise ValueError(f"a cell must satisfy lower < upper and hold its value, got {(low, high, value)}")
            rows.append((low, high, value))
        if not rows:
            raise ValueError("outputs must be at least one cell")
        if any(here[1] > after[0] for here, after in pairwise(rows)):
            raise ValueError("cells must be disjoint and in increasing order")
        lowers, uppers, values = zip(*rows, strict=True)
        return cls(Scale.of(lowers), Scale.of(uppers), Scale.of(values))

    @classmethod
    def checked(cls, lowers: Scale, uppers: Scale, values: Scale) -> "Cells":
        """The cells with these edges and values, refused as by `of`."""
        if not len(lowers) == len(uppers) == len(values):
            raise ValueError("cells must have as many edges as values")
        low, high, value = wholes(lowers, uppers, values)
        if not all(a < c and a <= b <= c for a, b, c in zip(low, value, high, strict=True)):
            raise ValueError("a cell must satisfy lower < upper and hold its value")
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


def wholes(*scales: Scale) -> list[list[int]]:
    """The values of several scales as whole multiples of one unit: comparing them is exact, and quick."""
    common = math.lcm(*(part.denominator for scale in scales for part in (scale.start, scale.unit)))
    ends = [(int(scale.start * common), int(scale.unit * common), scale.ticks) for scale in scales]
    return [[start + unit * tick for tick in ticks] for start, unit, ticks in ends]


def cells(lower: Number, upper: Number, count: int) -> Cells:
    """`count` equal output cells over lower..upper, each reported as its middle: wider or coarser outputs.

    >>> cells(0, 10, 2)[1]
    (Fraction(5, 1), Fraction(10, 1), Fraction(15, 2))
    """
    low, high = bounds(lower, upper)
    steps = range(whole(count, "count", 1))
    width = (high - low) / len(steps)
    return Cells(*(Scale(low + shift, width, steps) for shift in (Fraction(0), width, width / 2)))


def bounds(low: Number, high: Number) -> tuple[Fraction, Fraction]:
    lower, upper = exact(low, "low"), exact(high, "high")
    if not lower < upper:
        raise ValueError(f"low must be less than high, got {low} and {high}")
    return lower, upper
