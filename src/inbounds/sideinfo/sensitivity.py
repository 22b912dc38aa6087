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
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Literal

import numpy as np

from inbounds.errors import TooLarge
from inbounds.exact import Ints, Number, to_fraction, to_int

MOST_DATABASES = 1 << 15
"""Databases, in any order of their records, that `any_statistic` looks at."""


class Sensitivities(ABC):
    """What the sensitivities of any statistic have in common; the number of records is `size`."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of records."""

    @property
    @abstractmethod
    def globally(self) -> Fraction:
        """The most one person can move the statistic in any database (004 (1))."""

    @abstractmethod
    def within(self, changes: int) -> Fraction:
        """Return A_k: the largest local sensitivity of any database at most k changes away."""

    @property
    def locally(self) -> Fraction:
        """The most one person can move the statistic in this database (004 (2))."""
        return self.within(0)

    def smooth(self, beta: Number) -> float:
        """Return S_beta: the smallest beta-smooth bound on the local sensitivity.

        Stops at the first k from which even the global sensitivity decays below the best value: O(n²) at worst,
        O(1/beta²) for large data.
        """
        decay = float(to_fraction(beta, "beta"))
        if not decay > 0:
            raise ValueError(f"beta must be positive, got {beta}")
        largest, global_value = 0.0, float(self.globally)
        for k in range(self.size + 1):
            if global_value * math.exp(-decay * k) <= largest:
                break
            largest = max(largest, math.exp(-decay * k) * float(self.within(k)))
        return largest


@dataclass(frozen=True)
class Sensitivity(Sensitivities):
    """The sensitivities of one statistic at one database. The repr does not show the database.

    statistic: "mean", "total", or "order" for the `rank`-th smallest value. ordered: the data, sorted.
    """

    statistic: Literal["order", "mean", "total"]
    low: int
    high: int
    ordered: Ints = field(repr=False, compare=False)
    rank: int = 1

    @property
    def size(self) -> int:
        return len(self.ordered)

    @property
    def answer(self) -> Fraction:
        """The true value of the statistic: not for publication."""
        if self.statistic == "order":
            return Fraction(int(self.ordered[self.rank - 1]))
        return Fraction(int(self.ordered.sum()), self._shares)

    @property
    def globally(self) -> Fraction:
        """The most one person can move the statistic in any database (004 (1))."""
        return Fraction(self.high - self.low, self._shares)

    @property
    def _shares(self) -> int:
        """What a change of one record is divided by."""
        return len(self.ordered) if self.statistic == "mean" else 1

    def within(self, changes: int) -> Fraction:
        """Return A_k: the largest local sensitivity of any database at most k changes away. Cost: O(k).

        Order statistics: max over t = 0..k+1 of x[r+t] - x[r+t-k-1], with low before the data and high after them
        (Nissim, Raskhodnikova, Smith 2007 for the median and the minimum; it holds for any rank r). Total: the largest
        distance of a value from the ends of the range; after one change some value is at an end. Mean: that over n.
        """
        k = to_int(changes, "changes", 0)
        if self.statistic != "order":
            reach = max(int(self.ordered[-1]) - self.low, self.high - int(self.ordered[0]))
            return self.globally if k else Fraction(reach, self._shares)
        t = np.arange(k + 2)
        return Fraction(int((self._at(self.rank + t) - self._at(self.rank + t - k - 1)).max()))

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


def total(data: Iterable[int], low: int, high: int) -> Sensitivity:
    """Return the sensitivities of the sum; with values 0 and 1 it is a count.

    >>> votes = total([0, 1, 1, 0, 1], 0, 1)
    >>> votes.answer, votes.locally, votes.smooth(1)
    (Fraction(3, 1), Fraction(1, 1), 1.0)
    """
    return Sensitivity("total", int(low), int(high), _sorted(data, low, high))


@dataclass(frozen=True)
class EnumeratedSensitivity(Sensitivities):
    """The sensitivities of any statistic at one database, from a list of all databases. The repr shows neither."""

    answer: Fraction = field(repr=False, compare=False)
    largest: tuple[Fraction, ...] = field(repr=False, compare=False)
    """A_k for k = 0, 1, …, the number of records."""

    @property
    def size(self) -> int:
        return len(self.largest) - 1

    @property
    def globally(self) -> Fraction:
        return self.largest[-1]

    def within(self, changes: int) -> Fraction:
        return self.largest[min(to_int(changes, "changes", 0), self.size)]


def any_statistic(
    data: Iterable[int], statistic: Callable[[tuple[int, ...]], Number], low: int, high: int
) -> EnumeratedSensitivity:
    """Return the sensitivities of any statistic that does not look at the order of the records.

    statistic: a function of the sorted values, such as `lambda x: len(set(x))`. Every database of as many records is
    listed: (n + high - low choose n) of them, at most 2^15, each with its neighbours.

    >>> distinct = any_statistic([2, 2, 3, 3], lambda x: len(set(x)), 0, 5)
    >>> distinct.answer, distinct.locally, distinct.within(1), round(distinct.smooth(1), 3)
    (Fraction(2, 1), Fraction(1, 1), Fraction(1, 1), 1.0)
    """
    start = tuple(_sorted(data, low, high).tolist())
    values = range(int(low), int(high) + 1)
    if math.comb(len(start) + len(values) - 1, len(start)) > MOST_DATABASES:
        raise TooLarge("data must have fewer records or values to list every database; use a statistic with a formula")
    worth = {x: to_fraction(statistic(x), "statistic") for x in combinations_with_replacement(values, len(start))}
    moved = {x: max(abs(worth[y] - worth[x]) for y in _neighbours(x, values)) for x in worth}
    found, reached, edge = [moved[start]], {start}, {start}
    for _ in start:
        edge = {y for x in edge for y in _neighbours(x, values)} - reached
        reached |= edge
        found.append(max([found[-1], *(moved[x] for x in edge)]))
    return EnumeratedSensitivity(worth[start], tuple(found))


def _neighbours(database: tuple[int, ...], values: range) -> set[tuple[int, ...]]:
    """Return the databases in which one record has any value, the database itself included."""
    rests = {database[:k] + database[k + 1 :] for k in range(len(database))}
    return {tuple(sorted((*rest, value))) for rest in rests for value in values}


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
