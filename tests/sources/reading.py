"""All cells of a source, as its engine hands them over."""

from collections.abc import Sequence
from typing import Any

from inbounds.sources.open import Source, open_table, read_table, silence_engine


def read_cells(source: Source, person: str = "", wanted: Sequence[str] = ()) -> dict[str, list[Any]]:
    """Read the wanted columns, in whatever order they are asked for; all of them if none are named."""
    with silence_engine():
        table = open_table(source, wanted)
        records = read_table(source, table, wanted or list(table.columns), person)
        backend = records.get_backend()
        result = backend.con.execute(backend.compile(records))
        names, rows = [column[0] for column in result.description], result.fetchall()
        backend.disconnect()
    return {name: [row[k] for row in rows] for k, name in enumerate(names)}
