"""Histograms on a tree of groups: each label adds up over the groups, and the labels of a group to its size.

The labels' trees side by side are one tree, the groups' sizes another one over the same leaves (`crossed_posterior`).
Published
values are decided from the top down: the labels of a parent are given, the sizes of its children are public, and the
cells between are a two-way table with both margins fixed.
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
"""Weight that holds a margin where it is: more than any cell can gain."""

MOST_CELLS = 50_000
"""Cells of a level up to which they are decided all at once; beyond, one label after another."""


@dataclass(frozen=True, eq=False)
class LabelTree:
    """Reports about every label of every group: of each level, label by label.

    sums: how the labels of a group sum: to its public size ("known"), to no more than that ("most"), or anyhow ("").
    """

    tree: Tree
    labels: int
    reports: tuple[GeometricReports, ...]
    sums: str

    @property
    def stack(self) -> Tree:
        """The labels' trees as one."""
        sizes = [np.tile(own, self.labels) for own in self.tree.sizes]
        parents = [
            np.concatenate([own + label * len(above) for label in range(self.labels)])
            for own, above in zip(self.tree.parents, self.tree.sizes[1:], strict=True)
        ]
        return Tree(tuple(sizes), tuple(parents))

    @property
    def groups(self) -> Side:
        """The leaves group by group, under the groups' sizes."""
        sizes, groups = self.tree.sizes[0], len(self.tree.sizes[0])
        tree = Tree((np.repeat(sizes, self.labels), sizes), (np.repeat(np.arange(groups), self.labels),))
        total = KnownTotals(sizes) if self.sums == KNOWN else NoReports(sizes)
        return Side(tree, [NoReports(np.zeros(groups * self.labels, np.int64)), total])


def adjust_label_tree(asked: LabelTree, weights: Sequence[float], interval: float) -> AdjustedTree:
    """Cells of every level, label by label, that add up over groups and, as far as is asked, over labels."""
    stacked = asked.stack
    if not asked.sums:
        return adjust_tree(stacked, asked.reports, weights, interval)
    groups = len(asked.tree.sizes[0])
    order = np.arange(groups * asked.labels).reshape(asked.labels, groups).T.ravel()
    if is_feasible(stacked, asked.reports):
        try:
            prior = fit_local_rates(stacked, asked.reports)
            found, _ = crossed_posterior(Side(stacked, asked.reports), asked.groups, order, prior)
        except OutOfWindow:
            pass
        else:
            values = _decide_cells(asked, expected_errors(found, weights))
            return AdjustedTree(tuple(tree_level_results(found, values, interval)), POSTERIOR)
    near = round_least_squares(stacked, asked.reports, interval)
    return near.around(_nearest(asked, [level.values.astype(np.float64) for level in near.levels]))


def _nearest(asked: LabelTree, near: Sequence[Floats]) -> list[Ints]:
    """Whole cells near given ones from the top down, one label after another; whatever the ranges."""
    tree, labels = asked.tree, asked.labels
    roots = np.arange(len(tree.sizes[-1]))
    cells = near[-1].reshape(labels, -1).T.ravel()
    owner = np.repeat(roots, labels)
    totals = tree.sizes[-1] if asked.sums == KNOWN else np.minimum(np.bincount(owner, cells), tree.sizes[-1])
    sizes = np.repeat(tree.sizes[-1], labels)
    values = [nearest_whole(cells, owner, sizes, totals.astype(np.int64)).reshape(-1, labels).T]
    for level in range(tree.depth - 2, -1, -1):
        room, found = tree.sizes[level].copy(), []
        for own, total in zip(near[level].reshape(labels, -1), values[0], strict=True):
            found.append(nearest_whole(own, tree.parents[level], room, total))
            room = room - found[-1]
        values.insert(0, np.array(found))
    return [level.ravel() for level in values]


def _decide_cells(asked: LabelTree, costs: Sequence[NodeCost]) -> list[Ints]:
    """Whole cells of every level from the top down."""
    tree, labels = asked.tree, asked.labels
    roots = len(tree.sizes[-1])
    order = np.arange(roots * labels).reshape(labels, roots).T.ravel()
    top = Tree((np.repeat(tree.sizes[-1], labels), tree.sizes[-1]), (np.repeat(np.arange(roots), labels),))
    known = tree.sizes[-1] if asked.sums == KNOWN else None
    cells = best_sums(top, [SelectedCost(costs[-1], order), ZeroCost()], known)[0]
    values = [cells[np.argsort(order)]]
    for level in range(tree.depth - 2, -1, -1):
        cells = np.zeros(labels * len(tree.sizes[level]), np.int64)
        for children in np.unique(tree.children[level]):
            parents = np.flatnonzero(tree.children[level] == children)
            _fill(asked, level, parents, int(children), costs[level], values[0], cells)
        values.insert(0, cells)
    return values


def _fill(asked: LabelTree, level: int, parents: Ints, children: int, cost: NodeCost, above: Ints, cells: Ints) -> None:
    """The cells below parents with as many children, given the parents' labels."""
    sizes, labels = asked.tree.sizes[level], asked.labels
    first = np.searchsorted(asked.tree.parents[level], parents)
    child = first[:, None] + np.arange(children)
    at = child[:, None, :] + len(sizes) * np.arange(labels)[:, None]  # parents × labels × children
    total = above.reshape(labels, -1)[:, parents].T
    own = SelectedCost(cost, at.ravel())
    if at.size <= MOST_CELLS:
        cell_sizes = np.broadcast_to(sizes[child][:, None, :], at.shape).ravel()
        known = asked.sums == KNOWN
        margins = FixedCost(total.ravel(), FIXED), FixedCost(sizes[child].ravel(), FIXED) if known else ZeroCost()
        of_parents = sizes[child].sum(axis=1)
        tables = TableBatch(
            labels, children, cell_sizes, np.repeat(of_parents, labels), sizes[child].ravel(), of_parents, known
        )
        with suppress(ConvergenceError):
            cells[at] = best_table(tables, own, *margins)[0]
            return
    cells[at] = _in_turn(own, sizes[child], total)


def _in_turn(cost: NodeCost, sizes: Ints, totals: Ints) -> Ints:
    """parents × labels × children, one label after another: each takes what is best of the room that is left."""
    parents, children = sizes.shape
    labels = totals.shape[1]
    cells, room = np.zeros((parents, labels, children), np.int64), sizes.copy()
    place = np.arange(parents * labels * children).reshape(parents, labels, children)
    for label in range(labels):
        tree = Tree((room.ravel(), totals[:, label]), (np.repeat(np.arange(parents), children),))
        taken = best_sums(tree, [SelectedCost(cost, place[:, label].ravel()), ZeroCost()], totals[:, label])[0]
        cells[:, label] = taken.reshape(parents, children)
        room -= cells[:, label]
    return cells
