"""Shares of labels, and sums of neighbouring ones: what empirical Bayes makes of each label by itself (`shrinkage`) and
of blocks of them, corrected where reports know the sums better.

Drawing single shares together is best for the shares, and moves sums over many labels that differ little from each
other: the largest shares of a long tail come first, and all of it is drawn the same way. Two things mend that.

Blocks of 2, 4, 8, … labels are drawn together as labels are: a block may stand out where none of its labels does. Each
size gives an estimate, and their mean is taken, weighted by how well each explains its readings. Against all of them
stands that labels are alike (ALIKE): a mixture fitted to noise explains it a little better than one share for all does,
and what it makes of the few labels that came out highest is far off.

Then the labels are halved again and again, and the share of the first half of every block is compared with the
reports' own, unbiased reading. Their difference d has the standard deviation s if the estimate is right. In addition to
s it varies by t·M among the blocks of a size, M the share of the block and t one of SPREADS; how often each t occurs is
estimated from all blocks of that size (Stephens, False discovery rates: a new deal, 2017; for wavelets Xing, Carbonetto
and Stephens, Flexible signal denoising via flexible empirical Bayes shrinkage, 2021), and the mean of what d leaves
open is added. Where reports name sets of labels, few of them decide a sum over many (`AffineEstimator.unit`), so a
large difference is less of a surprise than among normal numbers (`_square`). Where the first cut falls is arbitrary, so
several are averaged (Coifman and Donoho, Translation-invariant de-noising, 1995). Labels whose order means nothing have
no such differences, and keep their estimates.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from inbounds.exact import Floats, Ints
from inbounds.local.reconstruct.affine_estimator import AffineEstimator
from inbounds.local.reconstruct.linear import cut_and_scaled, onto_simplex
from inbounds.local.reconstruct.shrinkage import mean_shares, mean_sums

FEW, SHARP = 90, 0.5
"""With FEW labels, and readings that vary by a mean share, the estimate starts half way between what is drawn together
and the mean of two that draw nothing together, `onto_simplex` and `cut_and_scaled`: few labels tell little of how
shares are distributed, and sharper readings gain less from it, down to SHARP mean shares."""

FEWEST_BLOCKS = 16
"""Blocks of a size that can tell how their shares are distributed."""

IN_BLOCKS = 32.0
"""Weight of all blocks together beside single labels, times √labels, before anything is seen, and never above 1. On
labels that are all alike a block's sum errs by as much as √labels single shares do; this keeps them below."""

EVIDENCE = 0.5
"""Part of a gain in log-likelihood that counts, for sizes and for LEAST_FOLLOWED: all see the same reports, so what
they say is not independent."""

ALIKE = 1 / 1000
"""Odds that all labels are alike before anything is seen, for each label: the more labels, the more of them or their
blocks stand out by chance. One collection that is misread costs as much as many read well gain."""

LEAST_FOLLOWED = 1.0
"""Where all labels may be alike, sums over the largest blocks follow a part 1 / (1 + LEAST_FOLLOWED · noise) of what
reports say, noise as in FEW. To cut readings at zero and to scale them does this too, with 0.8 in place of
LEAST_FOLLOWED: of a small share it keeps one half, beside 0.4 standard deviations of noise for every label."""

MIDDLES = (0.5, 0.42, 0.58)
"""Where the labels are cut first; halves are halved from there."""

SPREADS = np.array([0, 0.01, 0.02, 0.04, 0.08, 0.16, 0.3])
"""How much the share of a half may differ, as a part of the block's: from not at all to anything (0.29 is the standard
deviation of a number that is uniform from 0 to 1)."""

DOUBT = 0.1
"""DOUBT·√labels blocks without a difference are added to those of each size: coincidences of unordered labels are not
followed."""

POOLED = 8
"""Blocks that are judged together at least; the largest ones are so few."""

LEAST_OPEN = 0.05
"""Part of a reading's variance that an estimate is taken to leave open at least."""

LEAST = 1e-6
"""The least variance of a difference, in squares of what one report may hold: below, no report has told anything."""

STEPS, ENOUGH = 100, 1e-3
"""Updates of how often each spread occurs; none after one that changes nothing by more than ENOUGH."""


def estimate_multiscale(law: AffineEstimator, reports: float) -> Floats:
    """Estimate the distribution of labels. O(labels · log labels), plus the cost of `mean_shares`."""
    law = law.center()
    raw, noise = law.shares, len(law.seen) * law.spread(reports)
    drawn = _drawn_in_blocks(law, reports)
    trust = _trust(len(raw), noise)
    start = trust * drawn.shares + (1 - trust) * (onto_simplex(raw) + cut_and_scaled(raw)) / 2
    left_open = trust * np.maximum(1 - drawn.followed, LEAST_OPEN) * law.deviations(raw, reports) ** 2
    least = drawn.alike**EVIDENCE / (1 + LEAST_FOLLOWED * noise)
    corrected = [_Correction(law, reports, left_open, least).from_start(start, middle) for middle in MIDDLES]
    return onto_simplex(np.mean(corrected, axis=0))


def _trust(labels: int, noise: float) -> float:
    """Return how far labels are drawn together, 0..1. noise: the standard deviation of a reading, in mean shares."""
    return labels**2 / (labels**2 + FEW**2 / max(noise, SHARP))


@dataclass(frozen=True, eq=False)
class _JointDraw:
    """Shares drawn together, how far they follow their readings, and how likely it is that all labels are alike."""

    shares: Floats
    followed: Floats
    alike: float


