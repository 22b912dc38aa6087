"""`describe`: a release as an entry for the registry of deployments, and as a checklist for a reviewer."""

import json
from pathlib import Path
from typing import Annotated

import typer

from inbounds.cli.app import TABLES, AsJson, app, out
from inbounds.cli.inputs import find_record
from inbounds.cli.outputs import OutputKind, Overwrite, check_target, out_option
from inbounds.files import LoadedFile, write_text
from inbounds.files.open_files import read_start

ENTRY = OutputKind("registry entry", lambda path: read_start(path, 9) == b"url_slug:", (".yaml", ".yml"))
CHECKLIST = OutputKind("checklist", lambda path: read_start(path, 11) == b"# Checklist", (".md",))


@app.command(rich_help_panel=TABLES)
def describe(
    record: Annotated[Path, typer.Argument(help="A released table, or its record TABLE.release.json beside it.")],
    entry: Annotated[Path | None, out_option("Write the registry entry here (.yaml), instead of printing it.")] = None,
    checklist: Annotated[Path | None, typer.Option(help="Write a checklist by NIST SP 800-226 here (.md).")] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Write a registry entry and a checklist for a reviewer, from a release record.

    The entry has the fields of the Differential Privacy Deployments Registry (arXiv 2509.13509). What only people know
    is marked TO COMPLETE.

    Example: [bold]inbounds describe released.csv --out entry.yaml --checklist checklist.md[/]
    """
    from inbounds.releases.describe import TO_COMPLETE, build_registry_entry, format_checklist, format_yaml
    from inbounds.releases.verify import load_record

    record = find_record(record)
    targets = ((entry, ENTRY, "--out"), (checklist, CHECKLIST, "--checklist"))
    for target, kind, option in targets:
        if target is not None:
            check_target(target, kind, overwrite=overwrite, reads=[record], option=option)
    content = load_record(LoadedFile.load(record))
    values = build_registry_entry(content)
    text = format_yaml(values)
    if as_json:
        typer.echo(json.dumps(values))
    elif entry is None and checklist is None:
        typer.echo(text, nl=False)  # texts that are not printable are escaped
    if entry is not None:
        write_text(entry, text)
    if checklist is not None:
        write_text(checklist, format_checklist(content))
    if entry is not None and not as_json:
        out.print(f"[bold]{entry}[/] written; {text.count(TO_COMPLETE)} fields are yours to complete.")
    if checklist is not None and not as_json:
        out.print(f"[bold]{checklist}[/] written.")
