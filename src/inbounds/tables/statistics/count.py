"""The number of records that meet a condition.

    min(records that meet it, n)       answers 0..n      one record moves it by 1

n is the group's size, public or at most.
"""

from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from inbounds.query import Query, count
from inbounds.tables import condition as language
from inbounds.tables.columns import Declared, check_labels
from inbounds.tables.condition import Condition
from inbounds.tables.condition.grammar import parse
from inbounds.tables.statistics.kind import Domain, StatisticKind
from inbounds.tables.statistics.numbers import summed


def _checked(of: str, columns: Mapping[str, Declared]) -> Condition:
    where = parse(of)
    language.check(where, {name: column.type for name, column in columns.items()})
    check_labels(language.texts(where), columns)
    return where


@lru_cache(maxsize=1024)
def _count_of(size: int) -> Query:
    """Which does not depend on what is counted: many questions share it."""
    return count(size)


CONDITIONS = Domain(
    declared=_checked,
    reads=lambda of: list(language.used(parse(of))),
    number=lambda of, where, writer: writer.one_if(where),
    condition=parse,
)

COUNT = StatisticKind(
    word="count",
    domain=CONDITIONS,
    query=lambda subject, size: _count_of(size),
    measures=summed,
    positions=lambda subject, found: [np.minimum(found.own, found.sizes)],
    words=lambda members, source: [],
    named=lambda of: "count",
    over_groups=True,
)
