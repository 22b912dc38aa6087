"""The declared groups: public keys from a list, a product of lists, a frame or a public file, and their sizes.

Keys must not come from the data itself: see `check_keys_not_data`. A plan with a delta may ask for groups that the
data holds, `keys = "from the data"`; then none is known before the draw, and `Groups.with_keys` has those published.
"""

import filecmp
import itertools
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from inbounds.exact import Ints, parse_exact, to_int
from inbounds.files import is_same_file, sha256_hex
from inbounds.schema.columns import LARGEST
from inbounds.schema.errors import PlanError, error_path
from inbounds.schema.text import PERIODS, is_period, to_list, to_text
from inbounds.sources import key_files
from inbounds.sources.key_files import KeyFile
from inbounds.sources.open import SERVERS, Source, is_ibis_table
from inbounds.trusted.limits import MOST_GROUPS_PER_VALUE

FROM_DATA = "from the data"
"""What a plan writes as keys if groups are those that the data holds."""


@dataclass(frozen=True, eq=False)
class Groups:
    """The declared groups, in the order in which they are answered.

    by: the columns whose values name a group; none means that the whole table is one group. keys: one row per group.
    sizes: the number of records in each group if public, else the largest possible number. public: which of the two.
    register: the file or frame that the keys were read from, if any.
    missing_key: the key of records without a value or with an empty one; without it such records are in no group.
    period: for columns of dates or times, the day, month, quarter or year that names a group.
    typical: about how many records a group has, if sizes are not public: one number, the ends of a range, or nothing.
    Expected errors and intervals use it (`statistics.sizes`); no mechanism, draw, refusal or charge does.
    most: the largest size of every group, if groups are those that the data holds; 0 if the keys are declared.
    """

    by: tuple[str, ...]
    keys: tuple[tuple[str, ...], ...] = field(repr=False)
    sizes: Ints = field(repr=False)
    public: bool
    register: Any = field(default=None, repr=False, compare=False)
    missing_key: str = ""
    period: Mapping[str, str] = field(default_factory=dict)
    typical: tuple[int, ...] = ()
    most: int = 0

    def __post_init__(self) -> None:
        self._check_period()
        if self.missing_key and not self.from_data and not any(self.missing_key in key for key in self.keys):
            raise PlanError(f"must be one of the keys, got {self.missing_key!r}; add it to keys", ("missing_key",))
        if len(set(self.by)) < len(self.by):
            raise PlanError("must name different columns", ("by",))
        if {*map(len, self.keys)} - {len(self.by)}:
            raise PlanError(f"must give one value for each of: {', '.join(self.by)}", ("keys",))
        if len(set(self.keys)) < len(self.keys):
            raise PlanError("must be different, but one is listed twice", ("keys",))  # it may be data, so not which
        sizes = np.asarray(self.sizes, dtype=np.int64)
        filled = self.from_data or len(sizes) > 0
        if sizes.shape != (len(self.keys),) or not filled or (sizes < 1).any():
            name = "size" if self.public else "max_size"
            raise PlanError(f"must be a whole number of at least 1 for each of {len(self.keys)} groups", (name,))
        object.__setattr__(self, "sizes", np.frombuffer(sizes.tobytes(), dtype=np.int64))
        if self.typical:
            self._check_typical()

    def _check_typical(self) -> None:
        least, most = self.typical[0], self.typical[-1]
        with error_path("typical"):
            if self.public:
                raise PlanError("must not be given beside size: sizes that are public need no estimate")
            if len(self.typical) == 1 and least < 1:
                raise PlanError(f"must be at least 1, got {least}")
            if not 0 <= least <= most:
                raise PlanError(f"must be a number, or the least and the largest of a range, got {list(self.typical)}")
            if most > self.distinct_sizes[-1]:
                raise PlanError(f"must be at most max_size, {self.distinct_sizes[-1]}, got {most}")
            if len(self.typical) == 2 and least > self.distinct_sizes[0]:
                raise PlanError(f"must begin at most at the smallest max_size, {self.distinct_sizes[0]}, got {least}")

    @property
    def from_data(self) -> bool:
        """Return whether groups are those that the data holds."""
        return self.most > 0

    @cached_property
    def distinct_sizes(self) -> tuple[int, ...]:
        """Return the different sizes, rising; of groups that the data holds, the one that all have."""
        return (self.most,) if self.from_data else tuple(np.unique(self.sizes).tolist())

    def with_keys(self, keys: Sequence[tuple[str, ...]]) -> "Groups":
        """Return groups from the data with the keys that were published."""
        assert self.from_data
        return replace(self, keys=tuple(keys), sizes=np.full(len(keys), self.most, dtype=np.int64))

    @property
    def declared(self) -> "Groups":
        """Return the groups as the plan declares them: without keys that were published."""
        return self.with_keys(()) if self.from_data else self

    @cached_property
    def keys_sha256(self) -> str:
        """Return the digest of keys and sizes in their order, as records state it."""
        return sha256_hex(json.dumps([self.keys, self.sizes.tolist()]))

    @cached_property
    def columns(self) -> tuple[tuple[str, ...], ...]:
        """Return the keys by column: for each of `by` one value per group."""
        return tuple(tuple(map(itemgetter(k), self.keys)) for k in range(len(self.by)))

    @cached_property
    def coded(self) -> tuple[tuple[tuple[str, ...], Ints], ...]:
        """Return for each column its different keys, in order of first appearance, and the place of each group's."""
        return tuple(map(code_texts, self.columns))

    @cached_property
    def spelled(self) -> dict[Any, list[str]]:
        """Return what was computed of the different keys of a column, by the column and how records spell it."""
        return {}

    def _check_period(self) -> None:
        for name, period in self.period.items():
            if name not in self.by:
                raise PlanError(f"must be about columns of by, got {name!r}", ("period",))
            if period not in PERIODS:
                raise PlanError(f"must be one of {', '.join(PERIODS)}, got {period!r}", ("period", name))
            for key in self.keys:
                text = key[self.by.index(name)]
                if text != self.missing_key and not is_period(text, period):
                    raise PlanError(f"must be a {period} such as {PERIODS[period]}, got {text!r}", ("keys",))

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def file(self) -> str:
        """Return the file of the keys, or an empty text."""
        return self.register if isinstance(self.register, str) else ""


