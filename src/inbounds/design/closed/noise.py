"""Symmetric noise on the line, cut at cell edges: Laplace and staircase by their tails."""

import math
from collections.abc import Callable

import numpy as np

from inbounds.exact import Floats

LogTail = Callable[[Floats], Floats]
"""Maps x >= 0 to log Pr[noise > x], for noise symmetric around 0."""


def snap_to_cells(log_tail: LogTail, edges: Floats) -> Floats:
    """Compute P[i, j], the mass of symmetric noise between edges[i-1, j] and edges[i, j], the outer edges infinite.

    edges[i, j] is boundary i seen from answer j. Masses are differences of tails on the same side of zero, so small
    masses keep their relative accuracy.
    """
    infinite = np.full((1, edges.shape[1]), np.inf)
    return probability_between(log_tail, np.vstack([-infinite, edges]), np.vstack([edges, infinite]))


def probability_between(log_tail: LogTail, low: Floats, high: Floats) -> Floats:
    """Compute the mass of symmetric noise in low..high, elementwise (low < high)."""
    near, far = np.where(low >= 0, low, -high), np.where(low >= 0, high, -low)
    with np.errstate(invalid="ignore", over="ignore"):
        inner, outer = log_tail(np.maximum(near, 0)), log_tail(far)
        one_sided = np.exp(inner) * -np.expm1(outer - inner)
        across = 1 - np.exp(log_tail(np.maximum(-low, 0))) - np.exp(log_tail(np.maximum(high, 0)))
    return np.where((low < 0) & (high > 0), across, one_sided)


def laplace_tail(scale: float) -> LogTail:
    """Return log Pr[noise > x] of Laplace noise: exp(-x / scale) / 2."""
    return lambda x: -x / scale - math.log(2)


def staircase_tail(epsilon: float, gamma: float) -> LogTail:
    """Return log Pr[noise > x] of staircase noise, x in units of the sensitivity.

    a = exp(-epsilon): the tail is a^k times the rest of the k-th double step. gamma: width of the upper step.
    """
    a = math.exp(-epsilon)
    y = -math.expm1(-epsilon) / (2 * (gamma + a * (1 - gamma)))

    def log_tail(x: Floats) -> Floats:
        k = np.where(np.isfinite(x), np.floor(x), 0.0)
        into = np.where(np.isfinite(x), x - k, 0.0)
        spent = y * np.where(into < gamma, into, gamma + a * (into - gamma))
        return np.where(np.isfinite(x), -epsilon * k + np.log(0.5 - spent), -np.inf)

    return log_tail


LIGHTEST = 45.0
"""Privacy loss beyond which the weights of staircase noise, below 2^-64 of the largest, are left out of sums."""


def staircase_losses(losses: Floats, reach: int, rate: float) -> Floats:
    """Compute the expected loss of whole staircase noise with each split, on an endless range.

    With split g = 1..reach, noise d has weight 1 for |d| < g, and exp(-rate) times less with each further `reach`
    (Geng and Viswanath 2014, the discrete case). losses[e]: of an error of e steps; beyond the last it counts as that.
    """
    levels = math.ceil(LIGHTEST / rate) + 1
    varied = min(levels, math.ceil((len(losses) - 2) / reach))  # all errors of further levels count as the last
    steps = np.arange(reach * (varied + 1) + 1)
    errors = 2.0 * losses[np.minimum(steps[:-1], len(losses) - 1)]
    errors[0] /= 2
    sums = np.concatenate([[0.0], np.cumsum(errors)])  # over |d| < m
    counts = np.maximum(2.0 * steps - 1, 0.0)
    split = np.arange(1, reach + 1)
    loss, weight = sums[split].copy(), counts[split].copy()
    for level in range(1, varied + 1):
        outer, share = split + level * reach, math.exp(-rate * level)
        loss += share * (sums[outer] - sums[outer - reach])
        weight += share * (counts[outer] - counts[outer - reach])
    rest = 2 * reach * math.exp(-rate * (varied + 1)) * math.expm1(-rate * (levels - varied)) / math.expm1(-rate)
    loss += rest * losses[-1]
    weight += rest
    return np.asarray(loss / weight)
