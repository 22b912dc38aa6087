"""Mechanisms for answers on a graph: the geometric mechanism of its metric, and planar Laplace on a map."""

import math

import numpy as np

from inbounds.design.closed.metric import geometric_matrix
from inbounds.exact import Floats, Ints, Number, to_epsilon
from inbounds.mechanism import Mechanism, Origin, certify_formula
from inbounds.mechanism.laws.plane import LARGEST_DECAY, WIDEST, make_plane_noise, require_map_metric
from inbounds.mechanism.limits import is_too_large
from inbounds.query import RangeQuery, check_query
from inbounds.query.places import find_map_axes


def metric_geometric(query: RangeQuery, epsilon: Number) -> Mechanism:
    """Return Pr[i | j] = w_i · exp(-epsilon·d(i, j)), d the shortest path, with w such that columns sum to one.

    Every edge is tight in both directions. If some w would be negative, the mechanism is exp(-c·epsilon·d) with each
    column divided by its sum, at the largest c for which that is private: 1/2 <= c <= 1, since the sums of
    two answers L apart differ by a factor of at most exp(c·epsilon·L). One-way edges count both ways.

    On a map too large for a matrix it is cell + noise, with Pr[noise] proportional to exp(-epsilon·d) over all cells of
    the plane; outputs beyond the map's edge move to its nearest cell (for the Manhattan metric, the same mechanism).
    """
    check_query(query)
    bound = to_epsilon(epsilon)
    _check_graph(query, "metric_geometric")
    if not query.one_output_per_answer:
        raise ValueError("metric_geometric needs one output per answer")
    reference = "Chatzikokolakis, Andrés, Bordenabe, Palamidessi, Broadening the scope of differential privacy, 2013"
    origin = Origin("metric_geometric", {}, reference)
    if is_too_large(query):
        cells = require_map_metric(query)
        return Mechanism(
            query, bound, make_plane_noise(query, bound, lambda a, b: float(bound) * cells.norm(a, b)), origin
        )
    scaled_distances = float(bound) * query.distances(directed=False)
    return certify_formula(geometric_matrix(scaled_distances, *_edges(query, float(bound))), query, bound, origin)


def planar_laplace(query: RangeQuery, epsilon: Number) -> Mechanism:
    """Add two-dimensional Laplace noise on the cells of a map; outputs beyond its edge move to its nearest cell.

    Pr[noise = (a, b)] is proportional to exp(-c·sqrt(a² + b²)) over all cells of the plane: the same for every true
    cell, so the ratio between two is at most exp(c · straight-line distance). c is the largest rate that every edge of
    the map allows: epsilon for ib.grid, epsilon over the stretch where there is one.
    """
    check_query(query)
    bound = to_epsilon(epsilon)
    _check_graph(query, "planar_laplace")
    reference = "Andrés, Bordenabe, Chatzikokolakis, Palamidessi, Geo-indistinguishability, 2013"
    origin = Origin("planar_laplace", {}, reference)
    rows, columns, step = _map(query)
    tails, heads, lengths = _edges(query, float(bound))
    points = query.coordinates
    assert points is not None
    rate = step * float((lengths / np.sqrt(((points[tails] - points[heads]) ** 2).sum(axis=1))).min())
    if is_too_large(query):
        return Mechanism(query, bound, make_plane_noise(query, bound, lambda a, b: rate * np.hypot(a, b)), origin)
    reach = math.ceil(LARGEST_DECAY / rate) + max(rows, columns)
    if (2 * reach + 1) ** 2 > WIDEST:
        raise ValueError("epsilon is too small for a map of cells this small; use larger cells or metric_geometric")
    a = np.arange(-reach, reach + 1.0)
    noise = np.exp(-rate * np.hypot(a[:, None], a))
    matrix = _clamp_noise(_clamp_noise(noise / noise.sum(), rows).transpose(2, 0, 1), columns)
    matrix = matrix.transpose(2, 0, 3, 1).reshape(query.shape)
    return certify_formula(matrix / matrix.sum(axis=0), query, bound, origin)


def _clamp_noise(noise: Floats, size: int) -> Floats:
    """Return clamped[i, j, …]: the noise along the first axis that takes j to i, clamped to 0..size-1.

    Tails are summed from the outside in.
    """
    reach = len(noise) // 2
    below, above = np.cumsum(noise, axis=0), np.cumsum(noise[::-1], axis=0)[::-1]
    i, j = np.indices((size, size))
    clamped = noise[reach + i - j]
    clamped[0] = below[reach - np.arange(size)]
    if size > 1:
        clamped[-1] = above[reach + size - 1 - np.arange(size)]
    else:
        clamped[0] = noise.sum(axis=0)
    return np.asarray(clamped)


def _check_graph(query: RangeQuery, name: str) -> None:
    if query.neighbours.is_line:
        raise ValueError(f"{name} needs answers on a graph, such as ib.grid(10, 10)")


def _edges(query: RangeQuery, epsilon: float) -> tuple[Ints, Ints, Floats]:
    """Return tails, heads, and epsilon · lengths."""
    tails, heads, lengths = zip(*query.edges, strict=True)
    return np.array(tails), np.array(heads), epsilon * np.array([*map(float, lengths)])


def _map(query: RangeQuery) -> tuple[int, int, float]:
    """Return rows, columns and step of a full map of square cells in reading order; refuse anything else."""
    axes = find_map_axes(query.coordinates)
    steps = np.zeros(0) if axes is None else np.concatenate([np.diff(axis) for axis in axes])
    if axes is None or not len(steps) or not np.allclose(steps, steps[0], rtol=1e-9):
        raise ValueError("planar_laplace needs a map of square cells, such as ib.grid(10, 10)")
    return len(axes[0]), len(axes[1]), float(steps[0])
