"""Public sizes: one number for all groups, one for each in order, one for each by its key, or a column."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from inbounds.numbers import Ints, whole
from inbounds.tables.facts import LARGEST
from inbounds.tables.register import KeyTable
from inbounds.tables.texts import listed, written


def sizes(given: Any, table: KeyTable, name: str) -> Ints:
    """How many records each group of the table has, in its order."""
    if hasattr(given, "columns"):
        raise ValueError("must be a column of the register: give the frame as keys, and here the name of its column")
    if isinstance(given, str) and given not in table.columns:
        raise ValueError(f"must be a number, a list, or a column of the keys' file, got {given!r}{_columns(table)}")
    if isinstance(given, str):
        numbers = table.columns[given]
    elif isinstance(given, Mapping) or hasattr(given, "to_dict"):
        numbers = _by_key(given if isinstance(given, Mapping) else given.to_dict(), table)
    else:
        numbers = listed(given)
    if not isinstance(numbers, Sequence):
        return np.full(len(table.keys), _one(numbers, (), name), dtype=np.int64)
    if len(numbers) != len(table.keys):
        raise ValueError(f"must be one number, or one for each of {len(table.keys)} groups, got {len(numbers)}")
    return np.array([_one(n, key, name) for n, key in zip(numbers, table.keys, strict=True)], dtype=np.int64)


def _columns(table: KeyTable) -> str:
    return f"; it has: {', '.join(table.columns)}" if table.columns else "; a list of keys has no columns"


def _by_key(given: Mapping[Any, Any], table: KeyTable) -> list[Any]:
    numbers = {_key(key): number for key, number in given.items()}
    for key in table.keys:
        if key not in numbers:
            raise ValueError(
                f"must give a number for every key, but has none for {_said(key)}; sizes in the order of the keys "
                "are a list: .tolist()"
            )
    for key in numbers.keys() - set(table.keys):
        raise ValueError(f"must give numbers for keys only, but {_said(key)} is none")
    return [numbers[key] for key in table.keys]


def _key(key: Any) -> tuple[str, ...]:
    return tuple(map(written, key)) if isinstance(key, tuple) else (written(key),)


def _said(key: tuple[str, ...]) -> str:
    return repr(" / ".join(key))


def _one(value: Any, key: tuple[str, ...], name: str) -> int:
    """A whole number of people; an error names the key it belongs to."""
    try:
        number = whole(value, name, 1)
    except (ValueError, TypeError):
        of = f" for {_said(key)}" if key else ""
        raise ValueError(f"must be a whole number of at least 1, the people of a group, got {value!r}{of}") from None
    if number >= LARGEST:
        raise ValueError("must lie below 2^53")
    return number
