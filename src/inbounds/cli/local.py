"""local: plan a collection, randomize a column, reconstruct the distribution behind the reports."""

import csv
import json
import math
from pathlib import Path
from typing import Annotated, Any, cast, get_args

import numpy as np
import typer

from inbounds.cli.app import MORE, NUMBER, AsJson, Commands, app, err, out
from inbounds.files import load, same_file
from inbounds.local import planner, tables
from inbounds.local.client import Randomizer
from inbounds.local.collector import Collector
from inbounds.local.reconstruct import Reconstruction, reconstruct
from inbounds.local.reconstruct.reconstruction import Method
from inbounds.local.spikes import smoother_steps, spiky
from inbounds.local.statement import privacy
from inbounds.mechanism import Mechanism
from inbounds.numbers import Floats
from inbounds.query import ordinal
from inbounds.report import terminal
from inbounds.report.progress import shown

local = Commands(help="Local privacy: randomize every record before it is collected, reconstruct the distribution.")
app.add_typer(local, name="local", rich_help_panel=MORE)

MechanismFile = Annotated[Path, typer.Option("--mechanism", "-m", help="The mechanism passport.")]
Column = Annotated[str, typer.Option(help="Name of the column.")]
SHOWN = 25
"""Lines on the terminal; more answers are put together in ranges, --json and --out have every one."""


