"""verify and sample: a mechanism file in, a proof or private reports out."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from inbounds.cli.app import AsJson, app, out
from inbounds.errors import PassportError, TooLarge
from inbounds.files import Json, load, passport
from inbounds.mechanism import Mechanism
from inbounds.report import terminal, words


@app.command()
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
        typer.echo(json.dumps({"valid": True, **_summary(mechanism)}))
    else:
        _explain(file, mechanism)


def _explain(file: Path, mechanism: Mechanism) -> None:
    out.print(f"[bold green]proved[/] {file}: {words.subject(mechanism.query)}, epsilon {mechanism.epsilon}")
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


def describe(mechanism: Mechanism) -> None:
    """Origin, tight epsilon, losses, properties, optimality, digest."""
    summary = _summary(mechanism)
    out.print(f"\n[bold]Origin[/], as claimed: {mechanism.origin}  [dim]{mechanism.origin.reference}[/]")
    out.print(f"[bold]Tight epsilon[/] {mechanism.effective_epsilon():.9g}")
    losses = "  ".join(f"{name} {value}" for name, value in summary["claims"]["losses"].items())
    out.print(f"[bold]Expected loss[/], every true answer equally likely: {losses}")
    if mechanism.optimality is not None:
        best = mechanism.optimality
        out.print(
            f"[bold]Optimality[/] {best.objective}: {best.value:.9g}; "
            f"claimed: no mechanism is below {best.bound:.9g} (gap {best.gap:.2g})"
        )
    try:
        out.print("[bold]Properties[/]", terminal.properties(mechanism), sep="\n")
    except TooLarge:
        out.print("[dim]properties are not computed at this size[/]")
    out.print(f"[bold]sha256[/] {summary['sha256']}")


def _summary(mechanism: Mechanism) -> Json:
    """A passport without its weights."""
    return {key: value for key, value in passport(mechanism).items() if key != "law"}


@app.command()
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
