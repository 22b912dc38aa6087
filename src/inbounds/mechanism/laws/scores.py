"""Permute-and-flip over path lengths: how many records must change until the quantile is another value."""

import operator
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Self

import numpy as np

from inbounds.exact import Floats, Ints
from inbounds.mechanism.json_values import format_integers, parse_integer, parse_integers
from inbounds.mechanism.laws.base import BROWSER, COQ, RATIO_BOUND, DrawFunction, RecordsLaw, one_or_many
from inbounds.query import QuantileQuery
from inbounds.trusted.bounds import TOTAL
from inbounds.trusted.permute_flip import ScoreSampler, check_scores, draw_permute_flip, score_levels
from inbounds.trusted.samplers import Draws

ROWS = 1 << 21
"""The most numbers in memory at a time while probabilities are computed."""


class ScoreLaw(RecordsLaw):
    """Permute-and-flip: outputs are tried in random order, and each is accepted with the probability of its level."""

    table: tuple[int, ...]

    @abstractmethod
    def levels(self, query: QuantileQuery, histograms: Ints) -> Ints:
        """Return the level of every output for every group: groups × outputs, indices of `table`."""

    def make_sampler(self, query: QuantileQuery) -> DrawFunction:
        sampler = ScoreSampler.from_table(self.table)

        def draw(histograms: Ints, draws: Draws) -> Ints:
            return draw_permute_flip(sampler, self.levels(query, histograms), draws)

        return one_or_many(draw)

    def probabilities(self, query: QuantileQuery, histograms: Ints) -> Floats:
        return _probabilities_of_levels(self.table, self.levels(query, histograms))


@dataclass(frozen=True)
class PermuteAndFlip(ScoreLaw):
    """Permute-and-flip: outputs are tried in random order; t is accepted with probability table[level of t] / 2**62.

    The level is 0 for the true answer, else 1 + stride · (path length - 1), plus what `deeper` adds for the depth of
    the group: see `trusted.permute_flip`.
    """

    table: tuple[int, ...]
    stride: int = 1
    deeper: tuple[int, ...] = ()

    kind = "scores"
    fields = dict.fromkeys(("table", "stride", "deeper"))
    checkers = frozenset({BROWSER, COQ})

    def __post_init__(self) -> None:  # the checker needs plain ints: no overloaded arithmetic
        object.__setattr__(self, "table", tuple(map(operator.index, self.table)))
        object.__setattr__(self, "deeper", tuple(map(operator.index, self.deeper)))

    def check(self, query: QuantileQuery, epsilon: Fraction) -> None:
        check_scores(self.table, self.stride, self.deeper, query.width, epsilon)

    def levels(self, query: QuantileQuery, histograms: Ints) -> Ints:
        return score_levels(query.path_lengths(histograms), self.stride, self.deeper, len(self.table))

    def proof_steps(self, query: QuantileQuery) -> list[str]:
        return [
            f"{len(self.table)} whole numbers fall from 2^62 to at least 1, the further the more records must change "
            "until the answer is another",
            "the largest ratio that permute-and-flip can have between neighbours, as a fraction of whole numbers, is "
            "at most p/2^128, the sampler's rounding included",
            RATIO_BOUND,
        ]

    def to_json(self) -> Any:
        deeper = format_integers(self.deeper)
        return {"table": format_integers(self.table), "stride": str(self.stride), "deeper": deeper}

    @classmethod
    def from_json(cls, part: Any, query: QuantileQuery) -> Self:
        deeper = part["deeper"]
        if type(deeper) is not str:
            raise TypeError("deeper must be text")
        depths = parse_integers(deeper) if deeper else []
        return cls(tuple(parse_integers(part["table"])), parse_integer(part["stride"]), tuple(depths))


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
    """Return slices of groups, each small enough for ROWS numbers; a group has at most as many chances as outputs."""
    rows = max(1, ROWS // (4 * shape[1]))
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
