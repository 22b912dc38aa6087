"""`studio`: pages on this machine to explore, plan, release and check."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inbounds.cli.app import TABLES, AsJson, app, out
from inbounds.optional import import_optional

if TYPE_CHECKING:
    from inbounds.curator.accounts import Account

Folder = Annotated[Path, typer.Argument(help="The folder with data, plans and ledgers; the current one unless given.")]
Port = Annotated[int, typer.Option(help="Port on this machine; any free one unless given.")]
Browse = Annotated[bool, typer.Option("--no-browser", help="Print the address and open no browser.")]


Settings = Annotated[Path | None, typer.Option("--curator", help="A curator's settings: its questions are asked here.")]
AccountName = Annotated[str, typer.Option("--account", help="The account of the curator that asks.", metavar="NAME")]


@app.command(rich_help_panel=TABLES)
def studio(
    folder: Folder = Path(),
    port: Port = 0,
    no_browser: Browse = False,
    curator: Settings = None,
    account: AccountName = "",
    as_json: AsJson = False,
) -> None:
    """Look, plan, release and check in a browser: pages on this machine, for you alone.

    Example: [bold]inbounds studio surveys[/]
    """
    import_optional("fastapi", "studio")
    import_optional("uvicorn", "studio")
    from inbounds.studio.serve import run_studio
    from inbounds.studio.studio import Studio
    from inbounds.studio.workspace import Workspace

    def tell(address: str) -> None:
        if as_json:
            typer.echo(json.dumps({"address": address}))
            return
        out.print(f"the studio is at [bold]{address}[/]", soft_wrap=True)
        out.print("The address works once, in one browser. Stop with Ctrl+C.")

    app_state = Studio(Workspace.from_path(folder))
    if curator is None:
        run_studio(app_state, port=port, tell=tell, browse=not no_browser)
        return
    from inbounds.curator.curator import Curator

    with Curator.open(curator) as opened:
        check_account(opened.accounts(), account)
        app_state.curator, app_state.account = opened, account
        run_studio(app_state, port=port, tell=tell, browse=not no_browser)


def check_account(accounts: Sequence["Account"], name: str) -> None:
    """Raise ValueError unless the account is one of the curator's."""
    known = [one.name for one in accounts if one.revoked is None]
    if name not in known:
        raise ValueError(f"account must be one of the curator's, got {name!r}; known are {', '.join(known) or 'none'}")
