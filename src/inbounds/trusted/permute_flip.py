"""Score tables: the checker and the sampler of the third kind of law. Integers only.

Whatever is known about a group is a vector of lengths, one for each of the outputs 0..w: exactly one of them is 0, and
between neighbours each moves by at most 1 (`lengths`). The *depth* of a group is the least of the other lengths less 1:
how many records may change before the answer does. Output j has the level

    0 where its length is 0,      1 + stride · (length - 1) + (the first `depth` of `deeper`, added up) otherwise

(the last of `deeper` is repeated), and raises its hand with probability p_j = T[level] / 2**62 for a table T[0] = 2**62
> T[1] >= … >= T[L] >= 1; a level beyond the table counts as L. One of the raised hands, all alike, is reported:
permute-and-flip. Then

    Pr[i] = p_i · ∫_0^1 ∏_{j != i} (1 - u·p_j) du .

`check_scores` compares a bound on the ratio between neighbours with exp(epsilon), Theorem 3 of
docs/theory/quantiles.md; of ranges beyond MOST_SCORED the simpler one of Theorem 1.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from inbounds.errors import InvalidDistribution, ScoreRatioViolation
from inbounds.exact import FrozenArray, Ints
from inbounds.trusted.bounds import EXP_BITS, TOTAL, TOTAL_BITS, ratio_lower_bound
from inbounds.trusted.certify import multiply_exact
from inbounds.trusted.limits import MOST_DEEPER, MOST_DEPTHS_APART, MOST_SCORED
from inbounds.trusted.samplers import BLOCK, Draws, Words

MOST_OUTPUTS = 1 << 24
"""Outputs of a score table: an index among them is exact in the sampler's arithmetic."""

Ratio = tuple[int, int]
"""Numerator and denominator."""


# --- levels -----------------------------------------------------------------------------------------------


def score_levels(lengths: Ints, stride: int, deeper: Sequence[int], size: int) -> Ints:
    """Where in a table of so many weights each output of each group stands.

    A length of `size` is beyond the table already, 1 + stride · (size - 1) >= size, and so is every depth that makes
    the others as long: cutting lengths off there moves no output to another weight, and no product overflows.
    """
    lengths = np.minimum(lengths, size)
    depth = score_depths(lengths)
    if deeper:
        added = np.concatenate([[0], np.cumsum(deeper, dtype=np.int64)])
        known = len(deeper)
        below = added[np.minimum(depth, known)] + np.maximum(depth - known, 0) * deeper[-1]
    else:
        below = np.zeros_like(depth)
    return np.where(lengths == 0, 0, 1 + stride * (lengths - 1) + below[:, None])


def score_depths(lengths: Ints) -> Ints:
    """How many records of every group may change before its answer does: the least length of another output, less 1."""
    others = np.where(lengths == 0, np.iinfo(np.int64).max, lengths)
    return np.asarray(others.min(axis=1) - 1)


# --- the checker ------------------------------------------------------------------------------------------


def check_scores(table: Sequence[int], stride: int, deeper: Sequence[int], width: int, epsilon: Fraction) -> None:
    """Raise unless permute-and-flip with this table over the outputs 0..width is private, as `ScoreSampler` draws it.

    The index among the raised hands is a whole number out of 2**62, so that each of s <= m = width + 1 hands is chosen
    with probability (1 ± m / 2**62) / s: the ratio grows by (2**62 + m) / (2**62 - m) at most.
    """
    check_table(table, width)
    _check_depth(stride, deeper, width)
    p, m = ratio_lower_bound(epsilon, Fraction(1)), width + 1
    for high, low in ratio_bounds(table, stride, deeper, width):
        if not high * (TOTAL + m) << EXP_BITS <= p * low * (TOTAL - m):
            raise ScoreRatioViolation(multiply_exact(high, low), p / 2**EXP_BITS)


