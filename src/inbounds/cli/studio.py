"""studio: the pages to look, plan, release and check, on this machine."""

import json
from pathlib import Path
from typing import Annotated

import typer

from inbounds.cli.app import TABLES, AsJson, app, out
from inbounds.extras import library

Folder = Annotated[Path, typer.Argument(help="The folder with data, plans and ledgers; the current one unless given.")]
Port = Annotated[int, typer.Option(help="Port on this machine; any free one unless given.")]
Browse = Annotated[bool, typer.Option("--no-browser", help="Print the address and open no browser.")]


@app.command(rich_help_panel=TABLES)
def studio(folder: Folder = Path(), port: Port = 0, no_browser: Browse = False, as_json: AsJson = False) -> None:
    """Look, plan, release and check in a browser: pages on this machine, for you alone.

    Example: [bold]inbounds studio surveys[/]
    """
    library("fastapi", "studio")
    library("uvicorn", "studio")
    from inbounds.studio.serve import run

    def tell(address: str) -> None:
        if as_json:
            typer.echo(json.dumps({"address": address}))
            return
        out.print(f"the studio is at [bold]{address}[/]", soft_wrap=True)
        out.print("The address works once, in one browser. Stop with Ctrl+C.")

    run(folder, port=port, tell=tell, browse=not no_browser)
