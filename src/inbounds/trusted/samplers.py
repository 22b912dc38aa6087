"""Samplers: operating-system entropy in, reports out. No other module draws for a release.

One 62-bit draw decides one report. With 2**b bins of capacity 2**(62-b), bin k belongs to output k up to its
threshold and to output alias[k] above it (Walker's alias method). Every output has exactly its weight among the 2**62
draws, so the law of the report is exactly the weights. There is no rejection and no early exit. A report that names a
set of labels takes two draws: whether the set holds the true label, and which of those sets it is.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from inbounds.errors import TooLarge, check_kind
from inbounds.exact import FrozenArray, Ints
from inbounds.trusted.block_designs import BlockDesign
from inbounds.trusted.bounds import TOTAL, TOTAL_BITS

Words = NDArray[np.uint64]
Draws = Callable[[int], Words]
BLOCK = 1 << 15
"""Values drawn at a time, so that the working arrays fit the processor's cache."""


def system_entropy(count: int) -> Words:
    """Draw `count` integers, uniform on 0..2**62-1, from the operating system; no state is kept between calls."""
    return np.frombuffer(_system_bytes(8 * count), dtype=np.uint64) >> np.uint64(64 - TOTAL_BITS)


def _system_bytes(count: int) -> bytes:
    """Read `count` bytes from the operating system. All entropy enters here; tests replace this function."""
    return os.urandom(count)


def seeded_entropy(rng: np.random.Generator) -> Draws:
    """Return a source of draws of the same law from a seeded generator: for studies, never for a release."""
    check_kind(rng, np.random.Generator, "rng", "a generator such as np.random.default_rng(0)")
    return lambda count: rng.integers(0, 1 << TOTAL_BITS, size=count, dtype=np.uint64)


@dataclass(frozen=True, eq=False)
class AliasTable:
    """Alias tables of several laws side by side: `packed[law, bin] = threshold << bits | alias`. Immutable."""

    packed: FrozenArray
    bits: int
    total_bits: int = TOTAL_BITS

    @classmethod
    def from_weights(cls, weights: Ints, total_bits: int = TOTAL_BITS) -> "AliasTable":
        """Build the tables from weights outputs × laws whose columns sum to 2**total_bits."""
        bits = max(1, int(len(weights) - 1).bit_length())
        bins = np.zeros((weights.shape[1], 1 << bits), dtype=np.int64)
        bins[:, : len(weights)] = weights.T
        for law in bins:
            thresholds, aliases = _fill_bins(law, 1 << (total_bits - bits))
            law[:] = thresholds << bits | aliases
        return cls(FrozenArray.from_array(bins.view(np.uint64)), bits, total_bits)

    def pick(self, laws: Ints, draws: Words) -> tuple[Ints, Ints]:
        """Return the output that each draw selects under its law, and the draw's place within its bin."""
        shift = np.uint64(self.total_bits - self.bits)
        bins = draws >> shift
        place = draws & ((np.uint64(1) << shift) - np.uint64(1))
        cell = self.packed.array.ravel().take((laws << self.bits) + bins.view(np.int64))
        alias = cell & np.uint64((1 << self.bits) - 1)
        outputs = np.where(place < cell >> np.uint64(self.bits), bins, alias)
        return outputs.view(np.int64), place.view(np.int64)

    def pick_one(self, law: int, draw: int) -> tuple[int, int]:
        """Return the same as `pick` for one law and one draw, without arrays."""
        shift = self.total_bits - self.bits
        own_bin, place = draw >> shift, draw & ((1 << shift) - 1)
        cell = self.packed.integer((law << self.bits) + own_bin)
        return own_bin if place < cell >> self.bits else cell & ((1 << self.bits) - 1), place


def _fill_bins(law: Ints, capacity: int) -> tuple[Ints, Ints]:
    """Return each bin's threshold and the output that has the rest of the bin: Vose's filling as two running sums.

    Small bins are filled up in order by the large ones in order. lack[i] is what the small bins 0..i lack together,
    more[j] what the large bins 0..j have beyond their capacity. Small bin i takes from the first large bin with more[j]
    >= lack[i-1]. A large bin with more[j] < lack[i], for the first such i, has given the difference too much, and takes
    it from the next large bin. Both sums end at the same value, so any remaining bin keeps exactly its capacity.
    """
    small, large = np.flatnonzero(law < capacity), np.flatnonzero(law >= capacity)
    lack, more = np.cumsum(capacity - law[small]), np.cumsum(law[large] - capacity)
    thresholds, alias = np.minimum(law, capacity), np.arange(len(law))
    alias[small] = large[np.searchsorted(more, lack - (capacity - law[small]))]
    first = np.searchsorted(lack, more, side="right")
    overdrawn = np.flatnonzero(first < len(small))
    thresholds[large[overdrawn]] -= lack[first[overdrawn]] - more[overdrawn]
    alias[large[overdrawn]] = large[overdrawn + 1]
    return thresholds, alias