def check_table(table: Sequence[int], width: int) -> None:
    """Raise unless the weights fall from 2**62, below it at once, to at least 1, over 2 to 2**24 outputs."""
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
    """Bounds whose largest is a bound on the ratio of any output's probabilities between neighbours (Theorem 3).

    x = T[1] / 2**62, and for steps of the table R, Q, S (stride; stride and d more; stride and d less):

        the answer stays, and the depth:       R · I(x/R) / I(x)
        the answer is another:                 K(x, R) / (x · I(x))
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
    """The largest T[i] / T[i + by] over i >= 1, times 2**62 and rounded up."""
    last = len(table) - 1
    return max(-(-(table[i] << TOTAL_BITS) // table[min(i + by, last)]) for i in range(1, last + 1))


def _stays(own: int, others: int, X: int, width: int) -> Ratio:
    """own · I(x / others) / I(x) for steps over B = 2**62 and x = X / B; own · others for wide ranges, which is more.

    I(X/b) = ∫ (1-u)(1-uX/b)^c du = F(b) / (X² b^c (c+1)(c+2)) with the whole number F of `_flat_integral`.
    """
    B, c = TOTAL, width - 1
    if width > MOST_SCORED:
        return own * others, B * B
    return own * _flat_integral(X, others, c) << (TOTAL_BITS * c), B * others**c * _flat_integral(X, B, c)


def _moves(R: int, X: int, width: int) -> Ratio:
    """K / (x · I(x)) with K = ∫ (1-xu)(1-yu)^c du, y = x / R; for wide ranges R², which is more.

    1 - xu = (1-R) + R (1-yu), hence K = G / (B X r^c (c+1)(c+2)) with r = R · B and the whole number
    G = (B-r)(c+2) (r^(c+1) - (r-X)^(c+1)) + (c+1) (r^(c+2) - (r-X)^(c+2)).
    """
    B, r, c = TOTAL, R, width - 1
    if width > MOST_SCORED:
        return r * r, B * B
    rest = r - X
    G = (B - r) * (c + 2) * (r ** (c + 1) - rest ** (c + 1)) + (c + 1) * (r ** (c + 2) - rest ** (c + 2))
    return G << (TOTAL_BITS * c), r**c * _flat_integral(X, B, c)


def _flat_integral(X: int, b: int, c: int) -> int:
    """X (c+2) b^(c+1) - b^(c+2) + (b-X)^(c+2)."""
    found: int = X * (c + 2) * b ** (c + 1) - b ** (c + 2) + (b - X) ** (c + 2)
    return found


# --- the sampler ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ScoreSampler:
    """Reports by permute-and-flip: w + 1 coins and one index for every group, whatever the data.

    A coin is one comparison, word < T[level] with the word uniform below 2**bits, hence exact. The index is
    floor(word · s / 2**bits) for s raised hands: each has floor or ceil of 2**bits / s of the words. There is always
    a hand: a coin at level 0 is always below T[0] = 2**bits.
    """

    table: FrozenArray
    bits: int = TOTAL_BITS

    @classmethod
    def from_table(cls, table: Sequence[int], bits: int = TOTAL_BITS) -> "ScoreSampler":
        return cls(FrozenArray.from_array(np.array(table, dtype=np.uint64)), bits)

    def outputs(self, levels: Ints, draws: Words) -> Ints:
        """One output for every row of levels. draws: one word for each level, and then one for each row."""
        table = self.table.array
        coins = draws[: levels.size].reshape(levels.shape)
        raised = np.cumsum(coins < table.take(np.minimum(levels, len(table) - 1)), axis=1, dtype=np.int64)
        chosen = self._index(draws[levels.size :], raised[:, -1].astype(np.uint64))
        return np.asarray((raised <= chosen.astype(np.int64)[:, None]).sum(axis=1))

    def _index(self, words: Words, hands: Words) -> Words:
        """floor(word · hands / 2**bits) without overflow: words in two halves, fewer than 2**24 hands."""
        half = np.uint64(self.bits // 2)
        upper, lower = words >> half, words & ((np.uint64(1) << half) - np.uint64(1))
        return (upper * hands + (lower * hands >> half)) >> (np.uint64(self.bits) - half)


def draw_permute_flip(sampler: ScoreSampler, levels: Ints, draws: Draws) -> Ints:
    """Outputs for groups × levels, block by block."""
    reported = np.empty(len(levels), dtype=np.int64)
    rows = max(1, BLOCK // levels.shape[1])
    for start in range(0, len(levels), rows):
        block = levels[start : start + rows]
        reported[start : start + rows] = sampler.outputs(block, draws(block.size + len(block)))
    return reported
