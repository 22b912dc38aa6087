"""The uncertainty of a reconstruction: standard errors from the curvature, intervals from resampling."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inbounds.errors import TooLarge
from inbounds.exact import Floats
from inbounds.local.reconstruct.channel import LinearChannel

if TYPE_CHECKING:
    from inbounds.local.reconstruct.result import Reconstruction

SUPPORT = 1e-9
"""Answers with less probability are taken to be outside the support of a maximum-likelihood estimate."""

LARGEST_SUPPORT = 4096
"""Answers in the support beyond which the information matrix is not formed."""


@dataclass(frozen=True, eq=False)
class Intervals:
    """For every answer the interval that holds `level` of the resampled estimates, and their standard deviation."""

    lower: Floats
    upper: Floats
    standard_errors: Floats
    level: float
    runs: int


def standard_errors(result: "Reconstruction") -> Floats:
    """Return the standard error of every probability.

    Maximum likelihood: with S the support and J = P_S^T diag(q / (P p)²) P_S, the covariance is that of the inverse
    information N·J on the directions that keep sum p = 1. It is conditional on the support: answers outside get
    zero, and near the boundary a bootstrap is more honest. Inverse: that of the unprojected solution, exactly
    (P^-1 (diag(q) - q q^T) P^-T)_jj / N. Needs real counts, not frequencies.
    """
    if result.method == "inverse":
        return _inverse_errors(result)
    if not result.method.startswith("ibu"):
        raise ValueError("standard errors are known for 'ibu' and 'inverse'; use bootstrap for 'least-squares'")
    support = np.flatnonzero(result.distribution > SUPPORT)
    if len(support) > LARGEST_SUPPORT:
        raise TooLarge(f"the support has {len(support)} answers; use bootstrap above {LARGEST_SUPPORT}")
    columns = _columns(result.problem.channel, support)
    seen = result.problem.q > 0
    likely = result.problem.channel.forward(result.distribution)
    scaled = columns[seen] * (np.sqrt(result.problem.q[seen]) / likely[seen])[:, None]
    errors = np.zeros(len(result.distribution))
    errors[support] = np.sqrt(np.maximum(_constrained_inverse(scaled.T @ scaled), 0) / result.reports)
    return errors


def _columns(channel: LinearChannel, support: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:
    """Return columns of the matrix, each by applying the channel to one answer."""
    unit = np.zeros(channel.shape[1])
    columns = np.empty((channel.shape[0], len(support)))
    for k, j in enumerate(support):
        unit[j] = 1.0
        columns[:, k] = channel.forward(unit)
        unit[j] = 0.0
    return columns


def _constrained_inverse(information: Floats) -> Floats:
    """Return the diagonal of J^-1 - J^-1 1 1^T J^-1 / (1^T J^-1 1): the inverse on the directions with sum zero.

    Written with an orthonormal basis B of those directions as diag(B (B^T J B)^-1 B^T), which needs no inverse of
    J.
    """
    size = len(information)
    if size == 1:
        return np.zeros(1)
    basis = np.linalg.qr(np.eye(size) - 1 / size)[0][:, : size - 1]
    inner = basis.T @ information @ basis
    return np.asarray(np.einsum("ij,ij->i", basis @ np.linalg.pinv(inner, hermitian=True), basis))


def _inverse_errors(result: "Reconstruction") -> Floats:
    """Return the errors of the inverse; each output contributes its column of P^-1: O(answers) solves."""
    outputs = result.problem.channel.shape[0]
    if outputs > LARGEST_SUPPORT:
        raise TooLarge(f"standard errors of an inverse are computed up to {LARGEST_SUPPORT} outputs; use bootstrap")
    inverse = np.stack([result.problem.channel.invert(unit) for unit in np.eye(outputs)], axis=1)
    mean = inverse @ result.problem.q
    return np.sqrt(np.maximum(inverse**2 @ result.problem.q - mean**2, 0) / result.reports)


def bootstrap(result: "Reconstruction", rng: np.random.Generator, runs: int, level: float) -> Intervals:
    """Resample the reports with replacement, reconstruct each time, take percentiles."""
    if not (isinstance(runs, int) and runs >= 2):
        raise ValueError(f"runs must be a whole number of at least 2, got {runs!r}")
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level!r}")
    size = round(result.reports)
    if size < 2 or abs(size - result.reports) > 1e-6 * size:
        raise ValueError("bootstrap needs counts of reports; these are frequencies without a number of reports")
    draws = rng.multinomial(size, result.problem.q / result.problem.q.sum(), size=runs)
    estimates = np.stack([result.again(counts) for counts in draws])
    lower, upper = np.quantile(estimates, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return Intervals(lower, upper, estimates.std(axis=0, ddof=1), level, runs)
