"""000, Figures 1 to 7: expected loss of mechanisms that stay in range, by four measures."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from inbounds import catalog
from inbounds.catalog.registry import Family
from inbounds.design.designer import optimal
from inbounds.exact import Number, to_fraction
from inbounds.losses import Prior
from inbounds.mechanism import Mechanism
from inbounds.query import OutputCells, RangeQuery, cells, extreme, mean, with_outputs
from inbounds_studies.crew import ALONE, Crew
from inbounds_studies.paper_000 import LAPLACE, NORMALIZED, STAIRCASE, VARIANT_1, VARIANT_2
from inbounds_studies.study import Result, Study
from inbounds_studies.style import OPTIMAL, curves
from inbounds_studies.table import Table, decimal

MEASURES = {
    "absolute error": ("absolute", False),
    "squared error": ("squared", False),
    "absolute error, best guess": ("absolute", True),
    "squared error, best guess": ("squared", True),
}
"""(23) to (26): loss at face value, and of a Bayesian user with a uniform prior; the last two as corrected."""

TIGHT = "normalized Laplace, least scale"
MAKERS: dict[str, Family] = {
    LAPLACE: catalog.snapped_laplace,
    STAIRCASE: catalog.snapped_staircase,
    NORMALIZED: lambda query, epsilon: catalog.normalized_laplace(query, epsilon, notion="metric"),
    TIGHT: catalog.normalized_laplace,
    VARIANT_1: catalog.variant_1,
    VARIANT_2: catalog.variant_2,
}
"""The paper normalizes at scale 2·sensitivity/epsilon, which is metric privacy; plain privacy needs less."""

EPSILONS = ("0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1", "1.2", "1.4", "1.6", "1.8", "2")


Names = Sequence[str] | Mapping[str, Family]
"""Which mechanisms are compared: names of MAKERS, or those and one's own with the functions that make them."""

QueryPrior = Callable[[RangeQuery], Prior] | Prior
"""The prior, or a function that gives it for a query, where a study asks several."""


def makers(names: Names) -> tuple[tuple[str, Family | None], ...]:
    """Names with the functions of one's own; None where the paper's stands, which is looked up where the work is."""
    if isinstance(names, Mapping):
        return tuple(names.items())
    for name in names:
        if name not in MAKERS:
            raise ValueError(f"names must be among {', '.join(MAKERS)}, got {name!r}; give your own as a dictionary")
    return tuple((name, None) for name in names)


def scored(name: str, mechanism: Mechanism, prior: Prior = None) -> list[tuple[str, str, float]]:
    """(mechanism, measure, value) for the four measures."""
    return [
        (name, measure, mechanism.bayes_loss(loss, prior) if guess else mechanism.loss(loss, prior))
        for measure, (loss, guess) in MEASURES.items()
    ]


def least(query: RangeQuery, epsilon: Number, prior: Prior = None) -> list[tuple[str, str, float]]:
    """The least value of each measure over all private mechanisms.

    Guessing afterwards cannot help the optimum: the guesses would be outputs of a mechanism just as private.
    """
    best = {loss: optimal(query, epsilon, loss, prior).loss(loss, prior) for loss in ("absolute", "squared")}
    return [(OPTIMAL, measure, best[loss]) for measure, (loss, _) in MEASURES.items()]


def _compare(
    job: tuple[RangeQuery, Number, tuple[tuple[str, Family | None], ...], QueryPrior],
) -> list[tuple[str, str, float]]:
    query, epsilon, made, prior = job
    weights = prior(query) if callable(prior) else prior
    rows = [row for name, own in made for row in scored(name, (own or MAKERS[name])(query, epsilon), weights)]
    return rows + least(query, epsilon, weights)


def _swept(
    crew: Crew, x: str, jobs: Sequence[tuple[Any, RangeQuery, Number]], names: Names, prior: QueryPrior = None
) -> Table:
    """One point of the x axis for each job (x, query, epsilon): the named mechanisms and the optimum."""
    found = crew.map(_compare, [(query, epsilon, makers(names), prior) for _, query, epsilon in jobs])
    rows = [(at, *row) for (at, _, _), part in zip(jobs, found, strict=True) for row in part]
    return Table.of((x, "mechanism", "measure", "value"), rows)


