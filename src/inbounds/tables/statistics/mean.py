"""The mean of a column of numbers.

With public sizes, the sum over n: n·w + 1 answers, and one changed record moves it by w of them. With a maximum, the
share of two sums that are drawn together: see `pair`.
"""

from inbounds.numbers import Ints
from inbounds.query import Query, Reach, Scale
from inbounds.tables.columns import Number
from inbounds.tables.statistics.kind import Aggregates, StatisticKind, Subject
from inbounds.tables.statistics.numbers import (
    NUMBERS,
    asked,
    check_answers,
    filled_up,
    of_any_size,
    summed,
    words,
)
from inbounds.tables.statistics.pair import pair, pair_positions, pair_query


def _query(subject: Subject[Number], size: int) -> Query:
    column = subject.declared
    if not subject.public:
        return pair_query(column, size)
    scale = Scale(column.low, column.step / size, range(size * column.width + 1))
    return asked("mean", scale, Reach(column.width))


def _positions(subject: Subject[Number], found: Aggregates) -> list[Ints]:
    if not subject.public:
        return pair_positions(subject.declared, found)
    own, sizes, rows = of_any_size(found.own, found.sizes, found.rows)
    return [filled_up(subject.declared, own, sizes, rows)]


MEAN = StatisticKind(
    word="mean",
    domain=NUMBERS,
    query=_query,
    measures=summed,
    positions=_positions,
    words=words,
    check=check_answers,
    short=True,
    empty=True,
    derived=lambda subject: None if subject.public else pair(subject.declared),
    by_unit=True,
)
