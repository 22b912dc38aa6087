"""Quantiles of a column of numbers: minimum, median, maximum, and any other.

    the least step that a share `at` of the group's records do not exceed       0 the minimum, 1/2 the lower median

Drawn from the records themselves (`QuantileQuery`), by how many of them must change, or be added or removed, until the
quantile is another. With public sizes a record short of the size counts as `missing`; with a maximum, a group without
records does.
"""

from fractions import Fraction
from typing import Any

from inbounds.query import QuantileQuery, Scale
from inbounds.schema.columns import NumberColumn
from inbounds.schema.errors import PlanError
from inbounds.sources.groups import Groups
from inbounds.statistics._numbers import NUMBERS, describe_number_handling
from inbounds.statistics.base import GroupAggregates, StatisticContext, StatisticKind, ValueCounts

MOST_VALUES = 1 << 11
"""Most values of a column with quantiles: expected errors are computed for each value beforehand."""

FIXED = {"min": Fraction(0), "median": Fraction(1, 2), "max": Fraction(1)}
"""The quantiles with a name."""


def _query(at: Fraction | None, subject: StatisticContext[NumberColumn], size: int) -> QuantileQuery:
    column, share = subject.declared, subject.at if at is None else at
    assert share is not None
    scale = Scale(column.low, column.step, range(column.width + 1))
    return QuantileQuery(scale, share, size, subject.public, column.default)


def _positions(subject: StatisticContext[NumberColumn], aggregates: GroupAggregates) -> list[ValueCounts]:
    return [aggregates.by_value]


def _check(subject: StatisticContext[NumberColumn], groups: Groups) -> None:
    if subject.declared.width >= MOST_VALUES:
        raise PlanError(f"has more than {MOST_VALUES} possible values; give the column a larger step")


def _kind(word: str, at: Fraction | None) -> StatisticKind[NumberColumn]:
    return StatisticKind(
        word=word,
        domain=NUMBERS,
        query=lambda subject, size: _query(at, subject, size),
        positions=_positions,
        words=describe_number_handling,
        check=_check,
        short=True,
        empty=True,
        counts_values=True,
    )


MIN, MEDIAN, MAX = (_kind(word, at) for word, at in FIXED.items())
QUANTILE = _kind("quantile", None)


def percent_name(of: str, at: Fraction) -> str:
    """Return the name of a quantile's column unless the plan names one.

    >>> percent_name("score", Fraction(9, 10)), percent_name("score", Fraction(1, 3))
    ('score_q90', 'score_q1/3')
    """
    share: Any = 100 * at
    return f"{of}_q{share if share.denominator == 1 else at}"
