"""`curator`: answer questions over HTTP, and manage accounts and datasets."""

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inbounds.cli.app import TABLES, AsJson, Commands, app, out

if TYPE_CHECKING:
    from inbounds.curator import Curator, DatasetStatus

commands = Commands(help="The curator: answer questions over HTTP; who may ask what, and which datasets are closed.")
accounts = Commands(help="Accounts: their tokens, datasets, caps and levels.")
app.add_typer(commands, name="curator", rich_help_panel=TABLES)
commands.add_typer(accounts, name="account")

Settings = Annotated[Path, typer.Argument(help="The curator's settings: curator.toml.")]
Name = Annotated[str, typer.Argument(help="The name of the account.")]


@commands.command()
def serve(
    settings: Annotated[Path | None, typer.Argument(help="The curator's settings: curator.toml.")] = None,
    demo: Annotated[bool, typer.Option("--demo", help="On the embedded data; prints tokens once.")] = False,
    folder: Annotated[Path | None, typer.Option(help="Where --demo keeps its files; else in a temporary one.")] = None,
    host: Annotated[str, typer.Option(help="Where to listen; a proxy in front speaks TLS.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="At which port.")] = 8400,
    workers: Annotated[int, typer.Option(help="Processes; several share one ledger and database.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Answer questions about datasets over HTTP, from one budget for all who ask.

    Example: [bold]inbounds curator serve --demo --port 8400[/]
    """
    from inbounds.optional import import_optional

    import_optional("uvicorn", "curator")
    import_optional("fastapi", "curator")
    if demo == (settings is not None):
        raise ValueError("serve needs either a file of settings, curator.toml, or --demo")
    from inbounds.curator.http.serve import check_free

    check_free(host, port)
    if demo:
        _serve_demo(folder or Path(tempfile.mkdtemp(prefix="inbounds-")), host, port, as_json)
        return
    from inbounds.curator import Curator
    from inbounds.curator.http.serve import serve as serve_curator
    from inbounds.curator.http.serve import serve_settings

    assert settings is not None
    if workers > 1:
        Curator.open(settings).close()  # errors in the settings are shown once, not by every worker
        _announce(host, port, {}, as_json)
        serve_settings(settings, host, port, workers)
        return
    serve_curator(Curator.open(settings), host, port, lambda: _announce(host, port, {}, as_json))


def _announce(host: str, port: int, tokens: dict[str, str], as_json: bool) -> None:
    """Print the address, and new tokens, which are shown only once."""
    address = f"http://{host}:{port}"
    if as_json:
        typer.echo(json.dumps({"address": address, "tokens": tokens}))
        return
    typer.echo(f"address: {address}")
    for token in tokens.values():
        typer.echo(f"token: {token}")


def _serve_demo(folder: Path, host: str, port: int, as_json: bool) -> None:
    from inbounds.curator.demo import open_demo
    from inbounds.curator.http.serve import serve as serve_curator

    curator, tokens = open_demo(folder)

    def announce() -> None:
        _announce(host, port, tokens, as_json)
        about = f"tokens of {' and '.join(tokens)}, shown this once" if tokens else "tokens were shown when it began"
        if not as_json:
            typer.echo(f"{about}; everything is kept in {folder}")

    serve_curator(curator, host, port, announce)


@accounts.command("add")
def add(
    settings: Settings,
    name: Name,
    dataset: Annotated[
        list[str] | None, typer.Option(help="What it may ask: NAME, NAME=CAP or NAME=CAP@LEVEL.", metavar="NAME")
    ] = None,
    owner: Annotated[bool, typer.Option("--owner", help="It sees what was spent, and may ask everything.")] = False,
    as_json: AsJson = False,
) -> None:
    """Add an account, and print its token, this once.

    Example: [bold]inbounds curator account add curator.toml ana --dataset pupils=2[/]
    """
    granted = [_parse_grant(text) for text in dataset or ()]
    with _open_curator(settings) as curator:
        token = curator.add_account(
            name,
            {dataset_name: cap for dataset_name, cap, _ in granted},
            role="owner" if owner else "analyst",
            levels={dataset_name: level for dataset_name, _, level in granted if level},
        )
    typer.echo(json.dumps({"account": name, "token": token}) if as_json else f"token: {token}")


def _parse_grant(text: str) -> tuple[str, str | None, str]:
    """Parse NAME=CAP@LEVEL into a dataset, a cap and a level."""
    named, _, level = text.partition("@")
    name, _, cap = named.partition("=")
    return name, cap or None, level


@accounts.command("list")
def list_(settings: Settings, as_json: AsJson = False) -> None:
    """List the accounts, what they may ask, and what they spent.

    Example: [bold]inbounds curator account list curator.toml[/]
    """
    with _open_curator(settings) as curator:
        rows = [account.to_json() for account in curator.accounts()]
    if as_json:
        typer.echo(json.dumps({"accounts": rows}))
        return
    for account in rows:
        gone = f", revoked {account['revoked']}" if account["revoked"] else ""
        out.print(f"{account['name']}: {account['role']}, holds {account['rows']} rows{gone}", markup=False)
        for grant in account["datasets"]:
            cap = f" of {grant['cap']}" if grant["cap"] else ", without a cap"
            level = f", level {grant['level']}" if grant["level"] else ""
            out.print(f"  {grant['dataset']}: epsilon {grant['spent']}{cap}{level}", markup=False)


@accounts.command()
def revoke(settings: Settings, name: Name, as_json: AsJson = False) -> None:
    """Revoke an account: from now on its token is unknown.

    Example: [bold]inbounds curator account revoke curator.toml ana[/]
    """
    with _open_curator(settings) as curator:
        curator.revoke_account(name)
    if as_json:
        typer.echo(json.dumps({"revoked": name}))
    else:
        out.print(f"revoked: {name}", markup=False)


@commands.command()
def status(settings: Settings, as_json: AsJson = False) -> None:
    """Say which datasets are closed, and how often accounts may have seen that an evaluation failed.

    Example: [bold]inbounds curator status curator.toml[/]
    """
    from inbounds.curator.curator import OWNER

    with _open_curator(settings) as curator:
        _print_statuses(curator.statuses(OWNER), as_json)


@commands.command()
def reopen(
    settings: Settings,
    name: Annotated[str, typer.Argument(help="The name of the dataset.")],
    as_json: AsJson = False,
) -> None:
    """Open a dataset that was closed because an evaluation failed, was late, or died with its process.

    Look at the source first: too little memory, a full disk, a damaged file, or an answer_seconds that is too short.
    Questions whose evaluation failed stay charged, and are never evaluated again.

    Example: [bold]inbounds curator reopen curator.toml pupils[/]
    """
    from inbounds.curator.curator import OWNER

    with _open_curator(settings) as curator:
        _print_statuses([curator.reopen(OWNER, name)], as_json)


def _print_statuses(statuses: "list[DatasetStatus]", as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"datasets": [one.to_json() for one in statuses]}))
        return
    for one in statuses:
        out.print(str(one), markup=False)


@commands.command()
def backup(
    settings: Settings,
    folder: Annotated[Path, typer.Argument(help="Where budget.db and curator.db are copied to.")],
    as_json: AsJson = False,
) -> None:
    """Copy database and ledger while the service runs. Put back, they are closed until accept-ledger.

    Example: [bold]inbounds curator backup curator.toml 2026-11-19[/]
    """
    with _open_curator(settings) as curator:
        head = curator.backup(folder)
    if as_json:
        typer.echo(json.dumps(head.to_json()))
    else:
        out.print(f"{folder}: ledger {head.ledger} with {head.entries} entries, {head.sha256}", markup=False)


@commands.command("accept-ledger")
def accept_ledger(
    settings: Settings,
    imported: Annotated[bool, typer.Option("--imported", help="Nothing else is missing.")] = False,
    write_off: Annotated[bool, typer.Option("--write-off", help="Spend all that is left of every budget.")] = False,
    as_json: AsJson = False,
) -> None:
    """Go on with the ledger that is there, although it or the database is a backup, or another than this curator saw.

    Questions that the database knows and the ledger does not are charged first. If others spent from this ledger too,
    or the database is a backup itself, more may be missing: bring it in (inbounds ledger import, Ledger.charge) and say
    --imported, or --write-off what is left.

    Example: [bold]inbounds curator accept-ledger curator.toml --write-off[/]
    """
    from inbounds.curator import load_settings
    from inbounds.curator.database import open_database
    from inbounds.curator.ledger_head import accept_head

    if imported == write_off:
        raise ValueError(
            "accept-ledger needs --imported or --write-off; use --write-off unless you know that no charge is missing"
        )
    loaded = load_settings(settings)
    store = open_database(loaded.database)
    try:
        head, lost = accept_head(store, loaded.ledger, loaded.datasets, write_off=write_off)
    finally:
        store.close()
    if as_json:
        typer.echo(json.dumps({**head.to_json(), "charged": lost}))
        return
    out.print(f"accepted: ledger {head.ledger} with {head.entries} entries", markup=False)
    out.print(f"{lost} answers that it did not know were charged", markup=False)


def _open_curator(settings: Path) -> "Curator":
    from inbounds.curator import Curator

    return Curator.open(settings)
