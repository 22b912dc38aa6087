"""The mean of a column of numbers.

With public sizes, the sum divided by n: n·w + 1 answers, and one changed record moves it by w of them. With a maximum,
the share of two sums that are drawn together: see `_mean_pair`.
"""

from inbounds.exact import Ints
from inbounds.query import RangeQuery, Reach, Scale
from inbounds.schema.columns import NumberColumn
from inbounds.statistics._mean_pair import mean_pair, pair_positions, pair_query
from inbounds.statistics._numbers import (
    NUMBERS,
    check_answers,
    describe_number_handling,
    make_range_query,
    pad_sum,
    sum_measure,
    to_python_ints,
)
from inbounds.statistics.base import GroupAggregates, StatisticContext, StatisticKind


def _query(subject: StatisticContext[NumberColumn], size: int) -> RangeQuery:
    column = subject.declared
    if not subject.public:
        return pair_query(column, size)
    scale = Scale(column.low, column.step / size, range(size * column.width + 1))
    return make_range_query("mean", scale, Reach(column.width))


def _positions(subject: StatisticContext[NumberColumn], aggregates: GroupAggregates) -> list[Ints]:
    if not subject.public:
        return pair_positions(subject.declared, aggregates)
    total, sizes, rows = to_python_ints(aggregates.measure, aggregates.sizes, aggregates.rows)
    return [pad_sum(subject.declared, total, sizes, rows)]


MEAN = StatisticKind(
    word="mean",
    domain=NUMBERS,
    query=_query,
    measures=sum_measure,
    positions=_positions,
    words=describe_number_handling,
    check=check_answers,
    short=True,
    empty=True,
    derived=lambda subject: None if subject.public else mean_pair(subject.declared),
    by_unit=True,
)
