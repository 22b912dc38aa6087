"""The number of records that meet a condition.

    min(records that meet it, n)       answers 0..n      one record moves it by 1

n is the group's size, public or at most.
"""

from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from inbounds.query import RangeQuery, count
from inbounds.schema.columns import Declared, check_labels
from inbounds.schema.condition import tree as language
from inbounds.schema.condition.parser import parse
from inbounds.schema.condition.tree import Condition
from inbounds.statistics._numbers import sum_measure
from inbounds.statistics.base import Domain, StatisticKind


def _check_condition(of: str, columns: Mapping[str, Declared]) -> Condition:
    """Parse a condition and check it against the declared columns."""
    where = parse(of)
    language.check_condition(where, {name: column.type for name, column in columns.items()})
    check_labels(language.texts_compared(where), columns)
    return where


@lru_cache(maxsize=1024)
def _count_query(size: int) -> RangeQuery:
    """Build the query, which does not depend on what is counted; cached, because many questions share it."""
    return count(size)


CONDITIONS = Domain(
    declared=_check_condition,
    reads=lambda of: list(language.columns_used(parse(of))),
    number=lambda of, where, writer: writer.one_if(where),
    condition=parse,
)

COUNT = StatisticKind(
    word="count",
    domain=CONDITIONS,
    query=lambda subject, size: _count_query(size),
    measures=sum_measure,
    positions=lambda subject, found: [np.minimum(found.measure, found.sizes)],
    words=lambda members, source: [],
    named=lambda of: "count",
    over_groups=True,
)
