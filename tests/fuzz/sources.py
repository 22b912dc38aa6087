"""Where tables are kept: each way takes columns of Python values and returns a plan's source, or a frame.

A table has the columns of all types of its source (`x0`, `x1`, …), and beside them the group `g`, a person `who`, a
label `c` and a number `n`, all ordinary. A group has two ordinary records; the extreme record `k` is the third of the
group `k`. So one table holds many pairs of neighbours: the group `none` and any other.
"""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from fuzz import values
from fuzz.values import Sql, Type

NONE = "none"
"""The group without an extreme record."""

BESIDE = {"g": "text", "who": "text", "c": "text", "n": "integer"}
"""The columns of every table, in SQL."""

Columns = dict[str, tuple[Any, list[Any]]]
"""How a column is declared, and its values."""


@dataclass(frozen=True)
class Place:
    """A table in a source: what a plan says of it, or the frame that is given beside the plan.

    attached: whether its records stay in memory, as those of a curator's files do.
    """

    source: dict[str, str]
    frame: Any = None
    attached: bool = False


def columns_of(types: Sequence[Type], rows: Sequence[int]) -> Columns:
    """Two ordinary records in every group, and in each but one of them an extreme one."""
    kinds = [*((NONE, kind) for kind in (0, 1)), *((str(row), kind) for row in rows for kind in (0, 1, row + 2))]
    beside: dict[str, list[Any]] = {
        "g": [group for group, _ in kinds],
        "who": [f"{group} {kind}" for group, kind in kinds],
        "c": ["pq"[kind % 2] for _, kind in kinds],
        "n": [kind % 3 for _, kind in kinds],
    }
    found: Columns = {name: (BESIDE[name], held) for name, held in beside.items()}
    for place, own in enumerate(types):
        held = [own.ordinary[kind] if kind < 2 else own.extreme(kind - 2) for _, kind in kinds]
        found[f"x{place}"] = own.declared, held
    return found


# --- Arrow ------------------------------------------------------------------------------------------------

PLAIN = {"text": pa.string(), "integer": pa.int64()}


def arrow(columns: Columns) -> pa.Table:
    return pa.table({name: arrow_array(PLAIN.get(kind, kind), held) for name, (kind, held) in columns.items()})


def arrow_array(kind: pa.DataType, held: list[Any]) -> pa.Array:
    """Values as they are: texts with any bytes, times beyond every calendar."""
    if pa.types.is_string(kind):
        return pa.array([value.encode() if isinstance(value, str) else value for value in held], pa.binary()).view(kind)
    if pa.types.is_temporal(kind):
        return pa.array(held, pa.int32() if kind.bit_width == 32 else pa.int64()).view(kind)
    if pa.types.is_dictionary(kind):
        return pa.array(held, kind.value_type).dictionary_encode()
    return pa.array(held, kind)


def as_arrow(folder: Path, columns: Columns) -> Place:
    return Place({}, arrow(columns))


def in_parquet(folder: Path, columns: Columns) -> Place:
    pyarrow.parquet.write_table(arrow(columns), folder / "t.parquet")
    return Place({"path": str(folder / "t.parquet")})


def attached_parquet(folder: Path, columns: Columns) -> Place:
    return Place(in_parquet(folder, columns).source, attached=True)


def in_csv(folder: Path, columns: Columns) -> Place:
    """Every field in quotation marks, those within doubled; a missing one is empty."""
    rows = [list(columns), *zip(*(held for _, held in columns.values()), strict=True)]

    def field(value: Any) -> bytes:
        held = value if isinstance(value, bytes) else ("" if value is None else str(value)).encode()
        return b'"' + held.replace(b'"', b'""') + b'"'

    (folder / "t.csv").write_bytes(b"".join(b",".join(map(field, row)) + b"\n" for row in rows))
    return Place({"path": str(folder / "t.csv")})


# --- frames -----------------------------------------------------------------------------------------------


def in_pandas(folder: Path, columns: Columns) -> Place:
    import pandas

    def series(kind: Any, held: list[Any]) -> Any:
        if isinstance(kind, pa.DataType):
            return pandas.Series(pandas.arrays.ArrowExtensionArray(pa.chunked_array([arrow_array(kind, held)])))
        if kind.startswith("datetime64"):
            unit, _, zone = kind.removeprefix("datetime64[").removesuffix("]").partition(", ")
            numbers = pandas.Series([-(2**63) if value is None else value for value in held], dtype="int64")
            found = numbers.astype(f"datetime64[{unit}]")
            return found.dt.tz_localize("UTC").dt.tz_convert(zone) if zone else found
        return pandas.Series(held, dtype=PANDAS.get(kind, kind))

    return Place({}, pandas.DataFrame({name: series(*column) for name, column in columns.items()}))


