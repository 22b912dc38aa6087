"""Scales: increasing exact numbers on a grid, the answers and output values of numeric queries."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from inbounds.errors import TooLarge
from inbounds.exact import Floats, Ints
from inbounds.trusted.limits import MOST_ANSWERS, MOST_LISTED


def check_list_size(size: int) -> None:
    """Raise `TooLarge` if an array would have more than MOST_LISTED values."""
    if size > MOST_LISTED:
        raise TooLarge(f"{size} values are not written out in an array; use at most {MOST_LISTED}")


LONGEST_FLOAT = 900
"""Bits of numerators and denominators that products with positions keep within the range of floats."""


def _nearest_float(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


@dataclass(frozen=True)
class Scale(Sequence[Fraction]):
    """Strictly increasing exact numbers start + unit·tick, stored as integer ticks (the first is 0)."""

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
    def from_numbers(cls, values: Sequence[Fraction]) -> "Scale":
        """Build the coarsest scale that contains the given increasing values."""
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
    def is_regular(self) -> bool:
        """Whether consecutive values are one unit apart, without gaps."""
        return isinstance(self.ticks, range) and self.ticks.step == 1

    @property
    def is_symmetric(self) -> bool:
        """Whether the gaps are the same from both ends."""
        last = self.ticks[-1]
        return self.is_regular or all(a + b == last for a, b in zip(self.ticks, self.ticks[::-1], strict=True))

    @property
    def span(self) -> Fraction:
        return self[-1] - self[0]

    def floats(self) -> Floats:
        """Return the values as floats, rounded once; whole numbers stay whole."""
        return self._floats(self._list_ticks())

    def numbers(self) -> NDArray[Any]:
        """Return the values as people write them: exact ints if all are whole, else floats."""
        return self._numbers(self._list_ticks())

    def numbers_at(self, positions: Ints) -> NDArray[Any]:
        """Return the values at some positions, as `numbers` does, without writing all of them out."""
        return self._numbers(positions if self.is_regular else self._list_ticks()[positions])

    def _floats(self, ticks: Ints) -> Floats:
        scale = math.lcm(self.start.denominator, self.unit.denominator)
        if max(scale, abs(self.start.numerator)).bit_length() > LONGEST_FLOAT:
            values = [_nearest_float(self.start + self.unit * tick) for tick in ticks.ravel().tolist()]
            return np.reshape(np.array(values), ticks.shape)
        numerators = int(self.start * scale) + int(self.unit * scale) * ticks.astype(np.float64)
        return np.asarray(numerators / scale, dtype=np.float64)

    def _numbers(self, ticks: Ints) -> NDArray[Any]:
        if self._wholes is None:
            return self._floats(ticks)
        start, unit, fits = self._wholes
        values = start + unit * (ticks if fits else ticks.astype(object))
        return np.asarray(values, dtype=None if fits else object)

    @cached_property
    def _wholes(self) -> tuple[int, int, bool] | None:
        """Start and unit if all values are whole, and whether int64 holds them."""
        if not self.start.denominator == self.unit.denominator == 1:
            return None
        return int(self.start), int(self.unit), max(abs(self[0]), abs(self[-1])) < 1 << 62

    def _list_ticks(self) -> Ints:
        """Return all ticks in an array; `TooLarge` beyond MOST_LISTED."""
        check_list_size(len(self))
        ticks = self.ticks
        if isinstance(ticks, range):
            return np.arange(ticks.start, ticks.stop, ticks.step, dtype=np.int64)
        return np.asarray(ticks, dtype=np.int64)

    def __reduce__(self) -> tuple[type["Scale"], tuple[Any, ...]]:
        return Scale, (self.start, self.unit, self.ticks)  # copies and pickles are validated again

    def __repr__(self) -> str:
        return f"{self[0]}..{self[-1]} ({len(self)} values)"
