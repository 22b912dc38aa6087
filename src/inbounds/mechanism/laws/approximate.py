"""A matrix, or a noise table, that is private at a delta: outputs may be possible under one answer only."""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np

from inbounds.errors import InvalidDistribution
from inbounds.exact import Floats, FrozenArray, Ints, round_up_to_float
from inbounds.mechanism.json_values import (
    count_words,
    format_integers,
    format_rows,
    parse_array,
    parse_fraction,
    parse_rows,
)
from inbounds.mechanism.laws.base import BROWSER, COQ, RATIO_BOUND, AnswerLaw, seal_weights
from inbounds.mechanism.laws.noise import find_noise_reach
from inbounds.mechanism.limits import refuse_beyond_limit
from inbounds.mechanism.profile import Profile
from inbounds.query import RangeQuery
from inbounds.trusted.bounds import TOTAL
from inbounds.trusted.certify import check_approximate

MOST_COMPARED = 1 << 24
"""The most pairs of neighbours times outputs: each pair is compared by itself, because deltas do not telescope."""


def _check_pairs(
    query: RangeQuery, outputs: int, weights: Callable[[], Ints], epsilon: Fraction, delta: Fraction
) -> None:
    """Check every pair of neighbours, if they are few enough; only then the weights are written out."""
    pairs = query.neighbours.pairs(query.answers)
    if len(pairs) * outputs > MOST_COMPARED:
        raise InvalidDistribution(f"a delta is checked for at most {MOST_COMPARED} pairs of neighbours and outputs")
    check_approximate(weights(), pairs, epsilon, delta)


@dataclass(frozen=True, eq=False)
class ApproximateMatrix(AnswerLaw):
    """A law as a matrix, weights[output, answer] over 2**62, that is (epsilon, delta)-private.

    Formal guarantee: for any two neighbouring answers j and k and every set S of outputs,
    Pr[S | j] <= exp(epsilon) · Pr[S | k] + delta. For two answers k steps apart it is k·epsilon and
    delta·(1 + e^epsilon + … + e^((k-1)·epsilon)). Neighbours are those of a reach, or all answers; where epsilon is
    paid by distance or along edges, a delta has no such meaning, and the law is refused.
    """

    weights: Ints
    delta: Fraction
    _sealed: FrozenArray = field(init=False, repr=False)

    kind = "approximate"
    fields = dict.fromkeys(("delta", "matrix"))
    checkers = frozenset({BROWSER, COQ})
    has_claims = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "_sealed", seal_weights(self.weights))
        object.__setattr__(self, "weights", self._sealed.array)
        object.__setattr__(self, "delta", Fraction(self.delta))

    def check(self, query: RangeQuery, epsilon: Fraction) -> None:
        weights = self._sealed.array
        if query.shape != weights.shape:
            raise InvalidDistribution(f"weights must have the shape {query.shape}, got {weights.shape}")
        if not query.neighbours.is_line or query.neighbours.has_distances:
            raise InvalidDistribution("a delta needs neighbours at distance 1, such as answers within a reach")
        _check_pairs(query, len(weights), lambda: weights, epsilon, self.delta)

    def matrix(self, query: RangeQuery) -> Ints:
        return self._sealed.array

    @cached_property
    def _sealed_floats(self) -> FrozenArray:
        return FrozenArray.from_array(self._sealed.array / TOTAL)

    def probabilities(self, query: RangeQuery) -> Floats:
        return self._sealed_floats.array

    def tight_epsilon(self, query: RangeQuery) -> float:
        """Return the least epsilon at the delta of the law, rounded up."""
        least = Profile.from_entries(self.weights.astype(object), query).epsilon_at(self.delta)
        assert least is not None  # the check found an epsilon
        return round_up_to_float(least)

    def to_json(self) -> Any:
        return {"delta": str(self.delta), "matrix": format_rows(self.weights)}

    @classmethod
    def from_json(cls, part: Any, query: RangeQuery) -> Self:
        return cls(parse_rows(part["matrix"]), parse_fraction(part["delta"]))

    @classmethod
    def count_cells(cls, part: Any) -> int:
        rows = part.get("matrix") if isinstance(part, dict) else None
        return max(len(rows), count_words(rows[0])) if isinstance(rows, list) and rows else 0

    def proof_steps(self, query: RangeQuery) -> list[str]:
        outputs, answers = query.shape
        pairs = len(query.neighbours.pairs(query.answers))
        return [
            f"{outputs * answers} probabilities are whole multiples of 2^-62, none negative",
            f"each of the {answers} columns sums to exactly 1",
            f"for each of {pairs} ordered pairs of neighbours, what the probabilities of outputs under the one exceed "
            f"p/2^128 times those under the other adds up to at most delta, {self.delta}",
            RATIO_BOUND,
        ]

    def canonical_bytes(self) -> bytes:
        return f"{self.delta} ".encode() + self._sealed.array.astype("<i8").tobytes()

    def __reduce__(self) -> tuple[type["ApproximateMatrix"], tuple[Any, ...]]:
        return ApproximateMatrix, (self.weights, self.delta)  # copies and pickles freeze their weights again

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ApproximateMatrix):
            return False
        return self.delta == other.delta and np.array_equal(self.weights, other.weights)

    def __hash__(self) -> int:
        return hash((self.delta, self.weights.tobytes()))


