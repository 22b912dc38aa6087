"""The route for grids too long for a matrix: geometric noise on the steps, with the best remap.

Where neighbours are one step apart (counts, and metric privacy on any evenly spaced grid) `geometric` proves that
nothing is better. If one person changes the answer by up to k steps (totals and means), it is a good mechanism, not the
best. A bound on every private mechanism shows how much may be missing:

answers k steps apart are neighbours, so every k-th answer is a separate chain, and each chain has a least loss by the
theorem of `geometric`. For absolute loss the best guess is a median, so an answer of the chain; for squared loss it is
the mean, wherever that lies. The answers' losses add up, so the chains' least losses do.
"""

import math
from dataclasses import dataclass

from inbounds.design.problem import Floats, Ints
from inbounds.design.routes import count_remap

CHAINS = 64
"""Largest number of chains that are summed; any smaller spacing of neighbours gives a bound too."""

DOUBT = 64 * 2.0**-53
"""Relative rounding error of a chain's least squared loss."""


@dataclass(frozen=True, eq=False)
class BestGuesses:
    """remap[s]: the output for noisy value s. bound: a lower bound on the loss of every private mechanism."""

    remap: Ints
    bound: float


def guesses(reach: int, rate: float, loss: Floats, power: int | None, prior: Floats) -> BestGuesses:
    """Find the best remap of geometric noise with a privacy loss of `rate` within `reach` steps.

    loss[e]: of an error of e steps, not falling; power: 1 or 2 where it is that power of the error. O(n log n).
    """
    best = count_remap.remap(rate / reach, loss, prior)
    if reach == 1:
        return BestGuesses(best.outputs, best.bound)
    return BestGuesses(best.outputs, max(0.0, *(_chains(k, rate, loss, power, prior) for k in _spacings(reach))))


def _spacings(reach: int) -> tuple[int, ...]:
    """Return the spacings to try. The widest is best unless the prior is narrow; a long reach has too many chains."""
    return (reach,) if reach <= CHAINS else (reach, CHAINS)


def _chains(k: int, rate: float, loss: Floats, power: int | None, prior: Floats) -> float:
    """Sum the least losses of all chains of answers k steps apart, rounded down."""
    if power is None:
        return 0.0
    parts = []
    for r in range(min(k, len(prior))):
        weights = prior[r::k]
        mass = float(weights.sum())
        if mass > 0:
            least = _least_absolute if power == 1 else _least_squared
            parts.append(mass * (1 - DOUBT) * least(rate, loss[::k][: len(weights)], weights / mass))
    return math.fsum(parts) * (1 - DOUBT)


def _least_absolute(rate: float, loss: Floats, prior: Floats) -> float:
    """Return the least absolute loss of a chain, rounded down."""
    return count_remap.remap(rate, loss, prior).bound if len(prior) > 1 else 0.0


def _least_squared(rate: float, loss: Floats, prior: Floats) -> float:
    """Return the least squared loss of a chain, Σ_s w_s · (second moment - first² / weight) of the posterior at s."""
    return count_remap.least_variance(rate, prior) * float(loss[1]) if len(prior) > 1 else 0.0
