"""Where the data is. A source is opened through Ibis, and only its schema is looked at until the aggregation.

CSV files are read as text throughout: guessing types from the data would let one record change the schema.
"""

import os
import threading
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qsl, urlsplit

from inbounds.files.open_files import find_open_database
from inbounds.ledger.store import redact_password
from inbounds.schema.errors import PlanError, SourceError
from inbounds.schema.record_types import SourceRecord
from inbounds.sources import csv_files, frames, sqlite_cells

FILES = {
    ".csv": "csv", ".tsv": "csv", ".parquet": "parquet",
    ".duckdb": "duckdb", ".ddb": "duckdb", ".sqlite": "sqlite", ".sqlite3": "sqlite", ".db": "sqlite",
}  # fmt: skip
"""What a file is, by its ending."""

PATIENCE = 10
"""Seconds that a server may take to answer the first time."""

SERVERS = ("postgres", "postgresql")
ENGINES = ("duckdb", "spark")
"""What may aggregate files; databases aggregate themselves."""


CALENDAR = {"datetimeRebaseMode": "CORRECTED", "int96RebaseMode": "CORRECTED"}
"""Old dates are read as they are written; Spark would otherwise refuse to read some of them."""

KNOWN = ("duckdb", "postgres", "pyspark")
"""Engines of Ibis tables, by their names in Ibis, for which there is an argument that no evaluation can fail."""

READ = "inbounds_read"
"""What records in Arrow are called in DuckDB."""


@dataclass(frozen=True)
class Source:
    """A file, a database URL, or a frame or Ibis table that is already in Python.

    table: the table in a database. engine: duckdb (embedded, the default) or spark, for CSV and Parquet files and,
    with `table` alone, for tables of the running Spark session.
    delimiter: of a CSV file; a tab for .tsv. decimal: the mark before the decimals of its numbers, a point or a comma.
    """

    path: str = ""
    url: str = field(default="", repr=False)
    table: str = ""
    engine: str = "duckdb"
    delimiter: str = ""
    decimal: str = ""
    frame: Any = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise PlanError(f"must be duckdb or spark, got {self.engine!r}", ("engine",))
        if sum((bool(self.path), bool(self.url), self.frame is not None, self.kind == "spark")) != 1:
            raise PlanError("must give exactly one of path and url (or a table of Spark; in Python, a frame)")
        if self.path and self.kind == "":
            raise PlanError(
                f"must end in one of {', '.join(FILES)}, got {self.path!r}{_suggest_fix(self.path)}", ("path",)
            )
        if self.url and self.kind not in SERVERS:
            raise PlanError("must begin with postgresql://", ("url",))
        if self.kind in ("duckdb", "sqlite", *SERVERS) and not self.table:
            raise PlanError("must name a table of the database", ("table",))
        if self.engine == "spark" and self.kind not in ("csv", "parquet", "spark"):
            raise PlanError("must be duckdb but for CSV and Parquet files and tables of Spark itself", ("engine",))
        if len(self.delimiter) > 1 or self.delimiter in ('"', "\r", "\n"):
            raise PlanError(
                f"must be one character, no quotation mark or line break, got {self.delimiter!r}", ("delimiter",)
            )
        if self.decimal and (self.decimal not in ".," or self.kind != "csv"):
            raise PlanError(f'must be "." or ",", for a CSV file, got {self.decimal!r}', ("decimal",))

    @cached_property
    def kind(self) -> str:
        """csv, parquet, duckdb, sqlite, postgresql, spark, frame, or nothing for an unknown ending."""
        if self.frame is not None:
            return "frame"
        if self.engine == "spark" and self.table and not self.path and not self.url:
            return "spark"
        return urlsplit(self.url).scheme if self.url else FILES.get(Path(self.path).suffix.lower(), "")

    @property
    def textual(self) -> bool:
        """All columns arrive as text and are read by their declared type."""
        return self.kind == "csv"

    @property
    def has_schema(self) -> bool:
        """Column names are declared; those of a CSV file, or a frame read from one, may be its first record."""
        return self.kind not in ("csv", "frame") or is_ibis_table(self.frame)

    @property
    def in_arrow(self) -> bool:
        """Its records are read into Arrow and evaluated in DuckDB, because no engine reads all values they can hold."""
        return self.kind == "sqlite" or (self.kind == "parquet" and self.engine == "duckdb") or self.is_frame

    @property
    def is_frame(self) -> bool:
        """A frame in Python, not a table of Ibis."""
        return self.kind == "frame" and not is_ibis_table(self.frame)

    @property
    def separator(self) -> str:
        return self.delimiter or ("\t" if Path(self.path).suffix.lower() == ".tsv" else ",")

    def summary(self) -> SourceRecord:
        """What may be published about the source: no password, no data."""
        name = Path(self.path).name if self.path else self.name
        said = {"kind": self.kind, "name": name, "table": self.table, "engine": self.engine, "decimal": self.decimal}
        return cast(SourceRecord, {key: value for key, value in said.items() if value})

    def place(self) -> dict[str, Any]:
        """Which data is declared, wherever it is asked from: for a digest, not to be published; no password.

        Links are followed, so that a file is the same under each of its names and another once a link leads elsewhere.
        """
        asked = parse_qsl(urlsplit(self.url).query, keep_blank_values=True)
        settings = sorted([name, value] for name, value in asked if "password" not in name.lower())
        return {
            "path": os.path.realpath(self.path) if self.path else "",
            "separator": self.separator if self.kind == "csv" else "",
            "url": redact_password(self.url) if self.url else "",
            "settings": settings,
        }

    @property
    def name(self) -> str:
        if self.url:
            return redact_password(self.url)
        return self.path or ("the given table" if self.frame is not None else self.table)


