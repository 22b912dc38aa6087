"""002: Croft, Sack, Shi, "Differential privacy via a truncated and normalized Laplace mechanism".

Spans are the feasible intervals (lower, upper), in order, possibly unbounded; what lies between is constrained.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from inbounds.catalog.scales import find_scale, kept_mass
from inbounds.design.designer import optimal
from inbounds.exact import Floats, Number
from inbounds.query import RangeQuery, interval
from inbounds_studies.study import Result, Study
from inbounds_studies.style import BLACK, GREEN, GREY, OPTIMAL, ORANGE, legend_below, panels
from inbounds_studies.table import Table, decimal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Spans = Sequence[tuple[float, float]]
INF = math.inf


# --- the density and its privacy loss ---------------------------------------------------------------------


def kept(spans: Spans, at: Floats, scale: float) -> Floats:
    """N(f): the Laplace mass around each location that the spans keep."""
    return kept_mass(np.array(spans, dtype=np.float64), at, scale)


def density(spans: Spans, x: Floats, at: float, scale: float) -> Floats:
    """The truncated and normalized Laplace density; zero where constrained."""
    inside = np.any([(low <= x) & (x <= high) for low, high in spans], axis=0)
    bell = np.exp(-np.abs(x - at) / scale) / (2 * scale)
    return np.where(inside, bell, 0.0) / kept(spans, np.array([at]), scale)


# --- Figure 2 ---------------------------------------------------------------------------------------------

SHOWN: Spans = ((-3.0, -1.8), (-1.0, 0.6), (1.4, 3.0))


def fig2(
    spans: Spans = SHOWN,
    at: float = 0.0,
    scale: float = 1.0,
    epsilon: Number = 1,
    points: int = 601,
    cells: int = 60,
) -> Result:
    """A Laplace density before and after truncation and normalization, and what plain privacy makes of it."""
    x = np.linspace(spans[0][0] - 1, spans[-1][1] + 1, points)
    e = decimal(epsilon)
    tight = find_scale(spans, scale * e, e)
    found = {
        "Laplace": np.exp(-np.abs(x - at) / scale) / (2 * scale),
        "truncated and normalized": density(spans, x, at, scale),
        f"the same at the least private scale ({tight:.2f})": density(spans, x, at, tight),
    }
    rows = [(name, float(v), float(p)) for name, y in found.items() for v, p in zip(x, y, strict=True)]
    rows += _optimal_density(spans, at, scale * e, epsilon, cells)
    table = Table.of(("curve", "x", "density"), rows)
    return Result(table, lambda: _densities(table, spans, at))


def feasible(spans: Spans, sensitivity: float, cells: int) -> RangeQuery:
    """Bounded spans as a query: answers rounded down into equal cells, the constraints between them left out."""
    holes = [(str(left[1]), str(right[0])) for left, right in pairwise(spans)]
    return interval(str(spans[0][0]), str(spans[-1][1]), str(sensitivity), cells, holes=holes)


def _optimal_density(spans: Spans, at: float, sensitivity: float, epsilon: Number, cells: int) -> list[tuple[Any, ...]]:
    """The column of the optimal mechanism at `at`, as a density: mass over the width of its cells."""
    query = feasible(spans, sensitivity, cells)
    mechanism = optimal(query, epsilon)
    column = mechanism.matrix[:, int(query.encode(at))] / float(query.answers.unit)
    return [
        (f"{OPTIMAL} for the absolute error", v, p) for v, p in zip(query.output_values.tolist(), column, strict=True)
    ]


def _densities(table: Table, spans: Spans, at: float) -> "Figure":
    figure, axes = panels(2, across=1, width=6.6, height=2.6)
    looks: tuple[dict[str, Any], ...] = (
        {"color": GREY, "linestyle": "--"}, {"color": ORANGE, "linestyle": "-."}, {"color": GREEN},
        {"color": BLACK, "linewidth": 1.2},
    )  # fmt: skip
    for name, appearance in zip(table.distinct("curve"), looks, strict=True):
        rows, best = table.where(curve=name), name.startswith(OPTIMAL)
        steps: dict[str, Any] = {"drawstyle": "steps-mid"} if best else {}
        axes[best].plot(rows.numbers("x"), rows.numbers("density"), label=name, **appearance, **steps)
    axes[1].set_xlim(axes[0].get_xlim())
    for axis in axes:
        shade_constraints(axis, spans)
        axis.set_ylabel("density")
        axis.set_ylim(bottom=0)
    axes[1].set_xlabel(f"report; the true answer is {at:g}")
    legend_below(figure, axes, across=2)
    return figure


def shade_constraints(axis: "Axes", spans: Spans) -> None:
    """Grey where no answer can be."""
    left, right = axis.get_xlim()
    edges = [left, *(edge for span in spans for edge in span), right]
    for low, high in zip(edges[::2], edges[1::2], strict=True):
        axis.axvspan(low, high, color="#EFEFEF", zorder=0)
    axis.set_xlim(left, right)


STUDIES = (Study("002-fig2", "A truncated and normalized density", fig2, {"points": 121}),)
