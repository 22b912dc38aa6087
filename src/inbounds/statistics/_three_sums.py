"""The variance of a column if group sizes are secret: drawn as three sums.

Let v in 0..w be a record's value in steps from low, and n the largest size. With q = max(1, ⌊w² / PARTS⌋):

    A = sum of v²        B = sum of 2·v·(w - v)        C = sum of (w - v)²

each rounded to multiples of q and clamped to 0..n·w². A record adds (v + (w - v))² = w² to the three
together. If it adds a, b and c, the rounded sums rise by at most ⌈a/q⌉, ⌈b/q⌉ and ⌈c/q⌉ steps, together by at
most D steps, with D = w² for q = 1, and ⌈w²/q⌉ + 2 else. Each is drawn with noise that costs epsilon/D for every step
(`Metric`), so the three draws together cost epsilon, whatever the record holds. With N = A + B + C,

    (A·C - B²/4) / N²       the variance as a part of the squared range, in 0..1/4; 0 if all are 0

N is w² times the number of records, so no count has to be drawn. It is the mean's pair of sums (`_mean_pair`) with
the terms of (u + (1 - u))² instead of those of u + (1 - u).

Expected errors and intervals come from a simulation and from the posterior given the three draws. Beforehand every
variance from 0 to a quarter of the squared range is equally likely, or every standard deviation if that is published,
and given it every mean that is possible with it.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np

from inbounds.exact import Floats, Ints
from inbounds.mechanism import Mechanism
from inbounds.query import Metric, RangeQuery, Scale
from inbounds.schema.columns import NumberColumn
from inbounds.statistics._mean_pair import read_sum
from inbounds.statistics._numbers import clamp, make_range_query
from inbounds.statistics.base import DerivedValue, ExpectedError, GroupAggregates
from inbounds.statistics.sizes import SizeBeliefs, lattice
from inbounds.trusted.samplers import seeded_entropy

PARTS = 128
"""Steps of a sum that one record moves: rounding costs two of them, 1.6 % of epsilon; 500,000 records fit."""

SQUARES, PRODUCTS, FAR_SQUARES = "squares", "products", "far_squares"
"""Endings of the columns of A, B and C, after the statistic's name."""

GROUPS = 4096
"""Groups that are simulated: the mean error is then right to about two hundredths."""

POINTS = 512
"""Points from the prior, and as many around the draws, that represent what is believed given them."""

CELLS = 1 << 21
"""The most numbers in memory at a time."""

HIGHEST = 0.25
"""The largest variance, as a part of the squared range."""


@dataclass(frozen=True)
class SpreadScale:
    """How a variance as a part of the squared range becomes what is published: itself, or its root, in its unit."""

    column: NumberColumn
    is_root: bool

    def shares(self, prior: Floats | None, turns: Floats) -> Floats:
        """Return variances, as parts of the squared range, at these quantiles of their prior.

        prior: of evenly spaced variances. Without one every number that can be published is equally likely.
        """
        if prior is None:
            return np.asarray(HIGHEST * (turns**2 if self.is_root else turns))
        upto = np.concatenate([[0.0], np.cumsum(prior / prior.sum())])
        return np.asarray(HIGHEST * np.interp(turns, upto, np.linspace(0, 1, len(upto))))

    def density(self, prior: Floats | None, share: Floats) -> Floats:
        """Return the density of that prior at a variance."""
        if prior is not None:
            places = np.minimum((share / HIGHEST * len(prior)).astype(np.int64), len(prior) - 1)
            return np.asarray((prior / prior.sum())[places] * len(prior) / HIGHEST)
        if self.is_root:
            return np.asarray(1 / (2 * np.sqrt(HIGHEST * np.maximum(share, 1e-12))))
        return np.full_like(share, 1 / HIGHEST)

    def publish(self, share: Any) -> Floats:
        """Return the published numbers."""
        width = float(self.column.high - self.column.low)
        return np.asarray(width * np.sqrt(share) if self.is_root else width * width * np.asarray(share))


