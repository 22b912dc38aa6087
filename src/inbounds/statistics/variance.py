"""The variance of a column of numbers, and its root, the standard deviation.

With a maximum, both are computed from three sums that are drawn together: see `_three_sums`. With public sizes, let v
be the values of n records in steps from low, w the largest, and S and Q the sums of v and v². The variance is

    (n·Q - S²) / n²       steps squared; n·Q - S² is a whole number from 0 to ⌊n²/4⌋·w²

n·Q - S² is the sum of (v_i - v_j)² over all pairs, so one changed record moves it by at most (n - 1)·w². It is rounded
to multiples of q = max(1, ⌊(n - 1)·w² / 16⌋), which one record moves by ⌈(n - 1)·w² / q⌉ of them.

A record short of n counts as `missing`. If there are more than n, the n least values count, which one changed record
changes in one value. The standard deviation is the root of the drawn variance.
"""

from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np

from inbounds.exact import Floats, Ints
from inbounds.mechanism import Mechanism
from inbounds.mechanism.bayes import find_shortest_run
from inbounds.query import RangeQuery, Reach, Scale
from inbounds.schema.columns import LARGEST, NumberColumn
from inbounds.schema.errors import PlanError
from inbounds.sources.groups import Groups
from inbounds.statistics._numbers import NumberStatistic, make_range_query
from inbounds.statistics._three_sums import SpreadScale, prior_query, sums_positions, sums_query, three_sums
from inbounds.statistics.base import DerivedValue, ExpectedError, GroupAggregates, StatisticContext
from inbounds.statistics.quantile import MOST_VALUES
from inbounds.trusted.samplers import seeded_entropy

PARTS = 16
"""Rounding moves an answer by at most half of this part of what one record can move it by."""

VARIANCE = "variance"
"""Ending of the column of the drawn variance, after the name of a standard deviation."""

SIMULATED = 4096
"""Draws that are simulated: the mean error of a root is then right to about two hundredths."""

BLOCK = 1 << 22
"""The most counts in memory at a time."""


