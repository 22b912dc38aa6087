"""Read a released table from its file (CSV, JSON or Parquet), to be compared cell by cell."""

import csv
import io
import json
import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from inbounds.checker.fields import insist, refuse
from inbounds.errors import PassportError
from inbounds.files.open_files import iter_chunks
from inbounds.optional import import_optional

MOST_BYTES = 1 << 29
"""Most bytes of a table that is read."""

Cell = str | int | float | None

_FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True)
class PublishedTable:
    """The columns of a table file, in order. written: whether cells are texts, as in a CSV file, instead of values."""

    file: str
    columns: dict[str, list[Any]]
    written: bool

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return len(next(iter(self.columns.values()), []))

    def has_cell(self, name: str, row: int, expected: Cell) -> bool:
        """Return whether a cell has the expected value and type."""
        published = self.columns[name][row]
        if self.written:
            return bool(published == format_cell(expected))
        return type(published) is type(expected) and bool(published == expected)


def format_cell(cell: Cell) -> str:
    """Write a cell as in a CSV file; a text that a spreadsheet would take for a formula gets an apostrophe."""
    if cell is None:
        return ""
    if not isinstance(cell, str):
        return repr(cell)
    formula = _FORMULA.match(cell) is not None and _NUMBER.fullmatch(cell) is None
    return f"'{cell}" if formula else cell


def read_table(path: Path, digest: str) -> PublishedTable:
    """Return the table in a file with this digest; raise `PassportError` if it is missing, changed or malformed."""
    content = bytearray()
    try:
        for part in iter_chunks(path):
            content += part
            insist(len(content) <= MOST_BYTES, f"the table {path.name} is too long to be read")
    except OSError:
        refuse(f"the table {path.name} is not beside its record")
    unchanged = sha256(content).hexdigest() == digest
    insist(unchanged, f"the table {path.name} is not the one that was released: its digest differs")
    try:
        return _parse_table(path, bytes(content))
    except PassportError:
        raise
    except Exception:  # PyArrow may raise anything for a hostile file
        refuse(f"the table {path.name} cannot be read as a table")


def _parse_table(path: Path, content: bytes) -> PublishedTable:
    kind = path.suffix.lower()
    if kind == ".parquet":
        table = import_optional("pyarrow.parquet", "tables").read_table(io.BytesIO(content))
        insist(len(set(table.column_names)) == table.num_columns, "no two columns of the table may have the same name")
        insist(not _has_notes(table.schema), "the table must not hold notes that tell a reader of other columns")
        return PublishedTable(path.name, table.to_pydict(), written=False)
    if kind == ".json":
        rows = json.loads(content.decode("utf-8"), object_pairs_hook=_unique_fields)
        insist(type(rows) is list and all(type(row) is dict for row in rows), "the table must have rows")
        insist(all(list(row) == list(rows[0]) for row in rows), "the rows of the table must have the same columns")
        head = rows[0] if rows else ()
        return PublishedTable(path.name, {name: [row[name] for row in rows] for name in head}, written=False)
    insist(kind == ".csv", "a released table must be a CSV, JSON or Parquet file")
    text = content.decode("utf-8")
    head, *lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    insist(len(set(head)) == len(head), "no two columns of the table may have the same name")
    insist(all(len(line) == len(head) for line in lines), "every row of the table must have all columns")
    columns = zip(*lines, strict=True) if lines else [()] * len(head)
    return PublishedTable(path.name, dict(zip(head, map(list, columns), strict=True)), written=True)


def _has_notes(schema: Any) -> bool:
    """Return whether a Parquet file has metadata beside its columns: pandas takes other column names from it."""
    fields = [set(field.metadata or {}) - {b"PARQUET:field_id"} for field in schema]
    return bool(schema.metadata) or any(fields)


def _unique_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    insist(len(dict(pairs)) == len(pairs), "no row of the table may have a column twice")
    return dict(pairs)
