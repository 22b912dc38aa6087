"""Sources: open a file, database or frame through Ibis; only the schema is read before the aggregation.

CSV files are read as text throughout: types guessed from the data would let one record change the schema.
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
from inbounds.sources import csv_files, decoded_csv, frames, sqlite_cells, survey_files, xlsx_files

FILES = {
    ".csv": "csv", ".tsv": "csv", ".parquet": "parquet",
    ".duckdb": "duckdb", ".ddb": "duckdb", ".sqlite": "sqlite", ".sqlite3": "sqlite", ".db": "sqlite",
    ".xlsx": "xlsx", ".xlsm": "xlsx", ".sav": "spss", ".zsav": "spss", ".dta": "stata", ".sas7bdat": "sas",
    ".xpt": "sas",
}  # fmt: skip
"""Kinds of files by their endings."""

UNDECODED = "\ufffd"
"""The letter in place of bytes that are not in the encoding of a file."""

PATIENCE = 10
"""Seconds that a server may take to accept a connection."""

SERVERS = ("postgres", "postgresql")
ENGINES = ("duckdb", "spark")
"""Engines that may aggregate files; databases aggregate their own tables."""


CALENDAR = {"datetimeRebaseMode": "CORRECTED", "int96RebaseMode": "CORRECTED"}
"""Read old dates as they are written; otherwise Spark refuses to read some of them."""

KNOWN = ("duckdb", "postgres", "pyspark")
"""Engines of Ibis tables, by their names in Ibis, for which docs/totality.md argues that no evaluation can fail."""

ENCODINGS = (
    "utf-8", "windows-1252", "windows-1250", "windows-1251", "windows-1253", "windows-1254", "windows-1257",
    "iso-8859-1", "iso-8859-2", "iso-8859-15", "koi8-r", "mac-roman", "utf-16", "shift-jis", "gb18030", "big5",
    "euc-kr",
)  # fmt: skip
"""Encodings of CSV files. UTF-8 is read by the engine; files in others are decoded here."""

TEXT_CELLS = {
    "xlsx": xlsx_files, "spss": survey_files, "stata": survey_files, "sas": survey_files, "csv": decoded_csv,
}  # fmt: skip
"""Readers of files into columns of text, by the kind of file; of CSV files, those that are not in UTF-8."""

THOUSANDS = (".", ",", " ", "'")
"""Marks that can stand between thousands; a space stands for every kind of space."""

READ = "inbounds_read"
"""The name of Arrow records in DuckDB."""


@dataclass(frozen=True)
class Source:
    """A file, a database URL, or a frame or Ibis table in Python.

    table: the table in a database, or the sheet of an .xlsx file.
    engine: duckdb (embedded, the default) or spark, for CSV and Parquet files and, with `table` alone, for tables of
    the running Spark session.
    delimiter: of a CSV file; by default a comma, for .tsv a tab.
    decimal: the decimal mark of numbers in a CSV file, and of texts in an .xlsx file: a point or a comma.
    thousands: the mark between thousands in the same files, as in 1.234,5; without it such a text is missing.
    encoding: of a CSV file, one of ENCODINGS; by default UTF-8.
    header_row: the row of an .xlsx file with the column names; records begin below it.
    """

    path: str = ""
    url: str = field(default="", repr=False)
    table: str = ""
    engine: str = "duckdb"
    delimiter: str = ""
    decimal: str = ""
    thousands: str = ""
    encoding: str = ""
    header_row: int = 1
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
        if self.decimal and (self.decimal not in ".," or self.kind not in ("csv", "xlsx")):
            raise PlanError(f'must be "." or ",", for a CSV or .xlsx file, got {self.decimal!r}', ("decimal",))
        marks = [mark for mark in THOUSANDS if mark != (self.decimal or ".")]
        if self.thousands and (self.thousands not in marks or self.kind not in ("csv", "xlsx")):
            raise PlanError(
                f"must be one of {', '.join(map(repr, marks))} and not the decimal mark, for a CSV or .xlsx file, got "
                f"{self.thousands!r}",
                ("thousands",),
            )
        if self.encoding and (self.encoding not in ENCODINGS or self.kind != "csv"):
            raise PlanError(
                f"must be one of {', '.join(ENCODINGS)}, for a CSV file, got {self.encoding!r}", ("encoding",)
            )
        if self.is_decoded and self.kind == "csv" and self.engine == "spark":
            raise PlanError('must be utf-8 with engine = "spark"', ("encoding",))
        if self.header_row < 1 or (self.header_row > 1 and self.kind != "xlsx"):
            raise PlanError(f"must be at least 1, for an .xlsx file, got {self.header_row}", ("header_row",))

    @cached_property
    def kind(self) -> str:
        """Return csv, parquet, duckdb, sqlite, postgresql, spark or frame; empty for an unknown file ending."""
        if self.frame is not None:
            return "frame"
        if self.engine == "spark" and self.table and not self.path and not self.url:
            return "spark"
        return urlsplit(self.url).scheme if self.url else FILES.get(Path(self.path).suffix.lower(), "")

    @property
    def textual(self) -> bool:
        """Return whether all columns arrive as text and are converted to their declared type."""
        return self.kind in TEXT_CELLS

    @property
    def is_decoded(self) -> bool:
        """Return whether its cells are read here into columns of text, and not by an engine."""
        return self.encoding not in ("", "utf-8") if self.kind == "csv" else self.kind in TEXT_CELLS

    @property
    def has_schema(self) -> bool:
        """Return whether column names are declared; those of a CSV file may be its first record."""
        return self.kind not in ("csv", "xlsx", "frame") or is_ibis_table(self.frame)

    @property
    def in_arrow(self) -> bool:
        """Return whether records are read into Arrow first, because no engine reads all values they can hold."""
        in_duckdb = self.kind == "parquet" and self.engine == "duckdb"
        return self.kind == "sqlite" or in_duckdb or self.is_frame or self.is_decoded

    @property
    def is_frame(self) -> bool:
        """Return whether the source is a frame in Python, and no Ibis table."""
        return self.kind == "frame" and not is_ibis_table(self.frame)

    @property
    def separator(self) -> str:
        """Return the delimiter of the CSV file."""
        return self.delimiter or ("\t" if Path(self.path).suffix.lower() == ".tsv" else ",")

    def summary(self) -> SourceRecord:
        """Return what may be published about the source: no password, no data."""
        name = Path(self.path).name if self.path else self.name
        facts: dict[str, Any] = {"kind": self.kind, "name": name, "table": self.table, "engine": self.engine}
        facts |= {"decimal": self.decimal, "thousands": self.thousands}
        facts |= {"encoding": self.encoding if self.is_decoded else ""}
        facts["header_row"] = str(self.header_row) if self.header_row > 1 else ""
        return cast(SourceRecord, {key: value for key, value in facts.items() if value})

    def place(self) -> dict[str, Any]:
        """Return which data is declared, for a digest that is not published; no password.

        Links are followed, so a file is the same under each of its names, and different once a link points elsewhere.
        """
        parameters = parse_qsl(urlsplit(self.url).query, keep_blank_values=True)
        settings = sorted([name, value] for name, value in parameters if "password" not in name.lower())
        return {
            "path": os.path.realpath(self.path) if self.path else "",
            "separator": self.separator if self.kind == "csv" else "",
            "url": redact_password(self.url) if self.url else "",
            "settings": settings,
        }

    @property
    def location(self) -> str:
        """Return where the data is, for its owner: the file or URL, and the table; no password. Empty for a frame."""
        if self.frame is not None:
            return ""
        place = redact_password(self.url) if self.url else os.path.realpath(self.path) if self.path else ""
        return ", table ".join(part for part in (place, self.table) if part)

    @property
    def name(self) -> str:
        """Return the path, the URL without its password, or the name of the table."""
        if self.url:
            return redact_password(self.url)
        return self.path or ("the given table" if self.frame is not None else self.table)


def open_table(source: Source, wanted: Sequence[str] = ()) -> Any:
    """Open the source as an Ibis table; only its schema is read.

    wanted: the columns that will be read. Others are never converted, and only these columns of a SQLite table must
    have a declared type. For a file or database, none means all columns. Raises SourceError if the source cannot be
    opened.
    """
    where = ("source", *(name for name in ("path", "url") if getattr(source, name)))
    if source.path and not os.access(source.path, os.R_OK):
        reason = "is not readable" if Path(source.path).exists() else "does not exist"
        raise SourceError(f"names a file that {reason}: {source.path}", where)
    if source.path and find_open_database(source.path):
        raise SourceError(f"names a ledger that is open, which has no data: {source.path}", where)
    with silence_engine():
        message = "cannot be opened"
        try:
            return _OPENERS[source.kind](source, wanted)
        except ImportError as missing:
            message = f"needs the extra {_extra(source)!r}: pip install 'inbounds[{_extra(source)}]' ({missing.name})"
        except PlanError:
            raise
        except Exception as error:  # an engine's message may quote the file, so ours replaces it
            if type(error).__name__ == "TableNotFound":
                message = f"has no table {source.table!r} that may be read"
            elif source.kind in SERVERS:
                message = _explain_connection_error(error)
        raise SourceError(f"{message}: {source.name}", where)


def table_names(path: str = "", url: str = "") -> list[str]:
    """Return the names of the tables in a database file or server; an empty list for a file that is one table."""
    kind = urlsplit(url).scheme if url else FILES.get(Path(path).suffix.lower(), "")
    if kind == "xlsx":
        return xlsx_files.sheet_names(path)
    if kind not in ("duckdb", "sqlite", *SERVERS):
        return []
    where, message = ("source", "url" if url else "path"), "cannot be opened"
    with silence_engine():
        try:
            import ibis

            if kind == "duckdb":
                return sorted(ibis.duckdb.connect(path, read_only=True).list_tables())
            return sorted((ibis.sqlite.connect(path) if kind == "sqlite" else ibis.connect(url)).list_tables())
        except ImportError as missing:
            message = f"needs an extra: {missing.name}"
        except Exception as error:  # an engine's message may quote the file
            message = _explain_connection_error(error) if url else message
    raise SourceError(f"{message}: {redact_password(url) if url else path}", where)


def column_names(source: Source, table: Any) -> list[str]:
    """Return the names of all columns of an opened source, also of those that a plan does not use."""
    if source.is_decoded:
        return [name for name in TEXT_CELLS[source.kind].read_names(source) if name]
    if source.kind == "sqlite":
        return list(sqlite_cells.declared_types(source.path, source.table, ()))
    if source.kind == "parquet" and source.engine == "duckdb":
        return list(_parquet_file(source.path).schema_arrow.names)
    return list(table.columns)


def read_table(source: Source, table: Any, wanted: Sequence[str], person: str = "") -> Any:
    """Read the records of an opened table into Arrow if its source needs it, with the types seen before.

    person: the column of ids, if any. Raises SourceError if the types have changed.
    """
    if not source.in_arrow:
        return table
    if source.kind == "sqlite":
        kinds = {name: kind for name, kind in _sqlite_types(source, wanted).items() if name in wanted}
        records = sqlite_cells.arrow_table(source.path, source.table, kinds, person)
    elif source.is_decoded:
        records = _text_table(source, [name for name in table.columns if name in wanted], person)  # in the file's order
    elif source.kind == "parquet":
        records = frames.arrow_table(_parquet_file(source.path).read(list(table.columns)), wanted, person)
    else:
        records = frames.arrow_table(source.frame, wanted, person)
    registered = _register_arrow(table.get_backend(), records, "_records")
    if registered.schema() != table.schema():
        raise SourceError("has columns of other types than it declares", ("source",))
    return registered


def _text_table(source: Source, wanted: Sequence[str], person: str) -> Any:
    """Read a file of cells into Arrow, all columns as text; an id with letters that could not be decoded is missing."""
    import pyarrow

    columns = TEXT_CELLS[source.kind].read_columns(source, list(wanted))
    if person in columns:
        columns[person] = [None if text is None or UNDECODED in text else text for text in columns[person]]
    texts = {name: pyarrow.array(column, pyarrow.large_string()) for name, column in columns.items()}
    return pyarrow.table(texts)


def _explain_connection_error(error: Exception) -> str:
    """Explain why a server refused, from its state; its own message may hold more than is public."""
    state = getattr(error, "pgconn", None)
    if getattr(state, "needs_password", False) or getattr(state, "used_password", False):
        return "refuses this user or password"
    return "cannot be reached, or refuses this user or database"


def _suggest_fix(path: str) -> str:
    """Return what to do with a file of a known kind that no engine here reads."""
    kind = Path(path).suffix.lower()
    if kind in (".xls", ".xlsb", ".ods"):
        return "; save it as .xlsx or CSV UTF-8, or pass pandas.read_excel(…) to ib.release"
    if kind in (".gz", ".zip", ".bz2", ".zst", ".xz"):
        return "; unpack it, or pass pandas.read_csv(…) to ib.release"
    return ""


class _Silence(AbstractContextManager[None]):
    """A context without warnings. The filter is global, so the last thread that leaves restores it."""

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
    """Silence the warnings of Ibis and its engines about each other's versions."""
    return _silence


