"""verify and sample: a mechanism file in, a proof or private reports out."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from inbounds.cli import ledger
from inbounds.cli.app import MECHANISMS, AsJson, app, out, visible
from inbounds.cli.design import describe, summary
from inbounds.cli.records import RELEASE, format_of
from inbounds.errors import LedgerError, PassportError
from inbounds.files import load
from inbounds.files.spelling import Json
from inbounds.ledger.ledger import FORMAT as LEDGER
from inbounds.ledger.sqlite import is_ledger
from inbounds.mechanism import Mechanism
from inbounds.numbers import decimal
from inbounds.report import words


@app.command(rich_help_panel=MECHANISMS)
def verify(
    files: Annotated[
        list[Path],
        typer.Argument(help="Mechanism passports, release records (TABLE.release.json), records of answers, ledgers."),
    ],
    as_json: AsJson = False,
) -> None:
    """Check mechanism files, release records, records of several answers or ledgers from scratch; say what is proved.

    Exits with 1 if any file was changed, or is not private.

    Example: [bold]inbounds verify m.json[/]

    Example: [bold]inbounds verify released.csv.release.json[/]

    Example: [bold]inbounds verify budget.db[/]
    """
    if len(files) == 1:
        _verify_one(files[0], as_json)
        return
    found = [_verdict(file) for file in files]
    if as_json:
        typer.echo(json.dumps([{"file": str(file), **verdict} for file, verdict in zip(files, found, strict=True)]))
    else:
        for file, verdict in zip(files, found, strict=True):
            out.print(_line(file, verdict))
    if not all(verdict["valid"] for verdict in found):
        raise typer.Exit(1)


def _verify_one(file: Path, as_json: bool) -> None:
    """One file: everything that can be said about it."""
    try:
        checked = _checked(file)
    except (LedgerError, PassportError) as reason:
        if not as_json:
            raise
        typer.echo(json.dumps({"valid": False, "reason": str(reason)}))
        raise typer.Exit(1) from None
    if as_json:
        typer.echo(json.dumps(_said(checked)))
    elif isinstance(checked, Mechanism):
        _explain(file, checked)
    else:
        typer.echo(visible(f"checked {file}: {checked}"))


def _checked(file: Path) -> Mechanism | str:
    """A mechanism that is proved, or what is proved of a file about several answers."""
    return _read_together(file) or _load(file)


def _load(file: Path) -> Mechanism:
    """The mechanism; for a released table the way to its record."""
    try:
        return load(file)
    except (PassportError, UnicodeDecodeError) as reason:
        record = file.with_name(f"{file.name}.release.json")
        if not record.exists():
            raise
        raise PassportError(f"{file} is a released table; check its record: inbounds verify {record}") from reason


def _verdict(file: Path) -> Json:
    """One of several files: what was found, also when it cannot be read."""
    try:
        return _said(_checked(file))
    except (LedgerError, PassportError) as reason:
        return {"valid": False, "reason": str(reason)}
    except OSError as reason:
        return {"valid": False, "reason": reason.strerror or str(reason)}


def _said(checked: Mechanism | str) -> Json:
    if isinstance(checked, Mechanism):
        tight = f"{checked.effective_epsilon():.12g}"
        promise = {"promise": words.promise(checked), "tight_epsilon": tight, "claimed_not_checked": checked.claimed}
        return {"valid": True, **summary(checked), **promise}
    return {"valid": True, "checked": checked}


def _line(file: Path, verdict: Json) -> str:
    """One of several files in one sentence."""
    name = escape(str(file))
    if not verdict["valid"]:
        return f"[bold red]refused[/] {name}: {escape(verdict['reason'])}"
    if "checked" in verdict:
        return f"[bold green]checked[/] {name}: {escape(verdict['checked'])}"
    return f"[bold green]proved[/] {name}: {escape(verdict['origin']['name'])}, epsilon {verdict['epsilon']}"


def _explain(file: Path, mechanism: Mechanism) -> None:
    out.print(
        f"[bold green]proved[/] {file}: {escape(words.subject(mechanism.query))}, epsilon {decimal(mechanism.epsilon)}"
    )
    out.print(f"\n{escape(words.promise(mechanism))}")
    out.print(f"Here {words.relation(mechanism.query)}.\n\n[bold]What was checked[/], in integers only:")
    for step in words.proof(mechanism):
        out.print(f"  • {step}")
    out.print("\n[bold]Claimed, not checked[/]:")
    for claim in words.claimed(mechanism):
        out.print(f"  • {escape(claim)}")
    describe(mechanism)


def _read_together(file: Path) -> str | None:
    """What is proved of a file about several answers, or None when it is not one: then `load` says what is wrong."""
    kind = format_of(file)
    if is_ledger(file) or kind == LEDGER:
        return "; ".join(ledger.verified(str(file)).sentences())
    if kind == RELEASE:
        from inbounds.tables.record import check

        return "; ".join(check(file))
    from inbounds.accounting import chain, record

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
    reports = mechanism.sample(given).tolist()
    if as_json:
        typer.echo(json.dumps(reports))
        return
    for value in reports:
        typer.echo(value)
