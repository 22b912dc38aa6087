"""Intervals for a number that is known to lie within 0..1, from a normal reading of it.

A reading x without bias may fall below 0 or above 1 where the number cannot. Feldman and Cousins, Unified approach to
the classical statistical analysis of small signals, Phys. Rev. D 57 (1998), 3873, §IV.B, here with two bounds: for
every number m in 0..b, all in units of the standard deviation so that b stands for 1, accept the x whose density under
m is largest beside that under the best number in 0..b,

    exp(-(x - m)²/2)  for 0 <= x <= b,      exp(x·m - m²/2)  for x < 0,      the mirror image of that  for x > b,

until they have the probability `level`. The interval holds the m that accept the x that was read: it is never empty,
holds x moved into 0..1, and covers with probability `level` whatever the number is, at its bounds too, and however wide
the noise is.
"""

from collections.abc import Callable
from statistics import NormalDist

import numpy as np

from inbounds.exact import Floats

Deviation = Callable[[Floats], Floats]
"""The standard deviation of a reading, for every number that might be behind it."""

HALVINGS = 50
"""Halvings of the distance from the reading to the end of its interval."""


def two_sided(level: float) -> float:
    """Return the number of standard deviations within which a normal number lies with probability `level`."""
    return NormalDist().inv_cdf((1 + level) / 2)


def bounded_interval(readings: Floats, deviation: Deviation, level: float) -> tuple[Floats, Floats]:
    """Return lower and upper ends for numbers within 0..1."""
    ends = np.zeros_like(readings), np.ones_like(readings)
    low, high = (_edge(readings, end, deviation, level) for end in ends)
    return low, high


def _edge(x: Floats, end: Floats, deviation: Deviation, level: float) -> Floats:
    """Find by halving the last number, between the reading and the end of the range, that accepts the reading."""
    accepted, rejected = np.clip(x, 0.0, 1.0), end
    for _ in range(HALVINGS):
        middle = (accepted + rejected) / 2
        good = _accepts(middle, x, deviation, level)
        accepted, rejected = np.where(good, middle, accepted), np.where(good, rejected, middle)
    return np.where(_accepts(end, x, deviation, level), end, accepted)


def _accepts(m: Floats, x: Floats, deviation: Deviation, level: float) -> Floats:
    """Return whether the numbers m accept the readings x: those with a larger ratio than x have less probability than
    level.

    With the ratio of x written as exp(-d²/2), they lie from `_reach` below m to `_reach` above.
    """
    from scipy.special import ndtr

    unit = np.maximum(deviation(m), np.finfo(np.float64).tiny)
    below, above, off = m / unit, (1 - m) / unit, (x - m) / unit
    d = np.where(off < 0, _distance(-off, below), _distance(off, above))
    return np.asarray(ndtr(_reach(d, above)) - ndtr(-_reach(d, below)) <= level)


def _distance(off: Floats, room: Floats) -> Floats:
    """Return d for a reading `off` away with `room` to the bound; beyond the bound d² = room·(2·off - room)."""
    return np.where(off <= room, off, np.sqrt(np.maximum(room * (2 * off - room), 0.0)))


def _reach(d: Floats, room: Floats) -> Floats:
    """Return how far off a reading of this d is, the inverse of `_distance`. Without room all readings beyond are
    alike.
    """
    beyond = np.divide(d**2 + room**2, 2 * room, out=np.full_like(d, np.inf), where=room > 0)
    return np.where(d <= room, d, beyond)
