"""Block designs: families of label sets (blocks) in which every label lies in the same number of sets. Integers only.

A mechanism with such a design reports a block. The report says only that the true label is more likely inside the
block than outside. Two numbers matter for privacy (`certify.check_blocks`): the number of `blocks`, and in how many of
them, `holding`, each label lies. The method `places` proves them: for every label it maps the indices 0..holding-1
one to one to the blocks that hold the label, and 0..blocks-holding-1 one to one to the others. `pair_count`, in how
many blocks any two labels lie together, matters to estimates only.
"""

import math
import operator
from bisect import bisect_right
from dataclasses import dataclass, fields
from functools import cache, cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from inbounds.errors import InvalidDistribution
from inbounds.exact import Ints, freeze
from inbounds.trusted.limits import MOST_BLOCKS, MOST_SUBSETS

Flags = NDArray[np.bool_]


class BlockDesign(Protocol):
    """The interface of a family of blocks over the labels 0..labels-1; blocks are numbered from 0."""

    @property
    def labels(self) -> int: ...
    @property
    def blocks(self) -> int: ...
    @property
    def holding(self) -> int: ...
    @property
    def pair_count(self) -> int: ...

    def places(self, labels: Ints, inside: Flags, index: Ints) -> Ints:
        """Return the block with this index among those that hold the label, or among those that do not."""
        ...

    def holds(self, blocks: Ints, labels: Ints) -> Flags:
        """Return whether a block holds a label."""
        ...


@dataclass(frozen=True)
class Subsets:
    """All sets of `size` labels, ordered by their bits read as a number (subset selection)."""

    labels: int
    size: int

    def __post_init__(self) -> None:
        _to_plain_ints(self)
        _refuse_unless(0 < self.size < self.labels < 62, "subsets must have fewer members than there are labels")
        _refuse_unless(self.blocks <= MOST_SUBSETS, f"subsets must be at most {MOST_SUBSETS}")

    def __reduce__(self) -> tuple[type["Subsets"], tuple[int, ...]]:
        return Subsets, (self.labels, self.size)  # validated again, without tables

    @property
    def blocks(self) -> int:
        return math.comb(self.labels, self.size)

    @property
    def holding(self) -> int:
        return math.comb(self.labels - 1, self.size - 1)

    @property
    def pair_count(self) -> int:
        return math.comb(self.labels - 2, self.size - 2) if self.size > 1 else 0

    @cached_property
    def _tables(self) -> tuple[Ints, Ints]:
        """All blocks as bits; and the sets of size - 1, then of size, among the labels other than one label."""
        others = [_bits(self.labels - 1, self.size - 1), _bits(self.labels - 1, self.size)]
        return freeze(_bits(self.labels, self.size)), freeze(np.concatenate(others))

    def places(self, labels: Ints, inside: Flags, index: Ints) -> Ints:
        """Insert the label's bit into a set of the other labels."""
        blocks, others = self._tables
        remainder = others.take(np.where(inside, index, self.holding + index))
        low = remainder & ((1 << labels) - 1)
        return np.searchsorted(blocks, ((remainder - low) << 1) | (inside.astype(np.int64) << labels) | low)

    def holds(self, blocks: Ints, labels: Ints) -> Flags:
        return np.asarray(self._tables[0].take(blocks) >> labels & 1, dtype=np.bool_)


