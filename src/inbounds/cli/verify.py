"""verify and sample: a mechanism file in, a proof or private reports out."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from inbounds.cli.app import MECHANISMS, AsJson, app, out
from inbounds.cli.design import describe, summary
from inbounds.errors import PassportError
from inbounds.exact import decimal
from inbounds.files import load
from inbounds.mechanism import Mechanism
from inbounds.report import words


@app.command(rich_help_panel=MECHANISMS)
def verify(
    file: Annotated[Path, typer.Argument(help="A mechanism passport, or the record of several answers.")],
    as_json: AsJson = False,
) -> None:
    """Check a mechanism file, or the record of several answers, from scratch and say in words what is proved.

    Exits with 1 if the file was changed, or is not private.

    Example: [bold]inbounds verify m.json[/]
    """
    try:
        together = _read_together(file)
        mechanism = None if together else load(file)
    except PassportError as reason:
        if not as_json:
            raise
        typer.echo(json.dumps({"valid": False, "reason": str(reason)}))
        raise typer.Exit(1) from None
    if mechanism is None:
        typer.echo(json.dumps({"valid": True, "checked": together}) if as_json else f"checked {file}: {together}")
    elif as_json:
        typer.echo(json.dumps({"valid": True, **summary(mechanism)}))
    else:
        _explain(file, mechanism)


def _explain(file: Path, mechanism: Mechanism) -> None:
    out.print(
        f"[bold green]proved[/] {file}: {escape(words.subject(mechanism.query))}, epsilon {decimal(mechanism.epsilon)}"
    )
    out.print(f"\n{words.promise(mechanism)}")
    out.print(f"Here {words.relation(mechanism.query)}.\n\n[bold]What was checked[/], in integers only:")
    for step in words.proof(mechanism):
        out.print(f"  • {step}")
    describe(mechanism)


def _read_together(file: Path) -> str | None:
    """What is proved of a file about several answers, or None when it is not one."""
    try:
        kind = json.loads(file.read_text("utf-8"))["format"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None  # `load` says what is wrong with it
    if kind == "inbounds release":
        from inbounds.release.record import check

        return "; ".join(check(file))
    from inbounds.attack import chain, record

    for module in (record, chain):
        if kind == module.FORMAT:
            return str(module.load(file))
    return None


@app.command(rich_help_panel=MECHANISMS)
def sample(
    file: Annotated[Path, typer.Argument(help="A mechanism passport.")],
    answers: Annotated[
        list[str] | None, typer.Argument(help="True answers; without them, one per line of stdin.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Draw private reports for true answers, one per line, with operating-system entropy.

    Example: [bold]inbounds sample m.json < true_counts.txt > private_counts.txt[/]
    """
    mechanism = load(file)
    given = answers or [line.strip() for line in sys.stdin if line.strip()]
    reports = mechanism.sample(given if mechanism.query.labels else _numbers(given)).tolist()
    if as_json:
        typer.echo(json.dumps(reports))
        return
    for value in reports:
        typer.echo(value)


def _numbers(given: list[str]) -> list[float]:
    try:
        return [float(text) for text in given]
    except ValueError:
        pass
    raise ValueError("true answers must be numbers; at least one is not")  # never repeat a true answer
