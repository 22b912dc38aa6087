"""The two ways to hold a mechanism's probabilities: an integer matrix, or an integer noise table.

Both are immutable, know how to have themselves checked and measured, and answer to the same names, so that nobody
has to ask which of the two a law is; neither is a mechanism before `Mechanism` has run its check.
"""

import math
import operator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from inbounds.errors import NotADistribution, TooLarge
from inbounds.loss import ErrorLoss, Loss
from inbounds.mechanism import clamped
from inbounds.mechanism.ratios import largest_ratio, ratio_in_matrix, ratio_in_noise
from inbounds.numbers import Floats, Ints
from inbounds.query import Everyone, Query
from inbounds.trusted.bounds import EXP_BITS, TOTAL, ratio_below
from inbounds.trusted.certify import check_matrix, check_noise
from inbounds.trusted.sample import MatrixSampler, NoiseSampler

MATRIX_LIMIT = 1 << 24
"""Entries of the largest matrix that is written out (4096 × 4096)."""

RATIO_BOUND = f"p/2^{EXP_BITS} ≤ e^epsilon, found by a sum rounded down at every step"


def sealed(values: Any) -> Ints:
    """An int64 copy that nobody can write to: it lives in immutable bytes."""
    array = np.ascontiguousarray(values)
    if array.dtype != np.int64:
        raise NotADistribution(f"weights must be int64, got {array.dtype}")
    return np.frombuffer(array.tobytes(), dtype=np.int64).reshape(array.shape)


def refuse_beyond_limit(query: Query) -> None:
    """`TooLarge` when the query's matrix would have more entries than MATRIX_LIMIT."""
    outputs, answers = query.shape
    if outputs * answers > MATRIX_LIMIT:
        raise TooLarge(
            f"a matrix of {outputs} × {answers} is over the limit of {MATRIX_LIMIT} entries; "
            "use a construction with a noise table (truncated_geometric) or coarser answers"
        )


@dataclass(frozen=True, eq=False)
class Matrix:
    """weights[output, answer] over 2**62."""

    weights: Ints

    measured_exactly: ClassVar[bool] = True
    """Whether losses are known as exact Fractions."""
    noise_table: ClassVar[None] = None
    """The noise that is added to the answer, where the law is that."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", sealed(self.weights))

    def check(self, query: Query, epsilon: Fraction) -> None:
        if self.weights.shape != query.shape:
            raise NotADistribution(f"weights must have the shape {query.shape}, got {self.weights.shape}")
        check_matrix(self.weights, query.cliques(), epsilon)

    def matrix(self, query: Query) -> Ints:
        return self.weights.view()

    # --- measures, for every true answer ------------------------------------------------------------------

    @cached_property
    def _floats(self) -> Floats:
        return _probabilities(self.weights)

    def probabilities(self, query: Query) -> Floats:
        """P[output, answer] as floats."""
        return self._floats

    def likelihood(self, query: Query, output: int) -> Floats:
        """Pr[output | answer]."""
        return np.asarray(self._floats[output])

    def losses(self, query: Query, loss: Loss) -> Floats:
        """sum_i P[i, j] · loss[i, j]."""
        return np.asarray(np.einsum("ij,ij->j", self._floats, loss.table(query)))

    def truth(self, query: Query) -> Floats:
        """Pr[the report is the cell that holds the answer]."""
        return self._floats[query.home, np.arange(len(query.answers))]

    def ends(self, query: Query) -> Floats:
        """Pr[the report is the first or the last output]."""
        matrix = self._floats
        return np.asarray(matrix[0] + matrix[-1] if len(matrix) > 1 else matrix[0].copy())

    def bias(self, query: Query) -> Floats:
        """E[reported - true]."""
        return np.asarray(np.einsum("ij,ij->j", self._floats, _errors(query)))

    def variance(self, query: Query) -> Floats:
        """Of the report, around each column's own mean, so that nothing cancels."""
        around = _errors(query) - self.bias(query)
        return np.asarray(np.einsum("ij,ij,ij->j", self._floats, around, around))

    # --- what it reveals ----------------------------------------------------------------------------------

    def ratio_within(self, query: Query, steps: int) -> float:
        """The worst ratio of any output's probabilities under answers at most `steps` grid steps apart."""
        return ratio_in_matrix(self.weights, query.answers, steps) if steps else 1.0

    def neighbour_ratios(self, query: Query) -> list[float]:
        """For every answer and the next one the worst ratio of any output's probabilities."""
        return [largest_ratio(np.maximum(a, b), np.minimum(a, b)) for a, b in pairwise(self.weights.T)]

    def proof_steps(self, query: Query) -> list[str]:
        """What `check` established, for a reader."""
        outputs, answers = query.shape
        cliques = sum(1 for _ in query.cliques())
        return [
            f"{outputs * answers} probabilities are whole multiples of 2^-62, none negative",
            f"each of the {answers} columns sums to exactly 1",
            f"in each of {cliques} groups of neighbours and for each of {outputs} outputs, "
            "the largest probability is at most p/2^128 times the smallest",
            RATIO_BOUND,
        ]

    def canonical_bytes(self) -> bytes:
        """The numbers of the law, for digests."""
        return self.weights.astype("<i8").tobytes()

    def __reduce__(self) -> tuple[type["Matrix"], tuple[Any, ...]]:
        return Matrix, (self.weights,)  # copies and pickles are sealed anew, and carry no sampler

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Matrix) and np.array_equal(self.weights, other.weights)

    def __hash__(self) -> int:
        return hash(self.weights.tobytes())

    @cached_property
    def sampler(self) -> MatrixSampler:
        return MatrixSampler.of(self.weights)


