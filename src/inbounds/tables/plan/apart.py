"""Keys come from elsewhere than the data: a register that is the data would publish who is in it.

What can be seen without understanding the contents is refused: the same file by any name, a copy of it, the same frame
or an equal one, and, of a database, whatever is computed from the same table.
"""

import filecmp
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from inbounds.files import same_file
from inbounds.tables.errors import PlanError
from inbounds.tables.sources.source import SERVERS, Source, is_ibis

OWN_DATA = (
    "must be a public list of groups, got the data itself, which would publish who is there; list the groups that are "
    "known without it"
)


FILE_OF = {
    "duckdb": "select path from duckdb_databases() where not internal",
    "sqlite": "select file from pragma_database_list where name = 'main'",
}
"""What asks a database for its file."""


def check_apart(keys: Any, source: Source, reads: Iterable[str] = ()) -> None:
    """A `PlanError` if the register is the data. reads: further files that the plan names."""
    files = [path for path in (source.path, *reads) if path]
    if isinstance(keys, str | Path):
        own = any(_same_content(keys, path) for path in files)
    elif is_ibis(keys):
        own = bool(_tables(keys) & _tables_of(source))
    else:
        own = source.frame is not None and _same_frame(keys, source.frame)
    if own:
        raise PlanError(OWN_DATA, ("groups", "keys"))


def _same_content(one: str | Path, other: str) -> bool:
    if same_file(one, other):
        return True
    with suppress(OSError):
        return filecmp.cmp(one, other, shallow=False)
    return False


def _same_frame(keys: Any, frame: Any) -> bool:
    """The same object, or an equal table: pandas, Polars and Arrow all say so themselves."""
    return keys is frame or (type(keys) is type(frame) and hasattr(keys, "equals") and bool(keys.equals(frame)))


# --- tables of databases ------------------------------------------------------------------------------------


def _tables_of(source: Source) -> set[Any]:
    if is_ibis(source.frame):
        return _tables(source.frame)
    if source.kind in SERVERS:
        parts = urlsplit(source.url)
        return {(parts.hostname or "", parts.port or 5432, parts.path.strip("/"), source.table.rpartition(".")[2])}
    return {(os.path.realpath(source.path) if source.path else "", source.table)}


def _tables(table: Any) -> set[Any]:
    """The tables that an Ibis table is computed from, by database and name; those in memory by themselves."""
    import ibis.expr.operations as ops

    found = table.op().find(ops.PhysicalTable)
    return {(*_place(op.source), op.name) if isinstance(op, ops.DatabaseTable) else op for op in found}


def _place(backend: Any) -> tuple[Any, ...]:
    """Where a database is: its file, or its server; the session's own tables are nowhere else."""
    if backend.name == "postgres":
        info = backend.con.info
        return info.host, info.port, info.dbname
    if backend.name in FILE_OF:
        file = [path for (path,) in backend.con.execute(FILE_OF[backend.name]).fetchall() if path]
        return (os.path.realpath(file[0]) if file else id(backend.con),)
    return ("",) if backend.name == "pyspark" else (id(backend),)
