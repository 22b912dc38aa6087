"""The best outputs for clamped noise of any shape, on a range of any length.

The cost of the output s + u at the noisy value s is sum_j p_j t[s - j] f(|s + u - j|): for each shift u one convolution
of the prior p with the kernel t[d] f(|d + u|). Only shifts that can pay are tried, on a grid that is fine against the
width of the noise. Under a uniform prior a value far from both ends is its own best output.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft

from inbounds.design.problem import Floats, Ints
from inbounds.mechanism.laws import Noise
from inbounds.trusted.bounds import TOTAL

FARTHEST = 8.0
"""Largest shift, in widths reach / rate of the noise, beside one reach."""

GRID = 64
"""Shifts tried per width of the noise, if that has so many steps."""

BETTER = 1e-9
"""A larger shift must be better by this share."""

FAINT = 1e-12
"""A noisy value with a smaller share of the probability than the largest is lost to the rounding of the sums."""


def best_reports(noise: Floats, losses: Floats, prior: Floats, reach: int, rate: float) -> Ints:
    """Find the output of least expected loss for every noisy value 0..n-1.

    noise[d + K]: probability of noise d, |d| <= K; they sum to one but for what is beyond. The noisy value is clamped
    to the range. losses[e]: of an error of e = 0..n-1 steps. prior: weights of the answers 0..n-1. Cost: O(n log n)
    for each of the shifts.
    """
    n, most = len(prior), len(noise) // 2
    half = min(most, n - 1)
    core, steps, values = noise[most - half : most + half + 1], np.arange(-half, half + 1), np.arange(n)
    best, reports = np.full(n, np.inf), values.copy()
    shifts = _shifts(reach, rate)
    around = _Convolution.from_vector(prior, len(core))
    for u in shifts.tolist():
        cost = around.convolve(core * losses[np.minimum(np.abs(steps + u), n - 1)])[half : half + n]
        better = (cost < best * (1 - BETTER)) & (values + u >= 0) & (values + u < n)
        best[better], reports[better] = cost[better], values[better] + u
    rest = max(1.0 - float(noise.sum()), 0.0) / 2  # on each side, beyond the noise that is listed
    below = np.append(rest + np.cumsum(noise[: most + 1])[::-1], rest)  # below[j]: the probability of noise -j or less
    reports[0] = _report_of_first(below, losses, prior)
    reports[-1] = n - 1 - _report_of_first(below, losses, prior[::-1])
    mass = around.convolve(core)[half : half + n]
    sure = (mass > FAINT * mass[1:-1].max(initial=0.0)) & (np.abs(reports - values) < shifts.max())
    sure[[0, -1]] = True
    reports = _fill_unsure(reports, sure)
    if np.array_equal(prior, prior[::-1]):
        reports[(n + 1) // 2 :] = n - 1 - reports[: n // 2][::-1]
    return reports


def best_reports_evenly(law: Noise, losses: Floats, split: int, depth: int, reach: int, rate: float) -> Ints:
    """Find the best outputs of staircase noise under a uniform prior: `depth` values at each end do not stay as they
    are.
    """
    size = law.size + 1
    if size < 2 * depth + 2:
        return best_reports(law.core / TOTAL, losses, np.full(size, 1.0 / size), reach, rate)
    # the ends of long ranges are alike, and losses that differ by their unit have the same outputs
    shape = (losses[: 2 * depth + 2] / (losses[losses > 0][:1] if losses[-1] > 0 else 1.0)).astype(np.float32)
    ends = np.frombuffer(_reports_of_end(shape.tobytes(), split, reach, rate), dtype=np.int64)
    reports = np.arange(size)
    reports[: len(ends)], reports[size - len(ends) :] = ends, size - 1 - ends[::-1]
    return reports


@lru_cache(maxsize=64)
def _reports_of_end(losses: bytes, split: int, reach: int, rate: float) -> bytes:
    """Return the best outputs of the first values of a long range, half as many as there are losses."""
    table = np.frombuffer(losses, dtype=np.float32).astype(np.float64)
    errors = np.abs(np.arange(-len(table), len(table) + 1))
    noise = np.exp(-rate * np.where(errors < split, 0, (errors - split) // reach + 1))
    reports = best_reports(noise / noise.sum(), table, np.full(len(table), 1.0 / len(table)), reach, rate)
    return reports[: len(table) // 2].tobytes()


@dataclass(frozen=True, eq=False)
class _Convolution:
    """Convolutions with one vector, by Fourier transforms: its own is computed once.

    scipy.signal has the same function, and takes half a second to import.
    """

    transform: NDArray[np.complex128]
    size: int
    padded: int

    @classmethod
    def from_vector(cls, vector: Floats, longest: int) -> "_Convolution":
        """Transform the vector; the others have `longest` entries."""
        size = len(vector) + longest - 1
        padded = next_fast_len(size, real=True)
        return cls(rfft(vector, padded), size, padded)

    def convolve(self, other: Floats) -> Floats:
        return np.asarray(irfft(self.transform * rfft(other, self.padded), self.padded)[: self.size])


def _report_of_first(below: Floats, losses: Floats, prior: Floats) -> int:
    """Return the best output for the first value, which stands for all values below it too."""
    count = min(len(below), len(prior))
    f = losses[:count]
    weights = _Convolution.from_vector(prior[:count] * below[:count], 2 * count - 1)
    cost = weights.convolve(np.concatenate([f[:0:-1], f]))[count - 1 : 2 * count - 1]
    return int(np.argmax(cost <= cost.min() * (1 + BETTER)))


def _fill_unsure(reports: Ints, sure: NDArray[np.bool_]) -> Ints:
    """Give a value that has too little probability, or the largest shift, the output of the nearest other one."""
    at = np.flatnonzero(sure)
    return np.asarray(reports[at[np.searchsorted((at[1:] + at[:-1]) / 2, np.arange(len(reports)))]])


def count_shifts(reach: int, rate: float) -> int:
    """Return how many shifts are tried."""
    return len(_shifts(reach, rate))


def _shifts(reach: int, rate: float) -> Ints:
    """Return the shifts to try, smallest first."""
    step = max(1, round(reach / rate / GRID))
    count = math.ceil((FARTHEST / rate + 1) * reach / step)
    shifts = np.arange(-count, count + 1) * step
    return np.asarray(shifts[np.argsort(np.abs(shifts), kind="stable")])
