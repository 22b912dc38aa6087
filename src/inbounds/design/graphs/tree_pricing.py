"""Pricing on a tree: the private row that improves a mix most, from the leaves to the root, for all outputs at once.

An extreme row of a tree's cone has every edge tight, one way or the other. Seen from the root, a subtree whose least
value is negative is raised as far as its edge allows, any other lowered:

    least_p = r_p + sum over children c of  exp(d_cp) least_c  if least_c < 0,  else  exp(-d_pc) least_c.
"""

import time
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from inbounds.design.graphs.closure_pricing import closure_gains
from inbounds.design.graphs.network import Flags, Network
from inbounds.design.problem import Floats, Ints

STEPS = 100
"""Largest number of Dinkelbach steps. They converge superlinearly, so a few suffice."""


@dataclass(frozen=True, eq=False)
class TreeLevel:
    """Nodes at one depth and their parents; edges from child to parent and from parent to child."""

    children: Ints
    parents: Ints
    up: Ints
    down: Ints


def tree_levels(network: Network) -> list[TreeLevel]:
    """List the levels from the deepest nodes to the children of the root."""
    n = network.size
    joined = csr_array((np.ones(len(network.tails)), (network.tails, network.heads)), shape=(n, n))
    order, parent = breadth_first_order(joined, 0)
    depth = np.zeros(n, dtype=np.int64)
    for node in order[1:].tolist():
        depth[node] = depth[parent[node]] + 1
    edge = {(t, h): e for e, (t, h) in enumerate(zip(network.tails.tolist(), network.heads.tolist(), strict=True))}
    levels = []
    for level in range(int(depth.max()), 0, -1):
        children = np.flatnonzero(depth == level)
        parents = parent[children].astype(np.int64)
        pairs = [*zip(children.tolist(), parents.tolist(), strict=True)]
        up, down = np.array([edge[c, p] for c, p in pairs]), np.array([edge[p, c] for c, p in pairs])
        levels.append(TreeLevel(children, parents, up, down))
    return levels


def _least(network: Network, r: Floats, all_levels: list[TreeLevel]) -> Floats:
    """Compute least[i, j], the least value of r_i · x over rows of j's subtree with x_j = 1."""
    least = r.T.copy()
    for level in all_levels:
        child = least[level.children]
        factor = np.where(child < 0, network.ratios[level.up, None], 1 / network.ratios[level.down, None])
        np.add.at(least, level.parents, factor * child)
    return np.asarray(least.T)


def price_tree_rows(
    network: Network, r: Floats, w: Floats, potentials: Floats, most: int, deadline: float = np.inf
) -> tuple[Floats, Floats, bool]:
    """Find the rows with the largest -r · x / w · x; arguments and results as in `closure_pricing.price_closures`."""
    h = potentials - potentials.max(axis=1, keepdims=True)
    gain = closure_gains(r, w, np.exp(h))
    all_levels = tree_levels(network)
    for _ in range(STEPS):
        if time.monotonic() > deadline:
            break
        new_rows = _best_rows(network, _least(network, r + gain[:, None] * w, all_levels) < 0, all_levels)
        new_gain = closure_gains(r, w, np.exp(new_rows))
        better = new_gain > gain
        if not better.any():
            return h, gain, True
        h[better], gain[better] = new_rows[better], new_gain[better]
    return h, gain, False


def _best_rows(network: Network, negative: Flags, all_levels: list[TreeLevel]) -> Floats:
    """Return log x of the extreme rows that raise the subtrees marked negative and lower the others."""
    h = np.zeros(negative.shape)
    for level in reversed(all_levels):
        up, down = network.lengths[level.up], network.lengths[level.down]
        h[:, level.children] = h[:, level.parents] + np.where(negative[:, level.children], up, -down)
    return np.asarray(h - h.max(axis=1, keepdims=True))


def multipliers(network: Network, r: Floats, potentials: Floats) -> Floats:
    """Compute multipliers as in `closure_pricing.multipliers`: each subtree passes its least value on to its parent."""
    all_levels = tree_levels(network)
    least, f = _least(network, r, all_levels), np.zeros((len(r), len(network.tails)))
    for level in all_levels:
        child = least[:, level.children]
        f[:, level.up] = np.maximum(-child, 0.0)
        f[:, level.down] = np.maximum(child, 0.0) / network.ratios[level.down]
    return np.where(np.isfinite(f), f, 0.0)