@local.command()
def plan(
    low: Annotated[int, typer.Option(help="Smallest value of one person.")],
    high: Annotated[int, typer.Option(help="Largest value.")],
    reports: Annotated[int, typer.Option(help="How many people will report.")],
    ratio: Annotated[
        str | None, typer.Option(help="Largest ratio between the probabilities of a report, e.g. 2 …", metavar=NUMBER)
    ] = None,
    radius: Annotated[
        str | None, typer.Option(help="… for values at most this far apart, e.g. 10.", metavar=NUMBER)
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option(help="Instead of a ratio: epsilon per unit of distance.", metavar=NUMBER)
    ] = None,
    error: Annotated[
        str | None, typer.Option(help="Also say how many reports bring the error down to this.", metavar=NUMBER)
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Write the better mechanism as a passport.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say what to expect: the error of the reconstructed distribution, and the better mechanism.

    Example: [bold]inbounds local plan --low 0 --high 100 --ratio 2 --radius 10 --reports 10000 --save m.json[/]
    """
    query = ordinal(low, high)
    with shown("simulating", err):
        found = planner.plan(query, epsilon, reports=reports, radius=radius, ratio=ratio)
        needed = None if error is None else found.reports_needed(error)
    if save is not None:
        found.mechanism().save(save)
    if as_json:
        typer.echo(json.dumps(_plan_json(found, needed)))
        return
    heads = ["mechanism", "epsilon", "worst ratio\nover the range", "error"]
    rows = [
        [o.mechanism.replace("_", " "), o.promise, o.spoken_ratio, f"{o.error:.4g} ± {o.uncertainty:.2g}"]
        for o in found.options
    ]
    out.print(terminal.columns(f"{reports} reports about {low}..{high}", heads, rows))
    out.print(planner.PROMISES_DIFFER)
    out.print("The error is the expected Kantorovich distance of the reconstruction: how far mass is misplaced.")
    if needed is not None:
        out.print(f"An error of {error} takes about [bold]{needed}[/] reports with the better one.")
    if save is not None:
        out.print(f"wrote {save}: {privacy(load(save))}")


def _plan_json(found: planner.CollectionPlan, needed: int | None) -> dict[str, Any]:
    options = [
        {
            "mechanism": o.mechanism,
            "epsilon": str(o.epsilon),
            "promise": o.promise,
            "worst_ratio": o.worst_ratio if math.isfinite(o.worst_ratio) else None,
            "log_worst_ratio": float(o.over_range),
            "error": o.error,
            "uncertainty": o.uncertainty,
        }
        for o in found.options
    ]
    return {
        "reports": found.reports,
        "better": found.better.mechanism,
        "options": options,
        "note": planner.PROMISES_DIFFER,
        "reports_needed": needed,
    }


@local.command()
def randomize(
    file: Annotated[Path, typer.Argument(help="Values, one person per row: .csv or .parquet.")],
    column: Column,
    mechanism: MechanismFile,
    to: Annotated[Path, typer.Option("--out", "-o", help="Where the reports go: .csv or .parquet.")],
    keep: Annotated[str, typer.Option(help="Other columns to copy unchanged, separated by commas.")] = "",
    clamp: Annotated[bool, typer.Option("--clamp", help="Move values beyond the range to its nearer end.")] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an existing file; the people's epsilons add up all the same.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write a private report for every value, with operating-system entropy. Other columns are left behind.

    Example: [bold]inbounds local randomize people.csv --column age -m m.json --out reports.csv[/]
    """
    _spare(to, file, mechanism)
    tables.check_target(to, overwrite=overwrite)
    client = Randomizer(load(mechanism), "clamp" if clamp else "refuse")
    kept = [name.strip() for name in keep.split(",") if name.strip()]
    with shown("randomizing", err):
        rows = tables.randomize_file(file, to, column, client, kept)
    statement = str(client.privacy)
    if as_json:
        typer.echo(json.dumps({"rows": rows, "out": str(to), "privacy": statement}))
    else:
        out.print(f"wrote {rows} reports to {to}\n{statement}")


@local.command("reconstruct")
def reconstruct_(
    file: Annotated[Path, typer.Argument(help="Reports, one person per row: .csv or .parquet.")],
    column: Column,
    mechanism: MechanismFile,
    method: Annotated[str, typer.Option(help="ibu (maximum likelihood), inverse or least-squares.")] = "ibu",
    iterations: Annotated[
        int | None, typer.Option(help="ibu: stop after this many plain updates, which smooths the result.")
    ] = None,
    to: Annotated[Path | None, typer.Option("--out", "-o", help="Write the distribution as a .csv file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Reconstruct the distribution of true values from private reports.

    Example: [bold]inbounds local reconstruct reports.csv --column age -m m.json --out ages.csv[/]
    """
    if method not in get_args(Method):
        raise ValueError(f"method must be one of {', '.join(get_args(Method))}, got {method!r}")
    if to is not None:
        _spare(to, file, mechanism)
    law = load(mechanism)
    collector = _collected(file, column, law)
    with shown("reconstructing", err) as progress:
        result = reconstruct(
            collector,
            method=cast(Method, method),
            acceleration=None if iterations is None else "none",
            iterations=iterations,
            progress=progress,
        )
    if to is not None:
        _write(to, law, result)
    hint = _hint(law, result) if iterations is None and method == "ibu" else None
    if as_json:
        typer.echo(json.dumps({**_result_json(law, result), "hint": hint}))
        return
    _print(law, result)
    if hint is not None:
        err.print(f"[yellow]{hint}[/]")


def _spare(target: Path, *read: Path) -> None:
    """People's own values must never be lost to a mistyped name."""
    if any(same_file(target, path) for path in read):
        raise ValueError(f"--out must not be a file that is read, got {target}; give another name")


def _hint(mechanism: Mechanism, result: Reconstruction) -> str | None:
    if not (mechanism.query.ordered and spiky(result.distribution)):
        return None
    steps = smoother_steps(result.reports, len(result.distribution))
    return f"few reports for this many values: the maximum is spiky; --iterations {steps} stops earlier and is smoother"


def _collected(file: Path, column: str, mechanism: Mechanism) -> Collector:
    collector = Collector(mechanism)
    for batch in tables.read(file, [column]):
        values = batch[column]
        text = mechanism.query.labels is None and values.dtype.kind not in "iuf"
        collector.add(tables.numbers(values, "reports") if text else values)
    return collector


def _spoken(mechanism: Mechanism) -> list[str]:
    return [str(answer) for answer in (mechanism.query.labels or mechanism.query.answers)]


def _write(path: Path, mechanism: Mechanism, result: Reconstruction) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(["answer", "probability"])
        lines.writerows(zip(_spoken(mechanism), result.distribution.tolist(), strict=True))


def _result_json(mechanism: Mechanism, result: Reconstruction) -> dict[str, Any]:
    return {
        "reports": result.reports,
        "method": result.method,
        "iterations": result.iterations,
        "residual": result.residual if math.isfinite(result.residual) else None,
        "gap": result.gap if math.isfinite(result.gap) else None,
        "log_likelihood": result.log_likelihood,
        "distribution": dict(zip(_spoken(mechanism), result.distribution.tolist(), strict=True)),
    }


def _print(mechanism: Mechanism, result: Reconstruction) -> None:
    names, shares = _ranges(_spoken(mechanism), result.distribution)
    bars = terminal.bar(shares)
    rows = [[name, f"{share:.4f}", bar] for name, share, bar in zip(names, shares, bars, strict=True)]
    table = terminal.columns(f"{result.reports:.0f} reports", ["answer", "probability", ""], rows)
    table.columns[2].justify = "left"
    out.print(table)
    below = f"at most {result.gap:.2g} below the greatest" if math.isfinite(result.gap) else "without a bound"
    out.print(f"{result.method}: {result.iterations} steps; the log-likelihood of all reports is {below}")


def _ranges(names: list[str], p: Floats) -> tuple[list[str], Floats]:
    """Neighbouring answers put together until they fit the terminal."""
    width = -(-len(names) // SHOWN)
    if width == 1:
        return names, p
    starts = range(0, len(names), width)
    ends = [(names[k], names[min(k + width, len(names)) - 1]) for k in starts]
    spoken = [first if first == last else f"{first}..{last}" for first, last in ends]
    return spoken, np.add.reduceat(p, list(starts))
