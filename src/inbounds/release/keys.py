"""Public keys: which groups are answered, from a list, a product of lists, or a public file."""

import csv
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inbounds.release.errors import PlanError, at
from inbounds.release.facts import Groups, sizes_of

Keys = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class KeyTable:
    """Keys in declared order, and the other columns of the public file they came from."""

    keys: Keys
    columns: Mapping[str, Sequence[str]]


def groups(
    by: Sequence[str] | str = (),
    keys: Any = None,
    size: Any = None,
    maximum: Any = None,
    *,
    folder: Path | None = None,
) -> Groups:
    """The declared groups.

    by: column names. keys: a list of keys (of lists, for several columns), a mapping from every column to a list
    of its values (all combinations, the last column fastest), a frame, or the path of a public file: .csv or
    .parquet with the columns `by`, or .txt with one key per line. size or maximum: a number, a list, or a
    column of the file.
    """
    names = (by,) if isinstance(by, str) else tuple(by)
    if not all(isinstance(name, str) for name in names):
        raise PlanError("must be names of columns", ("by",))
    if (size is None) == (maximum is None):
        raise PlanError("must give either size (public group sizes) or maximum, and not both")
    with at("keys"):
        table = _table(names, keys, folder or Path())
    if not table.keys:
        raise PlanError("must hold at least one group", ("keys",))
    name, given = ("size", size) if size is not None else ("maximum", maximum)
    if isinstance(given, str) and given not in table.columns:
        raise PlanError(f"must be a number, a list, or a column of the keys' file, got {given!r}", (name,))
    if isinstance(given, str):
        given = list(table.columns[given])
    return Groups(names, table.keys, sizes_of(given, len(table.keys), name), public=size is not None)


def _table(by: tuple[str, ...], keys: Any, folder: Path) -> KeyTable:
    if not by:
        if keys is not None:
            raise ValueError("must not be given without by")
        return KeyTable(((),), {})
    if isinstance(keys, str | Path):
        return _from_file(by, folder / keys)
    if isinstance(keys, Mapping):
        if set(keys) != set(by):
            raise ValueError(f"must list the values of each of: {', '.join(by)}")
        values = [[_key(value) for value in keys[name]] for name in by]
        return KeyTable(tuple(itertools.product(*values)), {})
    if hasattr(keys, "__arrow_c_stream__"):
        return _from_arrow(by, keys)
    if not isinstance(keys, Sequence):
        raise ValueError("must be a list of group keys, or the path of a public file that holds them")
    return KeyTable(tuple(_row(key, len(by)) for key in keys), {})


def _row(key: Any, width: int) -> tuple[str, ...]:
    parts = key if isinstance(key, Sequence) and not isinstance(key, str) else [key]
    if len(parts) != width:
        raise ValueError(f"must give {width} values for each group, got {len(parts)}")
    return tuple(_key(part) for part in parts)


def _key(value: Any) -> str:
    """A key as text: booleans and dates in the form in which engines write them."""
    if isinstance(value, bool):
        return str(value).lower()
    if value is None or isinstance(value, float):
        raise ValueError("must be texts, whole numbers, booleans or dates")
    return str(value)


def _from_file(by: tuple[str, ...], path: Path) -> KeyTable:
    kind = path.suffix.lower()
    try:
        if kind == ".parquet":
            import pyarrow.parquet

            return _from_arrow(by, pyarrow.parquet.read_table(path))
        with open(path, newline="", encoding="utf-8-sig") as file:
            if kind in (".csv", ".tsv"):
                return _from_rows(by, list(csv.DictReader(file, delimiter="\t" if kind == ".tsv" else ",")))
            if kind != ".txt" or len(by) != 1:
                raise ValueError(
                    "must be a .csv or .parquet file with the columns of by, or .txt with one key per line"
                )
            lines = [line.strip() for line in file if line.strip()]
            if lines and lines[0].casefold() == by[0].casefold():
                raise ValueError(
                    f"must hold keys only, but the first, {lines[0]!r}, looks like a header line; remove it"
                )
            return KeyTable(tuple((line,) for line in lines), {})
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"must be a readable file of text, got {path}") from error


def _from_rows(by: tuple[str, ...], rows: list[dict[str, str]]) -> KeyTable:
    if not rows or any(name not in rows[0] for name in by):
        raise ValueError(f"must be a file with rows and the columns: {', '.join(by)}")
    if any(None in row or None in row.values() for row in rows):
        raise ValueError("must be a file with equally many fields in every row")
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return KeyTable(tuple(tuple(row[name] for name in by) for row in rows), columns)


def _from_arrow(by: tuple[str, ...], frame: Any) -> KeyTable:
    import pyarrow

    table = pyarrow.table(frame)
    if any(name not in table.column_names for name in by):
        raise ValueError(f"must hold the columns: {', '.join(by)}")
    columns = {name: table[name].to_pylist() for name in table.column_names}
    return KeyTable(
        tuple(tuple(_key(part) for part in row) for row in zip(*(columns[n] for n in by), strict=True)), columns
    )
