"""`local`: plan a collection, randomize a column, reconstruct the distribution behind the reports."""

import csv
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast, get_args

import numpy as np
import typer

from inbounds.cli import completion
from inbounds.cli.app import MORE, NUMBER, AsJson, Commands, app, err, out
from inbounds.cli.outputs import DISTRIBUTION, PAGE, PASSPORT, Overwrite, PassportOut, check_target, out_option
from inbounds.cli.query_options import Neighbours, apply_neighbours
from inbounds.exact import Floats, format_decimal
from inbounds.files import is_same_file, write_text
from inbounds.query import RangeQuery, category, ordinal
from inbounds.report import terminal
from inbounds.report.progress import show_progress

if TYPE_CHECKING:
    from inbounds.local.collector import Collector
    from inbounds.local.reconstruct import Reconstruction
    from inbounds.mechanism import Mechanism

local = Commands(help="Local privacy: randomize every record before it is collected, reconstruct the distribution.")
app.add_typer(local, name="local", rich_help_panel=MORE)

MechanismFile = Annotated[Path, typer.Option("--mechanism", "-m", help="The mechanism passport.")]
Column = Annotated[str, typer.Option(help="Name of the column.")]
SPIKY = "the maximum may be spiky where values are smooth; --method held-out stops where the reports say so"

SHOWN = 25
"""Lines on the terminal; more answers are merged into ranges, --json and --out have all."""


@local.command()
def plan(
    reports: Annotated[int, typer.Option(help="How many people will report.")],
    low: Annotated[int | None, typer.Option(help="Smallest value of one person.")] = None,
    high: Annotated[int | None, typer.Option(help="Largest value.")] = None,
    labels: Annotated[str | None, typer.Option(help="Labels instead of values, separated by commas.")] = None,
    neighbours: Neighbours = None,
    ratio: Annotated[
        str | None,
        typer.Option(help="Largest ratio of the probabilities of a report under any two answers.", metavar=NUMBER),
    ] = None,
    radius: Annotated[
        str | None,
        typer.Option(
            help="The ratio holds for values at most this far apart only; ends may differ more.", metavar=NUMBER
        ),
    ] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(help="Instead of a ratio its logarithm; with a radius, epsilon per unit.", metavar=NUMBER),
    ] = None,
    error: Annotated[
        str | None, typer.Option(help="Also say how many reports bring the error down to this.", metavar=NUMBER)
    ] = None,
    to: PassportOut = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Say what to expect: the error of the reconstructed distribution, and the better mechanism.

    Example: [bold]inbounds local plan --low 0 --high 100 --ratio 20 --reports 10000 --out m.json[/]

    Example: [bold]inbounds local plan --labels tea,coffee,water --ratio 3 --reports 10000[/]
    """
    from inbounds.local import planner
    from inbounds.local.guarantee import local_guarantee

    query = _planned_query(low, high, labels)
    if neighbours is not None:
        query = apply_neighbours(query, neighbours)
    if to is not None:
        check_target(to, PASSPORT, overwrite=overwrite)
    with show_progress("simulating", err):
        collection = planner.plan_collection(query, epsilon, reports=reports, radius=radius, ratio=ratio)
        needed = None if error is None else collection.reports_needed(error)
    if to is not None:
        collection.mechanism().save(to)
    if as_json:
        typer.echo(json.dumps({**collection.to_json(), "reports_needed": needed}))
        return
    heads = ["ratio between\nany two", "mechanism", "epsilon", "error"]
    rows = [
        [o.format_ratio, o.mechanism.replace("_", " "), o.promise, f"{o.error:.4g} ± {o.uncertainty:.2g}"]
        for o in collection.options
    ]
    out.print(terminal.columns(f"{reports} reports about {query.describe()}", heads, rows))
    out.print(collection.note)
    out.print(DISTANCES[query.is_ordered or not query.neighbours.is_line])
    if needed is not None:
        out.print(f"An error of {error} takes about [bold]{needed}[/] reports with the better one.")
    if to is not None:
        out.print(f"wrote {to}: {local_guarantee(collection.mechanism())}")


def _planned_query(low: int | None, high: int | None, labels: str | None) -> RangeQuery:
    if labels is not None and low is None and high is None:
        return category([label.strip() for label in labels.split(",")])
    if labels is None and low is not None and high is not None:
        return ordinal(low, high)
    raise ValueError("a plan needs --low and --high for values, or --labels")


DISTANCES = {
    True: "The error is the expected Kantorovich distance of the reconstruction: how far mass is misplaced.",
    False: "The error is the expected sum of the differences of all shares.",
}


@local.command()
def randomize(
    file: Annotated[Path, typer.Argument(help="Values, one person per row: .csv or .parquet.")],
    column: Column,
    mechanism: MechanismFile,
    to: Annotated[Path, out_option("Where the reports go: .csv or .parquet.")],
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
    from inbounds.cli.inputs import load_answer_mechanism
    from inbounds.local import files
    from inbounds.local.client import Randomizer

    if any(is_same_file(to, path) for path in (file, mechanism)):  # the true values must never be lost
        raise ValueError(f"--out must not be a file that is read, got {to}; give another name")
    files.check_target(to, overwrite=overwrite)
    client = Randomizer(load_answer_mechanism(mechanism), "clamp" if clamp else "refuse")
    copied_columns = [name.strip() for name in keep.split(",") if name.strip()]
    with show_progress("randomizing", err):
        rows = files.randomize_file(file, to, column, client, copied_columns)
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
    method: Annotated[
        str | None,
        typer.Option(
            help="ibu (maximum likelihood), held-out, multiscale, shrunk, inverse or least-squares; "
            "what suits by default.",
            autocompletion=completion.methods,
        ),
    ] = None,
    iterations: Annotated[
        int | None, typer.Option(help="ibu: stop after this many plain updates, which smooths the result.")
    ] = None,
    to: Annotated[Path | None, out_option("Write the distribution: .csv, or .html for a page with bars.")] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Reconstruct the distribution of true values from private reports.

    Example: [bold]inbounds local reconstruct reports.csv --column age -m m.json --out ages.csv[/]
    """
    from inbounds.cli.inputs import load_answer_mechanism
    from inbounds.local.reconstruct import reconstruct
    from inbounds.local.reconstruct.methods import Method

    if method is not None and method not in get_args(Method):
        raise ValueError(f"method must be one of {', '.join(get_args(Method))}, got {method!r}")
    if to is not None:
        kind = PAGE if to.suffix.lower() == ".html" else DISTRIBUTION
        check_target(to, kind, overwrite=overwrite, reads=[file, mechanism])
    law = load_answer_mechanism(mechanism)
    collector = _collect(file, column, law)
    with show_progress("reconstructing", err) as progress:
        result = reconstruct(
            collector,
            method=cast(Method | None, method),
            acceleration=None if iterations is None else "none",
            iterations=iterations,
            progress=progress,
        )
    if to is not None:
        _write_distribution(to, law, result)
    hint = SPIKY if method == "ibu" and iterations is None and law.query.is_ordered else None
    if as_json:
        typer.echo(json.dumps({**result.to_json(_answer_names(law)), "hint": hint}))
        return
    _print_distribution(law, result)
    if result.choice:
        err.print(result.choice)
    if hint is not None:
        err.print(f"[yellow]{hint}[/]")