def _extra(source: Source) -> str:
    if source.kind in SERVERS:
        return "postgres"
    if source.kind in ("spss", "stata", "sas"):
        return "surveys"
    return "spark" if source.engine == "spark" else "tables"


def _cells(source: Source, wanted: Sequence[str]) -> Any:
    """Register the columns of a file of cells, all as text, without a record."""
    import pyarrow

    names = [name for name in TEXT_CELLS[source.kind].read_names(source) if name]
    types = pyarrow.table({name: pyarrow.array([], pyarrow.large_string()) for name in names})
    return _register_arrow(_engine(source), frames.arrow_types(types, wanted or names))


def _csv(source: Source, wanted: Sequence[str]) -> Any:
    if source.is_decoded:
        return _cells(source, wanted)
    return csv_files.read_csv_table(source, _engine(source))


def _parquet(source: Source, wanted: Sequence[str]) -> Any:
    """Open a Parquet file: DuckDB stops at invalid UTF-8, so only types are registered, and records read into Arrow."""
    if source.engine == "spark":
        return _texts_for_nothing(_spark().read_parquet(source.path, **CALENDAR), source.path)
    types = _parquet_file(source.path).schema_arrow.empty_table()
    return _register_arrow(_engine(source), frames.arrow_types(types, wanted or types.column_names))


