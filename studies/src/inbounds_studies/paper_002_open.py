"""002 §4.2 and §4.3: holes only, open at both ends; and a scale of its own for every answer, several constraints."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from inbounds import catalog
from inbounds.catalog.scales import NOTIONS, find_scale
from inbounds.design.designer import optimal
from inbounds.exact import Number
from inbounds.mechanism import Mechanism
from inbounds.query import RangeQuery, interval
from inbounds_studies.crew import ALONE, Crew
from inbounds_studies.paper_002 import INF, Spans, feasible
from inbounds_studies.study import Result, Study
from inbounds_studies.style import OPTIMAL, curves, draw_line, legend_below, look, panels
from inbounds_studies.table import Table, decimal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# --- §4.2: holes only -------------------------------------------------------------------------------------

HOLES: dict[str, tuple[tuple[float, float], ...]] = {
    "one hole, width 1": ((0.0, 1.0),),
    "one hole, width 3": ((0.0, 3.0),),
    "two holes": ((-2.0, -1.0), (0.0, 1.0)),
}
"""Constraints of the second class, in sensitivities."""

OPEN, LINE, CLOSED = "declared range, open ends", "whole line", "declared range, cut at its ends"


def holes(
    epsilon: Number = 1,
    reaches: Sequence[int] = (4, 6, 8, 12),
    fineness: int = 4,
    crew: Crew = ALONE,
) -> Result:
    """The second class as a certified mechanism: a range declared so wide that its tail does not matter.

    True answers lie within `reach` sensitivities of the holes; the end cells stand for all beyond. Scale against
    reach, beside the least scale on the whole line; and the chance that a report of an answer at a hole is an end cell.
    """
    jobs = [(name, decimal(epsilon), reach, fineness) for name in HOLES for reach in reaches]
    rows = [row for part in crew.map(_holed, jobs) for row in part]
    table = Table.of(("configuration", "reach", "mechanism", "scale", "tail", "error"), rows)
    return Result(table, lambda: _holed_figure(table))


def holed(name: str, reach: int, fineness: int) -> RangeQuery:
    """The question whose answers lie around the holes of that name, up to `reach` sensitivities away from them."""
    edges = HOLES[name]
    low, high = edges[0][0] - reach, edges[-1][1] + reach
    cells = round((high - low) * fineness)
    return interval(str(low), str(high), 1, cells, holes=[(str(a), str(b)) for a, b in edges])


def _holed(job: tuple[str, float, int, int]) -> list[tuple[Any, ...]]:
    name, epsilon, reach, fineness = job
    query = holed(name, reach, fineness)
    open_ends = catalog.normalized_laplace(query, epsilon, unbounded="both")
    cut = catalog.normalized_laplace(query, epsilon)
    best = optimal(query, epsilon)
    at_hole = int(query.encode(str(HOLES[name][-1][1])))
    line = find_scale(_spans(name), 1, epsilon)
    scales = {m: float(m.origin.parameters["scale"]) for m in (open_ends, cut)}
    return [
        (name, reach, OPEN, scales[open_ends], _ends(open_ends, at_hole), open_ends.loss("absolute")),
        (name, reach, CLOSED, scales[cut], _ends(cut, at_hole), cut.loss("absolute")),
        (name, reach, LINE, line, math.exp(-reach / line), None),
        (name, reach, OPTIMAL, None, _ends(best, at_hole), best.loss("absolute")),
    ]


def _spans(name: str) -> Spans:
    edges = [-INF, *(edge for hole in HOLES[name] for edge in hole), INF]
    return list(zip(edges[::2], edges[1::2], strict=True))


def _ends(mechanism: Mechanism, at: int) -> float:
    return float(mechanism.matrix[[0, -1], at].sum())


def _holed_figure(table: Table) -> "Figure":
    figure, axes = panels(3, across=2, width=3.6)
    shown = table.where(configuration="one hole, width 1")
    for axis, value, label in zip(axes, ("scale", "tail", "error"),
                                  ("scale, in sensitivities", "chance of an end cell at the hole",
                                   "expected absolute error"), strict=True):  # fmt: skip
        for name in (OPEN, LINE, CLOSED, OPTIMAL):
            rows = Table(shown.columns, tuple(r for r in shown.where(mechanism=name).rows
                                              if r[shown.columns.index(value)] is not None))  # fmt: skip
            if len(rows) and (value, name) != ("tail", OPTIMAL):  # the optimum has no tail to speak of
                draw_line(axis, rows, "reach", value, name, look(name))
        axis.set_xlabel("declared reach beyond the hole")
        axis.set_ylabel(label)
    axes[1].set_yscale("log")
    legend_below(figure, axes, across=2)
    return figure


# --- §4.3: a scale for every answer -----------------------------------------------------------------------

UNIFORM_METRIC, UNIFORM, OWN = "one scale, metric (paper)", "one scale, plain", "a scale for each answer"
SEVERAL: dict[str, Spans] = {
    "interval": ((0.0, 4.0),),
    "interval with a hole": ((0.0, 2.0), (2.5, 5.0)),
    "three pieces": ((0.0, 1.0), (1.5, 2.5), (3.0, 5.0)),
}
"""Constraints of the third class, in sensitivities."""


def own_scales(epsilons: Sequence[Number] = ("0.2", "0.5", "1", "2"), fineness: int = 8, crew: Crew = ALONE) -> Result:
    """Section 4.3's open problem: scales that differ by answer under several constraints, and the optimum by design."""
    jobs = [(name, decimal(e), fineness) for name in SEVERAL for e in epsilons]
    rows = [row for part in crew.map(_scaled, jobs) for row in part]
    table = Table.of(("configuration", "epsilon", "mechanism", "least_scale", "largest_scale", "value"), rows)
    return Result(table, lambda: _scaled_figure(table))


def _scaled(job: tuple[str, float, int]) -> list[tuple[Any, ...]]:
    name, epsilon, fineness = job
    query = feasible(SEVERAL[name], 1.0, round(SEVERAL[name][-1][1] * fineness))
    rows: list[tuple[Any, ...]] = []
    for notion, kind in zip(NOTIONS, (UNIFORM, UNIFORM_METRIC), strict=True):
        m = catalog.normalized_laplace(query, epsilon, notion=notion)
        scale = float(m.origin.parameters["scale"])
        rows.append((kind, scale, scale, m.loss("absolute")))
    own, best = catalog.scaled_laplace(query, epsilon), optimal(query, epsilon)
    scales = [float(scale) for scale in own.origin.parameters["scales"].split()]
    rows.append((OWN, min(scales), max(scales), own.loss("absolute")))
    rows.append((OPTIMAL, None, None, best.loss("absolute")))
    return [(name, epsilon, *row) for row in rows]


def _scaled_figure(table: Table) -> "Figure":
    return curves(
        table, "epsilon", panel="configuration", x_label="epsilon", y_label="expected absolute error", across=2,
        legend_across=2,
    )  # fmt: skip


STUDIES = (
    Study("002-holes", "Holes only, open at both ends: certified on a declared range", holes,
          {"reaches": (4, 8), "fineness": 2}),
    Study("002-own-scales", "A scale for each answer under several constraints", own_scales,
          {"epsilons": ("1",), "fineness": 4}),
)  # fmt: skip
