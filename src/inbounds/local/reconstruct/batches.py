"""Many collections by one channel, estimated together; resampling and plans spend most of their time here."""

from collections.abc import Callable

import numpy as np

from inbounds.exact import Floats
from inbounds.local.reconstruct import ibu
from inbounds.local.reconstruct.channel import DenseChannel, GeometricChannel, LinearChannel

Map = Callable[[Floats], Floats]


def update_batch(channel: LinearChannel, draws: Floats, start: Floats, steps: int) -> Floats:
    """Return the distributions after so many plain updates, for every row of counts; all rows at once if possible."""
    q = draws / draws.sum(axis=1, keepdims=True)
    if isinstance(channel, DenseChannel):
        matrix = channel.matrix
        return _side_by_side(lambda p: matrix @ p, lambda x: matrix.T @ x, q.T, start, steps)
    if isinstance(channel, GeometricChannel):
        rows, columns = channel.rows[:, None], channel.columns[:, None]
        forward, backward = (_through(channel.kernel, *factors) for factors in ((rows, columns), (columns, rows)))
        return _side_by_side(forward, backward, q.T, start, steps)
    return np.stack([_alone(channel, row, start, steps) for row in q])


def _through(kernel: Map, after: Floats, before: Floats) -> Map:
    return lambda x: after * kernel(before * x)


def _side_by_side(forward: Map, backward: Map, q: Floats, start: Floats, steps: int) -> Floats:
    """Iterate p <- p · P^T (q / P p) with a column for each collection."""
    p = np.repeat(start[:, None], q.shape[1], axis=1)
    for _ in range(steps):
        y = np.maximum(forward(p), ibu.LEAST)
        p = np.maximum(p * backward(q / y), ibu.LEAST)
    return np.asarray((p / p.sum(axis=0)).T)


def _alone(channel: LinearChannel, q: Floats, start: Floats, steps: int) -> Floats:
    updates = ibu.iterate(channel, q, start)
    for _ in range(steps):
        next(updates)
    p = next(updates).p
    return np.asarray(p / p.sum())
