"""Unbiased readings: a weight for each output, so that the sum over reports is right on average.

For weights w of the answers, u with Σ_i P[i, j]·u_i = w_j for every j makes Σ_i q_i·u_i an estimate of Σ_j w_j·p_j
without bias, whatever the distribution p. Its variance for one report is Σ q u² - (Σ q u)².
"""

import numpy as np

from inbounds.errors import TooLarge
from inbounds.exact import Floats
from inbounds.local.reconstruct.channel import DenseChannel, GeometricChannel, LinearChannel, ResponseChannel
from inbounds.local.reconstruct.incidence import blocks_holding
from inbounds.local.reconstruct.sets import SetReports
from inbounds.local.reconstruct.systems import tridiagonal

RESIDUAL = 1e-9
"""The largest bias of a reading, relative to its largest weight."""

LARGEST_INVERSE = 256
"""Answers of a plain matrix up to which every single share is read."""


def unbiased_weights(channel: LinearChannel, weights: Floats) -> Floats | None:
    """Return u with P^T u = weights; None if there is none up to RESIDUAL."""
    solution = _solve_unbiased(channel, weights)
    if solution is None or not np.isfinite(solution).all():
        return None
    missed = np.abs(channel.backward(solution) - weights).max()
    return solution if missed <= RESIDUAL * max(1.0, float(np.abs(weights).max())) else None


def squared_readings(channel: LinearChannel, q: Floats) -> Floats | None:
    """Return Σ_i q_i·u_i² for the readings u of each answer's share; None if a share has no reading.

    Geometric: u = T e_j / columns_j / rows with T tridiagonal, so that few outputs count for each answer.
    """
    if isinstance(channel, GeometricChannel):
        diagonal, off = channel.bands
        return np.asarray(tridiagonal((diagonal**2, off**2), q / channel.rows**2) / channel.columns**2)
    if isinstance(channel, DenseChannel) and channel.shape[0] == channel.shape[1] <= LARGEST_INVERSE:
        readings = [unbiased_weights(channel, weights) for weights in np.eye(len(q))]
        return (
            None
            if any(reading is None for reading in readings)
            else np.array([float(q @ u**2) for u in readings if u is not None])
        )
    return None


def _solve_unbiased(channel: LinearChannel, weights: Floats) -> Floats | None:
    """Solve P^T u = w. Response: P^T u = 1·(base·u) + lift·u, so u = (w - c) / lift with c = base·u. Geometric: rows, K
    and columns.

    Sets: a set holds its true label with probability hit, any other with probability chance.
    """
    if isinstance(channel, ResponseChannel):
        if not (channel.lift > 0).all():
            return None
        share = channel.base / channel.lift
        c = float(share @ weights) / (1 + float(share.sum()))
        return np.asarray((weights - c) / channel.lift)
    if isinstance(channel, SetReports):
        within = blocks_holding(channel.law.design, weights)
        return np.asarray((within - channel.chance * weights.sum()) / (channel.hit - channel.chance))
    if isinstance(channel, GeometricChannel):
        return np.asarray(tridiagonal(channel.bands, weights / channel.columns) / channel.rows)
    if isinstance(channel, DenseChannel) and channel.shape[0] == channel.shape[1]:
        try:
            return np.asarray(np.linalg.solve(channel.matrix.T, weights))
        except (TooLarge, np.linalg.LinAlgError):
            return None
    return None