def _four(table: Table, x: str, label: str) -> Result:
    return Result(
        table,
        lambda: curves(table, x, panel="measure", x_label=label, y_label="expected loss", across=2, legend_across=3),
    )


# --- Figures 1 and 2: database size -----------------------------------------------------------------------

SIZES = (2, 4, 6, 8, 10, 12, 15, 20, 30, 40)


def fig1(
    epsilon: Number = "0.2",
    sizes: Sequence[int] = SIZES,
    low: int = 0,
    high: int = 4,
    names: Names = tuple(MAKERS),
    prior: QueryPrior = None,
    crew: Crew = ALONE,
) -> Result:
    """Loss against the size of the database, for the mean of values 0..4 at epsilon 0.2."""
    jobs = [(size, mean(size, low, high), epsilon) for size in sizes]
    return _four(_swept(crew, "size", jobs, names, prior), "size", "database size")


def fig2(
    epsilon: Number = "0.5",
    sizes: Sequence[int] = SIZES,
    low: int = 0,
    high: int = 4,
    names: Names = tuple(MAKERS),
    prior: QueryPrior = None,
    crew: Crew = ALONE,
) -> Result:
    """As Figure 1, at epsilon 0.5."""
    return fig1(epsilon, sizes, low, high, names, prior, crew)


# --- Figure 3: width of the reported cells ----------------------------------------------------------------


def coarse(query: RangeQuery, factor: Number) -> RangeQuery:
    """The query reported in equal cells about `factor` steps wide, which together cover the range and no more."""
    half = query.answers.unit / 2
    parts = max(2, round(len(query.answers) / to_fraction(factor, "factor")))
    return with_outputs(query, cells(query.answers[0] - half, query.answers[-1] + half, parts))


def fig3(
    size: int = 10,
    low: int = 0,
    high: int = 4,
    factors: Sequence[Number] = ("0.5", 1, 2, 5, 10, 20),
    epsilons: Sequence[Number] = ("0.05", *EPSILONS),
    crew: Crew = ALONE,
) -> Result:
    """Loss for finer and coarser reported cells: snapped Laplace, Variant 1, and guessing."""
    query = mean(size, low, high)
    points = [(name, f, e) for name in (LAPLACE, VARIANT_1) for f in factors for e in epsilons]
    points += [("uniform", 1, e) for e in epsilons]
    found = crew.map(_at_width, [(query, *point) for point in points])
    columns = ("epsilon", "cells", "family", "mechanism", "measure", "value")
    table = Table.of(columns, [row for part in found for row in part])
    return Result(table, lambda: _widths(table))


def _at_width(job: tuple[RangeQuery, str, Number, Number]) -> list[tuple[Any, ...]]:
    query, name, factor, epsilon = job
    reported = coarse(query, factor)
    rows = scored(name, (catalog.uniform if name == "uniform" else MAKERS[name])(reported, epsilon))
    parts = reported.shape[0]
    label = name if name == "uniform" else f"scale {factor} ({parts} cells)"
    return [(decimal(epsilon), parts, name, label, measure, value) for _, measure, value in rows]


def _widths(table: Table) -> Any:
    """Two panels at face value; guessing is drawn in both."""
    face = table.where(measure="absolute error")
    guess = [row for row in face.rows if row[2] == "uniform"]
    rows = [(*row[:2], family, *row[3:]) for family in (LAPLACE, VARIANT_1) for row in guess]
    own = Table(face.columns, tuple(row for row in face.rows if row[2] != "uniform") + tuple(rows))
    titles = {LAPLACE: LAPLACE, VARIANT_1: f"{VARIANT_1} (the optimum for its cells)"}
    return curves(
        own,
        "epsilon",
        panel="family",
        x_label="epsilon",
        y_label="expected absolute error",
        titles=titles,
        share_y=True,
    )


