"""The number of records that meet a condition.

    min(records that meet it, n)       answers 0..n      one record moves it by 1

n is the group's size, public or at most.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from inbounds.query import Query, count
from inbounds.tables import condition as language
from inbounds.tables.columns import Declared, check_labels
from inbounds.tables.condition import Condition, translated
from inbounds.tables.condition.grammar import parse
from inbounds.tables.statistics.kind import Domain, Fit, StatisticKind, one_if


def _checked(of: str, columns: Mapping[str, Declared]) -> Condition:
    where = parse(of)
    language.check(where, {name: column.type for name, column in columns.items()})
    check_labels(language.texts(where), columns)
    return where


def _meets(of: str, where: Condition, columns: Mapping[str, Any], fit: Fit) -> Any:
    return one_if(translated(language.with_texts(where, fit), dict(columns)))


@lru_cache(maxsize=1024)
def _count_of(size: int) -> Query:
    """Which does not depend on what is counted: many questions share it."""
    return count(size)


CONDITIONS = Domain(declared=_checked, reads=lambda of: list(language.used(parse(of))), number=_meets, condition=parse)

COUNT = StatisticKind(
    word="count",
    domain=CONDITIONS,
    query=lambda subject, size: _count_of(size),
    measures=lambda subject, own: {"": own.sum().cast("int64")},
    positions=lambda subject, found: [np.minimum(found.own, found.sizes)],
    words=lambda members, source: [],
    named=lambda of: "count",
    over_groups=True,
)
