"""The laws of a mechanism, which hold its probabilities: an integer matrix, an integer noise table,
two weights (`response`), or noise on a map (`plane`).

All laws are immutable and have the same methods for checking, measuring and sampling. `Mechanism` runs `check` before
it accepts a law.
"""

import math
import operator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from inbounds.errors import InvalidDistribution, TooLarge
from inbounds.exact import Floats, FrozenArray, Ints, freeze
from inbounds.losses import ErrorLoss, Loss
from inbounds.mechanism import clamped
from inbounds.mechanism.limits import refuse_beyond_limit
from inbounds.mechanism.plane import PlaneNoise
from inbounds.mechanism.ratios import largest_ratio, ratio_in_matrix, ratio_in_noise
from inbounds.mechanism.response import Response
from inbounds.query import RangeQuery
from inbounds.trusted.bounds import EXP_BITS, TOTAL, ratio_lower_bound
from inbounds.trusted.certify import check_edges, check_matrix, check_noise
from inbounds.trusted.limits import MOST_STEPS
from inbounds.trusted.samplers import MatrixSampler, NoiseSampler
from inbounds.trusted.scale import check_list_size

RATIO_BOUND = f"p/2^{EXP_BITS} ≤ e^epsilon, found by a sum rounded down at every step"


def freeze_weights(values: Any) -> Ints:
    """Return a read-only int64 copy, stored in immutable bytes. Raises `InvalidDistribution` for another dtype."""
    return _sealed_weights(values).array


def _sealed_weights(values: Any) -> FrozenArray:
    array = np.ascontiguousarray(values)
    if array.dtype != np.int64:
        raise InvalidDistribution(f"weights must be int64, got {array.dtype}")
    return FrozenArray.from_array(array)


@dataclass(frozen=True, eq=False)
class Matrix:
    """A law as a matrix: weights[output, answer] over 2**62."""

    weights: Ints
    _sealed: FrozenArray = field(init=False, repr=False)

    measured_exactly: ClassVar[bool] = True
    """Whether losses are computed as exact Fractions."""
    noise_table: ClassVar[None] = None
    """The law itself if it adds noise to the answer, else None."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_sealed", _sealed_weights(self.weights))
        object.__setattr__(self, "weights", self._sealed.array)

    def check(self, query: RangeQuery, epsilon: Fraction) -> None:
        """Raise unless the weights fit the query and are epsilon-private, in integers."""
        weights = self._sealed.array
        if weights.shape != query.shape:
            raise InvalidDistribution(f"weights must have the shape {query.shape}, got {weights.shape}")
        if query.neighbours.is_line:
            check_matrix(weights, query.cliques(), epsilon)
        else:
            check_edges(weights, query.edges, epsilon)

    def matrix(self, query: RangeQuery) -> Ints:
        """Return the weights, outputs × answers."""
        return self._sealed.array

    # --- measures, for every true answer ------------------------------------------------------------------

    @cached_property
    def _sealed_floats(self) -> FrozenArray:
        return FrozenArray.from_array(self._sealed.array / TOTAL)

    @property
    def _floats(self) -> Floats:
        return self._sealed_floats.array

    def probabilities(self, query: RangeQuery) -> Floats:
        """Return P[output, answer] as floats."""
        return self._floats

    def likelihood(self, query: RangeQuery, output: int) -> Floats:
        """Return Pr[output | answer] for every answer."""
        return np.asarray(self._floats[output])

    def losses(self, query: RangeQuery, loss: Loss) -> Floats:
        """Return sum_i P[i, j] · loss[i, j] for every answer j."""
        return np.asarray(np.einsum("ij,ij->j", self._floats, loss.table(query)))

    def truth_probability(self, query: RangeQuery) -> Floats:
        """Return Pr[the report is the cell that holds the answer] for every answer."""
        return self._floats[query.home_cell, np.arange(len(query.answers))]

    def ends(self, query: RangeQuery) -> Floats:
        """Return Pr[the report is the first or the last output] for every answer."""
        matrix = self._floats
        return np.asarray(matrix[0] + matrix[-1] if len(matrix) > 1 else matrix[0].copy())

    def bias(self, query: RangeQuery) -> Floats:
        """Return E[reported - true] for every answer."""
        return np.asarray(np.einsum("ij,ij->j", self._floats, _errors(query)))

    def variance(self, query: RangeQuery) -> Floats:
        """Return the variance of the report for every answer, around each column's mean to avoid cancellation."""
        around = _errors(query) - self.bias(query)
        return np.asarray(np.einsum("ij,ij,ij->j", self._floats, around, around))

    # --- what it reveals ----------------------------------------------------------------------------------

    def ratio_within(self, query: RangeQuery, steps: int) -> float:
        """Return the largest ratio of any output's probabilities under answers at most `steps` grid steps apart."""
        return ratio_in_matrix(self._sealed.array, query.answers, steps) if steps else 1.0

    def neighbour_ratios(self, query: RangeQuery) -> list[float]:
        """Return for every answer and the next one the largest ratio of any output's probabilities."""
        return [largest_ratio(np.maximum(a, b), np.minimum(a, b)) for a, b in pairwise(self._sealed.array.T)]

    def proof_steps(self, query: RangeQuery) -> list[str]:
        """Return what `check` established, as sentences for people."""
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
        """Return the numbers of the law as bytes, for digests."""
        return self._sealed.array.astype("<i8").tobytes()

    def __reduce__(self) -> tuple[type["Matrix"], tuple[Any, ...]]:
        return Matrix, (self.weights,)  # copies and pickles freeze their weights again and carry no sampler

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Matrix) and np.array_equal(self.weights, other.weights)

    def __hash__(self) -> int:
        return hash(self.weights.tobytes())

    @cached_property
    def sampler(self) -> MatrixSampler:
        return MatrixSampler.from_weights(self._sealed.array)