def open_table(source: Source, wanted: Sequence[str] = ()) -> Any:
    """The source as an Ibis table, nothing read but its schema; a `SourceError` in one sentence otherwise.

    wanted: the columns that will be read; the others are never converted, and of a table of SQLite it is these that
    must have a declared type. Of a file or database, none means all.
    """
    where = ("source", *(name for name in ("path", "url") if getattr(source, name)))
    if source.path and not os.access(source.path, os.R_OK):
        reason = "is not readable" if Path(source.path).exists() else "does not exist"
        raise SourceError(f"names a file that {reason}: {source.path}", where)
    if source.path and find_open_database(source.path):
        raise SourceError(f"names a ledger that is open, which has no data: {source.path}", where)
    with silence_engine():
        failed = "cannot be opened"
        try:
            return _OPENERS[source.kind](source, wanted)
        except ImportError as missing:
            failed = f"needs the extra {_extra(source)!r}: pip install 'inbounds[{_extra(source)}]' ({missing.name})"
        except PlanError:
            raise
        except Exception as error:  # an engine's words may quote the file; the sentence below is ours
            if type(error).__name__ == "TableNotFound":
                failed = f"has no table {source.table!r} that may be read"
            elif source.kind in SERVERS:
                failed = _explain_connection_error(error)
        raise SourceError(f"{failed}: {source.name}", where)


def table_names(path: str = "", url: str = "") -> list[str]:
    """The names of the tables in a database, a file or a server; nothing for a file that is one table itself."""
    kind = urlsplit(url).scheme if url else FILES.get(Path(path).suffix.lower(), "")
    if kind not in ("duckdb", "sqlite", *SERVERS):
        return []
    where, failed = ("source", "url" if url else "path"), "cannot be opened"
    with silence_engine():
        try:
            import ibis

            if kind == "duckdb":
                return sorted(ibis.duckdb.connect(path, read_only=True).list_tables())
            return sorted((ibis.sqlite.connect(path) if kind == "sqlite" else ibis.connect(url)).list_tables())
        except ImportError as missing:
            failed = f"needs an extra: {missing.name}"
        except Exception as error:  # an engine's words may quote the file
            failed = _explain_connection_error(error) if url else failed
    raise SourceError(f"{failed}: {redact_password(url) if url else path}", where)


