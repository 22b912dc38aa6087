"""Public key files: a file or frame that lists every group, possibly with its size. All of it may be quoted."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inbounds.files.bounded import read_text
from inbounds.schema.text import FLOATS, fold_text, looks_like_float, to_text
from inbounds.sources.csv_files import DELIMITERS
from inbounds.sources.open import is_ibis_table, silence_engine
from inbounds.trusted.limits import MOST_ROWS_PER_BYTE, MOST_UNFOLDED

Keys = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class KeyFile:
    """Keys in declared order, and the columns of the file they came from."""

    keys: Keys
    columns: Mapping[str, Sequence[Any]]


def from_file(by: tuple[str, ...], path: Path) -> KeyFile:
    """Read the keys in a .txt, .csv, .tsv or .parquet file; raise ValueError for any other file."""
    kind = path.suffix.lower()
    with _readable(path):
        if kind == ".parquet":
            return _from_parquet(by, path)
        if kind in (".csv", ".tsv"):
            return _from_csv(by, read_text(path, "utf-8-sig"), "\t" if kind == ".tsv" else ",")
        if kind == ".txt" and len(by) == 1:
            return _from_lines(by[0], read_text(path, "utf-8-sig"))
    hint = "; save it as CSV UTF-8, or give pandas.read_excel(…) as keys in Python" if kind.startswith(".xls") else ""
    raise ValueError(f"must be a .csv or .parquet file with the columns of by, or .txt with one key per line{hint}")


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn errors of reading a file into ValueError with its path."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise ValueError(f"must be a file in UTF-8, and {path} is not; save it as CSV UTF-8") from error
    except FileNotFoundError as error:
        raise ValueError(f"must be a readable file, and {path} does not exist") from error
    except OSError as error:
        raise ValueError(f"must be a readable file, got {path}") from error
    except csv.Error as error:
        raise ValueError(f"must be a CSV file, and {path} is not: {error}") from error


# --- text files -------------------------------------------------------------------------------------------


def _from_lines(name: str, text: str) -> KeyFile:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if lines and lines[0].casefold() == name.casefold():
        raise ValueError(f"must hold keys only, but the first, {lines[0]!r}, looks like a header line; remove it")
    for what, matches in (("stands in quotes", _is_quoted), ("holds a comma", lambda line: "," in line)):
        if lines and all(map(matches, lines)):
            raise ValueError(
                f"must hold one key per line, as it is, but every line {what}; name the file .csv, with a first line "
                f"of column names, {name} among them"
            )
    return KeyFile(_whole([lines]), {})


def _is_quoted(line: str) -> bool:
    return len(line) > 1 and line[0] == line[-1] == '"'


def _from_csv(by: tuple[str, ...], text: str, delimiter: str) -> KeyFile:
    """Read a CSV file; fields are stripped, and a column without a name, such as a pandas index, is ignored."""
    names, *rows = _fields(by, text, delimiter) or [[]]
    missing = [name for name in by if name not in names]
    if missing or not rows:
        had = f"; it has: {', '.join(filter(None, names))}" if missing else ""
        raise ValueError(f"must be a file with rows and the columns: {', '.join(by)}{had}")
    for k, row in enumerate(rows, start=2):
        if len(row) != len(names):
            raise ValueError(f"must have {len(names)} fields in every row, as in the first, got {len(row)} in row {k}")
    columns = {name: [row[k] for row in rows] for k, name in enumerate(names) if name}
    return KeyFile(_whole([columns[name] for name in by]), columns)


def _fields(by: tuple[str, ...], text: str, delimiter: str) -> list[list[str]]:
    """Split a file into rows at the delimiter that gives its first line the wanted columns, else the most columns."""

    def split(mark: str) -> Iterator[list[str]]:
        rows = csv.reader(io.StringIO(text), delimiter=mark, skipinitialspace=True)
        return ([field.strip() for field in row] for row in rows if row)

    first = {mark: next(split(mark), []) for mark in (delimiter, *DELIMITERS)}
    best = max(first, key=lambda mark: (set(by) <= set(first[mark]), len(first[mark])))
    return list(split(best))


def _whole(columns: list[list[str]]) -> Keys:
    """Return the keys as rows; a column of whole numbers that are all written as 1.0, 2.0 becomes 1, 2."""
    plain = [[*map(fold_text, column)] if all(map(looks_like_float, column)) else column for column in columns]
    return tuple(zip(*plain, strict=True))


def _from_parquet(by: tuple[str, ...], path: Path) -> KeyFile:
    """Read a Parquet file; its unpacked size, as the file states it, must be bounded by its length."""
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(path) as file:
        metadata, most = file.metadata, MOST_ROWS_PER_BYTE * path.stat().st_size
        groups = [metadata.row_group(k) for k in range(metadata.num_row_groups)]
        if max(metadata.num_rows, *(group.num_rows for group in groups), 0) > most:
            raise ValueError(f"must be a file with at most {MOST_ROWS_PER_BYTE} rows for each of its bytes")
        if sum(group.total_byte_size for group in groups) > MOST_UNFOLDED * path.stat().st_size:
            raise ValueError(f"must be a file that unfolds to at most {MOST_UNFOLDED} times its length")
        return from_arrow(by, file.read())


# --- frames -----------------------------------------------------------------------------------------------


def from_arrow(by: tuple[str, ...], frame: Any) -> KeyFile:
    """Read the keys in a frame, or in a table of a Parquet file, with the columns `by`."""
    import pyarrow

    try:
        with silence_engine():
            table = frame.to_pyarrow() if is_ibis_table(frame) else pyarrow.table(frame)
    except (pyarrow.ArrowException, TypeError) as error:
        raise ValueError("must be a frame in which every column holds values of one type") from error
    if any(name not in table.column_names for name in by):
        raise ValueError(f"must hold the columns: {', '.join(by)}; it has: {', '.join(table.column_names)}")
    columns = {name: table[name].to_pylist() for name in table.column_names}
    try:
        return KeyFile(tuple(zip(*(_texts(columns[name]) for name in by), strict=True)), columns)
    except ValueError:  # its words quote a value
        raise ValueError(f"must hold texts, whole numbers, booleans or dates in the columns of by; {FLOATS}") from None


def _texts(values: Sequence[Any]) -> Sequence[str]:
    return values if {*map(type, values)} == {str} else [to_text(value) for value in values]
