"""Privacy profiles: the least delta of any matrix at every epsilon, and the least epsilon at every delta, exactly.

For an ordered pair of answers with the columns P and Q, H(X) = sum max(0, P - X·Q) is the least delta at X = e^epsilon:
the largest of Pr[S | first] - X·Pr[S | second] over all sets S of outputs. An output that the second answer cannot give
counts in full, at every epsilon. H does not telescope as ratios do: three answers in a row may keep (epsilon, delta)
step by step and need up to delta·(1 + e^epsilon) at 2·epsilon for both steps, so every pair is looked at itself.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inbounds.directed_rounding import ROUNDOFF, TINY, exp_below, log_above
from inbounds.errors import TooLarge
from inbounds.exact import EXPONENT_CAP, Floats, Ints
from inbounds.query import RangeQuery

MOST_TERMS = 50_000_000
"""The most pairs of answers times outputs of a profile."""

AT_A_TIME = 1 << 20
"""Pairs times outputs that are compared in floats at a time."""

ONE = Fraction(1)

ComparedPair = tuple[int, int, Fraction]
"""Two columns, and how many times epsilon counts between them."""


@dataclass(frozen=True)
class PairProfile:
    """H(X) = sum max(0, P - X·Q) of one ordered pair of columns, in integers.

    rows: whole weights of an output under the two answers, and how many outputs have them; the first is positive.
    total: what stands for probability 1. distance: epsilon counts this many times between the two answers.
    """

    rows: tuple[tuple[int, int, int], ...]
    total: Fraction
    distance: Fraction = ONE

    @classmethod
    def from_columns(
        cls, upper: Iterable[int], lower: Iterable[int], total: Fraction, distance: Fraction = ONE
    ) -> "PairProfile":
        counts = Counter((p, q) for p, q in zip(upper, lower, strict=True) if p)
        return cls(tuple((p, q, times) for (p, q), times in sorted(counts.items())), total, distance)

    @property
    def _infinite(self) -> int:
        return sum(p * times for p, q, times in self.rows if not q)

    @property
    def infinite(self) -> Fraction:
        """The probability, under the first answer, of outputs that the second cannot give."""
        return self._infinite / self.total

    def delta_at(self, ratio: Fraction) -> Fraction:
        """Return H(ratio), exactly."""
        n, d = ratio.numerator, ratio.denominator
        return sum(max(0, p * d - q * n) * times for p, q, times in self.rows) / (d * self.total)

    def delta(self, epsilon: Fraction) -> Fraction:
        """Return the least delta at epsilon, rounded up by less than 10^-50: e^(epsilon·distance) is rounded down."""
        exponent = epsilon * self.distance
        if exponent > EXPONENT_CAP:
            largest = max((Fraction(p, q) for p, q, _ in self.rows if q), default=ONE)
            if exponent >= log_above(max(largest, ONE)):
                return self.infinite
        return self.delta_at(exp_below(exponent) if exponent else ONE)

    def ratio_at(self, delta: Fraction) -> Fraction | None:
        """Return the least X >= 1 with H(X) <= delta, exactly; None if there is none.

        H is linear between the ratios P/Q: above the ratios seen so far H·total is p - X·q, for the sums p, q over
        their outputs.
        """
        allowed = delta * self.total
        p, q = Fraction(self._infinite), 0
        if p > allowed:
            return None
        for first, second, times in sorted((row for row in self.rows if row[1]), key=lambda row: -Fraction(*row[:2])):
            if q and (p - allowed) * second >= first * q:
                break
            p, q = p + first * times, q + second * times
        return max((p - allowed) / q, ONE) if q else ONE

    def epsilon_at(self, delta: Fraction) -> Fraction | None:
        """Return the least epsilon at delta, rounded up by less than 10^-50; None if there is none."""
        ratio = self.ratio_at(delta)
        return None if ratio is None else log_above(ratio) / self.distance


class Profile:
    """The privacy profile of a mechanism: the largest H over its ordered pairs of answers.

    Floats with a bound on their error only select the pairs that may be the worst; these are compared exactly.
    """

    def __init__(self, values: NDArray[Any], pairs: Sequence[ComparedPair]) -> None:
        """Compare columns of exact entries P[output, answer]; they count as they are, the least column sum as 1.

        Raises `TooLarge` above MOST_TERMS pairs times outputs.
        """
        if len(pairs) * len(values) > MOST_TERMS:
            raise TooLarge(f"a profile may have at most {MOST_TERMS:_} pairs of neighbours times outputs")
        self._columns = [_to_wholes(values[:, j].tolist()) for j in range(values.shape[1])]
        self._one = min(Fraction(sum(weights), unit) for weights, unit in self._columns)
        self._pairs = pairs
        self._pair_profiles: dict[int, PairProfile] = {}
        self._floats: Floats = np.array([_to_floats(weights, unit * self._one) for weights, unit in self._columns])
        self._zeros = np.asarray(values == 0).T
        self._ends: Ints = np.array([pair[:2] for pair in pairs], dtype=np.int64).reshape(-1, 2)

    @classmethod
    def from_entries(cls, values: NDArray[Any], query: RangeQuery) -> "Profile":
        """Return the profile of exact entries for all pairs of answers that the query compares."""
        return cls(values, query.compared_pairs())

    def delta(self, epsilon: Fraction) -> Fraction:
        """Return the least delta at epsilon, rounded up by less than 10^-50."""
        rough, error = self._rough_delta(epsilon)
        return min(ONE, max((pair.delta(epsilon) for pair in self._worst(rough, error)), default=Fraction(0)))

    def epsilon_at(self, delta: Fraction) -> Fraction | None:
        """Return the least epsilon at delta, rounded up by less than 10^-50; None if no epsilon has this delta.

        It is raised to what the worst pair needs, again and again, until no pair needs more.
        """
        if self.infinite > delta:
            return None
        least = Fraction(0)
        while True:
            rough, error = self._rough_delta(least)
            doubtful = np.flatnonzero(rough + error >= float(delta) * (1 - 4 * ROUNDOFF))
            order = doubtful[np.argsort(-rough[doubtful], kind="stable")]
            needs = (pair.epsilon_at(delta) for pair in self._different(order) if pair.delta(least) > delta)
            higher = next((epsilon for epsilon in needs if epsilon is not None and epsilon > least), None)
            if higher is None:
                return least
            least = higher

    @cached_property
    def infinite(self) -> Fraction:
        """The delta that no epsilon avoids: the largest probability of outputs that a neighbour cannot give."""
        masses = [self._mass_at_zeros(start) for start in range(0, len(self._pairs), self._step)]
        if not masses:
            return Fraction(0)
        rough = np.concatenate(masses)
        error = (len(self._columns[0][0]) + 4) * ROUNDOFF * rough + TINY
        return max(pair.infinite for pair in self._worst(rough, error))

    @property
    def _step(self) -> int:
        return max(1, AT_A_TIME // len(self._columns[0][0]))

    def _mass_at_zeros(self, start: int) -> Floats:
        tails, heads = self._ends[start : start + self._step].T
        return np.asarray((self._floats[tails] * self._zeros[heads]).sum(axis=1))

    def _worst(self, rough: Floats, error: Floats) -> Iterator[PairProfile]:
        """Yield the different pairs that may have the largest value."""
        if rough.size:
            yield from self._different(np.flatnonzero(rough + error >= (rough - error).max()))

    def _different(self, indices: Ints) -> Iterator[PairProfile]:
        """Yield the profiles of these pairs in order, without repetitions."""
        seen = set()
        for pair in map(self._pair, indices.tolist()):
            if pair not in seen:
                seen.add(pair)
                yield pair

    def _rough_delta(self, epsilon: Fraction) -> tuple[Floats, Floats]:
        """Return H of every pair at epsilon in floats, and a bound on the error.

        Entries and ratio are off by less than 8u of themselves, and so is each difference of terms of the sum by that
        share of both. Where a ratio is beyond what floats can tell, nothing is known.
        """
        outputs = self._floats.shape[1]
        rough, error = np.zeros(len(self._pairs)), np.full(len(self._pairs), np.inf)
        distances = {distance for *_, distance in self._pairs}
        if max(distances, default=Fraction(0)) * epsilon > EXPONENT_CAP:
            return rough, error
        exponentials = {distance: math.exp(float(epsilon * distance)) for distance in distances}
        ratios = np.array([exponentials[distance] for *_, distance in self._pairs])
        for start in range(0, len(self._pairs), self._step):
            span = slice(start, start + self._step)
            upper, lower = (self._floats[at] for at in self._ends[span].T)
            lower = lower * ratios[span, None]
            excess = upper - lower
            size = np.where(excess >= -64 * ROUNDOFF * upper, upper + lower, 0.0).sum(axis=1)
            rough[span] = np.maximum(excess, 0.0).sum(axis=1)
            error[span] = (outputs + 64) * ROUNDOFF * (size + rough[span]) + outputs * TINY * ratios[span]
        return rough, error

    def _pair(self, index: int) -> PairProfile:
        if index not in self._pair_profiles:
            j, k, distance = self._pairs[index]
            (upper, first), (lower, second) = self._columns[j], self._columns[k]
            unit = math.lcm(first, second)
            wholes, others = _to_unit(upper, first, unit), _to_unit(lower, second, unit)
            self._pair_profiles[index] = PairProfile.from_columns(wholes, others, unit * self._one, distance)
        return self._pair_profiles[index]


def _to_wholes(entries: Sequence[Any]) -> tuple[list[int], int]:
    """Return exact entries as whole multiples of one unit: the multiples, and how many of them are 1."""
    exact = [Fraction(entry) for entry in entries]
    unit = math.lcm(*(entry.denominator for entry in exact))
    return [entry.numerator * (unit // entry.denominator) for entry in exact], unit


def _to_unit(weights: Sequence[int], unit: int, finer: int) -> list[int]:
    """Return multiples of a unit as those of a finer one."""
    return [weight * (finer // unit) for weight in weights]


def _to_floats(weights: Sequence[int], total: Fraction) -> list[float]:
    """Return the shares of a total, to the nearest float; 0 for a share too small for a float of full precision."""
    shares = [weight * total.denominator / total.numerator for weight in weights]
    return [share if share >= TINY else 0.0 for share in shares]
