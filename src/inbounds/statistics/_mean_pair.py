"""The mean of a column if group sizes are secret: drawn as a pair of sums.

Let v in 0..w be a record's value in steps from low, and n the largest size.

    U = sum of v          V = sum of (w - v)          each clamped to 0..n·w

Each is drawn with noise that costs epsilon/w for every step (`Metric`). One record adds v to U and w - v to V, so the
two draws together cost epsilon·v/w + epsilon·(w - v)/w = epsilon, whatever the record holds. The published mean is

    low + (high - low) · U / (U + V)          the column's `missing` if both are 0

which lies in the range for any two draws. U + V is w times the number of records, so no count has to be drawn.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from inbounds.adjust.likelihoods import geometric_variance, read_geometric
from inbounds.exact import Floats, Ints
from inbounds.mechanism import Mechanism
from inbounds.query import Metric, RangeQuery, Scale
from inbounds.schema.columns import NumberColumn
from inbounds.schema.text import format_number
from inbounds.statistics._numbers import clamp, make_all_pairs_query, make_range_query, to_python_ints
from inbounds.statistics.base import DerivedValue, ExpectedError, GroupAggregates
from inbounds.statistics.sizes import SizeBeliefs, lattice, spread_on_nodes
from inbounds.trusted.bounds import TOTAL

ABOVE, BELOW = "above_low", "below_high"
"""Endings of the columns of U and V, after the statistic's name."""

MEANS, STRATA = 64, 128
"""Number of true means at which the error in a group of one size is computed, and number of equally likely parts of the
noise of each sum; the error is then right to about a thousandth. In small groups all means and values are used."""

FEWER = 16, 48
"""The same for each of several sizes whose errors are averaged."""

SIZES, POINTS = 32, 64
"""Numbers of sizes, and of means for each, that represent what is believed given both draws."""

UNLIKELY = 1e-4
"""Sizes beyond this probability are left out."""

TAIL = 3.0
"""Where both likelihoods fall, they are cut at exp(-2·TAIL) of their largest product."""

CELLS = 1 << 21
"""The most numbers in memory at a time."""

TRUTHS = 512
"""Number of means and draws at which coverage is computed: evenly spread, and so right to about a hundredth."""


def pair_query(column: NumberColumn, size: int) -> RangeQuery:
    """Build the query of U, and of V: 0..n·w steps, with epsilon at the distance high - low."""
    scale = Scale(Fraction(0), column.step, range(size * column.width + 1))
    return make_range_query("total", scale, Metric(column.high - column.low))


def pair_positions(column: NumberColumn, aggregates: GroupAggregates) -> list[Ints]:
    """Compute the positions of U and V from the sums of the engine."""
    total, sizes, rows = to_python_ints(aggregates.measure, aggregates.sizes, aggregates.rows)
    most = sizes * column.width
    return [clamp(total, 0, most), clamp(rows * column.width - total, 0, most)]


@lru_cache(256)  # one object per column, so that what is computed from it can be kept
def mean_pair(column: NumberColumn) -> DerivedValue:
    """Define how the mean is computed from U and V."""
    return DerivedValue(
        parts=(ABOVE, BELOW),
        value=lambda drawn, values: mean_from_sums(column, *drawn),
        expected=lambda mechanism, prior, beliefs: mean_expected_error(column, mechanism, prior, beliefs),
        errors=lambda mechanism, drawn, prior, beliefs: mean_errors(column, mechanism, drawn, prior, beliefs),
        interval=lambda mechanism, drawn, level, prior, beliefs: mean_interval(
            column, mechanism, drawn, level, prior, beliefs
        ),
        coverage=lambda mechanism, size, level, prior, beliefs: mean_coverage(
            column, mechanism, size, level, prior, beliefs
        ),
        query=make_all_pairs_query("mean", column),
        words=_words(column),
        pooled=lambda sums, variance, level: pooled_mean(column, sums[0], sums[1], variance, level),
        read=lambda mechanism, drawn: read_sum(mechanism, drawn, _rate(column, mechanism)),
    )


