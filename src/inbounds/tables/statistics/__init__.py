"""The kinds of statistics, one file each. A plan names them by their word; nothing else tells them apart."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from inbounds.tables.statistics.count import CONDITIONS, COUNT
from inbounds.tables.statistics.crosstab import CROSSES, CROSSTAB
from inbounds.tables.statistics.histogram import HISTOGRAM, LABELS
from inbounds.tables.statistics.kind import Aggregates, Derived, Domain, ExpectedError, StatisticKind, Subject
from inbounds.tables.statistics.mean import MEAN
from inbounds.tables.statistics.mode import MODE
from inbounds.tables.statistics.numbers import NUMBERS
from inbounds.tables.statistics.quantile import MAX, MEDIAN, MIN, QUANTILE
from inbounds.tables.statistics.sum import SUM

__all__ = [
    "CONDITIONS",
    "CROSSES",
    "DOMAINS",
    "KINDS",
    "LABELS",
    "NUMBERS",
    "Aggregates",
    "Derived",
    "Domain",
    "ExpectedError",
    "StatisticKind",
    "Subject",
]

KINDS: Mapping[str, StatisticKind[Any]] = MappingProxyType(
    {kind.word: kind for kind in (COUNT, HISTOGRAM, CROSSTAB, SUM, MEAN, MIN, MAX, MEDIAN, QUANTILE, MODE)}
)
"""Every kind of statistic, by its word."""

DOMAINS: tuple[Domain[Any], ...] = (NUMBERS, LABELS, CROSSES, CONDITIONS)
"""What statistics are computed of, in the order in which a release speaks of them."""