PANDAS = {"text": "object", "integer": "int64"}


def in_polars(folder: Path, columns: Columns) -> Place:
    import polars

    def series(kind: Any, held: list[Any]) -> Any:
        if isinstance(kind, pa.DataType):
            return polars.from_arrow(arrow_array(kind, held))
        return polars.Series(held, dtype=getattr(polars, POLARS.get(kind, kind)))

    return Place({}, polars.DataFrame({name: series(*column) for name, column in columns.items()}))


POLARS = {"text": "String", "integer": "Int64"}


# --- databases --------------------------------------------------------------------------------------------


def literal(value: Any) -> str:
    """A value in SQL."""
    if isinstance(value, Sql):
        return value
    text = f"{value:f}" if isinstance(value, Decimal) else str(value)
    return "null" if value is None else "'" + text.replace("'", "''") + "'"


def in_duckdb(folder: Path, columns: Columns) -> Place:
    """What Arrow has comes from there, value by value; all else from texts."""
    import duckdb

    spoken = {name: column for name, column in columns.items() if not isinstance(column[0], str) or name in BESIDE}
    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.register("spoken", arrow(spoken))
        parts = ["spoken"]
        for name, (kind, held) in columns.items():
            if name not in spoken:
                connection.execute(f"create temp table of_{name} ({name} {kind})")
                connection.execute(f"insert into of_{name} values {', '.join(f'({literal(value)})' for value in held)}")
                parts.append(f"of_{name}")
        connection.execute(f"create table t as select * from {' positional join '.join(parts)}")
    return Place({"path": str(folder / "t.duckdb"), "table": "t"})


def in_sqlite(folder: Path, columns: Columns) -> Place:
    with closing(sqlite3.connect(folder / "t.sqlite")) as connection:
        declared = ", ".join(f"{name} {kind}" for name, (kind, _) in columns.items())
        connection.execute(f"create table t ({declared})")
        for row in zip(*(held for _, held in columns.values()), strict=True):
            marks = ", ".join(value if isinstance(value, Sql) else "?" for value in row)
            connection.execute(f"insert into t values ({marks})", [v for v in row if not isinstance(v, Sql)])
        connection.commit()
    return Place({"path": str(folder / "t.sqlite"), "table": "t"})


def in_postgres(url: str, name: str, columns: Columns) -> Place:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"drop table if exists {name}")
        declared = ", ".join(f"{column} {kind}" for column, (kind, _) in columns.items())
        connection.execute(f"create table {name} ({declared})")
        rows = zip(*(held for _, held in columns.values()), strict=True)
        texts = ", ".join(f"({', '.join(map(literal, row))})" for row in rows)
        connection.execute(f"insert into {name} values {texts}".encode())
    return Place({"url": url, "table": name})


def as_spark_table(folder: Path, columns: Columns) -> Place:
    """A table of the running session, from the rows that Arrow has."""
    from pyspark.sql import SparkSession

    name = f"fuzzed_{folder.name}"
    SparkSession.active().createDataFrame(arrow(columns)).createOrReplaceTempView(name)
    return Place({"table": name, "engine": "spark"})


def parquet_by_spark(folder: Path, columns: Columns) -> Place:
    return Place({**in_parquet(folder, columns).source, "engine": "spark"})


def csv_by_spark(folder: Path, columns: Columns) -> Place:
    return Place({**in_csv(folder, columns).source, "engine": "spark"})


# --- all of them ------------------------------------------------------------------------------------------

FOLDERS = {
    "duckdb": (values.DUCKDB, in_duckdb),
    "sqlite": (values.SQLITE, in_sqlite),
    "parquet": (values.PARQUET, in_parquet),
    "attached": (values.PARQUET, attached_parquet),
    "csv": (values.CSV, in_csv),
    "arrow": (values.ARROW, as_arrow),
    "pandas": (values.PANDAS, in_pandas),
    "polars": (values.POLARS, in_polars),
}
"""Sources that need nothing but a folder: their types, and how a table is kept."""

SPARK = {
    "spark": (values.SPARK, as_spark_table),
    "spark parquet": (values.SPARK, parquet_by_spark),
    "spark csv": (values.CSV, csv_by_spark),
}
"""Those that need a running session as well."""
