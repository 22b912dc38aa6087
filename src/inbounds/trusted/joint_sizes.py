"""Several quantiles of a group whose size is secret: the certificate of the joint law over sizes, and its sampler.

Ranks need a number of places, and the number of records is not to be known. So every size of a public list is tried:

    W(o) = spacing[o_2 - o_1] · … · spacing[o_m - o_(m-1)] · (2^-floor + sum over sizes of x^level(size, o))

level(size, o) is that of `trusted.joint_quantiles` with so many places and the ranks of that size, for as many records
as there are; quantiles of one rank must be equal. With 0 places only the vector of the value `missing` counts, at a
level of all records. A record that is added or removed moves each level by at most 1, so W and its sum by x^±1, and
Pr[o] = W(o) / sum W by x^±2 (docs/theory/several-quantiles.md).

The sampler draws a vector for the floor and one for every size, and keeps each with its share of the weights so far.
The work is the same for every group: a group of more than `capacity` records counts as the first of them, because its
levels are so large that all sums together are below 2^-CAPACITY_BITS of the floor.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from inbounds.errors import InvalidDistribution, ScoreRatioViolation
from inbounds.exact import Floats, Ints
from inbounds.trusted.bounds import EXP_BITS, TOTAL, ratio_lower_bound
from inbounds.trusted.certify import ratio_as_float
from inbounds.trusted.joint_quantiles import (
    MOST_RANK_BITS,
    MOST_RANK_STEPS,
    MOST_TRANSITIONS,
    NUMBERS,
    SLACK_BITS,
    SPACING_BITS,
    JointSampler,
    Staircases,
    coin_bits_of,
)
from inbounds.trusted.path_lengths import quantile_rank
from inbounds.trusted.samplers import Draws

CAPACITY_BITS = 40
"""What is left out of a group beyond the capacity is below 2**-CAPACITY_BITS of every weight."""

MOST_SIZES = 256
"""The most sizes of one law."""


# --- the checker ------------------------------------------------------------------------------------------


def check_joint_sizes(
    weight: int,
    spacing: Sequence[int],
    sizes: Sequence[int],
    floor: int,
    quantiles: int,
    records: int,
    epsilon: Fraction,
) -> None:
    """Raise unless the joint law over sizes is private, as `JointSizesSampler` draws it.

    sizes: the numbers of places that are tried, rising. floor: the weight 2^-floor that every vector has beside them.
    records: how many records may be one person's: each may cost epsilon / records. Per record the ratio is at most
    x^-2, times (1 + s) / (1 - s) for the slack s of the sampler.
    """
    check_sizes_form(weight, spacing, sizes, floor, quantiles)
    p = ratio_lower_bound(epsilon, Fraction(1, records))  # of each of a person's records
    high, low = TOTAL**2 * ((1 << SLACK_BITS) + 1), weight**2 * ((1 << SLACK_BITS) - 1)
    if not high << EXP_BITS <= p * low:
        raise ScoreRatioViolation(ratio_as_float(high, low), p / 2**EXP_BITS)


def check_sizes_form(weight: int, spacing: Sequence[int], sizes: Sequence[int], floor: int, quantiles: int) -> None:
    """Raise unless the numbers are whole, in their ranges, and few enough for the sampler's arithmetic."""
    if not all(type(number) is int for number in (weight, *spacing, *sizes, floor, quantiles)):
        raise InvalidDistribution("a joint law must be made of whole numbers")
    if not 0 < weight < TOTAL:
        raise InvalidDistribution("the weight of a level must be between 0 and 2**62")
    if not (len(spacing) >= 2 and all(0 < number < 1 << SPACING_BITS for number in spacing)):
        raise InvalidDistribution(f"spacings must have weights from 1 to 2**{SPACING_BITS} - 1")
    if not (1 <= len(sizes) <= MOST_SIZES and sizes[0] >= 0 and all(a < b for a, b in pairwise(sizes))):
        raise InvalidDistribution(f"sizes must be 1 to {MOST_SIZES} whole numbers that rise from at least 0")
    if not 0 <= floor <= MOST_RANK_BITS:
        raise InvalidDistribution(f"the floor must be 0 to {MOST_RANK_BITS}")
    if not fits_joint_sizes(weight, len(spacing), sizes, floor, quantiles):
        raise InvalidDistribution("there are too many quantiles, records, sizes or values for one draw; draw fewer")


def fits_joint_sizes(weight: int, values: int, sizes: Sequence[int], floor: int, quantiles: int) -> bool:
    """Return whether so many quantiles and sizes are few enough for the sampler's arithmetic."""
    states = capacity(weight, sizes, floor) + values
    few = (quantiles + 1) ** 2 * (states + len(sizes) + 64) <= MOST_RANK_STEPS
    small = floor + quantiles * (SPACING_BITS + 2 * values.bit_length()) <= MOST_RANK_BITS
    return few and small and states * values * len(sizes) <= MOST_TRANSITIONS