class ArraySampler:
    """What samplers have in common: they draw for many answers at once, so also for one."""

    def outputs(self, answers: Ints, draws: Words) -> Ints:
        """Return the output of each answer. draws: as many blocks of `len(answers)` as a report takes draws."""
        raise NotImplementedError

    def output(self, answer: int, draws: Words) -> int:
        """Return the output of one answer for the draws of one report; the same as `outputs`."""
        return int(self.outputs(np.array([answer], dtype=np.int64), draws)[0])


@dataclass(frozen=True, eq=False)
class MatrixSampler(ArraySampler):
    """Reports for a matrix law: the answer selects the column."""

    table: AliasTable
    words: ClassVar[int] = 1
    """Draws per report."""

    @classmethod
    def from_weights(cls, weights: Ints) -> "MatrixSampler":
        return cls(AliasTable.from_weights(weights))

    @property
    def answers(self) -> int:
        """The number of true answers of the law."""
        return self.table.packed.shape[0]

    def outputs(self, answers: Ints, draws: Words) -> Ints:
        return self.table.pick(answers, draws)[0]

    def output(self, answer: int, draws: Words) -> int:
        return self.table.pick_one(answer, draws.item())[0]


@dataclass(frozen=True, eq=False)
class NoiseSampler(ArraySampler):
    """Reports for clamp(answer + noise): one small table for the core, the rest by the draw's place in its bin.

    The noise values of equal weight outside the core are one outcome per side. An outcome lighter than a bin has the
    start of its bin, so the draw's place in that bin, in units of that weight, names the value.
    """

    table: AliasTable
    base: FrozenArray
    slope: FrozenArray
    floor: int
    size: int
    remap: FrozenArray | None
    words: ClassVar[int] = 1

    @classmethod
    def from_weights(cls, core: Ints, floor: int, end: int, size: int, remap: Ints | None) -> "NoiseSampler":
        k = len(core) // 2
        run = size - 1 - k
        if run * floor >= 1 << (TOTAL_BITS - (len(core) + 3).bit_length()):
            raise TooLarge("the range is too large for a noise table at this epsilon; use coarser answers")
        weights = np.concatenate([core, [run * floor, run * floor, end, end]]).astype(np.int64)
        base = np.concatenate([np.arange(-k, k + 1), [-k - 1, k + 1, -size, size]]).astype(np.int64)
        slope = np.concatenate([np.zeros(2 * k + 1), [-1, 1, 0, 0]]).astype(np.int64)
        frozen_remap = None if remap is None else FrozenArray.from_array(remap)
        return cls(
            AliasTable.from_weights(weights[:, None]),
            FrozenArray.from_array(base),
            FrozenArray.from_array(slope),
            floor,
            size,
            frozen_remap,
        )

    @property
    def answers(self) -> int:
        return self.size + 1

    def outputs(self, answers: Ints, draws: Words) -> Ints:
        outcome, place = self.table.pick(np.zeros(1, dtype=np.int64), draws)
        noise = self.base.array.take(outcome) + self.slope.array.take(outcome) * (place // self.floor)
        clamped = np.clip(answers + noise, 0, self.size)
        return np.asarray(clamped if self.remap is None else self.remap.array.take(clamped))

    def output(self, answer: int, draws: Words) -> int:
        outcome, place = self.table.pick_one(0, draws.item())
        noise = self.base.integer(outcome) + self.slope.integer(outcome) * (place // self.floor)
        clamped = min(max(answer + noise, 0), self.size)
        return clamped if self.remap is None else self.remap.integer(clamped)


@dataclass(frozen=True, eq=False)
class PlaneSampler(ArraySampler):
    """Reports for noise on a map: one table for the noise (a, b) and for the cells that are reported whatever the
    answer is.
    """

    table: AliasTable
    rows: int
    columns: int
    remap: FrozenArray | None
    words: ClassVar[int] = 1

    @classmethod
    def from_weights(cls, noise: Ints, constant: Ints, remap: Ints | None) -> "PlaneSampler":
        """Build the table. noise: weights of the noise in both directions; constant: weights of the cells, for every
        answer.
        """
        weights = np.concatenate([noise.ravel(), constant])
        frozen_remap = None if remap is None else FrozenArray.from_array(remap)
        rows, columns = (size // 2 + 1 for size in noise.shape)
        return cls(AliasTable.from_weights(weights[:, None]), rows, columns, frozen_remap)

    @property
    def answers(self) -> int:
        return self.rows * self.columns

    def outputs(self, answers: Ints, draws: Words) -> Ints:
        outcome, _ = self.table.pick(np.zeros(1, dtype=np.int64), draws)
        noise_columns, noises = 2 * self.columns - 1, (2 * self.rows - 1) * (2 * self.columns - 1)
        row = np.clip(answers // self.columns + outcome // noise_columns - (self.rows - 1), 0, self.rows - 1)
        column = np.clip(answers % self.columns + outcome % noise_columns - (self.columns - 1), 0, self.columns - 1)
        reports = np.where(outcome < noises, row * self.columns + column, outcome - noises)
        return np.asarray(reports if self.remap is None else self.remap.array.take(reports))


@dataclass(frozen=True)
class ResponseSampler(ArraySampler):
    """Reports of randomized response: every answer has `other` of the draws, and the true answer also those that
    remain.
    """

    size: int
    other: int
    words: ClassVar[int] = 1

    @property
    def answers(self) -> int:
        return self.size

    def outputs(self, answers: Ints, draws: Words) -> Ints:
        truthful = TOTAL - self.size * self.other
        numbers = draws.view(np.int64)
        uniform_answer = (numbers - truthful) // self.other
        return np.where(numbers < truthful, answers, uniform_answer)


@dataclass(frozen=True)
class BlockSampler(ArraySampler):
    """Reports that name a set of labels: with weight `inside` one that holds the true label, else one that does not.

    The second draw modulo the number of such sets selects one: each has the quotient of 2**62 by that number, or one
    more.
    """

    design: BlockDesign
    inside: int
    words: ClassVar[int] = 2

    @property
    def answers(self) -> int:
        return self.design.labels

    def outputs(self, answers: Ints, draws: Words) -> Ints:
        coin, number = draws.view(np.int64).reshape(2, -1)
        inside = coin < self.inside
        sets = np.where(inside, self.design.holding, self.design.blocks - self.design.holding)
        return self.design.places(answers, inside, number % sets)


@dataclass(frozen=True, eq=False)
class ThresholdSampler(ArraySampler):
    """Reports of a count above a threshold: answer + noise where that exceeds the bound of the noise drawn, else 0.

    One table holds the noises of both bounds; which of them was drawn is forgotten with the draw.
    """

    table: AliasTable
    noise: FrozenArray
    bound: FrozenArray
    size: int
    words: ClassVar[int] = 1

    @classmethod
    def from_weights(cls, wide: Ints, narrow: Ints, size: int) -> "ThresholdSampler":
        halves = [len(table) // 2 for table in (wide, narrow) if len(table)]
        noise = np.concatenate([np.arange(-half, half + 1) for half in halves]).astype(np.int64)
        bound = np.concatenate([np.full(2 * half + 1, half) for half in halves]).astype(np.int64)
        weights = np.concatenate([wide, narrow])
        table = AliasTable.from_weights(weights[:, None])
        return cls(table, FrozenArray.from_array(noise), FrozenArray.from_array(bound), size)

    @property
    def answers(self) -> int:
        return self.size + 1

    def outputs(self, answers: Ints, draws: Words) -> Ints:
        outcome, _ = self.table.pick(np.zeros(1, dtype=np.int64), draws)
        noisy = answers + self.noise.array.take(outcome)
        return np.where(noisy > self.bound.array.take(outcome), np.minimum(noisy, self.size), 0)


def draw_steps(weights: Sequence[int], count: int, draws: Draws) -> Ints:
    """Draw -1, 0 or 1 for each weight and each of `count` reports: 1 and -1 with that weight among the 2**62 draws.

    weights: at most 2**61. Each step takes one draw. No answer enters: this is post-processing of what was drawn.
    """
    if not all(0 <= weight <= TOTAL // 2 for weight in weights):
        raise ValueError("weights of steps must be between 0 and 2**61")
    steps = np.empty((len(weights), count), dtype=np.int64)
    for row, weight in zip(steps, weights, strict=True):
        for start in range(0, count, BLOCK):
            numbers = draws(min(BLOCK, count - start)).view(np.int64)
            row[start : start + BLOCK] = (numbers < weight).astype(np.int64) - (numbers >= TOTAL - weight)
    return steps


Sampler = MatrixSampler | NoiseSampler | PlaneSampler | ResponseSampler | BlockSampler | ThresholdSampler


def draw_outputs(sampler: Sampler, answers: Ints, draws: Draws) -> Ints:
    """Draw output indices for answer indices (any shape), block by block.

    Raises `IndexError` for a position outside the law: reading there would give another answer's column, or the true
    answer.
    """
    flat = np.ascontiguousarray(answers, dtype=np.int64).ravel()
    if flat.size and not flat.view(np.uint64).max() < sampler.answers:  # as uint64 a negative position is huge
        raise IndexError(f"positions must be those of the {sampler.answers} answers of the law; at least one is not")
    outputs = np.empty(flat.shape, dtype=np.int64)
    for start in range(0, len(flat), BLOCK):
        block = flat[start : start + BLOCK]
        outputs[start : start + BLOCK] = sampler.outputs(block, draws(sampler.words * len(block)))
    return outputs.reshape(answers.shape)


def draw_output(sampler: Sampler, answer: int, draws: Draws) -> int:
    """Draw the output index for one answer index: from the same draws the same output as `draw_outputs`, sooner."""
    if not 0 <= answer < sampler.answers:
        raise IndexError(f"the position must be one of the {sampler.answers} answers of the law")
    return sampler.output(answer, draws(sampler.words))
