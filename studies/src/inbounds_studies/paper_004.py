"""004: Chen, Pal, Golubchik, "Oblivious mechanisms in differential privacy". Losses in units of the sensitivity."""

import math
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from inbounds import catalog
from inbounds.design.designer import optimal
from inbounds.exact import Floats, Number, epsilon_from_alpha
from inbounds.query import RangeQuery, count, interval, with_outputs
from inbounds_studies import noise
from inbounds_studies.crew import ALONE, Crew, stream
from inbounds_studies.noise import GEOMETRIC, LAPLACE, STAIRCASE
from inbounds_studies.study import Result, Study
from inbounds_studies.style import BLACK, BLUE, OPTIMAL, legend_below, look, panels, say_hidden
from inbounds_studies.table import Table, decimal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEAN, MAX, COUNT = "mean", "max", "count"
PREROUNDED, BOUNDED = "pre-rounded geometric", "pre-rounded geometric, in range"
KNOWN, BLIND = "optimal, prior known", "no data: best constant"
HALF = 10.0
"""The answers of mean and max lie in -10..10 and the sensitivity is 10 (004 §5.2.1)."""


# --- Figure 1 ---------------------------------------------------------------------------------------------


def fig1(a: Number = "0.5", reach: int = 4, step: Number = "0.5", points: int = 801) -> Result:
    """The shapes of the three kinds of noise, and of the optimum for answers within the reach."""
    level, width = decimal(a), decimal(step)
    x = np.linspace(-reach, reach, points)
    grid = np.arange(-reach / width, reach / width + 0.5) * width
    rows = [
        (name, v, p) for name in (LAPLACE, STAIRCASE) for v, p in zip(x, noise.density(name, level, x), strict=True)
    ]
    rows += [(GEOMETRIC, v, p / width) for v, p in zip(grid, noise.grid_mass(level, width, grid), strict=True)]
    query = interval(-reach - width / 2, reach + width / 2, 1, len(grid))
    column = optimal(query, epsilon_from_alpha(a)).matrix[:, len(grid) // 2]
    rows += [(OPTIMAL, v, p / width) for v, p in zip(query.answers.floats(), column, strict=True)]
    table = Table.of(("mechanism", "x", "density"), rows)
    return Result(table, lambda: _shapes(table, width))


def _shapes(table: Table, width: float) -> "Figure":
    figure, (axis,) = panels(1, width=6.6, height=3.5)
    furthest = table.where(mechanism=OPTIMAL).numbers("x").max()
    for name, words, share, colour in (
        (OPTIMAL, f"for answers within ±{furthest:g}", 0.8, "#D0D0D0"),
        (GEOMETRIC, f"on a grid of {width:g}", 0.35, BLUE),
    ):
        rows = table.where(mechanism=name)
        axis.bar(rows.numbers("x"), rows.numbers("density"), share * width, color=colour, label=f"{name} {words}")
    for name in (LAPLACE, STAIRCASE):
        rows = table.where(mechanism=name)
        axis.plot(rows.numbers("x"), rows.numbers("density"), **(look(name) | {"marker": ""}), label=name)
    axis.set_xlabel("noise, in sensitivities")
    axis.set_ylabel("density")
    legend_below(figure, [axis], across=2)
    return figure


# --- Figure 3 ---------------------------------------------------------------------------------------------

ALPHAS = (
    "0.002", "0.005", "0.01", "0.03", "0.06", "0.1", "0.15", "0.2", "0.25", "0.3", "0.35", "0.4", "0.45", "0.5",
)  # fmt: skip


def fig3(
    alphas: Sequence[Number] = ALPHAS,
    runs: int = 1_000_000,
    size: int = 100,
    cells: int = 40,
    seed: int = 0,
    crew: Crew = ALONE,
) -> Result:
    """Expected loss against alpha for mean, max and count: closed forms against simulation."""
    jobs = [(query, a, runs, size, cells, seed) for query in (MEAN, MAX, COUNT) for a in alphas]
    parts = crew.map(_tradeoff, jobs)
    columns = ("query", "alpha", "mechanism", "value", "standard_error", "theory")
    table = Table.of(columns, [row for part in parts for row in part])
    return Result(table, lambda: _tradeoffs(table))


def _tradeoff(job: tuple[str, Number, int, int, int, int]) -> list[tuple[Any, ...]]:
    query, a, runs, size, cells, seed = job
    rng = stream(seed, 403, (MEAN, MAX, COUNT).index(query), round(10_000 * decimal(a)))
    rows = _added(query, decimal(a), runs, rng)
    rows += _counts(a, size) if query == COUNT else _heuristic(query, a, runs, size, cells, rng)
    return [(query, decimal(a), *row) for row in rows]


def _added(query: str, a: float, runs: int, rng: np.random.Generator) -> list[tuple[Any, ...]]:
    """Noise added to the true answer; counts are rounded, as the paper's remap for whole answers does."""
    whole = query == COUNT
    rows = []
    for name in (LAPLACE, STAIRCASE, GEOMETRIC) if whole else (LAPLACE, STAIRCASE):
        drawn = noise.draw(name, a, (runs,), rng)
        errors = np.abs(np.rint(drawn) if whole else drawn)
        rows.append((name, *mean_of(errors), noise.expected_error(name, a, whole)))
    return rows


def mean_of(values: Floats) -> tuple[float, float]:
    """The mean and its standard error."""
    return float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values)))


