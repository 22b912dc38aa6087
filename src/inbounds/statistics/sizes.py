"""How many records a group has, if its size is not public: the prior that expected errors and intervals use.

A plan may declare a `typical` size beside `max_size`, from public knowledge. The prior of the number N of records of a
group with maximum n is then

    typical = T             Pr[N] proportional to min(r, 1/r)^4, r = (N + 1)/(T + 1), on 0..n
    typical = [low, high]   uniform on low..high, up to n
    nothing declared        uniform on 0..n

With a number about nine groups of ten are within a factor of two of it. Errors of means and quantiles fall as 1/N, so
for these groups what is stated is right to a factor of two. No size is impossible, so a published count can correct it.

If the plan publishes how many records each group has (a count of "true"), the prior is conditioned on the number that
was drawn, by the law of its mechanism: Pr[N | drawn] proportional to Pr[N]·Pr[drawn | N].

Nothing else depends on any of this: no mechanism, draw, refusal or charge.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from inbounds.exact import Floats, Ints

POWER = 4
"""How fast the prior falls beside a typical size. With 4, sizes beyond a factor of two have (1/160 + 1/24)/(1/5 + 1/3),
a tenth of the whole; with 3 it would be a fifth, with 5 a twentieth."""

SINGLE = 512
"""Sizes up to this one are kept separate; beyond, sizes within a part in 256 of each other are taken together."""

TOGETHER = 1 / 256

FEW = 8
"""Errors are computed at each of so few sizes."""


@dataclass(frozen=True, eq=False)  # a prior is made once, and compared by identity
class SizeBeliefs:
    """What is believed about the sizes of groups: one or several distributions over the same sizes.

    sizes: rising; many sizes are represented by some of them. weights: distributions × sizes, each sums to one. place:
    for every group its distribution; None if there is only one.
    """

    sizes: Ints = field(repr=False)
    weights: Floats = field(repr=False)
    place: Ints | None = field(default=None, repr=False)

    def place_of(self, groups: int) -> Ints:
        """Return for every group the place of its distribution."""
        return np.zeros(groups, dtype=np.int64) if self.place is None else self.place

    def of_groups(self, rows: slice) -> Floats:
        """Return the distribution of each of these groups; a single row if all have the same."""
        return self.weights if self.place is None else self.weights[self.place[rows]]

    def given(self, likelihoods: Floats) -> "SizeBeliefs":
        """Condition the only distribution. likelihoods: observations × sizes; one distribution for each observation."""
        joint = self.weights * likelihoods
        totals = joint.sum(axis=1, keepdims=True)
        return SizeBeliefs(self.sizes, np.where(totals > 0, joint / np.where(totals > 0, totals, 1), self.weights))

    def select(self, rows: Ints) -> "SizeBeliefs":
        """Return the distributions at these places."""
        return SizeBeliefs(self.sizes, self.weights[rows])

    @cached_property
    def nodes(self) -> Ints:
        """Return the sizes at which errors are computed: the largest, its half, its quarter, …, the least."""
        return size_nodes(int(self.sizes[0]), int(self.sizes[-1]))

    @cached_property
    def node_weights(self) -> Floats:
        """Return the distributions over the nodes: distributions × nodes."""
        return np.asarray(self.weights @ spread_on_nodes(self.sizes, self.nodes))


@lru_cache(256)
def size_prior(typical: tuple[int, ...], most: int) -> SizeBeliefs:
    """Return the prior of the size of a group with at most `most` records. typical: as `Groups` has it."""
    least, last = (typical[0], min(typical[1], most)) if len(typical) == 2 else (0, most)
    sizes, number = _representatives(min(least, last), last)
    weights = number.astype(np.float64)
    if len(typical) == 1:
        ratio = (sizes + 1) / (typical[0] + 1)
        weights *= np.minimum(ratio, 1 / ratio) ** POWER
    return SizeBeliefs(sizes, (weights / weights.sum())[None, :])


def _representatives(least: int, last: int) -> tuple[Ints, Ints]:
    """Return sizes from least to last, and how many sizes each stands for: all of them, unless they are many."""
    edges = [*range(least, min(last, SINGLE) + 1)]
    edge = edges[-1] if edges else least - 1
    while edge < last:
        edge = min(last, edge + max(1, int(edge * TOGETHER)))
        edges.append(edge)
    ends = np.array(edges, dtype=np.int64)
    number = np.diff(ends, prepend=least - 1)
    middles = ends - (number - 1) // 2
    middles[-1] = last  # the largest size is one of them
    return middles, number


def size_nodes(least: int, last: int) -> Ints:
    """Return least and last, and between them the half of last, its quarter, and so on; of few sizes all."""
    if last - least < FEW:
        return np.arange(least, last + 1)
    nodes, size = {least, last, max(least, 1)}, last
    while size // 2 > least:
        size //= 2
        nodes.add(size)
    return np.array(sorted(nodes), dtype=np.int64)


def common_nodes(least: int, last: int) -> Ints:
    """Return powers of two around all sizes from least to last, and 0 if it is one of them.

    Groups of many different maxima share these nodes, and what is computed at them.
    """
    exponents = range(max(least, 1).bit_length() - 1, max(last - 1, 0).bit_length() + 1)
    return np.array([*([0] if least == 0 else []), *(1 << exponent for exponent in exponents)], dtype=np.int64)


def spread_on_nodes(sizes: Ints, nodes: Ints) -> Floats:
    """Return the weights of two nodes for every size, sizes × nodes: linear in 1/size, as errors are."""
    inverse = 1 / np.maximum(sizes, 0.5)  # an empty group is a node of its own
    points = 1 / np.maximum(nodes, 0.5)
    above = np.clip(np.searchsorted(nodes, sizes), 1, max(len(nodes) - 1, 1))
    table = np.zeros((len(sizes), len(nodes)))
    if len(nodes) == 1:
        table[:, 0] = 1.0
        return table
    share = (points[above - 1] - inverse) / (points[above - 1] - points[above])
    table[np.arange(len(sizes)), above] = np.clip(share, 0, 1)
    table[np.arange(len(sizes)), above - 1] = 1 - np.clip(share, 0, 1)
    return table


def certain_sizes(sizes: Sequence[int]) -> SizeBeliefs:
    """Return beliefs that are certain, one distribution for each of these sizes, in rising order."""
    return SizeBeliefs(np.array(sizes, dtype=np.int64), np.eye(len(sizes)))


def lattice(dimensions: int) -> Floats:
    """Return steps whose multiples fill a unit cube evenly: powers of the root of x^(d+1) = x + 1."""
    root = 2.0
    for _ in range(50):
        root = (1 + root) ** (1 / (dimensions + 1))
    return np.asarray(root ** -np.arange(1.0, dimensions + 1))


def describe_prior(typical: tuple[int, ...]) -> str:
    """Describe the prior in words, as a part of a sentence."""
    if len(typical) == 2:
        return f"every size from {typical[0]} to {typical[1]} is equally likely (typical)"
    if typical:
        return f"about nine groups of ten have between half and twice {typical[0]} records (typical)"
    return "every size up to the maximum is equally likely, as no typical size is declared"
