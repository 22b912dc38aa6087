"""Losses on a map that depend only on the step from the true cell to the output, and the best output.

For maps that are too large for a matrix; `plane` and `bayes` use them.
"""

import time
from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np

from inbounds.errors import TooLarge
from inbounds.exact import Floats, Ints
from inbounds.losses import Loss
from inbounds.query import RangeQuery
from inbounds.query.maps import find_map_metric
from inbounds.query.places import find_map_axes

AT_A_TIME = 64
"""Outputs whose costs are transformed in one call."""


def step_losses(query: RangeQuery, loss: Loss) -> Floats:
    """Return cost[a + rows - 1, b + columns - 1], the loss of an output that is (a, b) cells away from the truth.

    Raises `TooLarge` for another loss than distance, euclidean and zero-one, `ValueError` for uneven cells.
    """
    metric, axes = find_map_metric(query), find_map_axes(query.coordinates)
    if metric is None or axes is None or loss.name not in ("distance", "euclidean", "zero-one"):
        raise TooLarge("a loss on a map of this size must be 'distance', 'euclidean' or 'zero-one'")
    a, b = np.arange(1 - metric.rows, metric.rows)[:, None], np.arange(1 - metric.columns, metric.columns)[None, :]
    if loss.name == "zero-one":
        return np.where((a != 0) | (b != 0), 1.0, 0.0)
    if loss.name == "distance":
        if not metric.everywhere:
            raise ValueError("loss 'distance' on a map of this size needs the same edges everywhere; use ib.grid")
        return metric.norm(*np.broadcast_arrays(a, b))
    return np.asarray(np.hypot(a * _even_spacing(axes[0]), b * _even_spacing(axes[1])))


def _even_spacing(axis: Floats) -> float:
    """Return the spacing of evenly spaced lines of cells; raise `ValueError` if the spacing differs."""
    steps = np.diff(axis)
    if len(steps) and not np.allclose(steps, steps[0], rtol=1e-9):
        raise ValueError("cells of a map of this size must be evenly spaced; use ib.grid")
    return float(steps[0]) if len(steps) else 0.0


def find_best_cells(joints: Iterable[Floats], cost: Floats, deadline: float = np.inf) -> Iterator[tuple[Ints, Floats]]:
    """Yield for blocks of outputs the cells with the least expected loss, and these losses.

    joints: for each output its joint distribution with the true cells. costs[g] = sum_j joint[j] · cost[g - j], by
    Fourier transforms: correct to about 10^-14 of the largest cost. O(cells · log cells) for each output. deadline:
    in seconds of `time.monotonic`; nothing is yielded after it.
    """
    from scipy.fft import irfft2, next_fast_len, rfft2

    size = tuple(length // 2 + 1 for length in cost.shape)
    lengths = next_fast_len(cost.shape[0], real=True), next_fast_len(cost.shape[1], real=True)
    wrapped = np.zeros(lengths)
    wrapped[np.ix_(*(np.arange(1 - side, side) for side in size))] = cost  # negative steps wrap to the end
    spectrum = rfft2(wrapped)
    remaining = iter(joints)
    while (batch := [*islice(remaining, AT_A_TIME)]) and time.monotonic() < deadline:
        block = np.array(batch, dtype=np.float64)
        costs = irfft2(rfft2(block, lengths) * spectrum, lengths)[:, : size[0], : size[1]].reshape(len(block), -1)
        yield costs.argmin(axis=1), costs.min(axis=1)


def best_map_cells(query: RangeQuery, loss: Loss, joints: Iterable[Floats]) -> tuple[Ints, Floats]:
    """Return the best cell for every output and its joint loss. joints: as for `find_best_cells`."""
    cost = step_losses(query, loss)
    size = [length // 2 + 1 for length in cost.shape]
    blocks = [*find_best_cells((joint.reshape(size) for joint in joints), cost)]
    return np.concatenate([cells for cells, _ in blocks]), np.concatenate([costs for _, costs in blocks])
