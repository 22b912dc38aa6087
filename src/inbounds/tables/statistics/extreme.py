"""The least, the largest and the middle value of a column of numbers: w + 1 answers, one record moves it anywhere."""

from typing import Any

import numpy as np

from inbounds.numbers import Ints
from inbounds.query import Query
from inbounds.tables.columns import Number
from inbounds.tables.statistics.kind import Aggregates, StatisticKind, Subject
from inbounds.tables.statistics.numbers import NUMBERS, anywhere, words


def _query(subject: Subject[Number], size: int) -> Query:
    return anywhere("extreme", subject.declared)  # as `ib.extreme`, so that readers can ask for the same


def _positions(subject: Subject[Number], found: Aggregates) -> list[Ints]:
    column = subject.declared
    return [np.where(found.rows > 0, found.own, column.default).clip(0, column.width)]


def _median_rows(joined: Any, number: str, name: str) -> Any:
    """The lower median: the least step that at least half of the group's records do not exceed."""
    import ibis

    steps = joined.group_by("group_", number).agg(n=joined.count())
    upto = steps.n.sum().over(ibis.cumulative_window(group_by="group_", order_by=number))
    everyone = steps.n.sum().over(ibis.window(group_by="group_"))
    halves = steps.mutate(upto=upto, everyone=everyone)
    half = halves.filter(halves.upto * 2 >= halves.everyone)
    return half.group_by("group_").agg(**{name: half[number].min()})


MIN = StatisticKind("min", NUMBERS, _query, _positions, words, measures=lambda _, own: {"": own.min()}, empty=True)
MAX = StatisticKind("max", NUMBERS, _query, _positions, words, measures=lambda _, own: {"": own.max()}, empty=True)
MEDIAN = StatisticKind("median", NUMBERS, _query, _positions, words, rows=_median_rows, empty=True)
