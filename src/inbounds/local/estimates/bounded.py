"""Intervals for a number that is known to lie at or above 0, or within 0..1, from a normal reading of it.

A reading x without bias may fall below 0 where the number cannot. Feldman and Cousins, Unified approach to the
classical statistical analysis of small signals, Phys. Rev. D 57 (1998), 3873, §IV.B: for every number m >= 0, in
units of the standard deviation, accept the x whose density under m is largest beside that under the best m >= 0,

    exp(-(x - m)²/2)  for x >= 0,      exp(x·m - m²/2)  for x < 0,

until they have the probability `level`. The interval holds the m that accept the x that was read: it is never empty,
holds max(x, 0), and covers with probability `level` whatever the number is, at 0 too.
"""

from collections.abc import Callable
from functools import cache
from statistics import NormalDist

import numpy as np

from inbounds.numbers import Floats

Deviation = Callable[[Floats], Floats]
"""The standard deviation of a reading, for every number that might be behind it."""

FURTHEST = 12.0
"""From here on, in standard deviations, the bound at 0 is out of sight."""

HALVINGS = 50
"""Of the distance from the reading to the end of its interval."""


def two_sided(level: float) -> float:
    """The number of standard deviations within which a normal number lies with probability `level`."""
    return NormalDist().inv_cdf((1 + level) / 2)


def bounded(readings: Floats, deviation: Deviation, level: float) -> tuple[Floats, Floats]:
    """Lower and upper ends for numbers within 0..1, where the nearer of the two bounds counts."""
    mirrored = readings > 1 / 2
    x = np.where(mirrored, 1 - readings, readings)

    def spread(m: Floats) -> Floats:
        return deviation(np.where(mirrored, 1 - m, m))

    known = np.clip(x, 0.0, 1.0)
    low = _edge(x, known, np.zeros_like(x), spread, level)
    high = _edge(x, known, np.ones_like(x), spread, level)
    return np.where(mirrored, 1 - high, low), np.where(mirrored, 1 - low, high)


def _edge(x: Floats, inside: Floats, end: Floats, spread: Deviation, level: float) -> Floats:
    """The last number on the way from one that is accepted to the end of the range, by halving."""
    rejected = np.where(_accepts(end, x, spread, level), inside, end)
    accepted = np.where(rejected == inside, end, inside)
    for _ in range(HALVINGS):
        middle = (accepted + rejected) / 2
        good = _accepts(middle, x, spread, level)
        accepted, rejected = np.where(good, middle, accepted), np.where(good, rejected, middle)
    return np.where(_accepts(end, x, spread, level), end, accepted)


def _accepts(m: Floats, x: Floats, spread: Deviation, level: float) -> Floats:
    """Whether the numbers m, behind readings of deviation spread(m), accept the readings x."""
    unit = np.maximum(spread(m), np.finfo(np.float64).tiny)
    places, least, most = _acceptance(level)
    at, seen, z = m / unit, x / unit, two_sided(level)
    near = at < FURTHEST
    low = np.where(near, np.interp(at, places, least), at - z)
    high = np.where(near, np.interp(at, places, most), at + z)
    return np.asarray((low <= seen) & (seen <= high))


@cache
def _acceptance(level: float) -> tuple[Floats, Floats, Floats]:
    """For m on a grid the least and the greatest x that are accepted; both rise with m.

    Above z = two_sided(level) they are m ± z. Below, the least x is negative and has the ratio of the greatest, m + d:
    x = (m² - d²) / 2m, where d solves Φ(d) - Φ(x - m) = level.
    """
    law, z = NormalDist(), two_sided(level)
    places = np.concatenate([np.geomspace(1e-6, 0.1, 60), np.arange(0.11, FURTHEST + 0.02, 0.01)])
    least, most = places - z, places + z
    for k in np.flatnonzero(places < z):
        m = float(places[k])
        low, high = law.inv_cdf(level), z
        for _ in range(HALVINGS):
            d = (low + high) / 2
            covers = law.cdf(d) - law.cdf((m * m - d * d) / (2 * m) - m) >= level
            low, high = (low, d) if covers else (d, high)
        least[k], most[k] = (m * m - high * high) / (2 * m), m + high
    return places, least, most
