"""Columns of the table engines: Arrow, Polars and pandas arrays to NumPy and back."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inbounds.extras import library

ToArray = Callable[[NDArray[Any]], NDArray[Any]]

_KINDS = {
    ("pyarrow", "Array"): "arrow",
    ("pyarrow", "ChunkedArray"): "arrow",
    ("polars", "Series"): "polars",
    ("pandas", "Series"): "pandas",
}


def kind_of(values: Any) -> str | None:
    """Which engine a column belongs to, None for plain Python and NumPy; no engine is imported to find out."""
    for base in type(values).__mro__:
        found = _KINDS.get((base.__module__.partition(".")[0], base.__name__))
        if found:
            return found
    return None


def mapped(kind: str, column: Any, change: ToArray) -> Any:
    """change(column) as a column of the same engine, in the same order."""
    values = as_array(kind, column)
    changed = change(values)
    plain = changed.tolist() if changed.dtype == object else changed
    if kind == "arrow":
        return library("pyarrow", "local").array(plain)
    if kind == "polars":
        return library("polars", "local").Series(column.name, plain)
    return library("pandas", "local").Series(plain, index=column.index, name=column.name)


def as_array(kind: str, column: Any) -> NDArray[Any]:
    """The values of a column, which must not have missing ones."""
    if _missing(kind, column):
        raise ValueError("values must not be missing; fill them, or declare a value or label for them")
    if kind == "arrow" and type(column).__name__ != "ChunkedArray":
        return np.asarray(column.to_numpy(zero_copy_only=False))
    return np.asarray(column.to_numpy())


def _missing(kind: str, column: Any) -> int:
    if kind == "pandas":
        return int(column.isna().sum())
    return int(column.null_count() if kind == "polars" else column.null_count)
