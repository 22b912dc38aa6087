"""002: Croft, Sack, Shi, "Differential privacy via a truncated and normalized Laplace mechanism".

Spans are the feasible intervals (lower, upper), in order, possibly unbounded; what lies between is constrained.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

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
    edges = np.array(spans, dtype=np.float64)
    low, high = edges[:, :1] - at, edges[:, 1:] - at
    return np.asarray((_cdf(high / scale) - _cdf(low / scale)).sum(axis=0))


def _cdf(x: Floats) -> Floats:
    return np.where(x < 0, 0.5 * np.exp(np.minimum(x, 0)), 1 - 0.5 * np.exp(-np.maximum(x, 0)))


def density(spans: Spans, x: Floats, at: float, scale: float) -> Floats:
    """The truncated and normalized Laplace density; zero where constrained."""
    inside = np.any([(low <= x) & (x <= high) for low, high in spans], axis=0)
    bell = np.exp(-np.abs(x - at) / scale) / (2 * scale)
    return np.where(inside, bell, 0.0) / kept(spans, np.array([at]), scale)


def private(spans: Spans, scale: float, sensitivity: float, epsilon: float, metric: bool) -> bool:
    """Whether one scale serves all feasible answers f, g: |f-g|/s + |ln N(f)/N(g)| is within the allowance.

    The allowance is epsilon·|f-g|/sensitivity for every pair (metric), or epsilon for pairs within the sensitivity
    (plain). Decided on a grid of answers: dense inside the spans, with all their ends.
    """
    at = _answers(spans, sensitivity)
    log = np.log(kept(spans, at, scale))
    apart = np.abs(at[:, None] - at[None, :])
    loss = apart / scale + np.abs(log[:, None] - log[None, :])
    if metric:
        return bool((loss <= epsilon * apart / sensitivity + 1e-12).all())
    return bool((loss[apart <= sensitivity * (1 + 1e-9)] <= epsilon + 1e-12).all())


REACHED = 12.0
"""Sensitivities that a half-line is followed: N changes by less than exp(-6·epsilon) beyond."""


def _answers(spans: Spans, sensitivity: float) -> Floats:
    parts = []
    for low, high in spans:
        start = low if math.isfinite(low) else min(high, 0.0) - REACHED * sensitivity
        stop = high if math.isfinite(high) else max(low, 0.0) + REACHED * sensitivity
        steps = max(2, round((stop - start) / sensitivity * 20) + 1)
        parts.append(np.linspace(start, stop, steps))
        near = sensitivity * 1e-5  # the metric condition is sharpest between close answers at an end
        parts.append(np.array([min(start + near, stop), max(stop - near, start)]))
    return np.unique(np.concatenate(parts))


def least_scale(spans: Spans, sensitivity: float, epsilon: float, metric: bool) -> float:
    """The smallest scale that is private, by bisection to 10^-6."""
    natural = sensitivity / epsilon
    low, high = natural / 64, 4 * natural
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if private(spans, middle, sensitivity, epsilon, metric) else (middle, high)
    return high


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
    tight = least_scale(spans, scale * e, e, metric=False)
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
        {"color": GREY, "linestyle": "--"}, {"color": ORANGE}, {"color": GREEN}, {"color": BLACK, "linewidth": 1.2},
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
