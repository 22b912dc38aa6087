"""`ledger`: populations, their budgets and spending, and checks of the entries."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from inbounds.cli import completion
from inbounds.cli.app import NUMBER, TABLES, AsJson, Commands, app, err, out
from inbounds.cli.inputs import print_page
from inbounds.cli.outputs import PAGE, OutputKind, Overwrite, check_target, json_output, out_option

if TYPE_CHECKING:
    from inbounds.files import Document
    from inbounds.ledger import Ledger, Population

commands = Commands(help="The ledger: what was spent on whom, never overspent.")
app.add_typer(commands, name="ledger", rich_help_panel=TABLES)

Place = Annotated[str, typer.Argument(help="The ledger: a file, or a postgresql:// URL.")]
Kept = Annotated[Path | None, typer.Option("--head", help="A head kept elsewhere, to compare with.")]
Out = Annotated[Path | None, out_option("Write it here.")]
Name = Annotated[str, typer.Option("--people", help="The name of the people.", metavar="NAME")]


@commands.command()
def init(
    place: Place,
    people: Name,
    epsilon: Annotated[str | None, typer.Option(help="Their budget; without it no cap.", metavar=NUMBER)] = None,
    rule: Annotated[
        str, typer.Option(help="How charges add up: sum, or zcdp with --delta.", autocompletion=completion.rules)
    ] = "sum",
    delta: Annotated[
        str | None,
        typer.Option(help="The delta of the budget; under sum what answers with a delta may spend.", metavar=NUMBER),
    ] = None,
    answer_delta: Annotated[
        str | None, typer.Option(help="Under zcdp: the part of delta that answers may spend.", metavar=NUMBER)
    ] = None,
    every: Annotated[
        str | None, typer.Option(help="The budget renews: year or month.", autocompletion=completion.every)
    ] = None,
    period: Annotated[
        str | None, typer.Option(help="The first period of a budget that renews, such as 2027 or 2027-03.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a ledger, or add people to one.

    Example: [bold]inbounds ledger init budget.db --people pupils --epsilon 2[/]

    Example: [bold]inbounds ledger init budget.db --people pupils --epsilon 1 --every year --period 2027[/]
    """
    from inbounds.ledger.population import describe_renewal

    with _open_ledger(place, create=True) as ledger:
        renewal: dict[str, Any] = {"every": every, "period": period}
        added = ledger.add_population(people, epsilon, rule, delta, **renewal, answer_delta=answer_delta)  # type: ignore[arg-type]
        _print_people([added], as_json)
        if added.every is not None and not as_json:
            out.print(describe_renewal(added), markup=False)


@commands.command()
def renew(
    place: Place,
    people: Name,
    period: Annotated[str, typer.Option(help="The period that begins, such as 2028 or 2028-04.")],
    purpose: Annotated[str, typer.Option(help="Why, for the entry.")] = "",
    as_json: AsJson = False,
) -> None:
    """Open a new period for people whose budget renews; an entry says so, and what was spent so far stays.

    What is left of the period before is lost, and its editions are closed.

    Example: [bold]inbounds ledger renew budget.db --people pupils --period 2028[/]
    """
    from inbounds.ledger.population import describe_renewal

    with _open_ledger(place) as ledger:
        renewed = ledger.renew(people, period, purpose=purpose)
        _print_people([renewed], as_json)
        if not as_json:
            out.print(describe_renewal(renewed), markup=False)


@commands.command()
def raise_budget(
    place: Place,
    people: Name,
    epsilon: Annotated[str, typer.Option(help="The new budget in all.", metavar=NUMBER)],
    purpose: Annotated[str, typer.Option(help="Why, for the entry.")] = "",
    delta: Annotated[str | None, typer.Option(help="The new delta in all, if it rises.", metavar=NUMBER)] = None,
    as_json: AsJson = False,
) -> None:
    """Raise the budget of people; an entry says so, and it never falls.

    Example: [bold]inbounds ledger raise-budget budget.db --people pupils --epsilon 3 --purpose "decided 2026-11-02"[/]
    """
    with _open_ledger(place) as ledger:
        _print_people([ledger.raise_budget(people, epsilon, purpose=purpose, delta=delta)], as_json)


