"""make demo: a private table of small groups from real data that adds up, and medians, beside what others give."""

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console

import inbounds as ib
from inbounds.data import adult
from inbounds.releases.pipeline import Release, estimate_totals, release
from inbounds.releases.report import page
from inbounds.report import terminal

SIZE, LOW, HIGH = 20, 17, 90
GROUPS, DISTRICTS = 1628, 44
EACH = GROUPS // DISTRICTS
OF_COUNTS, OF_MEDIANS = 1, 2
EPSILON = OF_COUNTS + OF_MEDIANS
"""What the two statistics of the table may tell, and the table."""

MEDIANS = {SIZE: "4", 100: "1", EACH * SIZE: "0.5"}
"""Sizes of the groups whose medians are compared, and epsilon."""

out = Console(highlight=False, width=min(Console().width, 110))


# --- the data and what is public about it -----------------------------------------------------------------


def people() -> pa.Table:
    """The Adult data in groups of consecutive people, in districts; age, and income above $50,000."""
    data = adult()
    kept = GROUPS * SIZE
    district, group = (np.array(names).repeat(SIZE) for names in zip(*keys(), strict=True))
    return pa.table({"district": district, "group": group, "age": data.age[:kept], "rich": data.high_income[:kept]})


def keys() -> list[tuple[str, str]]:
    """The groups, each with its district."""
    return [(f"district {k // EACH + 1:02d}", f"group {k + 1:04d}") for k in range(GROUPS)]


def plan(mechanism: str) -> dict[str, Any]:
    """The groups, their size, the range of ages; and how epsilon is used."""
    levels = {"levels": ["district", "group"], "weights": {"district": 1, "group": 8}}
    return {
        **({"hierarchy": levels} if mechanism == "optimal" else {}),
        "groups": {"by": ["district", "group"], "keys": [list(key) for key in keys()], "size": SIZE},
        "columns": {"age": {"low": LOW, "high": HIGH, "missing": 40}, "rich": {"type": "boolean"}},
        "statistics": [{"count": "rich", "name": "rich", "budget_share": f"{OF_COUNTS}/{EPSILON}"}, {"median": "age"}],
        "privacy": {"epsilon": EPSILON},
        "design": {"mechanism": mechanism},
    }


# --- what is shown ----------------------------------------------------------------------------------------


def main() -> None:
    data, cache = people(), Path(os.environ.get("INBOUNDS_CACHE") or tempfile.mkdtemp())
    with out.status("designing, aggregating, drawing …"):
        ours, noise = (release(plan(way), data, cache=cache) for way in ("optimal", "snapped_laplace"))
    out.print(
        f"[bold]{GROUPS} groups of {SIZE} people[/] of the Adult data, released privately with epsilon {EPSILON}\n"
    )
    truth = {"rich": np.asarray(data["rich"]).reshape(-1, SIZE).sum(axis=1), "age_median": medians_of(SIZE)}
    show_groups(ours, truth)
    show_sums(ours, noise, truth["rich"])
    show_medians(ours, noise)
    out.print(f"{ours.record['statement']}\n", markup=False)
    done = ours.write("demo-released.csv", overwrite=True)
    Path("demo-report.html").write_text(page(done.record, done.table), "utf-8")
    out.print("Table   [bold]demo-released.csv[/], record [bold]demo-released.csv.release.json[/]")
    out.print("Report  [bold]demo-report.html[/]")
    command = Path(sys.executable).with_name("inbounds")
    near = command.relative_to(Path.cwd()) if command.is_relative_to(Path.cwd()) else command
    out.print(f"Next    [bold]{near} init your.csv[/], complete plan.toml, [bold]{near} release plan.toml[/]")


def show_groups(ours: Release, truth: dict[str, np.ndarray]) -> None:
    """Eight groups: the truth and what is published."""
    published = {name: of_groups(ours, name) for name in truth}
    rows = [
        [f"{k + 1:04d}", *(f"{of[k]:g}" for name in truth for of in (truth[name], published[name]))] for k in range(8)
    ]
    head = ["group", "over $50,000, truth", "published", "median age, truth", "published"]
    out.print(terminal.columns("How many earn over $50,000, and how old they are", head, rows))
    out.print("[dim]The truth is shown because the data set is public; a release has none.[/]\n")


