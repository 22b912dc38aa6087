"""Shapes: distributions of the value of a leaf, given the mean rate of its siblings."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import betaln, expit, gammaln, logit

from inbounds.exact import Floats, Ints

FURTHEST = 30.0
"""Largest shift of a kind's log odds: beyond it a rate is 0 or 1 to float precision."""


class Shape(Protocol):
    """The distribution of a leaf's value around a mean rate."""

    def log_mass(self, x: Ints, size: Ints, rate: Floats) -> Floats:
        """Return log Pr[x] on 0..size with mean size·rate; -inf outside."""
        ...

    def correlation(self, rate: Floats) -> Floats:
        """Return the correlation of two members of one leaf.

        The variance of a leaf is size·rate·(1 - rate)·(1 + (size - 1)·correlation).
        """
        ...


@dataclass(frozen=True)
class BetaBinomialShape:
    """Beta-binomial leaves: rates of siblings scatter around their mean. spread: 1/(a + b + 1); 0 is the binomial."""

    spread: float

    def log_mass(self, x: Ints, size: Ints, rate: Floats) -> Floats:
        return log_beta_binomial(x, size, rate, self.spread)

    def correlation(self, rate: Floats) -> Floats:
        return np.full_like(rate, self.spread)


@dataclass(frozen=True, eq=False)
class MixtureShape:
    """A mixture of kinds of leaves: a leaf has rate rates[g] with probability shares[g].

    For another mean rate, the log odds of all kinds are shifted by the same amount, so that the mean rate is right.
    """

    rates: Floats
    shares: Floats

    def _rates(self, mean: Floats) -> Floats:
        """Return the rates of the kinds for each mean rate, with shape mean.shape + kinds."""
        odds, shifts = logit(self.rates), np.linspace(-FURTHEST, FURTHEST, 2001)
        means = expit(odds + shifts[:, None]) @ self.shares
        rising = np.flatnonzero(np.diff(means, prepend=-1.0) > 0)
        return np.asarray(expit(odds + np.interp(mean, means[rising], shifts[rising])[..., None]))

    def log_mass(self, x: Ints, size: Ints, rate: Floats) -> Floats:
        rates = np.clip(self._rates(rate), 1e-300, 1 - 1e-16)
        total = np.zeros(np.broadcast_shapes(x.shape, np.shape(size), rate.shape))
        for g, share in enumerate(self.shares):
            total += share * np.exp(log_beta_binomial(x, size, rates[..., g], 0.0))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(total))

    def correlation(self, rate: Floats) -> Floats:
        variance = (self._rates(rate) - rate[..., None]) ** 2 @ self.shares
        return np.asarray(variance / (rate * (1 - rate)))


def log_beta_binomial(x: Ints, size: Ints, rate: Floats, spread: float) -> Floats:
    """Return log Pr[x] of a beta-binomial on 0..size with mean size·rate; -inf outside.

    spread: the correlation of two members, 1/(a + b + 1); at 0 it is the binomial.
    """
    inside = (x >= 0) & (x <= size)
    k = np.clip(x, 0, size)
    choices = gammaln(size + 1.0) - gammaln(k + 1.0) - gammaln(size - k + 1.0)
    if spread == 0.0:
        chance = k * np.log(rate) + (size - k) * np.log1p(-rate)
    else:
        a, b = rate * (1 / spread - 1), (1 - rate) * (1 / spread - 1)
        chance = betaln(k + a, size - k + b) - betaln(a, b)
    return np.where(inside, choices + chance, -np.inf)
