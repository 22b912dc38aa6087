"""The number of records that meet a condition.

    min(records that meet it, n)       answers 0..n      one record moves it by 1

n is the group's size, public or at most.
"""

import numpy as np

from inbounds.query import count
from inbounds.tables.statistics.domains import CONDITIONS
from inbounds.tables.statistics.kind import Kind

COUNT = Kind(
    word="count",
    domain=CONDITIONS,
    query=lambda subject, size: count(size),
    measures=lambda subject, own: {"": own.sum().cast("int64")},
    positions=lambda subject, found: [np.minimum(found.own, found.sizes)],
    words=lambda members, source: [],
    named=lambda of: "count",
)
