"""Convex costs of publishing the value d at a node, given by their slopes c(d + 1) - c(d).

`tree_optimum` and `network` minimize their sum over all nodes.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from inbounds.adjust.posterior import Marginals
from inbounds.exact import Floats, Ints

TIE = 1e-9
"""Weight of a small quadratic cost that breaks ties: it spreads the values evenly."""


class NodeCost(Protocol):
    """The cost of every value of every node of a level."""

    def slopes(self, nodes: Ints, d: Ints) -> Floats:
        """Return c(d + 1) - c(d) at nodes[i], d[i]. Slopes never fall as d rises."""
        ...


SLOPE_UNIT = 2.0**-32
"""Slopes of a posterior are multiples of this, far above the rounding errors of its probabilities.

Siblings with equal outputs have slopes that are equal but for these errors, which depend on the processor and on the
order of sums. Rounded, they are equal, and everybody who adjusts the same outputs breaks the tie in the same way.
"""


@dataclass(frozen=True, eq=False)
class PosteriorCost:
    """The cost weight · E|X - d| under the posterior. Its slope weight · (2·F(d) - 1) rises for every posterior."""

    marginals: Marginals
    weight: float

    @cached_property
    def _steps(self) -> Floats:
        slopes = 2 * np.cumsum(self.marginals.mass, axis=1) - 1
        return np.asarray(np.round(slopes / SLOPE_UNIT) * SLOPE_UNIT)

    def slopes(self, nodes: Ints, d: Ints) -> Floats:
        at = d - self.marginals.low[nodes]
        width = self._steps.shape[1]
        inside = self._steps[nodes, np.clip(at, 0, width - 1)]
        return np.asarray(self.weight * (np.where(at < 0, -1.0, np.where(at >= width, 1.0, inside)) + TIE * at))


@dataclass(frozen=True, eq=False)
class AbsoluteCost:
    """The cost weight · |d - y|. With truncated geometric outputs y and weight epsilon it gives the most likely
    table.
    """

    y: Ints
    weight: float

    def slopes(self, nodes: Ints, d: Ints) -> Floats:
        distance = d - self.y[nodes]
        return np.asarray(self.weight * (np.where(distance >= 0, 1.0, -1.0) + TIE * distance))


@dataclass(frozen=True, eq=False)
class FixedCost:
    """The cost weight · |d - y| without a tie-breaking term, for values that must stay at y.

    The weight is above all others. There are two slopes, so a fixed value takes two arcs of a network.
    """

    y: Ints
    weight: float

    def slopes(self, nodes: Ints, d: Ints) -> Floats:
        return np.where(d >= self.y[nodes], self.weight, -self.weight)


@dataclass(frozen=True, eq=False)
class SquaredCost:
    """The cost weight · (d - y)²."""

    y: Floats
    weight: float

    def slopes(self, nodes: Ints, d: Ints) -> Floats:
        return np.asarray(self.weight * (2 * (d - self.y[nodes]) + 1))


@dataclass(frozen=True, eq=False)
class SelectedCost:
    """The costs of selected nodes: node i here is node nodes[i] of `cost`."""

    cost: NodeCost
    nodes: Ints

    def slopes(self, nodes: Ints, d: Ints) -> Floats:
        return self.cost.slopes(self.nodes[nodes], d)


@dataclass(frozen=True, eq=False)
class ZeroCost:
    """No cost at all."""

    def slopes(self, nodes: Ints, d: Ints) -> Floats:
        return np.zeros(len(nodes))
