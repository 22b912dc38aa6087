"""Grids too long for a matrix: geometric noise on the steps, every noisy value read as its best guess.

Where neighbours are one step apart (counts, and metric privacy on any evenly spaced grid) `geometric` proves that
nothing is better. Where one person moves the answer by up to k steps (totals and means) it is a good mechanism, not the
best; what may be missing is told by a bound that any private mechanism obeys:

answers k steps apart are neighbours, so every k-th answer is a chain of its own, and each chain has a least loss by the
theorem of `geometric`. For absolute loss the best guess is a median, so an answer of the chain; for squared loss it is
the mean, wherever that lies. The answers' losses add up, so the chains' least losses do.
"""

import math
from dataclasses import dataclass

from inbounds.design.problem import Floats, Ints
from inbounds.design.routes import count_remap

CHAINS = 64
"""Chains that are summed at most: a spacing that any two neighbours may have serves as well."""

DOUBT = 64 * 2.0**-53
"""Of a chain's least squared loss: what rounding may add to a term for each step it has come."""


@dataclass(frozen=True, eq=False)
class BestGuesses:
    """remap[s]: the output for noisy value s; a bound that no private mechanism is below."""

    remap: Ints
    bound: float


def guesses(reach: int, rate: float, loss: Floats, power: int | None, prior: Floats) -> BestGuesses:
    """The best remap of geometric noise that keeps a loss of `rate` within `reach` steps.

    loss[e]: of an error of e steps, not falling; power: 1 or 2 where it is that power of the error. O(n log n).
    """
    own = count_remap.remap(rate / reach, loss, prior)
    if reach == 1:
        return BestGuesses(own.outputs, own.bound)
    return BestGuesses(own.outputs, max(0.0, *(_chains(k, rate, loss, power, prior) for k in _spacings(reach))))


def _spacings(reach: int) -> tuple[int, ...]:
    """The widest chain is best unless the prior is narrow; a long reach has too many of them to sum."""
    return (reach,) if reach <= CHAINS else (reach, CHAINS)


def _chains(k: int, rate: float, loss: Floats, power: int | None, prior: Floats) -> float:
    """The least loss of all chains of answers k steps apart, rounded down."""
    if power is None:
        return 0.0
    parts = []
    for r in range(min(k, len(prior))):
        weights = prior[r::k]
        mass = float(weights.sum())
        if mass > 0:
            least = _absolute if power == 1 else _squared_guesses
            parts.append(mass * (1 - DOUBT) * least(rate, loss[::k][: len(weights)], weights / mass))
    return math.fsum(parts) * (1 - DOUBT)


def _absolute(rate: float, loss: Floats, prior: Floats) -> float:
    return count_remap.remap(rate, loss, prior).bound if len(prior) > 1 else 0.0


def _squared_guesses(rate: float, loss: Floats, prior: Floats) -> float:
    """Σ_s w_s · (second moment - first² / weight) of the posterior at s: what the mean of the posterior loses."""
    return count_remap.least_variance(rate, prior) * float(loss[1]) if len(prior) > 1 else 0.0
