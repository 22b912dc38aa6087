"""The command line: parse, call, print. Exit codes: 0 done, 1 refused as not private or infeasible, 2 misuse."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from inbounds import __version__
from inbounds.errors import InboundsError, TooLarge
from inbounds.files import Json, load, passport
from inbounds.mechanism import Mechanism
from inbounds.report import terminal, words

app = typer.Typer(
    help="Differentially private answers that stay in bounds: optimal by design, private by proof.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
out = Console(highlight=False)
err = Console(stderr=True, highlight=False)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of text.")]


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    if version:
        typer.echo(f"inbounds {__version__}")
        raise typer.Exit


@app.command()
def verify(
    file: Annotated[Path, typer.Argument(help="A mechanism passport, written by Mechanism.save.")],
    as_json: AsJson = False,
) -> None:
    """Check a mechanism file from scratch and say in words what is proved.

    Exits with 1 if the file was changed, or is not private.

    Example: [bold]inbounds verify m.json[/]
    """
    mechanism = load(file)
    if as_json:
        typer.echo(json.dumps(_summary(mechanism)))
        return
    out.print(f"[bold green]proved[/] {file}: {words.subject(mechanism.query)}, epsilon {mechanism.epsilon}")
    out.print(f"\n{words.promise(mechanism)}")
    out.print(f"Here {words.relation(mechanism.query)}.\n\n[bold]What was checked[/], in integers only:")
    for step in words.proof(mechanism):
        out.print(f"  • {step}")
    _describe(mechanism)


def _describe(mechanism: Mechanism) -> None:
    """Origin, tight epsilon, losses, properties, optimality, digest."""
    summary = _summary(mechanism)
    out.print(f"\n[bold]Origin[/] {mechanism.origin}  [dim]{mechanism.origin.reference}[/]")
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
) -> None:
    """Draw private reports for true answers, one per line, with operating-system entropy.

    Example: [bold]inbounds sample m.json < true_counts.txt > private_counts.txt[/]
    """
    mechanism = load(file)
    given = answers or [line.strip() for line in sys.stdin if line.strip()]
    for value in mechanism.sample(given if mechanism.query.labels else _numbers(given)).tolist():
        typer.echo(value)


def _numbers(given: list[str]) -> list[float]:
    try:
        return [float(text) for text in given]
    except ValueError:
        pass
    raise ValueError("true answers must be numbers; at least one is not")  # never repeat a true answer


def main() -> None:
    """Run the command line; errors are one sentence unless --debug asks for the traceback."""
    try:
        app()
    except (InboundsError, ValueError, TypeError, OSError) as error:
        if "--debug" in sys.argv:
            raise
        err.print(f"[bold red]inbounds:[/] {error}")
        raise SystemExit(1 if isinstance(error, InboundsError) else 2) from None
