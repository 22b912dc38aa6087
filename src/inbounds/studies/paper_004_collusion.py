"""004, Figure 4: what colluding questioners learn from the median of their reports."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from inbounds import catalog
from inbounds.attack.limits import approximation
from inbounds.attack.repeated import learned
from inbounds.design.optimal import optimal
from inbounds.numbers import Floats, Number, alpha
from inbounds.query import count
from inbounds.studies import noise
from inbounds.studies.crew import ALONE, Crew, stream
from inbounds.studies.noise import GEOMETRIC, LAPLACE, STAIRCASE
from inbounds.studies.paper_004 import COUNT, HALF, MAX, MEAN, PREROUNDED, draw_answers, floor, mean_of, rounded
from inbounds.studies.study import Result, Study
from inbounds.studies.style import OPTIMAL, draw_line, legend_below, look, panels
from inbounds.studies.table import Table, decimal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLOCK = 2_000_000
"""Numbers drawn at a time."""

TINY = 1e-300
"""Stands for alpha^k when that is no longer a number."""

COLLUDERS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
APPROXIMATION, COMPOSED = "large-k approximation", "composition bound"


def fig4(
    a: Number = "0.5",
    colluders: Sequence[int] = COLLUDERS,
    runs: int = 20_000,
    size: int = 100,
    top: int = 20,
    seed: int = 0,
    crew: Crew = ALONE,
) -> Result:
    """Expected loss of the median of k colluders' reports: simulation, the paper's approximation, its bound."""
    names = {
        MEAN: (LAPLACE, STAIRCASE, PREROUNDED),
        MAX: (LAPLACE, STAIRCASE, PREROUNDED),
        COUNT: (LAPLACE, STAIRCASE, GEOMETRIC),
    }
    cases = [(query, name) for query, group in names.items() for name in group]
    jobs = [(query, name, decimal(a), k, runs, size, seed) for query, name in cases for k in colluders]
    rows = [row for part in crew.map(_colluding, jobs) for row in part]
    rows += _bounded(a, colluders, top)
    columns = ("query", "mechanism", "colluders", "kind", "value", "standard_error")
    table = Table.of(columns, rows)
    return Result(table, lambda: _collusion(table))


def _colluding(job: tuple[str, str, float, int, int, int, int]) -> list[tuple[Any, ...]]:
    query, name, a, k, runs, size, seed = job
    place = (LAPLACE, STAIRCASE, GEOMETRIC, PREROUNDED).index(name)
    rng = stream(seed, 404, (MEAN, MAX, COUNT).index(query), place, k)
    losses = [_median_losses(query, name, a, k, part, size, rng) for part in _blocks(runs, k)]
    rows = [(query, name, k, "simulated", *mean_of(np.concatenate(losses)))]
    if name != PREROUNDED and query != COUNT:
        epsilon = repr(-math.log(a))
        family: Any = name.lower()
        rows.append((query, name, k, APPROXIMATION, approximation(family, epsilon, k), 0.0))
        rows.append((query, name, k, COMPOSED, noise.expected_error(name, max(a**k, TINY), whole=False), 0.0))
    if name == PREROUNDED:
        rows.append((query, name, k, "floor", floor(query, size), 0.0))
    return rows


def _blocks(runs: int, k: int) -> list[int]:
    most = max(1, BLOCK // k)
    return [min(most, runs - start) for start in range(0, runs, most)]


def _median_losses(query: str, name: str, a: float, k: int, runs: int, size: int, rng: np.random.Generator) -> Floats:
    """|median of k reports - truth| for each run, in sensitivities."""
    if name == PREROUNDED:
        truth = draw_answers(query, size, (runs,), rng) / HALF
        centre = rounded(truth * HALF) / HALF
        return np.abs(np.median(centre[:, None] + noise.draw(GEOMETRIC, a, (runs, k), rng), axis=1) - truth)
    median = np.median(noise.draw(name, a, (runs, k), rng), axis=1)
    return np.abs(np.rint(median) if query == COUNT else median)


def _bounded(a: Number, colluders: Sequence[int], top: int) -> list[tuple[Any, ...]]:
    """The median's exact loss for a count of 0..top: geometric noise kept in range, and the one-report optimum."""
    query, epsilon = count(top), alpha(a)
    made = {"geometric, in range": catalog.truncated_geometric(query, epsilon), OPTIMAL: optimal(query, epsilon)}
    rows = []
    for name, mechanism in made.items():
        for found in learned(mechanism, colluders, by=["median"]):
            rows.append((COUNT, name, found.answers, "exact", found.loss["median"], 0.0))
    return rows


LEAST = 1e-5
"""Losses below this are not drawn: the axis is logarithmic."""


def _collusion(table: Table) -> "Figure":
    queries = table.distinct("query")
    figure, axes = panels(len(queries), across=3, width=3.6, height=3.3)
    for axis, query in zip(axes, queries, strict=True):
        part = table.where(query=query)
        for place, name in enumerate(part.distinct("mechanism")):
            _draw_case(axis, part.where(mechanism=name), name, look(name, place))
        axis.set(title=query, xscale="log", yscale="log", xlabel="colluders k")
        axis.set_ylim(bottom=LEAST if query == COUNT else 3e-3)
    axes[0].set_ylabel("expected loss / sensitivity")
    legend_below(figure, axes, across=3)
    return figure


def _draw_case(axis: Any, rows: Table, name: str, appearance: dict[str, Any]) -> None:
    shown = Table(rows.columns, tuple(row for row in rows.rows if float(str(row[4])) >= LEAST))
    main = [kind for kind in ("simulated", "exact") if len(shown.where(kind=kind))]
    for kind in main:
        draw_line(axis, shown.where(kind=kind), "colluders", "value", name, appearance)
    plain = {"color": appearance["color"], "linewidth": 1.0}
    for kind, dashes in ((APPROXIMATION, "--"), (COMPOSED, ":"), ("floor", "--")):
        part = shown.where(kind=kind)
        if len(part):
            label = f"{name}: {kind}"
            axis.plot(part.numbers("colluders"), part.numbers("value"), linestyle=dashes, label=label, **plain)


STUDIES = (
    Study(
        "004-fig4",
        "Loss against the number of colluders",
        fig4,
        {"colluders": (1, 5, 20, 100), "runs": 4000},
    ),
)
