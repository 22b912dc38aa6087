"""What was reported about the nodes of a level, as likelihoods of their true values."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from inbounds.exact import Floats, Ints

STEEPEST = 40.0
"""Largest tilt: exp(-40) per unit is nothing beside anything."""


FAINTEST = 60.0
"""Fall of a log likelihood beyond which a value is not looked at."""


class LevelReports(Protocol):
    """Reports y of the nodes of one level."""

    @property
    def y(self) -> Ints: ...

    @property
    def steepness(self) -> float:
        """How fast the likelihood falls, per unit, far from the report."""
        ...

    @property
    def variance(self) -> float:
        """Of a report about a value far from the ends."""
        ...

    def unbiased_estimate(self, sizes: Ints) -> Floats:
        """Readings whose mean is the true value, for nodes of these sizes; the reports where none are known."""
        ...

    def log_likelihood(self, nodes: Ints | slice, low: Ints, width: int) -> Floats:
        """log Pr[y | x] + constant for the values low .. low + width - 1 of each node."""
        ...


@dataclass(frozen=True, eq=False)
class GeometricReports:
    """Truncated geometric reports: Pr[y | x] is proportional to exp(-rate·|y - x|) in x, at the ends of the range too.

    rate: epsilon per unit. Pr[0 | x] sums all noise that leaves the range, α^x/(1 + α), α = exp(-rate): the same shape.
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
        """A report at an end is read as far beyond it as the noise went in the mean, α/(1 - α)."""
        beyond = np.where(sizes > 0, 1 / np.expm1(min(self.rate, STEEPEST)), 0.0)
        return np.where(self.y <= 0, -beyond, np.where(self.y >= sizes, sizes + beyond, self.y.astype(np.float64)))

    def log_likelihood(self, nodes: Ints | slice, low: Ints, width: int) -> Floats:
        return np.asarray(-self.rate * np.abs(_values(low, width) - self.y[nodes][:, None]))


@dataclass(frozen=True, eq=False)
class KnownTotals:
    """Values that are public."""

    y: Ints

    steepness = STEEPEST
    variance = 0.0

    def unbiased_estimate(self, sizes: Ints) -> Floats:
        return self.y.astype(np.float64)

    def log_likelihood(self, nodes: Ints | slice, low: Ints, width: int) -> Floats:
        return np.where(_values(low, width) == self.y[nodes][:, None], 0.0, -np.inf)


@dataclass(frozen=True, eq=False)
class NoReports:
    """Nothing was reported; y and variance say where to look for the values."""

    y: Ints
    variance: float = 1e12
    steepness: float = 0.0

    def unbiased_estimate(self, sizes: Ints) -> Floats:
        return self.y.astype(np.float64)

    def log_likelihood(self, nodes: Ints | slice, low: Ints, width: int) -> Floats:
        return np.zeros((len(low), width))


@dataclass(frozen=True, eq=False)
class ReportColumns:
    """Reports of any mechanisms: columns[which[v]][y, x] = Pr[y | x] for node v."""

    y: Ints
    which: Ints
    columns: tuple[Floats, ...]

    @property
    def steepness(self) -> float:
        with np.errstate(divide="ignore", invalid="ignore"):
            steps = [np.nanmax(np.abs(np.diff(np.log(own), axis=1)), initial=0.0) for own in self.columns]
        return float(min(max(steps), STEEPEST))

    @property
    def variance(self) -> float:
        own = self.columns[int(self.which[0])]
        y, middle = np.arange(len(own)), own[:, own.shape[1] // 2]
        return float(middle @ y**2 - (middle @ y) ** 2)

    def unbiased_estimate(self, sizes: Ints) -> Floats:
        return self.y.astype(np.float64)

    def log_likelihood(self, nodes: Ints | slice, low: Ints, width: int) -> Floats:
        out = np.full((len(low), width), -np.inf)
        which, y, x = self.which[nodes], self.y[nodes], _values(low, width)
        for kind, own in enumerate(self.columns):
            rows = np.flatnonzero(which == kind)
            at = np.clip(x[rows], 0, own.shape[1] - 1)
            with np.errstate(divide="ignore"):
                out[rows] = np.where(at == x[rows], np.log(own[y[rows][:, None], at]), -np.inf)
        return out


def geometric_variance(rate: float) -> float:
    """2α/(1 - α)², α = exp(-rate): of two-sided geometric noise."""
    return float(1 / (2 * np.sinh(min(rate, 2 * STEEPEST) / 2) ** 2))


def reach(reports: LevelReports) -> int:
    """How far from a report the true value of its node is looked for."""
    return int(FAINTEST / reports.steepness) + 2


def _values(low: Ints, width: int) -> Ints:
    return np.asarray(low)[:, None] + np.arange(width)