@dataclass(frozen=True, eq=False)
class ApproximateNoise(AnswerLaw):
    """Noise that is added to the answer and clamped to the range, (epsilon, delta)-private; weights may be 0.

    table: weights of the noise -K..K over 2**62, K at most the range. The guarantee is that of `ApproximateMatrix`.
    """

    table: Ints
    delta: Fraction
    _sealed: FrozenArray = field(init=False, repr=False)

    kind = "approximate_noise"
    fields = dict.fromkeys(("delta", "table"))
    checkers = frozenset({BROWSER, COQ})
    has_claims = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "_sealed", seal_weights(self.table))
        object.__setattr__(self, "table", self._sealed.array)
        object.__setattr__(self, "delta", Fraction(self.delta))

    def check(self, query: RangeQuery, epsilon: Fraction) -> None:
        find_noise_reach(query)
        answers = len(query.answers)
        if query.neighbours.has_distances or not query.one_output_per_answer:
            raise InvalidDistribution("noise with a delta needs neighbours at distance 1, and one output per answer")
        if self.table.ndim != 1 or len(self.table) > 2 * answers - 1:
            raise InvalidDistribution("a noise table must not be longer than the range, in both directions")
        if len(self.table) % 2 == 0 or (self.table < 0).any() or int(self.table.sum(dtype=object)) != TOTAL:
            raise InvalidDistribution("noise weights must be those of -K..K, not negative, and sum to 2**62")
        _check_pairs(query, answers, lambda: self.matrix(query), epsilon, self.delta)

    def matrix(self, query: RangeQuery) -> Ints:
        refuse_beyond_limit(query)
        size, half = len(query.answers), len(self.table) // 2
        weights = np.zeros((size, size), dtype=np.int64)
        outputs = np.arange(len(self.table)) - half
        for answer in range(size):
            np.add.at(weights[:, answer], np.clip(answer + outputs, 0, size - 1), self._sealed.array)
        return weights

    def tight_epsilon(self, query: RangeQuery) -> float:
        """Return the least epsilon at the delta of the law, rounded up."""
        return ApproximateMatrix(self.matrix(query), self.delta).tight_epsilon(query)

    def to_json(self) -> Any:
        return {"delta": str(self.delta), "table": format_integers(self.table.tolist())}

    @classmethod
    def from_json(cls, part: Any, query: RangeQuery) -> Self:
        return cls(parse_array(part["table"]), parse_fraction(part["delta"]))

    def proof_steps(self, query: RangeQuery) -> list[str]:
        return [
            f"{len(self.table)} noise weights are whole, none negative, and sum to 2^62",
            "for each ordered pair of neighbours, what the probabilities of clamped outputs under the one exceed "
            f"p/2^128 times those under the other adds up to at most delta, {self.delta}",
            RATIO_BOUND,
        ]

    def canonical_bytes(self) -> bytes:
        return f"{self.delta} ".encode() + self._sealed.array.astype("<i8").tobytes()

    def __reduce__(self) -> tuple[type["ApproximateNoise"], tuple[Any, ...]]:
        return ApproximateNoise, (self.table, self.delta)  # copies and pickles freeze their weights again

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ApproximateNoise):
            return False
        return self.delta == other.delta and np.array_equal(self.table, other.table)

    def __hash__(self) -> int:
        return hash((self.delta, self.table.tobytes()))
