"""The mean of a column if group sizes are secret: drawn as a pair of sums.

Let v in 0..w be a record's value in steps from low, and n the largest size.

    U = sum of v          V = sum of (w - v)          each clamped to 0..n·w

Each is drawn with noise that costs epsilon/w for every step (`Metric`). One record adds v to U and w - v to V, so the
two draws together cost epsilon·v/w + epsilon·(w - v)/w = epsilon, whatever the record holds. The published mean is

    low + (high - low) · U / (U + V)          the column's `missing` if both are 0

which lies in the range for any two draws. U + V is w times the number of records, so no count has to be drawn.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from inbounds.exact import Floats, Ints
from inbounds.mechanism import Mechanism
from inbounds.query import Metric, RangeQuery, Scale
from inbounds.schema.columns import NumberColumn
from inbounds.schema.text import format_number
from inbounds.statistics._numbers import clamp, make_all_pairs_query, make_range_query, to_python_ints
from inbounds.statistics.base import DerivedValue, ExpectedError, GroupAggregates
from inbounds.trusted.bounds import TOTAL

ABOVE, BELOW = "above_low", "below_high"
"""Endings of the columns of U and V, after the statistic's name."""

MEANS = 64
"""Number of true means at which the expected error is computed."""

STRATA = 128
"""Number of equally likely parts of the noise of each sum; the expected error is then right to about a thousandth."""

POSTERIOR = 64
"""Number of equally likely values of each sum, given its draw, for intervals."""


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
        value=lambda drawn: mean_from_sums(column, *drawn),
        expected=lambda mechanism, prior: mean_expected_error(column, mechanism, prior),
        errors=lambda mechanism, expected, drawn: mean_errors(column, mechanism, expected, drawn),
        interval=lambda mechanism, drawn, level, prior: mean_interval(column, mechanism, drawn, level, prior),
        query=make_all_pairs_query("mean", column),
        words=_words(column),
    )


def _words(column: NumberColumn) -> str:
    low, high, width = (format_number(value) for value in (column.low, column.high, column.high - column.low))
    return (
        f"{low} + {width}·U/(U + V), with U and V the columns {ABOVE} and {BELOW}: the sums of value - ({low}) and of "
        f"{high} - value, drawn together; the expected error is that of a group as large as its maximum, in the table "
        "that of the size which U + V tell"
    )


def mean_from_sums(column: NumberColumn, above: Floats | Ints, below: Floats | Ints) -> Floats:
    """Compute low + (high - low)·U/(U + V), within the bounds; `missing` if both are 0."""
    low, high = float(column.low), float(column.high)
    both = np.asarray(above + below, dtype=np.float64)
    share = np.divide(above, both, out=np.zeros_like(both), where=both > 0)
    return np.where(both > 0, np.clip(low + (high - low) * share, low, high), float(column.missing))


def mean_expected_error(column: NumberColumn, mechanism: Mechanism, prior: Floats | None) -> ExpectedError:
    """Compute the mean absolute error in a group of the maximum size, and that of the best constant.

    The true mean is distributed over the range as the prior says. With n records U = n·mean, V = n·w - U.
    """
    most, noise = len(mechanism.query.answers) - 1, _strata(mechanism)
    shares = np.linspace(0, 1, min(column.width, MEANS) + 1)
    weights = _weights(prior, shares, column.width)
    truths = float(column.low) + shares * float(column.high - column.low)
    errors = [_error(column, share * most, truth, most, noise) for share, truth in zip(shares, truths, strict=True)]
    median = truths[np.searchsorted(np.cumsum(weights), 0.5)]
    return ExpectedError(float(np.dot(weights, errors)), float(weights @ np.abs(truths - median)))


def mean_errors(column: NumberColumn, mechanism: Mechanism, expected: ExpectedError, drawn: Sequence[Ints]) -> Floats:
    """Compute the expected error at the drawn size: the noise is the same, so the error is larger in smaller groups."""
    both, most = np.maximum(drawn[0] + drawn[1], 1), len(mechanism.query.answers) - 1
    return np.asarray(np.clip(expected.error * (most / both), expected.error, float(column.high - column.low) / 2))