# --- Figures 4 and 5: epsilon -----------------------------------------------------------------------------


def fig4(
    size: int = 10,
    low: int = 0,
    high: int = 4,
    epsilons: Sequence[Number] = EPSILONS,
    names: Names = tuple(MAKERS),
    prior: QueryPrior = None,
    crew: Crew = ALONE,
) -> Result:
    """Loss against epsilon for the mean of ten values 0..4."""
    jobs = [(decimal(e), mean(size, low, high), e) for e in epsilons]
    return _four(_swept(crew, "epsilon", jobs, names, prior), "epsilon", "epsilon")


def fig5(
    low: int = 0,
    high: int = 9,
    epsilons: Sequence[Number] = EPSILONS,
    names: Names = tuple(MAKERS),
    prior: QueryPrior = None,
    crew: Crew = ALONE,
) -> Result:
    """Loss against epsilon for the largest of values 0..9 (or the smallest, or the median)."""
    jobs = [(decimal(e), extreme(low, high), e) for e in epsilons]
    return _four(_swept(crew, "epsilon", jobs, names, prior), "epsilon", "epsilon")


# --- Figures 6 and 7: a range widened to 300 % ------------------------------------------------------------


def widened(query: RangeQuery, share: Number = 3) -> RangeQuery:
    """The same cells continued to both sides until they span `share` times the range."""
    step = query.answers.unit
    extra = int(query.answers.span / step * (to_fraction(share, "share") - 1) / 2)
    start = query.answers[0] - extra * step
    values = [start + k * step for k in range(len(query.answers) + 2 * extra)]
    return with_outputs(query, OutputCells.from_edges([(v - step / 2, v + step / 2, v) for v in values]))


def fig6(
    size: int = 10, low: int = 0, high: int = 4, epsilons: Sequence[Number] = EPSILONS, crew: Crew = ALONE
) -> Result:
    """What range adherence is worth for the mean: the same mechanisms with a range three times as wide."""
    return _widening(mean(size, low, high), epsilons, crew)


def fig7(low: int = 0, high: int = 9, epsilons: Sequence[Number] = EPSILONS, crew: Crew = ALONE) -> Result:
    """What range adherence is worth for the largest value."""
    return _widening(extreme(low, high), epsilons, crew)


def _widening(query: RangeQuery, epsilons: Sequence[Number], crew: Crew) -> Result:
    names = (STAIRCASE, NORMALIZED, VARIANT_1)
    jobs = [(decimal(e), query, e) for e in epsilons]
    inside = _swept(crew, "epsilon", jobs, names)
    outside = crew.map(_extended, [(query, e, names) for e in epsilons])
    extra = [(at, *row) for (at, _, _), part in zip(jobs, outside, strict=True) for row in part]
    return _four(Table.of(inside.columns, [*inside.rows, *extra]), "epsilon", "epsilon")


def _extended(job: tuple[RangeQuery, Number, tuple[str, ...]]) -> list[tuple[str, str, float]]:
    query, epsilon, names = job
    wide = widened(query)
    return [row for name in names for row in scored(f"{name} (ext)", MAKERS[name](wide, epsilon))]


_FEW = {"epsilons": ("0.2", "0.5", "1")}
STUDIES = (
    Study("000-fig1", "Mean: loss against database size, epsilon 0.2", fig1, {"sizes": (2, 4, 8)}),
    Study("000-fig2", "Mean: loss against database size, epsilon 0.5", fig2, {"sizes": (2, 4, 8)}),
    Study("000-fig3", "Mean: finer and coarser reports", fig3, {**_FEW, "factors": (1, 5, 20)}),
    Study("000-fig4", "Mean: loss against epsilon", fig4, _FEW),
    Study("000-fig5", "Max: loss against epsilon", fig5, _FEW),
    Study("000-fig6", "Mean: a range three times as wide", fig6, _FEW),
    Study("000-fig7", "Max: a range three times as wide", fig7, _FEW),
)
