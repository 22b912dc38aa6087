"""What hangs on settings that the papers do not print: the same measures under other choices.

000: another survey of households, and groups in another order. 001: other binomial data and other points. 003: other
group sizes, chances and alphas. Expectations are exact where a choice is not itself a draw.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from inbounds import priors
from inbounds.exact import Floats, Number, epsilon_from_alpha
from inbounds.local.distance import kantorovich
from inbounds.local.reconstruct import reconstruct
from inbounds.query import count, extreme, mean
from inbounds_studies.crew import ALONE, Crew, stream
from inbounds_studies.paper_000 import LAPLACE, NORMALIZED, STAIRCASE, VARIANT_1, VARIANT_2
from inbounds_studies.paper_000_curves import MAKERS
from inbounds_studies.paper_000_data import SURVEYS, groups
from inbounds_studies.paper_001 import GEOMETRIC, RESPONSE, mechanism
from inbounds_studies.paper_003 import EM, GM, UM, WM, named
from inbounds_studies.paper_003_data import RMSE, WRONG, Measure, beyond
from inbounds_studies.study import Result, Study
from inbounds_studies.style import curves, panels
from inbounds_studies.table import Table, decimal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# --- 000: which households, and which of them form a group ------------------------------------------------

ORDERS = ("as filed", "shuffled")


def households(
    epsilons: Sequence[Number] = ("0.1", "0.2", "0.3", "0.5", "0.7", "1", "1.5", "2"),
    surveys: Sequence[str] = tuple(SURVEYS),
    orders: Sequence[str] = ORDERS,
    size: int = 10,
    low: int = 1,
    high: int = 7,
    seed: int = 0,
    crew: Crew = ALONE,
) -> Result:
    """Expected absolute error of Figures 8 and 9 on two surveys, groups as filed and shuffled; exact for each."""
    jobs = [(s, o, e, size, low, high, seed) for s in surveys for o in orders for e in epsilons]
    rows = [row for part in crew.map(_on_survey, jobs) for row in part]
    table = Table.of(("survey", "order", "statistic", "panel", "epsilon", "mechanism", "value"), rows)
    return Result(
        table,
        lambda: curves(
            table, "epsilon", panel="panel", x_label="epsilon", y_label="expected error", across=2, legend_across=3
        ),
    )


def _on_survey(job: tuple[str, str, Number, int, int, int, int]) -> list[tuple[Any, ...]]:
    survey, order, epsilon, size, low, high, seed = job
    rows = groups(size, low, high, survey)
    if order == "shuffled":
        flat = rows.ravel().copy()
        stream(seed, 801).shuffle(flat)
        rows = flat.reshape(rows.shape)
    found: list[tuple[Any, ...]] = []
    for statistic, query, answers in (
        ("mean", mean(size, low, high), rows.mean(axis=1)),
        ("largest", extreme(low, high), rows.max(axis=1)),
    ):
        truth = np.bincount(query.encode(answers), minlength=len(query.answers)) / len(rows)
        for name in (LAPLACE, STAIRCASE, NORMALIZED, VARIANT_1, VARIANT_2):
            value = MAKERS[name](query, epsilon).loss("absolute", truth)
            panel = f"{statistic}, {survey}, {order}"
            found.append((survey, order, statistic, panel, decimal(epsilon), name, value))
    return found


# --- 001: which data --------------------------------------------------------------------------------------

DATA = (
    "binomial 0.1",
    "binomial 0.3",
    "binomial 0.5",
    "points 12 37 58 83",
    "points 0 33 67 100",
    "points 48 50 52 54",
)


def reconstructed(
    names: Sequence[str] = DATA,
    sizes: Sequence[int] = (1000, 10_000, 100_000),
    runs: int = 10,
    iterations: int = 5000,
    top: int = 100,
    seed: int = 0,
    crew: Crew = ALONE,
) -> Result:
    """Kantorovich distances of Figure 3 for other binomial data and other points, with equal shares."""
    cases = [(data, size, name) for data in names for size in sizes for name in (RESPONSE, GEOMETRIC)]
    jobs = [(*case, run, iterations, top, seed) for case in cases for run in range(runs)]
    found = np.array(crew.map(_apart, jobs)).reshape(len(cases), runs)
    rows = [(*case, apart.mean(), apart.std(ddof=1) / np.sqrt(runs)) for case, apart in zip(cases, found, strict=True)]
    table = Table.of(("data", "size", "mechanism", "value", "standard_error"), rows)
    return Result(table, lambda: _log_log(table))


def source(data: str, top: int) -> Floats:
    """The distribution that a name such as "binomial 0.3" or "points 0 33 67 100" stands for."""
    kind, *numbers = data.split()
    if kind == "binomial":
        return priors.binomial(count(top), numbers[0])
    p = np.zeros(top + 1)
    p[[int(number) * top // 100 for number in numbers]] = 1 / len(numbers)
    return p


def _apart(job: tuple[str, int, str, int, int, int, int]) -> float:
    data, size, name, run, iterations, top, seed = job
    rng = stream(seed, 811, DATA.index(data), size, (RESPONSE, GEOMETRIC).index(name), run)
    truth = rng.choice(top + 1, size=size, p=source(data, top))
    m = mechanism(name, top)
    counts = np.bincount(m.simulate(truth, rng), minlength=top + 1)
    found = reconstruct(counts, m, acceleration="none", iterations=iterations, given="counts")
    return kantorovich(found.distribution, np.bincount(truth, minlength=top + 1))


def _log_log(table: Table) -> "Figure":
    figure = curves(
        table, "size", panel="data", x_label="sample size", y_label="Kantorovich distance", across=2, log_y=True,
        legend_across=2,
    )  # fmt: skip
    for axis in figure.axes:
        axis.set_xscale("log")
    return figure


# --- 003: which group sizes, chances and alphas -----------------------------------------------------------

LETTERS = {GM: "G", WM: "W", EM: "E", UM: "U"}
MEASURES: dict[str, Measure] = {"a wrong report": WRONG, "more than one off": beyond(1), "root mean square error": RMSE}
CHANCES = ("0.02", "0.1", "0.2", "0.3", "0.4", "0.5")


def winners(
    alphas: Sequence[Number] = ("2/3", "0.8", "0.9", "10/11", "0.99"),
    sizes: Sequence[int] = (2, 4, 6, 8, 12, 16),
    chances: Sequence[Number] = CHANCES,
    crew: Crew = ALONE,
) -> Result:
    """The named mechanism with the least expectation of Figures 10, 11 and 13, for even and skewed bits; exact."""
    jobs = [(a, n, tuple(chances)) for a in alphas for n in sizes]
    rows = [row for part in crew.map(_at_size, jobs) for row in part]
    columns = ("measure", "alpha", "n", "p", "best", GM, WM, EM, UM)
    table = Table.of(columns, rows)
    return Result(table, lambda: _letters(table))


def _at_size(job: tuple[Number, int, tuple[Number, ...]]) -> list[tuple[Any, ...]]:
    a, n, chances = job
    made = {name: m for name, m in named(n, epsilon_from_alpha(a)).items() if name in LETTERS}
    rows = []
    for measure, how in MEASURES.items():
        for p in chances:
            prior = priors.binomial(count(n), p)
            found = {name: how.exact(made[name], prior) for name in LETTERS}
            rows.append((measure, decimal(a), n, decimal(p), min(found, key=found.__getitem__), *found.values()))
    return rows


def _letters(table: Table) -> "Figure":
    """A letter for the best of the four: measures down, alphas across; grey where it is not EM."""
    measures, alphas = table.distinct("measure"), table.distinct("alpha")
    sizes, chances = table.distinct("n"), table.distinct("p")
    figure, axes = panels(len(measures) * len(alphas), across=len(alphas), width=1.5, height=1.75)
    for k, axis in enumerate(axes):
        measure, a = measures[k // len(alphas)], alphas[k % len(alphas)]
        part = table.where(measure=measure, alpha=a)
        best = np.array([LETTERS[name] for name in part.column("best")]).reshape(len(sizes), len(chances))
        axis.imshow(best != "E", cmap="Greys", vmin=0, vmax=4, aspect="auto")
        for (i, j), letter in np.ndenumerate(best):
            axis.text(j, i, letter, ha="center", va="center", fontsize=8, color="black")
        axis.set_xticks(range(len(chances)), [f"{p:g}".removeprefix("0") for p in chances], fontsize=7.5)
        axis.set_yticks(range(len(sizes)), [str(n) for n in sizes], fontsize=7.5)
        axis.set_title(
            f"{measure}\nα = {a:.3g}" if k % len(alphas) == 0 else f"\nα = {a:.3g}", fontsize=8.5, loc="left"
        )
        axis.set_xlabel("p", labelpad=0)
        axis.set_ylabel("n" if k % len(alphas) == 0 else "", labelpad=0)
        axis.grid(visible=False)
    figure.suptitle("least expectation: G geometric, W weakly honest, E explicit fair, U uniform", fontsize=9)
    return figure


STUDIES = (
    Study("000-choices", "Figures 8 and 9 on other data: expected errors", households, {"epsilons": ("0.2", "1")}),
    Study("001-choices", "Figure 3 on other data: Kantorovich distances", reconstructed,
          {"sizes": (1000,), "runs": 2, "iterations": 300}),
    Study("003-choices", "Figures 10 to 13 at other settings: who is best", winners,
          {"sizes": (4, 8), "alphas": ("2/3", "10/11")}),
)  # fmt: skip
