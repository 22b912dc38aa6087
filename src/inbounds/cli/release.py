"""release and init: a plan or a data file in, a private table and its record out."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.cells import cell_len
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from inbounds.cli.app import NUMBER, TABLES, AsJson, app, err, out
from inbounds.report import terminal

if TYPE_CHECKING:
    from inbounds.release import Preview, Release
    from inbounds.release.designs import Progress as Watch
    from inbounds.release.plan import Plan

SHOWN_ROWS, SHOWN_SIZES = 12, 12
"""Rows of a table and group sizes that are printed; files, the record and --json hold all of them."""

Column = list[str] | None
DataOrPlan = Annotated[str, typer.Argument(help="A plan (.toml), or data: a file or postgresql:// URL.")]


def _asked(meaning: str, *names: str, metavar: str = "COLUMN") -> Any:
    return typer.Option(*names, help=meaning, metavar=metavar, rich_help_panel="What is asked, without a plan")


def _column(meaning: str, metavar: str = NUMBER) -> Any:
    return typer.Option(help=meaning, metavar=metavar, rich_help_panel="The column of numbers or labels")


def _groups(meaning: str, metavar: str) -> Any:
    return typer.Option(help=meaning, metavar=metavar, rich_help_panel="The groups")


Count = Annotated[Column, _asked("Count the records that meet it, e.g. \"answer = 'yes'\".", metavar="CONDITION")]
Histogram = Annotated[Column, _asked("Histogram over --labels.")]
Mean = Annotated[Column, _asked("Mean, with --low and --high.")]
Sum = Annotated[Column, _asked("Sum.", "--sum")]
Median = Annotated[Column, _asked("Median.")]
Least = Annotated[Column, _asked("Least value.", "--min")]
Most = Annotated[Column, _asked("Largest value.", "--max")]
Low = Annotated[Column, _column("Least value a record can have.")]
High = Annotated[Column, _column("Largest value a record can have.")]
Step = Annotated[Column, _column("Numbers are rounded to steps of this size, 1 unless given.")]
Missing = Annotated[Column, _column("What a record without a value counts as, --low unless given.")]
Labels = Annotated[Column, _column("Labels of the histogram, separated by commas.", "A,B,…")]
By = Annotated[Column, _groups("Column that names the group; may be repeated.", "COLUMN")]
Keys = Annotated[str | None, _groups("Public group keys: .txt (one per line), .csv, .parquet.", "FILE")]
Size = Annotated[str | None, _groups("Public group size, or the column of --keys that holds it.", NUMBER)]
Maximum = Annotated[str | None, _groups("Largest possible group, if sizes are not public.", NUMBER)]
Epsilon = Annotated[
    str | None, typer.Option(help="Privacy parameter for the whole release, e.g. 1 or 1/2.", metavar=NUMBER)
]
Table = Annotated[str | None, typer.Option(help="Table of a database.")]
Delimiter = Annotated[str | None, typer.Option(help="What separates the fields of a CSV file, a comma unless given.")]
Output = Annotated[
    Path | None, typer.Option("--out", "--output", "-o", help="Where to write: .csv, .parquet or .json.")
]
Interval = Annotated[
    str | None, typer.Option(help="Add credible intervals of this probability, e.g. 0.9.", metavar=NUMBER)
]
Dry = Annotated[bool, typer.Option("--dry-run", help="Say what would be released; read only the schema.")]
Report = Annotated[Path | None, typer.Option(help="Write an HTML report here.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an existing table or file.")]
Cache = Annotated[
    Path | None, typer.Option(help="Folder of designed mechanisms, by default ~/.cache/inbounds.", metavar="FOLDER")
]


@app.command(rich_help_panel=TABLES)
def release(
    source: DataOrPlan,
    count: Count = None,
    histogram: Histogram = None,
    mean: Mean = None,
    sum_: Sum = None,
    median: Median = None,
    least: Least = None,
    most: Most = None,
    low: Low = None,
    high: High = None,
    step: Step = None,
    missing: Missing = None,
    labels: Labels = None,
    by: By = None,
    keys: Keys = None,
    size: Size = None,
    maximum: Maximum = None,
    epsilon: Epsilon = None,
    table: Table = None,
    delimiter: Delimiter = None,
    output: Output = None,
    interval: Interval = None,
    dry_run: Dry = False,
    report: Report = None,
    overwrite: Overwrite = False,
    cache: Cache = None,
    as_json: AsJson = False,
) -> None:
    """Release a private table: aggregate, answer every declared group, write it with its record.

    Example: [bold]inbounds release plan.toml --dry-run[/]

    Example: [bold]inbounds release survey.csv --count "answer = 'yes'" --by school --keys schools.txt --size 25
    --epsilon 1[/]
    """
    from inbounds.release import preview, read_plan
    from inbounds.release import release as run
    from inbounds.release.oneline import one_line

    asked = {
        "count": count, "histogram": histogram, "mean": mean, "sum": sum_,
        "median": median, "min": least, "max": most,
    }  # fmt: skip
    facts = {
        "by": by, "keys": keys, "size": size, "maximum": maximum,
        "epsilon": epsilon, "table": table, "interval": interval, "delimiter": delimiter,
    }  # fmt: skip
    column = {"low": low, "high": high, "step": step, "missing": missing, "labels": labels}
    if source.lower().endswith(".toml"):
        _refuse_options({**asked, **facts, **column})
        plan = read_plan(source)
    else:
        plan = one_line(source, asked, facts, column)
    if report is not None and not report.absolute().parent.is_dir():
        raise ValueError(f"--report must be in a folder that exists, got {report}")
    with watched() as progress:
        if dry_run:
            found = preview(plan, cache=cache, progress=progress)
        else:
            target = output or plan.output or Path(f"{_stem(source)}.released.csv")
            done = run(plan, output=target, overwrite=overwrite, cache=cache, progress=progress)
    if report is not None:
        _write_report(report, found.record if dry_run else done.record, None if dry_run else done.table)
    if dry_run:
        _tell_preview(found, as_json)
    else:
        _tell_release(done, report, as_json)


def _refuse_options(given: dict[str, Any]) -> None:
    named = [f"--{name}" for name, value in given.items() if value is not None]
    if named:
        raise ValueError(f"a plan file says everything itself; leave out {', '.join(named)}, or give a data file")


def _stem(source: str) -> str:
    return "table" if "://" in source else Path(source).stem


# --- what people see --------------------------------------------------------------------------------------


@contextmanager
def watched() -> Iterator["Watch"]:
    """A progress bar on terminals; silence elsewhere."""
    if not err.is_terminal:
        yield lambda doing, done, total: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True) as bars:
        tasks: dict[str, Any] = {}

        def show(doing: str, done: int, total: int) -> None:
            if doing not in tasks:
                tasks[doing] = bars.add_task(doing, total=total)
            bars.update(tasks[doing], completed=done, total=total)

        yield show


def _tell_preview(found: "Preview", as_json: bool) -> None:
    if as_json:
        errors = {name: dict(zip(map(str, found.sizes), row, strict=True)) for name, row in found.errors.items()}
        typer.echo(json.dumps({**found.record, "expected_error_by_size": errors}))
        return
    from inbounds.release.report import thinned

    plan = found.plan
    out.print(f"[bold]Dry run[/] of {escape(plan.source.name)}: nothing is read but the schema, nothing is written\n")
    out.print(f"[bold]Answered[/] {escape(_answered(plan))}\n")
    out.print(f"[bold]Promise[/] {found.statement}\n", markup=True)
    out.print("[bold]Account[/]")
    for line in found.account:
        out.print(f"  • {line}", markup=False)
    out.print()
    _tell_values(found.record)
    picked = thinned(len(found.sizes), SHOWN_SIZES)
    rows = [[str(found.sizes[k]), *(f"{row[k]:.4g}" for row in found.errors.values())] for k in picked]
    names = ["group size" if plan.groups.public else "at most", *map(escape, found.errors)]
    out.print(terminal.columns("Expected error (mean absolute)", names, rows, right=0), sep="\n")
    if len(picked) < len(found.sizes):
        out.print(f"[dim]{len(picked)} of {len(found.sizes)} sizes shown; all are in the record (--json)[/]")


def _answered(plan: "Plan") -> str:
    groups = f"{len(plan.groups)} groups by {', '.join(plan.groups.by)}" if plan.groups.by else "the whole table"
    statistics = ", ".join(f"{s.name} ({s.kind} of {s.of})" for s in plan.statistics)
    return f"{groups}: {statistics}"


def _tell_values(record: Any) -> None:
    """What becomes of values outside the bounds and of records without one, column by column."""
    if record["values"]:
        out.print("[bold]Values[/]")
    for line in record["values"]:
        out.print(f"  • {line}", markup=False)
    if record["values"]:
        out.print()


def _tell_release(done: "Release", report: Path | None, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"output": str(done.path), **done.record}))
        return
    _tell_table(done)
    out.print(f"\n{done.record['statement']}\n", markup=False)
    _tell_values(done.record)
    out.print(f"table   [bold]{done.path}[/]\nrecord  [bold]{done.path}.release.json[/]")
    if report is not None:
        out.print(f"report  [bold]{report}[/]")


def _tell_table(done: "Release") -> None:
    """The first rows, and as many columns as the terminal has room for."""
    first, columns = done.table.slice(0, SHOWN_ROWS), _columns_in_order(done)
    texts = {name: [_spoken(value) for value in first[name].to_pylist()] for name in columns}
    shown = _fitting(texts, len(done.plan.groups.by))
    rows = [[escape(cell) for cell in row] for row in zip(*(texts[name] for name in shown), strict=True)]
    title, names = escape(str(done.path)), [escape(name) for name in shown]
    out.print(terminal.columns(title, names, rows, right=len(done.plan.groups.by)))
    if done.table.num_rows > SHOWN_ROWS:
        out.print(f"[dim]… {done.table.num_rows - SHOWN_ROWS} more rows in the file[/]")
    if len(shown) < done.table.num_columns:
        out.print(f"[dim]+ {done.table.num_columns - len(shown)} more columns in the file[/]")


def _columns_in_order(done: "Release") -> list[str]:
    """Keys, answers, then errors and intervals; of several statistics the answers only."""
    plan = done.plan
    main = [*plan.groups.by, *(cell for statistic in plan.statistics for cell in plan.cells(statistic))]
    rest = [name for name in done.table.column_names if name not in main]
    return main if len(plan.statistics) > 1 else main + rest


def _fitting(texts: dict[str, list[str]], keys: int) -> list[str]:
    """The first columns that fit the terminal side by side; the keys and one answer in any case."""
    names, room = list(texts), out.width - 1
    widths = [max(map(cell_len, (name, *cells))) + 3 for name, cells in texts.items()]
    return [name for k, name in enumerate(names) if k <= keys or sum(widths[: k + 1]) <= room]


def _spoken(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _write_report(path: Path, record: Any, table: Any) -> None:
    from inbounds.release.report import page

    path.write_text(page(record, table), "utf-8")


# --- init -------------------------------------------------------------------------------------------------


@app.command(rich_help_panel=TABLES)
def init(
    source: Annotated[
        str, typer.Argument(help="Data: a file (.csv, .parquet, .duckdb, .sqlite) or postgresql:// URL.")
    ],
    output: Annotated[Path, typer.Option("--out", "--output", "-o", help="Where to write the plan.")] = Path(
        "plan.toml"
    ),
    table: Table = None,
    delimiter: Delimiter = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Write a commented release plan from a file's columns, to be completed with public facts.

    Example: [bold]inbounds init survey.csv[/]
    """
    from inbounds.release.drafting import draft
    from inbounds.release.source import Source

    if output.exists() and not overwrite:
        raise ValueError(f"output {output} exists; give another name, or --overwrite")
    place = {"url": source} if "://" in source else {"path": os.fspath(source)}
    text = draft(Source(**place, table=table or "", delimiter=delimiter or ""), output)
    output.write_text(text, "utf-8")
    if as_json:
        typer.echo(json.dumps({"plan": str(output)}))
        return
    out.print(f"[bold]{output}[/] drafted. Fill in keys, sizes and bounds from public knowledge, then:")
    out.print(f"  inbounds release {output} --dry-run\n  inbounds release {output}", markup=False)
