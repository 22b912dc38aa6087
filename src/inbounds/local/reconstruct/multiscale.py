"""Shares of labels, and sums of neighbouring ones: what empirical Bayes makes of each label by itself (`shrinkage`) and
of blocks of them, corrected where reports know the sums better.

Drawing single shares together is best for the shares, and moves sums over many labels that differ little from each
other: the largest shares of a long tail come first, and all of it is drawn the same way. Two things mend that.

Blocks of 2, 4, 8, … labels are drawn together as labels are: a block may stand out where none of its labels does. Each
size gives an estimate, and their mean is taken, weighted by how well each explains its readings.

Then the labels are halved again and again, and the share of the first half of every block is compared with the
reports' own, unbiased reading. Their difference d has the standard deviation s if the estimate is right. In addition to
s it varies by t·M among the blocks of a size, M the share of the block and t one of SPREADS; how often each t occurs is
estimated from all blocks of that size (Stephens, False discovery rates: a new deal, 2017; for wavelets Xing, Carbonetto
and Stephens, Flexible signal denoising via flexible empirical Bayes shrinkage, 2021), and the mean of what d leaves
open is added. Where the first cut falls is arbitrary, so several are averaged (Coifman and Donoho,
Translation-invariant de-noising, 1995). Labels whose order means nothing have no such differences, and keep their
estimates.
"""

from collections.abc import Iterator

import numpy as np

from inbounds.local.reconstruct.affine import AffineReading
from inbounds.local.reconstruct.linear import cut_and_scaled, onto_simplex
from inbounds.local.reconstruct.shrinkage import mean_shares, mean_sums
from inbounds.numbers import Floats, Ints

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
"""Part of a gain in log-likelihood that counts: sizes see the same reports, so their gains are not independent."""

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

STEPS, ENOUGH = 100, 1e-3
"""Updates of how often each spread occurs; none after one that changes nothing by more than ENOUGH."""


def multiscale(law: AffineReading, reports: float) -> Floats:
    """The estimated distribution. O(labels · log labels), and what `mean_shares` takes."""
    law = law.centred()
    raw, labels = law.shares, len(law.seen)
    deviations = law.deviations(raw, reports)
    drawn, followed = _drawn_in_blocks(law, reports)
    trust = _trust(labels, labels * _spread(law, reports))
    start = trust * drawn + (1 - trust) * (onto_simplex(raw) + cut_and_scaled(raw)) / 2
    left_open = trust * np.maximum(1 - followed, LEAST_OPEN) * deviations**2
    return onto_simplex(np.mean([_corrected(start, raw, left_open, middle) for middle in MIDDLES], axis=0))


def _spread(law: AffineReading, reports: float) -> float:
    """The standard deviation of a rare label's reading."""
    return float(law.deviations(np.zeros(1), reports)[0])


def _trust(labels: int, noise: float) -> float:
    """How far labels are drawn together, 0..1; noise: the standard deviation of a reading, in mean shares."""
    return labels**2 / (labels**2 + FEW**2 / max(noise, SHARP))


def _drawn_in_blocks(law: AffineReading, reports: float) -> tuple[Floats, Floats]:
    """Shares drawn together one by one and in blocks of every size, and how far the single ones follow."""
    single, raw = mean_shares(law, reports), law.shares
    shares, gains = [single.shares], [single.gain]
    blocks = len(raw) // 2
    while blocks >= FEWEST_BLOCKS:
        edges = np.arange(blocks + 1) * len(raw) // blocks
        sums, held = (np.add.reduceat(each, edges[:-1]) for each in (raw, single.shares))
        found = mean_sums(sums, _spread(law, reports) * np.sqrt(len(raw) / blocks))
        within = np.divide(found.shares, held, out=np.zeros(blocks), where=held > 0)
        shares.append(single.shares * np.repeat(within, np.diff(edges)))
        gains.append(found.gain)
        blocks //= 2
    weights = _before(len(shares), len(raw)) * np.exp(EVIDENCE * (np.array(gains) - max(gains)))
    return np.average(shares, axis=0, weights=weights), single.followed


def _before(sizes: int, labels: int) -> Floats:
    """The weight of each size before anything is seen: single labels 1, blocks less the larger they are."""
    blocks = 2.0 ** (-np.arange(1, sizes) / 2)
    return np.append(1.0, blocks / max(blocks.sum(), 1) * min(1.0, IN_BLOCKS / np.sqrt(labels)))


def _corrected(start: Floats, raw: Floats, left_open: Floats, middle_at: float) -> Floats:
    """The start, with the sums over blocks moved towards those of `raw`, the largest blocks first."""
    p, doubt = start, DOUBT * np.sqrt(len(raw))
    off, open_ = _sums(raw - start), _sums(left_open)
    for first, middle, last in _halvings(len(raw), middle_at):
        left, right = middle - first, last - middle
        width = left + right
        d = (right * (off[middle] - off[first]) - left * (off[last] - off[middle])) / width
        variance = right**2 * (open_[middle] - open_[first]) + left**2 * (open_[last] - open_[middle])
        held = _sums(p)
        moved = _followed(d, variance / width**2, held[last] - held[first], doubt)
        p = p + _steps(len(raw), first, middle, last, moved / left, moved / right)
    return p


def _halvings(labels: int, middle_at: float) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Where blocks and their halves begin and end, sizes with few blocks together; the first cut is at `middle_at`."""
    waiting: list[Ints] = []
    parts = 2
    while parts < 2 * labels:
        places = np.interp(np.arange(parts + 1) / parts, [0, 0.5, 1], [0, middle_at, 1])
        edges = np.rint(labels * places).astype(np.int64)
        cuts = np.stack([edges[0:-1:2], edges[1::2], edges[2::2]])
        waiting.append(cuts[:, (cuts[0] < cuts[1]) & (cuts[1] < cuts[2])])
        parts *= 2
        if sum(each.shape[1] for each in waiting) >= POOLED or parts >= 2 * labels:
            first, middle, last = np.concatenate(waiting, axis=1)
            yield first, middle, last
            waiting = []


def _followed(d: Floats, variance: Floats, share: Floats, doubt: float) -> Floats:
    """The mean of what each difference is, given that it was read as d."""
    more = (SPREADS * np.maximum(share, 0)[:, None]) ** 2
    total = np.maximum(variance, np.finfo(np.float64).tiny)[:, None] + more
    logs = -(d[:, None] ** 2) / total / 2 - np.log(total) / 2
    likely = np.exp(logs - logs.max(axis=1, keepdims=True))
    often = np.full(len(SPREADS), 1 / len(SPREADS))
    for _ in range(STEPS):
        before = often
        often = likely.T @ (1 / (likely @ often)) * often
        often[0] += doubt
        often = often / often.sum()
        if np.abs(often - before).max() < ENOUGH:
            break
    return np.asarray(d * (likely * often * (more / total)).sum(axis=1) / (likely @ often))


def _sums(values: Floats) -> Floats:
    """Sums of the first 0, 1, … of them."""
    return np.concatenate([[0.0], np.cumsum(values)])


def _steps(size: int, first: Ints, middle: Ints, last: Ints, up: Floats, down: Floats) -> Floats:
    """`up` from each first to its middle, -`down` from there to the last, all added up."""
    change = np.zeros(size + 1)
    for place, by in ((first, up), (middle, -up - down), (last, down)):
        np.add.at(change, place, by)
    return np.cumsum(change)[:size]
