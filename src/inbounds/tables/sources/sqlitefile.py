"""Tables of SQLite: the columns whose type is declared.

A column without one holds whatever each record brings, and Ibis would take the type of the first record for that of
all. So such columns are not even shown to it, and a plan that needs one is refused, whatever the table holds.
"""

from collections.abc import Sequence
from typing import Any

from inbounds.tables.errors import SourceError

WHERE = ("source", "table")
SHOWN = "inbounds_declared"
"""A view that only this connection sees; the file stays as it is."""

WAY_OUT = "copy the records into a table that declares its type (CREATE TABLE); a view declares none"


def declared(engine: Any, table: str, wanted: Sequence[str]) -> Any:
    """The table with its declared columns alone, as an Ibis table."""
    try:
        return _shown(engine, table, wanted)
    except Exception:
        engine.disconnect()
        raise


def _shown(engine: Any, table: str, wanted: Sequence[str]) -> Any:
    from ibis.common.exceptions import TableNotFound

    types = dict(engine.con.execute("select name, type from pragma_table_info(?, 'main')", (table,)).fetchall())
    if not types:
        raise TableNotFound(table)
    for name in wanted:
        if types.get(name) == "":
            raise SourceError(f"holds the column {name!r} without a declared type; {WAY_OUT}", WHERE)
    names = [_quoted(name) for name, kind in types.items() if kind]
    if not names:
        raise SourceError(f"holds no column of a declared type; {WAY_OUT}", WHERE)
    engine.con.execute(f"create temp view {SHOWN} as select {', '.join(names)} from main.{_quoted(table)}")  # noqa: S608
    return engine.table(SHOWN, database="temp")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
