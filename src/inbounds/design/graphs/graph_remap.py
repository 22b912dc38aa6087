"""The metric's geometric mechanism with the best remap, and a bound by tiles: quick at any size, the start of a search.

Without the edges between them, tiles of the answers are separate problems. Dropping constraints can only lower the
least loss, so the sum of the tiles' bounds is a bound; for the worst answer each of them is. Within a tile, an output
that loses at least as much as another under every answer of the tile is not needed.
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

TILES = (16, 64, 144)
"""Numbers of answers of a tile, in turn, as long as time remains."""

LONGER = 4.0
"""Times as much time must remain as tiles of the last size took, for the next size to be tried."""

AT_ONCE = 1 << 30
"""Multiplications between two looks at the clock: all best outputs of up to 1,024 answers are found."""

Solve = Callable[[GraphComponent, float], tuple[Floats, float, str]]


def solve(part: GraphComponent, deadline: float, solve_tile: Solve) -> tuple[Floats, float]:
    """Return the best of the mechanism, with and without a remap, and a constant; and the bound that the tiles prove
    until the deadline.
    """
    best, network = part.constant, part.network
    distances = network.find_distances(deadline)
    if distances is not None:
        both = np.minimum(distances, distances.T)
        P = geometric_matrix(both, network.tails, network.heads, network.lengths)
        best = min(best, P, _remap(part, P, deadline), key=part.value)
    low = 0.0
    for size in TILES:
        start = time.monotonic()
        if start > deadline or size >= network.size:
            break
        low = max(low, _bound(part, size, deadline, solve_tile))
        if deadline - time.monotonic() < LONGER * (time.monotonic() - start):
            break
    return best, low


def _remap(part: GraphComponent, P: Floats, deadline: float) -> Floats:
    """Take the best output under the prior, or equal weights, for each output of P, until the deadline."""
    guesses = np.arange(len(P))
    step = max(1, AT_ONCE // part.loss.size)
    for start in range(0, len(P), step):
        if start and time.monotonic() > deadline:
            break
        block = slice(start, start + step)
        guesses[block] = ((part.weights * part.loss) @ P[block].T).argmin(axis=0)
    remapped = np.zeros(part.loss.shape)
    np.add.at(remapped, guesses, P)
    return remapped


def _bound(part: GraphComponent, size: int, deadline: float, solve_tile: Solve) -> float:
    """Return the bound of tiles with so many answers: the sum, or for the worst answer the largest."""
    bounds = [0.0]
    for tile in _split_tiles(part, size):
        if time.monotonic() > deadline:
            break
        bounds.append(solve_tile(tile, deadline)[1])
    return max(bounds) if part.worst else sum(bounds) * (1 - 2.0**-50 * len(bounds))


def _split_tiles(part: GraphComponent, size: int) -> Iterator[GraphComponent]:
    """Yield connected tiles, each grown breadth-first from the first remaining answer."""
    network = part.network
    joined = csr_array((np.ones(len(network.tails)), (network.tails, network.heads)), shape=(network.size,) * 2)
    remaining = np.ones(network.size, dtype=np.bool_)
    while remaining.any():
        answers = np.flatnonzero(remaining)
        near = csr_array(joined[answers][:, answers])
        tile = np.sort(answers[breadth_first_order(near, 0, return_predecessors=False)[:size]])
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
    return GraphComponent(loss[outputs], part.prior[tile], part.worst, within)


def _drop_dominated(loss: Floats, tile: Ints) -> Ints:
    """Return the outputs of the tile, and those that none of them dominates."""
    worse = np.zeros(len(loss), dtype=np.bool_)
    for k in tile.tolist():
        worse |= (loss >= loss[k]).all(axis=1)
    worse[tile] = False
    return np.flatnonzero(~worse)
