"""002, Table 2, Theorem 1, and what plain privacy needs: scales of the normalized Laplace mechanism."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from inbounds import catalog
from inbounds.catalog.scales import find_scale
from inbounds.design.designer import optimal
from inbounds.exact import Number
from inbounds.mechanism.audit import audit
from inbounds.query import RangeQuery, count
from inbounds_studies.crew import ALONE, Crew
from inbounds_studies.paper_002 import INF, Spans, density, feasible
from inbounds_studies.study import Result, Study
from inbounds_studies.style import GREEN, GREY, OPTIMAL, PURPLE, curves, legend_below, look, panels
from inbounds_studies.table import Table, decimal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

METRIC, PLAIN = "normalized, metric privacy (paper)", "normalized, plain privacy"


# --- Table 2 ----------------------------------------------------------------------------------------------

CONFIGURATIONS: dict[str, tuple[str, Spans]] = {
    "half-line": ("single infinite", ((0.0, INF),)),
    "one hole, width 1": ("finite", ((-INF, 0.0), (1.0, INF))),
    "one hole, width 10": ("finite", ((-INF, 0.0), (10.0, INF))),
    "two holes": ("finite", ((-INF, 0.0), (1.0, 2.0), (4.0, INF))),
    "interval, width 1": ("arbitrary", ((0.0, 1.0),)),
    "interval, width 4": ("arbitrary", ((0.0, 4.0),)),
    "interval, width 10": ("arbitrary", ((0.0, 10.0),)),
    "interval with a hole": ("arbitrary", ((0.0, 3.0), (5.0, 10.0))),
    "half-line with a hole": ("arbitrary", ((0.0, 2.0), (3.0, INF))),
}
"""Name: the paper's class and the feasible spans, in sensitivities."""


def paper_scale(kind: str) -> float:
    """What Table 2 prints for the class, in sensitivity/epsilon; for finite and arbitrary an upper bound."""
    from scipy.special import lambertw

    return float(-1 / (lambertw(-1 / (2 * math.e)).real * math.e)) if kind == "single infinite" else 2.0


def table2(epsilon: Number = 1, sensitivity: float = 1.0, cells: int = 40, crew: Crew = ALONE) -> Result:
    """Scales for each class of constraints: the paper's bound, the least for metric and for plain privacy.

    Where the spans are bounded, also the expected absolute error at those scales, and of the optimum.
    """
    jobs = [(name, decimal(epsilon), sensitivity, cells) for name in CONFIGURATIONS]
    columns = (
        "configuration", "class", "paper", "metric", "plain", "error_metric", "error_plain", "error_optimal",
    )  # fmt: skip
    table = Table.of(columns, crew.map(_scales, jobs))
    return Result(table, lambda: _bars(table))


def _scales(job: tuple[str, float, float, int]) -> tuple[Any, ...]:
    name, epsilon, sensitivity, cells = job
    kind, unit_spans = CONFIGURATIONS[name]
    spans = [(low * sensitivity, high * sensitivity) for low, high in unit_spans]
    metric, plain = (find_scale(spans, sensitivity, epsilon, notion) for notion in ("metric", "plain"))
    natural = sensitivity / epsilon
    errors: tuple[Any, ...] = (None, None, None)
    if math.isfinite(spans[0][0]) and math.isfinite(spans[-1][1]):
        errors = _errors(feasible(spans, sensitivity, cells), epsilon)
    return name, kind, paper_scale(kind), metric / natural, plain / natural, *errors


def _errors(query: RangeQuery, epsilon: float) -> tuple[float, float, float]:
    """Expected absolute error over uniform answers: normalized at both least scales, and the optimum."""
    made = [catalog.normalized_laplace(query, epsilon, notion=notion) for notion in ("metric", "plain")]
    metric, plain, best = (m.loss("absolute") for m in (*made, optimal(query, epsilon)))
    return metric, plain, best


def _bars(table: Table) -> "Figure":
    figure, (axis,) = panels(1, width=7.4, height=3.9)
    names = table.column("configuration")
    at = np.arange(len(names))
    for shift, (column, label, colour, hatch) in enumerate(
        (
            ("paper", "paper's Table 2 (finite, arbitrary: a bound)", GREY, ""),
            ("metric", METRIC, PURPLE, "////"),
            ("plain", PLAIN, GREEN, "...."),
        )
    ):
        place = at + 0.26 * (shift - 1)
        axis.barh(
            place, table.numbers(column), 0.24, label=label, color=colour, hatch=hatch, edgecolor="white", linewidth=0
        )
    axis.set_yticks(at, names)
    axis.invert_yaxis()
    axis.grid(visible=False, axis="y")
    axis.set_xlabel("scale, in units of sensitivity / epsilon")
    legend_below(figure, [axis], across=2)
    return figure


# --- Theorem 1 --------------------------------------------------------------------------------------------


def half_line_scales(epsilon: float, sensitivity: float, away: float) -> tuple[float, float]:
    """(32) and (33): the scales that the paper gives to answers at, and `away` from, the constraint."""
    from scipy.special import lambertw

    first = -sensitivity / (lambertw(-1 / (2 * math.e)).real * math.e * epsilon)
    i = away / sensitivity
    inner = away * math.exp(-i * epsilon) / first
    argument = max(-2 * inner * math.exp(-inner), 1e-15 - 1 / math.e)
    w = lambertw(argument, 0 if i * epsilon <= 1 else -1).real
    return first, -away * first / (w * first + away * math.exp(-i * epsilon))


REFUTED, ONE = "paper's Theorem 1", "one least scale"
BY_REPORT, BY_RANGE = "log-ratio by report", "audited epsilon by range"


