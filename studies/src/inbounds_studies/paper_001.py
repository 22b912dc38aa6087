"""001: Fernandes, Lefki, Palamidessi, "Utility-preserving privacy mechanisms for counting queries"."""

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from inbounds import catalog, priors
from inbounds.design.designer import optimal
from inbounds.exact import Floats, Ints, epsilon_from_alpha
from inbounds.local.distance import kantorovich
from inbounds.local.reconstruct import reconstruct
from inbounds.mechanism import Mechanism
from inbounds.query import count, extreme, ordinal
from inbounds_studies.crew import ALONE, Crew, stream
from inbounds_studies.study import Result, Study
from inbounds_studies.style import BLUE, GREEN, OPTIMAL, ORANGE, curves, draw_line, legend_below, look, panels
from inbounds_studies.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RESPONSE, GEOMETRIC, EQUAL = "randomized response", "geometric", "geometric, same LDP"
ALL = (RESPONSE, GEOMETRIC, EQUAL, OPTIMAL)

BINOMIAL, FOUR = "binomial", "4-point"
POINTS, SHARES = (12, 37, 58, 83), (0.1, 0.4, 0.3, 0.2)
"""The 4-point data: the paper draws four points at random and does not print them."""


@cache
def mechanism(name: str, top: int = 100, ratio: int = 2, radius: int = 10) -> Mechanism:
    """The mechanism of that name on 0..top.

    Randomized response keeps `ratio` between any two values. The geometric mechanism keeps it within `radius` only,
    so over the whole domain it is ratio^(top/radius); "same LDP" is the geometric mechanism with `ratio` over the
    whole domain. The optimum has the least absolute error of a report at the geometric mechanism's own privacy.
    """
    epsilon = epsilon_from_alpha(Fraction(1, ratio))
    if name == RESPONSE:
        return catalog.randomized_response(extreme(0, top), epsilon)
    if name == OPTIMAL:
        return optimal(ordinal(0, top), epsilon / radius)
    return catalog.truncated_geometric(ordinal(0, top), epsilon / (top if name == EQUAL else radius))


