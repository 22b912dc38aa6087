"""Designs for large maps: metric noise as a table, the best cell for each, a bound by tiles.

On a map without ends no mechanism is better on average, or for the worst answer, than this noise; the ends are what is
left to gain. Without the edges between them, tiles of the map are separate problems. Dropping constraints can only
lower the least loss, so the sum of the tiles' bounds is a bound, and for the worst answer that of any tile is. If
losses never fall as steps grow, an output outside a tile is no better for any cell of it than the nearest cell of the
tile.
"""

import time
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
from inbounds.query.maps import MapMetric, find_map_metric
from inbounds.trusted.limits import MOST_MOVES

#: places from which on noise is used without a search
LARGE = 1000
#: cells along the side of a tile, in turn, as long as time remains
SIDES = (5, 7, 10, 14, 20, 28)
#: times as much time must remain as tiles of the last size took, for the next size to be tried
LONGER = 3.0
#: share of the time that the best cells may take
CHOOSING = 0.5


def accepts(query: RangeQuery, loss: Loss) -> bool:
    """Return whether noise with one table for all cells serves a query and a loss."""
    if query.neighbours.is_line or loss.name not in ("distance", "euclidean", "zero-one"):
        return False
    if len({head - tail for tail, head, _ in query.edges}) > MOST_MOVES:
        return False
    metric = find_map_metric(query)
    return metric is not None and metric.everywhere


def remapped_noise(
    query: RangeQuery, epsilon: Fraction, loss: Loss, prior: Floats, worst: bool, max_seconds: float
) -> tuple[PlaneNoise, float]:
    """Design the noise of the map's metric, with the best output of every cell for an average loss; with a lower bound.

    For the worst answer outputs stay as they are, if that is better: its loss is that of an inner cell, which noise at
    the ends of the map cannot lower.
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
    if worst:
        law = min(noise, law, key=lambda one: float(one.losses(query, loss).max()))
    return law, _bound(metric, rate, cost, weights, worst, start + max_seconds)


def _bound(metric: MapMetric, rate: float, cost: Floats, prior: Floats, worst: bool, deadline: float) -> float:
    """Return the best bound of tiles, of one size after another until the deadline."""
    best = 0.0  # losses are not negative
    if not _is_growing(cost):
        return best
    for side in SIDES:
        start = time.monotonic()
        if start > deadline:
            break
        tiles = [prior[:side, :side]] if worst else _split_tiles(prior, side)  # all cells are alike for the worst
        best = max(best, _solve_tiles(metric, rate, cost, tiles, worst, deadline))
        if side >= max(metric.size) or deadline - time.monotonic() < LONGER * (time.monotonic() - start):
            break
    return best


def _solve_tiles(
    metric: MapMetric, rate: float, cost: Floats, tiles: list[Floats], worst: bool, deadline: float
) -> float:
    """Sum the bounds of the tiles that are solved until the deadline; equal tiles are solved once."""
    low, solved = 0.0, dict[tuple[int, int, bytes], float]()
    for weights in tiles:
        key = (*weights.shape, weights.tobytes())
        if key not in solved:
            if time.monotonic() > deadline:
                continue
            solved[key] = solve_part(_build_tile(metric, rate, cost, weights, worst), deadline)[1]
        low += solved[key] * (1 - 2.0**-50)
    return low


def _is_growing(cost: Floats) -> bool:
    """Return whether costs never fall as a step grows in one direction with the other fixed."""
    return all(
        bool((np.diff(half, axis=0) >= 0).all())
        for table in (cost, cost.T)
        for half in (table[len(table) // 2 :], table[len(table) // 2 :: -1])
    )


def _split_tiles(prior: Floats, side: int) -> list[Floats]:
    """Return the prior of every tile, all nearly of one size, the likeliest first."""
    down, right = (np.linspace(0, size, -(-size // side) + 1).round().astype(np.int64).tolist() for size in prior.shape)
    tiles = [prior[top:bottom, left:end] for top, bottom in pairwise(down) for left, end in pairwise(right)]
    return sorted(tiles, key=lambda tile: -float(tile.sum()))


def _build_tile(metric: MapMetric, rate: float, cost: Floats, weights: Floats, worst: bool) -> GraphComponent:
    """Return the problem of one tile."""
    y, x = np.divmod(np.arange(weights.size), weights.shape[1])
    steps = y[:, None] - y + metric.rows - 1, x[:, None] - x + metric.columns - 1
    return GraphComponent(cost[steps], weights.ravel(), worst, _tile_network(metric, rate, weights.shape))


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