def _parquet_file(path: str) -> Any:
    """Open a Parquet file with its categories as columns of text.

    Reading Arrow's categories stops at invalid UTF-8. The note that declares them is found by its name, so a copy of
    the file in memory spells that name differently.
    """
    import pyarrow.parquet

    file = pyarrow.parquet.ParquetFile(path)
    if not any(pyarrow.types.is_dictionary(kind) for kind in file.schema_arrow.types):
        return file
    file.close()
    content = bytearray(Path(path).read_bytes())
    footer = slice(len(content) - 8 - int.from_bytes(content[-8:-4], "little"), len(content) - 8)
    content[footer] = content[footer].replace(b"ARROW:schema", b"arrow:schema")
    return pyarrow.parquet.ParquetFile(pyarrow.BufferReader(pyarrow.py_buffer(content)))


def _register_arrow(engine: Any, records: Any, ending: str = "") -> Any:
    """Register an Arrow table in DuckDB; nothing is copied."""
    engine.con.register(f"{READ}{ending}", records)
    return engine.table(f"{READ}{ending}")


def _texts_for_nothing(table: Any, path: str) -> Any:
    """Turn columns that the file declares to be null into missing texts.

    pandas declares them so if no record has a value; Spark reads them as whole numbers.
    """
    import ibis
    import pyarrow.parquet

    if not Path(path).is_file():  # a folder of files that Spark wrote, which declares its types
        return table
    nothing = {field.name for field in pyarrow.parquet.read_schema(path) if str(field.type) == "null"}
    return table.mutate(**{name: ibis.null("string") for name in nothing & set(table.columns)})


