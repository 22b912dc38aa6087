"""`verify` and `sample`: check a file, or draw outputs of a mechanism."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from inbounds.cli.app import MECHANISMS, AsJson, app, escape_controls, out
from inbounds.cli.design import optimality_words, print_mechanism
from inbounds.cli.inputs import load_answer_mechanism
from inbounds.cli.outputs import PAGE, Overwrite, check_target, out_option
from inbounds.errors import PassportError
from inbounds.exact import format_cost
from inbounds.files import MECHANISM, RELEASE, LoadedFile, write_text
from inbounds.mechanism import AnyMechanism
from inbounds.report import wording

if TYPE_CHECKING:
    from inbounds.verdict import Verdict

FEW = 12
"""Sentences shown without --all."""


@app.command(rich_help_panel=MECHANISMS)
def verify(
    files: Annotated[
        list[Path],
        typer.Argument(help="Mechanism passports, release records (TABLE.release.json), records of several answers."),
    ],
    as_json: AsJson = False,
    second: Annotated[
        str | None,
        typer.Option("--checker", help="A second checker that must agree, such as inbounds-check.", metavar="PROGRAM"),
    ] = None,
    page: Annotated[Path | None, out_option("Write a page that checks the file again in any browser, offline.")] = None,
    overwrite: Overwrite = False,
    every: Annotated[bool, typer.Option("--all", help="Every step of the proof, claims and measures.")] = False,
    optimality: Annotated[
        bool,
        typer.Option("--optimality", help="Of one passport, also prove by solving how small the loss can be."),
    ] = False,
) -> None:
    """Check mechanism files, release records or records of several answers from scratch; say what is proved.

    Every cell of a released table is recomputed from the draws in its record. Passports given along with a record are
    connected to the numbers they drew. Exits with 1 if any file was changed, or is not private; else with 3 if any file
    is not verifiable yet, because it has a statistic that this checker has no rule for.

    Example: [bold]inbounds verify m.json[/]

    Example: [bold]inbounds verify released.csv.release.json[/]

    Example: [bold]inbounds verify released.csv.release.json mechanisms/*.json[/]

    Example: [bold]inbounds verify budget.db[/]

    Example: [bold]inbounds verify m.json --optimality[/]

    Example: [bold]inbounds verify m.json --checker inbounds-check[/]

    Example: [bold]inbounds verify m.json --out check.html[/]
    """
    from inbounds.verdict import verify as verify_file
    from inbounds.verdict import verify_all

    loaded: list[LoadedFile] | None = None
    if page is not None:
        check_target(page, PAGE, overwrite=overwrite, reads=files)
        loaded = [LoadedFile.load(file) for file in files]
        _write_page(loaded, page, second)
    if len(files) == 1:
        _print_one(
            verify_file(files[0] if loaded is None else loaded[0], second=second, optimality=optimality), as_json, every
        )
        if page is not None:
            typer.echo(escape_controls(f"page: {page}"))
        return
    verdicts = verify_all(loaded or files, second=second)
    if as_json:
        typer.echo(json.dumps([{"file": str(verdict.path), **verdict.to_json()} for verdict in verdicts]))
    else:
        for verdict in verdicts:
            _print_among_others(verdict, every)
    if page is not None:
        typer.echo(escape_controls(f"page: {page}"))
    raise typer.Exit(_exit_code(verdicts))


def _write_page(files: "list[LoadedFile]", page: Path, second: str | None) -> None:
    """One file, its verdict and the checker in JavaScript, as one HTML file; with a record its table and passports."""
    from inbounds.report import check_page
    from inbounds.verdict import find_table
    from inbounds.verdict import verify as verify_file

    records = [file for file in files if file.format == RELEASE]
    passports = [file for file in files if file.format == MECHANISM] if records else []
    if len(files) - len(passports) != 1:
        raise ValueError(
            f"FILE must be one file, or one record with its passports, where --out is given, got {len(files)}"
        )
    (file,) = [file for file in files if file not in passports]
    beside = [*map(LoadedFile.load, find_table(file)), *passports]
    others, document = [check_page.embedded(other) for other in beside], check_page.embedded(file)
    verdict = verify_file(file, passports=passports, second=second)
    write_text(page, check_page.page(document, verdict.to_json(), name=file.path.name, others=others))


def _exit_code(verdicts: "Sequence[Verdict]") -> int:
    """Return 0 if every file holds, 1 if any is refused, 3 if none is and any has no verdict."""
    from inbounds.verdict import NO_VERDICT

    if any(verdict.is_decided and not verdict.is_valid for verdict in verdicts):
        return 1
    return 0 if all(verdict.is_valid for verdict in verdicts) else NO_VERDICT


def _print_one(verdict: "Verdict", as_json: bool, every: bool) -> None:
    """Print what is proved about one file, and with --all everything else that is known."""
    if as_json:
        typer.echo(json.dumps(verdict.to_json()))
        raise typer.Exit(_exit_code([verdict]))
    if not verdict.is_decided:
        typer.echo(escape_controls(verdict.reason), err=True)
        raise typer.Exit(_exit_code([verdict]))
    if not verdict.is_valid:
        raise PassportError(verdict.reason)
    if verdict.mechanism is None:
        typer.echo(escape_controls(f"checked {verdict.path}:"))
        _print_sentences(verdict.proved, every)
        _print_claims(verdict.unchecked)
    else:
        _explain(verdict, verdict.mechanism, every)
    if verdict.seconded:
        out.print(f"\n[bold green]seconded[/] {escape(verdict.seconded)} finds the same of query, epsilon and weights")


def _print_sentences(sentences: Sequence[str], every: bool) -> None:
    """Print one line for each sentence, the first ones only unless `every`."""
    shown = sentences if every else sentences[:FEW]
    for sentence in shown:
        typer.echo(escape_controls(f"  • {sentence}"))
    if len(shown) < len(sentences):
        typer.echo(f"  {len(sentences) - len(shown)} more: --all")


def _print_among_others(verdict: "Verdict", every: bool) -> None:
    """Print one of several files: a passport in one line, a record with what was proved."""
    if not verdict.is_valid or verdict.mechanism is not None:
        first, rest = str(verdict).split(" ", 1)
        colour = "green" if verdict.is_valid else "red" if verdict.is_decided else "yellow"
        out.print(f"[bold {colour}]{first}[/] {escape(rest)}")
        return
    out.print(f"[bold green]checked[/] {escape(str(verdict.path))}:")
    _print_sentences(verdict.proved, every)
    _print_claims(verdict.unchecked)


def _print_claims(claims: Sequence[str]) -> None:
    if claims:
        out.print("Claimed, not checked:")
    for claim in claims:
        out.print(f"  • {escape(claim)}")


def _explain(verdict: "Verdict", mechanism: AnyMechanism, every: bool) -> None:
    subject, cost = mechanism.query.describe(), format_cost(mechanism.epsilon, mechanism.delta)
    out.print(f"[bold green]proved[/] {verdict.path}: {escape(subject)}, {cost}")
    out.print(f"\n{escape(wording.format_guarantee(mechanism))}")
    if not every:
        if mechanism.optimality is not None:
            out.print(f"[bold]Optimality[/] {escape(optimality_words(mechanism, verdict.bound))}")
        out.print(f"[bold]Law[/] {escape(mechanism.law.kind)}, {wording.describe_checkers(mechanism)}")
        out.print(f"[bold]sha256[/] {mechanism.sha256}")
        out.print("[dim]--all: the steps of the proof, what is only claimed and not checked, and measures[/]")
        return
    out.print(f"Here {mechanism.query.describe_neighbours()}.\n\n[bold]What was checked[/], in integers only:")
    for step in wording.describe_proof(mechanism):
        out.print(f"  • {step}")
    out.print("\n[bold]Claimed, not checked[/]:")
    for claim in verdict.unchecked_claims:
        out.print(f"  • {escape(claim)}")
    print_mechanism(mechanism, bound="claimed", solved=verdict.bound)


@app.command(rich_help_panel=MECHANISMS)
def sample(
    file: Annotated[Path, typer.Argument(help="A mechanism passport.")],
    answers: Annotated[
        list[str] | None, typer.Argument(help="True answers; without them, one per line of stdin.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Draw private outputs for true answers, one per line, with operating-system entropy.

    Example: [bold]inbounds sample m.json < true_counts.txt > private_counts.txt[/]
    """
    mechanism = load_answer_mechanism(file)
    truths = answers or [line.strip() for line in sys.stdin if line.strip()]
    outputs = mechanism.sample(truths).tolist()
    if as_json:
        typer.echo(json.dumps(outputs))
        return
    for value in outputs:
        typer.echo(value)
