"""Designs for the largest graphs: the metric's geometric mechanism with the best remap, and a bound by tiles.

Without the edges between them, tiles of the answers are separate problems. Dropping constraints can only lower the
least loss, so the sum of the tiles' bounds is a bound. Within a tile, an output that loses at least as much as another
under every answer of the tile is not needed.
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
"""Number of answers of a tile."""

Solve = Callable[[GraphComponent, float], tuple[Floats, float, str]]


def solve(part: GraphComponent, deadline: float, solve_tile: Solve) -> tuple[Floats, float]:
    """Return the remapped mechanism, and the bound that the tiles prove until the deadline; for average losses."""
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
    for tile in _split_tiles(part):
        if time.monotonic() > deadline:
            break
        low += solve_tile(tile, deadline)[1] * (1 - 2.0**-50)
    return remapped, low


def _split_tiles(part: GraphComponent) -> Iterator[GraphComponent]:
    """Yield connected tiles, each grown breadth-first from the first remaining answer."""
    network = part.network
    joined = csr_array((np.ones(len(network.tails)), (network.tails, network.heads)), shape=(network.size,) * 2)
    remaining = np.ones(network.size, dtype=np.bool_)
    while remaining.any():
        answers = np.flatnonzero(remaining)
        near = csr_array(joined[answers][:, answers])
        tile = np.sort(answers[breadth_first_order(near, 0, return_predecessors=False)[:TILE]])
        remaining[tile] = False
        yield _build_tile(part, tile)


def _build_tile(part: GraphComponent, tile: Ints) -> GraphComponent:
    """Return the problem of one tile."""
    network = part.network
    place = np.full(network.size, -1, dtype=np.int64)
    place[tile] = np.arange(len(tile))
    inside = (place[network.tails] >= 0) & (place[network.heads] >= 0)
    tails, heads = place[network.tails[inside]], place[network.heads[inside]]
    within = Network(len(tile), tails, heads, network.lengths[inside], network.real[inside])
    loss = part.loss[:, tile]
    outputs = _drop_dominated(loss, tile)
    return GraphComponent(loss[outputs], part.prior[tile], False, within)


def _drop_dominated(loss: Floats, tile: Ints) -> Ints:
    """Return the outputs of the tile, and those that none of them dominates."""
    worse = np.zeros(len(loss), dtype=np.bool_)
    for k in tile.tolist():
        worse |= (loss >= loss[k]).all(axis=1)
    worse[tile] = False
    return np.flatnonzero(~worse)
