"""The mean of numbers from private reports, and how it compares with mechanisms that are made for nothing else."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from inbounds.exact import Floats
from inbounds.local.guarantee import local_guarantee
from inbounds.mechanism import Mechanism, check_mechanism
from inbounds.mechanism.unbiased import unbiased_reading


@dataclass(frozen=True, eq=False)
class MeanDeviations:
    """Standard deviations of one report's unbiased reading, for every true value, at one ratio between any two values.

    ours: of the mechanism. duchi: one of two values is reported, C = (e^ε + 1)/(e^ε - 1) half ranges from the middle
    (Duchi, Jordan and Wainwright, Minimax optimal procedures for locally private estimation, JASA 2018, §4.2.2).
    piecewise: Wang et al., Collecting and analyzing multidimensional data with local differential privacy, ICDE 2019,
    Lemma 1. A mean of n people has 1/√n of it, and what their values vary by on top.
    """

    values: Floats
    ldp: float
    ours: Floats
    duchi: Floats
    piecewise: Floats

    @property
    def worst(self) -> dict[str, float]:
        """The greatest over the values, by name."""
        return {name: float(getattr(self, name).max()) for name in ("ours", "duchi", "piecewise")}

    def rows(self) -> list[dict[str, Any]]:
        """Return one plain dictionary for each true value."""
        columns = zip(
            self.values.tolist(), self.ours.tolist(), self.duchi.tolist(), self.piecewise.tolist(), strict=True
        )
        return [{"value": v, "ours": a, "duchi": b, "piecewise": c} for v, a, b, c in columns]

    def __str__(self) -> str:
        worst = ", ".join(f"{name} {value:.4g}" for name, value in self.worst.items())
        return f"ratio between any two values e^{self.ldp:.4g}; greatest standard deviation of one report: {worst}"


def mean_deviations(mechanism: Mechanism) -> MeanDeviations:
    """Return what one report's unbiased reading varies by, beside Duchi's and the piecewise mechanism at the same worst
    ratio.

    With x the value scaled to -1..1 and half the range h: Duchi's variance is h²·(C² - x²), the piecewise one's
    h²·(x²/(s - 1) + (s + 3)/(3·(s - 1)²)) with s = e^(ε/2).

    >>> import inbounds as ib
    >>> found = mean_deviations(ib.catalog.truncated_geometric(ib.ordinal(0, 100), "0.01"))
    >>> {name: round(value, 1) for name, value in found.worst.items()}
    {'ours': 117.9, 'duchi': 108.2, 'piecewise': 114.3}
    """
    check_mechanism(mechanism)
    read, values = unbiased_reading(mechanism).values, mechanism.query.answers.floats()
    matrix = mechanism.matrix
    ours = np.sqrt(np.maximum(read**2 @ matrix - (read @ matrix) ** 2, 0.0))
    epsilon = local_guarantee(mechanism).ldp
    half = (values[-1] - values[0]) / 2
    x, c, s = (values - values[0]) / half - 1, 1 / math.tanh(epsilon / 2), math.exp(epsilon / 2)
    duchi = half * np.sqrt(c**2 - x**2)
    piecewise = half * np.sqrt(x**2 / (s - 1) + (s + 3) / (3 * (s - 1) ** 2))
    return MeanDeviations(values, epsilon, ours, duchi, piecewise)