@commands.command()
def show(
    place: Place,
    page: Annotated[Path | None, out_option("Write a page with pictures here (.html).")] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Show what was spent on whom, and what is left.

    Example: [bold]inbounds ledger show budget.db --out spending.html[/]
    """
    from inbounds.files import write_text
    from inbounds.ledger import budget_page

    with _open_to_read(place) as ledger:
        people = ledger.people()
        if page is not None:
            check_target(page, PAGE, overwrite=overwrite, reads=[Path(place)])
            write_text(page, budget_page.page(ledger.place, ledger.head(), people, ledger.entries()))
    _print_people(people, as_json)
    if page is not None and not as_json:
        print_page(page, as_json)


@commands.command("import")
def import_(
    records: Annotated[list[Path], typer.Argument(help="Release records: TABLE.release.json.")],
    place: Annotated[str, typer.Option("--ledger", help="The ledger, made if it is not there.", metavar="FILE")] = (
        "inbounds.ledger"
    ),
    people: Annotated[str, typer.Option(help="Whom they are about, by default the source's name.")] = "",
    as_json: AsJson = False,
) -> None:
    """Import what earlier releases spent; each counts once.

    Example: [bold]inbounds ledger import 2025.csv.release.json 2026.csv.release.json --people pupils[/]
    """
    from inbounds.ledger.import_release import import_release
    from inbounds.releases.verify import load_record

    loaded = [load_record(file) for file in records]
    with _open_ledger(place, create=True) as ledger, ledger.importing():
        charges = [import_release(ledger, record, people) for record in loaded]
        totals = ledger.people()
    new = sum(not charge.repeated for charge in charges)
    if not as_json:
        others = "; the others were there already" if new < len(charges) else ""
        out.print(f"{new} of {len(charges)} releases brought in{others}", markup=False)
    _print_people(totals, as_json)


@commands.command()
def export(place: Place, target: Out = None, overwrite: Overwrite = False, as_json: AsJson = False) -> None:
    """Write all entries as JSON, for a checker elsewhere; answers only by their digests.

    Example: [bold]inbounds ledger export budget.db --out ledger.json[/]
    """
    from inbounds.files import LEDGER
    from inbounds.ledger.verify import export_entries

    def export_of(ledger: "Ledger") -> "Document":
        return export_entries(ledger.head(), ledger.entries(), ledger.people())

    content = _write_or_print(export_of, place, target, json_output("exported ledger", LEDGER), overwrite)
    if target is None or as_json:
        typer.echo(json.dumps(content.to_json() if target is None else {"export": str(target)}))
    else:
        out.print(f"exported: [bold]{target}[/]")


@commands.command()
def verify(place: Place, head: Kept = None, as_json: AsJson = False) -> None:
    """Walk the chain of entries, add everything up again, and compare; with a head also that nothing was cut off.

    Exits with 1 if anything was changed.

    Example: [bold]inbounds ledger verify budget.db --head head.json[/]
    """
    from inbounds.errors import LedgerError, PassportError
    from inbounds.ledger import LedgerHead
    from inbounds.ledger.ledger import verify_ledger

    try:
        kept_head = None if head is None else LedgerHead.load(head)
        verification = verify_ledger(place, kept_head, tell=lambda sentence: err.print(sentence, markup=False))
    except (LedgerError, PassportError) as reason:
        if not as_json:
            raise
        typer.echo(json.dumps({"valid": False, "reason": str(reason)}))
        raise typer.Exit(1) from None
    if as_json:
        totals = [who.to_json() for who in verification.people]
        typer.echo(json.dumps({"valid": True, "checked": verification.sentences(), "people": totals}))
        return
    out.print(f"[bold green]checked[/] {place}")
    for sentence in (*verification.sentences(), *map(str, verification.people)):
        out.print(f"  • {sentence}", markup=False)


@commands.command()
def head(place: Place, target: Out = None, overwrite: Overwrite = False, as_json: AsJson = False) -> None:
    """Print the head, to be kept elsewhere: it shows later that nothing was cut off, as in an old copy.

    Example: [bold]inbounds ledger head budget.db --out head.json[/]
    """
    from inbounds.files import LEDGER_HEAD

    def head_of(ledger: "Ledger") -> "Document":
        return ledger.head().to_document()

    document = _write_or_print(head_of, place, target, json_output("ledger's head", LEDGER_HEAD), overwrite)
    if as_json:
        typer.echo(json.dumps(document.to_json()))
        return
    where = f" kept in {target}" if target is not None else ""
    out.print(f"{document.content['entries']} entries, {document.content['entry_sha256']}{where}", markup=False)


@commands.command()
def backup(
    place: Place,
    copy: Annotated[Path, typer.Argument(help="The new file.")],
    as_json: AsJson = False,
) -> None:
    """Copy a ledger in a file while it is in use, and verify the copy.

    Where the copy is put in the ledger's place, it is closed until `inbounds ledger reopen`, because it does not know
    what was spent since.

    Example: [bold]inbounds ledger backup budget.db 2026-11-19.db[/]
    """
    with _open_ledger(place) as ledger:
        head_of_copy = ledger.backup(copy)
    if as_json:
        typer.echo(json.dumps(head_of_copy.to_json()))
        return
    out.print(f"{copy}: {head_of_copy.entries} entries, {head_of_copy.sha256}", markup=False)


@commands.command()
def reopen(
    place: Place,
    head: Kept = None,
    imported: Annotated[
        bool, typer.Option("--imported", help="Everything after the backup has been imported.")
    ] = False,
    write_off: Annotated[bool, typer.Option("--write-off", help="Spend all that is left of every budget.")] = False,
    as_json: AsJson = False,
) -> None:
    """Reopen a restored backup: with the last head, with everything brought in, or with its budgets written off.

    A head proves that nothing is missing. Otherwise bring in what was given after the backup (inbounds ledger import),
    or, if that is not known, write off what is left.

    Example: [bold]inbounds ledger reopen budget.db --head head.json[/]
    """
    from inbounds.ledger import LedgerHead

    with _open_ledger(place) as ledger:
        last = LedgerHead.load(head) if head is not None else None
        ledger.reopen(last, write_off=write_off, imported=imported)
        _print_people(ledger.people(), as_json)


def totals(place: Path, options: dict[str, Any], as_json: bool) -> None:
    """Print the totals of a ledger by its own rule; `compose` for a ledger."""
    options_given = [name for name, value in options.items() if value]
    if options_given:
        raise ValueError(f"entries of a ledger add up by its own rule; leave out {', '.join(options_given)}")
    with _open_to_read(str(place)) as ledger:
        _print_people(ledger.people(), as_json)


def _open_ledger(place: str, *, create: bool = False) -> "Ledger":
    from inbounds.ledger import Ledger

    return _tell(Ledger.open(place, create=create))


def _open_to_read(place: str) -> "Ledger":
    from inbounds.ledger import Ledger

    return _tell(Ledger.open_to_read(place))


def _tell(ledger: "Ledger") -> "Ledger":
    """Say on standard error what is special about a ledger."""
    if ledger.brought_forward:
        err.print(ledger.brought_forward, markup=False)
    if ledger.is_closed:
        err.print(f"{ledger.place} is a backup, and closed for charges until: inbounds ledger reopen", markup=False)
    return ledger


def _write_or_print(
    document_of: Callable[["Ledger"], "Document"], place: str, target: Path | None, kind: OutputKind, overwrite: bool
) -> "Document":
    """Write what a ledger says to the target if there is one; refuse a target of another kind first."""
    if target is not None:
        check_target(target, kind, overwrite=overwrite, reads=[Path(place)])
    with _open_to_read(place) as ledger:
        document = document_of(ledger)
    if target is not None:
        document.save(target)
    return document


def _print_people(people: list["Population"], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"people": [who.to_json() for who in people]}))
        return
    for who in people:
        out.print(str(who), markup=False)
    if not people:
        out.print("no people yet: inbounds ledger init LEDGER --people NAME --epsilon NUMBER")
