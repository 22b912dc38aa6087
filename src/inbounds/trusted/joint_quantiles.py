"""Several quantiles of one group in one draw: the certificate of the joint law and its sampler.

A group has n records with values 0..w, in order; F(t) of them are at most t, L(t) below t. The quantiles are the
records of ranks k_1 < … < k_m. An output is a vector o_1 <= … <= o_m. The ranks cut n places into slots: k_1 - 1
places, the place of k_1, k_2 - k_1 - 1 places, …, the place of k_m, and n - k_m places. The *level* of an output is
the number of records and places that do not meet if the records are spread over the slots as well as they can be; a
record of a value between o_(j-1) and o_j belongs to the slot between them, one of the value o_j to any slot beside it.
It is 0 at the true quantiles and moves by at most 2 when one record changes. The *depth* of a group is the least number
of records that must change until its quantiles are others, less 1. With x = weight / 2**62 and any positive spacing,

    W(o) = spacing[o_2 - o_1] · … · spacing[o_m - o_(m-1)] · x^level(o),      x^(-2 depth) for the true output

moves by a factor of x^±2 at most, and so does its sum: Pr[o] = W(o) / sum W moves by x^±4
(docs/theory/several-quantiles.md).

The sampler computes W in floats: sums, products and quotients of positive numbers, each within 2**-53 of exact. So each
output has its probability up to a factor of 1 ± 2**-SLACK_BITS, which `check_joint` pays for. What floats cannot hold
is covered by one draw in 2**LOT_BITS that reports any vector whatever the records are. The work is the same for every
group. Records in excess of n are left out from above, records short of it count as a value that is given.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from inbounds.errors import InvalidDistribution, ScoreRatioViolation
from inbounds.exact import Floats, FrozenArray, Ints
from inbounds.trusted.bounds import EXP_BITS, TOTAL, TOTAL_BITS, ratio_lower_bound
from inbounds.trusted.certify import ratio_as_float
from inbounds.trusted.multisets import central_window
from inbounds.trusted.samplers import Draws

SLACK_BITS = 28
"""The sampler's rounding moves each probability by a factor of 1 ± 2**-SLACK_BITS at most."""

LOT_BITS = 40
"""One draw in 2**LOT_BITS reports any vector."""

SPACING_BITS = 24
"""The weights of spacings are below 2**SPACING_BITS."""

MOST_RANK_STEPS = 1 << 20
"""(m + 1)² · (n + w + 65) may not exceed this: 16 times as many roundings are within the slack."""

MOST_RANK_BITS = 900
"""m · (bits of a spacing + 2 · bits of a value) may not exceed this: the lot gives more than floats lose."""

MOST_TRANSITIONS = 1 << 24
"""(n + w + 1) · (w + 1) may not exceed this: the work of a draw for each quantile."""

NUMBERS = 1 << 19
"""Numbers in memory at a time, so that the working arrays fit the processor's cache."""

Bools = NDArray[np.bool_]


# --- the checker ------------------------------------------------------------------------------------------


def check_joint(
    weight: int, spacing: Sequence[int], ranks: Sequence[int], size: int, records: int, epsilon: Fraction
) -> None:
    """Raise unless the joint law is private for groups of `size` records, as `JointSampler` draws it.

    ranks: of the quantiles, from 1, rising. records: how many records may be one person's. A change of one record costs
    epsilon / records, so that of all of them costs epsilon. Per record the ratio is at most x^-4, times (1 + s) / (1 -
    s) for the slack s of the sampler.
    """
    check_joint_form(weight, spacing, ranks, size)
    p, one = ratio_lower_bound(epsilon, Fraction(1, records)), 1 << SLACK_BITS
    high, low = TOTAL**4 * (one + 1), weight**4 * (one - 1)
    if not high << EXP_BITS <= p * low:
        raise ScoreRatioViolation(ratio_as_float(high, low), p / 2**EXP_BITS)


