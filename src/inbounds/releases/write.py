"""Write a release: the table and its record, each complete or not at all, the record first.

Order: (1) both are written to temporary files beside the target and flushed to the disk; (2) with `overwrite`,
the old table is removed; (3) the record gets its name; (4) the table gets its name. A process killed at any point
leaves no table without its record and no partial table under its name: at worst a record without its table, or a
temporary file whose name begins with a dot. The same release again finishes writing.
"""

import io
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import numpy as np

from inbounds.errors import PassportError
from inbounds.files import (
    RELEASE,
    Document,
    LoadedFile,
    format_json,
    is_same_file,
    refuse_database,
    sha256_hex,
    sync_directory,
    synced_file,
)
from inbounds.files.open_files import hash_file
from inbounds.schema.record_types import ReleaseRecord

SUFFIXES = (".csv", ".parquet", ".json")

OVERWRITE_HINT = "give another name, or replace it with --overwrite (in Python, overwrite=True)"


def record_path(target: Path) -> Path:
    """Return the path of the record: the table's, with .release.json after it."""
    return target.with_name(target.name + ".release.json")


def check_target(target: Path, *, overwrite: bool, inputs: Iterable[str] = (), again: bool = False) -> None:
    """Raise ValueError, before any data is read, if the output could not be written or would replace an input.

    inputs: files that are never replaced. again: whether the same release is written once more, which spends nothing.
    """
    if target.suffix.lower() not in SUFFIXES:
        hint = "; release it as .csv, and then: inbounds export" if target.suffix.lower() == ".xlsx" else ""
        raise ValueError(f"output must end in {', '.join(SUFFIXES)}, got {target.name!r}{hint}")
    check_not_input(target, "output", inputs)
    check_not_input(record_path(target), "output", inputs)
    if overwrite:
        return
    if record_path(target).exists() and not again:
        raise ValueError(
            f"output must not exist yet, got {target} of an earlier release; a second release spends its epsilon on "
            f"top of the first: {OVERWRITE_HINT}"
        )
    if target.exists() or record_path(target).exists():
        raise ValueError(f"output must not exist yet, got {target}; {OVERWRITE_HINT}")


def check_page_target(target: Path, *, overwrite: bool, inputs: Iterable[str] = ()) -> None:
    """Raise ValueError, before any data is read, if the report page would replace another file."""
    check_not_input(target, "report", inputs)
    if target.exists() and not overwrite:
        raise ValueError(f"report must not exist yet, got {target}; {OVERWRITE_HINT}")


def check_not_input(target: Path, what: str, inputs: Iterable[str]) -> None:
    """Raise ValueError unless the folder can be written to and the target is neither an input nor a ledger."""
    if not target.parent.is_dir() or not os.access(target.parent, os.W_OK):
        raise ValueError(f"{what} must be in a folder that can be written to, got {target.parent}")
    if any(is_same_file(target, path) for path in inputs):
        or_writes = " or writes itself" if what == "report" else ""
        raise ValueError(
            f"{what} must not be a file that the release reads{or_writes}, got {target}; give another name"
        )
    refuse_database(target, what)


def is_same_release(record: ReleaseRecord, target: Path) -> bool:
    """Return whether a table with this record exists already, complete and unchanged."""
    try:
        return _written_table(record, target) == hash_file(target)
    except OSError:
        return False


def is_half_written(record: ReleaseRecord, target: Path) -> bool:
    """Return whether writing this release was stopped between its two names: its record is there, and no table."""
    return not target.exists() and _written_table(record, target) is not None


def _written_table(record: ReleaseRecord, target: Path) -> str | None:
    """Return the digest of the table in the record at this place; None if it is not the record of this release."""
    try:
        loaded = LoadedFile.load(record_path(target))
        if record["id"].encode() not in loaded.data:  # another release, as a rule; its record may be long
            return None
        written = dict(loaded.document.content)
        table = written.pop("table")
        same = written.keys() == record.keys() and all(
            written[name] == json.loads(json.dumps(value)) for name, value in record.items()
        )  # one by one: another release differs in its first fields
        return str(table["sha256"]) if same else None
    except (OSError, PassportError, LookupError, TypeError):
        return None