@dataclass(frozen=True, eq=False)
class Noise:
    """A law that reports clamp(answer + noise) on the steps 0..size, mapped to an output by `remap`.

    Noise weights over 2**62: core[d + K] for |d| <= K, `floor` for K < |d| < size, `end` for |d| = size.
    The floor keeps every output possible under every answer; the ends make tail sums decay slowly enough.
    """

    core: Ints
    floor: int
    end: int
    size: int
    remap: Ints | None = None
    _sealed: tuple[FrozenArray, FrozenArray | None] = field(init=False, repr=False)

    measured_exactly: ClassVar[bool] = False

    def __post_init__(self) -> None:
        remap = None if self.remap is None else _sealed_weights(self.remap)
        object.__setattr__(self, "_sealed", (_sealed_weights(self.core), remap))
        object.__setattr__(self, "core", self._sealed[0].array)
        object.__setattr__(self, "remap", None if remap is None else remap.array)
        for name in ("floor", "end", "size"):  # the checker needs plain ints: no overflow, no overloaded arithmetic
            object.__setattr__(self, name, int(operator.index(getattr(self, name))))

    @property
    def half_width(self) -> int:
        """K, the largest noise with a weight in the core."""
        return len(self.core) // 2

    def check(self, query: RangeQuery, epsilon: Fraction) -> None:
        """Raise unless the noise fits the query and is epsilon-private, in integers.

        The remap is post-processing: only its targets are checked.
        """
        reach, distance = find_noise_reach(query)
        if self.size != len(query.answers) - 1:
            raise InvalidDistribution(f"a noise table for {len(query.answers)} answers must have that size less one")
        beyond = min(reach, self.size - 1 - self.half_width)
        if beyond > max(MOST_STEPS, 4 * len(self.core)):
            raise TooLarge(
                f"a noise table must write out what one person can reach: a core of {len(self.core)} weights is too "
                f"short for a reach of {reach} steps"
            )
        core, remap = self._sealed
        if remap is None and not query.one_output_per_answer:
            raise InvalidDistribution("a noise table without a remap needs one output per answer")
        if remap is not None:
            if remap.shape != (self.size + 1,):
                raise InvalidDistribution("remap must name an output for every clamped step")
            if remap.array.min() < 0 or remap.array.max() >= len(query.outputs):
                raise InvalidDistribution("remap must name outputs of the query")
        check_noise(core.array, self.floor, self.end, self.size, reach, distance, epsilon)

    def all_weights(self) -> Ints:
        """Return the weights of noise -size..size. Raises `TooLarge` beyond MOST_LISTED."""
        check_list_size(2 * self.size + 1)
        run = np.full(self.size - 1 - self.half_width, self.floor, dtype=np.int64)
        return np.concatenate([[self.end], run, self.core, run, [self.end]]).astype(np.int64, copy=False)

    def matrix(self, query: RangeQuery) -> Ints:
        """Return the law as a weight matrix. Raises `TooLarge` beyond MATRIX_LIMIT entries.

        With a remap, each run of steps with one target is a difference of two cumulative sums: O(runs · answers).
        """
        if self.remap is None:
            refuse_beyond_limit(query)
            return self.clamped_matrix()
        starts, stops, targets = clamped.remap_runs(self.remap)
        refuse_beyond_limit(query, len(targets))
        cumulative, answers = np.cumsum(self.all_weights()), np.arange(self.size + 1)
        weights = np.zeros(query.shape, dtype=np.int64)
        np.add.at(weights, targets, clamped.interval_weights(cumulative, starts[:, None], stops[:, None], answers))
        return weights

    def clamped_matrix(self) -> Ints:
        """Return the weight matrix before any remap: steps × steps."""
        table, steps = self.all_weights(), self.size + 1
        clamped = np.empty((steps, steps), dtype=np.int64)
        for j in range(steps):
            clamped[:, j] = table[self.size - j : 2 * self.size - j + 1]
        clamped[0] = np.cumsum(table)[:steps][::-1]  # output 0: sum of noise -size..-j, for j = 0..size
        clamped[-1] = np.cumsum(table[::-1])[:steps]  # output size: noise size..size-j
        return clamped

    def shorten(self) -> "Noise":
        """Return the same noise over fewer steps; the ends get the floor of the steps left out.

        For measuring properties: every comparison of neighbouring outputs or answers in the long table occurs in the
        short one too, because where noise is constant, or a tail sum falls steadily, the first step is the worst.
        """
        size = min(self.size, 2 * self.half_width + 4)
        return Noise(self.core, self.floor, self.end + (self.size - size) * self.floor, size)

    # --- measures, for every true answer; linear in the size ----------------------------------------------

    @property
    def noise_table(self) -> "Noise":
        return self

    def probabilities(self, query: RangeQuery) -> Floats:
        """Return P[output, answer] as floats. Raises `TooLarge` beyond MATRIX_LIMIT entries."""
        return freeze(self.matrix(query) / TOTAL)

    def likelihood(self, query: RangeQuery, output: int) -> Floats:
        """Return Pr[output | answer] for every answer, without writing out the matrix."""
        return clamped.clamped_likelihood(self, output)

    def losses(self, query: RangeQuery, loss: Loss) -> Floats:
        """Return the expected loss for every answer. Raises `TooLarge` for other losses than those of the error."""
        if not isinstance(loss, ErrorLoss):
            raise TooLarge("a loss table or function needs a matrix of this size; use a loss of the error")
        if loss.name == "zero-one":
            return 1.0 - self.truth_probability(query)
        return clamped.expected_error_terms(
            self, query, lambda error: np.asarray(loss.of(np.abs(error)), dtype=np.float64)
        )

    def truth_probability(self, query: RangeQuery) -> Floats:
        """Return Pr[the report is the cell that holds the answer] for every answer."""
        return clamped.clamped_truth(self, query)

    def ends(self, query: RangeQuery) -> Floats:
        """Return Pr[the report is the first or the last output] for every answer."""
        return clamped.clamped_ends(self, query)

    def bias(self, query: RangeQuery) -> Floats:
        """Return E[reported - true] for every answer."""
        return clamped.expected_error_terms(self, query, lambda error: error)

    def variance(self, query: RangeQuery) -> Floats:
        """Return E[error²] - bias² for every answer, correct to 10^-15 of the squared range."""
        return np.maximum(clamped.expected_error_terms(self, query, np.square) - self.bias(query) ** 2, 0.0)

    # --- what it reveals ----------------------------------------------------------------------------------

    def ratio_within(self, query: RangeQuery, steps: int) -> float:
        """Return the largest ratio of any output's probabilities under answers at most `steps` grid steps apart."""
        return ratio_in_noise(self.all_weights(), min(steps, self.size)) if steps else 1.0

    def neighbour_ratios(self, query: RangeQuery) -> list[float]:
        """Return for every answer and the next one the largest ratio: the same everywhere on the grid."""
        return [self.ratio_within(query, 1)] * self.size

    def proof_steps(self, query: RangeQuery) -> list[str]:
        """Return what `check` established, as sentences for people."""
        return [
            f"{len(self.core)} noise probabilities are whole multiples of 2^-62, all positive, and with the "
            "constant tails they sum to exactly 1",
            "any two noise values within the reach, and any two tail sums, differ at most by the factor p/2^128",
            RATIO_BOUND,
            "clamping and renaming outputs look only at the noisy value, so they reveal nothing more",
        ]

    def canonical_bytes(self) -> bytes:
        """Return the numbers of the law as bytes, for digests."""
        remap = b"" if self.remap is None else self.remap.astype("<i8").tobytes()
        return f"|{self.floor}|{self.end}|{self.size}|".encode() + self.core.astype("<i8").tobytes() + remap

    def __reduce__(self) -> tuple[type["Noise"], tuple[Any, ...]]:
        return Noise, (self.core, self.floor, self.end, self.size, self.remap)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Noise)
            and (self.floor, self.end, self.size) == (other.floor, other.end, other.size)
            and np.array_equal(self.core, other.core)
            and (self.remap is None) == (other.remap is None)
            and (self.remap is None or other.remap is None or np.array_equal(self.remap, other.remap))
        )

    def __hash__(self) -> int:
        return hash((self.core.tobytes(), self.floor, self.end, self.size))

    @cached_property
    def sampler(self) -> NoiseSampler:
        core, remap = self._sealed
        return NoiseSampler.from_weights(
            core.array, self.floor, self.end, self.size, None if remap is None else remap.array
        )


