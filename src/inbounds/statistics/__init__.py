"""The statistics, one file each. `STATISTICS` is the only list of them; every surface derives from it."""

from collections.abc import Mapping
from types import MappingProxyType

from inbounds.statistics.base import (
    DerivedValue,
    ExpectedError,
    GroupAggregates,
    Statistic,
    StatisticContext,
)
from inbounds.statistics.count import Count
from inbounds.statistics.count_distinct import CountDistinct
from inbounds.statistics.crosstab import Crosstab
from inbounds.statistics.histogram import Histogram
from inbounds.statistics.mean import Mean
from inbounds.statistics.mode import Mode
from inbounds.statistics.percentage import Percentage
from inbounds.statistics.quantile import Max, Median, Min, Quantile
from inbounds.statistics.sum import Sum
from inbounds.statistics.variance import StandardDeviation, Variance

__all__ = [
    "STATISTICS",
    "Count",
    "CountDistinct",
    "Crosstab",
    "DerivedValue",
    "ExpectedError",
    "GroupAggregates",
    "Histogram",
    "Max",
    "Mean",
    "Median",
    "Min",
    "Mode",
    "Percentage",
    "Quantile",
    "StandardDeviation",
    "Statistic",
    "StatisticContext",
    "Sum",
    "Variance",
]

STATISTICS: Mapping[str, type[Statistic]] = MappingProxyType(
    {
        statistic.model_fields["kind"].default: statistic
        for statistic in (
            Count,
            CountDistinct,
            Percentage,
            Histogram,
            Crosstab,
            Sum,
            Mean,
            Variance,
            StandardDeviation,
            Min,
            Max,
            Median,
            Quantile,
            Mode,
        )
    }
)
"""Every statistic, by its kind."""
