"""Tables in CSV and Parquet files, read by Arrow (extra `local`) batch by batch, so files of any size work."""

import csv
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from inbounds.files import atomic_writer, refuse_database
from inbounds.files.open_files import refuse_open_database
from inbounds.local.client import Randomizer
from inbounds.optional import import_optional
from inbounds.trusted.inputs import as_array

T = TypeVar("T")

ROWS = 1 << 17
"""Rows of a Parquet file read at a time."""

BYTES = 1 << 22
"""Bytes of a CSV file read at a time; no row may be longer."""

Batch = dict[str, NDArray[Any]]


def read(path: Path, columns: Sequence[str]) -> Iterator[Batch]:
    """Read the named columns of a CSV or Parquet file, batch by batch."""
    refuse_open_database(path)
    return _read_parquet(path, columns) if _is_parquet(path) else _read_csv(path, columns)


def check_target(target: Path, *, overwrite: bool) -> None:
    """Refuse, before anything is read, to overwrite earlier reports: the same people would report twice."""
    refuse_database(target)
    if not overwrite and target.exists():
        raise ValueError(
            f"output must not exist yet, got {target}; a second release spends its epsilon on top of the first: "
            "choose another name, or overwrite on purpose"
        )


def randomize_file(source: Path, target: Path, column: str, client: Randomizer, keep: Sequence[str] = ()) -> int:
    """Write the reports for `column`, and the columns to keep as they are; the file appears whole or not at all.

    Returns the number of rows. Other columns of the source are not copied.
    """
    rows = 0
    with atomic_writer(target) as partial, _writer(partial, _is_parquet(target)) as write:
        for batch in read(source, [column, *keep]):
            values = batch.pop(column)
            write({column: client.array(values), **batch})
            rows += len(values)
        if rows == 0:
            raise ValueError(f"{source.name} must have at least one row")
    return rows


def numbers(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Convert texts to numbers: ints if all are whole."""
    try:
        floats = values.astype(np.float64)
    except (ValueError, TypeError):
        raise ValueError(f"{name} must be numbers; at least one is not") from None
    if not np.isfinite(floats).all():
        raise ValueError(f"{name} must be numbers; at least one is not")
    whole = floats.astype(np.int64)
    return whole if (whole == floats).all() else floats


def _is_parquet(path: Path) -> bool:
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise ValueError(f"file must end in .csv or .parquet, got {path.name!r}")
    return path.suffix.lower() == ".parquet"


# --- reading ----------------------------------------------------------------------------------------------


def _read_csv(path: Path, columns: Sequence[str]) -> Iterator[Batch]:
    """Read every field as text: no types are guessed, nothing counts as missing, and "NULL" is a text."""
    names, rows = _header(path)
    places = [f"f{place}" for place in _places(names, columns, path)]
    if not rows:
        return
    with _readable(path, lambda: _open_table(path, places)) as reader:
        header = 1  # columns are read by position, because two may have the same name; so the names are the first row
        while batch := _readable(path, lambda: next(reader, None)):
            yield {name: as_array("arrow", batch[place][header:]) for name, place in zip(columns, places, strict=True)}
            header = 0


def _header(path: Path) -> tuple[list[str], bool]:
    """Return the names in the first row, and whether anything follows."""

    def first() -> tuple[list[str], bool]:
        with path.open(newline="", encoding="utf-8-sig") as file:
            return next(csv.reader(file), []), bool(file.read(1))

    return _readable(path, first)


def _open_table(path: Path, places: Sequence[str]) -> Any:
    arrow, text = import_optional("pyarrow.csv", "local"), import_optional("pyarrow", "local").string()
    return arrow.open_csv(
        path,
        read_options=arrow.ReadOptions(autogenerate_column_names=True, block_size=BYTES),
        parse_options=arrow.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        convert_options=arrow.ConvertOptions(include_columns=places, column_types=dict.fromkeys(places, text)),
    )


def _readable(path: Path, read: Callable[[], T]) -> T:
    """Return what `read` returns. Messages of the reader quote the broken row, so they are replaced."""
    try:
        return read()
    except (csv.Error, ValueError) as reason:
        fault = str(reason)
    if "utf" in fault.lower():
        raise ValueError(f"{path.name} must be text in UTF-8")
    if "straddl" in fault or "field limit" in fault:
        raise ValueError(f"{path.name} must have rows shorter than {BYTES >> 20} MiB")
    raise ValueError(f"{path.name} must have a value for every column in every row, and no more")


def _read_parquet(path: Path, columns: Sequence[str]) -> Iterator[Batch]:
    with import_optional("pyarrow.parquet", "local").ParquetFile(path) as file:
        _places(file.schema_arrow.names, columns, path)
        for batch in file.iter_batches(batch_size=ROWS, columns=list(columns)):
            yield {name: as_array("arrow", batch.column(name)) for name in columns}


def _places(names: Sequence[str], columns: Sequence[str], path: Path) -> list[int]:
    """Return the positions of the columns. The first line of a CSV file may be a record, so its names are not
    listed.
    """
    for column in columns:
        if column not in names:
            known = _is_parquet(path)
            way = f"it has {', '.join(map(repr, names))}" if known else "does the file begin with a header line?"
            raise ValueError(f"column must be one that {path.name} has, got {column!r}; {way}")
    return [names.index(column) for column in columns]


# --- writing ----------------------------------------------------------------------------------------------


@contextmanager
def _writer(path: Path, parquet: bool) -> Iterator[Any]:
    if parquet:
        with _parquet_writer(path) as write:
            yield write
        return
    with path.open("w", newline="", encoding="utf-8") as file:
        lines, started = csv.writer(file), [False]

        def write(batch: Batch) -> None:
            if not started[0]:
                lines.writerow(batch)
                started[0] = True
            lines.writerows(zip(*(values.tolist() for values in batch.values()), strict=True))

        yield write


@contextmanager
def _parquet_writer(path: Path) -> Iterator[Any]:
    pyarrow, parquet = import_optional("pyarrow", "local"), import_optional("pyarrow.parquet", "local")
    opened: list[Any] = []

    def write(batch: Batch) -> None:
        table = pyarrow.table({name: pyarrow.array(values.tolist()) for name, values in batch.items()})
        if not opened:
            opened.append(parquet.ParquetWriter(path, table.schema))
        opened[0].write_table(table)

    yield write
    for file in opened:
        file.close()
