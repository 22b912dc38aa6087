"""The percentage of records that meet a condition.

With public sizes, the count divided by n: 100·c/n with c in 0..n, and one changed record moves c by 1. A record short
of the size does not meet the condition.

With a maximum, the share of two counts that are drawn together, of the records that meet it and of those that do not:

    100·U/(U + V)         0 if both are 0

Each record is in one of the two, so each is drawn at the whole epsilon: it is the pair of `_mean_pair` for the values 0
and 100.

Which of the two ways has the smaller error follows from the declarations alone. Let s be the standard deviation of a
count's noise at epsilon, N the size and p the share. To first order in s/N the errors of the share are

                    count / size     pair
    public sizes    s/N              2s·√((1-p)² + p²)/N      a changed record moves both counts of the pair
    a maximum       more than s/N    s·√((1-p)² + p²)/N       count / size must draw the size too, at a part of epsilon

So the pair is used exactly where the size is secret.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np

from inbounds.exact import Ints
from inbounds.query import Metric, RangeQuery, Reach, Scale
from inbounds.schema.columns import NumberColumn, number_column
from inbounds.schema.errors import PlanError
from inbounds.sources.groups import Groups
from inbounds.sources.open import Source
from inbounds.statistics._mean_pair import mean_pair
from inbounds.statistics._numbers import make_all_pairs_query, make_range_query
from inbounds.statistics.base import DerivedValue, GroupAggregates, StatisticContext
from inbounds.statistics.conditions import ConditionStatistic

WHOLE = 100
"""The percentage of all."""

MEETS = number_column(0, WHOLE, step=WHOLE)
"""What a record contributes to the mean that a percentage is: 100 if it meets the condition, else 0."""

PERCENTAGES: NumberColumn = number_column(0, WHOLE)
"""The numbers that a prior of percentages is about."""

WITH, WITHOUT = "with", "without"
"""Endings of the columns of the two counts, after the statistic's name."""

PAIR = replace(
    mean_pair(MEETS),
    parts=(WITH, WITHOUT),
    query=make_all_pairs_query("mean", PERCENTAGES),
    words=f"100·U/(U + V), with U and V the columns {WITH} and {WITHOUT}: the records that meet the condition and "
    "those that do not, drawn together, which errs less than a count divided by a drawn size; 0 if both are 0; "
    "the expected error in the table is that of the sizes which U + V make likely",
)


class Percentage(ConditionStatistic):
    """The percentage of records that meet a condition."""

    kind: Literal["percentage"] = "percentage"

    by_unit: ClassVar[bool] = True
    averages: ClassVar[bool] = True

    def check(self, context: StatisticContext, groups: Groups) -> None:
        super().check(context, groups)
        if self.counts_all:
            raise PlanError("is 100 in every group; name a condition that not every record meets")

    def query(self, context: StatisticContext, size: int) -> RangeQuery:
        if context.public:
            scale = Scale(Fraction(0), Fraction(WHOLE, size), range(size + 1))
            return make_range_query("mean", scale, Reach(1))
        return make_range_query("count", Scale(Fraction(0), Fraction(1), range(size + 1)), Metric(Fraction(1)))

    def positions(self, context: StatisticContext, aggregates: GroupAggregates) -> list[Ints]:
        met, sizes = aggregates.measure, aggregates.sizes
        if context.public:
            return [np.minimum(met, sizes)]
        return [np.minimum(met, sizes), np.minimum(aggregates.rows - met, sizes)]

    def derive(self, context: StatisticContext) -> DerivedValue | None:
        return None if context.public else PAIR

    @staticmethod
    def describe_handling(members: Sequence["Percentage"], context: StatisticContext, source: Source) -> list[str]:
        names = ", ".join(one.name for one in members)
        unknown = "a record for which the condition cannot be decided, as a value is missing"
        if context.public:
            return [
                f"{names}: {unknown}, and each record short of the size, does not meet it; the count is divided by the "
                "size, which is public"
            ]
        return [f"{names}: {unknown}, does not meet it", f"{names}: computed as {PAIR.words}"]