def check_joint_form(weight: int, spacing: Sequence[int], ranks: Sequence[int], size: int) -> None:
    """Raise unless the numbers are whole, in their ranges, and few enough for the sampler's arithmetic."""
    if not all(type(number) is int for number in (weight, *spacing, *ranks, size)):
        raise InvalidDistribution("a joint law must be made of whole numbers")
    if not 0 < weight < TOTAL:
        raise InvalidDistribution("the weight of a level must be between 0 and 2**62")
    if not (len(spacing) >= 2 and all(0 < number < 1 << SPACING_BITS for number in spacing)):
        raise InvalidDistribution(f"spacings must have weights from 1 to 2**{SPACING_BITS} - 1")
    if not (ranks and ranks[0] >= 1 and ranks[-1] <= size and all(a < b for a, b in pairwise(ranks))):
        raise InvalidDistribution("ranks must rise from at least 1 to at most the number of records")
    if not fits_joint(len(spacing), len(ranks), size):
        raise InvalidDistribution("there are too many quantiles, records or values for one draw; draw fewer together")


def fits_joint(values: int, quantiles: int, size: int) -> bool:
    """Return whether so many quantiles of groups of a size are few enough for the sampler's arithmetic."""
    if (quantiles + 1) ** 2 * (size + values + 64) > MOST_RANK_STEPS or (size + values) * values > MOST_TRANSITIONS:
        return False
    return quantiles * (SPACING_BITS + 2 * values.bit_length()) <= MOST_RANK_BITS


# --- the staircase of a group -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Staircases:
    """States of many groups, steps × groups: state i = r + t is behind r records, within value t, L(t) <= r <= F(t).

    From one state to the next either one more record is behind (r + 1) or the next value is reached (t + 1). A group
    with fewer records than the largest has states at its end that no way leads to, with more records behind than there
    are.
    """

    upto: Ints
    """F: values × groups."""
    below: Ints
    """L: values × groups."""
    value: Ints
    """t of every state."""
    behind: Ints
    """r of every state."""
    is_first: Bools
    """Whether r = L(t)."""
    is_last: Bools
    """Whether r = F(t)."""

    @classmethod
    def from_histograms(cls, histograms: Ints, most: int) -> "Staircases":
        """Build the staircases of histograms, groups × values, with at most so many records each."""
        counts = np.ascontiguousarray(histograms.T)
        values, groups = counts.shape
        upto = np.cumsum(counts, axis=0)
        steps = most + values
        is_last = np.zeros((steps, groups), dtype=np.bool_)
        is_last[upto + np.arange(values)[:, None], np.arange(groups)] = True
        is_first = np.ones_like(is_last)
        is_first[1:] = is_last[:-1]
        value = np.minimum(np.cumsum(is_first, axis=0) - 1, values - 1)
        return cls(upto, upto - counts, value, np.arange(steps)[:, None] - value, is_first, is_last)


def truths_and_depths(stairs: Staircases, ranks: Ints) -> tuple[Ints, Ints]:
    """Return the true quantiles, ranks × groups, and how many records of each group may change before they do.

    The quantile of rank k is t where L(t) < k <= F(t). It is lower after k - L(t) changes, higher after F(t) - k + 1.
    """
    k, last = ranks[:, None], len(stairs.upto) - 1
    truths = (stairs.upto[:, None, :] < ranks[:, None]).sum(axis=0)
    never = stairs.upto[-1] + 1
    lower = np.where(truths > 0, k - np.take_along_axis(stairs.below, truths, axis=0), never)
    higher = np.where(truths < last, np.take_along_axis(stairs.upto, truths, axis=0) - k + 1, never)
    return truths, np.minimum(lower, higher).min(axis=0) - 1


# --- the sampler ------------------------------------------------------------------------------------------


def coin_bits_of(quantiles: int, values: int) -> int:
    """Return how many bits must decide a coin so that the lot gives the rarest vector far more than is undecided."""
    return LOT_BITS + 40 + quantiles * (values.bit_length() + 1)


