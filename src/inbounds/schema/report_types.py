"""What a record keeps of a table that adds up, as plain values: enough to compute it again."""

from fractions import Fraction
from typing import Any, NotRequired, TypedDict

import numpy as np
from numpy.typing import NDArray

KNOWN, MOST = "known", "most"
"""How the cells of a group sum: to its public size, or to no more than its size."""

CELLS, ROWS, COLUMNS = "cells", "rows", "columns"
"""What the layers of a crosstab are called."""

POSTERIOR, LEAST_SQUARES = "posterior", "least squares"
"""How a statistic was made to add up."""

HOW = {
    POSTERIOR: "least expected error after all reports",
    LEAST_SQUARES: "least squares and rounding, since what is likely after all reports was too much to compute, or the "
    "reports contradict each other; intervals are those of normal errors",
}
"""The same in words."""

USUAL_INTERVAL = Fraction(9, 10)
"""The probability of intervals where the plan names none; they are then not published."""


class LayerForm(TypedDict):
    """Reports about one layer: epsilon per unit, the weight of its errors, and rows of reports, one for each column."""

    name: str
    columns: list[str]
    rate: str
    weight: str
    reports: list[list[int]]


class AddingForm(TypedDict):
    """What a statistic that adds up needs to be adjusted again.

    shape: of a crosstab, else empty. sums: how cells sum, to the sizes ("known"), to no more ("most"), or anyhow ("").
    start, step, positions: a group of n people has the values n·start + step·(0..n·positions). layers: its own numbers
    first. by: how it was made to add up, by the posterior or by least squares.
    """

    statistic: str
    shape: list[int]
    sums: str
    start: str
    step: str
    positions: int
    layers: list[LayerForm]
    by: NotRequired[str]


class ReportsForm(TypedDict):
    """All reports of a release that add up: sizes of the groups, parents level by level from the groups up.

    credible_level: the probability of intervals; published: whether they stand in the table.
    """

    sizes: list[int]
    parents: list[list[int]]
    credible_level: str
    published: bool
    statistics: list[AddingForm]


def below(above: int, values: NDArray[Any]) -> NDArray[Any]:
    """A column that is known for the groups alone, in a table with so many rows above them."""
    return np.array([None] * above + values.tolist(), dtype=object) if above else values
