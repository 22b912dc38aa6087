"""Composition by brute force: the exact privacy-loss distribution of a few answers, in whole numbers.

The check on `compose`, and the better choice where it is affordable: no grid, no transform, no rounding.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import combinations_with_replacement, product
from typing import TYPE_CHECKING

from inbounds.accounting.directed_rounding import exp_below, log_above
from inbounds.accounting.dominating_pairs import Curve, dominating_pair, group_answers
from inbounds.accounting.pairs import Pair, choices, columns, curve, neighbours
from inbounds.errors import TooLarge
from inbounds.exact import Ints, Number, format_rounded_up, to_fraction
from inbounds.mechanism import Mechanism
from inbounds.trusted.bounds import TOTAL_BITS

if TYPE_CHECKING:
    from inbounds.accounting.compose import Composition

Losses = Mapping[Fraction, int]
"""Ratio of the two probabilities to weight under the first."""

LARGEST = 1_000_000
"""Combined outcomes that are enumerated."""

FEW_OUTPUTS, FEW_ANSWERS, QUICK = 40, 12, 4_000
"""A composition looks for its exact value up to so many outputs, answers and combined outcomes."""


@dataclass(frozen=True)
class Enumeration:
    """Exact privacy-loss distributions, one for every choice of neighbours; weights over 2**(62·answers)."""

    choices: tuple[Losses, ...]
    answers: int

    def delta(self, epsilon: Number) -> Fraction:
        """Return the least delta, max over the choices of sum max(0, p - e^epsilon · q), too large by less than 10**-50.

        e^epsilon is replaced by a rational number just below it.
        """
        e = to_fraction(epsilon, "epsilon")
        if not e >= 0:
            raise ValueError(f"epsilon must not be negative, got {epsilon}")
        return max(self._beyond(losses, exp_below(e)) for losses in self.choices)

    def epsilon(self, delta: Number) -> float:
        """Return the least epsilon at delta, as the next float above it."""
        return format_rounded_up(self.epsilon_above(to_fraction(delta, "delta")))

    def epsilon_above(self, delta: Fraction) -> Fraction:
        """Return the least epsilon at delta, too large by less than 10**-50: e^epsilon = (p - delta) / q beyond it."""
        if not 0 <= delta < 1:
            raise ValueError(f"delta must be at least 0 and below 1, got {delta}")
        return log_above(max(self._least(losses, delta) for losses in self.choices))

    def _beyond(self, losses: Losses, ratio: Fraction) -> Fraction:
        total = sum((p - ratio * p / r for r, p in losses.items() if r > ratio), Fraction(0))
        return total / (1 << TOTAL_BITS * self.answers)

    def _least(self, losses: Losses, delta: Fraction) -> Fraction:
        p = q = Fraction(0)
        crossing = Fraction(1)
        for r in sorted(losses, reverse=True):
            if q and (p - delta) / q >= r:
                break
            weight = Fraction(losses[r], 1 << TOTAL_BITS * self.answers)
            p, q = p + weight, q + weight / r
            crossing = (p - delta) / q
        return max(crossing, Fraction(1))


def enumerate_losses(composition: "Composition") -> Enumeration:
    """Return the exact counterpart of a composition of few answers; `TooLarge` beyond a million combined outcomes.

    For the same question every pair of neighbours is taken through all answers; otherwise every way to give
    each answer a pair of its own (questions fixed in advance). Equal ratios are merged, so k answers of one
    mechanism cost about as many steps as there are multisets of its outputs.
    """
    if not hasattr(composition, "mechanisms"):
        raise TypeError(f"composition must be one of ib.compose, got {type(composition).__name__}")
    mechanisms, times = composition.mechanisms, composition.times
    size = math.prod(math.comb(m.query.shape[0] + t - 1, t) for m, t in zip(mechanisms, times, strict=True))
    if composition.same_question:
        ways: list[tuple[tuple[Mechanism, Pair], ...]] = [
            tuple((m, pair) for m, t in zip(mechanisms, times, strict=True) for _ in range(t))
            for pair in neighbours(mechanisms[0].query)
        ]
    else:
        each = [combinations_with_replacement(neighbours(m.query), t) for m, t in zip(mechanisms, times, strict=True)]
        ways = [
            tuple((m, pair) for m, pairs in zip(mechanisms, choice, strict=True) for pair in pairs)
            for choice in _few(product(*each))
        ]
    if size * len(ways) > LARGEST:
        raise TooLarge("exact enumeration is for a few answers of small mechanisms; use compose(...).epsilon(delta)")
    return Enumeration(tuple(reduce(_both, (_losses(m, pair) for m, pair in way)) for way in ways), sum(times))


def can_enumerate(composition: "Composition") -> Enumeration | None:
    """Return the exact value of a composition where it takes little time, and holds for questions chosen as one goes.

    For any questions that is so when one pair of columns of each mechanism dominates all others, or for one answer.
    """
    mechanisms, times = composition.mechanisms, composition.times
    weights = [columns(m) if m.query.shape[0] <= FEW_OUTPUTS else None for m in mechanisms]
    if composition.answers > FEW_ANSWERS or any(w is None for w in weights):
        return None
    ways = _ways(composition, [w for w in weights if w is not None])
    size = sum(math.prod(math.comb(len(c.upper) + t - 1, t) for c, t in zip(way, times, strict=True)) for way in ways)
    if not 0 < size <= QUICK:
        return None
    alike = [[law for c, t in zip(way, times, strict=True) for law in [_law(c)] * t] for way in ways]
    return Enumeration(tuple(reduce(_both, laws) for laws in alike), composition.answers)


def _ways(composition: "Composition", weights: list[Ints]) -> list[tuple[Curve, ...]]:
    """Return every choice of columns that may be the worst; none where that is not known."""
    if composition.same_question:
        return choices(weights, composition.mechanisms[0].query)
    each = [
        group_answers(curve(w, pair) for pair in neighbours(m.query))
        for w, m in zip(weights, composition.mechanisms, strict=True)
    ]
    if composition.answers == 1:
        return [(c,) for c in each[0]]
    dominant = [dominating_pair(curves) for curves in each]
    return [] if None in dominant else [tuple(c for c in dominant if c is not None)]


def _losses(mechanism: Mechanism, pair: Pair) -> Losses:
    return _law(curve(mechanism.weights, pair))


def _law(one: Curve) -> Losses:
    found: dict[Fraction, int] = {}
    for p, q in zip(one.upper, one.lower, strict=True):
        found[Fraction(p, q)] = found.get(Fraction(p, q), 0) + p
    return found


def _both(first: Losses, second: Losses) -> Losses:
    found: dict[Fraction, int] = {}
    for (r, p), (s, q) in product(first.items(), second.items()):
        found[r * s] = found.get(r * s, 0) + p * q
    return found


def _few(ways: Iterable[tuple[tuple[Pair, ...], ...]]) -> list[tuple[tuple[Pair, ...], ...]]:
    found: list[tuple[tuple[Pair, ...], ...]] = []
    for way in ways:
        if len(found) > LARGEST // 100:
            raise TooLarge(
                "exact enumeration is for a few answers of small mechanisms; use compose(...).epsilon(delta)"
            )
        found.append(way)
    return found
