"""The laws of a quantile mechanism: score tables (`PermuteAndFlip`, `SidedPermuteAndFlip`) and a matrix over the
central records (`CentralRecords`), of which the true answer alone is the shortest.

All laws have the same methods: check privacy, draw reports for the histograms of many groups, and compute the
probability of each output. `QuantileMechanism` runs `check` before it accepts a law.
"""

import operator
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np

from inbounds.errors import InvalidDistribution, TooLarge
from inbounds.exact import Floats, Ints
from inbounds.mechanism.law import RATIO_BOUND, Matrix
from inbounds.mechanism.limits import MATRIX_LIMIT
from inbounds.query import QuantileQuery
from inbounds.trusted.bounds import TOTAL
from inbounds.trusted.certify import check_groups
from inbounds.trusted.multisets import central_window, count_multisets, multiset_index, neighbour_groups
from inbounds.trusted.permute_flip import ScoreSampler, check_scores, draw_permute_flip, score_levels
from inbounds.trusted.samplers import Draws, draw_outputs
from inbounds.trusted.sided_scores import Side, check_sides, sided_score_levels

ROWS = 1 << 21
"""The most numbers in memory at a time while probabilities are computed."""


@dataclass(frozen=True)
class PermuteAndFlip:
    """Permute-and-flip: outputs are tried in random order; t is accepted with probability table[level of t] / 2**62.

    The level is 0 for the true answer, else 1 + stride · (path length - 1), plus what `deeper` adds for the depth of
    the group: see `trusted.permute_flip`.
    """

    table: tuple[int, ...]
    stride: int = 1
    deeper: tuple[int, ...] = ()

    name: ClassVar[str] = "score table"

    def __post_init__(self) -> None:  # the checker needs plain ints: no overloaded arithmetic
        object.__setattr__(self, "table", tuple(map(operator.index, self.table)))
        object.__setattr__(self, "deeper", tuple(map(operator.index, self.deeper)))

    def check(self, query: QuantileQuery, epsilon: Fraction) -> None:
        """Raise unless the law fits the query and is epsilon-private, in integers."""
        check_scores(self.table, self.stride, self.deeper, query.width, epsilon)

    def report(self, query: QuantileQuery, histograms: Ints, draws: Draws) -> Ints:
        """Draw the position that is reported for every group."""
        return draw_permute_flip(self._sampler, self._levels(query, histograms), draws)

    def probabilities(self, query: QuantileQuery, histograms: Ints) -> Floats:
        """Return Pr[output] for every group, to float precision: groups × outputs."""
        return _probabilities_of_levels(self.table, self._levels(query, histograms))

    def _levels(self, query: QuantileQuery, histograms: Ints) -> Ints:
        return score_levels(query.path_lengths(histograms), self.stride, self.deeper, len(self.table))

    def proof_steps(self, query: QuantileQuery) -> list[str]:
        """Return what `check` established, as sentences for people."""
        return [
            f"{len(self.table)} whole numbers fall from 2^62 to at least 1, the further the more records must change "
            "until the answer is another",
            "the largest ratio that permute-and-flip can have between neighbours, as a fraction of whole numbers, is "
            "at most p/2^128, the sampler's rounding included",
            RATIO_BOUND,
        ]

    @cached_property
    def _sampler(self) -> ScoreSampler:
        return ScoreSampler.from_table(self.table)

    def __reduce__(self) -> tuple[type["PermuteAndFlip"], tuple[Any, ...]]:
        return PermuteAndFlip, (self.table, self.stride, self.deeper)  # copies carry no sampler