def show_sums(ours: Release, noise: Release, truth: np.ndarray) -> None:
    """How far counts are from the truth in groups and in districts, and whether they add up."""
    rows = []
    for what, groups in ((f"a group of {SIZE}", 1), (f"a district of {EACH * SIZE}", EACH)):
        true, of_noise = (summed(counts, groups) for counts in (truth, of_groups(noise, "rich")))
        errors = [summed(of_groups(ours, "rich"), groups) - true, of_noise - true, true - np.median(true)]
        rows.append([what, *(f"{np.abs(error).mean():.2f}" for error in errors)])
    head = ["", "inbounds", "clamped Laplace", "best constant"]
    out.print(terminal.columns(f"Mean error of the counts, epsilon {OF_COUNTS}, and of their sums", head, rows))
    districts = np.array(ours.table["rich"].to_pylist()[:DISTRICTS])
    alike = bool((districts == summed(of_groups(ours, "rich"), EACH)).all())
    out.print(f"[dim]Published districts are the sums of their groups: {'yes' if alike else 'no'}.[/]")
    (total,) = [own for own in estimate_totals(ours.record, ours.table) if own.column == "rich"]
    out.print(f"[dim]Everybody without bias, from the reports: {total}; the truth is {truth.sum()}.[/]\n")


def show_medians(ours: Release, noise: Release) -> None:
    """Medians of small and larger groups beside the mechanism that others use; expected errors, given the data."""
    rows = []
    for size, epsilon in MEDIANS.items():
        query, groups, true = ib.median(LOW, HIGH, size=size), histograms(size), medians_of(size)
        chosen = ib.design_quantile(query, epsilon).mechanism.probabilities(groups)
        weights = np.exp(-float(epsilon) / 2 * query.path_lengths(groups))
        exponential = weights / weights.sum(axis=1, keepdims=True)
        errors = [expected(law, true) for law in (chosen, exponential)]
        constant = np.abs(true - np.median(true)).mean()
        rows.append([f"{size}", epsilon, *(f"{error:.2f}" for error in (*errors, constant))])
    head = ["people", "epsilon", "inbounds", "exponential mechanism", "best constant"]
    out.print(terminal.columns("Median ages: the expected error in years", head, rows))
    mean = [np.abs(of_groups(done, "age_median") - medians_of(SIZE)).mean() for done in (ours, noise)]
    out.print(
        f"[dim]In the table above, epsilon {OF_MEDIANS}: {mean[0]:.2f}; by clamped Laplace noise {mean[1]:.1f}.[/]\n"
    )


# --- sums, medians and errors -----------------------------------------------------------------------------


def of_groups(done: Release, name: str) -> np.ndarray:
    """A column in the rows of the groups, which come last."""
    return np.array(done.table[name].to_pylist()[-GROUPS:], dtype=float)


def summed(counts: np.ndarray, groups: int) -> np.ndarray:
    return np.asarray(counts.reshape(-1, groups).sum(axis=1))


def ages_of(size: int) -> np.ndarray:
    ages = adult().age
    return ages[: len(ages) // size * size].reshape(-1, size)[:GROUPS]


def medians_of(size: int) -> np.ndarray:
    """The lower of the two in the middle."""
    return np.sort(ages_of(size), axis=1)[:, (size - 1) // 2]


def histograms(size: int) -> np.ndarray:
    return np.array([np.bincount(ages - LOW, minlength=HIGH - LOW + 1) for ages in ages_of(size)])


def expected(law: np.ndarray, truth: np.ndarray) -> float:
    """The mean absolute error of reports that are drawn from these probabilities, a row for each group."""
    return float((law * np.abs(np.arange(LOW, HIGH + 1) - truth[:, None])).sum(axis=1).mean())


if __name__ == "__main__":
    main()
