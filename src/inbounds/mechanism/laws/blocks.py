"""Outputs that name a set of labels: sets that hold the true label are likelier."""

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn, Self

import numpy as np

from inbounds.errors import InvalidDistribution, TooLarge
from inbounds.exact import Floats, Ints, freeze, round_up_to_float, to_int
from inbounds.losses import Loss
from inbounds.mechanism.audit import log_upper_bound
from inbounds.mechanism.blanket import BlanketPair, pair_of_kinds
from inbounds.mechanism.json_values import parse_integer
from inbounds.mechanism.laws.base import BROWSER, COQ, RATIO_BOUND, AnswerLaw
from inbounds.mechanism.limits import refuse_large_matrix
from inbounds.query import RangeQuery, category
from inbounds.trusted.block_designs import Affine, Planes, Subsets
from inbounds.trusted.bounds import EXP_BITS, TOTAL, ratio_lower_bound
from inbounds.trusted.certify import block_weights, check_blocks
from inbounds.trusted.samplers import BlockSampler

LabelDesign = Subsets | Affine | Planes

DESIGNS: dict[str, tuple[type[LabelDesign], tuple[str, ...]]] = {
    "subsets": (Subsets, ("size",)),
    "affine": (Affine, ("modulus", "size")),
    "planes": (Planes, ("order", "dimension")),
}
"""The families of sets by their keys in passports, and the numbers that determine one, besides the labels."""