@dataclass(frozen=True, eq=False)
class Noise:
    """clamp(answer + noise) over answers 0..size steps, then `remap` from clamped step to output.

    Noise weights over 2**62: core[d + K] for |d| <= K, `floor` for K < |d| < size, `end` for |d| = size.
    The floor keeps every output possible under every answer; the ends make tail sums decay slowly enough.
    """

    core: Ints
    floor: int
    end: int
    size: int
    remap: Ints | None = None

    measured_exactly: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "core", sealed(self.core))
        for name in ("floor", "end", "size"):  # the checker needs ints that cannot overflow
            object.__setattr__(self, name, operator.index(getattr(self, name)))
        if self.remap is not None:
            object.__setattr__(self, "remap", sealed(self.remap))

    @property
    def half_width(self) -> int:
        return len(self.core) // 2

    def check(self, query: Query, epsilon: Fraction) -> None:
        """Remapping the clamped value is post-processing: it needs a valid target, no privacy check."""
        reach, distance = noise_steps(query)
        if self.size != len(query.answers) - 1:
            raise NotADistribution(f"a noise table for {len(query.answers)} answers must have that size less one")
        if self.remap is None and not query.one_output_per_answer:
            raise NotADistribution("a noise table without a remap needs one output per answer")
        if self.remap is not None:
            if self.remap.shape != (self.size + 1,):
                raise NotADistribution("remap must name an output for every clamped step")
            if self.remap.min() < 0 or self.remap.max() >= len(query.outputs):
                raise NotADistribution("remap must name outputs of the query")
        check_noise(self.core, self.floor, self.end, self.size, reach, distance, epsilon)

    def weights_of_noise(self) -> Ints:
        """All weights from -size to size."""
        run = np.full(self.size - 1 - self.half_width, self.floor, dtype=np.int64)
        return np.concatenate([[self.end], run, self.core, run, [self.end]]).astype(np.int64)

    def matrix(self, query: Query) -> Ints:
        """The law written out; `TooLarge` beyond MATRIX_LIMIT entries."""
        refuse_beyond_limit(query)
        table = self.weights_of_noise()
        steps = self.size + 1
        lower = np.cumsum(table)[: self.size + 1][::-1]  # output 0: sum of noise -size..-j, for j = 0..size
        upper = np.cumsum(table[::-1])[: self.size + 1]  # output size: noise size..size-j
        steps_given_answer = np.empty((steps, steps), dtype=np.int64)
        for j in range(steps):
            steps_given_answer[:, j] = table[self.size - j : 2 * self.size - j + 1]
        steps_given_answer[0], steps_given_answer[-1] = lower, upper
        if self.remap is None:
            return steps_given_answer
        weights = np.zeros(query.shape, dtype=np.int64)
        np.add.at(weights, self.remap, steps_given_answer)
        return weights

    # --- measures, for every true answer; linear in the size ----------------------------------------------

    @property
    def noise_table(self) -> "Noise":
        return self

    def probabilities(self, query: Query) -> Floats:
        """P[output, answer] as floats; `TooLarge` beyond MATRIX_LIMIT entries."""
        return _probabilities(self.matrix(query))

    def likelihood(self, query: Query, output: int) -> Floats:
        """Pr[output | answer], without writing out the matrix."""
        return clamped.likelihood(self, output)

    def losses(self, query: Query, loss: Loss) -> Floats:
        """Expected losses of the error; a table or function would need the matrix."""
        if not isinstance(loss, ErrorLoss):
            raise TooLarge("a loss table or function needs a matrix of this size; use a loss of the error")
        if loss.name == "zero-one":
            return 1.0 - self.truth(query)
        return clamped.expected(self, query, lambda error: np.asarray(loss.of(np.abs(error)), dtype=np.float64))

    def truth(self, query: Query) -> Floats:
        """Pr[the report is the cell that holds the answer]."""
        return clamped.truth(self, query)

    def ends(self, query: Query) -> Floats:
        """Pr[the report is the first or the last output]."""
        return clamped.ends(self, query)

    def bias(self, query: Query) -> Floats:
        """E[reported - true]."""
        return clamped.expected(self, query, lambda error: error)

    def variance(self, query: Query) -> Floats:
        """E[error²] - bias², right to 10^-15 of the squared range."""
        return np.maximum(clamped.expected(self, query, np.square) - self.bias(query) ** 2, 0.0)

    # --- what it reveals ----------------------------------------------------------------------------------

    def ratio_within(self, query: Query, steps: int) -> float:
        """The worst ratio of any output's probabilities under answers at most `steps` grid steps apart."""
        return ratio_in_noise(self.weights_of_noise(), min(steps, self.size)) if steps else 1.0

    def neighbour_ratios(self, query: Query) -> list[float]:
        """For every answer and the next one the worst ratio: the same all along the grid."""
        return [self.ratio_within(query, 1)] * self.size

    def proof_steps(self, query: Query) -> list[str]:
        """What `check` established, for a reader."""
        return [
            f"{len(self.core)} noise probabilities are whole multiples of 2^-62, all positive, and with the "
            "constant tails they sum to exactly 1",
            "any two noise values within the reach, and any two tail sums, differ at most by the factor p/2^128",
            RATIO_BOUND,
            "clamping and renaming outputs look only at the noisy value, so they reveal nothing more",
        ]

    def canonical_bytes(self) -> bytes:
        """The numbers of the law, for digests."""
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
        return NoiseSampler.of(self.core, self.floor, self.end, self.size, self.remap)


