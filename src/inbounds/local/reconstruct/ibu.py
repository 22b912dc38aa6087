"""The iterative Bayesian update: p_j <- p_j · r_j with r_j = sum_i q_i P[i, j] / (P p)_i, plain or accelerated.

It is the expectation-maximization algorithm for the likelihood sum_i q_i log (P p)_i, which never falls. Scaling a
row of P changes no iterate, so the truncated channel and its untruncated kernel give the same ones (001 Definition
1). For every distribution p' the likelihood gains at most sum_j p'_j r_j - 1 over p (concavity), hence at most
max_j r_j - 1: the residual. It is zero exactly at the maximum (the Karush-Kuhn-Tucker conditions).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from inbounds.exact import Floats
from inbounds.local.reconstruct.channel import LinearChannel
from inbounds.local.reconstruct.likelihood_interior import InteriorSolution, Watch
from inbounds.local.reconstruct.systems import dot

LEAST = 1e-150
"""Probabilities stop falling here: products of two are still normal numbers, and nothing depends on them."""

WIDEST = 4.0
"""First limit on the length of an extrapolation; it grows fourfold whenever it was used with success."""

FOLD = 60.0
"""An extrapolation changes a probability by a factor of at most e^60."""


@dataclass(frozen=True, eq=False)
class Update:
    """A distribution with its ratios r and its log-likelihood per report."""

    p: Floats
    r: Floats
    log_likelihood: float

    @classmethod
    def at(cls, channel: LinearChannel, q: Floats, p: Floats) -> "Update":
        """Compute the update at p. Outputs without reports (q = 0) take no part; y is positive for all others."""
        y = np.maximum(channel.forward(p), LEAST)
        return cls(p, channel.backward(q / y), dot(q, np.log(y)))

    @property
    def residual(self) -> float:
        return float(self.r.max() - 1)

    def next(self) -> Floats:
        return np.maximum(self.p * self.r, LEAST)


def iterate(channel: LinearChannel, q: Floats, start: Floats) -> Iterator[Update]:
    """Yield plain updates without end; each costs one P p and one P^T x."""
    here = Update.at(channel, q, start)
    while True:
        yield here
        here = Update.at(channel, q, here.next())


def squarem(channel: LinearChannel, q: Floats, start: Floats) -> Iterator[Update]:
    """Yield updates with squared extrapolation (Varadhan and Roland, 2008) on log p, without end.

    From p, p·r, p·r·r' the step length is -|u| / |v| with u the first and v the second difference, both measured by
    the information at p. Extrapolating logarithms keeps p positive. An extrapolation that would lower the
    likelihood is dropped for the two plain updates it came from, so the likelihood of the kept points never falls.
    """
    here, limit = Update.at(channel, q, start), WIDEST
    yield here
    while True:
        once = Update.at(channel, q, here.next())
        yield once
        length = min(limit, _length(here, once))
        trial = Update.at(channel, q, _extrapolate(here, once, length))
        if trial.log_likelihood >= once.log_likelihood:
            limit *= 4 if length == limit else 1
            here = trial
        else:
            limit = max(WIDEST, limit / 4)
            here = Update.at(channel, q, once.next())
        yield here


def _length(here: Update, once: Update) -> float:
    u, v = here.r - 1, here.r * once.r - 2 * here.r + 1  # relative to p
    bend = dot(here.p, v * v)
    return max(1.0, float(np.sqrt(dot(here.p, u * u) / bend))) if bend > 0 else 1.0


def _extrapolate(here: Update, once: Update, length: float) -> Floats:
    first = np.log(np.maximum(here.r, LEAST))
    second = np.log(np.maximum(once.r, LEAST)) - first
    moved = here.p * np.exp(np.clip(2 * length * first + length**2 * second, -FOLD, FOLD))
    return np.asarray(np.maximum(moved / moved.sum(), LEAST))


def run_updates(updates: Iterator[Update], tolerance: float, limit: int, watch: Watch) -> InteriorSolution:
    """Take updates until the residual is at most `tolerance`, or `limit` have been taken; the best one seen."""
    update = best = next(updates)
    path = [update.log_likelihood]
    while not update.residual <= tolerance and len(path) <= limit:
        update = next(updates)
        path.append(update.log_likelihood)
        if update.log_likelihood >= best.log_likelihood or update.residual <= tolerance:
            best = update
        watch(len(path) - 1, update.residual)
    return InteriorSolution(best.p / best.p.sum(), tuple(path), best.residual)
