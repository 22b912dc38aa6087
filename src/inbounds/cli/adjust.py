"""`interpret --adjust`: recompute a table that adds up from its record."""

import json
from pathlib import Path

import typer

from inbounds.cli.app import out
from inbounds.errors import PassportError
from inbounds.files import RELEASE, LoadedFile


def print_adjusted(file: Path, as_json: bool) -> None:
    """Print whether the table follows from its draws, and the totals; exit code 1 if it does not."""
    from inbounds.releases.recompute import recompute_table
    from inbounds.schema.report_types import ADJUSTMENT_TEXTS

    loaded = LoadedFile.load(file)
    if loaded.format != RELEASE:
        raise ValueError("--adjust is for release records; this is no release record")
    recomputed = recompute_table(loaded)
    if as_json:
        typer.echo(json.dumps(recomputed.to_json()))
    if recomputed.different:
        raise PassportError(
            f"the table does not follow from the draws in its record: {', '.join(recomputed.different)}"
        )
    if as_json:
        return
    out.print(f"{len(recomputed.columns)} columns follow from the draws in the record, digit by digit", markup=False)
    for name, method in recomputed.by.items():
        out.print(f"  • {name}: {ADJUSTMENT_TEXTS[method]}", markup=False)
    out.print("\n[bold]Totals over all groups[/], estimated from the draws without bias")
    for total in recomputed.totals:
        out.print(f"  • {total}", markup=False)
