"""Neighbouring answers of a mechanism and what their two columns reveal: the privacy loss, as mass on a grid.

The privacy loss of output i between answers j, k is ln(P[i, j] / P[i, k]), and its distribution under j decides
everything that composition can ask (Koskela, Jälkö, Honkela 2020; Doroshenko et al. 2022). A curve here is the
hockey-stick divergence delta(e) = sum_i max(0, P[i, j] - e^e · P[i, k]) at the points of a grid.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from inbounds.errors import TooLarge
from inbounds.mechanism import Mechanism
from inbounds.mechanism.law import MATRIX_LIMIT
from inbounds.numbers import Floats, Ints
from inbounds.query import Metric, Query
from inbounds.trusted.bounds import TOTAL

Long = NDArray[np.longdouble]
Pair = tuple[int, int]

LOG_ERROR, ROUNDING = 1e-15, 1e-15
"""What a logarithm of a ratio of weights, and its division by the step, may be wrong by; losses are moved up by it."""

DOMINATED = 1e-15
"""A curve that exceeds another by at most this is dropped; the total is added to delta."""


def neighbours(query: Query) -> list[Pair]:
    """All ordered pairs of neighbouring answers; under metric privacy those at most one unit apart."""
    if isinstance(query.neighbours, Metric):
        values, unit = list(query.answers), query.neighbours.unit
        near = [(j, k) for j, a in enumerate(values) for k, b in enumerate(values) if 0 < abs(a - b) <= unit]
        if not near:
            raise ValueError(
                "metric privacy must have answers at most one unit apart to be composed; use a larger unit"
            )
        return near
    found = {(j, k) for start, stop, _ in query.cliques() for j in range(start, stop) for k in range(start, stop)}
    return sorted((j, k) for j, k in found if j != k)


@dataclass(frozen=True)
class Grid:
    """Privacy losses -points·step … points·step."""

    step: float
    points: int

    @property
    def losses(self) -> Long:
        return np.arange(-self.points, self.points + 1) * np.longdouble(self.step)

    @classmethod
    def over(cls, epsilon: Fraction, step: float) -> "Grid":
        return cls(step, int(np.ceil(float(epsilon) / step * (1 + ROUNDING))))


def mass(upper: Ints, lower: Ints, grid: Grid) -> Floats:
    """The distribution of ln(upper/lower) under `upper`, pessimistically on the grid."""
    seen = upper > 0
    p, q = upper[seen] / TOTAL, lower[seen] / TOTAL
    return _split(np.log(p / q), p, grid)


def response_mass(epsilon: Fraction, grid: Grid) -> Floats:
    """The most revealing pair any epsilon-private mechanism has: e^eps : 1 against 1 : e^eps.

    Every epsilon-private pair is a post-processing of it (Kairouz, Oh, Viswanath, The composition theorem for
    differential privacy, 2015), so it stands in where a mechanism is too large to look at its own columns.
    """
    e = float(epsilon)
    return _split(np.array([e, -e]), 1 / (1 + np.exp([-e, e])), grid)


def _split(losses: Floats, p: Floats, grid: Grid) -> Floats:
    """Each atom shared between the grid points beside it.

    An atom (p, q) with loss l between g and g + h becomes two atoms that keep both sums: the share
    (1 - e^(g-l)) / (1 - e^(-h)) of p goes up. Splitting spreads q/p at equal mean, so every hockey-stick
    divergence can only grow: pessimistic, and exact at the grid points ("connect the dots").
    """
    steps = (losses + LOG_ERROR) / grid.step + ROUNDING * (1 + grid.points)
    steps = np.clip(steps, -grid.points, grid.points)  # certified: no loss is beyond epsilon
    floor = np.minimum(np.floor(steps).astype(np.int64), grid.points - 1)
    share = np.expm1(-(steps - floor) * grid.step) / np.expm1(-grid.step)
    at = np.zeros(2 * grid.points + 1)
    np.add.at(at, floor + grid.points, p * (1 - share))
    np.add.at(at, floor + grid.points + 1, p * share)
    return at


def curve(masses: Floats, grid: Grid) -> Long:
    """delta at every grid point: sum over larger losses l of mass(l) · (1 - e^(e-l)), from prefix sums."""
    losses, extended = grid.losses, masses.astype(np.longdouble)
    p = np.cumsum(extended[::-1])[::-1]
    q = np.cumsum((extended * np.exp(-losses))[::-1])[::-1]
    return np.asarray(np.maximum(p - np.exp(losses) * q, 0))


def envelope(curves: Sequence[Long], grid: Grid) -> Floats:
    """Masses of one pair that is at least as revealing as every curve: their pointwise maximum, dots connected.

    A maximum of hockey-stick curves is the curve of some pair of distributions, and a pair that dominates each step of
    an adaptive sequence dominates the sequence (Zhu, Dong, Wang, Optimal accounting of differential privacy via
    characteristic function, 2022). Second differences, so extended precision.
    """
    top, x = np.maximum.reduce(curves), np.exp(grid.losses)
    beyond = -np.diff(top) / np.diff(x)  # how much of q lies beyond each cell
    q = np.append(beyond[:-1] - beyond[1:], beyond[-1])
    first = 1 - top[0] - x[0] * beyond[0]
    return np.asarray(np.maximum(np.concatenate([[first], x[1:] * q]), 0), dtype=np.float64)


def columns(mechanism: Mechanism) -> Ints | None:
    """The weights, or None when the mechanism has no matrix of a size to look at."""
    outputs, answers = mechanism.query.shape
    if outputs * answers > MATRIX_LIMIT:
        return None
    try:
        return mechanism.weights
    except TooLarge:
        return None