@dataclass(frozen=True, eq=False)
class JointSampler:
    """Vectors of quantiles by sums over the staircase: forward for the weights, backward for the draw."""

    size: int
    ranks: FrozenArray
    power: FrozenArray
    """x^0 … x^(2n+2)."""
    spacing: FrozenArray
    """Weights of spacings, below 1."""
    words_per_coin: int
    """Words that decide a coin: what is left undecided is far less than the lot gives to the rarest vector."""

    @classmethod
    def from_weights(
        cls, weight: int, spacing: Sequence[int], ranks: Sequence[int], size: int, coin_bits: int = 0
    ) -> "JointSampler":
        """Make the sampler of numbers that passed `check_joint_form`. coin_bits: the fewest bits that decide a coin."""
        check_joint_form(weight, spacing, ranks, size)
        factors = np.full(2 * size + 3, weight / TOTAL)
        factors[0] = 1.0
        with np.errstate(under="ignore"):
            power = np.cumprod(factors)
        floats = np.array(spacing, dtype=np.float64) / (1 << SPACING_BITS)
        first, second, third = (FrozenArray.from_array(array) for array in (np.array(ranks), power, floats))
        return cls(size, first, second, third, -(-max(coin_bits, coin_bits_of(len(ranks), len(spacing))) // TOTAL_BITS))

    @property
    def values(self) -> int:
        """The number of values."""
        return len(self.spacing.array)

    def draw(self, histograms: Ints, draws: Draws) -> Ints:
        """Draw the positions of the quantiles: groups × ranks. histograms: groups × values, padded to the size."""
        groups, m = len(histograms), len(self.ranks.array)
        outputs = np.empty((groups, m), dtype=np.int64)
        rows = max(1, NUMBERS // ((self.size + self.values) * max(1, self.values // 4)))
        with np.errstate(under="ignore"):
            for start in range(0, groups, rows):
                window = central_window(histograms[start : start + rows], 1, self.size)
                stairs = Staircases.from_histograms(window, self.size)
                outputs[start : start + rows] = self._draw_block(stairs, draws).T
        return outputs

    def _draw_block(self, stairs: Staircases, draws: Draws) -> Ints:
        """Draw ranks × groups: the truth by its own share, else by the chain, and rarely any vector."""
        chain, total = self.draw_chain(stairs, self.size, draws)
        truths, depths = truths_and_depths(stairs, self.ranks.array)
        # all weights times x^(2 depth), which is at most 1: the truth has 1 instead of x^(2 depth)
        shrink = self.power.array.take(2 * depths)
        base = self.spacing.array.take(np.diff(truths, axis=0)).prod(axis=0)
        is_truth = self.flip(base * (1.0 - shrink), total * shrink, draws)
        return self.draw_lot(np.where(is_truth, truths, chain), draws)

    def draw_lot(self, outputs: Ints, draws: Draws) -> Ints:
        """Return the outputs, ranks × groups, but one in 2**LOT_BITS as any vector."""
        m, groups = outputs.shape
        numbers = (draws(m * groups) >> np.uint64(TOTAL_BITS - 32)).reshape(m, groups)
        anyone = np.sort((numbers * np.uint64(self.values) >> np.uint64(32)).astype(np.int64), axis=0)
        return np.where(draws(groups) >> np.uint64(TOTAL_BITS - LOT_BITS) == 0, anyone, outputs)

    def draw_chain(self, stairs: Staircases, places: int, draws: Draws) -> tuple[Ints, Floats]:
        """Draw vectors by their levels alone, for so many places: ranks × groups; and the sum of all weights."""
        forward = [*self._forward(stairs)]
        left = stairs.upto[-1] - stairs.behind - (places - self.ranks.array[-1])
        return self._backward(stairs, forward, forward[-1] * self.power.array.take(np.abs(left)), draws)

    def _forward(self, stairs: Staircases) -> Iterator[Floats]:
        """Yield for every rank the sum of the weights of all ways to each state behind its place.

        Behind r records, a slot of p places leads to r + p, or to the nearest record that value t allows: one level for
        each record between. Then the place of the rank: one record more if the value has one, else one level.
        """
        last_rank, weights = 0, np.empty(0)
        for rank in self.ranks.array.tolist():
            places = rank - last_rank - 1
            landed = self._land(stairs, weights, places) if last_rank else self._land_first(stairs, places)
            weights = np.where(stairs.is_last, landed * self.power.array[1], 0.0)
            weights[1:] += np.where(stairs.is_first[1:], 0.0, landed[:-1])
            yield weights
            last_rank = rank

    def _land_first(self, stairs: Staircases, places: int) -> Floats:
        """Return the weight of landing at each state from the beginning, over so many places."""
        short, beyond = stairs.behind < places, stairs.behind > places
        lands = ~short & ~beyond | beyond & stairs.is_first | short & stairs.is_last
        lands &= stairs.behind <= stairs.upto[-1]
        return np.where(lands, self.power.array.take(np.abs(stairs.behind - places)), 0.0)

    def _land(self, stairs: Staircases, weights: Floats, places: int) -> Floats:
        """Return the weight of landing at each state from all states with weights: every pair of state and value."""
        steps, groups = weights.shape
        landed = np.zeros(steps * groups)
        together = max(1, self.values // 4)
        here = np.arange(groups)
        for start in range(0, self.values, together):
            to = np.arange(start, min(start + together, self.values))
            sources = slice(0, self.size + int(to[-1]) + 1)  # states beyond have a larger value
            reached = (stairs.behind[sources] + places)[:, None]
            stop = np.clip(reached, stairs.below[to], stairs.upto[to])
            factors = self.power.array.take(np.abs(reached - stop))
            factors *= self._spacing_between(stairs.value[sources][:, None], to[:, None])
            factors *= weights[sources][:, None]
            stop += to[:, None]
            stop *= groups
            stop += here
            landed += np.bincount(stop.ravel(), weights=factors.ravel(), minlength=len(landed))
        return landed.reshape(steps, groups)

    def _spacing_between(self, value: Ints, to: Ints) -> Floats:
        """Return the weights of the spacings from values to others; 0 if they fall."""
        table = np.concatenate([self.spacing.array, np.zeros(self.values)])  # negative positions count from the end
        return np.asarray(table.take(to - value, mode="wrap"))

    def _backward(
        self, stairs: Staircases, forward: Sequence[Floats], ends: Floats, draws: Draws
    ) -> tuple[Ints, Floats]:
        """Draw a chain from its end: ranks × groups; and the sum of the weights of all chains."""
        groups = np.arange(ends.shape[1])
        at, total = self.pick(ends, draws)
        outputs = np.empty((len(forward), len(groups)), dtype=np.int64)
        outputs[-1] = stairs.value[at, groups]
        for j in range(len(forward) - 1, 0, -1):
            to, behind = outputs[j], stairs.behind[at, groups]
            high = stairs.upto[to, groups]
            reached = stairs.behind + (self.ranks.array[j] - self.ranks.array[j - 1] - 1)
            stop = np.clip(reached, stairs.below[to, groups], high)
            after = np.minimum(stop + 1, high)
            levels = np.abs(reached - stop) + stop + 1 - after
            weights = forward[j - 1] * self.power.array.take(levels) * self._spacing_between(stairs.value, to)
            at, _ = self.pick(np.where(after == behind, weights, 0.0), draws)
            outputs[j - 1] = stairs.value[at, groups]
        return outputs, total

    def pick(self, weights: Floats, draws: Draws) -> tuple[Ints, Floats]:
        """Draw one row for every column, with probability proportional to its weight, by coins down a tree of sums.

        Also return the sums of the columns.
        """
        steps, groups = weights.shape
        tree = [np.zeros((1 << (steps - 1).bit_length(), groups))]
        tree[0][:steps] = weights
        while len(tree[-1]) > 1:
            tree.append(tree[-1][::2] + tree[-1][1::2])
        at, here = np.zeros(groups, dtype=np.int64), np.arange(groups)
        for sums in reversed(tree[:-1]):
            at *= 2
            at += self.flip(sums[at + 1, here], sums[at, here], draws)
        return at, tree[-1][0]

    def flip(self, yes: Floats, no: Floats, draws: Draws) -> Bools:
        """Flip coins: true with probability yes / (yes + no).

        The rarer side is compared with the words, digit by digit in base 2**62, so that it keeps its relative
        precision.
        """
        both = yes + no
        rest = np.minimum(yes, no) / np.where(both > 0, both, 1.0)
        words = draws(self.words_per_coin * len(rest)).reshape(self.words_per_coin, len(rest))
        below, equal = np.zeros(len(rest), dtype=np.bool_), np.ones(len(rest), dtype=np.bool_)
        for word in words:
            rest = rest * float(TOTAL)
            digit = np.floor(rest)
            rest = rest - digit  # exact: both have at most 53 bits
            below |= equal & (word < digit.astype(np.uint64))
            equal &= word == digit.astype(np.uint64)
        return np.asarray(below == (yes <= no))
