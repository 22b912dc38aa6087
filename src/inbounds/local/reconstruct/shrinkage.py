"""Shares of labels by Bayes: posterior means under a symmetric Dirichlet prior of unknown concentration.

Likelihood. A reading Y is the unbiased estimate of a share P: of one label, or of a block of labels that stand side by
side. It is a number of reports N in other units,

    Y = u · (N - b),    N ~ Poisson(b + P / u),

u the most that one report moves the reading, and b such that the variance is right for P = 0. So E[Y] = P and
Var[Y] = u² b + u P. The readings of different blocks are taken to be independent; any two are almost uncorrelated.

Prior. With probability 1/2 all shares are equal. Otherwise they follow a symmetric Dirichlet distribution. Its total
concentration A is one of 1, 2, 4, … up to the number of reports, all equally likely. A prior of concentration A weighs
as much as A people who answer without noise: with A = 1 one or two labels may hold everyone; beyond the number of
reports, shares would come out equal whatever the reports say.

Posterior. Without the condition that they sum to one, Dirichlet shares are independent Gamma variables, so each
posterior mean is an integral over one share, computed on a grid. The marginal likelihoods of all readings are the
weights of the concentrations, and of equal shares. The sum of one is restored by projection.
"""

from dataclasses import dataclass

import numpy as np

from inbounds.exact import Floats, Ints
from inbounds.local.reconstruct.affine_estimator import AffineEstimator
from inbounds.local.reconstruct.linear import onto_simplex

EVEN_ODDS = 0.5
"""Prior probability of the simpler of two models: that all shares are equal, that the order of labels means nothing."""

GRID_REACH, GRID_STEP = 8, 1 / 2
"""Integrals go so many standard deviations to either side of a reading, in steps of this part of one. Further off the
likelihood is below 10^-13, so nothing is lost even if the prior of a large share is as small as one over the labels."""

GRAIN = 1 / 8
"""Readings are rounded to this part of a standard deviation; those that agree are computed once."""

SMALLEST_LIKELIHOOD = 1e-300
"""Marginal likelihoods below this, which only concentrations without any weight have, are raised to it before a
logarithm is taken."""


@dataclass(frozen=True, eq=False)
class BlockPosterior:
    """The posterior of the shares of blocks, for every concentration of the prior.

    widths: labels in each block. gains: for each concentration, the logarithm of the marginal likelihood over that of
    equal shares. groups: for blocks of one width, which ones they are, the place of each one's reading among the
    distinct readings, and of these the posterior means of P and P², a column for each concentration.
    """

    widths: Ints
    gains: Floats
    groups: list[tuple[Ints, Ints, Floats, Floats]]

    def moments(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return the means of P and P² for every block, with a weight for each concentration."""
        first, second = np.empty((2, len(self.widths)))
        for blocks, places, means, squares in self.groups:
            first[blocks], second[blocks] = (means @ weights)[places], (squares @ weights)[places]
        return first, second


def shrink_shares(law: AffineEstimator, reports: float) -> Floats:
    """Return the posterior mean of every share, projected onto the simplex; the order of the labels plays no part.

    O(labels · log reports).
    """
    law = law.center()
    return onto_simplex(average_models([posterior_of_blocks(law, reports, len(law.seen))])[0])


def average_models(posteriors: list[BlockPosterior]) -> tuple[Floats, list[Floats]]:
    """Return the posterior mean of every label's share, and the weights of each model's concentrations.

    The models, one for each division into blocks, are equally likely a priori; labels of a block share it equally.
    """
    labels, gains = int(posteriors[0].widths.sum()), np.stack([each.gains for each in posteriors])
    top = max(0.0, float(gains.max()))
    weights, equal = (1 - EVEN_ODDS) * np.exp(gains - top) / gains.size, EVEN_ODDS * np.exp(-top)
    total = weights.sum() + equal
    shares = np.full(labels, equal / total / labels)
    for each, weight in zip(posteriors, weights / total, strict=True):
        shares += np.repeat(each.moments(weight)[0] / each.widths, each.widths)
    return shares, list(weights / total)


def posterior_of_blocks(law: AffineEstimator, reports: float, blocks: int) -> BlockPosterior:
    """Return the posterior of the shares of this many blocks of nearly equal width.

    O(labels + distinct readings · log reports).
    """
    edges = block_edges(len(law.seen), blocks)
    widths, readings = np.diff(edges), np.add.reduceat(law.shares, edges[:-1])
    concentrations = 2.0 ** np.arange(np.ceil(np.log2(max(reports, 1))) + 1)
    gains, groups = np.zeros(len(concentrations)), []
    for width in np.unique(widths).tolist():
        chosen, part = np.flatnonzero(widths == width), width / len(law.seen)
        unit = float(law.unit(width, reports))
        background = width * law.spread(reports) ** 2 / unit**2
        counts, places, times = _distinct(np.maximum(background + readings[chosen] / unit, 0.0))
        means, squares, each = _integrate(counts, background, part / unit, concentrations * part)
        groups.append((chosen, places, means * unit, squares * unit**2))
        gains += times @ each
    return BlockPosterior(widths, gains, groups)


def block_edges(labels: int, blocks: int) -> Ints:
    """Return where blocks of nearly equal width begin, and where the last one ends."""
    return np.arange(blocks + 1) * labels // blocks


def _distinct(counts: Floats) -> tuple[Floats, Ints, Ints]:
    """Return counts that stand for all within GRAIN, the place of every count among them, and how many each has.

    Twice the root of a Poisson count has a standard deviation near one.
    """
    _, places, times = np.unique(np.rint(2 * np.sqrt(counts) / GRAIN), return_inverse=True, return_counts=True)
    return np.bincount(places, weights=counts) / times, places, times


def _integrate(counts: Floats, background: float, mean: float, shapes: Floats) -> tuple[Floats, Floats, Floats]:
    """Integrate over x ~ Gamma(shape, mean) with N ~ Poisson(background + x), for every count N and every shape.

    Returns the posterior means of x and x², and the logarithm of the likelihood over that of x = mean. The grid is even
    in the root of the Poisson mean, from x = 0 upwards.
    """
    from scipy.special import gammainc

    lowest, reach = 2 * np.sqrt(background), round(GRID_REACH / GRID_STEP)
    nearest = np.maximum(np.rint((2 * np.sqrt(counts) - lowest) / GRID_STEP), 0).astype(np.int64)
    steps = np.maximum(nearest[:, None] + np.arange(-reach, reach + 1), -1)  # -1 is below the grid
    used, cells = np.unique(steps, return_inverse=True)
    below, x, above = (
        np.maximum((np.maximum(lowest + (used + place) * GRID_STEP, 0.0) / 2) ** 2 - background, 0.0)
        for place in (-0.5, 0.0, 0.5)
    )
    logs = counts[:, None] * np.log1p(x / background)[cells] - x[cells]
    logs[steps < 0] = -np.inf
    top = logs.max(axis=1)
    likely = np.exp(logs - top[:, None])
    at_mean = counts * np.log1p(mean / background) - mean
    means, squares, gains = np.empty((3, len(counts), len(shapes)))
    for k, shape in enumerate(shapes.tolist()):
        weights = likely * (gammainc(shape, shape / mean * above) - gammainc(shape, shape / mean * below))[cells]
        total = np.maximum(weights.sum(axis=1), SMALLEST_LIKELIHOOD)
        means[:, k], squares[:, k] = ((weights * (x**power)[cells]).sum(axis=1) / total for power in (1, 2))
        gains[:, k] = np.log(total) + top - at_mean
    return means, squares, gains
