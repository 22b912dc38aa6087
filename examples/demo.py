"""make demo: a private table of small groups from real data that adds up, at two epsilons, beside clamped Laplace."""

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console

from inbounds.data import adult
from inbounds.report import terminal
from inbounds.tables import Release, release, totals
from inbounds.tables.report import page

SIZE, LOW, HIGH, STEP = 20, 15, 90, 5
GROUPS, DISTRICTS = 1628, 44
EPSILONS = ("1", "4")
HIERARCHY = {"levels": ["district", "group"], "weights": {"district": 1, "group": 8}}
NAMES = {"high_income": "income over $50,000", "age_mean": "mean age", "age_median": "median age"}
out = Console(highlight=False, width=min(Console().width, 110))


def people() -> pa.Table:
    """The Adult data in groups of 20 consecutive people, in districts of 37 groups; age, and income above $50,000."""
    data = adult()
    kept = GROUPS * SIZE
    district, group = (np.array(names).repeat(SIZE) for names in zip(*keys(), strict=True))
    return pa.table({"district": district, "group": group, "age": data.age[:kept], "high": data.high_income[:kept]})


def keys() -> list[tuple[str, str]]:
    """The groups, each with its district."""
    each = GROUPS // DISTRICTS
    return [(f"district {k // each + 1:02d}", f"group {k + 1:04d}") for k in range(GROUPS)]


def plan(epsilon: str, mechanism: str = "optimal") -> dict[str, Any]:
    """What is public: the groups, their size, the range of ages; and how epsilon is used."""
    return {
        **({"hierarchy": HIERARCHY} if mechanism == "optimal" else {}),
        "groups": {"by": ["district", "group"], "keys": [list(key) for key in keys()], "size": SIZE},
        "columns": {"age": {"low": LOW, "high": HIGH, "step": STEP, "missing": 40}, "high": {"type": "boolean"}},
        "statistics": [{"count": "high", "name": "high_income"}, {"mean": "age"}, {"median": "age"}],
        "privacy": {"epsilon": epsilon},
        "design": {"mechanism": mechanism},
    }


def truths(table: pa.Table) -> dict[str, np.ndarray]:
    """The exact answers, which only a public data set lets us show."""
    ages = np.asarray(table["age"]).reshape(-1, SIZE)
    high = np.asarray(table["high"]).reshape(-1, SIZE).sum(axis=1)
    return {"high_income": high, "age_mean": ages.mean(axis=1), "age_median": np.median(ages, axis=1)}


def error(done: Release, name: str, truth: np.ndarray) -> float:
    return float(np.abs(of_groups(done, name) - truth).mean())


def of_groups(done: Release, name: str) -> np.ndarray:
    """A column in the rows of the groups, which come last."""
    return np.array(done.table[name].to_pylist()[-GROUPS:], dtype=float)


def main() -> None:
    data, cache = people(), Path(os.environ.get("INBOUNDS_CACHE") or tempfile.mkdtemp())
    truth = truths(data)
    ways = {"optimal": "inbounds", "snapped_laplace": "clamped Laplace"}
    with out.status("designing, aggregating, drawing …"):
        made = {(e, way): release(plan(e, way), data, cache=cache) for e in EPSILONS for way in ways}
    out.print(f"[bold]{len(truth['age_mean'])} groups of {SIZE} people[/] of the Adult data, released privately\n")
    shown(made, truth)
    compared(made, truth, ways)
    added(made[EPSILONS[-1], "optimal"], truth["high_income"])
    last = made[EPSILONS[-1], "optimal"]
    out.print(f"\n{last.record['statement']}\n", markup=False)
    done = last.write("demo-released.csv", overwrite=True)
    Path("demo-report.html").write_text(page(done.record, done.table), "utf-8")
    out.print("Table   [bold]demo-released.csv[/], record [bold]demo-released.csv.release.json[/]")
    out.print("Report  [bold]demo-report.html[/]")
    command = Path(sys.executable).with_name("inbounds")
    near = command.relative_to(Path.cwd()) if command.is_relative_to(Path.cwd()) else command
    out.print(f"Next    [bold]{near} init your.csv[/], complete plan.toml, [bold]{near} release plan.toml[/]")


