"""Exact numbers on a grid."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from inbounds.numbers import Floats


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
        ticks = np.asarray(self.ticks, dtype=np.int64)
        scale = math.lcm(self.start.denominator, self.unit.denominator)
        numerators = int(self.start * scale) + int(self.unit * scale) * ticks.astype(np.float64)
        return np.asarray(numerators / scale, dtype=np.float64)

    def numbers(self) -> NDArray[Any]:
        """The values as people write them: exact ints where all are whole, floats otherwise."""
        if not self.start.denominator == self.unit.denominator == 1:
            return self.floats()
        if max(abs(self[0]), abs(self[-1])) >= 1 << 62:
            return np.array([int(value) for value in self], dtype=object)
        return int(self.start) + int(self.unit) * np.asarray(self.ticks, dtype=np.int64)

    def __repr__(self) -> str:
        return f"{self[0]}..{self[-1]} ({len(self)} values)"
