"""The kinds of statistics, one file each. `KINDS` is the registry; a plan names a kind by its word."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from inbounds.statistics._numbers import NUMBERS
from inbounds.statistics.base import (
    DerivedValue,
    Domain,
    ExpectedError,
    GroupAggregates,
    StatisticContext,
    StatisticKind,
)
from inbounds.statistics.count import CONDITIONS, COUNT
from inbounds.statistics.crosstab import CROSSES, CROSSTAB
from inbounds.statistics.histogram import HISTOGRAM, LABELS
from inbounds.statistics.mean import MEAN
from inbounds.statistics.mode import MODE
from inbounds.statistics.quantile import MAX, MEDIAN, MIN, QUANTILE
from inbounds.statistics.sum import SUM

__all__ = [
    "CONDITIONS",
    "CROSSES",
    "DOMAINS",
    "KINDS",
    "LABELS",
    "NUMBERS",
    "DerivedValue",
    "Domain",
    "ExpectedError",
    "GroupAggregates",
    "StatisticContext",
    "StatisticKind",
]

KINDS: Mapping[str, StatisticKind[Any]] = MappingProxyType(
    {kind.word: kind for kind in (COUNT, HISTOGRAM, CROSSTAB, SUM, MEAN, MIN, MAX, MEDIAN, QUANTILE, MODE)}
)
"""Every kind of statistic, by its word."""

DOMAINS: tuple[Domain[Any], ...] = (NUMBERS, LABELS, CROSSES, CONDITIONS)
"""The domains of statistics, in the order in which a release describes them."""
