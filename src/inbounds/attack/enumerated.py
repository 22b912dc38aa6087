"""Composition by brute force: the exact privacy-loss distribution of a few answers, in whole numbers.

The check on `compose`, and the better choice where it is affordable: no grid, no transform, no rounding.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import combinations_with_replacement, product

from inbounds.attack.compose import Composition
from inbounds.attack.pairs import Pair, neighbours
from inbounds.errors import TooLarge
from inbounds.mechanism import Mechanism
from inbounds.numbers import Number, exact
from inbounds.trusted.bounds import EXP_BITS, TOTAL_BITS, exp_below

Losses = Mapping[Fraction, int]
"""Ratio of the two probabilities to weight under the first."""

LARGEST = 1_000_000
"""Combined outcomes that are enumerated."""


@dataclass(frozen=True)
class Enumeration:
    """Exact privacy-loss distributions, one for every choice of neighbours; weights over 2**(62·answers)."""

    choices: tuple[Losses, ...]
    answers: int

    def delta(self, epsilon: Number) -> Fraction:
        """The least delta, max over the choices of sum max(0, p - e^epsilon · q), too large by less than 2**-100.

        e^epsilon is replaced by a rational number just below it.
        """
        ratio = Fraction(exp_below(exact(epsilon, "epsilon")), 1 << EXP_BITS)
        return max(self._beyond(losses, ratio) for losses in self.choices)

    def epsilon(self, delta: Number) -> float:
        """The least epsilon at delta: where (p - delta) / q of the outcomes beyond it equals e^epsilon."""
        target = exact(delta, "delta")
        if not 0 <= target < 1:
            raise ValueError(f"delta must be at least 0 and below 1, got {delta}")
        return max(self._least(losses, target) for losses in self.choices)

    def _beyond(self, losses: Losses, ratio: Fraction) -> Fraction:
        total = sum((p - ratio * p / r for r, p in losses.items() if r > ratio), Fraction(0))
        return total / (1 << TOTAL_BITS * self.answers)

    def _least(self, losses: Losses, delta: Fraction) -> float:
        p = q = Fraction(0)
        crossing = Fraction(1)
        for r in sorted(losses, reverse=True):
            if q and (p - delta) / q >= r:
                break
            weight = Fraction(losses[r], 1 << TOTAL_BITS * self.answers)
            p, q = p + weight, q + weight / r
            crossing = (p - delta) / q
        return max(0.0, math.log(crossing)) if crossing > 0 else 0.0


def enumerated(composition: Composition) -> Enumeration:
    """The exact counterpart of a composition of few answers; `TooLarge` beyond a million combined outcomes.

    For the same question every pair of neighbours is taken through all answers; otherwise every way to give
    each answer a pair of its own (questions fixed in advance). Equal ratios are merged, so k answers of one
    mechanism cost about as many steps as there are multisets of its outputs.
    """
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


def _losses(mechanism: Mechanism, pair: Pair) -> Losses:
    j, k = pair
    found: dict[Fraction, int] = {}
    for p, q in zip(mechanism.weights[:, j].tolist(), mechanism.weights[:, k].tolist(), strict=True):
        if p:
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
