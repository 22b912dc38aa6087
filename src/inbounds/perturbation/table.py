"""A perturbation table: for every count the probabilities of the noise that is added to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType

import numpy as np

from inbounds.exact import Wholes, to_int
from inbounds.mechanism.audit import Audit, audit
from inbounds.query.constructors import count

MOST_ROWS, MOST_NOISE = 10_000, 10_000
"""The most rows of a table, and the most values of the noise in a row."""


@dataclass(frozen=True)
class PerturbationTable:
    """Whole weights of the noise for the counts 0, 1, 2, …; the last row is for all larger counts too.

    rows: for every count a mapping from noise to weight. total: the sum of every row, which stands for probability 1. A
    result, count plus noise, is never negative.

    >>> table = PerturbationTable(({0: 4}, {-1: 1, 0: 2, 1: 1}), 4)
    >>> table.mean(5), table.variance(5), table.audit().least_delta, table.audit(least=1).least_delta
    (Fraction(0, 1), Fraction(1, 2), 0.75, 0.25)
    """

    rows: tuple[Mapping[int, int], ...]
    total: int

    def __post_init__(self) -> None:
        total = to_int(self.total, "total", 1)
        if not 2 <= len(self.rows) <= MOST_ROWS:
            raise ValueError(f"a perturbation table must have between 2 and {MOST_ROWS} rows, got {len(self.rows)}")
        rows = []
        for i, row in enumerate(self.rows):
            plain = {to_int(v, "noise", -i): to_int(w, "weight", 0) for v, w in row.items()}
            if len(plain) > MOST_NOISE or sum(plain.values()) != total:
                raise ValueError(f"row {i} must have weights that sum to {total}, got {sum(plain.values())}")
            rows.append(MappingProxyType({v: w for v, w in sorted(plain.items()) if w}))
        object.__setattr__(self, "rows", tuple(rows))
        object.__setattr__(self, "total", total)

    def __hash__(self) -> int:
        return hash((tuple(tuple(row.items()) for row in self.rows), self.total))

    def __reduce__(self) -> tuple[type["PerturbationTable"], tuple[tuple[dict[int, int], ...], int]]:
        return PerturbationTable, (tuple(map(dict, self.rows)), self.total)

    def noise(self, number: int) -> Mapping[int, int]:
        """Return the weights of the noise for a count."""
        return self.rows[min(to_int(number, "count", 0), len(self.rows) - 1)]

    def mean(self, number: int) -> Fraction:
        """Return the expected noise for a count."""
        return Fraction(sum(v * w for v, w in self.noise(number).items()), self.total)

    def variance(self, number: int) -> Fraction:
        """Return the variance of the noise for a count."""
        squares = Fraction(sum(v * v * w for v, w in self.noise(number).items()), self.total)
        return squares - self.mean(number) ** 2

    @property
    def largest_noise(self) -> int:
        """The largest absolute noise."""
        return max(abs(v) for row in self.rows for v in row)

    @property
    def zero_stays(self) -> bool:
        """Whether an empty cell is always published as 0."""
        return set(self.rows[0]) == {0}

    def matrix(self, least: int = 0) -> Wholes:
        """Return weights, results × counts, for the counts from `least` to one beyond the last row.

        Further counts look like the last two, shifted.
        """
        first, last = to_int(least, "least", 0), max(len(self.rows), least + 1)
        counts = range(first, last + 1)
        weights = np.zeros((last + self.largest_noise + 1, len(counts)), dtype=object)
        for column, number in enumerate(counts):
            for v, w in self.noise(number).items():
                weights[number + v, column] = w
        return weights

    def audit(self, least: int = 0) -> Audit:
        """Return the exact privacy profile of one published cell, for counts that differ by one person.

        least: compare counts from here on only; 1 leaves the presence in an otherwise empty cell unprotected. Indices
        in the audit count from `least`. The same holds for one table of disjoint cells whose record keys are secret,
        uniform and independent of the data; a person who changes cells costs twice the epsilon and twice the delta.
        """
        weights = self.matrix(least)
        return audit(weights, count(weights.shape[1] - 1))

    @cached_property
    def zero_bound(self) -> Fraction:
        """A delta that no epsilon avoids, if empty cells stay 0 and count 1 has this mean and variance.

        An output of 0 is then possible for count 1 only as noise of -1. Cantelli's inequality bounds its probability,
        and any other result tells that the cell is not empty. 1/(1 + V) without bias; 0 if empty cells do not stay 0.
        """
        if not self.zero_stays:
            return Fraction(0)
        above_zero = 1 + self.mean(1)
        return above_zero**2 / (above_zero**2 + self.variance(1))

    def repeated_noise(self, number: int) -> Fraction:
        """Return Pr[two results differ], if one of two cells of so many persons gets one contributor more.

        Cells with the same contributors have the same key and the same noise, so without that person the results never
        differ: this probability is the delta, at every epsilon, of publishing both cells.
        """
        here, there = ({n + v: w for v, w in self.noise(n).items()} for n in (number, number + 1))
        alike = sum(w * there.get(result, 0) for result, w in here.items())
        return 1 - Fraction(alike, self.total**2)