def unit_of(size: int, width: int) -> int:
    """Return q: to multiples of it n·Q - S² is rounded."""
    return max(1, (size - 1) * width**2 // PARTS)


class SpreadStatistic(NumberStatistic):
    """The variance of a column of numbers or its root: `is_root`."""

    is_root: ClassVar[bool] = False
    counts_values: ClassVar[bool] = True
    of_levels: ClassVar[bool] = True
    by_unit: ClassVar[bool] = True
    pads: ClassVar[bool] = True

    def check(self, context: StatisticContext, groups: Groups) -> None:
        column, (least, *_), largest = self.number_column(context), groups.distinct_sizes, groups.distinct_sizes[-1]
        if least < 2:
            raise PlanError("needs groups of at least two records: one record has no variance")
        if column.width >= MOST_VALUES:
            raise PlanError(f"has more than {MOST_VALUES} possible values; give the column a larger step")
        if (largest**2 if context.public else largest) * column.width**2 >= LARGEST:
            raise PlanError("has too many possible answers; give the column a larger step")

    def is_drawn_of_levels(self, context: StatisticContext) -> bool:
        return context.public

    def query(self, context: StatisticContext, size: int) -> RangeQuery:
        column = self.number_column(context)
        if not context.public:
            return sums_query(column, size)
        unit, most = unit_of(size, column.width), size**2 // 4 * column.width**2
        scale = Scale(Fraction(0), unit * (column.step / size) ** 2, range(_round(most, unit) + 1))
        return make_range_query("total", scale, Reach(-(-(size - 1) * column.width**2 // unit)))

    def positions(self, context: StatisticContext, aggregates: GroupAggregates) -> list[Ints]:
        column, counts = self.number_column(context), aggregates.by_value
        if not context.public:
            return sums_positions(column, aggregates)
        found, rows = np.empty(len(aggregates.sizes), dtype=np.int64), max(1, BLOCK // (column.width + 1))
        for start in range(0, len(found), rows):
            members = np.arange(start, min(start + rows, len(found)))
            found[members] = _positions(column, counts.histograms(members), aggregates.sizes[members])
        return [found]

    def derive(self, context: StatisticContext) -> DerivedValue | None:
        column = self.number_column(context)
        if not context.public:
            return three_sums(SpreadScale(column, self.is_root))
        return root_of_variance(column) if self.is_root else None


class Variance(SpreadStatistic):
    """The variance of a column of numbers: the mean squared distance from the mean."""

    kind: Literal["variance"] = "variance"


class StandardDeviation(SpreadStatistic):
    """The standard deviation of a column of numbers, in its unit: the root of the variance."""

    kind: Literal["standard_deviation"] = "standard_deviation"

    is_root: ClassVar[bool] = True


@lru_cache(256)  # one object per column, so that what is computed from it can be kept
def root_of_variance(column: NumberColumn) -> DerivedValue:
    """Define how the standard deviation follows from a drawn variance."""
    return DerivedValue(
        parts=(VARIANCE,),
        value=lambda drawn, values: np.sqrt(values[0]),
        expected=lambda mechanism, prior, beliefs: _expected_error(mechanism, prior),
        errors=lambda mechanism, drawn, prior, beliefs: np.full(len(drawn[0]), _expected_error(mechanism, prior).error),
        interval=lambda mechanism, drawn, level, prior, beliefs: _interval_of_root(mechanism, drawn[0], level, prior),
        coverage=lambda mechanism, size, level, prior, beliefs: _coverage_of_root(mechanism, level, prior),
        query=prior_query(column),
        words=f"the root of the column {VARIANCE}, which is drawn",
    )


def _weights(mechanism: Mechanism, prior: Floats | None) -> Floats:
    """Return the prior of the possible variances; without one every standard deviation is equally likely."""
    shares = np.linspace(0, 1, len(mechanism.query.answers))
    if prior is None:
        weights = np.diff(np.sqrt(shares), prepend=0.0)
        weights[0] = weights[-1]
    else:
        weights = np.interp(shares, np.linspace(0, 1, len(prior)), prior)
    return np.asarray(weights / weights.sum())


def _simulate(mechanism: Mechanism, prior: Floats | None) -> tuple[Ints, Ints]:
    """Return positions of evenly spread variances, and a draw of each with a fixed seed."""
    turns = (np.arange(SIMULATED) + 0.5) / SIMULATED
    truths = np.searchsorted(np.cumsum(_weights(mechanism, prior)) * (1 - 1e-12), turns)
    return truths, mechanism.draw(truths, seeded_entropy(np.random.default_rng(len(mechanism.query.answers))))


def _roots(mechanism: Mechanism, places: Any) -> Floats:
    return np.sqrt(np.asarray(mechanism.query.answers.numbers_at(places), dtype=np.float64))


def _expected_error(mechanism: Mechanism, prior: Floats | None) -> ExpectedError:
    positions, drawn = _simulate(mechanism, prior)
    truths = _roots(mechanism, positions)
    error = np.abs(_roots(mechanism, drawn) - truths).mean()
    return ExpectedError(float(error), float(np.abs(truths - np.median(truths)).mean()))


def _interval_of_root(
    mechanism: Mechanism, drawn: Ints, level: Fraction, prior: Floats | None
) -> tuple[Floats, Floats]:
    """Compute the roots of the ends of the variance's interval, which holds as often."""
    outputs, place = np.unique(drawn, return_inverse=True)
    weights, ends = _weights(mechanism, prior), []
    for output in outputs:
        mass = mechanism.law.likelihood(mechanism.query, int(output)) * weights
        mass = mass if mass.sum() > 0 else weights
        first, stop = find_shortest_run(mass / mass.sum(), float(level))
        ends.append((min(first, output), max(stop - 1, output)))
    low, high = _roots(mechanism, np.array(ends).T)[:, place.ravel()]
    return low, high


def _coverage_of_root(mechanism: Mechanism, level: Fraction, prior: Floats | None) -> float:
    positions, drawn = _simulate(mechanism, prior)
    low, high = _interval_of_root(mechanism, drawn, level, prior)
    truths = _roots(mechanism, positions)
    return float(((low <= truths) & (truths <= high)).mean())


def _positions(column: NumberColumn, histograms: Ints, sizes: Ints) -> Ints:
    """Compute positions from the numbers of records with each value, groups × values."""
    upto = np.minimum(np.cumsum(histograms, axis=1), sizes[:, None])  # the n least values
    kept = np.diff(upto, axis=1, prepend=0)
    kept[:, column.default] += sizes - upto[:, -1]
    values = np.arange(column.width + 1)
    units = np.array([unit_of(int(size), column.width) for size in sizes], dtype=np.int64)
    squares, sums = (np.asarray(kept @ part, dtype=np.int64) for part in (values**2, values))
    return np.asarray(_round(sizes * squares - sums**2, units))


def _round(number: Any, unit: Any) -> Any:
    """Return how many units the nearest multiple of a unit has."""
    return (number + unit // 2) // unit
