"""Score tables: the checker and the sampler of the third kind of law. Integers only.

A score table is T[0] = 2**62 > T[1] >= … >= T[L] >= 1. Whatever is known about a group is a vector of lengths, one
for each of the outputs 0..w; exactly one of them is 0, and between neighbours each moves by at most 1 (`lengths`).
Output j raises its hand with probability p_j = T[len_j] / 2**62 (a length beyond the table counts as L), and one of the
raised hands, all alike, is reported: permute-and-flip. Then

    Pr[i] = p_i · ∫_0^1 ∏_{j != i} (1 - u·p_j) du .

With x = T[1] / 2**62, R at or above every step T[l] / T[l+1], c = w - 1 and y = x / R, the largest ratio between
neighbours is at most

    max( R · I(y), K / x ) / I(x)        I(z) = ∫ (1-u)(1-zu)^c du,     K = ∫ (1-xu)(1-yu)^c du

(Theorem 2 of docs/theory/quantiles.md), and at most R² (Theorem 1), which serves ranges beyond MOST_SCORED.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from inbounds.errors import NotADistribution, TooSteep
from inbounds.numbers import Ints, Sealed
from inbounds.trusted.bounds import EXP_BITS, TOTAL, TOTAL_BITS, ratio_below
from inbounds.trusted.certify import times
from inbounds.trusted.extent import MOST_SCORED
from inbounds.trusted.sample import BLOCK, Draws, Words

MOST_OUTPUTS = 1 << 24
"""Outputs of a score table: an index among them is exact in the sampler's arithmetic."""


# --- the checker ------------------------------------------------------------------------------------------


def check_scores(table: Sequence[int], width: int, epsilon: Fraction) -> None:
    """Raise unless permute-and-flip with this table over the outputs 0..width is private, as `ScoreSampler` draws it.

    The index among the raised hands is a whole number out of 2**62, so that each of s <= m = width + 1 hands is chosen
    with probability (1 ± m / 2**62) / s: the ratio grows by (2**62 + m) / (2**62 - m) at most.
    """
    if not (len(table) >= 2 and all(type(weight) is int for weight in table)):
        raise NotADistribution("a score table must have at least two whole numbers")
    if not (table[0] == TOTAL > table[1] and table[-1] >= 1 and all(a >= b for a, b in pairwise(table))):
        raise NotADistribution("a score table must fall from 2**62, below it at once, to at least 1")
    if not 1 <= width < MOST_OUTPUTS:
        raise NotADistribution(f"a score table must have at least 2 and at most {MOST_OUTPUTS} outputs")
    high, low = attained_ratio(table, width)
    p, m = ratio_below(epsilon, Fraction(1)), width + 1
    if not high * (TOTAL + m) << EXP_BITS <= p * low * (TOTAL - m):
        raise TooSteep(times(high, low), p / 2**EXP_BITS)


def steepest_step(table: Sequence[int]) -> int:
    """R · 2**62: the largest step T[l] / T[l+1], rounded up."""
    return max(-(-(above << TOTAL_BITS) // below) for above, below in pairwise(table))


def attained_ratio(table: Sequence[int], width: int) -> tuple[int, int]:
    """(numerator, denominator) of a bound on the ratio between neighbours: Theorem 2's, of wide ranges Theorem 1's.

    In whole numbers, X = T[1], B = 2**62, r = R·B, and with

        F(b) = ∫ (1-u)(1-zu)^c du · X² b^c (c+1)(c+2),  z = X/b
             = X (c+2) b^(c+1) - b^(c+2) + (b-X)^(c+2)
        G    = ∫ (1-xu)(1-yu)^c du · B X r^c (c+1)(c+2),  y = X/r,  1 - xu = (1-R) + R (1-yu)
             = (B-r)(c+2) (r^(c+1) - (r-X)^(c+1)) + (c+1) (r^(c+2) - (r-X)^(c+2))

    the two cases are  R · I(y) / I(x) = (r/B) · (B/r)^c · F(r) / F(B)   and   K / (x · I(x)) = (B/r)^c · G / F(B).
    """
    X, B, r, c = table[1], TOTAL, steepest_step(table), width - 1
    if width > MOST_SCORED:
        return r * r, B * B
    unchanged = r * _flat_integral(X, r, c)
    rest = r - X
    moved = B * ((B - r) * (c + 2) * (r ** (c + 1) - rest ** (c + 1)) + (c + 1) * (r ** (c + 2) - rest ** (c + 2)))
    return max(unchanged, moved) << (TOTAL_BITS * c), B * r**c * _flat_integral(X, B, c)


def _flat_integral(X: int, b: int, c: int) -> int:
    """∫ (1-u)(1-zu)^c du · X² b^c (c+1)(c+2) with z = X/b."""
    found: int = X * (c + 2) * b ** (c + 1) - b ** (c + 2) + (b - X) ** (c + 2)
    return found


# --- the sampler ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ScoreSampler:
    """Reports by permute-and-flip: w + 1 coins and one index for every group, whatever the data.

    A coin is one comparison, word < T[len] with the word uniform below 2**bits, hence exact. The index is
    floor(word · s / 2**bits) for s raised hands: each has floor or ceil of 2**bits / s of the words. There is always
    a hand: a coin at length 0 is always below T[0] = 2**bits.
    """

    table: Sealed
    bits: int = TOTAL_BITS

    @classmethod
    def of(cls, table: Sequence[int], bits: int = TOTAL_BITS) -> "ScoreSampler":
        return cls(Sealed.of(np.array(table, dtype=np.uint64)), bits)

    def outputs(self, lengths: Ints, draws: Words) -> Ints:
        """One output for every row of lengths. draws: one word for each length, and then one for each row."""
        table = self.table.array
        coins = draws[: lengths.size].reshape(lengths.shape)
        raised = np.cumsum(coins < table.take(np.minimum(lengths, len(table) - 1)), axis=1, dtype=np.int64)
        chosen = self._index(draws[lengths.size :], raised[:, -1].astype(np.uint64))
        return np.asarray((raised <= chosen.astype(np.int64)[:, None]).sum(axis=1))

    def _index(self, words: Words, hands: Words) -> Words:
        """floor(word · hands / 2**bits) without overflow: words in two halves, fewer than 2**24 hands."""
        half = np.uint64(self.bits // 2)
        upper, lower = words >> half, words & ((np.uint64(1) << half) - np.uint64(1))
        return (upper * hands + (lower * hands >> half)) >> (np.uint64(self.bits) - half)


def report_scores(sampler: ScoreSampler, lengths: Ints, draws: Draws) -> Ints:
    """Outputs for groups × lengths, block by block."""
    reported = np.empty(len(lengths), dtype=np.int64)
    rows = max(1, BLOCK // lengths.shape[1])
    for start in range(0, len(lengths), rows):
        block = lengths[start : start + rows]
        reported[start : start + rows] = sampler.outputs(block, draws(block.size + len(block)))
    return reported
