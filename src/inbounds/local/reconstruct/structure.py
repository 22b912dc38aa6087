"""Recognize the shape of a matrix from its numbers, so that the cheapest channel is used for it."""

from collections.abc import Callable

import numpy as np

from inbounds.exact import Floats
from inbounds.local.reconstruct.channel import (
    DenseChannel,
    GeometricChannel,
    LinearChannel,
    MergedChannel,
    ResponseChannel,
    Slack,
)
from inbounds.local.reconstruct.convolution_channel import SMALLEST, ConvolutionChannel, channel_from_plane, convolve
from inbounds.local.reconstruct.sets import SetReports
from inbounds.mechanism import Mechanism
from inbounds.mechanism.laws import BlockResponse, Noise, PlaneNoise, Response
from inbounds.mechanism.limits import is_too_large
from inbounds.query.places import find_map_axes
from inbounds.trusted.bounds import TOTAL

SHAPE = 1e-12
"""Entries may miss the shape by this share of the largest entry in their row: room for rounding to integers, which
moves them by some 10^-17, and far below what any number of reports could tell apart."""

NOISE_SHAPE = 1e-8
"""The same for noise tables too large to write out: their constant tails are not geometric, and a million answers
add them up. The slack keeps certificates honest."""

BLOCK_ENTRIES = 1 << 21
"""Entries compared at a time when a shape is checked."""


def channel_for_law(mechanism: Mechanism) -> LinearChannel:
    """Return the cheapest channel that is the mechanism's matrix within `slack`."""
    match mechanism.law:
        case BlockResponse() as law:
            return SetReports(law)
        case Response() as law:
            truth, other = law.truth_weight / TOTAL, law.other_weight / TOTAL
            return ResponseChannel(np.full(law.size, other), np.full(law.size, truth - other), Slack.none(law.size))
        case PlaneNoise() as law if is_too_large(mechanism.query):
            return channel_from_plane(law)
        case Noise() as law:
            return _noise_channel(mechanism, law)
    return _on_map(mechanism) or detect_structure(mechanism.matrix)


def _on_map(mechanism: Mechanism) -> ConvolutionChannel | None:
    """Return the channel of noise on a map that is large enough for transforms."""
    axes = find_map_axes(mechanism.query.coordinates) if len(mechanism.query.answers) >= SMALLEST else None
    return None if axes is None else convolve(mechanism.matrix, (len(axes[0]), len(axes[1])), _misses)


def detect_structure(matrix: Floats) -> LinearChannel:
    """Return a matrix as a `ResponseChannel` or `GeometricChannel` if it has that shape, otherwise as a `DenseChannel`.
    O(outputs · answers).
    """
    if matrix.shape[0] != matrix.shape[1] or len(matrix) < 2 or not (matrix > 0).all():
        return DenseChannel(matrix)
    return _response(matrix) or _geometric(matrix) or DenseChannel(matrix)


def _response(matrix: Floats) -> ResponseChannel | None:
    base = np.append(matrix[:-1, -1], matrix[-1, 0])  # some entry beside the diagonal
    lift = np.diagonal(matrix) - base
    places = np.arange(len(matrix))

    def rows(block: slice) -> Floats:
        shape = np.repeat(base[block, None], len(matrix), axis=1)
        shape[places[block] - places[block][0], places[block]] += lift[block]
        return shape

    slack = _misses(matrix, rows)
    return None if slack is None else ResponseChannel(base, lift, slack)


def _geometric(matrix: Floats) -> GeometricChannel | None:
    """Read rows, decay and columns off the diagonal and its neighbours, then compare everything.

    With P = rows · K · columns: P[j, j+1] / P[j, j] = a c_{j+1} / c_j, P[j+1, j+1] / P[j+1, j] = c_{j+1} / (c_j a).
    """
    diagonal = np.diagonal(matrix)
    up, down = np.diagonal(matrix, 1) / diagonal[:-1], diagonal[1:] / np.diagonal(matrix, -1)
    decay = np.sqrt(up / down)
    if not (decay < 1 - SHAPE).all():
        return None
    columns = np.exp(np.append(0.0, np.cumsum(np.log(up * down) / 2)))
    rows, depth = diagonal / columns, np.append(0.0, np.cumsum(-np.log(decay)))

    def entries(block: slice) -> Floats:
        fall = np.exp(-np.abs(depth[block, None] - depth[None, :]))
        return np.asarray(rows[block, None] * fall * columns)

    slack = _misses(matrix, entries)
    return None if slack is None else GeometricChannel(rows, decay, columns, slack)


def _misses(matrix: Floats, rows: Callable[[slice], Floats]) -> Slack | None:
    """Return the slack of every row, or None as soon as an entry is further off than SHAPE of its row's largest."""
    size = max(1, BLOCK_ENTRIES // matrix.shape[1])
    misses = []
    for start in range(0, len(matrix), size):
        entries, shape = matrix[start : start + size], rows(slice(start, start + size))
        if not (np.abs(entries - shape).max(axis=1) <= SHAPE * entries.max(axis=1)).all():
            return None
        misses.append(Slack.between(entries, shape))
    return Slack(np.concatenate([s.above for s in misses]), np.concatenate([s.below for s in misses]))


def _noise_channel(mechanism: Mechanism, law: Noise) -> LinearChannel:
    inner = _clamped_noise(law)
    if inner is None:
        return DenseChannel(mechanism.matrix)
    return inner if law.remap is None else MergedChannel(inner, law.remap, len(mechanism.query.outputs))


def _clamped_noise(law: Noise) -> GeometricChannel | None:
    """Recognize clamp(answer + noise) if the noise falls geometrically from its centre; O(size).

    Inside the range rows hold the noise weights, t[d] near t[0]·a^|d|; the two ends hold tail sums, near T·a^j.
    """
    table = law.all_weights() / TOTAL
    size, peak, side = law.size, law.core[law.half_width] / TOTAL, law.core[law.half_width :] / TOTAL
    far = int((side >= peak / 2).sum()) - 1 or min(1, law.half_width)  # where a^far is near 1/2, a is surest
    a = float((side[far] / peak) ** (1 / far)) if far else 1.0
    if not a < 1 - SHAPE:
        return None
    powers = np.exp(np.log(a) * np.arange(size + 1.0))
    ends = np.stack([np.cumsum(side)[: size + 1][::-1] for side in (table, table[::-1])])  # [end, steps from it]
    inner = np.stack([table[size:-1], table[size:0:-1]])  # the outermost noise always leaves the range
    end_shape, inner_shape = ends[:, :1] * powers, peak * powers[None, :-1]
    off = max((np.abs(ends - end_shape) / ends[:, :1]).max(), np.abs(inner - inner_shape).max() / peak)
    if not off <= NOISE_SHAPE:
        return None
    rows = np.full(size + 1, peak)
    rows[[0, -1]] = ends[:, 0]
    slack = _spread(Slack.between(inner, inner_shape), Slack.between(ends, end_shape), size + 1)
    return GeometricChannel(rows, np.full(size, a), np.ones(size + 1), slack)


def _spread(inner: Slack, ends: Slack, outputs: int) -> Slack:
    """Return one slack for all rows inside the range, and one for each end."""
    above, below = np.full(outputs, inner.above.max()), np.full(outputs, inner.below.max())
    above[[0, -1]], below[[0, -1]] = ends.above, ends.below
    return Slack(above, below)
