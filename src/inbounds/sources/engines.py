"""The three engines that evaluate records, DuckDB, PostgreSQL and Spark, with the SQL in which they differ.

Other data (frames, Parquet files, SQLite tables) is read into Arrow and evaluated in DuckDB. An engine materialises a
query before anything is computed from it, so that the work does not depend on what a condition selects.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import numpy as np

from inbounds.exact import Ints

MOST = 1 << 62
"""Sums are cut off here: above any declared answer, and within 64 bits."""


LoadedColumn = Sequence[int] | Sequence[str] | Ints
"""A column that an engine loads."""


class Engine(ABC):
    """One connection to an engine. All names in its SQL are generated here; no text of a user becomes SQL."""

    real: str
    text: str

    @abstractmethod
    def keep(self, name: str, sql: str) -> None:
        """Materialise a query as a temporary table of this connection."""

    @abstractmethod
    def load(self, name: str, columns: Mapping[str, LoadedColumn]) -> None:
        """Create a temporary table of whole numbers and texts of digits."""

    @abstractmethod
    def fetch(self, sql: str) -> list[Ints]:
        """Run a query whose columns are BIGINT and never missing; return one array for each."""

    @abstractmethod
    def drop(self, name: str) -> None:
        """Remove a temporary table."""

    def stay_in_memory(self) -> None:
        """Write no temporary file from now on. Raises ValueError if the engine cannot promise it."""
        raise ValueError("the engine keeps temporary tables in files")

    def fetch_texts(self, sql: str) -> list[str]:
        """Run a query of one column of texts, never missing."""
        raise ValueError("the engine does not return texts")

    @abstractmethod
    def sha256(self, text: str) -> str:
        """Write SQL for the SHA-256 of a text, in lower-case hexadecimal digits."""

    def sum(self, number: str) -> str:
        """Write SQL for the sum of a BIGINT, cut off at `MOST`; sums are wider than 64 bits in every engine."""
        return f"CAST(LEAST(SUM({number}), {MOST}) AS BIGINT)"


class DuckDB(Engine):
    """A DuckDB connection, `duckdb.DuckDBPyConnection`."""

    real, text = "DOUBLE", "VARCHAR"

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def keep(self, name: str, sql: str) -> None:
        self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {sql}")

    def load(self, name: str, columns: Mapping[str, LoadedColumn]) -> None:
        import pyarrow

        self.connection.register(f"{name}_loaded", pyarrow.table(dict(columns)))
        self.keep(name, f"SELECT * FROM {name}_loaded")
        self.connection.unregister(f"{name}_loaded")

    def fetch(self, sql: str) -> list[Ints]:
        arrays = self.connection.execute(sql).fetchnumpy()
        return [np.asarray(column, dtype=np.int64) for column in arrays.values()]

    def drop(self, name: str) -> None:
        self.connection.execute(f"DROP TABLE IF EXISTS temp.{name}")

    def stay_in_memory(self) -> None:
        self.connection.execute("SET temp_directory = ''")

    def fetch_texts(self, sql: str) -> list[str]:
        return [text for (text,) in self.connection.execute(sql).fetchall()]

    def sha256(self, text: str) -> str:
        return f"SHA256({text})"


class PostgreSQL(Engine):
    """A psycopg connection.

    A row must fit into a block, and what does not fit depends on data. So `keep` counts what a row takes at most,
    whatever it holds, and refuses a table whose rows might not fit. A rehearsal on no records finds that out.

        header and bits of what is missing    24 + columns / 8, rounded up to 8
        a number or truth value               its size, rounded up to 8
        a text or NUMERIC                     32: above 24 bytes it may be stored elsewhere, and at most 7 are padding
    """

    real, text = "DOUBLE PRECISION", "TEXT"

    block_overhead = 32
    """Bytes of a block that are of no row, at least; of the usual 8192 this leaves 8160."""

    longest_inline = 32

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def keep(self, name: str, sql: str) -> None:
        self._run(f"CREATE TEMP TABLE {name} AS {sql}")
        columns, content, block = self._row_sizes(name)
        if 24 + (columns + 63) // 64 * 8 + content > block - self.block_overhead:
            raise ValueError("a row may be longer than a block")

    def _row_sizes(self, name: str) -> tuple[int, int, int]:
        """How many columns a table has, how many bytes they take at most, and the bytes of a block."""
        own = f"CASE WHEN attlen > 0 THEN (attlen + 7) / 8 * 8 ELSE {self.longest_inline} END"
        found = self.fetch(
            f"SELECT COUNT(*), SUM({own}), CAST(CURRENT_SETTING('block_size') AS BIGINT) FROM pg_attribute "
            f"WHERE attrelid = CAST('pg_temp.{name}' AS REGCLASS) AND attnum > 0"
        )
        columns, content, block = (int(one[0]) for one in found)
        return columns, content, block

    def load(self, name: str, columns: Mapping[str, LoadedColumn]) -> None:
        kinds = {
            column: self.text if len(values) and isinstance(values[0], str) else "BIGINT"
            for column, values in columns.items()
        }
        self._run(f"CREATE TEMP TABLE {name} ({', '.join(f'{column} {kind}' for column, kind in kinds.items())})")
        rows = zip(*map(_plain, columns.values()), strict=True)
        with (
            self.connection.transaction(),
            self.connection.cursor() as cursor,
            cursor.copy(f"COPY {name} FROM STDIN") as copy,
        ):
            for row in rows:
                copy.write_row(row)

    def fetch(self, sql: str) -> list[Ints]:
        with self.connection.transaction(), self.connection.cursor() as cursor:
            cursor.execute(sql)
            rows, width = cursor.fetchall(), len(cursor.description)
        return list(np.array(rows, dtype=np.int64).reshape(-1, width).T)

    def drop(self, name: str) -> None:
        with suppress(Exception):
            self._run(f"DROP TABLE IF EXISTS pg_temp.{name}")

    def sha256(self, text: str) -> str:
        return f"ENCODE(SHA256(CONVERT_TO({text}, 'UTF8')), 'hex')"

    def _run(self, sql: str) -> None:
        with self.connection.transaction(), self.connection.cursor() as cursor:
            cursor.execute(sql)


class Spark(Engine):
    """A Spark session; its tables are cached frames under the names of temporary views."""

    real, text = "DOUBLE", "STRING"

    def __init__(self, session: Any) -> None:
        self.session = session
        self._frames: dict[str, Any] = {}

    def keep(self, name: str, sql: str) -> None:
        self._keep(name, self.session.sql(sql).cache())

    def load(self, name: str, columns: Mapping[str, LoadedColumn]) -> None:
        kinds = {
            column: "string" if len(values) and isinstance(values[0], str) else "bigint"
            for column, values in columns.items()
        }
        rows, types = (
            list(zip(*map(_plain, columns.values()), strict=True)),
            ", ".join(f"{name} {kind}" for name, kind in kinds.items()),
        )
        self._keep(name, self.session.createDataFrame(rows, types))

    def fetch(self, sql: str) -> list[Ints]:
        frame = self.session.sql(sql)
        rows = [tuple(row) for row in frame.collect()]
        return list(np.array(rows, dtype=np.int64).reshape(-1, len(frame.columns)).T)

    def drop(self, name: str) -> None:
        if name in self._frames:
            self.session.catalog.dropTempView(name)
            self._frames.pop(name).unpersist()

    def sha256(self, text: str) -> str:
        return f"SHA2({text}, 256)"

    def sum(self, number: str) -> str:
        return super().sum(f"CAST({number} AS DECIMAL(19, 0))")

    def _keep(self, name: str, frame: Any) -> None:
        frame.createOrReplaceTempView(name)
        self._frames[name] = frame


def _plain(column: LoadedColumn) -> Sequence[int] | Sequence[str]:
    """Return a column as values of Python."""
    values: Sequence[int] | Sequence[str] = column.tolist() if isinstance(column, np.ndarray) else column
    return values


NAMES: Final = ("duckdb", "postgres", "pyspark")
"""The engines by their names in Ibis."""


def detect_engine(backend: Any) -> Engine:
    """Return the engine behind an Ibis backend."""
    if backend.name == "duckdb":
        return DuckDB(backend.con)
    return PostgreSQL(backend.con) if backend.name == "postgres" else Spark(backend._session)
