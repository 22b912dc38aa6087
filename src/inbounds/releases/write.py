"""Writing a release: the table and its record appear whole, the record first, or not at all.

Order: (1) both are written to temporary files beside the target and flushed to the disk; (2) with `overwrite`,
the old table is removed; (3) the record takes its name; (4) the table takes its name. A process killed anywhere
leaves no table without its record and no part of a table under its name: at worst a record whose table is not
there, or a temporary file whose name begins with a dot.
"""

import io
import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from inbounds.errors import PassportError
from inbounds.files import (
    RELEASE,
    Document,
    LoadedFile,
    is_same_file,
    refuse_database,
    sha256_hex,
    sync_directory,
    synced_file,
)
from inbounds.files.open_files import hash_file
from inbounds.schema.record_types import ReleaseRecord

FORMATS = (".csv", ".parquet", ".json")

WAY_OUT = "give another name, or replace it with --overwrite (in Python, overwrite=True)"


def record_path(target: Path) -> Path:
    """The record's name: the table's, with .release.json after it."""
    return target.with_name(target.name + ".release.json")


def check_target(target: Path, *, overwrite: bool, inputs: Iterable[str] = (), again: bool = False) -> None:
    """Refuse before anything is read what could not be written afterwards, or would destroy what is read.

    inputs: files that are never replaced. again: the same release is written once more, which spends nothing.
    """
    if target.suffix.lower() not in FORMATS:
        raise ValueError(f"output must end in {', '.join(FORMATS)}, got {target.name!r}")
    check_not_input(target, "output", inputs)
    check_not_input(record_path(target), "output", inputs)
    if overwrite:
        return
    if record_path(target).exists() and not again:
        raise ValueError(
            f"output must not exist yet, got {target} of an earlier release; a second release spends its epsilon on "
            f"top of the first: {WAY_OUT}"
        )
    if target.exists() or record_path(target).exists():
        raise ValueError(f"output must not exist yet, got {target}; {WAY_OUT}")


def check_page_target(target: Path, *, overwrite: bool, inputs: Iterable[str] = ()) -> None:
    """Refuse before anything is read a page in the place of another file."""
    check_not_input(target, "report", inputs)
    if target.exists() and not overwrite:
        raise ValueError(f"report must not exist yet, got {target}; {WAY_OUT}")


def check_not_input(target: Path, what: str, inputs: Iterable[str]) -> None:
    """A folder that can be written to, a file that nobody reads from, and no ledger."""
    if not target.parent.is_dir() or not os.access(target.parent, os.W_OK):
        raise ValueError(f"{what} must be in a folder that can be written to, got {target.parent}")
    if any(is_same_file(target, path) for path in inputs):
        own = " or writes itself" if what == "report" else ""
        raise ValueError(f"{what} must not be a file that the release reads{own}, got {target}; give another name")
    refuse_database(target, what)


def is_same_release(record: ReleaseRecord, target: Path) -> bool:
    """Whether a table with this record is there already, whole and unchanged."""
    try:
        beside = dict(LoadedFile.load(record_path(target)).document.content)
        there = beside.pop("table"), hash_file(target)
        return bool(beside == json.loads(json.dumps(record)) and there[0]["sha256"] == there[1])
    except (OSError, PassportError, LookupError, TypeError):
        return False


def write_release(
    table: Any,
    record: ReleaseRecord,
    target: Path,
    *,
    overwrite: bool = False,
    inputs: Iterable[str] = (),
) -> ReleaseRecord:
    """Write an Arrow table and its record; returns the content of the record with the table's digest in it."""
    check_target(target, overwrite=overwrite, inputs=inputs, again=True)
    content = encode_table_file(table, target.suffix.lower())
    full: ReleaseRecord = {
        **record,
        "table": {"file": target.name, "rows": table.num_rows, "sha256": sha256_hex(content)},
    }
    text = json.dumps(Document.wrap(RELEASE, {**full}).to_json(), indent=1, ensure_ascii=False) + "\n"
    with (
        synced_file(target, content) as table_part,
        synced_file(record_path(target), text.encode("utf-8")) as record_part,
    ):
        if overwrite:
            target.unlink(missing_ok=True)
            sync_directory(target.parent)
        os.replace(record_part, record_path(target))
        sync_directory(target.parent)
        os.replace(table_part, target)
        sync_directory(target.parent)
    return full


def encode_table_file(table: Any, suffix: str) -> bytes:
    """The table as the bytes of a CSV, Parquet or JSON file."""
    buffer = io.BytesIO()
    if suffix == ".parquet":
        import pyarrow.parquet

        pyarrow.parquet.write_table(table, buffer)
    elif suffix == ".json":
        buffer.write(json.dumps(table.to_pylist(), ensure_ascii=False, indent=1).encode("utf-8") + b"\n")
    else:
        columns = zip(table.column_names, table.columns, strict=True)
        fields = [[_field(name), *_fields(column)] for name, column in columns]
        buffer.write("".join(f"{','.join(row)}\n" for row in zip(*fields, strict=True)).encode("utf-8"))
    return buffer.getvalue()


def _fields(column: Any) -> Iterator[str]:
    """A column's fields; whole numbers, of which a table has most, are not asked one by one what they are."""
    import pyarrow.types

    values = column.to_pylist()
    if column.null_count or not pyarrow.types.is_integer(column.type):
        return map(_field, values)
    return map(str, values)


def _field(value: Any) -> str:
    """One field of a CSV file (RFC 4180). Python's own writer with these line ends leaves a carriage return bare."""
    if not isinstance(value, str):
        return "" if value is None else str(value)
    text = f"'{value}" if _is_formula(value) else value
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text


_QUOTED = re.compile(r'[",\r\n]')


# --- texts that a spreadsheet would take for formulas, in the tables that are written for people ------------
#
# A key such as =1+1 would be calculated when the table is opened, and some formulas reach out to other places. An
# apostrophe before it makes it text again, for every spreadsheet.


_FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def escape_formula(value: Any) -> Any:
    """A text that begins like a formula, and is no number, behind an apostrophe; anything else as it is.

    >>> escape_formula("=1+1"), escape_formula("-3"), escape_formula(-3), escape_formula("North")
    ("'=1+1", '-3', -3, 'North')
    """
    return f"'{value}" if isinstance(value, str) and _is_formula(value) else value


def unescape_formula(text: str) -> str:
    """The text that `escape_formula` made this of.

    >>> unescape_formula(escape_formula("=1+1")), unescape_formula(escape_formula("'=1+1"))
    ('=1+1', "'=1+1")
    """
    return text[1:] if text.startswith("'") and _is_formula(text[1:]) else text


def _is_formula(text: str) -> bool:
    return _FORMULA.match(text) is not None and _NUMBER.fullmatch(text) is None
