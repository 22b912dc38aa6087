"""How much an estimate would vary: collections simulated from the estimate itself, estimated in the same way.

Counts are drawn from P p with p the estimated distribution, as often as there were reports, and p is estimated from
them by the method, the stopping and the start that gave p. The standard deviation of any function of p over these
runs is its standard error; value ± z standard errors covers as it says, where percentiles of the runs do not, since a
maximum of the likelihood that stands on a few answers is rougher still when it is estimated again.
"""

import numpy as np

from inbounds.local.reconstruct import Reconstruction
from inbounds.local.reconstruct.batches import updated
from inbounds.numbers import Floats


def resampled(found: Reconstruction, runs: int, seed: int) -> Floats:
    """Distributions estimated from simulated collections, runs × answers."""
    size = round(found.reports)
    if size < 2 or abs(size - found.reports) > 1e-6 * size:
        raise ValueError("intervals need counts of reports; these are frequencies without a number of reports")
    likely = found.problem.channel.forward(found.distribution)
    rng = np.random.default_rng(seed)
    draws = rng.multinomial(size, likely / likely.sum(), size=runs).astype(np.float64)
    if found.method == "ibu" and not found.converged:
        return updated(found.problem.channel, draws, found.problem.start, found.iterations)
    return np.stack([found.again(counts) for counts in draws])
