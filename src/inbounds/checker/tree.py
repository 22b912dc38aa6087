"""Build the tree of a hierarchy from the keys of its groups, which are the leaves."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from inbounds.checker.fields import insist
from inbounds.checker.plan import GRAND, StatedPlan

Key = tuple[str, ...]


@dataclass(frozen=True)
class GroupTree:
    """Nodes by level, from the groups up: groups in declared order; above them the nodes of one parent are adjacent.

    keys[l]: for every node of level l its values of the levels, from the top down. parents[l]: for every node of level
    l its parent in level l + 1. people[l]: the size of every node.
    """

    keys: tuple[tuple[Key, ...], ...]
    parents: tuple[tuple[int, ...], ...]
    people: tuple[tuple[int, ...], ...]

    def sums(self, values: Sequence[int]) -> list[list[int]]:
        """Return the values of every level, from those of the groups."""
        levels = [list(values)]
        for parents, nodes in zip(self.parents, self.keys[1:], strict=True):
            levels.append(sum_children(levels[-1], parents, len(nodes)))
        return levels


def sum_children(values: Iterable[int], parents: Iterable[int], nodes: int) -> list[int]:
    """Sum the values of the children of each node."""
    sums = [0] * nodes
    for value, parent in zip(values, parents, strict=True):
        sums[parent] += value
    return sums


def build_group_tree(plan: StatedPlan) -> GroupTree:
    """Build the tree of a plan with a hierarchy; refuse it unless it has as many nodes as the plan states."""
    assert plan.hierarchy is not None
    levels = plan.hierarchy.levels
    places = [plan.by.index(level) if level in plan.by else None for level in levels]
    leaves = tuple(tuple(GRAND if place is None else key[place] for place in places) for key in plan.keys)
    keys: list[tuple[Key, ...]] = [leaves]
    for depth in range(len(places) - 1, 0, -1):
        keys.append(_nodes(leaves, depth))
    parents = []
    for nodes, above in pairwise(keys):
        place = {key: k for k, key in enumerate(above)}
        parents.append(tuple(place[key[:-1]] for key in nodes))
    stated = plan.hierarchy.nodes[::-1]
    insist(tuple(map(len, keys)) == stated, "the hierarchy does not have the nodes that the plan states")
    tree = GroupTree(tuple(keys), tuple(parents), ())
    return GroupTree(tree.keys, tree.parents, tuple(map(tuple, tree.sums(plan.sizes))))


def _nodes(leaves: Sequence[Key], depth: int) -> tuple[Key, ...]:
    """Return the nodes of a level: those of one parent adjacent, all in the order of their first group."""
    nodes = dict.fromkeys(key[:length] for key in leaves for length in range(1, depth + 1))
    first = {key: k for k, key in enumerate(nodes)}
    level_nodes = [key for key in nodes if len(key) == depth]
    return tuple(sorted(level_nodes, key=lambda key: [first[key[:length]] for length in range(1, depth + 1)]))
