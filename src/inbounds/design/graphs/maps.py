"""Maps too large for a matrix: the metric's own noise as a table, the best cell to report, and a bound by tiles.

Without the edges between them, tiles of the map are problems of their own, and leaving out constraints can only lower
the least loss: the sum of the tiles' bounds is a bound. A report outside a tile is no better for any cell of it than
the nearest cell of the tile, where losses never fall as steps grow.
"""

import time
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

import numpy as np

from inbounds.design.graphs.graph_columns import GraphComponent
from inbounds.design.graphs.graph_route import solve_part
from inbounds.design.graphs.network import Network, undirected_network
from inbounds.design.problem import Floats, Ints
from inbounds.losses import Loss
from inbounds.mechanism.cells import find_best_cells, step_losses
from inbounds.mechanism.plane import PlaneNoise, make_plane_noise, require_map_metric
from inbounds.query import RangeQuery
from inbounds.query.maps import MapMetric

#: cells along the side of a tile: where all tiles are alike, with few edges, with many
ALIKE, FEW_EDGES, MANY_EDGES = 20, 10, 7
#: moves from a cell from which there are many
MANY = 8
#: share of the time that the best cells may take
CHOOSING = 0.5


def remapped_noise(
    query: RangeQuery, epsilon: Fraction, loss: Loss, prior: Floats, max_seconds: float
) -> tuple[PlaneNoise, float]:
    """The noise of the map's metric with the best report of every cell, for an average loss; and a lower bound."""
    start, found = time.monotonic(), require_map_metric(query)
    cost, rate, weights = step_losses(query, loss), float(epsilon), prior.reshape(found.size)
    noise = make_plane_noise(query, epsilon, lambda a, b: rate * found.norm(a, b))
    cells, joints = np.arange(prior.size), (noise.row(i) * weights for i in range(prior.size))
    done = 0
    for best, _ in find_best_cells(joints, cost, start + CHOOSING * max_seconds):
        cells[done : done + len(best)] = best
        done += len(best)
    law = PlaneNoise(noise.table, noise.anywhere, cells)
    return law, _bound(found, rate, cost, weights, start + max_seconds)


def _bound(found: MapMetric, rate: float, cost: Floats, prior: Floats, deadline: float) -> float:
    """The sum over tiles of what they prove until the deadline; tiles that are alike are solved once."""
    if not _grows(cost):
        return 0.0  # losses are not negative
    low, known = 0.0, dict[tuple[int, int, bytes], float]()
    for weights in _tiles(found, prior):
        key = (*weights.shape, weights.tobytes())
        if key not in known:
            if time.monotonic() > deadline:
                continue
            known[key] = solve_part(_tile(found, rate, cost, weights), deadline)[1]
        low += known[key] * (1 - 2.0**-50)
    return low


def _grows(cost: Floats) -> bool:
    """Whether no longer step in one direction, the other way unchanged, costs less."""
    return all(
        bool((np.diff(half, axis=0) >= 0).all())
        for table in (cost, cost.T)
        for half in (table[len(table) // 2 :], table[len(table) // 2 :: -1])
    )


def _tiles(found: MapMetric, prior: Floats) -> Iterator[Floats]:
    """The prior of every tile, all nearly of one size."""
    even = bool((prior == prior[0, 0]).all())
    side = ALIKE if even else FEW_EDGES if len(found.moves) < MANY else MANY_EDGES
    down, right = (np.linspace(0, size, -(-size // side) + 1).round().astype(np.int64).tolist() for size in found.size)
    for top, bottom in pairwise(down):
        for left, end in pairwise(right):
            yield prior[top:bottom, left:end]


def _tile(found: MapMetric, rate: float, cost: Floats, weights: Floats) -> GraphComponent:
    y, x = np.divmod(np.arange(weights.size), weights.shape[1])
    steps = y[:, None] - y + found.rows - 1, x[:, None] - x + found.columns - 1
    return GraphComponent(cost[steps], weights.ravel(), False, _network(found, rate, weights.shape))


def _network(found: MapMetric, rate: float, size: tuple[int, ...]) -> Network:
    """The edges between cells of a tile."""
    y, x = np.divmod(np.arange(size[0] * size[1]), size[1])
    tails: list[Ints] = []
    heads: list[Ints] = []
    for down, right in found.moves:
        inside = (y + down >= 0) & (y + down < size[0]) & (x + right >= 0) & (x + right < size[1])
        tails.append(np.flatnonzero(inside))
        heads.append(tails[-1] + down * size[1] + right)
    lengths = [
        np.full(len(some), rate * float(length)) for some, length in zip(tails, found.moves.values(), strict=True)
    ]
    return undirected_network(len(y), np.concatenate(tails), np.concatenate(heads), np.concatenate(lengths))
