"""004, Figure 4: what colluding questioners learn from the median of their reports."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from inbounds import catalog
from inbounds.attack.asymptotics import approximate_loss
from inbounds.attack.repeated import simulate_collusion
from inbounds.design.designer import optimal
from inbounds.exact import Floats, Number, epsilon_from_alpha
from inbounds.query import count
from inbounds_studies import noise
from inbounds_studies.crew import ALONE, Crew, stream
from inbounds_studies.noise import GEOMETRIC, LAPLACE, STAIRCASE
from inbounds_studies.paper_004 import (
    COUNT,
    HALF,
    MAX,
    MEAN,
    PREROUNDED,
    draw_answers,
    fine_prior,
    floor,
    mean_of,
    rounded,
)
from inbounds_studies.study import Result, Study
from inbounds_studies.style import GREY, LOOKS, OPTIMAL, draw_line, legend_below, look, panels, say_hidden
from inbounds_studies.table import Table, decimal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLOCK = 2_000_000
"""Numbers drawn at a time."""

TINY = 1e-300
"""Stands for alpha^k when that is no longer a number."""

REACH = 80
"""Whole steps of noise that exact medians look at: beyond, both tails together hold less than 2·a^80."""

COLLUDERS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
APPROXIMATION, COMPOSED, EXACT = "large-k approximation", "composition bound", "exact"


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
    return rows + [(query, name, k, kind, value, 0.0) for kind, value in _theory(query, name, a, k, size)]


def _theory(query: str, name: str, a: float, k: int, size: int) -> list[tuple[str, float]]:
    """(16)-(18), the composition bound, and where reports lie on a lattice the exact loss of the lower median."""
    found: list[tuple[str, float]] = []
    if name != PREROUNDED and (query != COUNT or name == GEOMETRIC):
        family: Any = name.lower()
        found.append((APPROXIMATION, approximate_loss(family, repr(-math.log(a)), k)))
    if name != PREROUNDED and query != COUNT:
        found.append((COMPOSED, noise.expected_error(name, max(a**k, TINY), whole=False)))
    if query == COUNT:
        masses = noise.lower_median(noise.whole_masses(name, a, REACH), k)
        found.append((EXACT, float(np.abs(np.arange(-REACH, REACH + 1)) @ masses)))
    if name == PREROUNDED:
        found += [(EXACT, _prerounded_loss(query, a, k, size)), ("floor", floor(query, size))]
    return found


def _prerounded_loss(query: str, a: float, k: int, size: int) -> float:
    """Expected |rounded + median - truth|: rounding moves by at most half a step, so a median of v != 0 costs
    |v| and, for its sign, the mean shift of the rounding; 0 costs the floor."""
    masses = noise.lower_median(noise.whole_masses(GEOMETRIC, a, REACH), k)
    v = np.arange(-REACH, REACH + 1)
    x, p = fine_prior(query, size)
    shift = float((rounded(x) - x) @ p / HALF)
    return float(np.where(v == 0, floor(query, size), np.abs(v) + np.sign(v) * shift) @ masses)


def _blocks(runs: int, k: int) -> list[int]:
    most = max(1, BLOCK // k)
    return [min(most, runs - start) for start in range(0, runs, most)]


def _median_losses(query: str, name: str, a: float, k: int, runs: int, size: int, rng: np.random.Generator) -> Floats:
    """|median of k reports - truth| for each run, in sensitivities; on a lattice of the lower median."""
    if name == PREROUNDED:
        truth = draw_answers(query, size, (runs,), rng) / HALF
        return np.abs(rounded(truth * HALF) / HALF + _lower(noise.draw(GEOMETRIC, a, (runs, k), rng)) - truth)
    drawn = noise.draw(name, a, (runs, k), rng)
    return np.abs(_lower(np.rint(drawn)) if query == COUNT else np.median(drawn, axis=1))


def _lower(draws: Floats) -> Floats:
    """The lower median of each row: `np.median` would put halves between whole numbers, and rounding them favours 0."""
    middle = (draws.shape[1] - 1) // 2
    return np.partition(draws, middle, axis=1)[:, middle]


def _bounded(a: Number, colluders: Sequence[int], top: int) -> list[tuple[Any, ...]]:
    """The median's exact loss for a count of 0..top: geometric noise kept in range, and the one-report optimum."""
    query, epsilon = count(top), epsilon_from_alpha(a)
    made = {"geometric, in range": catalog.truncated_geometric(query, epsilon), OPTIMAL: optimal(query, epsilon)}
    rows = []
    for name, mechanism in made.items():
        for found in simulate_collusion(mechanism, colluders, by=["median"]):
            rows.append((COUNT, name, found.answers, EXACT, found.loss["median"], 0.0))
    return rows


LEAST = 1e-5
"""Losses below this are not drawn: the axis is logarithmic."""


def _collusion(table: Table) -> "Figure":
    queries = table.distinct("query")
    figure, axes = panels(len(queries), across=2, width=3.6, height=3.1)
    for axis, query in zip(axes, queries, strict=True):
        part = table.where(query=query)
        for place, name in enumerate(part.distinct("mechanism")):
            _draw_case(axis, part.where(mechanism=name), name, look(name, place))
        axis.set(title=query, xscale="log", yscale="log", xlabel="colluders k")
        axis.set_ylim(bottom=LEAST if query == COUNT else 3e-3)
        axis.set_ylabel("expected loss / sensitivity")
    for dashes, label in (("--", "dashed: large-k approximation, floor"), (":", "dotted: composition bound")):
        axes[-1].plot([], [], color=GREY, linestyle=dashes, label=label)
    legend_below(figure, axes, across=2)
    _mark_legend(figure)
    say_hidden(figure, dict(zip(queries, axes, strict=True)))
    return figure


def _mark_legend(figure: "Figure") -> None:
    """Give each entry its marker, also where line and markers are drawn apart."""
    legends = [*figure.legends, *(legend for axis in figure.axes if (legend := axis.get_legend()))]
    for legend in legends:
        for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
            if text.get_text() in LOOKS:
                handle.set_marker(LOOKS[text.get_text()]["marker"])  # type: ignore[union-attr]


def _draw_case(axis: Any, rows: Table, name: str, appearance: dict[str, Any]) -> None:
    shown = Table(rows.columns, tuple(row for row in rows.rows if float(str(row[4])) >= LEAST))
    exact, simulated = (shown.where(kind=kind) for kind in (EXACT, "simulated"))
    line = appearance | ({"marker": ""} if len(simulated) else {})
    draw_line(axis, exact, "colluders", "value", name, line)
    marks = appearance | ({"linestyle": ""} if len(exact) else {})
    draw_line(axis, simulated, "colluders", "value", f"_{name}" if len(exact) else name, marks)
    plain = {"color": appearance["color"], "linewidth": 1.0}
    for kind, dashes in ((APPROXIMATION, "--"), (COMPOSED, ":"), ("floor", "--")):
        part = shown.where(kind=kind)
        if len(part):
            label = f"_{name}: {kind}"
            axis.plot(part.numbers("colluders"), part.numbers("value"), linestyle=dashes, label=label, **plain)


STUDIES = (
    Study(
        "004-fig4",
        "Loss against the number of colluders",
        fig4,
        {"colluders": (1, 5, 20, 100), "runs": 4000},
    ),
)
