"""All cells of a source, as its engine hands them over."""

from typing import Any

from inbounds.sources.open import Source, open_table, read_table, silence_engine


def read_cells(source: Source, person: str = "") -> dict[str, list[Any]]:
    with silence_engine():
        table = open_table(source)
        records = read_table(source, table, list(table.columns), person)
        backend = records.get_backend()
        result = backend.con.execute(backend.compile(records))
        names, rows = [column[0] for column in result.description], result.fetchall()
        backend.disconnect()
    return {name: [row[k] for row in rows] for k, name in enumerate(names)}
