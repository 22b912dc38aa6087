"""Tables in files: CSV by the standard library, Parquet by Arrow, batch by batch so that size does not matter."""

import csv
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inbounds.extras import library
from inbounds.local.client import Randomizer
from inbounds.trusted.incoming import as_array

ROWS = 1 << 17
"""Rows read at a time."""

Batch = dict[str, NDArray[Any]]


def read(path: Path, columns: Sequence[str]) -> Iterator[Batch]:
    """The named columns of a CSV or Parquet file, batch by batch."""
    return _read_parquet(path, columns) if _is_parquet(path) else _read_csv(path, columns)


def check_target(target: Path, *, overwrite: bool) -> None:
    """Refuse, before anything is read, to write reports over others: the same people would be asked twice."""
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
    with _appearing(target) as partial, _writer(partial, _is_parquet(target)) as write:
        for batch in read(source, [column, *keep]):
            values = batch.pop(column)
            write({column: client.array(values), **batch})
            rows += len(values)
        if rows == 0:
            raise ValueError(f"{source.name} must have at least one row")
    return rows


def numbers(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Text as numbers: ints where all are whole."""
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
    with path.open(newline="", encoding="utf-8-sig") as file:
        lines = csv.reader(file)
        places = _places(next(lines, []), columns, path)
        while rows := list(islice(lines, ROWS)):
            if any(len(row) <= max(places) for row in rows):
                raise ValueError(f"{path.name} must have a value for every column in every row")
            yield {name: np.array([row[k] for row in rows]) for name, k in zip(columns, places, strict=True)}


def _read_parquet(path: Path, columns: Sequence[str]) -> Iterator[Batch]:
    with library("pyarrow.parquet", "local").ParquetFile(path) as file:
        _places(file.schema_arrow.names, columns, path)
        for batch in file.iter_batches(batch_size=ROWS, columns=list(columns)):
            yield {name: as_array("arrow", batch.column(name)) for name in columns}


def _places(names: Sequence[str], columns: Sequence[str], path: Path) -> list[int]:
    for column in columns:
        if column not in names:
            raise ValueError(f"column must be one of {', '.join(map(repr, names))} in {path.name}, got {column!r}")
    return [names.index(column) for column in columns]


# --- writing ----------------------------------------------------------------------------------------------


@contextmanager
def _appearing(target: Path) -> Iterator[Path]:
    """A file beside the target that takes its name when all is written, and vanishes when something fails."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    os.close(handle)
    try:
        yield Path(name)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


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
    pyarrow, parquet = library("pyarrow", "local"), library("pyarrow.parquet", "local")
    opened: list[Any] = []

    def write(batch: Batch) -> None:
        table = pyarrow.table({name: pyarrow.array(values.tolist()) for name, values in batch.items()})
        if not opened:
            opened.append(parquet.ParquetWriter(path, table.schema))
        opened[0].write_table(table)

    yield write
    for file in opened:
        file.close()
