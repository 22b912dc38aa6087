"""Composition by enumeration: the exact privacy-loss distribution of a few answers, in integers.

It checks `compose`, and replaces it where it is affordable: no grid, no transform, no rounding. Mechanisms whose
columns have few different ratios but for the rounding to integers, such as geometric ones, are enumerated with one loss
for ratios that are alike: a bound within a part in 10^12 of the exact loss.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import combinations_with_replacement, product
from typing import TYPE_CHECKING

from inbounds.accounting.dominating_pairs import Curve, dominating_pair, unique_curves
from inbounds.accounting.merged_losses import MERGED_BITS, Losses
from inbounds.accounting.pairs import curves_per_pair, neighbouring_pairs, pair_curve, weights_if_small
from inbounds.directed_rounding import exp_below, log_above
from inbounds.errors import TooLarge
from inbounds.exact import Ints, Number, round_up_to_printed, to_fraction
from inbounds.mechanism import Mechanism
from inbounds.query.neighbours import Pair
from inbounds.trusted.bounds import TOTAL_BITS

if TYPE_CHECKING:
    from inbounds.accounting.compose import Composition

LARGEST = 1_000_000
"""The most combined outcomes that are enumerated."""

FEW_OUTPUTS, FEW_ANSWERS, QUICK = 40, 12, 4_000
"""`Composition` uses enumeration up to this many outputs, answers and combined outcomes."""

MOST_MERGED = 10_000
"""The same for combined outcomes of merged losses, whose ratios are whole numbers over one unit."""

SHIFT = 192
"""Bits of a weight under the second distribution beyond those of the first."""


@dataclass(frozen=True)
class Enumeration:
    """Privacy-loss distributions, one for every choice of neighbours.

    Weights are over 2**(bits·answers), ratios over `unit`.
    """

    choices: tuple[Losses, ...]
    answers: int
    bits: int = TOTAL_BITS
    unit: int = 1

    def delta(self, epsilon: Number) -> Fraction:
        """Return the least delta, max over the choices of sum max(0, p - e^epsilon · q), rounded up by less than
        10**-50.

        e^epsilon is replaced by a rational number slightly below it.
        """
        e = to_fraction(epsilon, "epsilon")
        if not e >= 0:
            raise ValueError(f"epsilon must not be negative, got {epsilon}")
        return max(self._delta_at(losses, exp_below(e)) for losses in self.choices)

    def epsilon(self, delta: Number) -> float:
        """Return the least epsilon at delta, rounded up to a float."""
        return round_up_to_printed(self.epsilon_above(to_fraction(delta, "delta")))

    def epsilon_above(self, delta: Fraction) -> Fraction:
        """Return the least epsilon at delta, rounded up by less than 10**-50: e^epsilon = (p - delta) / q."""
        if not 0 <= delta < 1:
            raise ValueError(f"delta must be at least 0 and below 1, got {delta}")
        return log_above(max(self._exp_epsilon_at(losses, delta) for losses in self.choices))

    def _delta_at(self, losses: Losses, ratio: Fraction) -> Fraction:
        above = [r for r in losses if r > ratio * self.unit]
        p, q = sum(losses[r] for r in above), sum(self._other_weight(losses, r) for r in above)
        return (p - ratio * Fraction(q, 1 << SHIFT)) / (1 << self.bits * self.answers)

    def _exp_epsilon_at(self, losses: Losses, delta: Fraction) -> Fraction:
        total, p, q = 1 << self.bits * self.answers, 0, 0
        part, whole = delta.numerator * total, delta.denominator  # delta is part / whole of a unit of weight
        for r in sorted(losses, reverse=True):
            if q and (p * whole - part << SHIFT) * self.unit * r.denominator >= r.numerator * q * whole:
                break
            p, q = p + losses[r], q + self._other_weight(losses, r)
        return max(Fraction(p * whole - part << SHIFT, q * whole), Fraction(1))

    def _other_weight(self, losses: Losses, r: Fraction | int) -> int:
        """Return the weight under the second distribution over 2**SHIFT, rounded down."""
        return (losses[r] * self.unit << SHIFT) * r.denominator // r.numerator


def enumerate_losses(composition: "Composition") -> Enumeration:
    """Enumerate the exact privacy losses of a composition of few answers; raise `TooLarge` above a million outcomes.

    For the same question, every pair of neighbours is combined over all answers; otherwise every way to give each
    answer its own pair (questions fixed in advance). Equal ratios are merged, so k answers of one mechanism cost about
    as many steps as there are multisets of its outputs.
    """
    if not hasattr(composition, "mechanisms"):
        raise TypeError(f"composition must be one of ib.compose, got {type(composition).__name__}")
    mechanisms, times = composition.mechanisms, composition.times
    size = math.prod(math.comb(m.query.shape[0] + t - 1, t) for m, t in zip(mechanisms, times, strict=True))
    if composition.same_question:
        ways: list[tuple[tuple[Mechanism, Pair], ...]] = [
            tuple((m, pair) for m, t in zip(mechanisms, times, strict=True) for _ in range(t))
            for pair in neighbouring_pairs(mechanisms[0].query)
        ]
    else:
        pair_choices = [
            combinations_with_replacement(neighbouring_pairs(m.query), t)
            for m, t in zip(mechanisms, times, strict=True)
        ]
        ways = [
            tuple((m, pair) for m, pairs in zip(mechanisms, choice, strict=True) for pair in pairs)
            for choice in _list_or_refuse(product(*pair_choices))
        ]
    if size * len(ways) > LARGEST:
        raise TooLarge("exact enumeration is for a few answers of small mechanisms; use compose(...).epsilon(delta)")
    return Enumeration(
        tuple(reduce(_convolve_losses, (_losses(m, pair) for m, pair in way)) for way in ways), sum(times)
    )


def enumerate_if_small(composition: "Composition") -> Enumeration | None:
    """Enumerate a composition if that is fast and valid for adaptively chosen questions; otherwise return None.

    For any questions it is valid if one pair of columns of each mechanism dominates all others, or for one answer.
    """
    mechanisms, times = composition.mechanisms, composition.times
    if composition.answers > FEW_ANSWERS or any(m.delta for m in mechanisms):
        return None
    weights = [weights_if_small(m) for m in mechanisms]
    if any(w is None or len(w) > FEW_OUTPUTS for w in weights):
        return _enumerate_merged(composition)
    ways = _ways(composition, [w for w in weights if w is not None])
    size = sum(math.prod(math.comb(len(c.upper) + t - 1, t) for c, t in zip(way, times, strict=True)) for way in ways)
    if not 0 < size <= QUICK:
        return _enumerate_merged(composition)
    laws_per_way = [
        [law for c, t in zip(way, times, strict=True) for law in [_loss_distribution(c)] * t] for way in ways
    ]
    return Enumeration(tuple(reduce(_convolve_losses, laws) for laws in laws_per_way), composition.answers)


def _enumerate_merged(composition: "Composition") -> Enumeration | None:
    """Enumerate answers to any questions with one loss for ratios that are alike; None if there are too many losses."""
    if composition.same_question:
        return None
    laws, size, unit = list[Losses](), 1, 1
    for losses, times in zip(composition.merged, composition.times, strict=True):
        size *= 0 if losses is None else math.comb(len(losses) + times - 1, times)
        if losses is None or size > MOST_MERGED:
            return None
        own = max(loss.denominator for loss in losses)  # a power of two, as losses are floats
        laws += [{int(loss * own): weight for loss, weight in losses.items()}] * times
        unit *= own**times
    return Enumeration((reduce(_convolve_losses, laws),), composition.answers, MERGED_BITS, unit)


def _ways(composition: "Composition", weights: list[Ints]) -> list[tuple[Curve, ...]]:
    """Return every choice of columns that may be the worst; an empty list if that is not known."""
    if composition.same_question:
        return curves_per_pair(weights, composition.mechanisms[0].query)
    curves_per_mechanism = [
        unique_curves(pair_curve(w, pair) for pair in neighbouring_pairs(m.query))
        for w, m in zip(weights, composition.mechanisms, strict=True)
    ]
    if composition.answers == 1:
        return [(c,) for c in curves_per_mechanism[0]]
    dominant = [dominating_pair(curves) for curves in curves_per_mechanism]
    return [] if None in dominant else [tuple(c for c in dominant if c is not None)]


def _losses(mechanism: Mechanism, pair: Pair) -> Losses:
    return _loss_distribution(pair_curve(mechanism.weights, pair))


def _loss_distribution(weights: Curve) -> Losses:
    """Return the privacy-loss distribution of a pair of neighbours."""
    losses: dict[Fraction, int] = {}
    for p, q in zip(weights.upper, weights.lower, strict=True):
        losses[Fraction(p, q)] = losses.get(Fraction(p, q), 0) + p
    return losses


def _convolve_losses(first: Losses, second: Losses) -> Losses:
    """Return the privacy losses of two independent answers together."""
    losses: dict[Fraction | int, int] = {}
    for (r, p), (s, q) in product(first.items(), second.items()):
        losses[r * s] = losses.get(r * s, 0) + p * q
    return losses


def _list_or_refuse(ways: Iterable[tuple[tuple[Pair, ...], ...]]) -> list[tuple[tuple[Pair, ...], ...]]:
    """List the combinations of pairs; raise `TooLarge` above LARGEST / 100."""
    listed_ways: list[tuple[tuple[Pair, ...], ...]] = []
    for way in ways:
        if len(listed_ways) > LARGEST // 100:
            raise TooLarge(
                "exact enumeration is for a few answers of small mechanisms; use compose(...).epsilon(delta)"
            )
        listed_ways.append(way)
    return listed_ways
