"""Designs for maps that are too large for a matrix: metric noise as a table, the best cell to report, a bound by tiles.

Without the edges between them, tiles of the map are separate problems. Dropping constraints can only lower the least
loss, so the sum of the tiles' bounds is a bound. If losses never fall as steps grow, a report outside a tile is no
better for any cell of it than the nearest cell of the tile.
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
from inbounds.mechanism.laws.plane import PlaneNoise, make_plane_noise, require_map_metric
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
    """Design the noise of the map's metric with the best report of every cell, for an average loss; with a lower
    bound.
    """
    start, metric = time.monotonic(), require_map_metric(query)
    cost, rate, weights = step_losses(query, loss), float(epsilon), prior.reshape(metric.size)
    noise = make_plane_noise(query, epsilon, lambda a, b: rate * metric.norm(a, b))
    cells, joints = np.arange(prior.size), (noise.row(i) * weights for i in range(prior.size))
    count = 0
    for best, _ in find_best_cells(joints, cost, start + CHOOSING * max_seconds):
        cells[count : count + len(best)] = best
        count += len(best)
    law = PlaneNoise(noise.table, noise.anywhere, cells)
    return law, _bound(metric, rate, cost, weights, start + max_seconds)


def _bound(metric: MapMetric, rate: float, cost: Floats, prior: Floats, deadline: float) -> float:
    """Sum the bounds of the tiles that are solved until the deadline; equal tiles are solved once."""
    if not _is_growing(cost):
        return 0.0  # losses are not negative
    low, solved = 0.0, dict[tuple[int, int, bytes], float]()
    for weights in _split_tiles(metric, prior):
        key = (*weights.shape, weights.tobytes())
        if key not in solved:
            if time.monotonic() > deadline:
                continue
            solved[key] = solve_part(_build_tile(metric, rate, cost, weights), deadline)[1]
        low += solved[key] * (1 - 2.0**-50)
    return low


def _is_growing(cost: Floats) -> bool:
    """Return whether costs never fall as a step grows in one direction with the other fixed."""
    return all(
        bool((np.diff(half, axis=0) >= 0).all())
        for table in (cost, cost.T)
        for half in (table[len(table) // 2 :], table[len(table) // 2 :: -1])
    )


def _split_tiles(metric: MapMetric, prior: Floats) -> Iterator[Floats]:
    """Yield the prior of every tile, all nearly of one size."""
    even = bool((prior == prior[0, 0]).all())
    side = ALIKE if even else FEW_EDGES if len(metric.moves) < MANY else MANY_EDGES
    down, right = (np.linspace(0, size, -(-size // side) + 1).round().astype(np.int64).tolist() for size in metric.size)
    for top, bottom in pairwise(down):
        for left, end in pairwise(right):
            yield prior[top:bottom, left:end]


def _build_tile(metric: MapMetric, rate: float, cost: Floats, weights: Floats) -> GraphComponent:
    """Return the problem of one tile."""
    y, x = np.divmod(np.arange(weights.size), weights.shape[1])
    steps = y[:, None] - y + metric.rows - 1, x[:, None] - x + metric.columns - 1
    return GraphComponent(cost[steps], weights.ravel(), False, _tile_network(metric, rate, weights.shape))


def _tile_network(metric: MapMetric, rate: float, size: tuple[int, ...]) -> Network:
    """Return the network of the edges between cells of a tile."""
    y, x = np.divmod(np.arange(size[0] * size[1]), size[1])
    tails: list[Ints] = []
    heads: list[Ints] = []
    for down, right in metric.moves:
        inside = (y + down >= 0) & (y + down < size[0]) & (x + right >= 0) & (x + right < size[1])
        tails.append(np.flatnonzero(inside))
        heads.append(tails[-1] + down * size[1] + right)
    lengths = [
        np.full(len(tail), rate * float(length)) for tail, length in zip(tails, metric.moves.values(), strict=True)
    ]
    return undirected_network(len(y), np.concatenate(tails), np.concatenate(heads), np.concatenate(lengths))
