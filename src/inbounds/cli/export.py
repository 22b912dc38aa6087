"""`export`: a released table as an Excel workbook, CSV for spreadsheets, SDMX-CSV, or a page for the public."""

import json
from pathlib import Path
from typing import Annotated

import typer

from inbounds.cli.app import TABLES, AsJson, app, out
from inbounds.cli.inputs import find_record
from inbounds.cli.outputs import OutputKind, Overwrite, check_target, out_option
from inbounds.files import LoadedFile, with_file_name
from inbounds.files.open_files import read_start


@app.command(rich_help_panel=TABLES)
def export(
    record: Annotated[Path, typer.Argument(help="A released table, or its record TABLE.release.json beside it.")],
    target: Annotated[Path, out_option("Where to write: .xlsx, .sdmx.csv, .csv, or .html for a page for the public.")],
    bom: Annotated[
        bool, typer.Option("--bom", help="Begin a .csv file with a byte order mark, as some spreadsheets need it.")
    ] = False,
    structure: Annotated[
        str | None,
        typer.Option(help="The dataflow of SDMX-CSV, such as 'ESTAT:NA_MAIN(1.6.0)'.", metavar="AGENCY:ID(VERSION)"),
    ] = None,
    about: Annotated[
        Path | None,
        typer.Option(
            help="A plan whose \\[about] replaces that of the record on the page for the public.",
            metavar="PLAN",
        ),
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Write a released table in another form, or as a page for the public; it costs nothing.

    The table is checked first, and stays as it is. Rows of a hierarchy are sorted, each part after its whole.

    Example: [bold]inbounds export released.csv --out released.xlsx[/]

    Example: [bold]inbounds export released.csv --out released.html[/]
    """
    from inbounds.plan.load import load_plan
    from inbounds.releases.export import encode_export
    from inbounds.releases.verify import load_release

    record = find_record(record)
    loaded = LoadedFile.load(record)
    content, table = load_release(loaded)
    words = None if about is None else load_plan(about).about
    written = encode_export(content, table, target, bom=bom, structure=structure or "", about=words)
    start = written.partition(b"\n")[0] if target.suffix.lower() == ".csv" else written[:4]
    kind = OutputKind("export of this table", lambda path: read_start(path, len(start)) == start)
    released = record.parent / content["table"]["file"]
    check_target(target, kind, overwrite=overwrite, reads=(record, released, about))
    with with_file_name(target):
        target.write_bytes(written)
    if as_json:
        typer.echo(json.dumps({"output": str(target)}))
        return
    out.print(f"[bold]{target}[/] written. The table that can be verified is {released}.")