def _engine(source: Source) -> Any:
    return _spark() if source.engine == "spark" else _disable_statistics(_connect_in_memory())


def _connect_in_memory() -> Any:
    """Connect to an empty DuckDB database in memory."""
    import ibis

    return ibis.duckdb.connect()


def _duckdb(source: Source, wanted: Sequence[str]) -> Any:
    import ibis

    return _disable_statistics(ibis.duckdb.connect(source.path, read_only=True)).table(source.table)


def _disable_statistics(engine: Any) -> Any:
    """Disable DuckDB's shortcuts from the statistics of a file, which one record may change for all."""
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
    timeout = "" if "connect_timeout=" in source.url else f"{mark}connect_timeout={PATIENCE}"
    server = ibis.connect(source.url + timeout)
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
    """Return the running Spark session, or a local one."""
    import ibis
    from pyspark.sql import SparkSession

    session = SparkSession.builder.config("spark.ui.enabled", "false").getOrCreate()
    return ibis.pyspark.connect(session)


def is_ibis_table(frame: Any) -> bool:
    """Return whether an object is an Ibis table."""
    return type(frame).__module__.partition(".")[0] == "ibis"


def _frame(source: Source, wanted: Sequence[str]) -> Any:
    """Return an Ibis table of a known engine as it is; register the types of any other frame, see `read_table`."""
    if not is_ibis_table(source.frame):
        return _register_arrow(_engine(source), frames.arrow_types(source.frame, wanted))
    engine = source.frame.get_backend().name
    if engine not in KNOWN:
        message = (
            f"must be a table of DuckDB, PostgreSQL or Spark, got one of {engine}; .to_pyarrow() makes a frame of it"
        )
        raise SourceError(message, ("source",))
    return source.frame


_OPENERS = {
    "frame": _frame,
    "csv": _csv,
    "xlsx": _cells,
    "spss": _cells,
    "stata": _cells,
    "sas": _cells,
    "parquet": _parquet,
    "duckdb": _duckdb,
    "sqlite": _sqlite,
    "postgres": _postgres,
    "postgresql": _postgres,
    "spark": _spark_table,
}
