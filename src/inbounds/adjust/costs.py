"""What a published value costs at a node: convex costs, given by their slopes c(d + 1) - c(d)."""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from inbounds.adjust.posterior import Marginals
from inbounds.exact import Floats, Ints

TIE = 1e-9
"""Weight of the square that spreads what is left to chance."""


class NodeCost(Protocol):
    def slopes(self, nodes: Ints, d: Ints) -> Floats:
        """c(d + 1) - c(d) at nodes[i], d[i]; they never fall as d rises."""
        ...


@dataclass(frozen=True, eq=False)
class PosteriorCost:
    """weight · E|X - d| under the posterior: the slope is weight · (2·F(d) - 1), which rises whatever the posterior."""

    marginals: Marginals
    weight: float

    @cached_property
    def _steps(self) -> Floats:
        return np.asarray(2 * np.cumsum(self.marginals.mass, axis=1) - 1)

    def slopes(self, nodes: Ints, d: Ints) -> Floats:
        at = d - self.marginals.low[nodes]
        width = self._steps.shape[1]
        inside = self._steps[nodes, np.clip(at, 0, width - 1)]
        return np.asarray(self.weight * (np.where(at < 0, -1.0, np.where(at >= width, 1.0, inside)) + TIE * at))


@dataclass(frozen=True, eq=False)
class AbsoluteCost:
    """weight · |d - y|: the most likely table, if y are truncated geometric reports and the weight their epsilon."""

    y: Ints
    weight: float

    def slopes(self, nodes: Ints, d: Ints) -> Floats:
        away = d - self.y[nodes]
        return np.asarray(self.weight * (np.where(away >= 0, 1.0, -1.0) + TIE * away))


@dataclass(frozen=True, eq=False)
class FixedCost:
    """weight · |d - y| of a weight above all others: two slopes, so that a held value is two arcs of a network."""

    y: Ints
    weight: float

    def slopes(self, nodes: Ints, d: Ints) -> Floats:
        return np.where(d >= self.y[nodes], self.weight, -self.weight)


@dataclass(frozen=True, eq=False)
class SquaredCost:
    """weight · (d - y)²."""

    y: Floats
    weight: float

    def slopes(self, nodes: Ints, d: Ints) -> Floats:
        return np.asarray(self.weight * (2 * (d - self.y[nodes]) + 1))


@dataclass(frozen=True, eq=False)
class SelectedCost:
    """The costs of some of the nodes of another numbering."""

    cost: NodeCost
    nodes: Ints

    def slopes(self, nodes: Ints, d: Ints) -> Floats:
        return self.cost.slopes(self.nodes[nodes], d)


@dataclass(frozen=True, eq=False)
class ZeroCost:
    """No cost at all."""

    def slopes(self, nodes: Ints, d: Ints) -> Floats:
        return np.zeros(len(nodes))
