"""The choice of a tilt: cumulants of the losses and Rényi bounds, in floats that choose but prove nothing."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from inbounds.accounting.dominating_pairs import AnswerGroup
from inbounds.directed_rounding import TINY
from inbounds.exact import Floats

STEEPEST = 600.0
"""A tilt is at most this divided by the largest loss, so that no weight overflows."""


class Cumulants:
    """The cumulant function ln E exp(t·loss) over all answers, and its derivatives."""

    COARSE = 100

    def __init__(self, parts: Sequence[AnswerGroup]) -> None:
        self._laws = []
        for part in parts:
            step = float(part.top) * (1 + 1e-12) / self.COARSE
            masses = part.rough_masses(step, self.COARSE)
            losses = step * np.arange(self.COARSE + 1 - len(masses), self.COARSE + 1)
            self._laws.append((np.log(np.maximum(masses, TINY)), losses, part.times))
        self._most = STEEPEST / max(float(part.top) for part in parts)

    def value(self, t: float) -> float:
        return sum(k * log_sum(logs + t * losses) for logs, losses, k in self._laws)

    def deviation(self, t: float) -> float:
        variance = 0.0
        for logs, losses, k in self._laws:
            w = np.exp(logs + t * losses - log_sum(logs + t * losses))
            variance += k * float(w @ (losses - float(w @ losses)) ** 2)
        return math.sqrt(variance)

    def tilt_for_delta(self, log_delta: float) -> float:
        """Return the tilt with the least Rényi bound of epsilon."""
        return self._least(lambda t: (self.value(t) + log_peak(t) - log_delta) / t)

    def tilt_for_epsilon(self, epsilon: float) -> float:
        """Return the tilt with the least Rényi bound of delta."""
        return self._least(lambda t: self.value(t) + log_peak(t) - t * epsilon)

    def _least(self, cost: Callable[[float], float]) -> float:
        low, high = 1e-10 * self._most, self._most
        for points in (60, 24, 24):
            tilts = np.geomspace(low, high, points).tolist()
            i = int(np.argmin([cost(t) for t in tilts]))
            low, high = tilts[max(i - 1, 0)], tilts[min(i + 1, points - 1)]
        return float(tilts[i])


def log_sum(logs: Floats) -> float:
    """Return ln of the sum of exp(logs)."""
    highest = float(logs.max())
    return highest + math.log(float(np.exp(logs - highest).sum()))


def log_peak(t: float) -> float:
    """Return ln of the largest exp(-t·x)·(1 - exp(-x)), t^t / (1 + t)^(1 + t) (Canonne, Kamath, Steinke 2020)."""
    return -t * math.log1p(1 / t) - math.log1p(t)
