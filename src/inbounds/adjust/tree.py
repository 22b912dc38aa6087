"""Trees of nodes whose values add up: the children of every node sum to it."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from inbounds.exact import Ints


@dataclass(frozen=True, eq=False)
class Tree:
    """Levels from the leaves up, each with its nodes in order.

    sizes[l][v]: the largest value of node v of level l. A parent's size is at most the sum of its children's sizes.
    parents[l][v]: the node of level l + 1 that v belongs to. Siblings are consecutive.
    """

    sizes: tuple[Ints, ...]
    parents: tuple[Ints, ...]

    def __post_init__(self) -> None:
        if len(self.parents) != len(self.sizes) - 1:
            raise ValueError(f"parents must be one list fewer than the {len(self.sizes)} levels")
        for (below, above), parent in zip(pairwise(self.sizes), self.parents, strict=True):
            if len(parent) != len(below) or (np.diff(parent) < 0).any() or set(parent) != set(range(len(above))):
                raise ValueError("parents must give every node its parent, siblings together, no parent without any")
            if (np.bincount(parent, below) < above).any():
                raise ValueError("sizes must not be below those of the parents in sum")

    @classmethod
    def from_leaves(cls, leaves: Ints, *parents: Ints) -> "Tree":
        """Build the tree over leaves of these sizes; `parents` as in the class."""
        sizes = [np.asarray(leaves, dtype=np.int64)]
        for parent in parents:
            sizes.append(sum_children(sizes[-1], parent))
        return cls(tuple(sizes), tuple(np.asarray(parent, dtype=np.int64) for parent in parents))

    @property
    def depth(self) -> int:
        """Number of levels, including the leaves."""
        return len(self.sizes)

    @cached_property
    def children(self) -> tuple[Ints, ...]:
        """Number of children of every node, for each level above the leaves."""
        return tuple(np.bincount(parent) for parent in self.parents)

    def sums(self, leaves: Ints) -> list[Ints]:
        """Compute the values of every level from those of the leaves."""
        levels = [np.asarray(leaves, dtype=np.int64)]
        for parent in self.parents:
            levels.append(sum_children(levels[-1], parent))
        return levels


def sum_children(values: Ints, parent: Ints) -> Ints:
    """Sum whole values over siblings; exact below 2^53."""
    return np.bincount(parent, values).astype(np.int64)
