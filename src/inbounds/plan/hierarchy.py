"""A hierarchy of groups in a plan: which columns nest, how much each level matters, and its share of epsilon."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from inbounds.adjust.tree import Tree
from inbounds.exact import Ints, to_fraction
from inbounds.schema.columns import to_positive_at
from inbounds.schema.errors import PlanError, error_path
from inbounds.schema.record_types import HierarchyRecord
from inbounds.sources.groups import Groups, number_rows

DESIGNED = "designed"

ALL = "all"
"""The level above all others: one node with every group. It is no column."""


@dataclass(frozen=True)
class Hierarchy:
    """Levels from the top down: the columns of the groups, with "all" above them for grand totals. Levels add up.

    weights: how much the mean error of each level matters. shares: of epsilon, one for each level; empty if they are
    designed from the plan.
    """

    levels: tuple[str, ...]
    weights: tuple[Fraction, ...]
    shares: tuple[Fraction, ...] = ()

    def __post_init__(self) -> None:
        if len(self.levels) < 2 or len(set(self.levels)) < len(self.levels):
            raise PlanError(
                f'must name at least two different columns, from the top down; "{ALL}" before them makes grand totals',
                ("levels",),
            )
        if len(self.weights) != len(self.levels) or min(self.weights) < 0 or max(self.weights) == 0:
            raise PlanError("must be 0 or more for each level, and not all 0", ("weights",))
        if self.shares and (len(self.shares) != len(self.levels) or sum(self.shares) != 1):
            raise PlanError(f"must be one for each level, and sum to 1, got {_sum(self.shares)}", ("shares",))

    def summary(self, nodes: Sequence[int]) -> HierarchyRecord:
        """Return plain values for the record. nodes: the number of nodes of each level."""
        record: HierarchyRecord = {
            "levels": list(self.levels),
            "weights": [str(weight) for weight in self.weights],
            "nodes": list(nodes),
        }
        if self.shares:
            record["shares"] = [str(share) for share in self.shares]
        return record


def _sum(shares: Sequence[Fraction]) -> str:
    return str(sum(shares, Fraction(0)))


def parse_hierarchy(values: Mapping[str, Any]) -> Hierarchy:
    """Parse a hierarchy as a plan writes it: levels, weights and shares by level."""
    levels = values.get("levels")
    if not isinstance(levels, list) or not all(isinstance(level, str) for level in levels):
        raise PlanError("must be a list of columns, from the top down", ("levels",))
    shares = values.get("shares", DESIGNED)
    with error_path("weights"):
        weights = _by_level(values.get("weights", {}), levels, Fraction(1))
    if shares == DESIGNED:
        return Hierarchy(tuple(levels), weights)
    with error_path("shares"):
        parts = _by_level(shares, levels)
    return Hierarchy(tuple(levels), weights, tuple(to_positive_at(share, "shares") for share in parts))


def _by_level(values: Any, levels: Sequence[str], default: Fraction | None = None) -> tuple[Fraction, ...]:
    """Parse numbers given as a table by level, or as a list in the order of the levels."""
    if isinstance(values, list):
        values = dict(zip(levels, values, strict=False)) if len(values) == len(levels) else None
    if not isinstance(values, Mapping):
        raise PlanError(f"must give a number for each of: {', '.join(levels)}")
    for name in values:
        if name not in levels:
            raise PlanError(f"must name levels only, got {name!r}; the levels are {', '.join(levels)}")
    if default is None and set(values) != set(levels):
        raise PlanError(f"must give a number for each of: {', '.join(levels)}")
    return tuple(to_fraction(values[name], name) if name in values else Fraction(default or 0) for name in levels)


@dataclass(frozen=True, eq=False)
class NestedGroups:
    """Groups as the leaves of a tree.

    order: the groups in the tree's order, siblings together. tree: sizes are numbers of people. keys: of the nodes of
    each level, leaves first, as values of the levels from the top down.
    """

    order: Ints = field(repr=False)
    tree: Tree = field(repr=False)
    keys: tuple[tuple[tuple[str, ...], ...], ...] = field(repr=False)

    @property
    def nodes_of_groups(self) -> list[Ints]:
        """Return for every level above the groups, from below up, the node of each group as it was declared."""
        nodes = [np.argsort(self.order)]
        for parents in self.tree.parents:
            nodes.append(parents[nodes[-1]])
        return nodes[1:]


def build_group_tree(groups: Groups, levels: Sequence[str]) -> NestedGroups:
    """Build the tree of the groups: a node is a set of groups that agree in its level and all levels above."""
    if set(levels[1:] if _has_total(groups, levels) else levels) != set(groups.by):
        raise PlanError(
            f'must be the columns that name a group, {", ".join(groups.by)}; "{ALL}" before them makes grand totals',
            ("hierarchy", "levels"),
        )
    keys = level_keys(groups, levels)
    nodes_of_level = number_rows(_level_columns(groups, levels))
    order = np.lexsort(nodes_of_level[::-1])
    runs = [np.diff(nodes[order], prepend=-1) != 0 for nodes in nodes_of_level[:-1]]  # where a node above begins
    nodes: list[tuple[tuple[str, ...], ...]] = [tuple(keys[g] for g in order.tolist())]
    parents, first = [], np.arange(len(order))
    for depth in range(len(levels) - 1, 0, -1):
        parents.append(np.cumsum(runs[depth - 1])[first] - 1)
        first = np.flatnonzero(runs[depth - 1])
        nodes.append(tuple(nodes[0][k][:depth] for k in first.tolist()))
    _check_nesting(groups, levels, [len(level) for level in nodes[::-1]])
    return NestedGroups(order, Tree.from_leaves(groups.sizes[order], *parents), tuple(nodes))


def _has_total(groups: Groups, levels: Sequence[str]) -> bool:
    """Return whether the first level is that of all groups together, and not a column of that name."""
    return levels[0] == ALL and ALL not in groups.by


def level_keys(groups: Groups, levels: Sequence[str]) -> list[tuple[str, ...]]:
    """Return for every group its values of the levels, from the top down; of the level of all, its name."""
    return list(zip(*_level_columns(groups, levels), strict=True))


def _level_columns(groups: Groups, levels: Sequence[str]) -> list[Sequence[str]]:
    """Return for every level its value for each group."""
    return [groups.columns[groups.by.index(level)] if level in groups.by else [ALL] * len(groups) for level in levels]


def _check_nesting(groups: Groups, levels: Sequence[str], counts: Sequence[int]) -> None:
    """Raise PlanError if every node of a level has one child, as when the levels are in the wrong order.

    counts: nodes of each level, from the top down. One node with one child is not refused: nothing says which is wrong.
    """
    for above, below, parents, children in zip(levels, levels[1:], counts, counts[1:], strict=False):
        if parents == children > 1:
            raise PlanError(
                f"must be from the top down, but every {above} has only one {below}, so that both would be the same "
                f"numbers drawn twice; {_suggest_order(groups, levels, below)}",
                ("hierarchy", "levels"),
            )


def _suggest_order(groups: Groups, levels: Sequence[str], below: str) -> str:
    """Suggest the order from the column with the fewest keys, if every level of it has nodes with several children."""
    top, rest = list(levels[: _has_total(groups, levels)]), [level for level in levels if level in groups.by]
    order = sorted(rest, key=lambda level: len({key[groups.by.index(level)] for key in groups.keys}))
    places = [groups.by.index(level) for level in order]
    counts = [len({tuple(key[k] for k in places[:depth]) for key in groups.keys}) for depth in range(1, len(order) + 1)]
    if all(parents < children for parents, children in pairwise(counts)):
        names = ", ".join(f'"{level}"' for level in [*top, *order])
        return f"write levels = [{names}]"
    return f"leave {below} out of the levels and of groups.by"
