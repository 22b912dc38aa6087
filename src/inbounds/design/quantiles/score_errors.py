"""Expected errors of many score tables on the same groups, in floats: for choosing a table, never for a release.

The outputs of a group form runs of equal path length around the answer. All outputs of a run have the same weight p, so
a run needs only the number of its outputs and the sum of their distances. With u in 0..1,

    E[distance] = ∫ ∏_j (1 - u p_j) · Σ_i distance_i p_i / (1 - u p_i) du ,

by Gauss-Legendre quadrature with u = v², so that nodes are dense where the mass is. The cost of one table on one group
depends on the number of runs and not on the number of values.
"""

import math
from dataclasses import dataclass

import numpy as np

from inbounds.exact import Floats, Ints
from inbounds.mechanism.laws import PermuteAndFlip
from inbounds.mechanism.laws.scores import gauss_legendre
from inbounds.query import QuantileQuery
from inbounds.trusted.bounds import TOTAL
from inbounds.trusted.permute_flip import levels_of_depth, score_depths
from inbounds.trusted.sided_scores import Side

NODES = 32
"""Number of quadrature nodes: errors are exact to about 1e-8 of themselves for up to 2,048 values."""

NEGLIGIBLE_ERROR = 1e-6
"""Most steps that the outputs which are left out can add to an error."""

BLOCK = 1 << 12
"""Number of runs from which on groups are split into blocks; a table is given up at the first block it fails."""

ANSWER, BELOW, ABOVE = 0, 1, 2
"""The sides of a run: the answer itself, and the values below and above it."""


class ScoreWeights:
    """The weights of a score table as the quadrature needs them: log(1 - u p) and p / (1 - u p) at every node."""

    def __init__(self, table: tuple[int, ...]) -> None:
        nodes, weights = gauss_legendre(NODES)
        p = np.array(table, dtype=np.float64) / TOTAL
        factors = 1 - p[:, None] * nodes**2
        self.logs, self.ratios, self.nodes = np.log(factors), p[:, None] / factors, 2 * weights * nodes
        self.last = len(table) - 1


@dataclass(frozen=True)
class OutputRuns:
    """The outputs of groups as runs of equal path length, ordered by group.

    first, last: the least and the largest distance of a run from the answer. end: the distance from the answer to the
    end of the range on that side. Every side of every group also has an empty run of length 0 for its spread.
    """

    starts: Ints
    side: Ints
    length: Ints
    first: Ints
    last: Ints
    end: Ints
    depth: Ints

    @classmethod
    def from_groups(cls, query: QuantileQuery, groups: Ints, most_length: int) -> "OutputRuns":
        """Find the runs of groups; those of more than `most_length` records are left out."""
        lengths = query.path_lengths(groups)
        count, values = lengths.shape
        rows, answers = np.arange(count), lengths.argmin(axis=1)
        begins = np.ones((count, values + 1), dtype=np.bool_)
        begins[:, 1:-1] = lengths[:, 1:] != lengths[:, :-1]
        begins[rows, answers] = begins[rows, answers + 1] = True
        group, low = np.nonzero(begins[:, :-1])
        high = np.concatenate([low[1:], [0]]) - 1
        high[high < 0] = values - 1  # the next run begins at the next group's first value
        length, answer = lengths[group, low], answers[group]
        side = np.where(low == answer, ANSWER, np.where(low < answer, BELOW, ABOVE))
        near = np.where(side == BELOW, answer - high, low - answer)
        far = np.where(side == BELOW, answer - low, high - answer)
        is_kept, spreads = length <= most_length, np.zeros(2 * count, dtype=np.int64)
        owner = np.concatenate([group[is_kept], rows, rows])
        order = np.argsort(owner, kind="stable")
        sides = [side[is_kept], np.full(count, BELOW), np.full(count, ABOVE)]
        owner, side = owner[order], np.concatenate(sides)[order]
        ends = np.stack([np.zeros_like(answers), answers, values - 1 - answers])
        return cls(
            starts=np.searchsorted(owner, np.arange(count + 1)),
            side=side,
            length=np.concatenate([length[is_kept], spreads])[order],
            first=np.concatenate([near[is_kept], spreads + 1])[order],
            last=np.concatenate([far[is_kept], spreads])[order],
            end=ends[side, owner],
            depth=score_depths(lengths)[owner],
        )

    def plain(self, law: PermuteAndFlip, weights: ScoreWeights) -> Floats:
        """Compute the expected error of every group under a table alike on both sides."""
        levels = 1 + law.stride * (self.length - 1) + levels_of_depth(self.depth, law.deeper)
        return self._errors(np.where(self.length == 0, 0, levels), self.first, self.last, weights)

    def sided(self, below: Side, above: Side, deeper: int, weights: ScoreWeights) -> Floats:
        """Compute the expected error of every group under a sided table."""
        first, stride, spread, near = np.array([(0, 0, 0, 0), below, above]).T[:, self.side]
        is_spread = (self.length == 0) & (self.side != ANSWER)
        levels = np.where(self.length == 0, near, first + stride * (self.length - 1) + deeper * self.depth)
        low = np.where(is_spread, 1, self.first + spread)
        return self._errors(levels, low, np.minimum(self.last + spread, self.end), weights)

    def _errors(self, levels: Ints, low: Ints, high: Ints, weights: ScoreWeights) -> Floats:
        from scipy.sparse import csr_array

        place, count = np.minimum(levels, weights.last), np.maximum(high - low + 1, 0).astype(np.float64)
        shape = len(self.starts) - 1, weights.last + 1
        outputs = csr_array((count, place, self.starts), shape)
        distances = csr_array((count * (low + high) / 2, place, self.starts), shape)
        products = np.exp(outputs @ weights.logs) * weights.nodes
        totals = (products * (outputs @ weights.ratios)).sum(axis=1)
        return np.asarray((products * (distances @ weights.ratios)).sum(axis=1) / totals)


def split_groups(query: QuantileQuery, groups: Ints, flattest: float) -> list[tuple[Ints, OutputRuns]]:
    """Split groups into blocks, each a sample of all of them, with their runs.

    flattest: the least log ratio of weights one record apart of any table that will be tried. The weight of an output l
    records away is at most exp(-flattest · l), and there are at most values² steps to lose.
    """
    most_length = math.ceil(math.log(len(query.values) ** 2 / NEGLIGIBLE_ERROR) / flattest)
    total = len(OutputRuns.from_groups(query, groups, most_length).side)
    blocks = max(1, min(len(groups), total // BLOCK))
    places = [np.arange(start, len(groups), blocks) for start in range(blocks)]
    return [(place, OutputRuns.from_groups(query, groups[place], most_length)) for place in places]
