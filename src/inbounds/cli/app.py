"""What all commands share: the Typer app, the consoles, the options that build a query, the handling of errors."""

import os
import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from inbounds import __version__, query
from inbounds.errors import InboundsError

app = typer.Typer(
    help="""Differentially private answers that stay in bounds: optimal by design, private by proof.

    Example: [bold]inbounds design count --max 20 --epsilon 0.5 --save m.json[/]""",
    epilog="Exit codes: 0 done, 1 refused (not private, changed, infeasible, too large), 2 misuse.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


class _Terminal(Console):
    """A console whose reader, such as head, may have seen enough: that is no error."""

    def on_broken_pipe(self) -> None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0)


out = _Terminal(highlight=False)
err = Console(stderr=True, highlight=False)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of text.")]
Kind = Annotated[str, typer.Argument(help="count, total, mean, extreme, interval, ordinal or category.")]
Epsilon = Annotated[str, typer.Option(help="Privacy parameter, e.g. 0.5 or 1/2.")]
Maximum = Annotated[int | None, typer.Option("--max", help="count: the group size; answers are 0..max.")]
Size = Annotated[int | None, typer.Option(help="total, mean: how many people.")]
Low = Annotated[str | None, typer.Option(help="Smallest value of one person, or of the answer.")]
High = Annotated[str | None, typer.Option(help="Largest value.")]
Sensitivity = Annotated[str | None, typer.Option(help="interval: how far one person moves the answer.")]
CellCount = Annotated[int | None, typer.Option("--cells", help="interval: number of cells.")]
Labels = Annotated[str | None, typer.Option(help="category: labels, separated by commas.")]
OutputCount = Annotated[int | None, typer.Option("--outputs", help="Report in this many equal cells.")]


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    if version:
        typer.echo(f"inbounds {__version__}")
        raise typer.Exit


def query_of(
    kind: str,
    maximum: int | None = None,
    size: int | None = None,
    low: str | None = None,
    high: str | None = None,
    sensitivity: str | None = None,
    cells: int | None = None,
    labels: str | None = None,
    outputs: int | None = None,
) -> query.Query:
    """The query that the options describe; a missing option is named."""

    people = {"max": maximum, "size": size, "labels": labels}
    options = {**people, "low": low, "high": high, "sensitivity": sensitivity, "cells": cells}

    def need(**given: object) -> None:
        missing = [f"--{name}" for name, value in given.items() if value is None]
        if missing:
            raise ValueError(f"{kind} needs {' and '.join(missing)}")
        idle = [f"--{name}" for name, value in options.items() if value is not None and name not in given]
        if idle:
            raise ValueError(f"{kind} does not take {' and '.join(idle)}")

    match kind:
        case "count":
            need(max=maximum)
            return query.count(maximum, outputs=outputs)  # type: ignore[arg-type]
        case "total" | "mean":
            need(size=size, low=low, high=high)
            return getattr(query, kind)(size, low, high, outputs=outputs)  # type: ignore[no-any-return]
        case "extreme" | "ordinal":
            need(low=low, high=high)
            return getattr(query, kind)(low, high, outputs=outputs)  # type: ignore[no-any-return]
        case "interval":
            need(low=low, high=high, sensitivity=sensitivity, cells=cells)
            return query.interval(low, high, sensitivity, cells, outputs=outputs)  # type: ignore[arg-type]
        case "category":
            need(labels=labels)
            return query.category([label.strip() for label in str(labels).split(",")])
    raise ValueError(f"query must be count, total, mean, extreme, interval, ordinal or category, got {kind!r}")


def main() -> None:
    """Run the command line; errors are one sentence unless --debug, wherever it stands, asks for the traceback."""
    try:
        app([word for word in sys.argv[1:] if word != "--debug"])
    except (InboundsError, ValueError, TypeError, OSError, ImportError) as error:
        if "--debug" in sys.argv:
            raise
        err.print(f"[bold red]inbounds:[/] {escape(_sentence(error))}")
        raise SystemExit(1 if isinstance(error, InboundsError) else 2) from None


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}"
    return str(error)
