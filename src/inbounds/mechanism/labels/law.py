"""Laws over sets of labels with two weights: a report names a set, and sets that hold the truth are likelier."""

import operator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from inbounds.errors import InvalidDistribution
from inbounds.exact import round_up_to_float
from inbounds.mechanism.law import RATIO_BOUND
from inbounds.query import RangeQuery
from inbounds.trusted.block_designs import Affine, Planes, Subsets
from inbounds.trusted.bounds import EXP_BITS, TOTAL, ratio_lower_bound
from inbounds.trusted.certify import block_weights, check_blocks
from inbounds.trusted.samplers import BlockSampler

LabelDesign = Subsets | Affine | Planes


@dataclass(frozen=True)
class BlockResponse:
    """A law that reports one set of a block design.

    With weight `inside` over 2**62 it is one of the sets that hold the truth, else one of the others; within each kind
    the choice is uniform up to rounding.
    """

    design: LabelDesign
    inside: int

    def __post_init__(self) -> None:
        if type(self.design) not in (Subsets, Affine, Planes):  # a subclass could replace the check
            raise TypeError("a law over sets of labels is made of Subsets, Affine or Planes")
        object.__setattr__(self, "inside", int(operator.index(self.inside)))

    def __reduce__(self) -> tuple[type["BlockResponse"], tuple[LabelDesign, int]]:
        return BlockResponse, (self.design, self.inside)  # copies and pickles carry no sampler

    def check(self, query: RangeQuery, epsilon: Fraction) -> None:
        """Raise unless the law fits the query and is epsilon-private, in integers."""
        if not query.neighbours.is_complete or len(query.answers) != self.design.labels:
            raise InvalidDistribution("sets of labels need a label for each answer, any two of which are neighbours")
        check_blocks(self.design.blocks, self.design.holding, self.inside, epsilon)

    @property
    def hit(self) -> Fraction:
        """The probability that the set holds the true label."""
        return Fraction(self.inside, TOTAL)

    @property
    def chance(self) -> Fraction:
        """The probability that the set holds a given wrong label.

        Of the sets that hold the truth, pair_count / holding hold the wrong label too; of the others,
        (holding - pair_count) / (blocks - holding). Sets of a kind are equally likely to one part in 2**38.
        """
        design = self.design
        others = Fraction(design.holding - design.pair_count, design.blocks - design.holding)
        return self.hit * Fraction(design.pair_count, design.holding) + (1 - self.hit) * others

    def variance(self, share: Fraction) -> Fraction:
        """Return the variance of the estimated share of a label that has this share, times the number of reports.

        c / n with c the reports whose set holds the label has the mean s = chance + (hit - chance)·share, so
        (c / n - chance) / (hit - chance) is unbiased with variance s·(1 - s) / (hit - chance)² / n.
        """
        lift = self.hit - self.chance
        if not lift:
            raise ValueError("a law must name the truth more or less often than others to estimate shares")
        mean = self.chance + lift * share
        return mean * (1 - mean) / lift**2

    @property
    def worst_ratio(self) -> Fraction:
        """The largest ratio of any report's probabilities under two labels."""
        least, most = block_weights(self.design.blocks, self.design.holding, self.inside)
        return Fraction(most, least)

    def ratio_within(self, query: RangeQuery, steps: int) -> float:
        """Return `worst_ratio`, rounded up, for any two labels: labels have no distance."""
        return round_up_to_float(self.worst_ratio) if steps else 1.0

    def proof_steps(self) -> list[str]:
        """Return what `check` established, as sentences for people."""
        design = self.design
        return [
            f"each label lies in {design.holding} of {design.blocks} sets; one of these is reported with probability "
            f"{self.inside}/2^62, else one of the others",
            "which one of them is a draw of 2^62 modulo their number, so every report's probability under every label "
            "is a whole multiple of 2^-124",
            "the largest is at most p/2^128 times the smallest",
            RATIO_BOUND,
        ]

    def canonical_bytes(self) -> bytes:
        """Return the numbers of the law as bytes, for digests."""
        return f"|{self.design!r}|{self.inside}|".encode()

    @cached_property
    def sampler(self) -> BlockSampler:
        return BlockSampler(self.design, self.inside)


def make_tight_blocks(design: LabelDesign, epsilon: Fraction) -> BlockResponse:
    """Make the law with the largest weight of the sets that hold the truth that epsilon allows.

    With u = ceil(2**62 / holding) and v = floor(2**62 / (blocks - holding)) it is the largest i with
    i · u · 2**128 <= p · (2**62 - i) · v.
    """
    p = ratio_lower_bound(epsilon, Fraction(1))
    u, v = -(-TOTAL // design.holding), TOTAL // (design.blocks - design.holding)
    return BlockResponse(design, p * v * TOTAL // ((u << EXP_BITS) + p * v))