def write_release(
    table: Any,
    record: ReleaseRecord,
    target: Path,
    *,
    overwrite: bool = False,
    inputs: Iterable[str] = (),
) -> ReleaseRecord:
    """Write an Arrow table and its record; return the content of the record with the table's digest."""
    if is_same_release(record, target):  # another process wrote it meanwhile
        return cast(ReleaseRecord, dict(LoadedFile.load(record_path(target)).document.content))
    check_target(target, overwrite=overwrite or is_half_written(record, target), inputs=inputs, again=True)
    content = encode_table_file(table, target.suffix.lower())
    full: ReleaseRecord = {
        **record,
        "table": {"file": target.name, "rows": table.num_rows, "sha256": sha256_hex(content)},
    }
    text = format_json(Document.wrap(RELEASE, {**full}).to_json()) + "\n"
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
    """Return the table as the bytes of a CSV, Parquet or JSON file."""
    buffer = io.BytesIO()
    if suffix == ".parquet":
        import pyarrow.parquet

        pyarrow.parquet.write_table(table, buffer)
    elif suffix == ".json":
        buffer.write(json.dumps(table.to_pylist(), ensure_ascii=False, indent=1).encode("utf-8") + b"\n")
    else:
        import pyarrow.compute

        comma = pyarrow.scalar(",", pyarrow.large_string())
        rows = pyarrow.compute.binary_join_element_wise(*map(_fields, table.columns), comma).to_pylist()
        buffer.write("".join(f"{row}\n" for row in (",".join(map(_field, table.column_names)), *rows)).encode("utf-8"))
    return buffer.getvalue()


def _fields(column: Any) -> Any:
    """Return the fields of a column as an Arrow array; a text or float that occurs often is written once."""
    import pyarrow
    import pyarrow.compute

    kind, texts = column.type, pyarrow.large_string()
    if pyarrow.types.is_integer(kind) and not column.null_count:
        return column.combine_chunks().cast(texts)
    if pyarrow.types.is_string(kind) and not column.null_count:
        if not pyarrow.compute.any(pyarrow.compute.match_substring_regex(column, _NOT_PLAIN)).as_py():
            return column.combine_chunks().cast(texts)
        coded = column.combine_chunks().dictionary_encode()
        return pyarrow.array(map(_field, coded.dictionary.to_pylist()), texts).take(coded.indices)
    if pyarrow.types.is_float64(kind) and not column.null_count:
        bits, places = np.unique(column.to_numpy().view(np.int64), return_inverse=True)
        return pyarrow.array(map(str, bits.view(np.float64).tolist()), texts).take(pyarrow.array(places))
    return pyarrow.array(map(_field, column.to_pylist()), texts)


def _field(value: Any) -> str:
    """Write one field of a CSV file (RFC 4180). Python's csv module would not quote a single carriage return."""
    if not isinstance(value, str):
        return "" if value is None else str(value)
    text = f"'{value}" if _is_formula(value) else value
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text


_QUOTED = re.compile(r'[",\r\n]')


# --- texts that a spreadsheet would take for formulas, in the tables that are written for people ------------
#
# A key such as =1+1 would be calculated when the table is opened, and some formulas open network connections. An
# apostrophe before it makes it text in every spreadsheet.


_FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
_NOT_PLAIN = rf"{_QUOTED.pattern}|^(?:{_FORMULA.pattern})"
"""Texts that are not written as they are; the dialect of Arrow reads it alike."""

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def escape_formula(value: Any) -> Any:
    """Put an apostrophe before a text that begins like a formula and is not a number; return anything else unchanged.

    >>> escape_formula("=1+1"), escape_formula("-3"), escape_formula(-3), escape_formula("North")
    ("'=1+1", '-3', -3, 'North')
    """
    return f"'{value}" if isinstance(value, str) and _is_formula(value) else value


def unescape_formula(text: str) -> str:
    """Return the text that `escape_formula` was given.

    >>> unescape_formula(escape_formula("=1+1")), unescape_formula(escape_formula("'=1+1"))
    ('=1+1', "'=1+1")
    """
    return text[1:] if text.startswith("'") and _is_formula(text[1:]) else text


def _is_formula(text: str) -> bool:
    return _FORMULA.match(text) is not None and _NUMBER.fullmatch(text) is None
