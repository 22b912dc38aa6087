"""Losses on a map that only the step from the true cell to the reported one decides, and the best cell to report."""

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
"""Outputs whose costs are transformed together."""


def step_losses(query: RangeQuery, loss: Loss) -> Floats:
    """cost[a + rows - 1, b + columns - 1] of a report that is (a, b) cells away from the truth."""
    found, axes = find_map_metric(query), find_map_axes(query.coordinates)
    if found is None or axes is None or loss.name not in ("distance", "euclidean", "zero-one"):
        raise TooLarge("a loss on a map of this size must be 'distance', 'euclidean' or 'zero-one'")
    a, b = np.arange(1 - found.rows, found.rows)[:, None], np.arange(1 - found.columns, found.columns)[None, :]
    if loss.name == "zero-one":
        return np.where((a != 0) | (b != 0), 1.0, 0.0)
    if loss.name == "distance":
        if not found.everywhere:
            raise ValueError("loss 'distance' on a map of this size needs the same edges everywhere; use ib.grid")
        return found.norm(*np.broadcast_arrays(a, b))
    return np.asarray(np.hypot(a * _even(axes[0]), b * _even(axes[1])))


def _even(axis: Floats) -> float:
    """The distance of two lines of cells, which must be the same everywhere."""
    steps = np.diff(axis)
    if len(steps) and not np.allclose(steps, steps[0], rtol=1e-9):
        raise ValueError("cells of a map of this size must be evenly spaced; use ib.grid")
    return float(steps[0]) if len(steps) else 0.0


def find_best_cells(joints: Iterable[Floats], cost: Floats, deadline: float = np.inf) -> Iterator[tuple[Ints, Floats]]:
    """For every joint distribution of an output with the cells, the cell that loses least and what it loses.

    costs[g] = sum_j joint[j] · cost[g - j], by Fourier transforms: right to some 10^-14 of the largest.
    O(cells · log cells) for each output. After the deadline nothing more comes.
    """
    from scipy.fft import irfft2, next_fast_len, rfft2

    size = tuple(length // 2 + 1 for length in cost.shape)
    lengths = next_fast_len(cost.shape[0], real=True), next_fast_len(cost.shape[1], real=True)
    around = np.zeros(lengths)
    around[np.ix_(*(np.arange(1 - side, side) for side in size))] = cost  # steps back stand at the end
    spectrum = rfft2(around)
    left = iter(joints)
    while (some := [*islice(left, AT_A_TIME)]) and time.monotonic() < deadline:
        block = np.array(some, dtype=np.float64)
        costs = irfft2(rfft2(block, lengths) * spectrum, lengths)[:, : size[0], : size[1]].reshape(len(block), -1)
        yield costs.argmin(axis=1), costs.min(axis=1)