def _drawn_in_blocks(law: AffineEstimator, reports: float) -> _JointDraw:
    """Return shares shrunk one by one and in blocks of every size, and towards one another if they may be alike."""
    single, raw = mean_shares(law, reports), law.shares
    shares, gains = [single.shares], [single.gain]
    blocks = len(raw) // 2
    while blocks >= FEWEST_BLOCKS:
        edges, width = np.arange(blocks + 1) * len(raw) // blocks, len(raw) / blocks
        sums, held = (np.add.reduceat(part, edges[:-1]) for part in (raw, single.shares))
        means = mean_sums(sums, law.spread(reports) * np.sqrt(width), float(law.unit(width, reports)))
        within = np.divide(means.shares, held, out=np.zeros(blocks), where=held > 0)
        shares.append(single.shares * np.repeat(within, np.diff(edges)))
        gains.append(means.gain)
        blocks //= 2
    before = _before(len(shares), len(raw))
    mixed = np.average(shares, axis=0, weights=before * np.exp(EVIDENCE * (np.array(gains) - max(gains))))
    alike = float(np.exp(-np.logaddexp(0, np.max(np.log(before) + gains) - np.log(ALIKE * len(raw)))))
    return _JointDraw(alike / len(raw) + (1 - alike) * mixed, (1 - alike) * single.followed, alike)


def _before(sizes: int, labels: int) -> Floats:
    """Return the prior weight of each size: 1 for single labels, less for larger blocks."""
    blocks = 2.0 ** (-np.arange(1, sizes) / 2)
    return np.append(1.0, blocks / max(blocks.sum(), 1) * min(1.0, IN_BLOCKS / np.sqrt(labels)))


@dataclass(frozen=True, eq=False)
class _Correction:
    """Moves sums over blocks towards what reports say of them: by the mean of what is left open, or by `least`."""

    law: AffineEstimator
    reports: float
    left_open: Floats
    least: float

    @property
    def doubt(self) -> float:
        return float(DOUBT * np.sqrt(len(self.left_open)))

    def from_start(self, start: Floats, middle_at: float) -> Floats:
        """Return the start, with the sums over blocks moved towards the readings', the largest blocks first."""
        p, off, open_ = start, _sums(self.law.shares - start), _sums(self.left_open)
        for rank, (first, middle, last) in enumerate(_halvings(len(p), middle_at)):
            left, right, held = middle - first, last - middle, _sums(p)
            width = left + right
            d = (right * (off[middle] - off[first]) - left * (off[last] - off[middle])) / width
            variance = right**2 * (open_[middle] - open_[first]) + left**2 * (open_[last] - open_[middle])
            unit = self.law.unit(np.maximum(left, right), self.reports) * np.minimum(left, right) / width
            part = _signal_share(d, variance / width**2, unit, held[last] - held[first], self.doubt)
            moved = d * (np.maximum(part, self.least) if rank == 0 else part)
            p = p + _steps(len(p), first, middle, last, moved / left, moved / right)
        return p


def _halvings(labels: int, middle_at: float) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Yield where blocks and their halves begin and end, sizes with few blocks together; the first cut is at
    `middle_at`.
    """
    waiting: list[Ints] = []
    parts = 2
    while parts < 2 * labels:
        places = np.interp(np.arange(parts + 1) / parts, [0, 0.5, 1], [0, middle_at, 1])
        edges = np.rint(labels * places).astype(np.int64)
        cuts = np.stack([edges[0:-1:2], edges[1::2], edges[2::2]])
        waiting.append(cuts[:, (cuts[0] < cuts[1]) & (cuts[1] < cuts[2])])
        parts *= 2
        if sum(block.shape[1] for block in waiting) >= POOLED or parts >= 2 * labels:
            first, middle, last = np.concatenate(waiting, axis=1)
            yield first, middle, last
            waiting = []


def _signal_share(d: Floats, variance: Floats, unit: Floats, share: Floats, doubt: float) -> Floats:
    """Return the expected part of each difference d that is not chance."""
    variance = np.maximum(variance, LEAST * unit**2)
    more = (SPREADS * np.maximum(share, 0)[:, None]) ** 2
    total = variance[:, None] + more
    deciding = variance / unit**2
    logs = -_square(d, variance, unit)[:, None] / total / 2 - np.log(total) / 2
    logs *= (deciding / (1 + deciding))[:, None]  # the same few reports decide other differences too
    likely = np.exp(logs - logs.max(axis=1, keepdims=True))
    often = np.full(len(SPREADS), 1 / len(SPREADS))
    for _ in range(STEPS):
        before = often
        often = likely.T @ (1 / (likely @ often)) * often
        often[0] += doubt
        often = often / often.sum()
        if np.abs(often - before).max() < ENOUGH:
            break
    return np.asarray((likely * often * (more / total)).sum(axis=1) / (likely @ often))


def _square(d: Floats, variance: Floats, unit: Floats) -> Floats:
    """Return the square of a normal number that is as far out as d, which is a number of units that is a Poisson one's.

    2 v ((v + |d|) log(1 + |d| / v) - |d|), v = variance / unit, in place of d², which it is near for small |d|.
    """
    v, size = variance / unit, np.abs(d)
    return np.asarray(2 * v * ((v + size) * np.log1p(size / v) - size))


def _sums(values: Floats) -> Floats:
    """Return the sums of the first 0, 1, … entries."""
    return np.concatenate([[0.0], np.cumsum(values)])


def _steps(size: int, first: Ints, middle: Ints, last: Ints, up: Floats, down: Floats) -> Floats:
    """Add `up` from each first to its middle and -`down` from there to the last."""
    change = np.zeros(size + 1)
    for place, amount in ((first, up), (middle, -up - down), (last, down)):
        np.add.at(change, place, amount)
    return np.cumsum(change)[:size]
