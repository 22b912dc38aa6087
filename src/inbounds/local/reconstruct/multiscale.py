"""Shares of labels that may stand in a meaningful order: posterior means at every scale.

The likelihood is that of `shrinkage`: unbiased readings of the shares of labels and blocks of labels, with their noise.

1. Blocks. The labels are divided into 2, 4, 8, … blocks of neighbours, or into single labels. Labels of one block have
   equal shares; the shares of the blocks have the prior of `shrinkage`. All divisions are equally likely a priori. The
   posterior mean averages over divisions and concentrations: a block may stand out where none of its labels does.

2. Contrasts. Shares may vary at several scales at once, which no single division describes. So each block is halved.
   Let δ be the share that its first half has beyond the estimate of step 1 and its second half lacks, d its reading:

       d = δ + e,    e ~ N(0, s²),    δ ~ N(0, t² M²),

   M the share of the block, and s² the variance of the part of the reading that the estimate of step 1 did not follow.
   The relative spread t is the same for all blocks of a size; a priori it is 0 with probability 1/2, otherwise one of
   SPREADS, all equally likely. The posterior mean of δ is moved from one half to the other, largest blocks first.

3. Order. With probability 1/2 the order of the labels means nothing: then step 1 is all. The marginal likelihood of all
   contrasts gives the weights of the estimates after steps 1 and 2.

Approximations: step 2 takes the estimate of step 1, and the shares M of larger blocks, as they are instead of all at
once; and it takes noise for normal, so it leaves out contrasts that fewer than ENOUGH_REPORTS decide.
"""

from dataclasses import dataclass

import numpy as np

from inbounds.exact import Floats, Ints
from inbounds.local.reconstruct.affine_estimator import AffineEstimator
from inbounds.local.reconstruct.linear import onto_simplex
from inbounds.local.reconstruct.shrinkage import (
    EVEN_ODDS,
    BlockPosterior,
    average_models,
    block_edges,
    posterior_of_blocks,
)

SPREADS = 2.0 ** -np.arange(1, 8)
"""Values of t other than 0: the standard deviation of a half's share, as a part of the block's. At 1/2, the largest
that there is, one half has everything; below 1/128 halves count as equal."""

ENOUGH_REPORTS = 5
"""Expected number of reports that decide a contrast: from here on its noise is taken for normal, the usual rule for a
Poisson count."""

NEGLIGIBLE_WEIGHT = 1e-9
"""Posterior weight below which a division into blocks is left out of step 2."""

LARGEST_LOG = 700.0
"""Logarithms of odds are cut here: beyond, exp is outside of floats and the odds are certain."""


def estimate_multiscale(law: AffineEstimator, reports: float) -> Floats:
    """Return the estimated distribution of the labels. O(labels · log labels · log reports) at most."""
    law = law.center()
    labels = len(law.seen)
    sizes = [2**power for power in range(1, labels.bit_length()) if 2**power < labels]
    posteriors = [posterior_of_blocks(law, reports, blocks) for blocks in [*sizes, labels]]
    shares, weights = average_models(posteriors)
    start = onto_simplex(shares)
    noise = law.deviations(start, reports) ** 2
    followed = _followed_parts(law, reports, posteriors, weights)
    return onto_simplex(_Contrasts(law, reports, noise, followed).correct(start))


def _followed_parts(
    law: AffineEstimator, reports: float, posteriors: list[BlockPosterior], weights: list[Floats]
) -> dict[int, Floats]:
    """Return, for each number of blocks, the part of a block's reading that the estimate follows, times the weight.

    The derivative of a posterior mean by its reading is the posterior variance over the variance of the reading.
    """
    parts = {}
    for each, weight in zip(posteriors, weights, strict=True):
        total = float(weight.sum())
        if total > NEGLIGIBLE_WEIGHT:
            mean, square = each.moments(weight / total)
            noise = each.widths * law.spread(reports) ** 2 + law.unit(each.widths, reports) * mean
            parts[len(each.widths)] = np.repeat(total * np.clip((square - mean**2) / noise, 0.0, 1.0), each.widths)
    return parts


