"""Many collections by one channel, estimated together: what resampling and plans take most of their time for."""

import numpy as np

from inbounds.local.reconstruct import ibu
from inbounds.local.reconstruct.channel import Channel, Geometric
from inbounds.numbers import Floats


def updated(channel: Channel, draws: Floats, start: Floats, steps: int) -> Floats:
    """The distributions after so many plain updates, for every row of counts; all rows at once for geometric noise."""
    q = draws / draws.sum(axis=1, keepdims=True)
    if isinstance(channel, Geometric):
        return _side_by_side(channel, q.T, start, steps)
    return np.stack([_alone(channel, row, start, steps) for row in q])


def _side_by_side(channel: Geometric, q: Floats, start: Floats, steps: int) -> Floats:
    """p <- p · P^T (q / P p) with a column for each collection: the recursions of the kernel take many at a time."""
    rows, columns = channel.rows[:, None], channel.columns[:, None]
    p = np.repeat(start[:, None], q.shape[1], axis=1)
    for _ in range(steps):
        y = np.maximum(rows * channel.kernel(columns * p), ibu.LEAST)
        p = np.maximum(p * (columns * channel.kernel(rows * (q / y))), ibu.LEAST)
    return np.asarray((p / p.sum(axis=0)).T)


def _alone(channel: Channel, q: Floats, start: Floats, steps: int) -> Floats:
    updates = ibu.iterate(channel, q, start)
    for _ in range(steps):
        next(updates)
    p = next(updates).p
    return np.asarray(p / p.sum())
