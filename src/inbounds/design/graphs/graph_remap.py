"""The largest graphs: the metric's own geometric mechanism with the best report of each output, and a bound by tiles.

Without the edges between them, tiles of the answers are problems of their own, and leaving out constraints can only
lower the least loss: the sum of the tiles' bounds is a bound. Within a tile, an output that loses at least as much as
another under every answer of the tile is not needed.
"""

import time
from collections.abc import Callable, Iterator

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from inbounds.design.closed.metric import geometric_matrix
from inbounds.design.graphs.graph_columns import GraphComponent
from inbounds.design.graphs.network import Network
from inbounds.design.problem import Floats, Ints

TILE = 64
"""Answers of a tile."""

Solve = Callable[[GraphComponent, float], tuple[Floats, float, str]]


def solve(part: GraphComponent, deadline: float, solve_tile: Solve) -> tuple[Floats, float]:
    """For average losses: the remapped mechanism, and what the tiles prove until the deadline."""
    network = part.network
    both = np.minimum(network.distances, network.distances.T)
    P = geometric_matrix(both, network.tails, network.heads, network.lengths)
    joint = P * part.prior
    guesses = np.concatenate(
        [(part.loss @ block.T).argmin(axis=0) for block in np.array_split(joint, -(-len(P) // 512))]
    )
    remapped = np.zeros_like(P)
    np.add.at(remapped, guesses, P)
    low = 0.0
    for tile in _tiles(part):
        if time.monotonic() > deadline:
            break
        low += solve_tile(tile, deadline)[1] * (1 - 2.0**-50)
    return remapped, low


def _tiles(part: GraphComponent) -> Iterator[GraphComponent]:
    """Connected tiles, each grown from the first answer that is left, in the order in which it is reached."""
    network = part.network
    joined = csr_array((np.ones(len(network.tails)), (network.tails, network.heads)), shape=(network.size,) * 2)
    left = np.ones(network.size, dtype=np.bool_)
    while left.any():
        chosen = np.flatnonzero(left)
        near = csr_array(joined[chosen][:, chosen])
        tile = np.sort(chosen[breadth_first_order(near, 0, return_predecessors=False)[:TILE]])
        left[tile] = False
        yield _tile(part, tile)


def _tile(part: GraphComponent, tile: Ints) -> GraphComponent:
    network = part.network
    place = np.full(network.size, -1, dtype=np.int64)
    place[tile] = np.arange(len(tile))
    inside = (place[network.tails] >= 0) & (place[network.heads] >= 0)
    tails, heads = place[network.tails[inside]], place[network.heads[inside]]
    within = Network(len(tile), tails, heads, network.lengths[inside], network.real[inside])
    loss = part.loss[:, tile]
    needed = _drop_dominated(loss, tile)
    return GraphComponent(loss[needed], part.prior[tile], False, within)


def _drop_dominated(loss: Floats, tile: Ints) -> Ints:
    """The tile's own outputs, and those that none of them is at least as good as."""
    worse = np.zeros(len(loss), dtype=np.bool_)
    for k in tile.tolist():
        worse |= (loss >= loss[k]).all(axis=1)
    worse[tile] = False
    return np.flatnonzero(~worse)