@dataclass(frozen=True, eq=False)
class _Contrasts:
    """Step 2 and 3: what the readings say of the halves of blocks, beyond the estimate.

    noise: variance of every label's reading. followed: see `_followed_parts`.
    """

    law: AffineEstimator
    reports: float
    noise: Floats
    followed: dict[int, Floats]

    def correct(self, start: Floats) -> Floats:
        """Return the start with posterior means of all contrasts added, weighted by the odds that there are any."""
        shares, off, log_odds = start, _running_sums(self.law.shares - start), 0.0
        blocks = 1
        while blocks < len(start):
            first, middle, last = _halved(len(start), blocks)
            left, right, held = middle - first, last - middle, _running_sums(shares)
            open_ = _running_sums(self._noise_left(2 * blocks))
            width = left + right
            d = (right * (off[middle] - off[first]) - left * (off[last] - off[middle])) / width
            variance = (right**2 * (open_[middle] - open_[first]) + left**2 * (open_[last] - open_[middle])) / width**2
            unit = self.law.unit(np.maximum(left, right), self.reports) * np.minimum(left, right) / width
            sure = variance >= ENOUGH_REPORTS * unit**2
            moved = np.zeros(len(d))
            moved[sure], gain = _posterior_contrasts(d[sure], variance[sure], (held[last] - held[first])[sure])
            shares, log_odds = shares + _spread_out(len(start), (first, middle, last), moved), log_odds + gain
            blocks *= 2
        ordered = 1 / (1 + EVEN_ODDS / (1 - EVEN_ODDS) * np.exp(-np.clip(log_odds, -LARGEST_LOG, LARGEST_LOG)))
        return np.asarray(ordered * shares + (1 - ordered) * start)

    def _noise_left(self, blocks: int) -> Floats:
        """Return the variance that the estimate leaves in sums over a division into so many blocks, for each label.

        Estimates of larger blocks follow none of the difference between their halves.
        """
        followed = sum((part for size, part in self.followed.items() if size >= blocks), np.zeros(len(self.noise)))
        return np.asarray((1 - followed) * self.noise)


def _posterior_contrasts(d: Floats, variance: Floats, share: Floats) -> tuple[Floats, float]:
    """Return the posterior means of δ for the blocks of one size, and the log of the marginal likelihood over that of
    t = 0.
    """
    variance = variance[:, None]
    total = variance + (SPREADS * np.maximum(share, 0.0)[:, None]) ** 2
    gains = (d[:, None] ** 2 / 2 * (1 / variance - 1 / total) - np.log(total / variance) / 2).sum(axis=0)
    top = max(0.0, float(gains.max()))
    weights, none = (1 - EVEN_ODDS) * np.exp(gains - top) / len(SPREADS), EVEN_ODDS * np.exp(-top)
    evidence = float(weights.sum() + none)
    return d * ((1 - variance / total) @ (weights / evidence)), top + float(np.log(evidence))


def _halved(labels: int, blocks: int) -> tuple[Ints, Ints, Ints]:
    """Return where each of so many blocks begins, is halved, and ends; only those that have two halves."""
    edges = block_edges(labels, 2 * blocks)
    first, middle, last = edges[0:-1:2], edges[1::2], edges[2::2]
    both = (first < middle) & (middle < last)
    return first[both], middle[both], last[both]


def _running_sums(values: Floats) -> Floats:
    """Return the sums of the first 0, 1, … entries."""
    return np.concatenate([[0.0], np.cumsum(values)])


def _spread_out(labels: int, cuts: tuple[Ints, Ints, Ints], moved: Floats) -> Floats:
    """Return the change of every label's share when so much moves from the second half of each block to the first."""
    first, middle, last = cuts
    up, down = moved / (middle - first), moved / (last - middle)
    change = np.zeros(labels + 1)
    for places, amounts in ((first, up), (middle, -up - down), (last, down)):
        np.add.at(change, places, amounts)
    return np.cumsum(change)[:labels]
