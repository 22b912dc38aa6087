"""How much an estimate would vary: collections simulated from the estimate itself, estimated in the same way.

Counts are drawn from P p with p the estimated distribution, as often as there were reports, and p is estimated from
them by the method, the stopping and the start that gave p. The standard deviation of any function of p over these
runs is its standard error; value ± z standard errors covers as it says, where percentiles of the runs do not, since a
maximum of the likelihood that stands on a few answers is rougher still when it is estimated again.

Updates that were stopped by held-out reports give the distribution that is nearest to the truth as a whole, which is
smoother than the truth by about as much as it varies. An interval must not be smoother. A direction of the distribution
that updates leave out by half after k of them is left out by 1/2^m after m·k, so for intervals the updates go on until
BIAS_LEFT of such directions is left (docs/benchmarks/coverage.md).
"""

import math
from dataclasses import dataclass

import numpy as np

from inbounds.exact import Floats
from inbounds.local.reconstruct import Reconstruction
from inbounds.local.reconstruct.batches import update_batch

BIAS_LEFT = 1 / 256
"""Part that updates behind intervals leave out of a direction of which the estimate leaves out half."""

MOST_INTERVAL_UPDATES = 20_000
"""Updates behind intervals at most, unless the estimate has more; each resampled collection takes as many."""


@dataclass(frozen=True, eq=False)
class BootstrapResult:
    """The distribution behind intervals, and its estimates in simulated collections, runs × answers."""

    distribution: Floats
    draws: Floats


def bootstrap_estimate(reconstruction: Reconstruction, runs: int, seed: int) -> BootstrapResult:
    """Estimate the distribution behind intervals from the reports and from simulated collections."""
    size = reports_counted(reconstruction)
    problem, rng = reconstruction.problem, np.random.default_rng(seed)
    steps = updates_used(reconstruction)
    counts = problem.q * problem.reports
    p = (
        reconstruction.distribution
        if steps is None
        else update_batch(problem.channel, counts[None], problem.start, steps)[0]
    )
    likely = problem.channel.forward(p)
    draws = rng.multinomial(size, likely / likely.sum(), size=runs).astype(np.float64)
    if steps is None:
        return BootstrapResult(p, np.stack([reconstruction.again(draw) for draw in draws]))
    return BootstrapResult(p, update_batch(problem.channel, draws, problem.start, steps))


def reports_counted(reconstruction: Reconstruction) -> int:
    """Return the number of reports. Raises if only frequencies were given."""
    size = round(reconstruction.reports)
    if size < 2 or abs(size - reconstruction.reports) > 1e-6 * size:
        raise ValueError("intervals need counts of reports; these are frequencies without a number of reports")
    return size


def updates_used(reconstruction: Reconstruction) -> int | None:
    """Return the number of plain updates behind intervals; None if the estimate has no such number."""
    if reconstruction.method != "ibu" or reconstruction.converged:
        return None
    updates = reconstruction.iterations
    if not reconstruction.choice:  # the caller chose them
        return updates
    return max(updates, min(round(updates * math.log2(1 / BIAS_LEFT)), MOST_INTERVAL_UPDATES))
