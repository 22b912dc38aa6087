"""000: Croft, Sack, Shi, "The impact of range constraints on utility". Tables 1 to 4: matrices."""

from collections.abc import Callable, Mapping

import numpy as np

from inbounds import catalog
from inbounds.exact import Floats, Number
from inbounds.mechanism import Mechanism
from inbounds.query import RangeQuery, count, extreme
from inbounds_studies.matrix import COLUMNS, entry_rows, matrix_rows
from inbounds_studies.study import Result, Study
from inbounds_studies.style import OPTIMAL, matrices
from inbounds_studies.table import Table

LAPLACE, STAIRCASE, NORMALIZED, VARIANT_1, VARIANT_2 = (
    "snapped Laplace", "snapped staircase", "normalized Laplace", "LP Variant 1", "LP Variant 2"
)  # fmt: skip

PRINTED: Mapping[str, Floats] = {
    "table1": np.array(
        [
            [0.559, 0.441, 0.344, 0.268, 0.208],
            [0.098, 0.118, 0.098, 0.076, 0.059],
            [0.076, 0.098, 0.118, 0.098, 0.076],
            [0.059, 0.076, 0.098, 0.118, 0.098],
            [0.208, 0.268, 0.344, 0.441, 0.559],
        ]
    ),
    "table2": np.array(
        [
            [0.322, 0.322, 0.119, 0.119, 0.119],
            [0.322, 0.322, 0.220, 0.119, 0.119],
            [0.119, 0.119, 0.322, 0.119, 0.119],
            [0.119, 0.119, 0.220, 0.322, 0.322],
            [0.119, 0.119, 0.119, 0.322, 0.322],
        ]
    ),
    "table3": np.array(
        [
            [0, 0, 0, 0, 0, 0],
            [0.771, 0.622, 0.378, 0.229, 0.139, 0.084],
            [0.090, 0.149, 0.245, 0.149, 0.091, 0.055],
            [0.055, 0.090, 0.149, 0.245, 0.149, 0.090],
            [0.084, 0.139, 0.229, 0.378, 0.622, 0.771],
            [0, 0, 0, 0, 0, 0],
        ]
    ),
    "table4": np.array(
        [
            [0.315, 0.191, 0.116, 0.070, 0.043, 0.026],
            [0.315, 0.315, 0.191, 0.116, 0.070, 0.043],
            [0.231, 0.265, 0.315, 0.191, 0.116, 0.070],
            [0.070, 0.116, 0.191, 0.315, 0.265, 0.231],
            [0.043, 0.070, 0.116, 0.191, 0.315, 0.315],
            [0.026, 0.043, 0.070, 0.116, 0.191, 0.315],
        ]
    ),
}
"""The matrices as the paper prints them, reports down, true answers across."""


def table1(low: int = 1, high: int = 5, epsilon: Number = 1) -> Result:
    """Laplace noise snapped to a five-point scale: the ends take most of the mass."""
    return _beside(LAPLACE, catalog.snapped_laplace, extreme(low, high), epsilon, "table1")


def table2(low: int = 1, high: int = 5, epsilon: Number = 1) -> Result:
    """Variant 2 on a five-point scale. The optimum is not unique: losses agree, entries need not."""
    return _beside(VARIANT_2, catalog.variant_2, extreme(low, high), epsilon, "table2")


def table3(n: int = 5, epsilon: Number = "0.5") -> Result:
    """Variant 1 for a count: the best average loss, and reports that never occur."""
    return _beside(VARIANT_1, catalog.variant_1, count(n), epsilon, "table3")


def table4(n: int = 5, epsilon: Number = "0.5") -> Result:
    """Variant 2 for a count: monotone, symmetric and fair."""
    return _beside(VARIANT_2, catalog.variant_2, count(n), epsilon, "table4")


def _beside(
    name: str, make: Callable[[RangeQuery, Number], Mechanism], query: RangeQuery, epsilon: Number, printed: str
) -> Result:
    """Ours, the printed matrix where the sizes agree, and the optimum for the absolute error."""
    ours, best = make(query, epsilon), catalog.variant_1(query, epsilon)
    paper = PRINTED[printed]
    rows = list(entry_rows(name, ours))
    losses = {name: _total(ours.matrix, query)}
    if paper.shape == query.shape:
        rows += matrix_rows("as printed", paper, query.output_values.tolist(), query.answers.numbers().tolist())
        losses["as printed"] = _total(paper, query)
    if name != VARIANT_1:
        rows += entry_rows(OPTIMAL, best)
        losses[OPTIMAL] = _total(best.matrix, query)
    table = Table.of(COLUMNS, rows)
    titles = {which: f"{which}\ntotal absolute loss {loss:.3f}" for which, loss in losses.items()}
    return Result(table, lambda: matrices(table, across=3, titles=titles))


def _total(matrix: Floats, query: RangeQuery) -> float:
    """The paper's objective: the absolute loss summed over the true answers."""
    error = np.abs(query.outputs.values.floats()[:, None] - query.answers.floats()[None, :])
    return float((matrix * error).sum())


STUDIES = (
    Study("000-table1", "Snapped Laplace on a five-point scale", table1),
    Study("000-table2", "LP Variant 2 on a five-point scale", table2),
    Study("000-table3", "LP Variant 1 for a count of 0..5", table3),
    Study("000-table4", "LP Variant 2 for a count of 0..5", table4),
)
