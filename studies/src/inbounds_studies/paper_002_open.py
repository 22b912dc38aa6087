"""002 §4.2 and §4.3: holes only, open at both ends; and a scale of its own for every answer, several constraints."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from inbounds import catalog
from inbounds.catalog._grid import catchments
from inbounds.design.closed.noise import laplace_tail, probability_between
from inbounds.design.designer import optimal
from inbounds.exact import Floats, Number
from inbounds.mechanism import Mechanism, certify
from inbounds.query import RangeQuery, interval
from inbounds_studies.crew import ALONE, Crew
from inbounds_studies.paper_002 import INF, Spans, feasible, least_scale
from inbounds_studies.study import Result, Study
from inbounds_studies.style import GREEN, GREY, OPTIMAL, PURPLE, curves, legend_below, panels
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
    line = least_scale(_spans(name), 1.0, epsilon, metric=False)
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
        for name, colour in ((OPEN, GREEN), (LINE, GREY), (CLOSED, PURPLE), (OPTIMAL, "black")):
            rows = Table(shown.columns, tuple(r for r in shown.where(mechanism=name).rows
                                              if r[shown.columns.index(value)] is not None))  # fmt: skip
            if len(rows) and (value, name) != ("tail", OPTIMAL):  # the optimum has no tail to speak of
                axis.plot(rows.numbers("reach"), rows.numbers(value), color=colour, marker="o", label=name)
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

SWEEPS = 30
"""Rounds over all answers in which each scale is made as small as its neighbours allow."""


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
    plain = catalog.normalized_laplace(query, epsilon)
    for kind, m in ((UNIFORM_METRIC, catalog.normalized_laplace(query, epsilon, notion="metric")), (UNIFORM, plain)):
        scale = float(m.origin.parameters["scale"])
        rows.append((kind, scale, scale, m.loss("absolute")))
    scales = improved(query, epsilon, np.full(query.shape[1], float(plain.origin.parameters["scale"])))
    own, best = certify(scaled_matrix(query, scales), query, epsilon), optimal(query, epsilon)
    rows.append((OWN, float(scales.min()), float(scales.max()), own.loss("absolute")))
    rows.append((OPTIMAL, None, None, best.loss("absolute")))
    return [(name, epsilon, *row) for row in rows]


def scaled_matrix(query: RangeQuery, scales: Floats) -> Floats:
    """P[output, answer]: the Laplace density of each answer's own scale, cut to the cells and normalized."""
    low, high = (catchments(query, edges.floats()) for edges in (query.outputs.lowers, query.outputs.uppers))
    mass = np.stack(
        [probability_between(laplace_tail(s), low[:, [j]], high[:, [j]])[:, 0] for j, s in enumerate(scales)], axis=1
    )
    return np.asarray(mass / mass.sum(axis=0))


def improved(query: RangeQuery, epsilon: float, scales: Floats) -> Floats:
    """Scales lowered one after the other, each as far as the answers around it allow, until none moves.

    Every step keeps the matrix private, so the search can stop anywhere; it finds a point where no single scale can
    be lowered, which need not be the best of all.
    """
    found = scales.copy()
    columns = scaled_matrix(query, found)
    for sweep in range(SWEEPS):
        before = found.copy()
        order = range(len(found)) if sweep % 2 else reversed(range(len(found)))
        for j in order:
            found[j] = _lowered(query, epsilon, found, columns, j)
            columns[:, j] = scaled_matrix(query, found)[:, j]
        if np.abs(found - before).max() < 1e-9:
            break
    return found


def _lowered(query: RangeQuery, epsilon: float, scales: Floats, columns: Floats, j: int) -> float:
    near = _near(query, j)
    low_edges, high_edges = _edges(query, j)

    def private(scale: float) -> bool:
        mass = probability_between(laplace_tail(scale), low_edges, high_edges)
        return bool(
            np.abs(np.log(columns[:, near]) - np.log(mass / mass.sum())[:, None]).max() <= epsilon * (1 - 1e-12)
        )

    low, high = scales[j] / 8, float(scales[j])
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if private(middle) else (middle, high)
    return high


def _near(query: RangeQuery, j: int) -> Any:
    """Other answers within the sensitivity of answer j."""
    places = np.array(query.answers.ticks)
    near = np.flatnonzero(np.abs(places - places[j]) <= query.steps)
    return near[near != j]


def _edges(query: RangeQuery, j: int) -> tuple[Floats, Floats]:
    at = float(query.answers[j])
    return query.outputs.lowers.floats() - at, query.outputs.uppers.floats() - at


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
