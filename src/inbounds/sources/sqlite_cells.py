"""Tables of SQLite, read cell by cell into Arrow.

A cell of SQLite has its own type, whatever its column declares, and a text may hold any bytes. Cells are converted here
one by one to the declared type; a cell of another type becomes missing. No conversion can fail, and the type of a
column is known before any cell is read. A column without a declared type is refused if a plan needs it, whatever the
table holds.
"""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import date, datetime
from pathlib import Path
from typing import Any

from inbounds.schema.errors import SourceError
from inbounds.schema.text import LONGEST_TEXT

WHERE = ("source", "table")

WAY_OUT = "copy the records into a table that declares its type (CREATE TABLE); a view declares none"

BATCH = 1 << 16
"""Number of records that are read at once."""

LONGEST_CELL = 4 * (LONGEST_TEXT + 1)
"""Number of bytes of a text that are read: more than the longest public text has."""


def declared_types(path: str, table: str, wanted: Sequence[str]) -> dict[str, Any]:
    """Return the columns with a declared type, each with its Ibis type.

    Raises TableNotFound if there is no such table, SourceError if a wanted column declares no type.
    """
    from ibis.backends.sql.datatypes import SQLiteType
    from ibis.common.exceptions import TableNotFound

    with closing(connect(path)) as connection:
        _check_encoding(connection)
        columns = connection.execute("select name, type from pragma_table_info(?, 'main')", (table,)).fetchall()
    if not columns:
        raise TableNotFound(table)
    types = {name.decode(): kind.decode() for name, kind in columns}
    for name in wanted:
        if types.get(name) == "":
            raise SourceError(f"holds the column {name!r} without a declared type; {WAY_OUT}", WHERE)
    kinds = {name: SQLiteType.from_string(kind) for name, kind in types.items() if kind}
    if not kinds:
        raise SourceError(f"holds no column of a declared type; {WAY_OUT}", WHERE)
    return kinds


def _check_encoding(connection: sqlite3.Connection) -> None:
    """Raise SourceError unless texts are stored in UTF-8: cells are read as their bytes."""
    encoding = connection.execute("pragma encoding").fetchone()[0].decode()
    if encoding != "UTF-8":
        said = f"must be a database in UTF-8, got {encoding}; copy it: sqlite3 old.db .dump | sqlite3 new.db"
        raise SourceError(said, ("source", "path"))


def connect(path: str) -> sqlite3.Connection:
    """Open a read-only connection that returns texts as bytes."""
    connection = sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)
    connection.text_factory = bytes
    return connection


def arrow_schema(kinds: Mapping[str, Any]) -> Any:
    """Return the Arrow types that cells of these Ibis types are read as."""
    import pyarrow

    return pyarrow.schema([(name, _rule(kind)[0]) for name, kind in kinds.items()])


def arrow_table(path: str, table: str, kinds: Mapping[str, Any], person: str = "") -> Any:
    """Read all records of these columns. person: the column of ids, where invalid UTF-8 makes the id missing."""
    import pyarrow

    rules = [_person if name == person and kind.is_string() else _rule(kind)[1] for name, kind in kinds.items()]
    schema = arrow_schema(kinds)
    with closing(connect(path)) as connection:
        batches = [
            pyarrow.record_batch(
                [
                    pyarrow.array([rule(cell) for cell in cells], field.type)
                    for rule, cells, field in zip(rules, zip(*rows, strict=True), schema, strict=True)
                ],
                schema=schema,
            )
            for rows in _rows(connection, table, list(kinds))
        ]
    return pyarrow.Table.from_batches(batches, schema)


def _rows(connection: sqlite3.Connection, table: str, names: Sequence[str]) -> Iterator[list[Any]]:
    """Read records in batches, texts as their first bytes; a blob is of no declared type and becomes missing."""
    text = "coalesce(substr(cast({0} as blob), 1, {1}), x'')"
    cell = f"case typeof({{0}}) when 'text' then {text} when 'blob' then null else {{0}} end"
    cells = ", ".join(cell.format(_quote(name), LONGEST_CELL) for name in names)
    cursor = connection.execute(f"select {cells} from main.{_quote(table)}")  # noqa: S608
    while rows := cursor.fetchmany(BATCH):
        yield rows


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


# --- cells by the declared type of their column -------------------------------------------------------------


def _rule(kind: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return the Arrow type of a column, and the function that converts a cell to a value of it or None."""
    import pyarrow

    if kind.is_boolean():
        return pyarrow.bool_(), _truth
    if kind.is_integer():
        return pyarrow.int64(), _whole
    if kind.is_numeric():
        return pyarrow.float64(), _real
    if kind.is_date():
        return pyarrow.date32(), _date
    if kind.is_timestamp():
        return pyarrow.timestamp("us"), _time
    return pyarrow.large_string(), _text


def _truth(cell: Any) -> bool | None:
    return bool(cell) if isinstance(cell, int) else None


def _whole(cell: Any) -> int | None:
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1 << 63:
        return int(cell)
    return cell if isinstance(cell, int) else None


def _real(cell: Any) -> float | None:
    return float(cell) if isinstance(cell, int | float) else None


def _date(cell: Any) -> date | None:
    """Convert 2024-01-31, or a midnight of that day, to a date."""
    time = _time(cell)
    return time.date() if time is not None and time == datetime(time.year, time.month, time.day) else None


def _time(cell: Any) -> datetime | None:
    try:
        time = datetime.fromisoformat(cell.decode("ascii"))
    except (AttributeError, ValueError):
        return None
    return time if time.tzinfo is None else None


def _text(cell: Any) -> str | None:
    """Convert a text, with question marks for invalid UTF-8, or a number to its digits."""
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "replace")
    return None if cell is None else str(cell)


def _person(cell: Any) -> str | None:
    """Convert a text in valid UTF-8 or a whole number to an id; with question marks two persons could become one."""
    if isinstance(cell, int):
        return str(cell)
    try:
        return cell.decode("utf-8") if isinstance(cell, bytes) else None
    except UnicodeDecodeError:
        return None
