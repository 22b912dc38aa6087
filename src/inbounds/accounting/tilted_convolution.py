"""delta and epsilon of many answers by exponentially tilted convolution, never below the truth.

With masses p on the losses j·h and a tilt t, w = p·exp(t·j·h - c) is nearly a distribution with its mean at the loss of
interest. The K-fold convolution of p at loss l·h is W[l]·exp(K·c - t·l·h), W that of w. So at epsilon = m·h

    delta = exp(K·c - t·m·h) · sum_i W[m + i] · exp(-t·i·h)·(1 - exp(-i·h)),

and an error of W becomes an error of delta times exp(K·c - t·m·h), which is about delta itself, however small delta is.
Between grid points delta is bounded by a line in e^epsilon. Every step can only increase delta
(docs/theory/tilted-convolution.md).
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from inbounds.accounting.cumulants import STEEPEST, Cumulants, log_peak, log_sum
from inbounds.accounting.dominating_pairs import AnswerGroup
from inbounds.accounting.transform import convolve_powers, euclidean_norm, grid_points
from inbounds.directed_rounding import (
    ROUNDOFF,
    TINY,
    exp_above,
    exp_below,
    exponentials,
    log_above,
    log_below,
)
from inbounds.exact import Floats, round_up_to_float

MOST_MASSES = 1 << 16
"""The most grid points of one part, in integers of arbitrary size; losses far below zero take most of them."""

LONGEST = 1 << 18
"""Points of the longest transform."""

FINEST, MOST_POINTS, LEAST_POINTS = 1 << 13, 1 << 15, 64
"""Grid points for the largest loss: usually at most FINEST, up to MOST_POINTS if the smallest loss would otherwise have
fewer than LEAST_POINTS."""

UNLIKE = 256
"""A loss this many times larger than others may cost less as pure privacy than with a grid too coarse for them."""

WIDTH = 16.0
"""Width of the window, in standard deviations of the tilted sum."""

NEGLIGIBLE = 45.0
"""Weights below exp(-45) are counted in the tail."""

SMALL_SHARE = 1e-6
"""If error and tail are less than this share of delta, no other tilt is tried."""

TILTS_PER_OCTAVE = 2
"""Tilts per factor of two, so that neighbouring epsilons share a tilt; any tilt is valid, a near one about as good."""

WHOLE = 1 << 256
"""What stands for probability 1 where infinite losses are counted."""

LIFT = 1 + Fraction(1, 1 << 50)
"""The factor by which the last grid point lies above the largest loss, so that rounding does not bring it below."""


class TiltedPlan:
    """A composition declared in advance: `parts[i].times` answers from each mechanism, each with one dominating
    pair.
    """

    def __init__(self, parts: Sequence[AnswerGroup]) -> None:
        self.parts = tuple(parts)
        self.cumulants = Cumulants(self.parts)
        self._masses: dict[tuple[Fraction, tuple[int, ...]], list[Floats]] = {}
        self._last: dict[tuple[int, int], TiltedDistribution] = {}

    @cached_property
    def basic(self) -> Fraction:
        """The sum of the largest losses: the pure privacy loss."""
        return sum((p.times * p.largest for p in self.parts), Fraction(0))

    def distribution_at(self, tilt: float, longest: int = LONGEST) -> "TiltedDistribution":
        step, points, size = grid(self.parts, self.cumulants.deviation(tilt), longest)
        if (step, points) not in self._masses:
            self._masses = {(step, points): [p.masses(step, n) for p, n in zip(self.parts, points, strict=True)]}
        return TiltedDistribution(
            self._masses[step, points], points, tuple(p.times for p in self.parts), step, size, Fraction(tilt)
        )

    @cached_property
    def infinite(self) -> Fraction:
        """The probability that some loss is infinite, rounded up: 1 - prod (1 - T)^k. No epsilon has a smaller delta.

        On the other paths losses add up: the masses of finite losses, which sum to 1 - T, are convolved as they are.
        """
        kept = WHOLE
        for part in self.parts:
            square, times = math.floor((1 - part.infinite) * WHOLE), part.times
            while times:
                kept = kept * square // WHOLE if times & 1 else kept
                square, times = square * square // WHOLE, times >> 1
        return 1 - Fraction(kept, WHOLE)

    def delta(self, epsilon: Fraction, longest: int = LONGEST) -> Fraction:
        """Return a delta for which the plan is (epsilon, delta)-private; from the sum of the largest losses on it is
        `infinite`, which is 0 for pure answers.
        """
        return min(Fraction(1), self.infinite + self._finite_delta(epsilon, longest))

    def _finite_delta(self, epsilon: Fraction, longest: int) -> Fraction:
        if epsilon >= self.basic:
            return Fraction(0)
        octaves = round(math.log2(self.cumulants.tilt_for_epsilon(float(epsilon))) * TILTS_PER_OCTAVE)
        if (octaves, longest) not in self._last:
            self._last = {(octaves, longest): self.distribution_at(2.0 ** (octaves / TILTS_PER_OCTAVE), longest)}
        tilted_delta = min(self._last[octaves, longest].delta(epsilon), Fraction(1))
        if self._rest is None or epsilon < self._rest[0]:
            return tilted_delta
        pure, other_plan = self._rest
        return min(tilted_delta, other_plan._finite_delta(epsilon - pure, longest))

    @cached_property
    def _rest(self) -> "tuple[Fraction, TiltedPlan] | None":
        """The sum of the losses of parts with far larger losses than others, and the plan of the others."""
        bound = max(p.top for p in self.parts) / UNLIKE
        small = [p for p in self.parts if p.top < bound]
        pure = sum((p.times * p.largest for p in self.parts if p.top >= bound), Fraction(0))
        return (pure, TiltedPlan(small)) if small else None

    def likely(self, delta: Fraction) -> float:
        """Return an approximation of `epsilon`: the least Rényi bound, in floats."""
        log_delta = -float(log_above(1 / delta))
        t = self.cumulants.tilt_for_delta(log_delta)
        return (self.cumulants.value(t) + log_peak(t) - log_delta) / t

    def epsilon(self, delta: Fraction, longest: int = LONGEST) -> Fraction:
        """Return the least epsilon found for which the plan is (epsilon, delta)-private, never above `basic`.

        Raises ValueError if infinite losses alone have as large a delta.
        """
        if delta <= self.infinite:
            raise ValueError(f"delta must be above {float(self.infinite):.6g}, which no epsilon avoids, got {delta}")
        return self._finite_epsilon(delta - self.infinite, longest)

    def _finite_epsilon(self, delta: Fraction, longest: int) -> Fraction:
        target = -float(log_above(1 / delta))
        best, tilt = self.basic, self.cumulants.tilt_for_delta(target)
        for _ in range(3):
            tilted = self.distribution_at(tilt, longest)
            candidate = tilted.epsilon(delta, best)
            best = min(best, candidate)
            if tilted.waste(candidate) < SMALL_SHARE:
                break
            tilt = self.cumulants.tilt_for_epsilon(float(best))
        if self._rest is None:
            return best
        pure, other_plan = self._rest
        return min(best, pure + other_plan._finite_epsilon(delta, longest))


def grid(parts: Sequence[AnswerGroup], deviation: float, longest: int) -> tuple[Fraction, tuple[int, ...], int]:
    """Return a step that puts the largest losses as close as possible to grid points, the points of each part, and
    the size.
    """
    tops, times = np.array([float(p.top) for p in parts]), np.array([p.times for p in parts])
    reach = np.array([float(p.top) + p.bottom for p in parts])
    widest = min(WIDTH * deviation, float(times @ reach)) / tops.max()
    target_points = min(max(FINEST, LEAST_POINTS * tops.max() / tops.min()), MOST_POINTS)
    spread = max(1 + p.bottom / float(p.top) for p in parts)
    finest = max(2, int(min(target_points, MOST_MASSES / spread, longest / max(widest, 1e-9) / 1.01)))
    counts = np.arange(finest, finest - max(1, finest // 4), -1)[:, None]
    points = np.maximum(np.ceil(tops * counts / tops.max() - 1e-9), 1)
    overshoot = ((points * tops.max() / counts - tops) * times).sum(axis=1) / (tops.max() * times.sum())
    chosen_points = tuple(int(n) for n in points[int(np.argmin(np.round(overshoot, 9)))])
    step = Fraction(round_up_to_float(max(p.top * LIFT / n for p, n in zip(parts, chosen_points, strict=True))))
    support = sum(p.times * (n + p.below(step)) for p, n in zip(parts, chosen_points, strict=True)) + 2
    window = max(WIDTH * deviation / float(step), 8 * max(chosen_points))
    return step, chosen_points, min(1 << (int(min(support, window)) - 1).bit_length(), LONGEST)


@dataclass(frozen=True)
class TiltedDistribution:
    """The tilted, cyclic convolution for one tilt, with a bound of its error in the Euclidean norm."""

    masses: Sequence[Floats]
    points: tuple[int, ...]
    times: tuple[int, ...]
    step: Fraction
    size: int
    tilt: Fraction

    @cached_property
    def most(self) -> int:
        """The largest loss, in steps."""
        return sum(k * n for k, n in zip(self.times, self.points, strict=True))

    @cached_property
    def _scales(self) -> list[Fraction]:
        """The scale c of each part; any number is valid. Approximately the logarithm of the sum of p·exp(t·j·h)."""
        t, h = float(self.tilt), float(self.step)
        return [Fraction(log_sum(np.log(np.maximum(p, TINY)) + t * h * grid_points(p, n))) for p, n in self._laws]

    @property
    def _laws(self) -> list[tuple[Floats, int]]:
        return list(zip(self.masses, self.points, strict=True))

    @cached_property
    def weights(self) -> list[Floats]:
        """w >= p·exp(t·j·h - c), entry by entry."""
        rate = self.tilt * self.step
        weights = []
        for (p, n), c in zip(self._laws, self._scales, strict=True):
            w = p * exponentials(rate, n + 1 - len(p), len(p), c) * (1 + 8 * ROUNDOFF)
            weights.append(np.where(p > 0, np.maximum(w, TINY), 0.0))
        return weights

    @cached_property
    def _log_total(self) -> Fraction:
        """The logarithm of a bound of the sum of W."""
        return sum(
            (k * _log_bound(w.sum(), len(w)) for w, k in zip(self.weights, self.times, strict=True)), Fraction(0)
        )

    @cached_property
    def _convolution(self) -> tuple[Floats, float]:
        """W, and a bound of its error in the Euclidean norm."""
        return convolve_powers(list(zip(self.weights, self.points, self.times, strict=True)), self.size)

    @cached_property
    def _visible_losses(self) -> Floats:
        """Bounds v_i >= exp(-t·i·h)·(1 - exp(-i·h)) for the losses from epsilon to the end of the window."""
        count = min(self.size // 2 if self.most >= self.size else self.size, self.most + 1)
        count = min(count, int(NEGLIGIBLE / float(self.tilt * self.step)) + 2)
        share = 1 - exponentials(-self.step, 0, count) * (1 - 8 * ROUNDOFF) + 2 * ROUNDOFF
        share[0] = 0.0
        return np.asarray(exponentials(-self.tilt * self.step, 0, count) * share * (1 + 16 * ROUNDOFF))

    @cached_property
    def _error(self) -> float:
        norm = euclidean_norm(self._visible_losses) * (1 + self.size * ROUNDOFF)
        return self._convolution[1] * norm * (1 + 1e-12)

    @cached_property
    def _chernoff(self) -> tuple[Fraction, Fraction]:
        """An exponent s and ln of a bound of the sum of W·exp(s·l·h), for the mass beyond the window."""
        losses = [float(self.step) * grid_points(w, n) for w, n in zip(self.weights, self.points, strict=True)]
        laws = list(zip(self.weights, losses, self.times, strict=True))
        variance = sum(k * (float(w @ x**2) - float(w @ x) ** 2) for w, x, k in laws)
        window = float(self.step) * len(self._visible_losses)
        s = Fraction(min(window / max(variance, 1e-300), STEEPEST / (2 * float(self.step) * max(self.points)))) / 2
        total = Fraction(0)
        for w, n, k in zip(self.weights, self.points, self.times, strict=True):
            lifted = w * exponentials(s * self.step, n + 1 - len(w), len(w)) * (1 + 8 * ROUNDOFF)
            total += k * _log_bound(float(lifted.sum()), len(w))
        return s, total

    def _beyond(self, end: int) -> float:
        """Return a bound of the sum of W·exp(-t·l·h) over the losses l·h from `end` steps on, divided by
        exp(-t·start·h).
        """
        if end > self.most:
            return 0.0
        s, total = self._chernoff
        log = min(total - s * end * self.step, self._log_total) - self.tilt * len(self._visible_losses) * self.step
        return math.exp(float(log)) * (1 + 1e-9) if log > -691 else TINY

    def _sum(self, start: int) -> tuple[float, float]:
        """Return a bound of the sum of W[start + i]·v_i, and how much of it is error and tail."""
        v = self._visible_losses[: max(self.most - start + 1, 1)]
        first, last = start % self.size, start % self.size + len(v)
        window = self._convolution[0][first:last]
        if last > self.size:
            window = np.concatenate([window, self._convolution[0][: last - self.size]])
        extra = self._error + self._beyond(start + len(self._visible_losses))
        return float((window * v).sum()) * (1 + 2 * self.size * ROUNDOFF) + extra + TINY, extra

    @cached_property
    def _log_scale(self) -> Fraction:
        return sum((k * c for k, c in zip(self.times, self._scales, strict=True)), Fraction(0))

    @cached_property
    def _log_most(self) -> Fraction:
        """The Rényi bound of this order: the sum of W times the largest exp(-t·x)·(1 - exp(-x))."""
        return self._log_total - self.tilt * log_below(1 + 1 / self.tilt) - log_below(1 + self.tilt)

    def log_delta(self, start: int) -> Fraction:
        """Return ln of a delta at epsilon = start·h."""
        total = self._sum(start)[0]
        log = log_above(Fraction(total)) if math.isfinite(total) else self._log_most
        return self._log_scale - self.tilt * start * self.step + min(log, self._log_most)

    def _rough_log_delta(self, start: int) -> float:
        """Return the same in floats."""
        total = self._sum(start)[0]
        log = math.log(total) if math.isfinite(total) else math.inf
        return self._floats[0] - self._floats[1] * start + min(log, self._floats[2])

    @cached_property
    def _floats(self) -> tuple[float, float, float]:
        return float(self._log_scale), float(self.tilt * self.step), float(self._log_most)

    def waste(self, epsilon: Fraction) -> float:
        """Return the share of delta at epsilon that is error and tail."""
        total, extra = self._sum(int(epsilon / self.step))
        return extra / total

    def delta(self, epsilon: Fraction) -> Fraction:
        """Return a delta at epsilon, interpolated between grid points: delta is convex in e^epsilon."""
        start = int(epsilon / self.step)
        high, low = (exp_above(self.log_delta(m)) for m in (start, start + 1))
        share = (exp_below(epsilon - start * self.step) - 1) / (exp_above(self.step) - 1)
        return high - max(share, Fraction(0)) * (high - low) if low < high else high

    def epsilon(self, delta: Fraction, most: Fraction) -> Fraction:
        """Return an epsilon at delta, at most `most`: bisection over grid points, then the line between two.

        Floats bisect, and the exact values decide: they are looked at in steps that double from there on.
        """
        target, low, high = log_below(delta), 0, min(math.ceil(most / self.step), self.most)
        if self.log_delta(0) <= target:
            return Fraction(0)
        if self.log_delta(high) > target:
            return most
        rough = self._rough_log_delta
        first = bisect_left(range(high), -float(target), key=lambda start: -rough(start))
        near, reach = min(max(first, 1), high - 1) if high > 1 else 1, 1
        while near < high and near > low:
            if self.log_delta(near) <= target:
                high, near = near, max(near - reach, low)
            else:
                low, near = near, min(near + reach, high)
            reach *= 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.log_delta(middle) <= target else (middle, high)
        above, below = (exp_above(self.log_delta(m)) for m in (low, high))
        share = (above - delta) / (above - below)
        return min(most, low * self.step + log_above(1 + share * (exp_above(self.step) - 1)))


def _log_bound(total: float, terms: int) -> Fraction:
    """Return an upper bound of the logarithm of a sum of `terms` floats that was computed as `total`."""
    return log_above(Fraction(total) * (1 + Fraction(terms + 2, 1 << 53)))
