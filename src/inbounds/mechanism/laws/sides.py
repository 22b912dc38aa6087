"""Permute-and-flip over path lengths with different levels below and above the quantile."""

import operator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from inbounds.exact import Ints
from inbounds.mechanism.json_values import format_integers, parse_integer, parse_integers
from inbounds.mechanism.laws.base import BROWSER, COQ, RATIO_BOUND
from inbounds.mechanism.laws.scores import ScoreLaw
from inbounds.query import QuantileQuery
from inbounds.trusted.sided_scores import Side, check_sides, sided_score_levels


@dataclass(frozen=True)
class SidedPermuteAndFlip(ScoreLaw):
    """Permute-and-flip as `PermuteAndFlip`, with different levels below and above the answer.

    below, above: (first, stride, spread, near): the level of an output one record away, the levels that each further
    record adds, how many values beside the answer are nearly as good as it, and their level (by default 0). deeper: the
    levels that each record adds that may change before the answer does. See `trusted.sided_scores`.
    """

    table: tuple[int, ...]
    below: Side
    above: Side
    deeper: int = 0

    kind = "sides"
    fields = dict.fromkeys(("table", "below", "above", "deeper"))
    checkers = frozenset({BROWSER, COQ})

    def __post_init__(self) -> None:  # the checker needs plain ints: no overloaded arithmetic
        object.__setattr__(self, "table", tuple(map(operator.index, self.table)))
        for part in ("below", "above"):
            side = tuple(map(operator.index, getattr(self, part)))
            object.__setattr__(self, part, (*side, 0) if len(side) == 3 else side)
        object.__setattr__(self, "deeper", operator.index(self.deeper))

    def check(self, query: QuantileQuery, epsilon: Fraction) -> None:
        if not (query.public_size and query.records == 1):
            raise ValueError("a sided score table needs a public size and one record a person")
        check_sides(self.table, self.below, self.above, self.deeper, query.width, epsilon)

    def levels(self, query: QuantileQuery, histograms: Ints) -> Ints:
        return sided_score_levels(query.path_lengths(histograms), self.below, self.above, self.deeper, len(self.table))

    def proof_steps(self, query: QuantileQuery) -> list[str]:
        return [
            f"{len(self.table)} whole numbers fall from 2^62 to at least 1, the further the more records must change "
            "until the answer is another, below the answer and above it at paces of their own",
            "when a record changes, weights on one side only fall and on the other only rise; the product of the two "
            "largest ratios, as a fraction of whole numbers, is at most p/2^128, the sampler's rounding included",
            RATIO_BOUND,
        ]

    def to_json(self) -> Any:
        sides = {"below": _format_side(self.below), "above": _format_side(self.above), "deeper": str(self.deeper)}
        return {"table": format_integers(self.table), **sides}

    @classmethod
    def from_json(cls, part: Any, query: QuantileQuery) -> Self:
        below, above = _parse_side(part["below"]), _parse_side(part["above"])
        return cls(tuple(parse_integers(part["table"])), below, above, parse_integer(part["deeper"]))


def _format_side(side: Side) -> str:
    """Format a side; its last number, the level of the spread, is left out if it is 0."""
    return format_integers(side if side[3] else side[:3])


def _parse_side(part: Any) -> Side:
    numbers = parse_integers(part)
    if len(numbers) not in (3, 4):
        raise ValueError("a side of a sided score table must be three or four whole numbers")
    first, stride, spread, near = (*numbers, 0)[:4]
    return first, stride, spread, near