def _words(column: NumberColumn) -> str:
    low, high, width = (format_number(value) for value in (column.low, column.high, column.high - column.low))
    return (
        f"{low} + {width}·U/(U + V), with U and V the columns {ABOVE} and {BELOW}: the sums of value - ({low}) and of "
        f"{high} - value, drawn together; the expected error in the table is that of the sizes which U + V make likely"
    )


def mean_from_sums(column: NumberColumn, above: Floats | Ints, below: Floats | Ints) -> Floats:
    """Compute low + (high - low)·U/(U + V), within the bounds; `missing` if both are 0."""
    low, high = float(column.low), float(column.high)
    both = np.asarray(above + below, dtype=np.float64)
    share = np.divide(above, both, out=np.zeros_like(both), where=both > 0)
    return np.where(both > 0, np.clip(low + (high - low) * share, low, high), float(column.missing))


def mean_expected_error(
    column: NumberColumn, mechanism: Mechanism, prior: Floats | None, beliefs: SizeBeliefs
) -> ExpectedError:
    """Compute the mean absolute error in a group of a size that is distributed so, and that of the best constant.

    The true mean is distributed over the range as the prior says, whatever the size N; U = N·mean, V = N·w - U.
    """
    weights = beliefs.node_weights[0]
    errors = _errors_at(column, mechanism, prior, beliefs)
    truths, shares = _truths(column, prior, int(beliefs.nodes[-1]), MEANS)
    empty = float(weights[beliefs.nodes == 0].sum())  # whose mean is `missing`
    values, chances = np.append(truths, float(column.missing)), np.append(shares * (1 - empty), empty)
    order = np.argsort(values)
    median = values[order][np.searchsorted(np.cumsum(chances[order]), 0.5)]
    return ExpectedError(float(weights @ errors), float(chances @ np.abs(values - median)))


def mean_errors(
    column: NumberColumn, mechanism: Mechanism, drawn: Sequence[Ints], prior: Floats | None, beliefs: SizeBeliefs
) -> Floats:
    """Compute the expected error of every group: that of the sizes that its U + V make likely."""
    errors = spread_on_nodes(beliefs.sizes, beliefs.nodes) @ _errors_at(column, mechanism, prior, beliefs)
    found = np.empty(len(drawn[0]))
    for rows in _chunks(len(found), len(beliefs.sizes)):
        chances = _sizes_given(column, mechanism, (drawn[0] + drawn[1])[rows], beliefs, rows)
        found[rows] = chances @ errors
    return found


def _sizes_given(column: NumberColumn, mechanism: Mechanism, both: Ints, beliefs: SizeBeliefs, rows: slice) -> Floats:
    """Return what is believed about sizes given U + V, groups × sizes.

    The noise of U + V is the sum of two geometric ones, so Pr[it is d] falls as (1 + r·|d|)·exp(-r·|d|).
    """
    weights = beliefs.of_groups(rows)
    joint = weights * _sum_likelihood(_rate(column, mechanism) * np.abs(both[:, None] - beliefs.sizes * column.width))
    totals = joint.sum(axis=1, keepdims=True)
    return np.asarray(np.where(totals > 0, joint / np.where(totals > 0, totals, 1), weights))


def _sum_likelihood(distance: Floats) -> Floats:
    """Return (1 + x)·exp(-x) for each row, times a factor that makes its largest entry not too small."""
    return np.asarray((1 + distance) * np.exp(-(distance - distance.min(axis=1, keepdims=True))))


def _rate(column: NumberColumn, mechanism: Mechanism) -> float:
    """Return by how much the logarithm of the noise's probability falls with every step."""
    return float(mechanism.epsilon) / column.width


