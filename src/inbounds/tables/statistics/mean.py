"""The mean of a column of numbers.

With public sizes, the sum over n: n·w + 1 answers, and one changed record moves it by w of them. With a maximum,
rounded to the steps of the column: one record moves it anywhere.
"""

import numpy as np

from inbounds.numbers import Ints
from inbounds.query import Query, Reach, Scale
from inbounds.tables.columns import Number
from inbounds.tables.statistics.kind import Aggregates, StatisticKind, Subject
from inbounds.tables.statistics.numbers import (
    NUMBERS,
    anywhere,
    asked,
    check_answers,
    clamped,
    filled_up,
    of_any_size,
    summed,
    words,
)


def _query(subject: Subject[Number], size: int) -> Query:
    column = subject.declared
    if not subject.public:
        return anywhere("mean", column)
    scale = Scale(column.low, column.step / size, range(size * column.width + 1))
    return asked("mean", scale, Reach(column.width))


def _positions(subject: Subject[Number], found: Aggregates) -> list[Ints]:
    column = subject.declared
    own, sizes, rows = of_any_size(found.own, found.sizes, found.rows)
    if subject.public:
        return [filled_up(column, own, sizes, rows)]
    nearest = (2 * own + rows) // np.maximum(2 * rows, 1)
    return [clamped(np.where(rows > 0, nearest, column.default), 0, column.width)]


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
)
