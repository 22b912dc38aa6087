"""Conversion of columns between table engines (Arrow, Polars, pandas) and arrays."""

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from inbounds.optional import import_optional
from inbounds.trusted.inputs import as_array

ToArray = Callable[[NDArray[Any]], NDArray[Any]]


def map_column(kind: str, column: Any, change: ToArray) -> Any:
    """Return change(column) as a column of the same engine, in the same order."""
    values = as_array(kind, column)
    changed = change(values)
    plain = changed.tolist() if changed.dtype == object else changed
    if kind == "arrow":
        return import_optional("pyarrow", "local").array(plain)
    if kind == "polars":
        return import_optional("polars", "local").Series(column.name, plain)
    return import_optional("pandas", "local").Series(plain, index=column.index, name=column.name)