def shown(made: dict[tuple[str, str], Release], truth: dict[str, np.ndarray]) -> None:
    """Eight groups, every statistic: the truth and one release at each epsilon."""
    names = [
        "group",
        *(word for what in ("rich", "mean", "median") for word in (what, *(f"ε {e}" for e in EPSILONS))),
    ]
    rows = []
    for k in range(8):
        row = [f"{k + 1:04d}"]
        for name in NAMES:
            row.append(f"{truth[name][k]:.4g}")
            row += [f"{of_groups(made[e, 'optimal'], name)[k]:.4g}" for e in EPSILONS]
        rows.append(row)
    title = "How many earn over $50,000, mean and median age: the truth, and one release at each epsilon"
    out.print(terminal.columns(title, names, rows))
    out.print("[dim]The true columns are shown because the data set is public; a release has none.[/]")
    out.print(f"[dim]The median of {SIZE} people is drawn from their records: most of them leave it where it is.[/]\n")


def compared(made: dict[tuple[str, str], Release], truth: dict[str, np.ndarray], ways: dict[str, str]) -> None:
    """Mean absolute error over all groups, ours beside Laplace noise clamped to the range."""
    rows = [
        [
            e,
            what,
            *(f"{error(made[e, way], name, truth[name]):.3f}" for way in ways),
            f"{constant(truth[name]):.3f}",
            _gain(made, e, name, truth[name]),
        ]
        for e in EPSILONS
        for name, what in NAMES.items()
    ]
    names = ["epsilon", "statistic", *ways.values(), "best constant", "saved"]
    out.print(terminal.columns("Mean absolute error over all groups", names, rows, right=2))
    out.print("[dim]Of inbounds, counts are drawn for districts too, and add up; clamped Laplace's do not.[/]")
    rough = [
        f"{what} at epsilon {e}"
        for e in EPSILONS
        for name, what in NAMES.items()
        if error(made[e, "optimal"], name, truth[name]) >= constant(truth[name])
    ]
    if rough:
        out.print(f"[dim]No better than a constant that knew the truth: {', '.join(rough)}.[/]")
    out.print(
        f"[dim]Three statistics share epsilon; one alone, or larger groups than {SIZE} people, would be closer.[/]\n"
    )


def constant(truth: np.ndarray) -> float:
    """What the best constant errs by, which needs no data at all."""
    return float(np.abs(truth - np.median(truth)).mean())


def added(done: Release, truth: np.ndarray) -> None:
    """Three districts and all of them: the published sum, what its groups sum to, and the truth."""
    published = np.array(done.table["high_income"].to_pylist()[:DISTRICTS])
    sums = of_groups(done, "high_income").reshape(DISTRICTS, -1).sum(axis=1)
    true = truth.reshape(DISTRICTS, -1).sum(axis=1)
    rows = [[f"district {k + 1:02d}", str(published[k]), f"{sums[k]:g}", str(true[k])] for k in range(3)]
    rows.append(["all", str(published.sum()), f"{sums.sum():g}", str(true.sum())])
    title = f"The table adds up (income over $50,000, epsilon {EPSILONS[-1]})"
    out.print(terminal.columns(title, ["", "published", "sum of its groups", "truth"], rows))
    (total,) = [own for own in totals(done.record, done.table) if own.column == "high_income"]
    out.print(f"[dim]Without bias, from the reports: {total}.[/]")


def _gain(made: dict[tuple[str, str], Release], e: str, name: str, truth: np.ndarray) -> str:
    ours, theirs = (error(made[e, way], name, truth) for way in ("optimal", "snapped_laplace"))
    return f"{1 - ours / theirs:.0%}"


if __name__ == "__main__":
    main()