def read_table(source: Source, table: Any, wanted: Sequence[str], person: str = "") -> Any:
    """An opened table with its records: only now is anything read into Arrow, and to the types that were seen.

    person: the column of ids, if any.
    """
    if not source.in_arrow:
        return table
    if source.kind == "sqlite":
        kinds = {name: kind for name, kind in _sqlite_types(source, wanted).items() if name in wanted}
        records = sqlite_cells.arrow_table(source.path, source.table, kinds, person)
    elif source.kind == "parquet":
        records = frames.arrow_table(_parquet_file(source.path).read(list(table.columns)), wanted, person)
    else:
        records = frames.arrow_table(source.frame, wanted, person)
    made = _register_arrow(table.get_backend(), records, "_records")
    if made.schema() != table.schema():
        raise SourceError("has columns of other types than it declares", ("source",))
    return made


def _explain_connection_error(error: Exception) -> str:
    """Why a server did not let us in, from its state and not its words, which may hold more than is public."""
    state = getattr(error, "pgconn", None)
    if getattr(state, "needs_password", False) or getattr(state, "used_password", False):
        return "refuses this user or password"
    return "cannot be reached, or refuses this user or database"


def _suggest_fix(path: str) -> str:
    """What to do with a file of a known kind that no engine here reads."""
    kind = Path(path).suffix.lower()
    if kind in (".xlsx", ".xls", ".ods"):
        return "; save it as CSV UTF-8, or pass pandas.read_excel(…) to ib.release"
    if kind in (".gz", ".zip", ".bz2", ".zst", ".xz"):
        return "; unpack it, or pass pandas.read_csv(…) to ib.release"
    return ""


