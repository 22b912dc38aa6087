"""Histograms on a tree of groups: each label adds up over the groups, and the labels of a group to its size.

The labels' trees side by side are one tree, the groups' sizes another one over the same leaves (`crossed`). Published
values are decided from the top down: the labels of a parent are given, the sizes of its children are public, and the
cells between are a two-way table with both margins fixed.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from inbounds.errors import NotConverged
from inbounds.numbers import Floats, Ints
from inbounds.tables.adding.adjusted import (
    Adjusted,
    adjusted_tree,
    expected_errors,
    feasible,
    levels_of,
    nearest_squares,
)
from inbounds.tables.adding.best import best_sums
from inbounds.tables.adding.cost import Free, Held, NodeCost, Picked
from inbounds.tables.adding.crossed import Side, crossed
from inbounds.tables.adding.form import KNOWN, POSTERIOR
from inbounds.tables.adding.learned import local_rates
from inbounds.tables.adding.network import Tables, best_table
from inbounds.tables.adding.posterior import OutOfWindow
from inbounds.tables.adding.reports import GeometricReports, Known, Unreported
from inbounds.tables.adding.squares import nearest_whole
from inbounds.tables.adding.tree import Tree

FIXED = 1e3
"""Weight that holds a margin where it is: more than any cell can gain."""

MOST_CELLS = 50_000
"""Cells of a level up to which they are decided all at once; beyond, one label after another."""


@dataclass(frozen=True, eq=False)
class Labelled:
    """Reports about every label of every group: of each level, label by label.

    sums: how the labels of a group sum: to its public size ("known"), to no more than that ("most"), or anyhow ("").
    """

    tree: Tree
    labels: int
    reports: tuple[GeometricReports, ...]
    sums: str

    @property
    def stacked(self) -> Tree:
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
        total = Known(sizes) if self.sums == KNOWN else Unreported(sizes)
        return Side(tree, [Unreported(np.zeros(groups * self.labels, np.int64)), total])


def adjusted_labels(asked: Labelled, weights: Sequence[float], interval: float) -> Adjusted:
    """Cells of every level, label by label, that add up over groups and, as far as is asked, over labels."""
    stacked = asked.stacked
    if not asked.sums:
        return adjusted_tree(stacked, asked.reports, weights, interval)
    groups = len(asked.tree.sizes[0])
    order = np.arange(groups * asked.labels).reshape(asked.labels, groups).T.ravel()
    if feasible(stacked, asked.reports):
        try:
            prior = local_rates(stacked, asked.reports)
            found, _ = crossed(Side(stacked, asked.reports), asked.groups, order, prior)
        except OutOfWindow:
            pass
        else:
            values = _decided(asked, expected_errors(found, weights))
            return Adjusted(tuple(levels_of(found, values, interval)), POSTERIOR)
    near = nearest_squares(stacked, asked.reports, interval)
    return near.around(_nearest(asked, [level.values.astype(np.float64) for level in near.levels]))


def _nearest(asked: Labelled, near: Sequence[Floats]) -> list[Ints]:
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


def _decided(asked: Labelled, costs: Sequence[NodeCost]) -> list[Ints]:
    """Whole cells of every level from the top down."""
    tree, labels = asked.tree, asked.labels
    roots = len(tree.sizes[-1])
    order = np.arange(roots * labels).reshape(labels, roots).T.ravel()
    top = Tree((np.repeat(tree.sizes[-1], labels), tree.sizes[-1]), (np.repeat(np.arange(roots), labels),))
    known = tree.sizes[-1] if asked.sums == KNOWN else None
    cells = best_sums(top, [Picked(costs[-1], order), Free()], known)[0]
    values = [cells[np.argsort(order)]]
    for level in range(tree.depth - 2, -1, -1):
        cells = np.zeros(labels * len(tree.sizes[level]), np.int64)
        for children in np.unique(tree.children[level]):
            parents = np.flatnonzero(tree.children[level] == children)
            _fill(asked, level, parents, int(children), costs[level], values[0], cells)
        values.insert(0, cells)
    return values


def _fill(asked: Labelled, level: int, parents: Ints, children: int, cost: NodeCost, above: Ints, cells: Ints) -> None:
    """The cells below parents with as many children, given the parents' labels."""
    sizes, labels = asked.tree.sizes[level], asked.labels
    first = np.searchsorted(asked.tree.parents[level], parents)
    child = first[:, None] + np.arange(children)
    at = child[:, None, :] + len(sizes) * np.arange(labels)[:, None]  # parents × labels × children
    total = above.reshape(labels, -1)[:, parents].T
    own = Picked(cost, at.ravel())
    if at.size <= MOST_CELLS:
        cell_sizes = np.broadcast_to(sizes[child][:, None, :], at.shape).ravel()
        known = asked.sums == KNOWN
        margins = Held(total.ravel(), FIXED), Held(sizes[child].ravel(), FIXED) if known else Free()
        of_parents = sizes[child].sum(axis=1)
        tables = Tables(
            labels, children, cell_sizes, np.repeat(of_parents, labels), sizes[child].ravel(), of_parents, known
        )
        with suppress(NotConverged):
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
        taken = best_sums(tree, [Picked(cost, place[:, label].ravel()), Free()], totals[:, label])[0]
        cells[:, label] = taken.reshape(parents, children)
        room -= cells[:, label]
    return cells