def _chunks(count: int, columns: int) -> Iterator[slice]:
    """Yield slices of rows of a matrix with so many columns that fit into memory together."""
    step = max(1, CELLS // columns)
    return (slice(start, start + step) for start in range(0, count, step))


def _errors_at(column: NumberColumn, mechanism: Mechanism, prior: Floats | None, beliefs: SizeBeliefs) -> Floats:
    """Compute the mean absolute error at every node of the sizes."""
    nodes = tuple(beliefs.nodes.tolist())
    return _cached_errors(column, mechanism, None if prior is None else tuple(prior.tolist()), nodes)


@lru_cache(256)
def _cached_errors(
    column: NumberColumn, mechanism: Mechanism, prior: tuple[float, ...] | None, nodes: tuple[int, ...]
) -> Floats:
    means, strata = (MEANS, STRATA) if len(nodes) == 1 else FEWER
    most = len(mechanism.query.answers) - 1
    noise = _strata(mechanism, strata)
    errors = []
    for size in nodes:
        if size == 0:
            errors.append(_error(column, 0.0, float(column.missing), 0, most, noise))
            continue
        truths, weights = _truths(column, None if prior is None else np.array(prior), size, means)
        above = np.linspace(0, size * column.width, len(truths))
        each = [
            _error(column, u, truth, size * column.width, most, noise) for u, truth in zip(above, truths, strict=True)
        ]
        errors.append(float(weights @ each))
    return np.array(errors)


def _truths(column: NumberColumn, prior: Floats | None, size: int, means: int) -> tuple[Floats, Floats]:
    """Return the means that a group of a size can have, or so many steps of them, and their probabilities."""
    shares = np.linspace(0, 1, min(max(size, 1) * column.width, means) + 1)
    return float(column.low) + shares * float(column.high - column.low), _weights(prior, shares)


def _error(
    column: NumberColumn, above: float, truth: float, both: int, most: int, noise: tuple[Floats, Floats]
) -> float:
    """Compute the mean absolute error at one true mean of a group with U + V = both. noise: values and their shares."""
    values, shares = noise
    u, v = (np.clip(np.rint(part) + values, 0, most) for part in (above, both - above))
    return float(shares @ np.abs(mean_from_sums(column, u[:, None], v[None, :]) - truth) @ shares)


def _strata(mechanism: Mechanism, strata: int) -> tuple[Floats, Floats]:
    """Return values of the noise and their shares: all that matter if they are few, else the means of equal parts."""
    noise, mass = _noise_law(mechanism)
    most = len(mechanism.query.answers) - 1
    if 2 * most < strata:  # beyond, every report is an end of the range
        inside = np.bincount(np.clip(noise, -most, most) + most, mass, 2 * most + 1)
        return np.arange(-most, most + 1).astype(np.float64), inside / inside.sum()
    upto, moment = (np.concatenate([[0.0], np.cumsum(part)]) for part in (mass, mass * noise))
    edges = np.linspace(0, upto[-1], strata + 1)
    means = np.diff(np.interp(edges, upto, moment)) * (strata / upto[-1])
    return np.asarray(means), np.full(strata, 1 / strata)


def _noise_law(mechanism: Mechanism) -> tuple[Ints, Floats]:
    """Return the values of the noise of a sum and their probabilities."""
    table = mechanism.law.noise_table
    assert table is not None
    noise = np.concatenate([[-table.size], np.arange(-table.half_width, table.half_width + 1), [table.size]])
    return noise, np.concatenate([[table.end], table.core, [table.end]]) / TOTAL  # what lies between weighs nothing


def _weights(prior: Floats | None, shares: Floats) -> Floats:
    """Return the prior of the mean at these shares of the range, summing to one; flat without a prior."""
    weights = np.ones_like(shares) if prior is None else _at_shares(prior, shares)
    return np.asarray(weights / weights.sum())


def _at_shares(prior: Floats, shares: Floats) -> Floats:
    """Return the prior, which has evenly spaced numbers from low to high, at shares of the range."""
    return np.interp(shares, np.linspace(0, 1, len(prior)), prior)


# --- groups together --------------------------------------------------------------------------------------


def read_sum(mechanism: Mechanism, drawn: Ints, rate: float) -> tuple[Floats, float]:
    """Return readings of drawn sums that are right on average, and the largest variance of one.

    rate: by how much the logarithm of the noise's probability falls with every step.
    """
    readings, _ = read_geometric(drawn, len(mechanism.query.answers) - 1, rate)
    return readings, geometric_variance(rate)


def pooled_mean(
    column: NumberColumn, above: Floats, below: Floats, variance: Floats, level: Fraction
) -> tuple[Floats, Floats, Floats, Floats]:
    """Compute means of groups together from readings of U and V, which each have this variance.

    Expected errors and intervals are those of normal errors, as those of many groups are.
    """
    u, v = np.maximum(above, 0.0), np.maximum(below, 0.0)
    low, high, both = float(column.low), float(column.high), u + v
    values = mean_from_sums(column, u, v)
    width = np.full_like(both, high - low)
    deviation = np.divide(width * np.sqrt((u**2 + v**2) * variance), both**2, out=width.copy(), where=both > 0)
    errors = np.minimum(deviation * math.sqrt(2 / math.pi), width)
    reach = NormalDist().inv_cdf((1 + float(level)) / 2) * deviation
    return values, errors, np.maximum(values - reach, low), np.minimum(values + reach, high)


# --- intervals --------------------------------------------------------------------------------------------


def mean_interval(
    column: NumberColumn,
    mechanism: Mechanism,
    drawn: Sequence[Ints],
    level: Fraction,
    prior: Floats | None,
    beliefs: SizeBeliefs,
) -> tuple[Floats, Floats]:
    """Compute the ends between which the mean lies with probability `level`, with equal tails, given both draws.

    Given the size, the mean is flat over the range or as the prior says. The interval holds the published mean.
    """
    tail, published = (1 - float(level)) / 2, mean_from_sums(column, *drawn)
    low, high = published.copy(), published.copy()
    for rows in _chunks(len(published), SIZES * POINTS):
        means, weights = _posterior(column, mechanism, drawn[0][rows], drawn[1][rows], prior, beliefs, rows)
        order = np.argsort(means, axis=1)
        means, weights = (np.take_along_axis(part, order, axis=1) for part in (means, weights))
        upto = np.cumsum(weights, axis=1)
        for row, (ends, place) in enumerate(zip(means, upto / upto[:, -1:], strict=True), rows.start):
            first, last = np.searchsorted(place, [tail, 1 - tail])
            low[row] = min(low[row], ends[first])
            high[row] = max(high[row], ends[min(last, len(ends) - 1)])
    return low, high


def _posterior(
    column: NumberColumn,
    mechanism: Mechanism,
    above: Ints,
    below: Ints,
    prior: Floats | None,
    beliefs: SizeBeliefs,
    rows: slice,
) -> tuple[Floats, Floats]:
    """Return means and their weights, groups × points, that represent what is believed given both draws.

    All sizes that U + V leave possible, or SIZES of them; for each all U that neither draw excludes, or POINTS of them,
    weighted by both likelihoods.
    """
    rate = _rate(column, mechanism)
    chances = _sizes_given(column, mechanism, above + below, beliefs, rows)
    chosen, weights = _spread(chances)
    both = beliefs.sizes[chosen].astype(np.float64) * column.width  # groups × sizes
    u, v = above[:, None].astype(np.float64), both - below[:, None]  # where each likelihood is largest
    first = np.ceil(np.clip(np.minimum(u, v) - TAIL / rate, 0, both))
    last = np.floor(np.clip(np.maximum(u, v) + TAIL / rate, first, both))
    apart = np.maximum((last - first + 1) / POINTS, 1.0)
    places = first[..., None] + (np.arange(POINTS) + 0.5) * apart[..., None] - 0.5
    exponent = np.abs(places - u[..., None]) + np.abs(places - v[..., None]) - np.abs(u - v)[..., None]
    proposed = (1 + rate * np.abs(u - v)) * (both + 1)  # what the sizes are weighted by already, and a flat mean
    weights = np.exp(-rate * exponent) * (weights * apart / proposed)[..., None] * (places <= last[..., None] + 0.5)
    places = np.minimum(places, both[..., None])
    shares = np.divide(places, both[..., None], out=np.zeros_like(places), where=both[..., None] > 0)
    means = float(column.low) + float(column.high - column.low) * shares
    means = np.where(both[..., None] > 0, means, float(column.missing))
    if prior is not None:
        weights = weights * _at_shares(prior, shares) + np.finfo(float).tiny
    return means.reshape(len(above), -1), weights.reshape(len(above), -1)


def _spread(chances: Floats) -> tuple[Ints, Floats]:
    """Return the places of at most SIZES sizes, groups × SIZES, and their weights; all sizes that are likely if few."""
    upto = np.cumsum(chances, axis=1)
    first = (upto < UNLIKELY).sum(axis=1, keepdims=True)
    last = np.minimum((upto < 1 - UNLIKELY).sum(axis=1, keepdims=True), chances.shape[1] - 1)
    step = np.maximum((last - first + 1) / SIZES, 1.0)
    places = first + np.floor((np.arange(SIZES) + 0.5) * step).astype(np.int64)
    inside = places <= last
    places = np.minimum(places, last)
    return places, np.take_along_axis(chances, places, axis=1) * inside


def mean_coverage(
    column: NumberColumn,
    mechanism: Mechanism,
    size: int,
    level: Fraction,
    prior: Floats | None,
    beliefs: SizeBeliefs,
) -> float:
    """Compute the probability that the interval of a group of this size holds its mean.

    beliefs: what is believed about the size; each of several with the same probability. Means and draws are spread
    evenly (a lattice of irrational steps), so nothing is random.
    """
    turns = np.arange(TRUTHS)[:, None] * lattice(3) % 1
    upto = np.cumsum(_weights(prior, np.linspace(0, 1, MEANS + 1)))
    shares = np.interp(turns[:, 0], np.concatenate([[0.0], upto]), np.linspace(0, 1, MEANS + 2))
    both, most = size * column.width, len(mechanism.query.answers) - 1
    above = np.rint(shares * both).astype(np.int64)
    drawn = [
        np.clip(part + _noise_at(mechanism, turn), 0, most)
        for part, turn in ((above, turns[:, 1]), (both - above, turns[:, 2]))
    ]
    beliefs = replace(beliefs, place=np.arange(TRUTHS) % len(beliefs.weights))
    truth, published, tail = (
        mean_from_sums(column, above, both - above),
        mean_from_sums(column, *drawn),
        (1 - float(level)) / 2,
    )
    held = 0
    for rows in _chunks(TRUTHS, SIZES * POINTS):
        means, weights = _posterior(column, mechanism, drawn[0][rows], drawn[1][rows], prior, beliefs, rows)
        total, at = weights.sum(axis=1), truth[rows, None]
        upto, before = ((weights * part).sum(axis=1) / total for part in (means <= at, means < at))
        low_holds = (published[rows] <= truth[rows]) | (
            upto >= tail
        )  # as `mean_interval` has its ends, without sorting
        high_holds = (published[rows] >= truth[rows]) | (before < 1 - tail)
        held += int((low_holds & high_holds).sum())
    return held / TRUTHS


def _noise_at(mechanism: Mechanism, places: Floats) -> Ints:
    """Return quantiles of the noise of a sum."""
    noise, mass = _noise_law(mechanism)
    return np.asarray(noise[np.minimum(np.searchsorted(np.cumsum(mass) / mass.sum(), places), len(noise) - 1)])