@dataclass(frozen=True)
class Affine:
    """Block (a, b) holds the labels x with (a·x + b) mod `modulus` < `size`: a from 1, b from 0, to modulus - 1.

    For every a and every value c of a·x + b there is one b, so each label lies in size · (modulus - 1) of the
    modulus · (modulus - 1) blocks. The maps x -> a·x + b take any two points of a prime field to any other two equally
    often, so any two labels share size · (size - 1) blocks, as they would if every subset were a block.
    """

    labels: int
    modulus: int
    size: int

    def __post_init__(self) -> None:
        _to_plain_ints(self)
        fits = 2 <= self.labels <= self.modulus and 0 < self.size < self.modulus
        _refuse_unless(fits, "an affine family must have room for all labels, and sets that are not all of them")
        _refuse_unless(self.blocks <= MOST_BLOCKS, f"an affine family must have at most {MOST_BLOCKS} sets")
        _refuse_unless(is_prime(self.modulus), "the modulus must be prime")

    def __reduce__(self) -> tuple[type["Affine"], tuple[int, ...]]:
        return Affine, (self.labels, self.modulus, self.size)  # validated again, without tables

    @property
    def blocks(self) -> int:
        return self.modulus * (self.modulus - 1)

    @property
    def holding(self) -> int:
        return self.size * (self.modulus - 1)

    @property
    def pair_count(self) -> int:
        return self.size * (self.size - 1)

    def places(self, labels: Ints, inside: Flags, index: Ints) -> Ints:
        values = np.where(inside, self.size, self.modulus - self.size)
        factor, value = np.divmod(index, values)
        offset = (np.where(inside, value, self.size + value) - (factor + 1) * labels) % self.modulus
        return np.asarray(factor * self.modulus + offset)

    def holds(self, blocks: Ints, labels: Ints) -> Flags:
        factor, offset = np.divmod(blocks, self.modulus)
        return np.asarray(((factor + 1) * labels + offset) % self.modulus < self.size)