class _Silence(AbstractContextManager[None]):
    """No warnings while any thread is inside: what is ignored is of the whole process, so the last one out restores."""

    def __init__(self) -> None:
        self._lock, self._inside, self._before = threading.Lock(), 0, warnings.catch_warnings()

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._before = warnings.catch_warnings()
                self._before.__enter__()
                warnings.simplefilter("ignore")
            self._inside += 1

    def __exit__(self, *reason: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._before.__exit__(None, None, None)


_silence = _Silence()


def silence_engine() -> AbstractContextManager[None]:
    """Ibis and its engines warn about each other's versions; that is not the caller's concern."""
    return _silence


def _extra(source: Source) -> str:
    if source.kind in SERVERS:
        return "postgres"
    return "spark" if source.engine == "spark" else "tables"


def _csv(source: Source, wanted: Sequence[str]) -> Any:
    return csv_files.read_csv_table(source, _engine(source))


def _parquet(source: Source, wanted: Sequence[str]) -> Any:
    """Of a file its types alone: DuckDB stops at a text that is no UTF-8, so records are read into Arrow."""
    if source.engine == "spark":
        return _texts_for_nothing(_spark().read_parquet(source.path, **CALENDAR), source.path)
    types = _parquet_file(source.path).schema_arrow.empty_table()
    return _register_arrow(_engine(source), frames.arrow_types(types, wanted or types.column_names))


def _parquet_file(path: str) -> Any:
    """A Parquet file, without what Arrow notes in it of categories: reading those stops at a text that is no UTF-8.

    Then they are columns of text. The note is found by its name, which is spelled otherwise in a copy of the file.
    """
    import pyarrow.parquet

    found = pyarrow.parquet.ParquetFile(path)
    if not any(pyarrow.types.is_dictionary(kind) for kind in found.schema_arrow.types):
        return found
    found.close()
    content = bytearray(Path(path).read_bytes())
    footer = slice(len(content) - 8 - int.from_bytes(content[-8:-4], "little"), len(content) - 8)
    content[footer] = content[footer].replace(b"ARROW:schema", b"arrow:schema")
    return pyarrow.parquet.ParquetFile(pyarrow.BufferReader(pyarrow.py_buffer(content)))


def _register_arrow(engine: Any, records: Any, ending: str = "") -> Any:
    """Records in Arrow as a table of DuckDB; nothing is copied."""
    engine.con.register(f"{READ}{ending}", records)
    return engine.table(f"{READ}{ending}")


def _texts_for_nothing(table: Any, path: str) -> Any:
    """Columns that the file declares to hold nothing are texts, all missing.

    pandas declares them so where no record has a value; Spark takes them for whole numbers.
    """
    import ibis
    import pyarrow.parquet

    if not Path(path).is_file():  # a folder of files that Spark wrote, which declares its types
        return table
    nothing = {field.name for field in pyarrow.parquet.read_schema(path) if str(field.type) == "null"}
    return table.mutate(**{name: ibis.null("string") for name in nothing & set(table.columns)})


def _engine(source: Source) -> Any:
    import ibis

    return _spark() if source.engine == "spark" else _disable_extensions(ibis.duckdb.connect())


def _duckdb(source: Source, wanted: Sequence[str]) -> Any:
    import ibis

    return _disable_extensions(ibis.duckdb.connect(source.path, read_only=True)).table(source.table)


def _disable_extensions(engine: Any) -> Any:
    """DuckDB without shortcuts from what a file says about its own values: one record may change that for all."""
    engine.raw_sql("set disabled_optimizers = 'statistics_propagation'")
    return engine


def _sqlite(source: Source, wanted: Sequence[str]) -> Any:
    types = sqlite_cells.arrow_schema(_sqlite_types(source, wanted)).empty_table()
    return _register_arrow(_engine(source), frames.arrow_types(types, wanted or types.column_names))


def _sqlite_types(source: Source, wanted: Sequence[str]) -> dict[str, Any]:
    return sqlite_cells.declared_types(source.path, source.table, wanted)


def _postgres(source: Source, wanted: Sequence[str]) -> Any:
    import ibis

    schema, dot, table = source.table.rpartition(".")
    mark = "&" if "?" in source.url else "?"
    patient = "" if "connect_timeout=" in source.url else f"{mark}connect_timeout={PATIENCE}"
    server = ibis.connect(source.url + patient)
    try:
        with server.con.cursor() as cursor:
            encoding = cursor.execute("SHOW server_encoding").fetchone()[0]
        if encoding != "UTF8":  # letters that UTF-8 lacks could not be read, and which ones there are is data
            raise SourceError(f"must be a database whose encoding is UTF8, got {encoding}", ("source", "url"))
        return server.table(table, database=schema if dot else None)
    except Exception:
        server.disconnect()
        raise


def _spark_table(source: Source, wanted: Sequence[str]) -> Any:
    return _spark().table(source.table)


def _spark() -> Any:
    """The running Spark session, or a local one."""
    import ibis
    from pyspark.sql import SparkSession

    session = SparkSession.builder.config("spark.ui.enabled", "false").getOrCreate()
    return ibis.pyspark.connect(session)


def is_ibis_table(frame: Any) -> bool:
    return type(frame).__module__.partition(".")[0] == "ibis"


def _frame(source: Source, wanted: Sequence[str]) -> Any:
    """An Ibis table of a known engine as it is; of any frame that speaks Arrow its types, see `read_table`."""
    if not is_ibis_table(source.frame):
        return _register_arrow(_engine(source), frames.arrow_types(source.frame, wanted))
    engine = source.frame.get_backend().name
    if engine not in KNOWN:
        said = f"must be a table of DuckDB, PostgreSQL or Spark, got one of {engine}; .to_pyarrow() makes a frame of it"
        raise SourceError(said, ("source",))
    return source.frame


_OPENERS = {
    "frame": _frame,
    "csv": _csv,
    "parquet": _parquet,
    "duckdb": _duckdb,
    "sqlite": _sqlite,
    "postgres": _postgres,
    "postgresql": _postgres,
    "spark": _spark_table,
}