def step_of(column: NumberColumn) -> tuple[int, int]:
    """Return q, the unit of the sums, and D, by how many units one record moves the three together at most."""
    square = column.width**2
    unit = max(1, square // PARTS)
    return unit, square if unit == 1 else -(-square // unit) + 2


def sums_query(column: NumberColumn, size: int) -> RangeQuery:
    """Build the query of each of the three sums."""
    unit, reach = step_of(column)
    worth = unit * column.step**2
    last = _round(size * column.width**2, unit)
    return make_range_query("total", Scale(Fraction(0), worth, range(last + 1)), Metric(reach * worth))


def sums_positions(column: NumberColumn, aggregates: GroupAggregates) -> list[Ints]:
    """Compute the positions of A, B and C from the counts of values."""
    unit, _ = step_of(column)
    v = np.arange(column.width + 1)
    most = np.array([_round(int(size) * column.width**2, unit) for size in aggregates.sizes], dtype=np.int64)
    weights = v**2, 2 * v * (column.width - v), (column.width - v) ** 2
    return [clamp(_round(aggregates.by_value.rows @ weight, unit), 0, most) for weight in weights]


def _round(number: Any, unit: int) -> Any:
    return (number + unit // 2) // unit


def share_of(a: Any, b: Any, c: Any) -> Floats:
    """Compute (A·C - B²/4) / N², in 0..1/4; 0 if all are 0."""
    a, b, c = (np.asarray(part, dtype=np.float64) for part in (a, b, c))
    whole = a + b + c
    a, b, c = (np.divide(part, whole, out=np.zeros_like(whole), where=whole > 0) for part in (a, b, c))
    return np.asarray(np.clip(a * c - b * b / 4, 0.0, HIGHEST))


@lru_cache(256)  # one object per column, so that what is computed from it can be kept
def three_sums(scale: SpreadScale) -> DerivedValue:
    """Define how the variance or standard deviation is computed from the three sums."""
    column = scale.column
    root = "the root of " if scale.is_root else ""
    return DerivedValue(
        parts=(SQUARES, PRODUCTS, FAR_SQUARES),
        value=lambda drawn, values: scale.publish(share_of(*drawn)),
        expected=lambda mechanism, prior, beliefs: _expected_error(scale, mechanism, prior, beliefs),
        errors=lambda mechanism, drawn, prior, beliefs: _posterior_errors(scale, mechanism, drawn, prior, beliefs),
        interval=lambda mechanism, drawn, level, prior, beliefs: _intervals(
            scale, mechanism, drawn, level, prior, beliefs
        ),
        coverage=lambda mechanism, size, level, prior, beliefs: _coverage(
            scale, mechanism, size, level, prior, beliefs
        ),
        query=prior_query(column),
        words=f"{root}(A·C - B²/4)/(A + B + C)² times the squared range, with A, B and C the columns {SQUARES}, "
        f"{PRODUCTS} and {FAR_SQUARES}: the sums of (value - low)², 2·(value - low)·(high - value) and "
        "(high - value)², drawn together; the expected error in the table is that of the sizes which A + B + C make "
        "likely",
        pooled=lambda sums, variance, level: _pooled(scale, sums, variance, level),
        read=lambda mechanism, drawn: read_sum(mechanism, drawn, _rate(column, mechanism)),
    )


def prior_query(column: NumberColumn) -> RangeQuery:
    """Build the query that a declared prior of variances is about: evenly spaced from 0 to the largest."""
    largest = (column.high - column.low) ** 2 / 4
    return make_range_query("total", Scale(Fraction(0), largest / POINTS, range(POINTS + 1)), Metric(largest))


# --- groups that the prior makes likely -------------------------------------------------------------------------


def _moments(share: Floats, turns: Floats) -> tuple[Floats, Floats, Floats]:
    """Return (A, B, C) / N of groups with these variances, whose means are anywhere that is possible."""
    reach = np.sqrt(np.maximum(1 - share / HIGHEST, 0.0))
    mean = 0.5 + reach * (turns - 0.5)
    square = share + mean**2
    return square, 2 * (mean - square), 1 - 2 * mean + square


@dataclass(frozen=True, eq=False)
class _SimulatedGroups:
    """Simulated groups: their sizes, true variances as parts of the squared range, and the drawn sums."""

    sizes: Ints
    truths: Floats
    drawn: tuple[Ints, ...]

    @classmethod
    def simulate(
        cls, scale: SpreadScale, mechanism: Mechanism, prior: Floats | None, sizes: Ints
    ) -> "_SimulatedGroups":
        """Simulate a group of each of these sizes: evenly spread truths, and draws with a fixed seed."""
        column, (unit, _) = scale.column, step_of(scale.column)
        turns = np.arange(1, len(sizes) + 1)[:, None] * lattice(2) % 1
        share = np.where(sizes > 0, scale.shares(prior, turns[:, 0]), 0.0)
        whole, last = sizes * float(column.width**2) / unit, len(mechanism.query.answers) - 1
        sums = [np.clip(np.rint(part * whole), 0, last).astype(np.int64) for part in _moments(share, turns[:, 1])]
        draws = seeded_entropy(np.random.default_rng([int(sizes[-1]), column.width]))
        return cls(sizes, share, tuple(mechanism.draw(part, draws) for part in sums))


def _spread_sizes(beliefs: SizeBeliefs, count: int) -> Ints:
    """Return so many sizes, evenly spread over their distribution."""
    upto = np.cumsum(beliefs.weights[0])
    places = np.searchsorted(upto, (np.arange(count) + 0.5) / count * upto[-1])
    return np.asarray(beliefs.sizes[np.minimum(places, len(upto) - 1)])


def _expected_error(
    scale: SpreadScale, mechanism: Mechanism, prior: Floats | None, beliefs: SizeBeliefs
) -> ExpectedError:
    groups = _SimulatedGroups.simulate(scale, mechanism, prior, _spread_sizes(beliefs, GROUPS))
    truths = scale.publish(groups.truths)
    error = np.abs(scale.publish(share_of(*groups.drawn)) - truths).mean()
    return ExpectedError(float(error), float(np.abs(truths - np.median(truths)).mean()))


# --- given the draws --------------------------------------------------------------------------------------------


def _rate(column: NumberColumn, mechanism: Mechanism) -> float:
    """Return by how much the logarithm of the noise's probability falls with every step."""
    return float(mechanism.epsilon) / step_of(column)[1]


def _posteriors(
    scale: SpreadScale, mechanism: Mechanism, drawn: Sequence[Ints], prior: Floats | None, beliefs: SizeBeliefs
) -> Iterator[tuple[slice, Floats, Floats]]:
    """Yield for blocks of groups what may be published of them and its weights, groups × points.

    Half of the points are spread over the prior and half over the likelihood of the draws, each weighted by prior times
    likelihood over the mean of both densities. So many points matter wherever the draws tell much or little.
    """
    unit, _ = step_of(scale.column)
    per_record = float(scale.column.width**2) / unit
    rate = _rate(scale.column, mechanism)
    turns = np.arange(1, POINTS + 1)[:, None] * lattice(3) % 1
    noise = np.sign(0.5 - turns) * np.log1p(-2 * np.abs(turns - 0.5)) / rate  # points × sums, of the Laplace law
    share = scale.shares(prior, turns[:, 1])
    spread = np.stack(_moments(share, turns[:, 2]))
    count = len(drawn[0])
    rows = max(1, CELLS // (2 * POINTS * 3))
    for start in range(0, count, rows):
        block = slice(start, min(start + rows, count))
        centers = np.stack([part[block] for part in drawn]).astype(np.float64)
        weights = beliefs.of_groups(block)
        near = centers[:, :, None] + noise.T[:, None, :]
        sizes = _sizes_at(beliefs.sizes, weights, turns[:, 0])
        sums = np.concatenate([np.broadcast_to(spread[:, None, :] * sizes * per_record, near.shape), near], axis=2)
        likelihood = np.exp(-rate * np.abs(sums - centers[:, :, None]).sum(axis=0))
        density = _density(scale, sums, per_record, prior, beliefs.sizes, weights)
        proposed = (density + (rate / 2) ** 3 * likelihood) / 2
        mass = np.divide(density * likelihood, proposed, out=np.zeros_like(density), where=density > 0)
        yield block, scale.publish(share_of(*np.maximum(sums, 0.0))), mass + np.finfo(float).tiny


def _sizes_at(sizes: Ints, weights: Floats, turns: Floats) -> Floats:
    """Return sizes at these quantiles of each distribution, distributions × points; between two sizes all alike."""
    ends = (sizes[:-1] + sizes[1:]) / 2
    edges = np.concatenate([[max(sizes[0] - 0.5, 0.0)], ends, [sizes[-1] + 0.5]])
    found = [np.interp(turns, np.concatenate([[0.0], np.cumsum(row) / row.sum()]), edges) for row in weights]
    return np.array(found)


def _density(
    scale: SpreadScale, sums: Floats, per_record: float, prior: Floats | None, sizes: Ints, weights: Floats
) -> Floats:
    """Return the density of three sums, groups × points, if sizes and variances are as likely as said.

    The size N has a density of its own, and given N so have the variance s and, given s, the mean, which lies in a part
    √(1 - 4s) of the range. (A, B, C) = N·(s + m², 2(m - s - m²), 1 - 2m + s + m²) has the determinant 2N².
    """
    whole = sums.sum(axis=0) / per_record
    share = share_of(*np.maximum(sums, 0.0))
    possible = (sums >= 0).all(axis=0) & (whole > 0)
    a, b, c = sums
    possible &= a * c >= b * b / 4
    ends = (sizes[:-1] + sizes[1:]) / 2
    edges = np.concatenate([[max(sizes[0] - 0.5, 0.0)], ends, [sizes[-1] + 0.5]])
    place = np.searchsorted(edges, whole, side="right") - 1
    possible &= (place >= 0) & (place < len(sizes))
    place = np.clip(place, 0, len(sizes) - 1)
    heights = weights / weights.sum(axis=1, keepdims=True) / np.diff(edges)
    of_size = np.take_along_axis(heights, place, axis=1) if len(heights) > 1 else heights[0][place]
    room = np.maximum(np.sqrt(np.maximum(1 - share / HIGHEST, 0.0)), 1e-6)
    density = of_size * scale.density(prior, share) / (room * 2 * np.maximum(whole, 1e-100) ** 2 * per_record**3)
    return np.where(possible, density, 0.0)


def _posterior_errors(
    scale: SpreadScale, mechanism: Mechanism, drawn: Sequence[Ints], prior: Floats | None, beliefs: SizeBeliefs
) -> Floats:
    """Compute the expected error of every group's number, given its draws."""
    published, found = scale.publish(share_of(*drawn)), np.empty(len(drawn[0]))
    for block, values, mass in _posteriors(scale, mechanism, drawn, prior, beliefs):
        found[block] = (mass * np.abs(values - published[block, None])).sum(axis=1) / mass.sum(axis=1)
    return found


def _intervals(
    scale: SpreadScale,
    mechanism: Mechanism,
    drawn: Sequence[Ints],
    level: Fraction,
    prior: Floats | None,
    beliefs: SizeBeliefs,
) -> tuple[Floats, Floats]:
    """Compute the ends between which the number lies with probability `level`, with equal tails, given the draws.

    The interval holds the published number.
    """
    published, tail = scale.publish(share_of(*drawn)), (1 - float(level)) / 2
    low, high = published.copy(), published.copy()
    for block, values, mass in _posteriors(scale, mechanism, drawn, prior, beliefs):
        order = np.argsort(values, axis=1)
        values, mass = (np.take_along_axis(part, order, axis=1) for part in (values, mass))
        upto = np.cumsum(mass, axis=1)
        places = np.arange(len(values))
        first, last = ((upto < end * upto[:, -1:]).sum(axis=1) for end in (tail, 1 - tail))
        low[block] = np.minimum(low[block], values[places, first])
        high[block] = np.maximum(high[block], values[places, np.minimum(last, values.shape[1] - 1)])
    return low, high


def _coverage(
    scale: SpreadScale,
    mechanism: Mechanism,
    size: int,
    level: Fraction,
    prior: Floats | None,
    beliefs: SizeBeliefs,
) -> float:
    """Compute the probability that the interval of a group of this size holds its number, from simulated groups."""
    groups = _SimulatedGroups.simulate(scale, mechanism, prior, np.full(POINTS, size))
    of_groups = SizeBeliefs(beliefs.sizes, beliefs.weights, np.arange(POINTS) % len(beliefs.weights))
    low, high = _intervals(scale, mechanism, groups.drawn, level, prior, of_groups)
    truths = scale.publish(groups.truths)
    return float(((low <= truths) & (truths <= high)).mean())


# --- groups together --------------------------------------------------------------------------------------------


def _pooled(
    scale: SpreadScale, sums: Sequence[Floats], variance: Floats, level: Fraction
) -> tuple[Floats, Floats, Floats, Floats]:
    """Compute the numbers of groups together from readings of their sums, which each have this variance.

    Expected errors and intervals are those of normal errors, as those of many groups are.
    """
    a, b, c = (np.maximum(part, 0.0) for part in sums)
    share, whole = share_of(a, b, c), a + b + c
    known = whole > 0
    whole = np.where(known, whole, 1.0)
    slopes = c / whole - 2 * share, -b / whole / 2 - 2 * share, a / whole - 2 * share
    deviation = np.sqrt(variance * sum(slope**2 for slope in slopes)) / whole
    deviation = np.where(known, np.minimum(deviation, HIGHEST), HIGHEST)
    reach = NormalDist().inv_cdf((1 + float(level)) / 2) * deviation
    low, high = np.maximum(share - reach, 0.0), np.minimum(share + reach, HIGHEST)
    published = scale.publish(share)
    sides = [np.abs(scale.publish(np.clip(share + sign * deviation, 0.0, HIGHEST)) - published) for sign in (-1, 1)]
    errors = (sides[0] + sides[1]) / 2 * math.sqrt(2 / math.pi)
    return published, errors, scale.publish(low), scale.publish(high)
