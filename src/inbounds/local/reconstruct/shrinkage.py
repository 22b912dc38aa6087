"""Empirical Bayes: shares of many labels, each shrunk as far as its reports leave it open.

Every label's count is binomial, c ~ Bin(n, s(p)) with s(p) = base + lift·p, whatever the other labels do.
The distribution G of the shares over the labels is estimated first, as the mixture under which all counts are most
likely (Kiefer and Wolfowitz 1956); the estimate of a share is its mean given the label's own count (Robbins 1956;
Jiang and Zhang 2009). Where reports are few it makes undetected labels alike instead of zero or noise; where they are
many it is the unbiased estimate.
"""

from dataclasses import dataclass

import numpy as np

from inbounds.exact import Floats, Ints
from inbounds.local.reconstruct.affine_estimator import AffineEstimator
from inbounds.local.reconstruct.linear import onto_simplex

FEWEST_STEPS, MOST_STEPS, ENOUGH = 15, 5000, 1e-4
"""Updates of the mixture: one for two labels, within these limits, since few labels would be taken too literally; none
after one that gains less than ENOUGH in the log-likelihood of all labels."""

FEW = 30
"""With so many labels the estimate is half way between the mean share and the projection; the more, the nearer to the
mean, since fewer labels tell less of how shares are distributed."""

BULK, FINE = 6.0, 6
"""Shares up to so many standard deviations are a grid of so many points for each."""

LARGE = 100
"""So many of the largest estimates, and as many quantiles of the others beyond the grid, are points of their own."""

KNOWN = 3.0
"""Shares above so many standard deviations are well known."""

DISTINCT = 4096
"""Counts that are told apart; more are put together by a fraction of their standard deviation."""


GRAIN = 1 / 8
"""Sums over blocks of labels are told apart by this part of their standard deviation."""


@dataclass(frozen=True, eq=False)
class PosteriorMeans:
    """Shrunk shares, which sum to one.

    followed: how much of a small change of its reading each one follows, 0..1: the variance of what the reading leaves
    open, over that of the reading. gain: how much likelier all readings are, as a logarithm, than if all shares were
    the same.
    """

    shares: Floats
    followed: Floats
    gain: float


def shrink_shares(law: AffineEstimator, reports: float) -> Floats:
    """Return the estimated distribution over labels, between the mean share and the unbiased estimate's projection."""
    trust = len(law.seen) / (len(law.seen) + FEW)
    return np.asarray(trust * mean_shares(law.center(), reports).shares + (1 - trust) * onto_simplex(law.shares))


def mean_shares(law: AffineEstimator, reports: float) -> PosteriorMeans:
    """Return the posterior mean of each share given its count.

    O(labels + distinct counts · points).
    """
    raw, chance, lift = law.shares, float(law.base.mean()), float(law.lift.mean())
    counts, places, times = np.unique(
        _told_apart(law.seen * reports, reports, chance), return_inverse=True, return_counts=True
    )
    spread = float(np.sqrt(chance * (1 - chance) / reports)) / lift
    points = _points(raw, spread)
    seen = np.clip(chance + lift * points, 1e-300, 1 - 1e-16)
    logs = counts[:, None] * np.log(seen) + (reports - counts)[:, None] * np.log1p(-seen)
    return _draw_shares(raw, spread, points, (logs, places, times))


def mean_sums(sums: Floats, spread: float, unit: float) -> PosteriorMeans:
    """Return the posterior means of sums over blocks of labels.

    A reading is taken for a Poisson number of units, less what is expected where the share is 0; it has the standard
    deviation `spread` there. Where units are small that is normal; where they are large, a single report makes a block
    look large, and is worth no more than that.
    """
    step, expected, reach = GRAIN * spread, (spread / unit) ** 2, max(spread, BULK * unit)
    seen, places, times = np.unique(np.rint(sums / step) * step, return_inverse=True, return_counts=True)
    points, numbers = _points(sums, reach), np.maximum(expected + seen / unit, 0.0)
    logs = numbers[:, None] * np.log1p(points / unit / expected) - points / unit
    return _draw_shares(sums, reach, points, (logs, places, times))


def _draw_shares(raw: Floats, spread: float, points: Floats, readings: tuple[Floats, Ints, Ints]) -> PosteriorMeans:
    """Shrink the shares. readings: the log-likelihood of each distinct reading at every point, the reading of each
    label, and how many labels have it.
    """
    logs, places, times = readings
    likely = np.exp(logs - logs.max(axis=1, keepdims=True))
    weights = _mixture(likely, times)
    mixed = likely @ weights
    means, squares = (likely @ (weights * power) / mixed for power in (points, points**2))
    alike = logs[:, np.searchsorted(points, 1 / len(raw))] - logs.max(axis=1)
    open_ = np.clip((squares - means**2) / spread**2, 0.0, 1.0)
    known = raw > BULK * spread
    shares = _summing_to_one(np.where(known, raw, means[places]), spread)
    return PosteriorMeans(shares, np.where(known, 1.0, open_[places]), float(times @ (np.log(mixed) - alike)))


def _told_apart(held: Floats, reports: float, chance: float) -> Floats:
    counts = np.round(held, 6)
    if len(np.unique(counts)) <= DISTINCT:
        return counts
    step = max(1.0, np.sqrt(reports * chance * (1 - chance)) / 16)
    return np.asarray(np.rint(counts / step) * step)


def _points(raw: Floats, spread: float) -> Floats:
    """Return the support of the prior: a grid over what could be noise, then the estimates themselves."""
    edge = min(BULK * spread, 1.0)
    beyond = np.sort(raw[raw > edge])[::-1]
    rest = beyond[LARGE:]
    quantiles = np.quantile(rest, np.linspace(0, 1, 2 * LARGE)) if len(rest) else rest
    grid = np.linspace(0, edge, int(BULK * FINE) + 1)
    return np.unique(np.minimum(np.concatenate([grid, [1 / len(raw)], quantiles, beyond[:LARGE]]), 1.0))


def _summing_to_one(means: Floats, spread: float) -> Floats:
    """Return the same where all shares sum to one: what the well-known ones leave is shared out among the others.

    The counts alone know the sum of many small shares far less well than that.
    """
    known = means > KNOWN * spread
    left = 1 - means[known].sum()
    small = means * ~known
    if left <= 0 or not small.sum() > 0:
        return onto_simplex(means * known)
    return np.where(known, means, small * (left / small.sum()))


def _mixture(likely: Floats, times: Ints) -> Floats:
    """Return the weights of the points under which the counts are most likely, by expectation and maximization."""
    labels, shares = times.sum(), times / times.sum()
    weights = np.full(likely.shape[1], 1 / likely.shape[1])
    before = -np.inf
    for _ in range(int(np.clip(labels // 2, FEWEST_STEPS, MOST_STEPS))):
        mixed = likely @ weights
        now = float(shares @ np.log(mixed))
        if (now - before) * labels < ENOUGH:
            break
        before, weights = now, weights * ((shares / mixed) @ likely)
    return np.asarray(weights / weights.sum())
