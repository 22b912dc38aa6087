"""Histograms on a tree of groups: each label adds up over the groups, and the labels of a group to its size.

The trees of all labels side by side are one tree. The group sizes are a second tree over the same leaves
(`crossed_posterior`). Published values are chosen from the top down: the labels of a parent are fixed, the sizes of its
children are public, and the cells between them are a two-way table with both margins fixed.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from inbounds.adjust.costs import FixedCost, NodeCost, SelectedCost, ZeroCost
from inbounds.adjust.crossed_posterior import Side, crossed_posterior
from inbounds.adjust.likelihoods import GeometricReports, KnownTotals, NoReports
from inbounds.adjust.network import TableBatch, best_table
from inbounds.adjust.posterior import OutOfWindow
from inbounds.adjust.prior_fit import fit_local_rates
from inbounds.adjust.squares import nearest_whole
from inbounds.adjust.tree import Tree
from inbounds.adjust.tree_adjust import (
    AdjustedTree,
    adjust_tree,
    expected_errors,
    is_feasible,
    round_least_squares,
    tree_level_results,
)
from inbounds.adjust.tree_optimum import best_sums
from inbounds.errors import ConvergenceError
from inbounds.exact import Floats, Ints
from inbounds.schema.report_types import KNOWN, POSTERIOR

FIXED = 1e3
"""Weight that fixes a margin: more than any cell can gain."""

MOST_CELLS = 50_000
"""Largest number of cells of a level that are chosen all at once; above it, one label after another."""


@dataclass(frozen=True, eq=False)
class LabelTree:
    """Outputs about every label of every group, for each level, label by label.

    sums: whether the labels of a group sum to its public size ("known"), to at most that ("most"), or to any number
    ("").
    """

    tree: Tree
    labels: int
    reports: tuple[GeometricReports, ...]
    sums: str

    @property
    def stack(self) -> Tree:
        """The trees of all labels as one tree."""
        sizes = [np.tile(level, self.labels) for level in self.tree.sizes]
        parents = [
            np.concatenate([parent + label * len(above) for label in range(self.labels)])
            for parent, above in zip(self.tree.parents, self.tree.sizes[1:], strict=True)
        ]
        return Tree(tuple(sizes), tuple(parents))

    @property
    def groups(self) -> Side:
        """The tree of the same leaves, group by group, under the group sizes."""
        sizes, groups = self.tree.sizes[0], len(self.tree.sizes[0])
        tree = Tree((np.repeat(sizes, self.labels), sizes), (np.repeat(np.arange(groups), self.labels),))
        total = KnownTotals(sizes) if self.sums == KNOWN else NoReports(sizes)
        return Side(tree, [NoReports(np.zeros(groups * self.labels, np.int64)), total])


def adjust_label_tree(table: LabelTree, weights: Sequence[float], interval: float) -> AdjustedTree:
    """Adjust the cells of every level so that they add up over groups and, as `table.sums` asks, over labels.

    weights: of the levels' mean errors. interval: probability of the credible intervals.
    """
    stack = table.stack
    if not table.sums:
        return adjust_tree(stack, table.reports, weights, interval)
    groups = len(table.tree.sizes[0])
    order = np.arange(groups * table.labels).reshape(table.labels, groups).T.ravel()
    if is_feasible(stack, table.reports):
        try:
            prior = fit_local_rates(stack, table.reports)
            marginals, _ = crossed_posterior(Side(stack, table.reports), table.groups, order, prior)
        except OutOfWindow:
            pass
        else:
            values = _decide_cells(table, expected_errors(marginals, weights))
            return AdjustedTree(tuple(tree_level_results(marginals, values, interval)), POSTERIOR)
    least_squares = round_least_squares(stack, table.reports, interval)
    return least_squares.with_values(
        _nearest_cells(table, [level.values.astype(np.float64) for level in least_squares.levels])
    )


def _nearest_cells(table: LabelTree, near: Sequence[Floats]) -> list[Ints]:
    """Round values to whole cells that add up, from the top down, one label after another. Works for any ranges."""
    tree, labels = table.tree, table.labels
    roots = np.arange(len(tree.sizes[-1]))
    cells = near[-1].reshape(labels, -1).T.ravel()
    owner = np.repeat(roots, labels)
    totals = tree.sizes[-1] if table.sums == KNOWN else np.minimum(np.bincount(owner, cells), tree.sizes[-1])
    sizes = np.repeat(tree.sizes[-1], labels)
    values = [nearest_whole(cells, owner, sizes, totals.astype(np.int64)).reshape(-1, labels).T]
    for level in range(tree.depth - 2, -1, -1):
        room, cells_by_label = tree.sizes[level].copy(), []
        for label_values, total in zip(near[level].reshape(labels, -1), values[0], strict=True):
            cells_by_label.append(nearest_whole(label_values, tree.parents[level], room, total))
            room = room - cells_by_label[-1]
        values.insert(0, np.array(cells_by_label))
    return [level.ravel() for level in values]


def _decide_cells(table: LabelTree, costs: Sequence[NodeCost]) -> list[Ints]:
    """Choose the whole cells of every level at least cost, from the top down."""
    tree, labels = table.tree, table.labels
    roots = len(tree.sizes[-1])
    order = np.arange(roots * labels).reshape(labels, roots).T.ravel()
    top = Tree((np.repeat(tree.sizes[-1], labels), tree.sizes[-1]), (np.repeat(np.arange(roots), labels),))
    totals = tree.sizes[-1] if table.sums == KNOWN else None
    cells = best_sums(top, [SelectedCost(costs[-1], order), ZeroCost()], totals)[0]
    values = [cells[np.argsort(order)]]
    for level in range(tree.depth - 2, -1, -1):
        cells = np.zeros(labels * len(tree.sizes[level]), np.int64)
        for children in np.unique(tree.children[level]):
            parents = np.flatnonzero(tree.children[level] == children)
            _fill_below(table, level, parents, int(children), costs[level], values[0], cells)
        values.insert(0, cells)
    return values


def _fill_below(
    table: LabelTree, level: int, parents: Ints, children: int, cost: NodeCost, above: Ints, cells: Ints
) -> None:
    """Fill in the cells below `parents`, which all have `children` children, given the labels of the parents."""
    sizes, labels = table.tree.sizes[level], table.labels
    first = np.searchsorted(table.tree.parents[level], parents)
    child = first[:, None] + np.arange(children)
    place = child[:, None, :] + len(sizes) * np.arange(labels)[:, None]  # parents × labels × children
    totals = above.reshape(labels, -1)[:, parents].T
    cell_costs = SelectedCost(cost, place.ravel())
    if place.size <= MOST_CELLS:
        cell_sizes = np.broadcast_to(sizes[child][:, None, :], place.shape).ravel()
        known_sizes = table.sums == KNOWN
        margins = (
            FixedCost(totals.ravel(), FIXED),
            FixedCost(sizes[child].ravel(), FIXED) if known_sizes else ZeroCost(),
        )
        parent_sizes = sizes[child].sum(axis=1)
        tables = TableBatch(
            labels,
            children,
            cell_sizes,
            np.repeat(parent_sizes, labels),
            sizes[child].ravel(),
            parent_sizes,
            known_sizes,
        )
        with suppress(ConvergenceError):
            cells[place] = best_table(tables, cell_costs, *margins)[0]
            return
    cells[place] = _fill_label_by_label(cell_costs, sizes[child], totals)


def _fill_label_by_label(cost: NodeCost, sizes: Ints, totals: Ints) -> Ints:
    """Choose cells, parents × labels × children, one label after another within the room that is left."""
    parents, children = sizes.shape
    labels = totals.shape[1]
    cells, room = np.zeros((parents, labels, children), np.int64), sizes.copy()
    place = np.arange(parents * labels * children).reshape(parents, labels, children)
    for label in range(labels):
        tree = Tree((room.ravel(), totals[:, label]), (np.repeat(np.arange(parents), children),))
        values = best_sums(tree, [SelectedCost(cost, place[:, label].ravel()), ZeroCost()], totals[:, label])[0]
        cells[:, label] = values.reshape(parents, children)
        room -= cells[:, label]
    return cells
