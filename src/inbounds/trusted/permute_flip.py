"""Score tables: the checker and the sampler of permute-and-flip. Integers only.

The data of a group enter as a vector of lengths, one for each of the outputs 0..w: exactly one of them is 0, and
between neighbours each moves by at most 1 (`path_lengths`). The *depth* of a group is the least of the other lengths
less 1: how many records may change before the answer does. Output j has the level

    0 where its length is 0,      1 + stride · (length - 1) + (the first `depth` of `deeper`, added up) otherwise

(the last of `deeper` is repeated). It is eligible with probability p_j = T[level] / 2**62 for a table T[0] = 2**62
> T[1] >= … >= T[L] >= 1; a level beyond the table counts as L. One of the eligible outputs, chosen uniformly, is
reported: permute-and-flip. Then

    Pr[i] = p_i · ∫_0^1 ∏_{j != i} (1 - u·p_j) du .

`check_scores` compares a bound on the ratio between neighbours with exp(epsilon): that of Theorem 3 of
docs/theory/quantiles.md, and above MOST_SCORED outputs the simpler one of Theorem 1.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from inbounds.errors import InvalidDistribution, ScoreRatioViolation
from inbounds.exact import FrozenArray, Ints
from inbounds.trusted.bounds import EXP_BITS, TOTAL, TOTAL_BITS, ratio_lower_bound
from inbounds.trusted.certify import ratio_as_float
from inbounds.trusted.limits import MOST_DEEPER, MOST_DEPTHS_APART, MOST_SCORED
from inbounds.trusted.samplers import BLOCK, Draws, Words

MOST_OUTPUTS = 1 << 24
"""The most outputs of a score table: up to this the sampler's arithmetic on indices is exact."""

Ratio = tuple[int, int]
"""Numerator and denominator."""


# --- levels -----------------------------------------------------------------------------------------------


def score_levels(lengths: Ints, stride: int, deeper: Sequence[int], size: int) -> Ints:
    """Return the table level of each output of each group.

    size: the number of weights in the table. A length of `size` is already beyond the table, since 1 + stride · (size -
    1) >= size, and so is every depth that makes the other lengths as long. So capping lengths there moves no output to
    another weight, and no product overflows.
    """
    lengths = np.minimum(lengths, size)
    depth_levels = levels_of_depth(score_depths(lengths), deeper)
    return np.where(lengths == 0, 0, 1 + stride * (lengths - 1) + depth_levels[:, None])


def levels_of_depth(depth: Ints, deeper: Sequence[int]) -> Ints:
    """Return the sum of the first `depth` entries of `deeper`, of which the last is repeated."""
    if not deeper:
        return np.zeros_like(depth)
    running_sums = np.concatenate([[0], np.cumsum(deeper, dtype=np.int64)])
    entries = len(deeper)
    return np.asarray(running_sums[np.minimum(depth, entries)] + np.maximum(depth - entries, 0) * deeper[-1])


def score_depths(lengths: Ints) -> Ints:
    """Return how many records of every group may change before its answer does: the least length of another output,
    less 1.
    """
    other_lengths = np.where(lengths == 0, np.iinfo(np.int64).max, lengths)
    return np.asarray(other_lengths.min(axis=1) - 1)


# --- the checker ------------------------------------------------------------------------------------------


def check_scores(table: Sequence[int], stride: int, deeper: Sequence[int], width: int, epsilon: Fraction) -> None:
    """Raise unless permute-and-flip with this table over the outputs 0..width is private, as `ScoreSampler` draws it.

    The index among the eligible outputs comes from an integer out of 2**62, so each of s <= m = width + 1 of them is
    chosen with probability (1 ± m / 2**62) / s. The ratio grows by at most (2**62 + m) / (2**62 - m).
    """
    check_table(table, width)
    _check_depth(stride, deeper, width)
    p, m = ratio_lower_bound(epsilon, Fraction(1)), width + 1
    for high, low in ratio_bounds(table, stride, deeper, width):
        if not high * (TOTAL + m) << EXP_BITS <= p * low * (TOTAL - m):
            raise ScoreRatioViolation(ratio_as_float(high, low), p / 2**EXP_BITS)


def check_table(table: Sequence[int], width: int) -> None:
    """Raise unless the weights fall from 2**62, T[1] below it, to at least 1, over 2 to 2**24 outputs."""
    if not (len(table) >= 2 and all(type(weight) is int for weight in (*table, width))):
        raise InvalidDistribution("a score table must have at least two whole numbers")
    if not (table[0] == TOTAL > table[1] and table[-1] >= 1 and all(a >= b for a, b in pairwise(table))):
        raise InvalidDistribution("a score table must fall from 2**62, below it at once, to at least 1")
    if not 1 <= width < MOST_OUTPUTS:
        raise InvalidDistribution(f"a score table must have at least 2 and at most {MOST_OUTPUTS} outputs")


def _check_depth(stride: int, deeper: Sequence[int], width: int) -> None:
    if not all(type(number) is int for number in (stride, *deeper)):
        raise InvalidDistribution("the levels of a score table must be whole numbers")
    if not (1 <= stride < MOST_OUTPUTS and all(0 <= more <= stride for more in deeper)):
        raise InvalidDistribution("the levels of a score table must rise with the depth by at most its stride")
    if width <= MOST_SCORED and width * len(deeper) > MOST_DEEPER:
        raise InvalidDistribution(f"a score table over {width + 1} outputs must say less about the depth")
    if len(set(deeper)) > MOST_DEPTHS_APART:
        raise InvalidDistribution(f"the depth must add at most {MOST_DEPTHS_APART} different numbers of levels")