@dataclass(frozen=True)
class BlockResponse(AnswerLaw):
    """A law that draws one set of a block design.

    With weight `inside` over 2**62 it is one of the sets that hold the truth, else one of the others; within each kind
    the choice is uniform up to rounding.
    """

    design: LabelDesign
    inside: int

    kind = "blocks"
    fields = {name: dict.fromkeys((*numbers, "inside")) for name, (_, numbers) in DESIGNS.items()}  # noqa: RUF012
    checkers = frozenset({BROWSER, COQ})
    has_claims = False
    has_face_value = False
    measured_exactly = False

    def __post_init__(self) -> None:
        if type(self.design) not in (Subsets, Affine, Planes):  # a subclass could replace the check
            raise TypeError("a law over sets of labels is made of Subsets, Affine or Planes")
        object.__setattr__(self, "inside", int(operator.index(self.inside)))

    def __reduce__(self) -> tuple[type["BlockResponse"], tuple[LabelDesign, int]]:
        return BlockResponse, (self.design, self.inside)  # copies and pickles carry no sampler

    def check(self, query: RangeQuery, epsilon: Fraction) -> None:
        one_each = len(query.answers) == self.design.labels and query.one_output_per_answer
        if not query.neighbours.is_complete or not one_each:
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

    def label_chances(self, query: RangeQuery) -> tuple[Fraction, Fraction]:
        return self.hit, self.chance

    @property
    def worst_ratio(self) -> Fraction:
        """The largest ratio of any output's probabilities under two labels."""
        least, most = block_weights(self.design.blocks, self.design.holding, self.inside)
        return Fraction(most, least)

    def tight_epsilon(self, query: RangeQuery) -> float:
        return log_upper_bound(self.worst_ratio, Fraction(1))

    def ratio_within(self, query: RangeQuery, steps: int) -> float:
        """Return `worst_ratio`, rounded up, for any two labels: labels have no distance."""
        return round_up_to_float(self.worst_ratio) if steps else 1.0

    def neighbour_ratios(self, query: RangeQuery) -> list[float]:
        return [self.ratio_within(query, 1)] * (self.design.labels - 1)

    def blanket_pairs(self, query: RangeQuery) -> Iterator[BlanketPair]:
        """Yield one pair: the design has as many sets with both labels, with one and with none for any two labels."""
        design = self.design
        held, missed = self.hit / design.holding, (1 - self.hit) / (design.blocks - design.holding)
        both, one = design.pair_count, design.holding - design.pair_count
        counted = [
            (both, held, held),
            (one, held, missed),
            (one, missed, held),
            (design.blocks - both - 2 * one, missed, missed),
        ]
        least, most = block_weights(design.blocks, design.holding, self.inside)
        even = min(Fraction(least, TOTAL**2) / missed, held / Fraction(most, TOTAL**2))
        yield pair_of_kinds([(n * min(held, missed), n * p, n * q) for n, p, q in counted], slack=1 - even)

    def proof_steps(self, query: RangeQuery) -> list[str]:
        design = self.design
        return [
            f"each label lies in {design.holding} of {design.blocks} sets; one of these is drawn with probability "
            f"{self.inside}/2^62, else one of the others",
            "which one of them is a draw of 2^62 modulo their number, so every output's probability under every label "
            "is a whole multiple of 2^-124",
            "the largest is at most p/2^128 times the smallest",
            RATIO_BOUND,
        ]

    # --- outputs: numbers of sets -------------------------------------------------------------------------

    def sampler(self, query: RangeQuery) -> BlockSampler:
        return BlockSampler(self.design, self.inside)

    def report_query(self, query: RangeQuery) -> RangeQuery:
        return category(self.design.blocks)

    def output_count(self, query: RangeQuery) -> int:
        return self.design.blocks

    def output_index(self, query: RangeQuery, output: Any) -> int:
        number = to_int(output, "output", 0)
        if number >= self.design.blocks:
            raise ValueError(f"output must be a whole number below {self.design.blocks}, got {output!r}")
        return number

    def decode(self, query: RangeQuery, outputs: Ints) -> Any:
        return outputs

    def named_labels(self, query: RangeQuery, output: int) -> Ints:
        positions = np.arange(self.design.labels)
        return positions[self.design.holds(np.full(len(positions), output), positions)]

    # --- measures: an output is a set, so it has no error at face value ------------------------------------

    def matrix(self, query: RangeQuery) -> Ints:
        raise TooLarge("outputs that name sets of labels have weights over 2^124, not a matrix over 2^62")

    def likelihood(self, query: RangeQuery, output: int) -> Floats:
        hit, sets, blocks = float(self.hit), self.design.holding, self.design.blocks
        likelihoods = np.full(self.design.labels, (1 - hit) / (blocks - sets))
        likelihoods[self.named_labels(query, output)] = hit / sets
        return likelihoods

    def probabilities(self, query: RangeQuery) -> Floats:
        refuse_large_matrix(self.design.blocks, self.design.labels)
        return freeze(np.array([self.likelihood(query, output) for output in range(self.design.blocks)]))

    def losses(self, query: RangeQuery, loss: Loss) -> Floats:
        _refuse_face_value()

    def truth_probability(self, query: RangeQuery) -> Floats:
        """Return Pr[the drawn set holds the true label] for every label."""
        return np.full(self.design.labels, float(self.hit))

    # --- files --------------------------------------------------------------------------------------------

    def to_json(self) -> Any:
        ((name, numbers),) = [(key, part) for key, (family, part) in DESIGNS.items() if type(self.design) is family]
        return {name: {**{key: str(getattr(self.design, key)) for key in numbers}, "inside": str(self.inside)}}

    @classmethod
    def from_json(cls, part: Any, query: RangeQuery) -> Self:
        ((name, values),) = part.items()
        family, numbers = DESIGNS[name]
        design: Any = family
        return cls(
            design(len(query.answers), *(parse_integer(values[key]) for key in numbers)),
            parse_integer(values["inside"]),
        )


def _refuse_face_value() -> NoReturn:
    raise ValueError("an output names a set of labels, which has no loss at face value; use bayes_loss or best_guess")


def make_tight_blocks(design: LabelDesign, epsilon: Fraction) -> BlockResponse:
    """Make the law with the largest weight of the sets that hold the truth that epsilon allows.

    With u = ceil(2**62 / holding) and v = floor(2**62 / (blocks - holding)) it is the largest i with
    i · u · 2**128 <= p · (2**62 - i) · v.
    """
    p = ratio_lower_bound(epsilon, Fraction(1))
    u, v = -(-TOTAL // design.holding), TOTAL // (design.blocks - design.holding)
    return BlockResponse(design, p * v * TOTAL // ((u << EXP_BITS) + p * v))
