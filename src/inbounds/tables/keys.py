"""Public keys: which groups are answered, from a list, a product of lists, a frame, or a public file."""

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from inbounds.tables import register
from inbounds.tables.errors import PlanError, at
from inbounds.tables.facts import Groups
from inbounds.tables.register import KeyTable
from inbounds.tables.sizes import sizes
from inbounds.tables.texts import listed, written
from inbounds.trusted.extent import MOST_GROUPS_PER_VALUE


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
    .parquet with the columns `by`, or .txt with one key per line; a list may be a pandas column or a Numpy array.
    size or maximum: a number, a list, a mapping from every key to its number, or a column of the file or frame.
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
    with at(name):
        numbers = sizes(given, table, name)
    return Groups(names, table.keys, numbers, public=size is not None, register=register_of(keys, folder))


def register_of(keys: Any, folder: Path | None = None) -> Any:
    """The file or frame that keys are read from; None for a list."""
    if isinstance(keys, str | Path):
        return str((folder or Path()) / keys)
    return keys if hasattr(keys, "__arrow_c_stream__") else None


def _table(by: tuple[str, ...], keys: Any, folder: Path) -> KeyTable:
    if not by:
        if keys is not None:
            raise ValueError("must not be given without by")
        return KeyTable(((),), {})
    table = _given(by, keys, folder)
    for row in table.keys:
        if any(not part.strip() for part in row):
            raise ValueError("must not be empty: a record without a key is in no group")
    return table


def _given(by: tuple[str, ...], keys: Any, folder: Path) -> KeyTable:
    if isinstance(keys, str | Path):
        return register.from_file(by, folder / keys)
    if isinstance(keys, Mapping):
        if set(keys) != set(by):
            raise ValueError(f"must list the values of each of: {', '.join(by)}")
        values = [[written(value) for value in _values(keys[name])] for name in by]
        groups, most = math.prod(map(len, values)), MOST_GROUPS_PER_VALUE * sum(map(len, values))
        if groups > most:
            raise ValueError(f"must combine to at most {most} groups, got {groups}; list the keys in a file instead")
        return KeyTable(tuple(itertools.product(*values)), {})
    rows = listed(keys)
    if not isinstance(rows, Sequence) and hasattr(keys, "__arrow_c_stream__"):
        return register.from_arrow(by, keys)
    if not isinstance(rows, Sequence):
        raise ValueError("must be a list of group keys, or the path of a public file that holds them")
    return KeyTable(tuple(key_row(key, len(by)) for key in rows), {})


def _values(given: Any) -> Sequence[Any]:
    values = listed(given)
    if isinstance(values, str | bytes) or not isinstance(values, Sequence):
        raise ValueError("must list the values of every column")
    return values


def key_row(key: Any, width: int) -> tuple[str, ...]:
    """The key of one group, for one or several columns."""
    parts = key if isinstance(key, Sequence) and not isinstance(key, str | bytes) else [key]
    if len(parts) != width:
        raise ValueError(f"must give {width} values for each group, got {len(parts)}")
    return tuple(written(part) for part in parts)
