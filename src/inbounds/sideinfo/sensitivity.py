"""Sensitivity of a statistic: in any database (global), in this one (local), and a smooth bound between them.

Data are n whole numbers in low..high; neighbours differ in one of them (004 (1)-(3)). Local sensitivity depends on
the data and must not scale noise by itself. Smooth sensitivity is the least bound on it that changes by at most a
factor e^beta between neighbours,

    S_beta(x) = max over k of e^(-beta·k) · A_k(x),     A_k(x) = largest local sensitivity within k changes,

with the beta of the noise it is used with, not epsilon as 004 (3) prints (Nissim, Raskhodnikova, Smith, Smooth
sensitivity and sampling in private data analysis, 2007). A_k is exact here; the maximum is a float.

These values depend on the data: publish none of them, and scale noise only by `Sensitivity.smooth` with a suitable
density (`inbounds.sideinfo.cauchy`).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

import numpy as np

from inbounds.exact import Ints, Number, to_fraction, to_int


@dataclass(frozen=True)
class Sensitivity:
    """The sensitivities of one statistic at one database. The repr does not show the database.

    statistic: "mean", or "order" for the `rank`-th smallest value. ordered: the data, sorted.
    """

    statistic: Literal["order", "mean"]
    low: int
    high: int
    ordered: Ints = field(repr=False, compare=False)
    rank: int = 1

    @property
    def answer(self) -> Fraction:
        """The true value of the statistic: not for publication."""
        if self.statistic == "mean":
            return Fraction(int(self.ordered.sum()), len(self.ordered))
        return Fraction(int(self.ordered[self.rank - 1]))

    @property
    def globally(self) -> Fraction:
        """The most one person can move the statistic in any database (004 (1))."""
        span = Fraction(self.high - self.low)
        return span / len(self.ordered) if self.statistic == "mean" else span

    @property
    def locally(self) -> Fraction:
        """The most one person can move the statistic in this database (004 (2))."""
        return self.within(0)

    def within(self, changes: int) -> Fraction:
        """Return A_k: the largest local sensitivity of any database at most k changes away. Cost: O(k).

        Order statistics: max over t = 0..k+1 of x[r+t] - x[r+t-k-1], with low before the data and high after them
        (Nissim, Raskhodnikova, Smith 2007 for the median and the minimum; it holds for any rank r). Mean: the largest
        distance of a value from the ends of the range, divided by n; after one change some value is at an end.
        """
        k = to_int(changes, "changes", 0)
        if self.statistic == "mean":
            reach = max(int(self.ordered[-1]) - self.low, self.high - int(self.ordered[0]))
            return self.globally if k else Fraction(reach, len(self.ordered))
        t = np.arange(k + 2)
        return Fraction(int((self._at(self.rank + t) - self._at(self.rank + t - k - 1)).max()))

    def smooth(self, beta: Number) -> float:
        """Return S_beta: the smallest beta-smooth bound on the local sensitivity.

        Stops at the first k from which even the global sensitivity decays below the best value: O(n²) at worst,
        O(1/beta²) for large data.
        """
        decay = float(to_fraction(beta, "beta"))
        if not decay > 0:
            raise ValueError(f"beta must be positive, got {beta}")
        largest, global_value = 0.0, float(self.globally)
        for k in range(len(self.ordered) + 1):
            if global_value * math.exp(-decay * k) <= largest:
                break
            largest = max(largest, math.exp(-decay * k) * float(self.within(k)))
        return largest

    def _at(self, positions: Ints) -> Ints:
        """Return the sorted data at 1-based positions; low before them, high after."""
        n = len(self.ordered)
        inside = self.ordered[np.clip(positions - 1, 0, n - 1)]
        return np.where(positions < 1, self.low, np.where(positions > n, self.high, inside))


def minimum(data: Iterable[int], low: int, high: int) -> Sensitivity:
    """Return the sensitivities of the smallest value.

    >>> minimum([3, 4, 4, 9], 0, 10).locally
    Fraction(3, 1)
    """
    return order_statistic(data, 1, low, high)


def maximum(data: Iterable[int], low: int, high: int) -> Sensitivity:
    """Return the sensitivities of the largest value."""
    ordered = _sorted(data, low, high)
    return Sensitivity("order", int(low), int(high), ordered, len(ordered))


def median(data: Iterable[int], low: int, high: int) -> Sensitivity:
    """Return the sensitivities of the median; for an even number of values, the lower of the two in the middle.

    >>> dense = median([4, 5, 5, 5, 5, 5, 6], 0, 100)
    >>> dense.globally, dense.locally, round(dense.smooth(1), 3)
    (Fraction(100, 1), Fraction(0, 1), 4.73)
    """
    ordered = _sorted(data, low, high)
    return Sensitivity("order", int(low), int(high), ordered, (len(ordered) + 1) // 2)


def order_statistic(data: Iterable[int], rank: int, low: int, high: int) -> Sensitivity:
    """Return the sensitivities of the rank-th smallest value, 1 <= rank <= n."""
    ordered = _sorted(data, low, high)
    position = to_int(rank, "rank", 1)
    if position > len(ordered):
        raise ValueError(f"rank must be at most the number of values, {len(ordered)}, got {rank}")
    return Sensitivity("order", int(low), int(high), ordered, position)


def mean(data: Iterable[int], low: int, high: int) -> Sensitivity:
    """Return the sensitivities of the mean."""
    return Sensitivity("mean", int(low), int(high), _sorted(data, low, high))


def _sorted(data: Iterable[int], low: int, high: int) -> Ints:
    """Return the data as sorted int64; the error for an invalid value does not repeat it."""
    lower, upper = to_fraction(low, "low"), to_fraction(high, "high")
    if not (lower < upper and lower.denominator == upper.denominator == 1):
        raise ValueError(f"low and high must be whole numbers with low below high, got {low} and {high}")
    values = np.asarray(list(data))
    if values.ndim != 1 or not len(values):
        raise ValueError("data must be at least one value")
    if values.dtype.kind not in "iu":
        raise TypeError("data must be whole numbers")
    if values.min() < lower or values.max() > upper:
        raise ValueError(f"data must lie in {low}..{high}; at least one value does not")
    return np.sort(values).astype(np.int64)
