"""Shares of labels, and sums of neighbouring ones: what empirical Bayes makes of each label by itself (`shrinkage`),
corrected where reports know the sums better.

Drawing single shares together is best for the shares, and moves sums over many labels that differ little from each
other: the largest shares of a long tail come first, and all of it is drawn the same way. So the labels are halved
again and again, and the share of the first half of every block is compared with the reports' own, unbiased reading.
Their difference d has the standard deviation s if the estimate is right. In addition to s it varies by t·M among the
blocks of a size, M the share of the block and t one of SPREADS; how often each t occurs is estimated from all blocks
of that size (Stephens, False discovery rates: a new deal, 2017; for wavelets Xing, Carbonetto and Stephens, Flexible
signal denoising via flexible empirical Bayes shrinkage, 2021), and the mean of what d leaves open is added. Labels
whose order means nothing have no such differences, and keep their estimates.
"""

from collections.abc import Iterator

import numpy as np

from inbounds.local.reconstruct.affine import AffineReading
from inbounds.local.reconstruct.linear import onto_simplex
from inbounds.local.reconstruct.shrinkage import mean_shares
from inbounds.numbers import Floats, Ints

FEW = 70
"""With so many labels the estimate starts half way between `mean_shares` and the projection of the unbiased shares:
few labels tell little of how shares are distributed."""

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
    raw, labels = law.shares, len(law.seen)
    means, followed = mean_shares(law, reports)
    trust = labels**2 / (labels**2 + FEW**2)
    start = trust * means + (1 - trust) * onto_simplex(raw)
    left_open = trust * np.maximum(1 - followed, LEAST_OPEN) * law.deviations(raw, reports) ** 2
    return onto_simplex(_corrected(start, raw, left_open))


def _corrected(start: Floats, raw: Floats, left_open: Floats) -> Floats:
    """The start, with the sums over blocks moved towards those of `raw`, the largest blocks first."""
    p, doubt = start, DOUBT * np.sqrt(len(raw))
    off, open_ = _sums(raw - start), _sums(left_open)
    for first, middle, last in _halvings(len(raw)):
        left, right = middle - first, last - middle
        width = left + right
        d = (right * (off[middle] - off[first]) - left * (off[last] - off[middle])) / width
        variance = right**2 * (open_[middle] - open_[first]) + left**2 * (open_[last] - open_[middle])
        held = _sums(p)
        moved = _followed(d, variance / width**2, held[last] - held[first], doubt)
        p = p + _steps(len(raw), first, middle, last, moved / left, moved / right)
    return p


def _halvings(labels: int) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Where blocks and their halves begin and end, sizes with few blocks together."""
    waiting: list[Ints] = []
    parts = 2
    while parts < 2 * labels:
        edges = np.arange(parts + 1) * labels // parts
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
