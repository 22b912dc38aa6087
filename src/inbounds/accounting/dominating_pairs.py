"""One pair of distributions that dominates all pairs of a mechanism's columns, on a grid of losses.

The curve of a pair (P, Q) is delta(X) = sum max(0, P - X·Q), X = e^epsilon. It is convex and decreasing, and
determines every composition. Take the maximum of several curves at the points X_j <= exp(j·h) and connect them: that is
the curve of a pair with losses ln X_j only, and it dominates all of them, also in sequences of adaptively chosen
questions (Zhu, Dong, Wang 2022; Doroshenko et al. 2022). Curves are integers here; a mass is rounded up once, when it
becomes a float.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inbounds.directed_rounding import ROUNDOFF, exp_above, exp_below, exponentials, log_above, powers_below
from inbounds.exact import Floats, Ints

Wholes = NDArray[Any]
"""An object array of Python integers."""

MORE_BITS = 140
"""Different ratios of 62-bit numbers differ by more than 2^-126 of each other, so this many bits tell them apart."""

SLOPE_BITS = 120
LEAST_MASS = 1e-290
LEAST_LOSS = Fraction(1, 10**9)
"""The least largest loss of a grid: floats, which choose the tilt, resolve nothing finer."""

NEGLIGIBLE_STEP = 2.0**-10
"""Share of a grid step that roundings may add to the losses of all answers together."""

FEW_WEIGHTS = 300
"""Curves with more weights in total are not compared in integers, because that takes quadratic time."""

LOWEST = 64
"""Losses below -LOWEST times the largest loss are raised to that."""


@dataclass(frozen=True)
class Curve:
    """The curve X -> sum max(0, P - X·Q) of one pair of columns, in integers; outputs in any order, P not 0.

    leak: the weight of all outputs with Q = 0, which counts at every X; the others have Q > 0.
    """

    upper: tuple[int, ...]
    lower: tuple[int, ...]
    leak: int = 0

    @cached_property
    def _order(self) -> list[tuple[int, int, int]]:
        rows = zip(self.upper, self.lower, strict=True)
        return sorted((-((p << MORE_BITS) // q), p, q) for p, q in rows)

    @cached_property
    def largest(self) -> Fraction:
        """The largest finite ratio P/Q."""
        return Fraction(*self._order[0][1:])

    @cached_property
    def least(self) -> Fraction:
        return Fraction(*self._order[-1][1:])

    @cached_property
    def _sums(self) -> tuple[Wholes, Wholes]:
        """The sums of P and of Q over the first i outputs."""
        p, q = ([0, *accumulate(row[at] for row in self._order)] for at in (1, 2))
        return np.array(p, dtype=object), np.array(q, dtype=object)

    @property
    def sorted_upper(self) -> list[int]:
        """The weights P in the order of `ratios`."""
        return [p for _, p, _ in self._order]

    @cached_property
    def ratios(self) -> Floats:
        """The ratios P/Q as floats, falling."""
        return np.array([p / q for _, p, q in self._order])

    def rough(self, x: Floats, total: int) -> Floats:
        """Return the curve as a share of the total, in floats."""
        p, q = (sums.astype(np.float64) / total for sums in self._sums)
        count = np.searchsorted(-self.ratios, -x, side="left")
        return np.asarray(self.leak / total + p[count] - x * q[count])

    def ratio_at_excess(self, allowed: Fraction) -> Fraction:
        """Return the least ratio P/Q of an output at which finite losses beyond weigh at most `allowed`."""
        found, (p_sums, q_sums) = self.largest, self._sums
        for (_, p, q), p_sum, q_sum in zip(self._order, p_sums, q_sums, strict=False):
            if p_sum * q - q_sum * p > allowed * q:
                break
            found = Fraction(p, q)
        return found

    def height(self, x: Fraction) -> Fraction:
        """Return the curve at X = x, exactly."""
        rows = zip(self.upper, self.lower, strict=True)
        return self.leak + sum((max(Fraction(0), p - x * q) for p, q in rows), Fraction(0))

    def exactly(self, wholes: Wholes, x: Floats, bits: int) -> Wholes:
        """Return the curve times 2**bits at X = wholes / 2**bits; x are the same numbers as floats."""
        margins = 1 - 8 * ROUNDOFF, 1 + 8 * ROUNDOFF
        count, most_count = (np.searchsorted(-self.ratios * factor, -x, side="left") for factor in margins)
        for i in np.flatnonzero(count != most_count):
            undecided = self._order[count[i] : most_count[i]]
            count[i] += sum(p << bits >= wholes[i] * q for _, p, q in undecided)
        p, q = self._sums
        return np.asarray((p[count] + self.leak << bits) - wholes * q[count])


@dataclass(frozen=True)
class AnswerGroup:
    """One mechanism in a composition: the curves of its columns over one total, and how often it answers.

    has_delta: whether losses may be infinite, or above epsilon; these count as infinite. Otherwise none is.
    """

    curves: tuple[Curve, ...]
    total: int
    epsilon: Fraction
    times: int
    has_delta: bool = False

    @cached_property
    def infinite(self) -> Fraction:
        """The probability of an infinite loss: the height of the curves where finite losses end, if there is a delta.

        Connecting the curve's points up to there and going on flat gives the curve of a pair whose P has this mass
        where Q has none (docs/theory/tilted-convolution.md).
        """
        if not self.has_delta:
            return Fraction(0)
        return Fraction(max(curve.height(exp_below(self.top)) for curve in self.curves)) / self.total

    @cached_property
    def largest(self) -> Fraction:
        """A rational at or above every finite loss and at most epsilon; without a delta the pure privacy loss."""
        log_ratio = log_above(max(curve.largest for curve in self.curves))
        return min(self.epsilon, Fraction(math.ceil(log_ratio * 10**24), 10**24))

    @cached_property
    def top(self) -> Fraction:
        """The same, raised if it is too small for a grid."""
        return min(self.epsilon, max(self.largest, self.epsilon / 10**6, LEAST_LOSS))

    @cached_property
    def bottom(self) -> float:
        """Approximately minus the least loss; at most LOWEST times the largest loss."""
        least_ratio = min(curve.least for curve in self.curves)
        return min(-math.log(least_ratio), LOWEST * float(self.top)) if least_ratio < 1 else 0.0

    def below(self, step: Fraction) -> int:
        """Return the number of grid points below zero."""
        return max(1, math.ceil(self.bottom / step))

    def rough_masses(self, step: float, points: int) -> Floats:
        """Return the result of `masses` to a few digits, for choosing only."""
        x = np.exp(step * np.arange(-self.below(Fraction(step)), points + 1))
        top = np.maximum.reduce([curve.rough(x, self.total) for curve in self.curves])
        slope = -np.diff(top) / np.diff(x)
        inner = x[1:-1] * -np.diff(slope)
        return np.asarray(np.maximum(0, np.concatenate([[1 - top[0] - x[0] * slope[0]], inner, [x[-1] * slope[-1]]])))

    def masses(self, step: Fraction, points: int) -> Floats:
        """Return upper bounds of the masses at losses -below·step … points·step of a pair that dominates all curves."""
        added = 32 * ROUNDOFF * self.times  # what floats of ratios add to the sum of all losses
        if len(self.curves) == 1 and not self.has_delta and added <= NEGLIGIBLE_STEP * step:
            return self._split_masses(step, points)
        low = self.below(step)
        bits = 128 + int(1.5 * low * step)
        grid = powers_below(step, low, points, bits)
        wholes, x = np.array(grid, dtype=object), np.array([g / (1 << bits) for g in grid])
        top = self._highest(wholes, x, bits)
        if top[-1] != 0 and not self.has_delta:
            raise ArithmeticError("the grid must reach the largest loss")
        slope = ((top[:-1] - top[1:]) << SLOPE_BITS) // (wholes[1:] - wholes[:-1])  # Q beyond each cell, rounded down
        first = (((self.total << bits) - top[0]) << SLOPE_BITS) - wholes[0] * slope[0]
        inner = wholes[1:-1] * (slope[:-1] + 1 - slope[1:])
        scale = self.total << bits + SLOPE_BITS
        rounded = np.array([max(m / scale, 0.0) for m in (first, *inner, wholes[-1] * (slope[-1] + 1))])
        return np.where(rounded > 0, np.maximum(rounded * (1 + 4 * ROUNDOFF), LEAST_MASS), 0.0)

    def _split_masses(self, step: Fraction, points: int) -> Floats:
        """Return the masses for one curve: each of its losses goes to the grid points beside it, with the same Q.

        That connects the dots at X_j, which are floats below exp(j·step). A ratio is rounded up to a float before.
        """
        low, curve = self.below(step), self.curves[0]
        x = exponentials(step, -low, low + points + 1) * (1 - 8 * ROUNDOFF)
        p = np.array([weight / self.total for weight in curve.sorted_upper])
        ratio = np.maximum(curve.ratios * (1 + 8 * ROUNDOFF), x[0])
        cell = np.minimum(np.searchsorted(x, ratio, side="right") - 1, low + points - 1)
        near, far = x[cell], x[cell + 1]
        ratio = np.minimum(ratio, far)  # the last point stands for all ratios: its loss is above the largest one
        width = ratio * (far - near)
        below, above = p * (near * (far - ratio) / width), p * (far * (ratio - near) / width)
        masses = np.bincount(cell, below, len(x)) + np.bincount(cell + 1, above, len(x))
        return np.where(masses > 0, np.maximum(masses * (1 + (len(p) + 24) * ROUNDOFF), LEAST_MASS), 0.0)

    def _highest(self, wholes: Wholes, x: Floats, bits: int) -> Wholes:
        """Return the maximum of the curves; exact where floats cannot tell which curve is the highest.

        Along a run of points on which every curve is linear, a curve that is the highest at both ends is the highest
        between them. Other runs are halved. So few points need the exact value of every curve.
        """
        rough = [curve.rough(x, self.total) for curve in self.curves]
        threshold = np.maximum.reduce(rough) - 16 * ROUNDOFF * (1 + x)
        alike = np.array([values >= threshold for values in rough])
        top, highest = np.zeros(len(x), dtype=object), np.zeros(alike.shape, dtype=bool)
        runs = np.stack(_linear_runs(self.curves, x))
        places = np.unique(runs)
        while len(places):
            self._compare_at(places, alike, wholes, x, bits, top, highest)
            first, last = runs
            common = highest[:, first] & highest[:, last]
            winner = np.where(common.any(axis=0), common.argmax(axis=0), -1)
            for k in np.unique(winner[winner >= 0]).tolist():
                inner = _between(first[winner == k], last[winner == k])
                top[inner] = self.curves[k].exactly(wholes[inner], x[inner], bits)
            first, last = (ends[(winner < 0) & (last - first > 1)] for ends in runs)
            places = (first + last) // 2
            runs = np.stack([np.concatenate([first, places]), np.concatenate([places, last])])
        return top

    def _compare_at(
        self,
        places: Ints,
        alike: NDArray[np.bool_],
        wholes: Wholes,
        x: Floats,
        bits: int,
        top: Wholes,
        highest: NDArray[np.bool_],
    ) -> None:
        """Write the exact maximum at some points, and which of the curves that floats cannot tell apart reach it."""
        exact = np.zeros((len(self.curves), len(places)), dtype=object)
        for k, curve in enumerate(self.curves):
            near = np.flatnonzero(alike[k, places])
            if len(near):
                exact[k, near] = curve.exactly(wholes[places[near]], x[places[near]], bits)
        top[places] = exact.max(axis=0)
        highest[:, places] = alike[:, places] & (exact == top[places])


def _between(first: Ints, last: Ints) -> Ints:
    """Return all places strictly between the ends of each run."""
    count = np.maximum(last - first - 1, 0)
    starts = np.repeat(first + 1 - (np.cumsum(count) - count), count)
    return np.asarray(starts + np.arange(count.sum()))


def _linear_runs(curves: Sequence[Curve], x: Floats) -> tuple[Ints, Ints]:
    """Return the first and last places of runs of points between which no curve has a kink, to float precision."""
    kinked = np.zeros(len(x) + 1, dtype=bool)  # between x[i - 1] and x[i]
    for curve in curves:
        for factor in (1 - 8 * ROUNDOFF, 1 + 8 * ROUNDOFF):
            kinked[np.searchsorted(x, curve.ratios * factor)] = True
    kinked[0] = kinked[-1] = True
    breaks = np.flatnonzero(kinked)
    return breaks[:-1], breaks[1:] - 1


def response_pair(epsilon: Fraction, times: int, delta: Fraction = Fraction(0)) -> AnswerGroup:
    """Return the pair that dominates every epsilon-private pair: e^eps : 1 against 1 : e^eps, with e^eps rounded up.

    Every epsilon-private pair is a post-processing of it (Kairouz, Oh, Viswanath 2015), so it replaces the columns of a
    mechanism that are too large to examine. With a delta it is that pair with probability 1 - delta, and else an output
    that the other answer never gives.
    """
    unit, (part, whole) = 1 << 100, (delta.denominator - delta.numerator, delta.denominator)
    high = math.ceil(exp_above(epsilon) * unit)
    curve = Curve((high * part, unit * part), (unit * part, high * part), (high + unit) * (whole - part))
    return AnswerGroup((curve,), (high + unit) * whole, epsilon + Fraction(1, 1 << 90), times, bool(delta))


def unique_curves(curves: Iterable[Curve]) -> tuple[Curve, ...]:
    """Return the curves without repetitions."""
    return tuple(dict.fromkeys(curves))


def dominating_pair(curves: Sequence[Curve]) -> Curve | None:
    """Return the curve that lies above all others everywhere; None if there is none or there are too many weights.

    Curves are linear between their ratios, so they are compared there, in integers.
    """
    if sum(len(c.upper) for c in curves) > FEW_WEIGHTS:
        return None
    candidate = max(curves, key=lambda c: sum(abs(p - q) for p, q in zip(c.upper, c.lower, strict=True)))
    ratios = {Fraction(p, q) for c in curves for p, q in zip(c.upper, c.lower, strict=True)}
    dominates = all(_height(candidate, x) >= _height(other, x) for x in ratios for other in curves)
    return candidate if dominates else None


def _height(curve: Curve, x: Fraction) -> int:
    """Return sum max(0, P - x·Q), times the denominator of x."""
    rows = zip(curve.upper, curve.lower, strict=True)
    return sum(max(0, p * x.denominator - q * x.numerator) for p, q in rows)