@dataclass(frozen=True)
class SidedPermuteAndFlip:
    """Permute-and-flip as `PermuteAndFlip`, with different levels below and above the answer.

    below, above: (first, stride, spread, near): the level of an output one record away, the levels that each further
    record adds, how many values beside the answer are nearly as good as it, and their level (by default 0). deeper: the
    levels that each record adds that may change before the answer does. See `trusted.sided_scores`.
    """

    table: tuple[int, ...]
    below: Side
    above: Side
    deeper: int = 0

    name: ClassVar[str] = "sided score table"

    def __post_init__(self) -> None:  # the checker needs plain ints: no overloaded arithmetic
        object.__setattr__(self, "table", tuple(map(operator.index, self.table)))
        for part in ("below", "above"):
            side = tuple(map(operator.index, getattr(self, part)))
            object.__setattr__(self, part, (*side, 0) if len(side) == 3 else side)
        object.__setattr__(self, "deeper", operator.index(self.deeper))

    def check(self, query: QuantileQuery, epsilon: Fraction) -> None:
        """Raise unless the law fits the query and is epsilon-private, in integers."""
        if not (query.public_size and query.records == 1):
            raise ValueError("a sided score table needs a public size and one record a person")
        check_sides(self.table, self.below, self.above, self.deeper, query.width, epsilon)

    def report(self, query: QuantileQuery, histograms: Ints, draws: Draws) -> Ints:
        """Draw the position that is reported for every group."""
        return draw_permute_flip(self._sampler, self._levels(query, histograms), draws)

    def probabilities(self, query: QuantileQuery, histograms: Ints) -> Floats:
        """Return Pr[output] for every group, to float precision: groups × outputs."""
        return _probabilities_of_levels(self.table, self._levels(query, histograms))

    def _levels(self, query: QuantileQuery, histograms: Ints) -> Ints:
        return sided_score_levels(query.path_lengths(histograms), self.below, self.above, self.deeper, len(self.table))

    def proof_steps(self, query: QuantileQuery) -> list[str]:
        """Return what `check` established, as sentences for people."""
        return [
            f"{len(self.table)} whole numbers fall from 2^62 to at least 1, the further the more records must change "
            "until the answer is another, below the answer and above it at paces of their own",
            "when a record changes, weights on one side only fall and on the other only rise; the product of the two "
            "largest ratios, as a fraction of whole numbers, is at most p/2^128, the sampler's rounding included",
            RATIO_BOUND,
        ]

    @cached_property
    def _sampler(self) -> ScoreSampler:
        return ScoreSampler.from_table(self.table)

    def __reduce__(self) -> tuple[type["SidedPermuteAndFlip"], tuple[Any, ...]]:
        return SidedPermuteAndFlip, (self.table, self.below, self.above, self.deeper)  # copies carry no sampler


@dataclass(frozen=True)
class CentralRecords:
    """A matrix over the multisets of the records of rank first..first + length - 1: the best law for few values.

    Changing one record of the group changes at most one of these, so only multisets that differ in one record are
    neighbours. A window of one record at the quantile's rank is the true answer itself. Any two values of it are
    neighbours, so it also serves secret sizes and persons with several records. The columns are in the order of
    `trusted.multisets`: for one record the largest value comes first.
    """

    first: int
    length: int
    matrix: Matrix = field(repr=False)

    name: ClassVar[str] = "central records"

    def __post_init__(self) -> None:
        _refuse_other_laws(self.matrix)
        if not type(self.first) is type(self.length) is int:
            raise TypeError("first and length must be whole numbers")

    @classmethod
    def from_answers(cls, query: QuantileQuery, weights: Ints) -> "CentralRecords":
        """Build the law that sees the true answer alone from weights with a column for each answer, in order."""
        return cls(query.rank, 1, Matrix(weights[:, ::-1]))

    def check(self, query: QuantileQuery, epsilon: Fraction) -> None:
        """Raise unless the law fits the query and is epsilon-private, in integers."""
        if not (self._is_answer(query) or (query.public_size and query.records == 1)):
            raise ValueError("central records need a public size and one record a person")
        if not 1 <= self.first <= self.first + self.length - 1 <= query.size:
            raise ValueError("central records must be among those of the group")
        columns = central_columns(query, self.length)
        weights = self.matrix.matrix(query.as_range_query)
        if weights.shape != (query.width + 1, columns):
            raise InvalidDistribution(f"weights must have a row for each value and {columns} columns")
        check_groups(weights, neighbour_groups(self.length, query.width), epsilon)

    def report(self, query: QuantileQuery, histograms: Ints, draws: Draws) -> Ints:
        """Draw the position that is reported for every group."""
        return draw_outputs(self.matrix.sampler, self._columns(query, histograms), draws)

    def probabilities(self, query: QuantileQuery, histograms: Ints) -> Floats:
        """Return Pr[output] for every group, to float precision: groups × outputs."""
        return np.asarray(self.matrix.weights.T[self._columns(query, histograms)] / TOTAL)

    def proof_steps(self, query: QuantileQuery) -> list[str]:
        """Return what `check` established, as sentences for people."""
        seen = (
            "the law sees the true answer alone, which one record may move to any other value"
            if self._is_answer(query)
            else f"the central {self.length} of the {query.size} records in order change in one at most when a record "
            "does"
        )
        return [
            seen,
            f"{self.matrix.weights.size} probabilities are whole multiples of 2^-62, each column sums to exactly 1",
            "among any multisets that differ in one record, and for every output, the largest probability is at most "
            "p/2^128 times the smallest",
            RATIO_BOUND,
        ]

    def _is_answer(self, query: QuantileQuery) -> bool:
        """Return whether the window holds the quantile and no other record."""
        return self.length == 1 and self.first == query.rank

    def _columns(self, query: QuantileQuery, histograms: Ints) -> Ints:
        if self._is_answer(query):
            return np.asarray(query.width - query.true_positions(histograms))
        return multiset_index(central_window(query.pad(histograms), self.first, self.length), self.length)


