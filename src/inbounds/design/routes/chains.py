"""Rows when only consecutive answers are neighbours: the least cost, the row that attains it, and its multipliers.

A row of such a mechanism satisfies low[i, j] <= x[j] / x[j+1] <= high[i, j], nothing else (privacy, and row
monotonicity if requested). The least value of r . x, relative to a root cell, follows by passing costs inward:
a cell with a positive cost takes the least share of its inner neighbour, one with a negative cost the largest.
"""

from dataclasses import dataclass, replace

import numpy as np

from inbounds.design.bounds.duality import Duals, reduced_costs
from inbounds.design.comparisons import CellInequalities, requested_properties
from inbounds.design.problem import Floats, Ints, Problem


@dataclass(frozen=True, eq=False)
class Chain:
    """Ratio limits of consecutive answers, outputs x (answers - 1): x[j] <= up * x[j+1], x[j+1] <= down * x[j].

    root: the answer relative to which each row is computed (its peak, when rows are monotone).
    """

    up: Floats
    down: Floats
    root: Ints


def is_chain(problem: Problem) -> bool:
    """Return whether exactly the consecutive answers are neighbours."""
    n = problem.shape[1]
    return sorted((a, b) for a, b, _ in problem.cliques) == [(j, j + 2) for j in range(n - 1)]


def chain(problem: Problem) -> Chain:
    """Build the limits of a problem whose neighbours are consecutive answers."""
    m, n = problem.shape
    limit = np.empty(n - 1)
    for start, _, d in problem.cliques:
        limit[start] = np.exp(problem.epsilon * d)
    up, down = np.tile(limit, (m, 1)), np.tile(limit, (m, 1))
    if "row_monotone" in requested_properties(problem):
        j = np.arange(n - 1)
        up[j + 1 < problem.below[:, None]] = 1.0
        down[j >= problem.above[:, None]] = 1.0
    return Chain(up, down, np.clip(problem.above, 0, n - 1))


@dataclass(frozen=True, eq=False)
class ForwardPass:
    """The result of passing costs inward: carried[i, j] is the cost of cell j with all cells outside it.

    At the root it is the cost of the whole row relative to its root cell.
    """

    carried: Floats
    chain: Chain

    @property
    def value(self) -> Floats:
        root = self.chain.root
        at_root: Floats = self.carried[np.arange(len(root)), root]
        return at_root


def forward_pass(chain: Chain, cost: Floats) -> ForwardPass:
    """Pass costs to the roots. O(outputs * answers), one vector step per answer."""
    n = cost.shape[1]
    g, root = np.ascontiguousarray(cost.T).copy(), chain.root
    up, down = np.ascontiguousarray(chain.up.T), np.ascontiguousarray(chain.down.T)
    for j in range(n - 1):  # x[j] is between x[j+1] / down and up x[j+1]
        share = np.where(g[j] > 0, 1.0 / down[j], up[j])
        g[j + 1] += np.where(j < root, share * g[j], 0.0)
    for j in range(n - 1, 0, -1):  # x[j] is between x[j-1] / up and down x[j-1]
        share = np.where(g[j] > 0, 1.0 / up[j - 1], down[j - 1])
        g[j - 1] += np.where(j > root, share * g[j], 0.0)
    return ForwardPass(g.T, chain)


def chain_rays(passed: ForwardPass, rows: Ints) -> Floats:
    """Return the rows that attain the least cost, scaled so that the largest cell is one."""
    g, c = passed.carried[rows], passed.chain
    up, down, root = c.up[rows], c.down[rows], c.root[rows]
    x = np.ones((len(rows), g.shape[1]))
    for j in range(g.shape[1] - 2, -1, -1):
        share = np.where(g[:, j] > 0, 1.0 / down[:, j], up[:, j])
        x[:, j] = np.where(j < root, share * x[:, j + 1], 1.0)
    for j in range(1, g.shape[1]):
        share = np.where(g[:, j] > 0, 1.0 / up[:, j - 1], down[:, j - 1])
        x[:, j] = np.where(j > root, share * x[:, j - 1], x[:, j])
    scaled: Floats = x / x.max(axis=1, keepdims=True)
    return scaled


def multipliers(passed: ForwardPass) -> tuple[CellInequalities, Floats]:
    """Return one comparison per edge, with the multiplier that cancels the carried cost of its outer cell."""
    g, c = passed.carried, passed.chain
    m, n = g.shape
    inner_is_right = np.arange(n - 1) < c.root[:, None]
    outer = np.arange(n - 1) + ~inner_is_right
    inner = np.arange(n - 1) + inner_is_right
    limit_out = np.where(inner_is_right, c.up, c.down)  # outer <= limit_out * inner
    limit_in = np.where(inner_is_right, c.down, c.up)  # inner <= limit_in * outer
    carried = np.take_along_axis(g, outer, axis=1)
    costs = carried > 0
    rows = n * np.arange(m)[:, None]
    greater = np.where(costs, rows + outer, rows + inner).ravel()
    lesser = np.where(costs, rows + inner, rows + outer).ravel()
    factor = np.where(costs, limit_in, limit_out).ravel()
    values = np.where(costs, carried / limit_in, -carried).ravel()
    return CellInequalities(greater, lesser, factor), values


def complete_duals(
    problem: Problem, links: Chain, duals: Duals, *, tied: Floats | float = 0.0, folded: bool
) -> tuple[Duals, ForwardPass]:
    """Complete multipliers of all other constraints by the best ones along the chains.

    Passing costs is exact in the far tails, where a solver's multipliers are lost in rounding. tied: multipliers of
    single cells that only the pricing needs.
    """
    R, _ = reduced_costs(problem, duals)
    R = R - duals.columns - tied
    passed = forward_pass(links, (R + R[::-1, ::-1]) / 2 if folded else R)
    compared, values = multipliers(passed)
    whole = replace(duals, comparisons=duals.comparisons + compared, values=np.concatenate((duals.values, values)))
    return whole, passed
