"""001's d-privacy (Definition (4)) on another metric space: places on a map, and their distribution reconstructed."""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from inbounds import catalog
from inbounds.design.designer import optimal
from inbounds.exact import Floats, Ints, epsilon_from_alpha
from inbounds.local.reconstruct import reconstruct
from inbounds.mechanism import Mechanism, certify
from inbounds.query import grid
from inbounds_studies.crew import ALONE, Crew, stream
from inbounds_studies.paper_001 import RESPONSE
from inbounds_studies.study import Result, Study
from inbounds_studies.style import OPTIMAL, curves
from inbounds_studies.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ON_MAP = "geometric on the map"
TOWNS, SPREAD = "two towns", "one wide region"


def places(side: int) -> Floats:
    """Coordinates of the cells, row by row."""
    return np.array([(r, c) for r in range(side) for c in range(side)], dtype=np.float64)


def distances(side: int) -> Floats:
    """Manhattan distances between cells: the metric of the promise and of the transport."""
    at = places(side)
    return np.asarray(np.abs(at[:, None] - at[None, :]).sum(axis=2))


@cache
def mechanism(name: str, side: int, ratio: int = 2, radius: int = 2) -> Mechanism:
    """Ratio `ratio` within `radius` on the map; randomized response keeps it between any two cells."""
    query = grid(side, side, metric="manhattan")
    epsilon = epsilon_from_alpha(f"1/{ratio}") / radius
    d = distances(side)
    if name == RESPONSE:
        matrix = np.where(d == 0, float(ratio), 1.0)
        return certify(matrix / matrix.sum(axis=0), query, epsilon_from_alpha(f"1/{ratio}"))
    if name == ON_MAP:
        return catalog.metric_geometric(query, epsilon)
    return optimal(query, epsilon, d)


def distribution(name: str, side: int) -> Floats:
    """Where people are."""
    at = places(side)
    centres = [(0.2, 0.25), (0.75, 0.8)] if name == TOWNS else [(0.5, 0.5)]
    width = 0.08 if name == TOWNS else 0.3
    weight = sum(np.exp(-(((at / (side - 1) - c) / width) ** 2).sum(axis=1) / 2) for c in centres)
    return np.asarray(weight / np.sum(weight))


def map_study(
    sides: Sequence[int] = (5, 8),
    sizes: Sequence[int] = (1000, 10_000, 100_000),
    runs: int = 10,
    iterations: int = 1000,
    seed: int = 0,
    crew: Crew = ALONE,
) -> Result:
    """Transport distance between the reconstructed and the true distribution of places."""
    names = (RESPONSE, ON_MAP, OPTIMAL)
    cases = [(side, data, size, name) for side in sides for data in (TOWNS, SPREAD) for size in sizes for name in names]
    jobs = [(*case, run, iterations, seed) for case in cases for run in range(runs)]
    found = np.array(crew.map(_distance, jobs)).reshape(len(cases), runs)
    rows = [(*case, d.mean(), d.std(ddof=1) / np.sqrt(runs)) for case, d in zip(cases, found, strict=True)]
    table = Table.of(("side", "data", "size", "mechanism", "value", "standard_error"), rows)
    return Result(table, lambda: _distances(table))


def _distance(job: tuple[int, str, int, str, int, int, int]) -> float:
    side, data, size, name, run, iterations, seed = job
    m = mechanism(name, side)
    rng = stream(seed, 105, (TOWNS, SPREAD).index(data), size, (RESPONSE, ON_MAP, OPTIMAL).index(name), run, side)
    truth = rng.choice(side * side, size=size, p=distribution(data, side))
    reports = _reports(m.matrix, truth, rng)
    found = reconstruct(reports, m.matrix, acceleration="none", iterations=iterations, given="counts").distribution
    return transport(found, np.bincount(truth, minlength=side * side) / size, distances(side))


def _reports(matrix: Floats, truth: Ints, rng: np.random.Generator) -> Ints:
    """Counts of the reports: a multinomial draw for each cell."""
    true = np.bincount(truth, minlength=matrix.shape[1])
    drawn = [rng.multinomial(n, column / column.sum()) for n, column in zip(true, matrix.T, strict=True)]
    return np.asarray(np.sum(drawn, axis=0))


def transport(p: Floats, q: Floats, cost: Floats) -> float:
    """001 Definition 2 on any metric: the least cost of moving p to q, by its linear program."""
    from scipy.optimize import linprog
    from scipy.sparse import eye_array, kron, vstack

    n = len(p)
    ones = np.ones((1, n))
    moved = vstack([kron(eye_array(n), ones), kron(ones, eye_array(n))]).tocsr()
    sums = np.concatenate([p / p.sum(), q / q.sum()])
    kept = np.delete(np.arange(2 * n), n + int(q.argmax()))  # it follows from the others, which rounding may contradict
    found = linprog(cost.ravel(), A_eq=moved[kept], b_eq=sums[kept], method="highs")
    return float(found.fun)


def _distances(table: Table) -> "Figure":
    shown = Table.of(
        (*table.columns, "panel"), [(*row, f"{row[1]}, {row[0]} × {row[0]}") for row in table.rows]
    )  # fmt: skip
    figure = curves(
        shown, "size", panel="panel", x_label="sample size", y_label="transport distance, in cells", log_y=True,
        legend_across=2, across=2,
    )  # fmt: skip
    for axis in figure.axes:
        axis.set_xscale("log")
    return figure


STUDIES = (
    Study(
        "001-map", "d-privacy on a map: reconstructed places", map_study,
        {"sides": (4,), "sizes": (1000, 10_000), "runs": 2, "iterations": 100},
    ),
)  # fmt: skip