def distribution(name: str, top: int = 100) -> Floats:
    """The source of the data: binomial(top, 1/2), or four points."""
    if name == BINOMIAL:
        return priors.binomial(count(top), "1/2")
    p = np.zeros(top + 1)
    p[[point * top // 100 for point in POINTS]] = SHARES
    return p


def sample(name: str, size: int, top: int, seed: int) -> Ints:
    """The true values of one sample; the same for every run, as in the paper."""
    return stream(seed, 100, (BINOMIAL, FOUR).index(name), size).choice(top + 1, size=size, p=distribution(name, top))


# --- Figure 1 ---------------------------------------------------------------------------------------------


def fig1(x: int = 50, top: int = 100, ratio: int = 2, radius: int = 10) -> Result:
    """What each mechanism reports when the true value is x."""
    shown = {name: mechanism(name, top, ratio, radius) for name in ALL}
    rows = [(name, i, p) for name, m in shown.items() for i, p in enumerate(m.matrix[:, int(m.query.encode(x))])]
    table = Table.of(("mechanism", "report", "probability"), rows)
    return Result(table, lambda: _shapes(table, x))


def _shapes(table: Table, x: int) -> "Figure":
    """On a logarithmic axis, with reports that never occur on its lower edge."""
    possible = Table(table.columns, tuple(row for row in table.rows if float(str(row[2])) > 0))
    figure = curves(
        possible, "report", "probability", x_label=f"report; the true value is {x}", y_label="probability",
        legend_across=4, log_y=True, dots=(OPTIMAL,),
    )  # fmt: skip
    (axis,) = figure.axes
    bottom = 0.5 * min(possible.column("probability"))
    axis.set_ylim(bottom=bottom)
    never = table.where(probability=0.0)
    for name in never.distinct("mechanism"):
        at = never.numbers("report", mechanism=name)
        axis.plot(at, np.full(len(at), bottom * 1.08), "|", color=look(name)["color"], markersize=7, clip_on=False)
        words = f"{name} never reports {len(at)} of {len(table.where(mechanism=name))} values (ticks)"
        axis.annotate(words, (0.5, 0.03), xycoords="axes fraction", ha="center", fontsize=8, color="#555555")
    return figure


# --- Figure 2 ---------------------------------------------------------------------------------------------


def fig2(
    size: int = 100_000,
    top: int = 100,
    ratio: int = 2,
    radius: int = 10,
    iterations: int = 5000,
    runs: int = 5,
    seed: int = 0,
    crew: Crew = ALONE,
) -> Result:
    """True, reported and reconstructed distributions of one run, with the standard error of one over several."""
    cases = [(name, data) for name in (RESPONSE, GEOMETRIC, OPTIMAL) for data in (FOUR, BINOMIAL)]
    jobs = [(*case, run, size, top, ratio, radius, iterations, seed) for case in cases for run in range(runs)]
    found = crew.map(_pictured, jobs)
    columns = ("mechanism", "data", "value", "true", "reported", "reconstructed", "standard_error")
    rows = [
        (*case, v, *found[k * runs][:, v], error)
        for k, case in enumerate(cases)
        for v, error in enumerate(np.std([part[2] for part in found[k * runs : (k + 1) * runs]], axis=0, ddof=1))
    ]
    table = Table.of(columns, rows)
    return Result(table, lambda: _reconstructions(table, size))


def _pictured(job: tuple[str, str, int, int, int, int, int, int, int]) -> Floats:
    """Shares of the true, the reported and the reconstructed values of one run."""
    name, data, run, size, top, ratio, radius, iterations, seed = job
    m, truth = mechanism(name, top, ratio, radius), sample(data, size, top, seed)
    counts = _reports(m, truth, stream(seed, 102, ALL.index(name), (BINOMIAL, FOUR).index(data), run))
    found = reconstruct(counts, m, acceleration="none", iterations=iterations, given="counts").distribution
    return np.array([np.bincount(truth, minlength=top + 1) / size, counts / size, found])


def _reports(m: Mechanism, truth: Ints, rng: np.random.Generator) -> Ints:
    return np.bincount(m.simulate(truth, rng), minlength=m.query.shape[0])


def _reconstructions(table: Table, size: int) -> "Figure":
    cases = list(dict.fromkeys(zip(table.column("mechanism"), table.column("data"), strict=True)))
    figure, axes = panels(len(cases), across=2, width=3.7, height=2.3)
    for axis, (name, data) in zip(axes, cases, strict=True):
        part = table.where(mechanism=name, data=data)
        value = part.numbers("value")
        axis.fill_between(value, part.numbers("true"), step="mid", color=BLUE, alpha=0.35, label="true", linewidth=0)
        reported: dict[str, Any] = {"color": GREEN, "linewidth": 1.3, "linestyle": ":", "label": "reported"}
        axis.step(value, part.numbers("reported"), where="mid", **reported)
        found, error = part.numbers("reconstructed"), part.numbers("standard_error")
        axis.fill_between(value, found - error, found + error, step="mid", color=ORANGE, alpha=0.3, linewidth=0)
        axis.step(
            value, found, where="mid", color=ORANGE, label="reconstructed; shaded: ± one standard deviation over runs"
        )
        axis.set_title(f"{name}, {data}")
        axis.set_ylim(0, 1.05 * max(part.numbers("true").max(), part.numbers("reported").max(), (found + error).max()))
    for axis in axes[-2:]:
        axis.set_xlabel("value")
    for axis in axes[::2]:
        axis.set_ylabel("share")
    legend_below(figure, axes)
    return figure


# --- Figure 3 ---------------------------------------------------------------------------------------------


def fig3(
    sizes: Sequence[int] = (1000, 10_000, 50_000, 100_000),
    runs: int = 20,
    iterations: int = 5000,
    top: int = 100,
    ratio: int = 2,
    radius: int = 10,
    names: Sequence[str] = ALL,
    seed: int = 0,
    crew: Crew = ALONE,
) -> Result:
    """Kantorovich distance between the reconstructed and the true distribution of the sample."""
    cases = [(data, size, name) for data in (FOUR, BINOMIAL) for size in sizes for name in names]
    jobs = [(*case, run, iterations, top, ratio, radius, seed) for case in cases for run in range(runs)]
    distances = np.array(crew.map(_distance, jobs)).reshape(len(cases), runs)
    columns = ("data", "size", "mechanism", "value", "standard_error", "least", "largest")
    rows = [
        (*case, d.mean(), d.std(ddof=1) / np.sqrt(runs), d.min(), d.max())
        for case, d in zip(cases, distances, strict=True)
    ]
    table = Table.of(columns, rows)
    return Result(table, lambda: _distances(table))


def _distance(job: tuple[str, int, str, int, int, int, int, int, int]) -> float:
    data, size, name, run, iterations, top, ratio, radius, seed = job
    m, truth = mechanism(name, top, ratio, radius), sample(data, size, top, seed)
    rng = stream(seed, 103, (BINOMIAL, FOUR).index(data), size, ALL.index(name), run)
    found = reconstruct(_reports(m, truth, rng), m, acceleration="none", iterations=iterations, given="counts")
    return kantorovich(found.distribution, np.bincount(truth, minlength=top + 1))


def _distances(table: Table) -> "Figure":
    titles = {FOUR: "4-point data", BINOMIAL: "binomial data"}
    figure = curves(
        table, "size", panel="data", x_label="sample size", y_label="Kantorovich distance", titles=titles,
        log_y=True, legend_across=2,
    )  # fmt: skip
    for axis in figure.axes:
        axis.set_xscale("log")
    return figure


# --- Figure 4 ---------------------------------------------------------------------------------------------


def fig4(
    size: int = 100_000,
    iterations: int = 5000,
    top: int = 100,
    ratio: int = 2,
    radius: int = 10,
    runs: int = 5,
    names: Sequence[str] = ALL,
    seed: int = 0,
    crew: Crew = ALONE,
) -> Result:
    """Log-likelihood per report at every iteration, and what it lacks of the maximum: means of several runs."""
    cases = [(data, name) for data in (FOUR, BINOMIAL) for name in names]
    jobs = [(*case, run, size, iterations, top, ratio, radius, seed) for case in cases for run in range(runs)]
    paths = crew.map(_climb, jobs)
    rows = [row for k, case in enumerate(cases) for row in _averaged(case, paths[k * runs : (k + 1) * runs])]
    table = Table.of(("data", "mechanism", "iteration", "log_likelihood", "missing", "standard_error"), rows)
    return Result(table, lambda: _climbs(table))


def _climb(job: tuple[str, str, int, int, int, int, int, int, int]) -> Floats:
    """Log-likelihood at every iteration of one run, and what each lacks."""
    data, name, run, size, iterations, top, ratio, radius, seed = job
    m, truth = mechanism(name, top, ratio, radius), sample(data, size, top, seed)
    counts = _reports(m, truth, stream(seed, 104, (BINOMIAL, FOUR).index(data), ALL.index(name), run))
    path = reconstruct(counts, m, acceleration="none", iterations=iterations, given="counts").path
    best = max(reconstruct(counts, m, method="ibu", given="counts").log_likelihood, float(path.max()))
    return np.array([path, best - path])


def _averaged(case: tuple[str, str], paths: Sequence[Floats]) -> list[tuple[Any, ...]]:
    """Means over the runs at iterations spread evenly on a logarithmic axis, and standard errors of what is missing."""
    shortest = min(path.shape[1] for path in paths)
    kept = np.unique(np.geomspace(1, shortest, 120).round().astype(int)) - 1
    both = np.array([path[:, kept] for path in paths])
    error = both[:, 1].std(axis=0, ddof=1) / np.sqrt(len(paths))
    level, missing = both.mean(axis=0)
    return [(*case, int(k), *numbers) for k, *numbers in zip(kept, level, missing, error, strict=True)]


FLAT = 1e-7
"""Drawn at least this far below the maximum: the axis is logarithmic."""


def _climbs(table: Table) -> "Figure":
    """Above the log-likelihood, as the paper draws it; below what it lacks, where its growth can be seen."""
    shown = Table.of(
        table.columns,
        [(*row[:2], float(str(row[2])) + 1, row[3], max(float(str(row[4])), FLAT), row[5]) for row in table.rows],
    )
    data = table.distinct("data")
    figure, axes = panels(2 * len(data), across=2, width=3.6, height=2.6)
    for k, axis in enumerate(axes):
        part, missing = shown.where(data=data[k % 2]), k >= len(data)
        for name in part.distinct("mechanism"):
            if name == EQUAL and not missing:
                continue  # a line of ours, so far above that it would flatten the paper's
            line = part.where(mechanism=name)
            if missing:
                draw_line(axis, line, "iteration", "missing", name, look(name))
            else:
                axis.plot(line.numbers("iteration"), line.numbers("log_likelihood"), markevery=12, **look(name))
        axis.set(xscale="log", yscale="log" if missing else "linear")
        axis.set_title("" if missing else data[k])
        axis.set_xlabel("iteration" if missing else "")
        axis.set_ylabel(("missing of the maximum" if missing else "log-likelihood") if k % 2 == 0 else "")
    legend_below(figure, axes, across=2)
    return figure


_FEW: dict[str, Any] = {"iterations": 300, "runs": 2}
STUDIES = (
    Study("001-fig1", "Reports of 50 by randomized response and by the geometric mechanism", fig1),
    Study("001-fig2", "Reconstructed distributions", fig2, {**_FEW, "size": 10_000}),
    Study("001-fig3", "Kantorovich distance against sample size", fig3, {**_FEW, "sizes": (1000, 10_000), "runs": 4}),
    Study("001-fig4", "Convergence of the iterative Bayesian update", fig4, {**_FEW, "size": 10_000}),
)
