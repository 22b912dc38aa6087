"""A matrix of integer weights: any private mechanism whose answers and outputs are few enough to write out."""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np

from inbounds.errors import InvalidDistribution
from inbounds.exact import Floats, FrozenArray, Ints
from inbounds.mechanism.json_values import count_words, format_rows, parse_rows
from inbounds.mechanism.laws.base import BROWSER, COQ, RATIO_BOUND, AnswerLaw, seal_weights
from inbounds.query import RangeQuery
from inbounds.trusted.bounds import EXP_BITS, TOTAL
from inbounds.trusted.certify import check_edges, check_matrix


@dataclass(frozen=True, eq=False)
class Matrix(AnswerLaw):
    """A law as a matrix: weights[output, answer] over 2**62."""

    weights: Ints
    _sealed: FrozenArray = field(init=False, repr=False)

    kind = "matrix"
    checkers = frozenset({BROWSER, COQ})

    def __post_init__(self) -> None:
        object.__setattr__(self, "_sealed", seal_weights(self.weights))
        object.__setattr__(self, "weights", self._sealed.array)

    def check(self, query: RangeQuery, epsilon: Fraction) -> None:
        weights = self._sealed.array
        if weights.shape != query.shape:
            raise InvalidDistribution(f"weights must have the shape {query.shape}, got {weights.shape}")
        if query.neighbours.is_line:
            check_matrix(weights, query.cliques(), epsilon)
        else:
            check_edges(weights, query.edges, epsilon)

    def matrix(self, query: RangeQuery) -> Ints:
        return self._sealed.array

    @cached_property
    def _sealed_floats(self) -> FrozenArray:
        return FrozenArray.from_array(self._sealed.array / TOTAL)

    def probabilities(self, query: RangeQuery) -> Floats:
        return self._sealed_floats.array

    def to_json(self) -> Any:
        return format_rows(self.weights)

    @classmethod
    def from_json(cls, part: Any, query: RangeQuery) -> Self:
        return cls(parse_rows(part))

    @classmethod
    def count_cells(cls, part: Any) -> int:
        return max(len(part), count_words(part[0])) if isinstance(part, list) and part else 0

    def proof_steps(self, query: RangeQuery) -> list[str]:
        outputs, answers = query.shape
        numbers = [
            f"{outputs * answers} probabilities are whole multiples of 2^-62, none negative",
            f"each of the {answers} columns sums to exactly 1",
        ]
        if not query.neighbours.is_line:
            return [*numbers, *_steps_along_edges(len(query.edges), outputs)]
        cliques = sum(1 for _ in query.cliques())
        return [
            *numbers,
            f"in each of {cliques} groups of neighbours and for each of {outputs} outputs, "
            "the largest probability is at most p/2^128 times the smallest",
            RATIO_BOUND,
        ]

    def canonical_bytes(self) -> bytes:
        return self._sealed.array.astype("<i8").tobytes()

    def __reduce__(self) -> tuple[type["Matrix"], tuple[Any, ...]]:
        return Matrix, (self.weights,)  # copies and pickles freeze their weights again

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Matrix) and np.array_equal(self.weights, other.weights)

    def __hash__(self) -> int:
        return hash(self.weights.tobytes())


def _steps_along_edges(edges: int, outputs: int) -> list[str]:
    return [
        f"along each of {edges} edges (each direction is one) and for each of {outputs} outputs, the probability under "
        "the first answer is at most p/2^128 times that under the second",
        f"p/2^{EXP_BITS} ≤ e^(epsilon·length), found by a sum rounded down at every step",
        "along a path the ratios multiply and the lengths add up, so any two answers keep the shortest path's length",
    ]