@dataclass(frozen=True)
class Planes:
    """Points x and hyperplanes a of a projective space over a prime field: block a holds x where <a, x> = 0 mod q.

    Points are vectors of `dimension` digits base `order` up to a factor, written with 1 as their highest nonzero digit.
    Points are numbered in the order of these digits; labels and blocks are the first of them. With order 2 this is the
    Hadamard response without the output that all labels have in common. Feldman, Nelson, Nguyen, Talwar, Private
    frequency estimation via projective geometry, 2022.
    """

    labels: int
    order: int
    dimension: int

    def __post_init__(self) -> None:
        _to_plain_ints(self)
        _refuse_unless(
            self.order >= 2 and 2 <= self.dimension <= 62, "a projective space needs a field, and two digits"
        )
        _refuse_unless(2 <= self.labels <= self.blocks, "a projective space must have a point for each label")
        _refuse_unless(self.blocks <= MOST_BLOCKS, f"a projective space must have at most {MOST_BLOCKS} points")
        _refuse_unless(is_prime(self.order), "the order must be prime")

    def __reduce__(self) -> tuple[type["Planes"], tuple[int, ...]]:
        return Planes, (self.labels, self.order, self.dimension)  # validated again, without tables

    @property
    def blocks(self) -> int:
        return _points(self.order, self.dimension)

    @property
    def holding(self) -> int:
        return _points(self.order, self.dimension - 1)

    @property
    def pair_count(self) -> int:
        return _points(self.order, self.dimension - 2)

    @cached_property
    def _powers(self) -> Ints:
        return freeze(np.array([self.order**i for i in range(self.dimension)], dtype=np.int64))

    @cached_property
    def _places(self) -> Ints:
        """The powers as a column."""
        return freeze(self._powers[:, None])

    @cached_property
    def _first(self) -> Ints:
        """The number of the first point whose highest digit is at each place."""
        return freeze((self._powers - 1) // (self.order - 1))

    @cached_property
    def _inverses(self) -> Ints:
        """The inverse of every digit, x^(q-2) by Fermat; the entry for 0 is never used."""
        return freeze(np.array([pow(x, self.order - 2, self.order) for x in range(self.order)], dtype=np.int64))

    def vectors(self, points: Ints) -> tuple[Ints, Ints]:
        """Return the place of each point's highest digit, and the number that its digits make."""
        top = self._first.searchsorted(points, side="right") - 1
        return top, points - self._first.take(top) + self._powers.take(top)

    def digits(self, numbers: Ints) -> Ints:
        """Return the digits of numbers, as places × numbers."""
        return np.asarray(numbers // self._places % self.order)

    def point_number(self, numbers: Ints) -> Ints:
        """Return the point of a nonzero vector, given as the number of its digits: divide by the highest digit, then
        count.
        """
        top = self._powers.searchsorted(numbers, side="right") - 1
        power = self._powers.take(top)
        factor = self._inverses.take(numbers // power)
        scaled = self._powers @ (self.digits(numbers) * factor % self.order)
        return np.asarray(scaled - power + self._first.take(top))

    def places(self, labels: Ints, inside: Flags, index: Ints) -> Ints:
        """Compute the block: all digits of a but one are free; the digit at x's highest place solves <a, x> = 0, or 1.

        Inside, the free digits are a point of the space with one digit less, because a is defined up to a factor.
        Outside, a is scaled to <a, x> = 1, so the free digits are any number.
        """
        if len(labels) == 1:
            return np.array([self._place(int(labels[0]), bool(inside[0]), int(index[0]))])
        pivot, truth = self.vectors(labels)
        free = np.where(inside, self.vectors(index * inside)[1], index)
        power = self._powers.take(pivot)
        low = free % power
        spread = (free - low) * self.order + low  # a 0 at the pivot
        partial = (self.digits(spread) * self.digits(truth)).sum(axis=0)
        return self.point_number(spread + (~inside - partial) % self.order * power)

    def _place(self, label: int, inside: bool, index: int) -> int:
        """Compute the same for one label, in plain ints, which are faster than arrays of one element."""
        powers, first, inverses = self._tables
        pivot = bisect_right(first, label) - 1
        truth, free = label - first[pivot] + powers[pivot], index
        if inside:
            top = bisect_right(first, index) - 1
            free = index - first[top] + powers[top]
        low = free % powers[pivot]
        spread = (free - low) * self.order + low
        partial = sum(a * x for a, x in zip(self._digits(spread), self._digits(truth), strict=True))
        number = spread + (1 - inside - partial) % self.order * powers[pivot]
        top = bisect_right(powers, number) - 1
        factor = inverses[number // powers[top]]
        scaled = sum(a * factor % self.order * p for a, p in zip(self._digits(number), powers, strict=True))
        return scaled - powers[top] + first[top]

    def _digits(self, number: int) -> list[int]:
        return [number // power % self.order for power in self._tables[0]]

    @cached_property
    def _tables(self) -> tuple[list[int], list[int], list[int]]:
        return self._powers.tolist(), self._first.tolist(), self._inverses.tolist()

    def holds(self, blocks: Ints, labels: Ints) -> Flags:
        planes, points = (self.digits(self.vectors(indices)[1]) for indices in (blocks, labels))
        return np.asarray((planes * points).sum(axis=0) % self.order == 0)


@cache
def _points(order: int, digits: int) -> int:
    """Return 1 + order + … + order**(digits - 1), the number of points."""
    return sum(order**place for place in range(digits))


def _bits(labels: int, size: int) -> Ints:
    """Return all sets of `size` labels as bits, in rising order: those without the last label, then those with it."""
    if size == 0 or size > labels:
        return np.zeros(int(size == 0), dtype=np.int64)
    return np.concatenate([_bits(labels - 1, size), _bits(labels - 1, size - 1) | 1 << (labels - 1)])


def is_prime(number: int) -> bool:
    """Test by trial division; numbers here are at most some thousands."""
    return number > 1 and all(number % divisor for divisor in range(2, math.isqrt(number) + 1))


def _to_plain_ints(design: "Subsets | Affine | Planes") -> None:
    """Convert the fields to Python ints: integers of other libraries overflow silently."""
    for part in fields(design):
        object.__setattr__(design, part.name, int(operator.index(getattr(design, part.name))))


def _refuse_unless(holds: bool, words: str) -> None:
    if not holds:
        raise InvalidDistribution(words)