def theorem1(
    epsilon: Number = 1,
    sensitivity: float = 1.0,
    farthest: float = 100.0,
    points: int = 201,
    sizes: Sequence[int] = (2, 5, 10, 20, 30, 40, 50, 60),
) -> Result:
    """The log-ratio between answers at the constraint and one sensitivity away, by report; and audited matrices."""
    e, x = decimal(epsilon), np.linspace(0, farthest, points)
    first, second = half_line_scales(e, sensitivity, sensitivity)
    one = find_scale(HALF_LINE, sensitivity, e)
    rows: list[tuple[Any, ...]] = []
    for name, scales in ((REFUTED, (first, second)), (ONE, (one, one))):
        here, there = (density(HALF_LINE, x, at, s) for at, s in zip((0.0, sensitivity), scales, strict=True))
        rows += [(BY_REPORT, name, v, abs(r)) for v, r in zip(x, np.log(here / there), strict=True)]
    rows += [row for n in sizes for row in _audited(n, epsilon)]
    table = Table.of(("panel", "mechanism", "x", "value"), rows)
    return Result(table, lambda: _violation(table, e))


HALF_LINE: Spans = ((0.0, INF),)


def _audited(n: int, epsilon: Number) -> list[tuple[Any, ...]]:
    """The true epsilon of each construction for answers 0..n, one sensitivity apart."""
    query = count(n)
    one = catalog.normalized_laplace(query, epsilon, unbounded="above")
    return [
        (BY_RANGE, REFUTED, n, audit(catalog.refuted_half_line(query, epsilon), query).epsilon),
        (BY_RANGE, ONE, n, one.tight_epsilon()),
        (BY_RANGE, OPTIMAL, n, optimal(query, epsilon).tight_epsilon()),
    ]


def _violation(table: Table, epsilon: float) -> "Figure":
    labels = {
        BY_REPORT: "report, in sensitivities from the constraint",
        BY_RANGE: "largest answer, in sensitivities",
    }
    titles = {BY_REPORT: "answers 0 and 1 from the constraint", BY_RANGE: "audit of the whole matrix"}
    figure = curves(table, "x", panel="panel", x_label=labels, y_label="privacy loss", titles=titles)
    for axis in figure.axes:
        axis.axhline(epsilon, color=GREY, linewidth=1, zorder=0)
        axis.annotate(f"promised: {epsilon:g}", (0.98, epsilon), xycoords=("axes fraction", "data"), xytext=(0, 4),
                      textcoords="offset points", ha="right", fontsize=8, color="#555555")  # fmt: skip
    return figure


# --- plain against metric scales --------------------------------------------------------------------------


def scales(
    epsilons: Sequence[Number] = ("0.1", "1", "3"),
    ratios: Sequence[float] = (1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0),
    fineness: int = 20,
    crew: Crew = ALONE,
) -> Result:
    """Intervals of growing width: the least scale for both promises, and the error it costs against the optimum.

    fineness: cells in one sensitivity, the same at every range: errors are comparable only where cells are equally
    wide. What one person can move in cells, times their width, is the effective sensitivity.
    """
    jobs = [(decimal(e), ratio, fineness) for e in epsilons for ratio in ratios]
    parts = crew.map(_interval_scales, jobs)
    columns = ("epsilon", "range", "effective_sensitivity", "mechanism", "scale", "value")
    table = Table.of(columns, [row for part in parts for row in part])
    return Result(table, lambda: _scale_curves(table))


def _interval_scales(job: tuple[float, float, int]) -> list[tuple[Any, ...]]:
    epsilon, ratio, fineness = job
    spans = ((0.0, ratio),)
    metric, plain = (find_scale(spans, 1, epsilon, notion) * epsilon for notion in ("metric", "plain"))
    query = feasible(spans, 1.0, round(ratio * fineness))
    errors = _errors(query, epsilon)
    snapped = catalog.snapped_laplace(query, epsilon).loss("absolute")
    rows = zip((METRIC, PLAIN, OPTIMAL, "snapped Laplace"), (metric, plain, None, 1.0), (*errors, snapped), strict=True)
    effective = float(query.sensitivity)
    return [(epsilon, ratio, effective, name, scale, error) for name, scale, error in rows]


def _scale_curves(table: Table) -> "Figure":
    epsilons = table.distinct("epsilon")
    figure, axes = panels(2 * len(epsilons), across=2, width=3.6)
    for k, axis in enumerate(axes):
        value, epsilon = ("scale", "value")[k % 2], epsilons[k // 2]
        for place, name in enumerate(table.distinct("mechanism")):
            rows = table.where(epsilon=epsilon, mechanism=name)
            if value == "scale" and name in (OPTIMAL, "snapped Laplace"):
                continue
            axis.plot(rows.numbers("range"), rows.numbers(value), label=name, **look(name, place))
        axis.set_title(f"epsilon = {epsilon:g}")
        axis.set_xlabel("range / sensitivity")
        axis.set_ylabel("scale · epsilon / sensitivity" if value == "scale" else "expected absolute error")
    legend_below(figure, axes, across=2)
    return figure


STUDIES = (
    Study("002-table2", "Scales for each class of constraints", table2, {"cells": 20}),
    Study(
        "002-theorem1",
        "The half-line scales of Theorem 1 are not private",
        theorem1,
        {"sizes": (2, 10, 30), "points": 51},
    ),
    Study(
        "002-scales",
        "Plain against metric privacy: scales and errors",
        scales,
        {"epsilons": ("1",), "ratios": (1.0, 2.0, 4.0), "fineness": 10},
    ),
)
