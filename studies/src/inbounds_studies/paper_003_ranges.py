"""003 section VI: programs for range queries. A small histogram, reported so that sums of adjacent bins are right."""

from collections.abc import Sequence
from itertools import product

import numpy as np

from inbounds import catalog
from inbounds.design.designer import optimal
from inbounds.exact import Floats, Ints, Number
from inbounds.query import count, histogram_query
from inbounds_studies.crew import ALONE, Crew
from inbounds_studies.study import Result, Study
from inbounds_studies.style import OPTIMAL, curves
from inbounds_studies.table import Table, decimal

CELLS, GUESSED, BLIND = "bins one by one, geometric", "bins one by one, best guess", "no data: best constant"


def histograms(people: int, bins: int) -> Ints:
    """All histograms of so many people, in the order of the query's answers."""
    return np.array([tuple(map(int, place)) for place in histogram_query(people, bins).places or ()])


def range_errors(reported: Floats | Ints, true: Ints) -> Floats:
    """loss[report, histogram]: mean error of the sums of all ranges of adjacent bins."""
    bins = true.shape[1]
    ranges = np.array([[a <= k <= b for k in range(bins)] for a in range(bins) for b in range(a, bins)], dtype=float)
    sums, truth = np.asarray(reported) @ ranges.T, true @ ranges.T
    return np.asarray(np.abs(sums[:, None, :] - truth[None, :, :]).mean(axis=2))


def cell_by_cell(people: int, bins: int, epsilon: float) -> tuple[Floats, Ints]:
    """P[tuple of reports, histogram] and the tuples: each bin by the geometric mechanism at epsilon/2.

    Replacing a person changes two bins by one each, so that half of epsilon is left for a bin.
    """
    one = catalog.truncated_geometric(count(people), repr(epsilon / 2)).matrix
    tuples = np.array([*product(range(people + 1), repeat=bins)])
    true = histograms(people, bins)
    matrix = np.prod([one[tuples[:, k]][:, true[:, k]] for k in range(bins)], axis=0)
    return matrix, tuples


def ranges(
    people: int = 4, bins: int = 4, epsilons: Sequence[Number] = ("0.5", "1", "2", "3"), crew: Crew = ALONE
) -> Result:
    """Mean error over all range queries: bins one by one, read as they are or by a best guess, and the optimum."""
    parts = crew.map(_at, [(people, bins, e) for e in epsilons])
    table = Table.of(("epsilon", "mechanism", "value"), [row for part in parts for row in part])
    return Result(table, lambda: curves(table, "epsilon", x_label="epsilon", legend_across=2,
                                        y_label="mean error of a range query"))  # fmt: skip


def _at(job: tuple[int, int, Number]) -> list[tuple[float, str, float]]:
    people, bins, epsilon = job
    true = histograms(people, bins)
    n, loss = len(true), range_errors(true, true)
    matrix, tuples = cell_by_cell(people, bins, decimal(epsilon))
    face = float((matrix * range_errors(tuples, true)).sum() / n)
    guessed = float((matrix @ loss.T).min(axis=1).sum() / n)
    best = optimal(histogram_query(people, bins), epsilon, loss).loss(loss)
    found = {CELLS: face, GUESSED: guessed, OPTIMAL: best, BLIND: float(loss.mean(axis=1).min())}
    return [(decimal(epsilon), name, value) for name, value in found.items()]


STUDIES = (
    Study("003-ranges", "Section VI: a histogram for range queries", ranges,
          {"people": 2, "bins": 3, "epsilons": ("1",)}),
)  # fmt: skip