def _collect(file: Path, column: str, mechanism: "Mechanism") -> "Collector":
    from inbounds.local import files
    from inbounds.local.collector import Collector

    collector = Collector(mechanism)
    for batch in files.read(file, [column]):
        values = batch[column]
        text = mechanism.report_query.labels is None and values.dtype.kind not in "iuf"
        collector.add(files.numbers(values, "reports") if text else values)
    return collector


def _answer_names(mechanism: "Mechanism") -> list[str]:
    return [str(answer) for answer in (mechanism.query.labels or mechanism.query.answers)]


def _write_distribution(path: Path, mechanism: "Mechanism", result: "Reconstruction") -> None:
    if path.suffix.lower() == ".html":
        from inbounds.report.result_pages import distribution_page

        names, title = _answer_names(mechanism), f"What {result.reports:.0f} private reports tell"
        write_text(
            path,
            distribution_page(
                names, result.distribution, title, [_describe_method(mechanism, result)], mechanism.query
            ),
        )
        return
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(["answer", "probability"])
        lines.writerows(zip(_answer_names(mechanism), result.distribution.tolist(), strict=True))


def _describe_method(mechanism: "Mechanism", result: "Reconstruction") -> str:
    """Describe how the distribution was estimated, for the page."""
    privacy = f"epsilon {format_decimal(mechanism.epsilon)} a person"
    return f"The distribution of the true answers behind the reports ({privacy}), by {result.method}: an estimate."


def _print_distribution(mechanism: "Mechanism", result: "Reconstruction") -> None:
    together = _merge_ranges if mechanism.query.is_ordered else _merge_smallest
    names, shares = together(_answer_names(mechanism), result.distribution)
    bars = terminal.bar(shares)
    rows = [[name, f"{share:.4f}", bar] for name, share, bar in zip(names, shares, bars, strict=True)]
    table = terminal.columns(f"{result.reports:.0f} reports", ["answer", "probability", ""], rows)
    table.columns[2].justify = "left"
    out.print(table)
    below = f"at most {result.gap:.2g} below the greatest" if math.isfinite(result.gap) else "without a bound"
    out.print(f"{result.method}: {result.iterations} steps; the log-likelihood of all reports is {below}")


def _merge_ranges(names: list[str], p: Floats) -> tuple[list[str], Floats]:
    """Merge neighbouring answers until they fit the terminal."""
    width = -(-len(names) // SHOWN)
    if width == 1:
        return names, p
    starts = range(0, len(names), width)
    ends = [(names[k], names[min(k + width, len(names)) - 1]) for k in starts]
    ranges = [first if first == last else f"{first}..{last}" for first, last in ends]
    return ranges, np.add.reduceat(p, list(starts))


def _merge_smallest(names: list[str], p: Floats) -> tuple[list[str], Floats]:
    """Return the labels with the largest shares, and all others as one line."""
    if len(names) <= SHOWN:
        return names, p
    order = np.argsort(-p, kind="stable")[: SHOWN - 1]
    shown = [*(names[k] for k in order.tolist()), f"{len(names) - len(order)} others"]
    return shown, np.append(p[order], max(0.0, 1 - p[order].sum()))