def _error(column: NumberColumn, above: float, truth: float, most: int, noise: Floats) -> float:
    """Compute the mean absolute error at one true mean of a full group."""
    u, v = (np.clip(np.rint(part) + noise, 0, most) for part in (above, most - above))
    return float(np.abs(mean_from_sums(column, u[:, None], v[None, :]) - truth).mean())


def _strata(mechanism: Mechanism) -> Floats:
    """Approximate the noise by equally likely values: the means of equal parts of its law."""
    table = mechanism.law.noise_table
    assert table is not None
    noise = np.concatenate([[-table.size], np.arange(-table.half_width, table.half_width + 1), [table.size]])
    mass = np.concatenate([[table.end], table.core, [table.end]]) / TOTAL  # what lies between weighs nothing
    upto, moment = (np.concatenate([[0.0], np.cumsum(part)]) for part in (mass, mass * noise))
    edges = np.linspace(0, upto[-1], STRATA + 1)
    return np.asarray(np.diff(np.interp(edges, upto, moment)) * (STRATA / upto[-1]))


def _weights(prior: Floats | None, shares: Floats, width: int) -> Floats:
    """Return the prior of the mean at these shares of the range, summing to one; flat without a prior."""
    weights = np.ones_like(shares) if prior is None else np.interp(shares * width, np.arange(width + 1), prior)
    return np.asarray(weights / weights.sum())


# --- intervals --------------------------------------------------------------------------------------------


def mean_interval(
    column: NumberColumn, mechanism: Mechanism, drawn: Sequence[Ints], level: Fraction, prior: Floats | None
) -> tuple[Floats, Floats]:
    """Compute the ends between which the mean lies with probability `level`, with equal tails, given both draws.

    The prior: every U and V with U + V <= n·w are equally likely, so the mean is flat whatever the size, or weighted by
    the given prior. Each sum is taken at POSTERIOR equally likely values given its draw; the pairs are sorted by their
    mean.
    """
    values = {int(output): _posterior(mechanism, int(output)) for output in np.unique(np.array(drawn))}
    pairs, place = np.unique(np.array(drawn), axis=1, return_inverse=True)
    most = len(mechanism.query.answers) - 1
    ends = np.array([_ends(column, values[u], values[v], most, level, prior) for u, v in pairs.T.tolist()])
    published = mean_from_sums(column, *drawn)
    low, high = ends[place.ravel()].T
    return np.minimum(low, published), np.maximum(high, published)


def _posterior(mechanism: Mechanism, output: int) -> Floats:
    """Return equally likely values of a sum, given its draw."""
    upto = np.cumsum(mechanism.law.likelihood(mechanism.query, output))
    places = (np.arange(POSTERIOR) + 0.5) / POSTERIOR * upto[-1]
    return np.asarray(np.searchsorted(upto, places), dtype=np.float64)


def _ends(
    column: NumberColumn, above: Floats, below: Floats, most: int, level: Fraction, prior: Floats | None
) -> tuple[float, float]:
    u, v = (part.ravel() for part in np.meshgrid(above, below))
    means, possible = mean_from_sums(column, u, v), u + v <= most
    weights = possible.astype(np.float64) if possible.any() else np.ones_like(means)
    if prior is not None:
        steps = (means - float(column.low)) / float(column.step)
        weights = weights * np.interp(steps, np.arange(column.width + 1), prior) + np.finfo(float).tiny
    order = np.argsort(means)
    upto = np.cumsum(weights[order])
    tail = (1 - float(level)) / 2
    first, last = np.searchsorted(upto, [tail * upto[-1], (1 - tail) * upto[-1]])
    return float(means[order[first]]), float(means[order[min(last, len(order) - 1)]])