def capacity(weight: int, sizes: Sequence[int], floor: int) -> int:
    """Return the most records of a group whose levels are computed.

    With E records more than the largest size no level is below E, so that len(sizes) · x^E <= 2^-(floor +
    CAPACITY_BITS) is wanted. -log2(x) is at least (1 - x) · 36/25, since 36/25 is less than 1 / ln 2.
    """
    wanted = floor + CAPACITY_BITS + len(sizes).bit_length()
    return sizes[-1] + -(-25 * wanted * TOTAL // (36 * (TOTAL - weight)))


# --- the sampler ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class JointSizesSampler:
    """Vectors of quantiles by a chain for each size, and by the spacings alone."""

    capacity: int
    floor: int
    missing: int
    chains: tuple[tuple[int, JointSampler | None, Ints], ...]
    """For every size: its sampler, none without records, and the place of each quantile among its ranks."""
    base: JointSampler
    """A sampler of all quantiles, for coins and spacings."""

    @classmethod
    def from_weights(
        cls,
        weight: int,
        spacing: Sequence[int],
        sizes: Sequence[int],
        floor: int,
        at: Sequence[Fraction],
        missing: int,
    ) -> "JointSizesSampler":
        """Make the sampler of numbers that passed `check_sizes_form`. at: the quantiles. missing: without records."""
        check_sizes_form(weight, spacing, sizes, floor, len(at))
        most, chains = capacity(weight, sizes, floor), list[tuple[int, JointSampler | None, Ints]]()
        bits = coin_bits_of(len(at), len(spacing)) + len(sizes).bit_length()  # more coins than for one size
        for size in sizes:
            ranks = [quantile_rank(share, size) for share in at]
            distinct = sorted(set(ranks))
            sampler = JointSampler.from_weights(weight, spacing, distinct, most, bits) if size else None
            chains.append((size, sampler, np.searchsorted(distinct, ranks)))
        base = JointSampler.from_weights(weight, spacing, range(1, len(at) + 1), max(most, len(at)), bits)
        return cls(most, floor, missing, tuple(chains), base)

    def draw(self, histograms: Ints, draws: Draws) -> Ints:
        """Draw the positions of the quantiles: groups × quantiles. histograms: groups × values, of any size."""
        groups, values = histograms.shape
        outputs = np.empty((groups, len(self.base.ranks.array)), dtype=np.int64)
        rows = max(1, NUMBERS // ((self.capacity + values) * max(1, values // 4)))
        with np.errstate(under="ignore"):
            for start in range(0, groups, rows):
                window = window_up_to(histograms[start : start + rows], self.capacity)
                stairs = Staircases.from_histograms(window, self.capacity)
                outputs[start : start + rows] = self._draw_block(stairs, draws).T
        return outputs

    def _draw_block(self, stairs: Staircases, draws: Draws) -> Ints:
        groups, m = stairs.upto.shape[1], len(self.base.ranks.array)
        nearest = self.base.spacing.array[0]
        outputs, total = self._draw_spaced(groups, draws)
        total = total * 2.0**-self.floor
        for size, sampler, places in self.chains:
            if sampler is None:
                found = np.full((m, groups), self.missing)
                weight = nearest ** (m - 1) * self.base.power.array.take(stairs.upto[-1])
            else:
                chain, weight = sampler.draw_chain(stairs, size, draws)
                found, weight = chain[places], weight * nearest ** (m - len(chain))
            taken = self.base.flip(weight, total, draws)
            outputs, total = np.where(taken, found, outputs), total + weight
        return self.base.draw_lot(outputs, draws)

    def _draw_spaced(self, groups: int, draws: Draws) -> tuple[Ints, Floats]:
        """Draw vectors by their spacings alone: quantiles × groups; and the sum of all their weights."""
        values, m = self.base.values, len(self.base.ranks.array)
        apart = np.arange(values) - np.arange(values)[:, None]
        moves = np.where(apart >= 0, self.base.spacing.array[np.abs(apart)], 0.0)  # from a value to another
        forward = [np.ones(values)]
        for _ in range(m - 1):
            forward.append(forward[-1] @ moves)
        outputs = np.empty((m, groups), dtype=np.int64)
        outputs[-1], total = self.base.pick(np.repeat(forward[-1][:, None], groups, axis=1), draws)
        for j in range(m - 1, 0, -1):
            outputs[j - 1], _ = self.base.pick(forward[j - 1][:, None] * moves[:, outputs[j]], draws)
        return outputs, total


def window_up_to(histograms: Ints, most: int) -> Ints:
    """Return histograms of the first records in order, at most so many."""
    upto = np.minimum(np.cumsum(histograms, axis=1), most)
    return np.diff(upto, axis=1, prepend=0)
