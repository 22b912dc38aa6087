"""Composition by enumeration: the exact privacy-loss distribution of a few answers, in integers.

It checks `compose`, and replaces it where it is affordable: no grid, no transform, no rounding. Mechanisms whose
columns have few different ratios but for the rounding to integers, such as geometric ones, are enumerated with one loss
for ratios that are alike: a bound within a part in 10^12 of the exact loss.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import combinations_with_replacement, pairwise, product
from typing import TYPE_CHECKING

import numpy as np

from inbounds.accounting.dominating_pairs import Curve, dominating_pair, unique_curves
from inbounds.accounting.pairs import curves_per_pair, neighbouring_pairs, pair_curve, weights_if_small
from inbounds.directed_rounding import ROUNDOFF, exp_below, log_above
from inbounds.errors import TooLarge
from inbounds.exact import Ints, Number, round_up_to_printed, to_fraction
from inbounds.mechanism import Mechanism
from inbounds.query.neighbours import Pair
from inbounds.trusted.bounds import TOTAL_BITS

if TYPE_CHECKING:
    from inbounds.accounting.compose import Composition

Losses = Mapping[Fraction, int]
"""A mapping from the ratio of the two probabilities to the weight under the first."""

LARGEST = 1_000_000
"""The most combined outcomes that are enumerated."""

FEW_OUTPUTS, FEW_ANSWERS, QUICK = 40, 12, 4_000
"""`Composition` uses enumeration up to this many outputs, answers and combined outcomes."""

ALIKE, MERGED, MERGED_BITS = 2.0**-40, 500, 256
"""Ratios whose neighbours differ by at most this share are one loss; the most combined outcomes of such losses; their
weights are rounded up to multiples of 2**-MERGED_BITS."""


@dataclass(frozen=True)
class Enumeration:
    """Privacy-loss distributions, one for every choice of neighbours; weights over 2**(bits·answers)."""

    choices: tuple[Losses, ...]
    answers: int
    bits: int = TOTAL_BITS

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
        total = sum((p - ratio * p / r for r, p in losses.items() if r > ratio), Fraction(0))
        return total / (1 << self.bits * self.answers)

    def _exp_epsilon_at(self, losses: Losses, delta: Fraction) -> Fraction:
        p = q = Fraction(0)
        crossing = Fraction(1)
        for r in sorted(losses, reverse=True):
            if q and (p - delta) / q >= r:
                break
            weight = Fraction(losses[r], 1 << self.bits * self.answers)
            p, q = p + weight, q + weight / r
            crossing = (p - delta) / q
        return max(crossing, Fraction(1))


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
        return _enumerate_merged(composition, weights)
    ways = _ways(composition, [w for w in weights if w is not None])
    size = sum(math.prod(math.comb(len(c.upper) + t - 1, t) for c, t in zip(way, times, strict=True)) for way in ways)
    if not 0 < size <= QUICK:
        return _enumerate_merged(composition, weights)
    laws_per_way = [
        [law for c, t in zip(way, times, strict=True) for law in [_loss_distribution(c)] * t] for way in ways
    ]
    return Enumeration(tuple(reduce(_convolve_losses, laws) for laws in laws_per_way), composition.answers)


def _enumerate_merged(composition: "Composition", weights: Sequence[Ints | None]) -> Enumeration | None:
    """Enumerate answers to any questions with one loss for ratios that are alike; None if there are too many losses."""
    if composition.same_question or composition.answers == 1:
        return None
    laws, size = list[Losses](), 1
    for mechanism, columns, times in zip(composition.mechanisms, weights, composition.times, strict=True):
        losses = None if columns is None else merge_losses(columns, neighbouring_pairs(mechanism.query))
        size *= MERGED + 1 if losses is None else math.comb(len(losses) + times - 1, times)
        if losses is None or size > MERGED:
            return None
        laws += [losses] * times
    return Enumeration((reduce(_convolve_losses, laws),), composition.answers, MERGED_BITS)


def merge_losses(weights: Ints, pairs: Sequence[Pair]) -> Losses | None:
    """Return the privacy losses of a pair of distributions that dominates all these pairs of columns.

    Its losses X_0 < X_1 < … are the largest of each run of ratios that are alike. There its curve, sum max(0, P - X·Q),
    is the maximum of theirs, computed in integers, and between them it is linear. The curve of a pair of columns is
    convex, and total at 0, so it lies below. None if there are more than MERGED losses, or a ratio is infinite.
    """
    upper, lower = (weights[:, [pair[side] for pair in pairs]] for side in (0, 1))
    possible = upper > 0
    if (lower[possible] == 0).any():
        return None
    ratios = np.divide(upper, lower, out=np.zeros(upper.shape), where=possible)  # to three roundings
    rising = np.unique(ratios[possible])
    points = rising[np.append(rising[1:] > rising[:-1] * (1 + ALIKE), True)] * (1 + 8 * ROUNDOFF)
    if len(points) > MERGED:
        return None
    total, losses, tops = int(weights[:, 0].sum()), [Fraction(x) for x in points.tolist()], list[Fraction]()
    for loss, point in zip(losses, points, strict=True):
        above = ratios > point  # by ALIKE at least, if at all
        sums = zip(*(np.where(above, part, 0).sum(axis=0).tolist() for part in (upper, lower)), strict=True)
        tops.append(Fraction(max(p * loss.denominator - loss.numerator * q for p, q in sums), loss.denominator))
    slopes = [(top - low) / (far - near) for (near, top), (far, low) in pairwise(zip(losses, tops, strict=True))]
    steps = zip(losses[1:], slopes, [*slopes[1:], Fraction(0)], strict=True)
    masses = [loss * (before - after) for loss, before, after in steps]
    masses.insert(0, total - sum(masses, Fraction(0)))
    return {loss: math.ceil(mass / total * (1 << MERGED_BITS)) for loss, mass in zip(losses, masses, strict=True)}


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
    losses: dict[Fraction, int] = {}
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
