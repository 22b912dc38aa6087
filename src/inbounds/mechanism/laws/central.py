"""A matrix over the central records of a group: the best law for few values; of one record, over the true quantile."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Self

import numpy as np

from inbounds.errors import InvalidDistribution, TooLarge
from inbounds.exact import Floats, FrozenArray, Ints
from inbounds.mechanism.json_values import format_rows, parse_integer, parse_rows
from inbounds.mechanism.laws.base import (
    BROWSER,
    COQ,
    RATIO_BOUND,
    DrawFunction,
    RecordsLaw,
    one_or_many,
    seal_weights,
)
from inbounds.mechanism.limits import MATRIX_LIMIT
from inbounds.query import QuantileQuery
from inbounds.trusted.bounds import TOTAL
from inbounds.trusted.certify import check_groups
from inbounds.trusted.multisets import central_window, count_multisets, multiset_index, neighbour_groups
from inbounds.trusted.samplers import Draws, MatrixSampler, draw_outputs


@dataclass(frozen=True, eq=False)
class CentralRecords(RecordsLaw):
    """A matrix over the multisets of the records of rank first..first + length - 1: weights[output, multiset] / 2**62.

    Changing one record of the group changes at most one of these, so only multisets that differ in one record are
    neighbours. Columns are in the order of `multiset_index`. With one record any two columns are neighbours; if it is
    the quantile itself, the law also serves groups of secret size and persons with several records.
    """

    first: int
    length: int
    weights: Ints = field(repr=False)
    _sealed: FrozenArray = field(init=False, repr=False)

    kind = "central"
    fields = dict.fromkeys(("first", "length", "matrix"))
    checkers = frozenset({BROWSER, COQ})

    def __post_init__(self) -> None:
        if not type(self.first) is type(self.length) is int:
            raise TypeError("first and length must be whole numbers")
        object.__setattr__(self, "_sealed", seal_weights(self.weights))
        object.__setattr__(self, "weights", self._sealed.array)

    @classmethod
    def from_answers(cls, query: QuantileQuery, weights: Ints) -> Self:
        """Build the law that sees the true answer alone from weights with a column for each answer, in order."""
        return cls(query.rank, 1, np.ascontiguousarray(weights[:, ::-1]))

    def check(self, query: QuantileQuery, epsilon: Fraction) -> None:
        if not self._is_quantile(query):
            if not (query.public_size and query.records == 1):
                raise ValueError("central records need a public size and one record a person")
            if not 1 <= self.first <= self.first + self.length - 1 <= query.size:
                raise ValueError("central records must be among those of the group")
        columns = central_columns(query, self.length)
        weights = self._sealed.array
        if weights.shape != (query.width + 1, columns):
            raise InvalidDistribution(f"weights must have a row for each value and {columns} columns")
        check_groups(weights, neighbour_groups(self.length, query.width), epsilon)

    def _is_quantile(self, query: QuantileQuery) -> bool:
        """Return whether the window is the quantile alone, which any person may move anywhere."""
        return (self.first, self.length) == (query.rank, 1)

    def make_sampler(self, query: QuantileQuery) -> DrawFunction:
        sampler = MatrixSampler.from_weights(self._sealed.array)

        def draw(histograms: Ints, draws: Draws) -> Ints:
            return draw_outputs(sampler, self._columns(query, histograms), draws)

        return one_or_many(draw)

    def probabilities(self, query: QuantileQuery, histograms: Ints) -> Floats:
        return np.asarray(self.weights.T[self._columns(query, histograms)] / TOTAL)

    def _columns(self, query: QuantileQuery, histograms: Ints) -> Ints:
        if self._is_quantile(query):  # in the order of `multiset_index`, the largest value comes first
            return query.width - query.true_positions(histograms)
        return multiset_index(central_window(query.pad(histograms), self.first, self.length), self.length)

    def to_json(self) -> Any:
        return {"first": str(self.first), "length": str(self.length), "matrix": format_rows(self.weights)}

    @classmethod
    def from_json(cls, part: Any, query: QuantileQuery) -> Self:
        return cls(parse_integer(part["first"]), parse_integer(part["length"]), parse_rows(part["matrix"]))

    def proof_steps(self, query: QuantileQuery) -> list[str]:
        changes = (
            f"the central {self.length} of the {query.size} records in order change in one at most when a record does"
        )
        return [
            "the output depends on the quantile alone" if self._is_quantile(query) else changes,
            f"{self.weights.size} probabilities are whole multiples of 2^-62, each column sums to exactly 1",
            "among any multisets that differ in one record, and for every output, the largest probability is at most "
            "p/2^128 times the smallest",
            RATIO_BOUND,
        ]

    def __reduce__(self) -> tuple[type["CentralRecords"], tuple[Any, ...]]:
        return CentralRecords, (self.first, self.length, self.weights)  # copies and pickles freeze their weights again

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, CentralRecords)
            and (self.first, self.length) == (other.first, other.length)
            and np.array_equal(self.weights, other.weights)
        )

    def __hash__(self) -> int:
        return hash((self.first, self.length, self.weights.tobytes()))


def central_columns(query: QuantileQuery, length: int) -> int:
    """Return the number of multisets of the central records. Raises `TooLarge` beyond MATRIX_LIMIT entries."""
    columns = count_multisets(length, query.width)
    if columns * (query.width + 1) > MATRIX_LIMIT:
        raise TooLarge(f"{columns} multisets are too many for a matrix; use fewer central records, or a larger step")
    return columns
