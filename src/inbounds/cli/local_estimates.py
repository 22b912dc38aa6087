"""`local estimate` and `local test`: estimates with intervals from reports in a file, and whether two strata differ."""

import json
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from inbounds.cli.app import AsJson, err, out
from inbounds.cli.local import Column, MechanismFile, local
from inbounds.report import terminal
from inbounds.report.progress import show_progress

if TYPE_CHECKING:
    from inbounds.local.estimates import Estimates
    from inbounds.local.strata import StratifiedCollector
    from inbounds.mechanism import Mechanism

MOST_LINES = 60
"""Lines on the terminal; --json has all."""

ReportsFile = Annotated[Path, typer.Argument(help="Reports, one person per row: .csv or .parquet.")]


@local.command("estimate")
def estimate_(
    file: ReportsFile,
    column: Column,
    mechanism: MechanismFile,
    by: Annotated[str | None, typer.Option(help="A column of strata, each estimated by itself.")] = None,
    level: Annotated[float, typer.Option(help="Probability with which an interval holds the truth.")] = 0.9,
    as_json: AsJson = False,
) -> None:
    """Estimate mean, median and quartiles of numbers, or the shares of labels, each with an interval.

    Example: [bold]inbounds local estimate reports.csv --column age -m m.json --by city[/]
    """
    from inbounds.cli.inputs import load_answer_mechanism
    from inbounds.local.estimates import estimate

    strata = _strata(file, column, load_answer_mechanism(mechanism), by)
    with show_progress("estimating", err):
        estimates = {name: estimate(collector, level=level) for name, collector in strata.items()}
    if as_json:
        typer.echo(json.dumps([row for name, part in estimates.items() for row in _rows(name, part)]))
        return
    heads = ["stratum", "quantity", "estimate", f"{100 * level:.3g} % interval"]
    lines = [
        [row["stratum"], row["quantity"], f"{row['estimate']:.4g}", f"{row['lower']:.4g} to {row['upper']:.4g}"]
        for name, part in estimates.items()
        for row in _rows(name, part)
    ]
    total = sum(collector.total for collector in strata.values())
    out.print(terminal.columns(f"{total} reports", heads, lines[:MOST_LINES]))
    if len(lines) > MOST_LINES:
        out.print(f"and {len(lines) - MOST_LINES} more; --json has all")


@local.command("test")
def compare_strata(
    file: ReportsFile,
    column: Column,
    mechanism: MechanismFile,
    by: Annotated[str, typer.Option(help="A column of strata, such as weeks.")],
    between: Annotated[str, typer.Option(help="The two strata to compare, separated by a comma.")],
    as_json: AsJson = False,
) -> None:
    """Test whether the people of two strata differ: a permutation test, exact whatever the law of the reports.

    Example: [bold]inbounds local test reports.csv --column age -m m.json --by week --between 46,47[/]
    """
    from inbounds.cli.inputs import load_answer_mechanism
    from inbounds.local.estimates import two_sample_test

    names = [name.strip() for name in between.split(",")]
    if len(names) != 2:
        raise ValueError(f"--between must name two strata, such as 46,47; got {between!r}")
    strata = _strata(file, column, load_answer_mechanism(mechanism), by)
    with show_progress("testing", err):
        test = two_sample_test(strata[names[0]], strata[names[1]])
    if as_json:
        typer.echo(json.dumps(test.to_json()))
        return
    out.print(f"{names[0]} and {names[1]}: {test}")


def _rows(stratum: str, part: "Estimates") -> list[dict[str, Any]]:
    return [{"stratum": stratum, "reports": part.reports, **estimate.to_json()} for estimate in part.summary()]


def _strata(file: Path, column: str, mechanism: "Mechanism", by: str | None) -> "StratifiedCollector":
    """Collect the reports of a file by stratum, batch by batch; without a stratum column all are one stratum."""
    from inbounds.local import files
    from inbounds.local.collector import Collector
    from inbounds.local.strata import StratifiedCollector

    collectors: defaultdict[str, Collector] = defaultdict(lambda: Collector(mechanism))
    numbers = mechanism.report_query.labels is None
    for batch in files.read(file, [column, *([by] if by else [])]):
        values = batch[column]
        reports = files.numbers(values, "reports") if numbers and values.dtype.kind not in "iuf" else values
        keys = batch[by].astype(str) if by else np.full(len(reports), "all")
        for key in np.unique(keys).tolist():
            collectors[key].add(reports[keys == key])
    if not collectors:
        raise ValueError(f"{file.name} must have at least one row")
    return StratifiedCollector.from_collectors([by or "stratum"], collectors)
