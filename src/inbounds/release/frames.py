"""Frames in Python as Arrow tables: only the columns a plan uses, and none that is guessed from its values.

A column of Python objects, or of categories, becomes text value by value: what one record holds decides nothing
about the column, nor whether the table can be read.
"""

from collections.abc import Sequence
from typing import Any

from inbounds.release.errors import SourceError
from inbounds.release.texts import day

WHERE = ("source",)

CONVERSIONS = {
    "period": ".astype(str)",
    "interval": ".astype(str)",
    "complex": ".abs()",
    "timedelta": ".dt.total_seconds()",
    "Sparse": ".sparse.to_dense()",
}
"""pandas types that no engine has, by how their names begin, and what makes another of them."""


def arrow_table(frame: Any, wanted: Sequence[str]) -> Any:
    """A pandas, Polars or Arrow frame as a PyArrow table of the wanted columns that it has."""
    if _is_pandas(frame):
        return _from_pandas(frame, wanted)
    if type(frame).__name__ == "Series" or not hasattr(frame, "__arrow_c_stream__"):
        raise SourceError(f"must be a pandas, Polars or Arrow frame or an Ibis table, got {_said(frame)}", WHERE)
    return _from_arrow(frame, wanted)


def _is_pandas(frame: Any) -> bool:
    return type(frame).__module__.partition(".")[0] == "pandas" and hasattr(frame, "columns")


def _said(frame: Any) -> str:
    """The kind of thing that was given, and what makes a frame of it."""
    kind = f"{type(frame).__module__.partition('.')[0]} {type(frame).__name__}".removeprefix("builtins ")
    made = "pandas.DataFrame(…)"
    ways = {"Series": ".to_frame()", "LazyFrame": ".collect()", "dict": made, "list": made}
    way = ways.get(type(frame).__name__)
    return f"{kind}; {way} makes one" if way else kind


def _check_once(names: Sequence[str], wanted: Sequence[str]) -> None:
    for name in wanted:
        if names.count(name) > 1:
            raise SourceError(f"has more than one column {name!r}; rename all but one", WHERE)


# --- pandas -----------------------------------------------------------------------------------------------


def _from_pandas(frame: Any, wanted: Sequence[str]) -> Any:
    import pyarrow

    if {name for name in frame.index.names if name is not None} & set(wanted):
        frame = frame.reset_index()
    names = [str(name) for name in frame.columns]
    _check_once(names, wanted)
    idle = pyarrow.nulls(len(frame))  # nobody reads it; its name helps to find a misspelt one
    return pyarrow.table({n: _array(n, frame.iloc[:, k]) if n in wanted else idle for k, n in enumerate(names)})


def _array(name: str, column: Any) -> Any:
    """One column as Arrow; its own type decides how."""
    import pyarrow

    kind = column.dtype
    for start, way in CONVERSIONS.items():
        if str(kind).startswith(start):
            raise SourceError(f"has the column {name!r} of type {kind}, which no engine reads; give it {way}", WHERE)
    if str(kind) == "category":
        return _texts(column.cat.categories).take(pyarrow.array(column.cat.codes, mask=column.cat.codes < 0))
    if kind.kind == "O" and not _in_arrow(kind):
        return _texts(column)
    return pyarrow.array(column, from_pandas=True)


def _in_arrow(kind: Any) -> bool:
    return hasattr(kind, "pyarrow_dtype") or getattr(kind, "storage", "") == "pyarrow"


def _texts(values: Any) -> Any:
    """Each value as its text; what is missing stays so, and letters that UTF-8 does not have become question marks."""
    import pyarrow

    pairs = zip(values, values.notna(), strict=True)
    return pyarrow.array([_bytes(value) if known else None for value, known in pairs], pyarrow.string())


def _bytes(value: Any) -> bytes:
    return (day(value) or str(value)).encode("utf-8", "replace")


# --- everything else that speaks Arrow --------------------------------------------------------------------


def _from_arrow(frame: Any, wanted: Sequence[str]) -> Any:
    import pyarrow

    table = _spoken(frame)
    names, idle = table.column_names, pyarrow.nulls(table.num_rows)
    _check_once(names, wanted)
    return pyarrow.table({n: _plain(table.column(k)) if n in wanted else idle for k, n in enumerate(names)})


def _spoken(frame: Any) -> Any:
    import pyarrow

    try:
        return pyarrow.table(frame)
    except Exception:  # its words may quote a value
        failed = f"must be a frame whose columns all have a type that Arrow knows, got {_said(frame)}"
    raise SourceError(failed, WHERE)


def _plain(column: Any) -> Any:
    """Categories as their values; a column of nothing as text."""
    import pyarrow

    if pyarrow.types.is_dictionary(column.type):
        held = column.type.value_type
        kind = pyarrow.large_string() if "string" in str(held) else held
        return pyarrow.chunked_array([c.dictionary.cast(kind).take(c.indices) for c in column.chunks], kind)
    return column.cast(pyarrow.string()) if pyarrow.types.is_null(column.type) else column