def _counts(a: Number, size: int) -> list[tuple[Any, ...]]:
    """The optimum for a count of 0..size, all equally likely."""
    best = optimal(count(size), epsilon_from_alpha(a)).loss()
    return [(OPTIMAL, best, 0.0, best)]


def draw_answers(query: str, size: int, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """True answers: N(0, 1) cut to -10..10 for the mean, Beta(size, 1) stretched to -10..10 for the max."""
    if query == MEAN:
        return rng.standard_normal(shape).clip(-HALF, HALF)
    return 2 * HALF * rng.beta(size, 1, shape) - HALF


def rounded(answers: Floats) -> Floats:
    """The heuristic's first stage: -10, 0 or 10."""
    return np.where(answers < -HALF / 2, -HALF, np.where(answers < HALF / 2, 0.0, HALF))


def _heuristic(
    query: str, a: Number, runs: int, size: int, cells: int, rng: np.random.Generator
) -> list[tuple[Any, ...]]:
    """Pre-rounding with geometric noise as in the paper; then kept in range, and what the prior allows at best."""
    answers = draw_answers(query, size, (runs,), rng)
    reports = rounded(answers) + HALF * noise.draw(GEOMETRIC, decimal(a), (runs,), rng)
    grid = _told(query, size, interval(-10, 10, 10, cells))
    kept = catalog.prerounded_geometric(
        interval(-10, 10, 10, cells), epsilon_from_alpha(a), [-10, -5, 5, 10], [-10, 0, 10]
    )
    costs, prior = real_losses(query, size, grid)
    best = optimal(grid, epsilon_from_alpha(a), costs, prior).loss(costs, prior)
    coarse = kept.loss(real_losses(query, size, kept.query)[0], prior)
    return [
        (PREROUNDED, *mean_of(np.abs(reports - answers) / HALF), heuristic_error(query, decimal(a), size)),
        (BOUNDED, coarse, 0.0, coarse),
        (KNOWN, best, 0.0, best),
        (BLIND, blind_error(query, size), 0.0, blind_error(query, size)),
    ]


def _told(query: str, size: int, grid: RangeQuery) -> RangeQuery:
    """The same cells, each reported as the prior's median within it, and that around the prior's median as this.

    So the best constant is among the mechanisms that the optimum is chosen from.
    """
    x, p = fine_prior(query, size)
    edges = [*np.searchsorted(x, grid.outputs.lowers.floats()), len(x)]
    centre = int(np.searchsorted(np.cumsum(p), 0.5))
    cells = []
    for (low, high, _), start, stop in zip(grid.outputs, edges[:-1], edges[1:], strict=True):
        within = np.cumsum(p[start:stop])
        middle = centre if start <= centre < stop else start + int(np.searchsorted(within, within[-1] / 2))
        cells.append((low, high, f"{x[middle]:.6f}"))
    return with_outputs(grid, cells)


@cache
def fine_prior(query: str, size: int, points: int = 200_000) -> tuple[Floats, Floats]:
    """The prior of the real-valued answers on a fine grid: places and probabilities."""
    x = np.asarray(-HALF + (np.arange(points) + 0.5) * (2 * HALF / points), dtype=np.float64)
    weight = np.exp(-x * x / 2) if query == MEAN else ((x + HALF) / (2 * HALF)) ** (size - 1)
    return x, np.asarray(weight / weight.sum(), dtype=np.float64)


def real_losses(query: str, size: int, grid: RangeQuery) -> tuple[Floats, Floats]:
    """loss[output, cell]: expected |report - answer| in sensitivities, the answer being anywhere in its cell."""
    x, p = fine_prior(query, size)
    cell = grid.encode(x)
    prior = np.asarray(np.bincount(cell, weights=p, minlength=len(grid.answers)), dtype=np.float64)
    rows = [np.bincount(cell, weights=p * np.abs(v - x), minlength=len(prior)) for v in grid.output_values.tolist()]
    return np.asarray(np.array(rows) / np.maximum(prior, 1e-300) / HALF, dtype=np.float64), prior


@cache
def blind_error(query: str, size: int) -> float:
    """The expected loss of reporting the prior's median whatever the data say."""
    x, p = fine_prior(query, size)
    median = x[np.searchsorted(np.cumsum(p), 0.5)]
    return float(np.abs(x - median) @ p / HALF)


@cache
def floor(query: str, size: int) -> float:
    """What pre-rounding keeps back however many collude: the expected distance to the rounded answer."""
    x, p = fine_prior(query, size)
    return float(np.abs(x - rounded(x)) @ p / HALF)


def heuristic_error(query: str, a: float, size: int) -> float:
    """Expected loss of the heuristic: 2a/(1-a²) + (1-a)/(1+a) · floor.

    Rounding moves the answer by at most half a step, so noise of k and of -k steps together cost 2|k| steps
    wherever in its cell the answer lies; only noise 0 shows the rounding error.
    """
    return 2 * a / (1 - a * a) + (1 - a) / (1 + a) * floor(query, size)


NINETY_FIVE = 1.96
"""Standard errors of a normal mean on either side of a 95 % interval."""


def _tradeoffs(table: Table) -> "Figure":
    """Lines for the closed forms; markers for the simulation, with 95 % intervals, which are narrower than most."""
    queries = table.distinct("query")
    figure, axes = panels(len(queries), across=2, width=3.6, height=3.1)
    for axis, query in zip(axes, queries, strict=True):
        for place, name in enumerate(table.where(query=query).distinct("mechanism")):
            rows = table.where(query=query, mechanism=name)
            appearance = look(name, place)
            axis.plot(rows.numbers("alpha"), rows.numbers("theory"), **(appearance | {"marker": ""}), label=f"_{name}")
            error = rows.numbers("standard_error")
            simulated = appearance if error.any() else appearance | {"marker": ""}
            axis.plot([], [], label=name, **simulated)
            if error.any():
                bars: dict[str, Any] = {"ecolor": BLACK, "elinewidth": 0.9, "capsize": 2}
                marks = simulated | {"linestyle": ""}
                axis.errorbar(rows.numbers("alpha"), rows.numbers("value"), NINETY_FIVE * error, **marks, **bars)
        axis.set_title(query)
        axis.set_xlabel("α = exp(−epsilon)")
        axis.set_ylabel("expected loss / sensitivity")
    legend_below(figure, axes, across=2)
    say_hidden(figure, dict(zip(queries, axes, strict=True)))
    return figure


STUDIES = (
    Study("004-fig1", "Laplace, staircase and geometric noise", fig1, {"points": 161}),
    Study(
        "004-fig3",
        "Loss against alpha: closed forms and simulation",
        fig3,
        {"alphas": ("0.005", "0.1", "0.3", "0.5"), "runs": 50_000, "cells": 20},
    ),
)