def ratio_bounds(table: Sequence[int], stride: int, deeper: Sequence[int], width: int) -> Iterator[Ratio]:
    """Yield bounds, the largest of which bounds the ratio of any output's probabilities between neighbours (Theorem 3).

    x = T[1] / 2**62, and for steps of the table R, Q, S (stride; stride and d more; stride and d less):

        answer and depth stay:                 R · I(x/R) / I(x)
        the answer changes:                    K(x, R) / (x · I(x))
        the depth rises by one, or falls:      Q · I(x'/S) / I(x')  and  S · I(x°/Q) / I(x°)

    with the largest p of another output beyond the depth (x') and before it (x°), for every entry d of `deeper`.
    """
    R = max(table_step(table, stride), -(-(TOTAL << TOTAL_BITS) // table[1]))
    yield _stays(R, R, table[1], width)
    yield _moves(R, table[1], width)
    level, last = 1, len(table) - 1
    steps = {more: (table_step(table, stride + more), table_step(table, stride - more)) for more in set(deeper)}
    for more in deeper:
        (Q, S), before = steps[more], table[min(level, last)]
        level += more
        yield _stays(Q, S, table[min(level, last)], width)
        yield _stays(S, Q, before, width)


def table_step(table: Sequence[int], by: int) -> int:
    """Return the largest T[i] / T[i + by] over i >= 1, times 2**62 and rounded up."""
    last = len(table) - 1
    return max(-(-(table[i] << TOTAL_BITS) // table[min(i + by, last)]) for i in range(1, last + 1))


def _stays(own: int, others: int, X: int, width: int) -> Ratio:
    """Return own · I(x / others) / I(x) for steps over B = 2**62 and x = X / B; own · others, which is more, for wide
    ranges.

    I(X/b) = ∫ (1-u)(1-uX/b)^c du = F(b) / (X² b^c (c+1)(c+2)) with the whole number F of `_flat_integral`.
    """
    B, c = TOTAL, width - 1
    if width > MOST_SCORED:
        return own * others, B * B
    return own * _flat_integral(X, others, c) << (TOTAL_BITS * c), B * others**c * _flat_integral(X, B, c)


def _moves(R: int, X: int, width: int) -> Ratio:
    """Return K / (x · I(x)) with K = ∫ (1-xu)(1-yu)^c du, y = x / R; R², which is more, for wide ranges.

    1 - xu = (1-R) + R (1-yu), hence K = G / (B X r^c (c+1)(c+2)) with r = R · B and the whole number
    G = (B-r)(c+2) (r^(c+1) - (r-X)^(c+1)) + (c+1) (r^(c+2) - (r-X)^(c+2)).
    """
    B, r, c = TOTAL, R, width - 1
    if width > MOST_SCORED:
        return r * r, B * B
    difference = r - X
    G = (B - r) * (c + 2) * (r ** (c + 1) - difference ** (c + 1)) + (c + 1) * (r ** (c + 2) - difference ** (c + 2))
    return G << (TOTAL_BITS * c), r**c * _flat_integral(X, B, c)


def _flat_integral(X: int, b: int, c: int) -> int:
    """Compute X (c+2) b^(c+1) - b^(c+2) + (b-X)^(c+2)."""
    value: int = X * (c + 2) * b ** (c + 1) - b ** (c + 2) + (b - X) ** (c + 2)
    return value


# --- the sampler ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ScoreSampler:
    """Reports by permute-and-flip: w + 1 coins and one index for every group, whatever the data.

    A coin is one comparison, word < T[level] with the word uniform below 2**bits, hence exact. The index is
    floor(word · s / 2**bits) for s eligible outputs: each has floor or ceil of 2**bits / s of the words. At least one
    output is eligible: a coin at level 0 is always below T[0] = 2**bits.
    """

    table: FrozenArray
    bits: int = TOTAL_BITS

    @classmethod
    def from_table(cls, table: Sequence[int], bits: int = TOTAL_BITS) -> "ScoreSampler":
        return cls(FrozenArray.from_array(np.array(table, dtype=np.uint64)), bits)

    def outputs(self, levels: Ints, draws: Words) -> Ints:
        """Return one output for every row of levels. draws: one word for each level, then one for each row."""
        table = self.table.array
        coins = draws[: levels.size].reshape(levels.shape)
        eligible = np.cumsum(coins < table.take(np.minimum(levels, len(table) - 1)), axis=1, dtype=np.int64)
        index = self._index(draws[levels.size :], eligible[:, -1].astype(np.uint64))
        return np.asarray((eligible <= index.astype(np.int64)[:, None]).sum(axis=1))

    def _index(self, words: Words, hands: Words) -> Words:
        """Compute floor(word · hands / 2**bits) without overflow: words in two halves, fewer than 2**24 eligible
        outputs.
        """
        half = np.uint64(self.bits // 2)
        upper, lower = words >> half, words & ((np.uint64(1) << half) - np.uint64(1))
        return (upper * hands + (lower * hands >> half)) >> (np.uint64(self.bits) - half)


def draw_permute_flip(sampler: ScoreSampler, levels: Ints, draws: Draws) -> Ints:
    """Draw outputs for groups × levels, block by block."""
    outputs = np.empty(len(levels), dtype=np.int64)
    rows = max(1, BLOCK // levels.shape[1])
    for start in range(0, len(levels), rows):
        block = levels[start : start + rows]
        outputs[start : start + rows] = sampler.outputs(block, draws(block.size + len(block)))
    return outputs
