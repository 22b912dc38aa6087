"""`release` and `init`: from a plan or a data file to a private table with its record."""

import json
import os
import shlex
import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.cells import cell_len
from rich.markup import escape

from inbounds.cli.app import NUMBER, TABLES, AsJson, app, err, escape_controls, out
from inbounds.cli.statistic_options import StatisticCommand
from inbounds.files import is_same_file, write_text
from inbounds.report import terminal
from inbounds.report.progress import show_counts
from inbounds.report.templates import pick_evenly

if TYPE_CHECKING:
    from inbounds.plan.plan import Plan
    from inbounds.releases.charge_session import ChargeSession
    from inbounds.releases.pipeline import Release, ReleasePreview
    from inbounds.schema.record_types import ReleaseRecord

Column = list[str] | None
DataOrPlan = Annotated[str, typer.Argument(help="A plan (.toml), or data: a file or postgresql:// URL.")]


def _column(meaning: str, value: str = NUMBER) -> Any:
    words = f"{meaning} For one of several columns: COLUMN={value}."
    return typer.Option(help=words, metavar=value, rich_help_panel="The columns of numbers or labels")


def _groups(meaning: str, metavar: str | None, *names: str) -> Any:
    return typer.Option(*names, help=meaning, metavar=metavar, rich_help_panel="The groups")


