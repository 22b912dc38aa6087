"""Several quantiles of one group from noisy counts: the certificate, the sampler, and how they are read off.

The number of records with each value is drawn with noise of its own, around a circle of M numbers, the length of the
table:

    Pr[count + z mod M] = table[z mod M] / 2**62

A record that comes or goes moves one count by 1, one that changes moves two. So it is enough that numbers of the table
beside each other, around the circle, have a ratio of at most exp(epsilon / moves), with one or two moves for each
record of a person. A count of more than `most` records counts as `most`, which moves by at most 1 too. The quantiles
are read off the noisy counts alone: how many are read does not matter. Integers only; every draw takes the same words.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from inbounds.errors import InvalidDistribution, ScoreRatioViolation
from inbounds.exact import Ints
from inbounds.trusted.bounds import EXP_BITS, TOTAL, ratio_lower_bound
from inbounds.trusted.certify import ratio_as_float
from inbounds.trusted.samplers import AliasTable, Draws

MOST_TABLE = 1 << 13
"""The most numbers of a table."""


def check_counts(table: Sequence[int], moves: int, epsilon: Fraction) -> None:
    """Raise unless counts with noise from the table are private.

    moves: how many counts one person can move by 1: for each record one where it comes or goes, two where it changes.
    """
    if not all(type(number) is int for number in (*table, moves)):
        raise InvalidDistribution("a table of noise must be made of whole numbers")
    if not (2 <= len(table) <= MOST_TABLE and all(number > 0 for number in table) and sum(table) == TOTAL):
        raise InvalidDistribution(f"noise must have 2 to {MOST_TABLE} positive weights whose sum is 2**62")
    p = ratio_lower_bound(epsilon, Fraction(1, moves))
    for one, next_one in zip(table, (*table[1:], table[0]), strict=True):
        high, low = max(one, next_one), min(one, next_one)
        if not high << EXP_BITS <= p * low:
            raise ScoreRatioViolation(ratio_as_float(high, low), p / 2**EXP_BITS)


@dataclass(frozen=True, eq=False)
class CountsSampler:
    """Noisy counts, and the quantiles that are read off them."""

    noise: AliasTable
    length: int
    """The numbers of the circle."""
    most: int
    """The public size of a group, or its maximum."""
    public: bool
    shares: tuple[Fraction, ...]
    missing: int

    @classmethod
    def from_table(
        cls, table: Sequence[int], most: int, public: bool, shares: Sequence[Fraction], missing: int
    ) -> "CountsSampler":
        """Make the sampler of a table that passed `check_counts`. shares: the quantiles, rising."""
        noise = AliasTable.from_weights(np.array(table, dtype=np.int64)[:, None])
        return cls(noise, len(table), most, public, tuple(shares), missing)

    def draw(self, histograms: Ints, draws: Draws) -> Ints:
        """Draw the positions of the quantiles: groups × quantiles. histograms: groups × values."""
        counts = np.minimum(histograms, self.most)
        words = draws(counts.size)
        noise, _ = self.noise.pick(np.zeros(counts.size, dtype=np.int64), words)
        return self.read((counts + noise.reshape(counts.shape)) % self.length)

    def read(self, noisy: Ints) -> Ints:
        """Read quantiles off noisy counts, groups × values. Post-processing.

        A number in the last quarter of the circle is negative. How many records are at most each value is made to rise:
        half-way between the largest number before and the least behind. A quantile is the first value with at least its
        rank less a half. Where the size is secret it is the number of all.
        """
        upto = np.cumsum(np.where(4 * noisy > 3 * self.length, noisy - self.length, noisy), axis=1)
        least_behind = np.minimum.accumulate(upto[:, ::-1], axis=1)[:, ::-1]
        doubled = np.maximum.accumulate(upto, axis=1) + least_behind
        sizes = np.full(len(noisy), self.most) if self.public else (doubled[:, -1] + 1) // 2
        found = np.empty((len(noisy), len(self.shares)), dtype=np.int64)
        for j, share in enumerate(self.shares):
            ranks = np.maximum(1, -(-share.numerator * sizes // share.denominator))
            found[:, j] = (doubled[:, :-1] < 2 * ranks[:, None] - 1).sum(axis=1)
        return np.where(sizes[:, None] > 0, found, self.missing)