QuantileLaw = PermuteAndFlip | SidedPermuteAndFlip | CentralRecords


def _refuse_other_laws(matrix: Matrix) -> None:
    """Raise `TypeError` unless it is a `Matrix` itself: a subclass could replace the check and the sampler."""
    if type(matrix) is not Matrix:
        raise TypeError(f"matrix must be a Matrix, got {type(matrix).__name__}")


def central_columns(query: QuantileQuery, length: int) -> int:
    """Return the number of multisets of the central records. Raises `TooLarge` beyond MATRIX_LIMIT entries."""
    columns = count_multisets(length, query.width)
    if columns * (query.width + 1) > MATRIX_LIMIT:
        raise TooLarge(f"{columns} multisets are too many for a matrix; use fewer central records, or a larger step")
    return columns


def _probabilities_of_levels(table: tuple[int, ...], levels: Ints) -> Floats:
    weights, result = np.array(table, dtype=np.float64) / TOTAL, np.empty(levels.shape)
    for block in _blocks(levels.shape):
        place = np.minimum(levels[block], len(weights) - 1)
        used = np.bincount(place.ravel()) > 0  # as np.unique finds them, without sorting
        result[block] = _flip_probabilities(weights[: len(used)][used], (np.cumsum(used) - 1)[place])
    return result


def permute_flip_probabilities(chances: Floats) -> Floats:
    """Return Pr[i] = p_i ∫ ∏_{j != i} (1 - u p_j) du, u in 0..1, for every row p of `chances`."""
    result = np.empty_like(chances)
    for block in _blocks(chances.shape):
        p, place = np.unique(chances[block], return_inverse=True)
        result[block] = _flip_probabilities(p, place.reshape(chances[block].shape))
    return result


def _blocks(shape: tuple[int, ...]) -> Iterator[slice]:
    """Return slices of groups, each small enough for ROWS numbers."""
    rows = max(1, ROWS // (shape[1] * _node_count(shape[1])))
    return (slice(start, start + rows) for start in range(0, shape[0], rows))


def _node_count(outputs: int) -> int:
    return min(outputs // 2 + 1, 40 + 5 * int(outputs**0.5))


def _flip_probabilities(p: Floats, place: Ints) -> Floats:
    """Return the probabilities of `permute_flip_probabilities` for chances p[place], by Gauss-Legendre quadrature.

    The integrand has degree m - 1, so m // 2 + 1 nodes are exact. For a smooth decay far fewer, of the order of the
    root of the degree, are exact to float precision. Outputs share few chances, so logarithms are taken only of the
    distinct ones, times how often each occurs.
    """
    nodes, weights = gauss_legendre(_node_count(place.shape[1]))
    factors = 1 - nodes[:, None] * p
    group_chance = np.arange(len(place))[:, None] * len(p) + place
    times = np.bincount(group_chance.ravel(), minlength=len(place) * len(p)).reshape(len(place), len(p))
    products = np.exp(times @ np.log(factors).T)  # groups × nodes
    unnormalized = np.take_along_axis(products @ (weights[:, None] * p / factors), place, axis=1)
    return np.asarray(unnormalized / unnormalized.sum(axis=1, keepdims=True))


@lru_cache(maxsize=64)
def _cached_nodes(count: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return tuple(((nodes + 1) / 2).tolist()), tuple((weights / 2).tolist())


def gauss_legendre(count: int) -> tuple[Floats, Floats]:
    """Return the nodes and weights of Gauss-Legendre quadrature on 0..1."""
    nodes, weights = _cached_nodes(count)
    return np.array(nodes), np.array(weights)