Statistics = Annotated[Column, typer.Option(rich_help_panel="What is asked, without a plan")]
Low = Annotated[Column, _column("Least value a record can have.")]
High = Annotated[Column, _column("Largest value a record can have.")]
Step = Annotated[Column, _column("Numbers are rounded to steps of this size, 1 unless given.")]
Missing = Annotated[Column, _column("What a record without a value counts as, --low unless given.")]
Labels = Annotated[Column, _column("Labels, separated by commas.", "A,B,…")]
Other = Annotated[Column, _column("The label that any other value, or none, counts as.", "LABEL")]
By = Annotated[Column, _groups("Column that names the group; several as A,B.", "COLUMN")]
Nested = Annotated[
    bool,
    _groups(
        "The columns of --by nest, from the top down (--by region,school): every level is answered and adds up.",
        None,
        "--nested",
    ),
]
Total = Annotated[
    bool, _groups("All groups together are answered too, and all levels add up; columns of --by nest.", None, "--total")
]
Keys = Annotated[str | None, _groups("Public group keys: .txt (one per line), .csv, .parquet.", "FILE")]
Size = Annotated[str | None, _groups("Public group size, or the column of --keys that holds it.", NUMBER)]
MaxSize = Annotated[str | None, _groups("Largest possible group, if sizes are not public.", NUMBER)]
Typical = Annotated[
    str | None,
    _groups(
        "About how many records a group has, beside --max-size: one number, or a range LEAST,LARGEST. Only expected "
        "errors and intervals use it.",
        "NUMBER",
    ),
]
Period = Annotated[Column, _groups("How a column of dates names a group: day, month, quarter or year.", "COLUMN=month")]
MissingKey = Annotated[str | None, _groups("The key, among --keys, of records without one.", "TEXT")]
IdColumn = Annotated[
    str | None,
    _groups(
        "Column that says whose a record is; without it, each record is one person.", "COLUMN", "--id", "--id-column"
    ),
]
OneRecordEach = Annotated[
    Column,
    _groups("Column that tells persons apart, if every person has one record; repeat for several.", "COLUMN"),
]
MaxRecords = Annotated[int | None, _groups("Records of one person that count in one group, 1 unless given.", NUMBER)]
MaxGroups = Annotated[int | None, _groups("Groups in which one person counts, 1 unless given.", NUMBER)]
Epsilon = Annotated[
    str | None, typer.Option(help="Privacy parameter for the whole release, e.g. 1 or 1/2.", metavar=NUMBER)
]
Table = Annotated[str | None, typer.Option(help="Table of a database, or sheet of an .xlsx file.")]
Delimiter = Annotated[str | None, typer.Option(help="What separates the fields of a CSV file, a comma unless given.")]
DecimalMark = Annotated[
    str | None, typer.Option(help="Decimal mark of a CSV or .xlsx file: a point unless given, or a comma.")
]
ThousandsMark = Annotated[
    str | None, typer.Option(help="Mark between thousands in a CSV or .xlsx file, as in 1.234,5; none unless given.")
]
Encoding = Annotated[
    str | None, typer.Option(help="Encoding of a CSV file, UTF-8 unless given, e.g. windows-1252.", metavar="NAME")
]
HeaderRow = Annotated[
    int | None, typer.Option(help="Row of an .xlsx file with the column names, 1 unless given.", metavar=NUMBER)
]
Output = Annotated[Path | None, typer.Option("--out", "-o", help="Where to write: .csv, .parquet or .json.")]
CredibleLevel = Annotated[
    str | None, typer.Option(help="Add credible intervals of this probability, e.g. 0.9.", metavar=NUMBER)
]
Dry = Annotated[bool, typer.Option("--dry-run", help="Say what would be released; read only the schema.")]
Details = Annotated[bool, typer.Option("--details", help="With --dry-run: print the details of the promise too.")]
Report = Annotated[Path | None, typer.Option(help="Write an HTML report here.")]
Passports = Annotated[
    Path | None, typer.Option(help="Write the mechanisms' passports into this folder, for readers.", metavar="FOLDER")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an existing file, never one that is read.")]
Edition = Annotated[
    str | None, typer.Option(help="Which edition of the data this is, e.g. 2026-11 (over the plan's).", metavar="TEXT")
]
NextSource = Annotated[
    str | None,
    typer.Option("--source", help="Read this file or URL instead of the plan's source.", metavar="FILE"),
]
NewData = Annotated[
    bool, typer.Option("--new-data", help="Confirm that a new edition at an unchanged place is of new data.")
]
AllowUseless = Annotated[
    bool, typer.Option("--allow-useless", help="Release although no statistic is better than a constant.")
]
Redraw = Annotated[bool, typer.Option("--redraw", help="Draw and charge anew, although this was released before.")]
ReadAgain = Annotated[
    bool, typer.Option("--read-again", help="Read the data again under the charge of an earlier run that failed.")
]
Cache = Annotated[
    Path | None, typer.Option(help="Folder of designed mechanisms, by default ~/.cache/inbounds.", metavar="FOLDER")
]


@app.command(rich_help_panel=TABLES, cls=StatisticCommand)
def release(
    source: DataOrPlan,
    low: Low = None,
    high: High = None,
    step: Step = None,
    missing: Missing = None,
    labels: Labels = None,
    other: Other = None,
    by: By = None,
    nested: Nested = False,
    total: Total = False,
    keys: Keys = None,
    period: Period = None,
    missing_key: MissingKey = None,
    size: Size = None,
    max_size: MaxSize = None,
    typical: Typical = None,
    id_column: IdColumn = None,
    one_record_each: OneRecordEach = None,
    max_records: MaxRecords = None,
    max_groups: MaxGroups = None,
    epsilon: Epsilon = None,
    table: Table = None,
    delimiter: Delimiter = None,
    decimal: DecimalMark = None,
    thousands: ThousandsMark = None,
    encoding: Encoding = None,
    header_row: HeaderRow = None,
    output: Output = None,
    credible_level: CredibleLevel = None,
    dry_run: Dry = False,
    details: Details = False,
    report: Report = None,
    passports: Passports = None,
    overwrite: Overwrite = False,
    edition: Edition = None,
    next_source: NextSource = None,
    new_data: NewData = False,
    redraw: Redraw = False,
    allow_useless: AllowUseless = False,
    read_again: ReadAgain = False,
    cache: Cache = None,
    as_json: AsJson = False,
    **statistics: Statistics,
) -> None:
    """Release a private table: aggregate, answer every declared group, write it with its record.

    Example: [bold]inbounds release plan.toml --dry-run[/]

    Example: [bold]inbounds release survey.csv --count "answer = 'yes'" --by school --keys schools.txt --size 25
    --epsilon 1[/]
    """
    from inbounds.ledger.ledger import new_id
    from inbounds.plan.oneline import one_line
    from inbounds.releases.charge_session import ChargeSession, OtherPeopleWarning, ReusedTableWarning
    from inbounds.releases.pipeline import Release, ReleasePreview, load_plan, preview_release
    from inbounds.releases.pipeline import release as run_release
    from inbounds.releases.report import page
    from inbounds.releases.write import check_page_target, record_path

    facts = {
        "by": by, "nested": nested or None, "total": total or None, "keys": keys,
        "period": period, "missing_key": missing_key,
        "size": size, "max_size": max_size, "typical": typical,
        "id": id_column, "one_record_each": one_record_each, "max_records": max_records, "max_groups": max_groups,
        "epsilon": epsilon, "table": table, "delimiter": delimiter, "decimal": decimal,
        "thousands": thousands,
        "encoding": encoding, "header_row": header_row,
        "credible_level": credible_level,
    }  # fmt: skip
    column = {"low": low, "high": high, "step": step, "missing": missing, "labels": labels, "other": other}
    if source.lower().endswith(".toml"):
        _refuse_options({**statistics, **facts, **column})
        plan = load_plan(source)
        plan = plan.with_source(next_source) if next_source is not None else plan
    elif next_source is not None:
        raise ValueError("--source is for plans; without a plan the data file is the first argument")
    else:
        plan = one_line(source, statistics, facts, column)
    plan = replace(plan, edition=edition) if edition is not None else plan
    target = Path(output or plan.output or f"{_stem(source)}.released.csv")
    key = new_id() if redraw else None
    session = ChargeSession.open(plan, target, None, key)  # opens no ledger: `release` does, and a dry run below
    if report is not None:
        outputs = (str(target), str(record_path(target)), *session.file)
        check_page_target(report, overwrite=overwrite, inputs=(*plan.inputs, *outputs))
    settings: dict[str, Any] = {"cache": cache, "mechanisms": passports}
    draw_options: dict[str, Any] = {
        "overwrite": overwrite,
        "key": key,
        "allow_useless": allow_useless,
        "read_again": read_again,
        "new_data": new_data or (not dry_run and _confirm_new_data(session)),
    }
    with show_counts(err) as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore", ReusedTableWarning)  # printed below
        warnings.simplefilter("ignore", OtherPeopleWarning)  # printed above
        result: ReleasePreview | Release = (
            preview_release(plan, progress=progress, **settings)
            if dry_run
            else run_release(plan, output=target, progress=progress, **draw_options, **settings)
        )
    if report is not None:
        write_text(report, page(result.record, getattr(result, "table", None)))
    if isinstance(result, ReleasePreview):
        with session:
            print_preview(result, session.describe_state(), as_json, details=details)
    else:
        print_release(result, report, passports, as_json)


def _confirm_new_data(session: "ChargeSession") -> bool:
    """Ask about a new edition of data at an unchanged place, where someone can answer."""
    with session:
        if other := session.describe_other_people():
            err.print(f"warning: {other}", markup=False)
        question = session.describe_new_edition()
    return bool(question) and sys.stdin.isatty() and typer.confirm(question, err=True)


def _refuse_options(options: dict[str, Any]) -> None:
    """Raise ValueError if options that describe a plan stand beside a plan file."""
    named = [f"--{name.replace('_', '-')}" for name, value in options.items() if value is not None]
    if named:
        raise ValueError(f"a plan file has its own settings; leave out {', '.join(named)}, or give a data file")


def _stem(source: str) -> str:
    return "table" if "://" in source else Path(source).stem


@app.command(rich_help_panel=TABLES)
def init(
    source: Annotated[
        str,
        typer.Argument(
            help="Data: a file (.csv, .xlsx, .parquet, .sav, .dta, .sas7bdat, .duckdb, .sqlite) or postgresql:// URL."
        ),
    ],
    output: Annotated[Path, typer.Option("--out", "-o", help="Where to write the plan.")] = Path("plan.toml"),
    table: Table = None,
    delimiter: Delimiter = None,
    decimal: DecimalMark = None,
    thousands: ThousandsMark = None,
    encoding: Encoding = None,
    header_row: HeaderRow = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Write a commented release plan from a file's columns, to be completed with public facts.

    Example: [bold]inbounds init survey.csv[/]
    """
    from inbounds.plan.draft import draft_plan
    from inbounds.sources.open import Source

    if is_same_file(output, source):
        raise ValueError(f"output must not be the data, got {output}; give another name")
    if output.exists() and not overwrite:
        raise ValueError(f"output {output} exists; give another name, or --overwrite")
    place: dict[str, Any] = {"url": source} if "://" in source else {"path": os.fspath(source)}
    place |= {
        "table": table or "",
        "delimiter": delimiter or "",
        "decimal": decimal or "",
        "thousands": thousands or "",
    }
    text = draft_plan(Source(**place, encoding=encoding or "", header_row=header_row or 1), output)
    write_text(output, text)
    if as_json:
        typer.echo(json.dumps({"plan": str(output)}))
        return
    out.print(f"[bold]{output}[/] drafted. Fill in keys, sizes and bounds from public knowledge, then:")
    out.print(f"  inbounds release {output} --dry-run\n  inbounds release {output}", markup=False)


# --- what is printed: the dry run, the first rows of the table, and where everything is ------

SHOWN_ROWS, SHOWN_SIZES = 12, 12
"""Rows of a table and group sizes that are printed; files, the record and --json hold all of them."""


def print_preview(preview: "ReleasePreview", standing: str, as_json: bool, *, details: bool = False) -> None:
    """Print the dry run: what would be released, the promise, the account, the expected errors and the people's budget.

    details: print the sentences of the promise beyond the first two as well.
    """
    if as_json:
        typer.echo(json.dumps(preview.to_json()))
        return
    plan = preview.plan
    out.print(f"[bold]Dry run[/] of {escape(plan.source.name)}: nothing is read but the schema, nothing is written\n")
    out.print(f"[bold]Answered[/] {escape(_print_answers(plan))}\n")
    from inbounds.schema.text import split_statement

    promise, further = split_statement(preview.statement)
    shown = further if details else "--details prints the details of the promise." if further else ""
    out.print(f"[bold]Promise[/] {escape(promise)}\n[dim]{escape(shown)}[/]\n")
    out.print("[bold]Account[/]")
    for line in preview.account:
        out.print(f"  • {line}", markup=False)
    if standing:
        out.print(f"  • before this release, {standing}", markup=False)
    out.print()
    _print_values(preview.record)
    _print_errors(preview)
    _print_no_better(preview)


def _print_errors(preview: "ReleasePreview") -> None:
    """Print a row for each statistic, with as many sizes as fit the terminal, and one for each level."""
    from inbounds.releases.pipeline import LEVELS_HEAD

    alone = [name for name in preview.errors if name not in preview.levels]
    if alone:
        _print_errors_by_size(preview, alone)
    if preview.levels:
        rows = [[escape(escape_controls(cell)) for cell in row] for row in preview.level_rows]
        title = "Expected error of every level (mean absolute, as published)"
        out.print(terminal.columns(title, LEVELS_HEAD, rows), sep="\n")
        if preview.split:
            out.print(f"[dim]{escape(preview.split)}[/]")


def _print_errors_by_size(preview: "ReleasePreview", alone: Sequence[str]) -> None:
    """Print the errors of statistics without levels of their own, with as many sizes as fit the terminal."""
    names = [escape_controls(name) for name in alone]
    room = (out.width - min(max(map(cell_len, names)), out.width // 3) - len("best constant") - 7) // 10
    picked = pick_evenly(len(preview.sizes), max(1, min(room, SHOWN_SIZES)))
    most = "size" if preview.plan.groups.public else "at most"
    heads = ["statistic", *(f"{most} {preview.sizes[k]}" for k in picked), "best constant"]
    rows = [
        [escape(name), *(f"{row[k]:.4g}" for k in picked), f"{constants[-1]:.4g}"]
        for name, row, constants in (
            (shown, preview.errors[name], preview.constants[name]) for shown, name in zip(names, alone, strict=True)
        )
    ]
    out.print(terminal.columns("Expected error (mean absolute)", heads, rows), sep="\n")
    if len(picked) < len(preview.sizes):
        out.print(f"[dim]{len(picked)} of {len(preview.sizes)} sizes shown; all are in the record (--json)[/]")


def _print_no_better(preview: "ReleasePreview") -> None:
    """Print the statistics that are no better than a yardstick, and what would help."""
    for one in preview.no_better:
        out.print(f"[yellow]•[/] {escape(str(one))}")
    if preview.says_nothing:
        out.print("[yellow]All statistics are no better than a constant: a release needs --allow-useless.[/]")


def _print_answers(plan: "Plan") -> str:
    from inbounds.schema.text import format_groups

    groups = format_groups(len(plan.groups), plan.groups.by)
    statistics = ", ".join(f"{s.name} ({s.kind} of {s.subject_text})" for s in plan.statistics)
    return f"{groups}: {statistics}"


def _print_values(record: "ReleaseRecord") -> None:
    """Print, for each column, how values outside the bounds and missing values are counted."""
    if record["values"]:
        out.print("[bold]Values[/]")
    for line in record["values"]:
        out.print(f"  • {line}", markup=False)
    if record["values"]:
        out.print()


def print_release(done: "Release", report: Path | None, passports: Path | None, as_json: bool) -> None:
    """Print the table, the guarantee and where the files are."""
    if as_json:
        typer.echo(json.dumps(done.to_json()))
        return
    _print_table(done)
    from inbounds.schema.text import split_statement

    out.print(f"\n{split_statement(done.record['statement'])[0]}", markup=False)
    out.print("[dim]Details of the promise are in the record.[/]\n")
    _print_values(done.record)
    places = {"table": done.path, "record": f"{done.path}.release.json", "report": report, "passports": passports}
    width = max(len(name) for name, place in places.items() if place is not None)
    for name, place in places.items():
        if place is not None:
            out.print(f"{name:{width}}  [bold]{escape(str(place))}[/]")
    if done.path is not None and done.path.suffix.lower() == ".csv":
        page = escape(shlex.join(["inbounds", "export", str(done.path), "--out", str(done.path.with_suffix(".html"))]))
        out.print(f"{'page':{width}}  {page}  [dim]for the public, or .xlsx[/]")
    _print_spending(done)


def _print_spending(done: "Release") -> None:
    """Print what this release cost, and the people's total in their ledger by its rule."""
    from inbounds.releases.charge_session import format_population_state
    from inbounds.releases.pipeline import ANEW

    if done.stored:
        out.print(f"\nThis is the stored table of {done.record['time']}; nothing was drawn or spent now: {ANEW}.")
    else:
        out.print(f"\n{done.plan.format_cost()} was spent on these people by this release.")
    out.print(format_population_state(done.record), markup=False)


def _print_table(done: "Release") -> None:
    """Print the first rows, with as many columns as fit the terminal."""
    first, columns = done.table.slice(0, SHOWN_ROWS), _columns_in_order(done)
    texts = {name: [_cell_text(value) for value in first[name].to_pylist()] for name in columns}
    shown = _fitting(texts, len(_keys(done.plan)))
    rows = [[escape(cell) for cell in row] for row in zip(*(texts[name] for name in shown), strict=True)]
    title, names = escape(str(done.path)), [escape(name) for name in shown]
    out.print(terminal.columns(title, names, rows, right=len(done.plan.groups.by) + (done.plan.hierarchy is not None)))
    if done.table.num_rows > SHOWN_ROWS:
        out.print(f"[dim]… {done.table.num_rows - SHOWN_ROWS} more rows in the file[/]")
    if len(shown) < done.table.num_columns:
        more = done.table.num_columns - len(shown)
        out.print(f"[dim]+ {more} more column{'s' * (more > 1)} in the file[/]")


def _columns_in_order(done: "Release") -> list[str]:
    """Return keys and sizes, answers, then errors and intervals; for several statistics only the answers."""
    plan = done.plan
    cells = [cell for statistic in plan.statistics for cell in (*plan.cells(statistic), *plan.margin_cells(statistic))]
    main = [*_keys(plan), *cells]
    rest = [name for name in done.table.column_names if name not in main]
    return main if len(plan.statistics) > 1 else main + rest


def _keys(plan: "Plan") -> list[str]:
    from inbounds.plan.plan import LEVEL

    return [*([LEVEL] if plan.hierarchy else []), *plan.groups.by, *([plan.size_column] if plan.size_column else ())]


def _fitting(texts: dict[str, list[str]], keys: int) -> list[str]:
    """Return the first columns that fit the terminal side by side, always the keys and one answer."""
    names, room = list(texts), out.width - 1
    widths = [max(map(cell_len, (name, *cells))) + 3 for name, cells in texts.items()]
    return [name for k, name in enumerate(names) if k <= keys or sum(widths[: k + 1]) <= room]


def _cell_text(value: Any) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else escape_controls(str(value))
