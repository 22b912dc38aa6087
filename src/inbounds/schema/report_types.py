"""The fields of `reports` in a release record: the draws of statistics that add up.

The table can be computed again from them.
"""

from fractions import Fraction
from typing import Any, NotRequired, TypedDict

import numpy as np
from numpy.typing import NDArray

KNOWN, MOST = "known", "most"
"""How the cells of a group sum: to its public size, or to at most its size."""

CELLS, ROWS, COLUMNS = "cells", "rows", "columns"
"""Names of the layers of a crosstab."""

POSTERIOR, LEAST_SQUARES = "posterior", "least squares"
"""How a statistic was made to add up."""

ADJUSTMENT_TEXTS = {
    POSTERIOR: "least expected error given all draws",
    LEAST_SQUARES: "least squares and rounding, since the posterior was too large to compute, or the "
    "reports contradict each other; intervals are those of normal errors",
}
"""How a statistic was made to add up, in words for readers."""

DEFAULT_LEVEL = Fraction(9, 10)
"""The probability of intervals if the plan has no credible_level; these intervals are not published."""


class LayerRecord(TypedDict):
    """The draws of one layer. rate: epsilon per unit. weight: of its errors. reports: one row of draws per column."""

    name: str
    columns: list[str]
    rate: str
    weight: str
    reports: list[list[int]]


class AdditiveRecord(TypedDict):
    """The draws of one statistic that adds up.

    shape: rows and columns of a crosstab, else empty. sums: how cells sum, to the sizes ("known"), to no more than the
    sizes ("most"), or without a rule (""). start, step, positions: a group of n people has the values
    n·start + step·(0..n·positions). averages: whether these are published divided by n. layers: the statistic's own
    numbers first. by: how it was made to add up.
    """

    statistic: str
    shape: list[int]
    sums: str
    start: str
    step: str
    positions: int
    averages: bool
    layers: list[LayerRecord]
    by: NotRequired[str]


class ReportsRecord(TypedDict):
    """The draws of all statistics of a release that add up.

    sizes: of the groups. parents: of the nodes, level by level from the groups up. credible_level: the probability of
    intervals. published: whether the table has intervals.
    """

    sizes: list[int]
    parents: list[list[int]]
    credible_level: str
    published: bool
    statistics: list[AdditiveRecord]


def pad_above(above: int, values: NDArray[Any]) -> NDArray[Any]:
    """Put `above` missing values before a column that is known for the groups only."""
    return np.array([None] * above + values.tolist(), dtype=object) if above else values
