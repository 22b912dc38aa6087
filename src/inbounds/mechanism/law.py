"""The two ways to hold a mechanism's probabilities: an integer matrix, or an integer noise table.

Both are immutable and know how to have themselves checked; neither is a mechanism before `Mechanism` has
run that check.
"""

import math
import operator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from inbounds.errors import NotADistribution, TooLarge
from inbounds.numbers import Ints
from inbounds.query import Everyone, Query
from inbounds.trusted.bounds import EXP_BITS, TOTAL, ratio_below
from inbounds.trusted.certify import check_matrix, check_noise
from inbounds.trusted.sample import MatrixSampler, NoiseSampler

MATRIX_LIMIT = 1 << 24
"""Entries of the largest matrix that is written out (4096 × 4096)."""


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

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", sealed(self.weights))

    def check(self, query: Query, epsilon: Fraction) -> None:
        if self.weights.shape != query.shape:
            raise NotADistribution(f"weights must have the shape {query.shape}, got {self.weights.shape}")
        check_matrix(self.weights, query.cliques(), epsilon)

    def matrix(self, query: Query) -> Ints:
        return self.weights.view()

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
        clamped = np.empty((steps, steps), dtype=np.int64)
        for j in range(steps):
            clamped[:, j] = table[self.size - j : 2 * self.size - j + 1]
        clamped[0], clamped[-1] = lower, upper
        if self.remap is None:
            return clamped
        weights = np.zeros(query.shape, dtype=np.int64)
        np.add.at(weights, self.remap, clamped)
        return weights

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