def parse_groups(
    by: Sequence[str] | str = (),
    keys: Any = None,
    size: Any = None,
    max_size: Any = None,
    *,
    typical: Any = None,
    missing_key: str = "",
    period: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Groups:
    """Build the declared groups from the values of a plan.

    by: column names.
    keys: a list of keys (of lists, for several columns), a mapping from every column to a list of its values (all
    combinations, the last column fastest), a frame, or the path of a public file: .csv or .parquet with the columns
    `by`, or .txt with one key per line. A list may be a pandas column or a Numpy array. size or max_size: a number, a
    list, a mapping from every key to its number, or a column of the file or frame. typical: about how many records a
    group has, beside max_size: a number, or a list of the least and the largest.
    missing_key: the key of records without a value.
    period: {column: "day", "month", "quarter" or "year"}.

    Raises PlanError with the key of the plan that is wrong.
    """
    names = (by,) if isinstance(by, str) else tuple(by)
    if not all(isinstance(name, str) for name in names):
        raise PlanError("must be names of columns", ("by",))
    if (size is None) == (max_size is None):
        raise PlanError("must give either size (public group sizes) or max_size, and not both")
    if isinstance(keys, str) and keys == FROM_DATA:
        return _groups_from_data(names, size, max_size, typical, missing_key, period)
    with error_path("keys"):
        table = _table(names, keys, folder or Path())
    if not table.keys:
        raise PlanError("must hold at least one group", ("keys",))
    name, sizes = ("size", size) if size is not None else ("max_size", max_size)
    with error_path(name):
        numbers = parse_sizes(sizes, table, name)
    source, periods, about = resolve_key_source(keys, folder), _parse_period(period), _parse_typical_at(typical)
    return Groups(names, table.keys, numbers, size is not None, source, _missing_key(missing_key), periods, about)


def _groups_from_data(
    by: tuple[str, ...], size: Any, max_size: Any, typical: Any, missing_key: Any, period: Any
) -> Groups:
    """Build groups whose keys are those that the data holds: one largest size for all of them."""
    if size is not None:
        raise PlanError(f"must not be given beside keys = {FROM_DATA!r}; give max_size, the most persons", ("size",))
    if not by:
        raise PlanError("must name the columns whose values are the groups", ("by",))
    with error_path("max_size"):
        most = _people(max_size, (), "max_size")
    periods, about = _parse_period(period), _parse_typical_at(typical)
    none = np.empty(0, dtype=np.int64)
    return Groups(by, (), none, False, None, _missing_key(missing_key), periods, about, most)


def _missing_key(value: Any) -> str:
    if not isinstance(value, str):
        raise PlanError("must be text in quotes", ("missing_key",))
    return value


def _parse_period(period: Any) -> dict[str, str]:
    if not isinstance(period or {}, Mapping):
        raise PlanError('must say for columns how they name a group, such as { visited = "month" }', ("period",))
    return dict(period or {})


def _parse_typical_at(typical: Any) -> tuple[int, ...]:
    with error_path("typical"):
        return parse_typical(typical)


def parse_typical(typical: Any) -> tuple[int, ...]:
    """Parse a typical size, or a range of sizes as a list of two numbers; nothing is an empty tuple."""
    numbers = to_list(typical)
    if numbers is None:
        return ()
    parts = numbers if isinstance(numbers, Sequence) and not isinstance(numbers, str | bytes) else [numbers]
    if len(parts) not in (1, 2):
        raise PlanError(f"must be a number such as 235, or a range such as [100, 300], got {typical!r}")
    return tuple(to_int(part, "typical", 0) for part in parts)


def resolve_key_source(keys: Any, folder: Path | None = None) -> Any:
    """Return the file or frame that keys are read from; None for a list, and for groups from the data."""
    if isinstance(keys, str) and keys == FROM_DATA:
        return None
    if isinstance(keys, str | Path):
        return str((folder or Path()) / keys)
    return keys if hasattr(keys, "__arrow_c_stream__") else None


def _table(by: tuple[str, ...], keys: Any, folder: Path) -> KeyFile:
    if not by:
        if keys is not None:
            raise ValueError("must not be given without by")
        return KeyFile(((),), {})
    table = _parse_given(by, keys, folder)
    for k in range(len(by)):
        if not all(map(str.strip, map(itemgetter(k), table.keys))):
            raise ValueError(
                "must not be empty: a record without a key is in no group; give them one with missing_key, "
                'such as missing_key = "not stated", and list that among the keys'
            )
    return table


def number_rows(columns: Sequence[Sequence[str]]) -> list[Ints]:
    """Return a number for each row of the first column, of the first two, …: equal numbers are equal rows.

    Numbers rise in the order of first appearance. They are computed without a tuple for each row, of which a large
    register would have many.
    """
    numbers, found = np.zeros(len(columns[0]), dtype=np.int64), []
    for column in columns:
        texts, places = code_texts(column)
        numbers = _renumber(numbers * max(len(texts), 1) + places)
        found.append(numbers)
    return found


def code_texts(column: Sequence[str]) -> tuple[tuple[str, ...], Ints]:
    """Return the different texts of a column, in order of first appearance, and the place of each row's among them."""
    place = {text: k for k, text in enumerate(dict.fromkeys(column))}
    return tuple(place), np.fromiter(map(place.__getitem__, column), dtype=np.int64, count=len(column))


def _renumber(numbers: Ints) -> Ints:
    """Return a number for each whole number, in the order of their first appearance."""
    _, first, which = np.unique(numbers, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return np.asarray(rank[which])


def _parse_given(by: tuple[str, ...], keys: Any, folder: Path) -> KeyFile:
    if isinstance(keys, str | Path):
        return key_files.from_file(by, folder / keys)
    if isinstance(keys, Mapping):
        if set(keys) != set(by):
            raise ValueError(f"must list the values of each of: {', '.join(by)}")
        values = [[to_text(value) for value in _values(keys[name])] for name in by]
        groups, most = math.prod(map(len, values)), MOST_GROUPS_PER_VALUE * sum(map(len, values))
        if groups > most:
            raise ValueError(f"must combine to at most {most} groups, got {groups}; list the keys in a file instead")
        return KeyFile(tuple(itertools.product(*values)), {})
    rows = to_list(keys)
    if not isinstance(rows, Sequence) and hasattr(keys, "__arrow_c_stream__"):
        return key_files.from_arrow(by, keys)
    if not isinstance(rows, Sequence):
        raise ValueError("must be a list of group keys, or the path of a public file that holds them")
    return KeyFile(tuple(parse_key(key, len(by)) for key in rows), {})


def _values(values_like: Any) -> Sequence[Any]:
    values = to_list(values_like)
    if isinstance(values, str | bytes) or not isinstance(values, Sequence):
        raise ValueError("must list the values of every column")
    return values


def parse_key(key: Any, width: int) -> tuple[str, ...]:
    """Parse the key of one group, for one or several columns."""
    parts = key if isinstance(key, Sequence) and not isinstance(key, str | bytes) else [key]
    if len(parts) != width:
        raise ValueError(f"must give {width} values for each group, got {len(parts)}")
    return tuple(to_text(part) for part in parts)


# --- sizes: one number for all groups, one for each in order, one for each by its key, or a column ---------


def parse_sizes(sizes: Any, table: KeyFile, name: str) -> Ints:
    """Parse the number of records of each group, in the order of the keys."""
    if hasattr(sizes, "columns"):
        raise ValueError("must be a column of the register: give the frame as keys, and here the name of its column")
    if isinstance(sizes, str) and sizes not in table.columns and parse_exact(sizes) is not None:
        raise ValueError(f"must be a whole number of at least 1, the people of a group, got {sizes}")
    if isinstance(sizes, str) and sizes not in table.columns:
        raise ValueError(
            f"must be a number, a list, or a column of the keys' file, got {sizes!r}{_table_columns(table)}"
        )
    if isinstance(sizes, str):
        numbers = table.columns[sizes]
    elif isinstance(sizes, Mapping) or hasattr(sizes, "to_dict"):
        numbers = _by_key(sizes if isinstance(sizes, Mapping) else sizes.to_dict(), table)
    else:
        numbers = to_list(sizes)
    if not isinstance(numbers, Sequence):
        return np.full(len(table.keys), _people(numbers, (), name), dtype=np.int64)
    if len(numbers) != len(table.keys):
        raise ValueError(f"must be one number, or one for each of {len(table.keys)} groups, got {len(numbers)}")
    if {*map(type, numbers)} == {int} and min(numbers) >= 1 and max(numbers) < LARGEST:
        return np.array(numbers, dtype=np.int64)
    return np.array([_people(n, key, name) for n, key in zip(numbers, table.keys, strict=True)], dtype=np.int64)


def _table_columns(table: KeyFile) -> str:
    return f"; it has: {', '.join(table.columns)}" if table.columns else "; a list of keys has no columns"


def _by_key(by_key: Mapping[Any, Any], table: KeyFile) -> list[Any]:
    numbers = {_to_key(key): number for key, number in by_key.items()}
    for key in table.keys:
        if key not in numbers:
            raise ValueError(
                f"must give a number for every key, but has none for {_format_key(key)}; sizes in the order of the "
                "keys are a list: .tolist()"
            )
    for key in numbers.keys() - set(table.keys):
        raise ValueError(f"must give numbers for keys only, but {_format_key(key)} is none")
    return [numbers[key] for key in table.keys]


def _to_key(key: Any) -> tuple[str, ...]:
    return tuple(map(to_text, key)) if isinstance(key, tuple) else (to_text(key),)


def _format_key(key: tuple[str, ...]) -> str:
    return repr(" / ".join(key))


def _people(value: Any, key: tuple[str, ...], name: str) -> int:
    """Parse a whole number of people; an error names the key it belongs to."""
    try:
        number = to_int(value, name, 1)
    except (ValueError, TypeError):
        owner = f" for {_format_key(key)}" if key else ""
        raise ValueError(f"must be a whole number of at least 1, the people of a group, got {value!r}{owner}") from None
    if number >= LARGEST:
        raise ValueError("must lie below 2^53")
    return number


# --- keys that are read from the data would publish who is in it -------------------------------------------

OWN_DATA = (
    "must be a public list of groups, got the data itself, which would publish who is there; list the groups that are "
    "known without it"
)


FILE_OF = {
    "duckdb": "select path from duckdb_databases() where not internal",
    "sqlite": "select file from pragma_database_list where name = 'main'",
}
"""SQL that returns the file of a database."""


def check_keys_not_data(keys: Any, source: Source, reads: Iterable[str] = ()) -> None:
    """Raise PlanError if the keys are read from the data itself. reads: further files that the plan names.

    Refused are the same file under any name, a copy of it, the same or an equal frame, and, for a database, anything
    that is computed from the same table.
    """
    files = [path for path in (source.path, *reads) if path]
    if isinstance(keys, str | Path):
        is_data = any(_same_content(keys, path) for path in files)
    elif is_ibis_table(keys):
        is_data = bool(_tables(keys) & _list_tables(source))
    else:
        is_data = source.frame is not None and _same_frame(keys, source.frame)
    if is_data:
        raise PlanError(OWN_DATA, ("groups", "keys"))


def _same_content(one: str | Path, other: str) -> bool:
    """Return whether two files are the same, or have the same content."""
    if is_same_file(one, other):
        return True
    with suppress(OSError):
        return filecmp.cmp(one, other, shallow=False)
    return False


def _same_frame(keys: Any, frame: Any) -> bool:
    """Return whether two frames are the same object or equal, as pandas, Polars and Arrow define it."""
    return keys is frame or (type(keys) is type(frame) and hasattr(keys, "equals") and bool(keys.equals(frame)))


def _list_tables(source: Source) -> set[Any]:
    """Return the tables that a source reads, each by its place and name."""
    if is_ibis_table(source.frame):
        return _tables(source.frame)
    if source.kind in SERVERS:
        parts = urlsplit(source.url)
        return {(parts.hostname or "", parts.port or 5432, parts.path.strip("/"), source.table.rpartition(".")[2])}
    return {(os.path.realpath(source.path) if source.path else "", source.table)}


def _tables(table: Any) -> set[Any]:
    """Return the tables that an Ibis table is computed from, by database and name; those in memory by themselves."""
    import ibis.expr.operations as ops

    tables = table.op().find(ops.PhysicalTable)
    return {(*_place(op.source), op.name) if isinstance(op, ops.DatabaseTable) else op for op in tables}


def _place(backend: Any) -> tuple[Any, ...]:
    """Return where a database is: its file or its server; an identity for a session in memory."""
    if backend.name == "postgres":
        info = backend.con.info
        return info.host, info.port, info.dbname
    if backend.name in FILE_OF:
        file = [path for (path,) in backend.con.execute(FILE_OF[backend.name]).fetchall() if path]
        return (os.path.realpath(file[0]) if file else id(backend.con),)
    return ("",) if backend.name == "pyspark" else (id(backend),)