Law = Matrix | Noise


def _probabilities(weights: Ints) -> Floats:
    floats = weights / TOTAL
    floats.setflags(write=False)
    return floats


def _errors(query: Query) -> Floats:
    return query.outputs.values.floats()[:, None] - query.answers.floats()[None, :]


def noise_steps(query: Query) -> tuple[int, Fraction]:
    """(reach in grid steps, distance that epsilon pays for) of a query that noise on its grid can serve."""
    if not (query.ordered and query.answers.regular) or isinstance(query.neighbours, Everyone):
        raise ValueError("a noise table needs numeric answers without gaps and neighbours within a reach")
    first = next(query.cliques())
    return first.stop - first.start - 1, first.distance


def geometric_noise(query: Query, epsilon: Fraction, remap: Ints | None = None) -> Noise:
    """Two-sided geometric noise as integers: t[d] near t[0]·beta**|d|, never below t[d - reach] / ratio.

    Computed outwards from t[0], each weight the least its inner neighbours allow, until whole numbers
    cannot fall further; what is left of 2**62 goes to the ends. O(reach / epsilon), whatever the size.
    """
    reach, distance = noise_steps(query)
    size = len(query.answers) - 1
    p = ratio_below(epsilon, distance)
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
    """Weights of noise 1, 2, … as max(floor(start·beta^d), least allowed), and where they stop falling."""
    side: list[int] = []
    for d in range(1, size):
        inner = start if d <= reach else side[d - reach - 1]
        side.append(max(int(start * beta**d), -((-inner << EXP_BITS) // p)))
        if side[-1] == inner:
            break
    return side, side[-1] if side else start
