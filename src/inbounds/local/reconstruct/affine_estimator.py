"""Shares that are estimated one by one: under randomized response, and when reports name sets of labels."""

from dataclasses import dataclass

import numpy as np

from inbounds.exact import Floats, Ints
from inbounds.local.reconstruct.channel import LinearChannel, ResponseChannel
from inbounds.local.reconstruct.sets import SetReports

EVEN = 1e-9
"""Relative difference of weights that are equal up to rounding."""


@dataclass(frozen=True, eq=False)
class AffineEstimator:
    """Shares as affine functions: that of answer j is (seen_j - base_j) / lift_j, seen_j the share of reports that
    support j.

    together: how many neighbouring answers one report may support.
    """

    seen: Floats
    base: Floats
    lift: Floats
    together: int = 1

    @property
    def shares(self) -> Floats:
        return np.asarray((self.seen - self.base) / self.lift)

    def center(self) -> "AffineEstimator":
        """Return the readings shifted by one constant so that they sum to one.

        Sets over more labels than exist leave the sum open, which favours no label over another.
        """
        missing = (1 - self.shares.sum()) / len(self.seen)
        return AffineEstimator(self.seen + self.lift * missing, self.base, self.lift, self.together)

    def deviations(self, shares: Floats, reports: float) -> Floats:
        """Return standard deviations of the readings if these were the shares: supporting reports are binomial."""
        seen = np.clip(self.base + self.lift * shares, 0.0, 1.0)
        return np.asarray(np.sqrt(seen * (1 - seen) / reports) / self.lift)

    def spread(self, reports: float) -> float:
        """Return the standard deviation of a rare answer's reading."""
        return float(self.deviations(np.zeros(1), reports)[0])

    def unit(self, width: Floats | Ints | float, reports: float) -> Floats:
        """Return how much one report may move the reading of a sum over `width` neighbouring answers.

        Readings of different answers are hardly correlated, so sums have the variance that they would have if answers
        were reported one by one; but one report may hold `together` neighbours at once, so sums come in larger steps
        and are further from normal.
        """
        return np.asarray(np.minimum(width, self.together) / (reports * self.lift.mean()))


def affine(channel: LinearChannel, q: Floats) -> AffineEstimator | None:
    """Return the shares as affine functions of the counts; None if the law does not allow it.

    A report supports the answer that it names, or those in its set.
    """
    if isinstance(channel, ResponseChannel) and (channel.lift > 0).all():
        return AffineEstimator(q, channel.base, channel.lift)
    if isinstance(channel, SetReports):
        seen = channel.count_holding(q)
        chance, lift = np.full_like(seen, channel.chance), np.full_like(seen, channel.hit - channel.chance)
        return AffineEstimator(seen, chance, lift, channel.together)
    return None


def even(channel: LinearChannel, q: Floats) -> AffineEstimator | None:
    """Return the estimator of a law that reports every label alike, as all laws for labels do; otherwise None."""
    law = affine(channel, q)
    alike = law is not None and all(np.ptp(part) <= EVEN * part.max() for part in (law.base, law.lift))
    return law if alike else None
