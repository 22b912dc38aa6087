"""Outputs about the nodes of a level, as likelihoods of their true values."""

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from inbounds.exact import Floats, Ints

STEEPEST = 40.0
"""Largest slope of a log likelihood per unit: a factor exp(-40) is negligible."""


FAINTEST = 60.0
"""Values whose log likelihood is lower than the largest by more than this are ignored."""


class LevelReports(Protocol):
    """Outputs y of the nodes of one level."""

    @property
    def y(self) -> Ints:
        """The outputs."""
        ...

    @property
    def steepness(self) -> float:
        """Fall of the log likelihood per unit, far from the output."""
        ...

    @property
    def variance(self) -> float:
        """Variance of an output about a value far from the ends of the range."""
        ...

    def unbiased_estimate(self, sizes: Ints) -> Floats:
        """Estimate the true values of nodes of these sizes without bias; return the outputs if no such estimate is
        known.
        """
        ...

    def log_likelihood(self, nodes: Ints | slice, low: Ints, width: int) -> Floats:
        """Return log Pr[y | x] + constant for the values low .. low + width - 1 of each node."""
        ...


@dataclass(frozen=True, eq=False)
class GeometricReports:
    """Truncated geometric outputs: Pr[y | x] is proportional to exp(-rate·|y - x|) in x, at the ends of the range too.

    rate: epsilon per unit. Pr[0 | x] collects all noise that leaves the range, α^x/(1 + α) with α = exp(-rate): the
    same shape in x.
    """

    y: Ints
    rate: float

    @property
    def steepness(self) -> float:
        return min(self.rate, STEEPEST)

    @property
    def variance(self) -> float:
        return geometric_variance(self.rate)

    def unbiased_estimate(self, sizes: Ints) -> Floats:
        """Move an output at an end of the range outwards by the mean excess of the noise, α/(1 - α)."""
        beyond = np.where(sizes > 0, 1 / np.expm1(min(self.rate, STEEPEST)), 0.0)
        return np.where(self.y <= 0, -beyond, np.where(self.y >= sizes, sizes + beyond, self.y.astype(np.float64)))

    def log_likelihood(self, nodes: Ints | slice, low: Ints, width: int) -> Floats:
        return np.asarray(-self.rate * np.abs(_values(low, width) - self.y[nodes][:, None]))


@dataclass(frozen=True, eq=False)
class KnownTotals:
    """Public values: the likelihood is 1 at y and 0 elsewhere."""

    y: Ints

    steepness = STEEPEST
    variance = 0.0

    def unbiased_estimate(self, sizes: Ints) -> Floats:
        return self.y.astype(np.float64)

    def log_likelihood(self, nodes: Ints | slice, low: Ints, width: int) -> Floats:
        return np.where(_values(low, width) == self.y[nodes][:, None], 0.0, -np.inf)


@dataclass(frozen=True, eq=False)
class NoReports:
    """No outputs: every value is equally likely; y and variance only place the windows."""

    y: Ints
    variance: float = 1e12
    steepness: float = 0.0

    def unbiased_estimate(self, sizes: Ints) -> Floats:
        return self.y.astype(np.float64)

    def log_likelihood(self, nodes: Ints | slice, low: Ints, width: int) -> Floats:
        return np.zeros((len(low), width))


@dataclass(frozen=True, eq=False)
class ReportColumns:
    """Outputs of any mechanisms: columns[which[v]][y, x] = Pr[y | x] for node v."""

    y: Ints
    which: Ints
    columns: tuple[Floats, ...]

    @property
    def steepness(self) -> float:
        with np.errstate(divide="ignore", invalid="ignore"):
            steps = [np.nanmax(np.abs(np.diff(np.log(P), axis=1)), initial=0.0) for P in self.columns]
        return float(min(max(steps), STEEPEST))

    @property
    def variance(self) -> float:
        P = self.columns[int(self.which[0])]
        y, middle = np.arange(len(P)), P[:, P.shape[1] // 2]
        return float(middle @ y**2 - (middle @ y) ** 2)

    def unbiased_estimate(self, sizes: Ints) -> Floats:
        return self.y.astype(np.float64)

    def log_likelihood(self, nodes: Ints | slice, low: Ints, width: int) -> Floats:
        log = np.full((len(low), width), -np.inf)
        which, y, x = self.which[nodes], self.y[nodes], _values(low, width)
        for k, P in enumerate(self.columns):
            rows = np.flatnonzero(which == k)
            clipped = np.clip(x[rows], 0, P.shape[1] - 1)
            with np.errstate(divide="ignore"):
                log[rows] = np.where(clipped == x[rows], np.log(P[y[rows][:, None], clipped]), -np.inf)
        return log


def geometric_variance(rate: float) -> float:
    """Return the variance of two-sided geometric noise, 2α/(1 - α)² with α = exp(-rate)."""
    return float(1 / (2 * np.sinh(min(rate, 2 * STEEPEST) / 2) ** 2))


def read_geometric(reports: Any, largest: Any, rate: float) -> tuple[Floats, Floats]:
    """Return unbiased readings of truncated geometric draws on 0..largest, and their variances in a sum."""
    falls = math.exp(-rate)
    beyond, variance = falls / (1 - falls), geometric_variance(rate)
    y = np.minimum(np.asarray(reports), largest)
    at_end = (y == 0) | (y == largest)
    readings = y + beyond * ((y == largest).astype(np.float64) - (y == 0))
    return np.asarray(readings), np.where(at_end, variance / 2, variance)


def geometric_rate(variance: float) -> float:
    """Return the rate of two-sided geometric noise of a variance."""
    return float(2 * np.arcsinh(np.sqrt(1 / (2 * variance))))


def reach(reports: LevelReports) -> int:
    """Return how far from its output the true value of a node is searched."""
    return int(FAINTEST / reports.steepness) + 2


def _values(low: Ints, width: int) -> Ints:
    """Return the values of the windows, nodes × width."""
    return np.asarray(low)[:, None] + np.arange(width)