Law = Matrix | Noise | Response | PlaneNoise


def _steps_along_edges(edges: int, outputs: int) -> list[str]:
    return [
        f"along each of {edges} edges (each direction is one) and for each of {outputs} outputs, the probability under "
        "the first answer is at most p/2^128 times that under the second",
        f"p/2^{EXP_BITS} ≤ e^(epsilon·length), found by a sum rounded down at every step",
        "along a path the ratios multiply and the lengths add up, so any two answers keep the shortest path's length",
    ]


def _errors(query: RangeQuery) -> Floats:
    return query.outputs.values.floats()[:, None] - query.answers.floats()[None, :]


def find_noise_reach(query: RangeQuery) -> tuple[int, Fraction]:
    """Return (reach in grid steps, distance that epsilon is multiplied by) of the query.

    Raises `ValueError` if noise on a grid cannot serve the query.
    """
    neighbours = query.neighbours
    if not (query.is_ordered and query.answers.is_regular and neighbours.is_line) or neighbours.is_complete:
        raise ValueError("a noise table needs numeric answers without gaps and neighbours within a reach")
    first = next(query.cliques())
    return first.stop - first.start - 1, first.distance


def make_geometric_noise(query: RangeQuery, epsilon: Fraction, remap: Ints | None = None) -> Noise:
    """Make two-sided geometric noise as integers: t[d] near t[0]·beta**|d|, never below t[d - reach] / ratio.

    Weights are computed outwards from t[0], each at least what its inner neighbours require, until integers cannot
    fall further. What is left of 2**62 goes to the ends. O(reach / epsilon), independent of the size.
    """
    reach, distance = find_noise_reach(query)
    size = len(query.answers) - 1
    p = ratio_lower_bound(epsilon, distance)
    if p == 1 << EXP_BITS:
        raise ValueError("epsilon is too small for answers this close: whole numbers cannot tell them apart")
    beta = math.exp(-float(epsilon * distance) / reach)
    start = TOTAL
    while True:
        side, floor = _decay(start, beta, reach, size, p)
        run = size - 1 - len(side)
        outermost = sum(([start, *side] + [floor] * min(run, reach))[-reach:])
        least_end = -((-outermost << EXP_BITS) // (p - (1 << EXP_BITS)))  # e + outermost <= ratio · e
        end = (TOTAL - start - 2 * sum(side)) // 2 - run * floor
        if end >= least_end:
            return Noise(np.array([*side[::-1], start, *side]), floor, end, size, remap)
        # an even start keeps both ends equal; each weight of the side may be rounded up by one unit
        spent = start + 2 * sum(side) + 2 * least_end
        start = start * (TOTAL - 2 * run * floor - 4 * len(side) - 4) // spent & ~1


def _decay(start: int, beta: float, reach: int, size: int, p: int) -> tuple[list[int], int]:
    """Return the weights of noise 1, 2, … as max(floor(start·beta^d), least allowed), and the floor they end at."""
    side: list[int] = []
    for d in range(1, size):
        inner = start if d <= reach else side[d - reach - 1]
        side.append(max(int(start * beta**d), -((-inner << EXP_BITS) // p)))
        if side[-1] == inner:
            break
    return side, side[-1] if side else start
