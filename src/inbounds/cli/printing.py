"""What is printed of a release: a progress bar, the dry run, the first rows of the table, and where everything is."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.cells import cell_len
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from inbounds.cli.app import err, out, visible
from inbounds.report import terminal
from inbounds.report.layout import thinned

if TYPE_CHECKING:
    from inbounds.tables import Preview, Release
    from inbounds.tables.designs import Progress as Watch
    from inbounds.tables.plan import Plan

SHOWN_ROWS, SHOWN_SIZES = 12, 12
"""Rows of a table and group sizes that are printed; files, the record and --json hold all of them."""


@contextmanager
def progress_bars() -> Iterator["Watch"]:
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


def print_preview(found: "Preview", standing: str, as_json: bool) -> None:
    """What would be released, the promise, the account, the errors to expect, and what is left for these people."""
    if as_json:
        typer.echo(json.dumps(found.to_json()))
        return
    plan = found.plan
    out.print(f"[bold]Dry run[/] of {escape(plan.source.name)}: nothing is read but the schema, nothing is written\n")
    out.print(f"[bold]Answered[/] {escape(_answered(plan))}\n")
    out.print(f"[bold]Promise[/] {found.statement}\n", markup=True)
    out.print("[bold]Account[/]")
    for line in found.account:
        out.print(f"  • {line}", markup=False)
    if standing:
        out.print(f"  • before this release, {standing}", markup=False)
    out.print()
    _print_values(found.record)
    _print_errors(found)
    _print_no_better(found)


def _print_errors(found: "Preview") -> None:
    """A row for each statistic, whatever the length of its name, and as many sizes as the terminal has room for."""
    names = [visible(name) for name in found.errors]
    room = (out.width - min(max(map(cell_len, names)), out.width // 3) - len("best constant") - 7) // 10
    picked = thinned(len(found.sizes), max(1, min(room, SHOWN_SIZES)))
    most = "size" if found.plan.groups.public else "at most"
    heads = ["statistic", *(f"{most} {found.sizes[k]}" for k in picked), "best constant"]
    rows = [
        [escape(name), *(f"{row[k]:.4g}" for k in picked), f"{constants[-1]:.4g}"]
        for name, row, constants in zip(names, found.errors.values(), found.constants.values(), strict=True)
    ]
    out.print(terminal.columns("Expected error (mean absolute)", heads, rows), sep="\n")
    if len(picked) < len(found.sizes):
        out.print(f"[dim]{len(picked)} of {len(found.sizes)} sizes shown; all are in the record (--json)[/]")


def _print_no_better(found: "Preview") -> None:
    """The statistics that a constant would answer as well, and what would help."""
    for one in found.no_better:
        out.print(f"[yellow]•[/] {escape(str(one))}")
    if found.says_nothing:
        out.print("[yellow]All statistics are no better than a constant: a release needs --anyway.[/]")


def _answered(plan: "Plan") -> str:
    groups = f"{len(plan.groups)} groups by {', '.join(plan.groups.by)}" if plan.groups.by else "the whole table"
    statistics = ", ".join(f"{s.name} ({s.kind} of {s.of})" for s in plan.statistics)
    return f"{groups}: {statistics}"


def _print_values(record: Any) -> None:
    """What becomes of values outside the bounds and of records without one, column by column."""
    if record["values"]:
        out.print("[bold]Values[/]")
    for line in record["values"]:
        out.print(f"  • {line}", markup=False)
    if record["values"]:
        out.print()


def print_release(done: "Release", report: Path | None, mechanisms: Path | None, as_json: bool) -> None:
    """The table, the promise, where everything is, and that it adds up."""
    if as_json:
        typer.echo(json.dumps(done.to_json()))
        return
    _print_table(done)
    out.print(f"\n{done.record['statement']}\n", markup=False)
    _print_values(done.record)
    places = {"table": done.path, "record": f"{done.path}.release.json", "report": report, "mechanisms": mechanisms}
    width = max(len(name) for name, place in places.items() if place is not None)
    for name, place in places.items():
        if place is not None:
            out.print(f"{name:{width}}  [bold]{escape(str(place))}[/]")
    _print_spending(done)


def _print_spending(done: "Release") -> None:
    """What this cost, and the running total of these people in their ledger, by the ledger's own rule."""
    from inbounds.tables import ANEW
    from inbounds.tables.booking import standing
    from inbounds.tables.texts import number

    if done.stored:
        out.print(f"\nThis is the stored table of {done.record['time']}; nothing was drawn or spent now: {ANEW}.")
    else:
        out.print(f"\nepsilon {number(done.plan.spent)} was spent on these people by this release.")
    out.print(standing(done.record), markup=False)


def _print_table(done: "Release") -> None:
    """The first rows, and as many columns as the terminal has room for."""
    first, columns = done.table.slice(0, SHOWN_ROWS), _columns_in_order(done)
    texts = {name: [_cell_text(value) for value in first[name].to_pylist()] for name in columns}
    shown = _fitting(texts, len(_keys(done.plan)))
    rows = [[escape(cell) for cell in row] for row in zip(*(texts[name] for name in shown), strict=True)]
    title, names = escape(str(done.path)), [escape(name) for name in shown]
    out.print(terminal.columns(title, names, rows, right=len(done.plan.groups.by) + (done.plan.hierarchy is not None)))
    if done.table.num_rows > SHOWN_ROWS:
        out.print(f"[dim]… {done.table.num_rows - SHOWN_ROWS} more rows in the file[/]")
    if len(shown) < done.table.num_columns:
        out.print(f"[dim]+ {done.table.num_columns - len(shown)} more columns in the file[/]")


def _columns_in_order(done: "Release") -> list[str]:
    """Keys and sizes, answers, then errors and intervals; of several statistics the answers only."""
    plan = done.plan
    cells = [cell for own in plan.statistics for cell in (*plan.cells(own), *plan.margin_cells(own))]
    main = [*_keys(plan), *cells]
    rest = [name for name in done.table.column_names if name not in main]
    return main if len(plan.statistics) > 1 else main + rest


def _keys(plan: "Plan") -> list[str]:
    from inbounds.tables.plan import LEVEL

    level = [LEVEL] if plan.hierarchy else []
    return [*level, *plan.groups.by, *([plan.size_column] if plan.size_column else ())]


def _fitting(texts: dict[str, list[str]], keys: int) -> list[str]:
    """The first columns that fit the terminal side by side; the keys and one answer in any case."""
    names, room = list(texts), out.width - 1
    widths = [max(map(cell_len, (name, *cells))) + 3 for name, cells in texts.items()]
    return [name for k, name in enumerate(names) if k <= keys or sum(widths[: k + 1]) <= room]


def _cell_text(value: Any) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else visible(str(value))
