"""Frames in Python as Arrow tables: only the columns a plan uses, with types that do not depend on values.

`arrow_types` returns the table without its records, so the types are known before any value is read. A column of
Python objects, or of categories, becomes text value by value: one record never decides the type of the column, nor
whether the table can be read.
"""

from collections.abc import Sequence
from decimal import Decimal
from numbers import Integral
from os import PathLike
from typing import Any
from uuid import UUID

import numpy as np

from inbounds.schema.errors import SourceError
from inbounds.schema.text import LONGEST_TEXT, format_midnight
from inbounds.sources.sqlite_cells import LONGEST_CELL

WHERE = ("source",)

ABSENT = ("NoneType", "NAType", "NaTType")

CONVERSIONS = {
    "period": ".astype(str)",
    "interval": ".astype(str)",
    "complex": ".abs()",
    "timedelta": ".dt.total_seconds()",
    "Sparse": ".sparse.to_dense()",
}
"""pandas types that no engine has, by the beginning of their names, and a method that converts them."""


def arrow_types(frame: Any, wanted: Sequence[str]) -> Any:
    """Convert the types of a frame as `arrow_table` does, without reading a record."""
    if _is_pandas(frame):
        return _from_pandas(frame.iloc[:0], wanted)
    if type(frame).__name__ == "Series" or not hasattr(frame, "__arrow_c_stream__"):
        raise SourceError(f"must be a pandas, Polars or Arrow frame or an Ibis table, got {_detect_kind(frame)}", WHERE)
    return _from_arrow(_with_arrow_types(_drop_unread(frame, wanted)), wanted)


def arrow_table(frame: Any, wanted: Sequence[str], person: str = "") -> Any:
    """Convert a pandas, Polars or Arrow frame to a PyArrow table of the wanted columns that it has.

    person: the column of ids, if any. Invalid UTF-8 in an id makes the id missing: replaced by question marks, two
    persons could become one.
    """
    import pyarrow

    if _is_pandas(frame):
        return _from_pandas(frame, wanted, person)
    return _from_arrow(pyarrow.table(_drop_unread(frame, wanted)), wanted, person)


def _is_pandas(frame: Any) -> bool:
    return type(frame).__module__.partition(".")[0] == "pandas" and hasattr(frame, "columns")


def _detect_kind(frame: Any) -> str:
    """Describe the kind of an object, and how to make a frame of it."""
    kind = f"{type(frame).__module__.partition('.')[0]} {type(frame).__name__}".removeprefix("builtins ")
    new_frame = "pandas.DataFrame(…)"
    ways = {"Series": ".to_frame()", "LazyFrame": ".collect()", "dict": new_frame, "list": new_frame}
    way = ways.get(type(frame).__name__)
    if isinstance(frame, str | PathLike):
        return f'{kind}; a file is named in the plan: "source": {{"path": …}}'
    return f"{kind}; {way} makes one" if way else kind


def _check_once(names: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise SourceError if a wanted column occurs twice, or twice but for capitals."""
    present = [name for name in wanted if name in names]
    for name in present:
        if names.count(name) > 1:
            raise SourceError(f"has more than one column {name!r}; rename all but one", WHERE)
        same = [other for other in present if other != name and other.casefold() == name.casefold()]
        if same:
            raise SourceError(f"has columns {name!r} and {same[0]!r}, the same to an engine; rename one", WHERE)


def _select_wanted(names: Sequence[str], wanted: Sequence[str]) -> Sequence[str]:
    """Return the wanted columns only: to an engine, names that differ in capitals may be the same.

    If one is missing, nothing will be read, and all names are returned to find the misspelt one. If none is wanted, one
    column is returned to keep the number of records.
    """
    if not set(wanted) <= set(names):
        return names
    return [name for name in names if name in wanted] or names[:1]


# --- pandas -----------------------------------------------------------------------------------------------


def _from_pandas(frame: Any, wanted: Sequence[str], person: str = "") -> Any:
    import pyarrow

    if {name for name in frame.index.names if name is not None} & set(wanted):
        frame = frame.reset_index()
    names = [str(name) for name in frame.columns]
    _check_once(names, wanted)
    unread = pyarrow.nulls(len(frame))  # never read
    columns = {n: frame.iloc[:, names.index(n)] for n in _select_wanted(names, wanted)}
    return pyarrow.table(
        {n: _array(n, column, n == person) if n in wanted else unread for n, column in columns.items()}
    )


def _array(name: str, column: Any, is_person: bool) -> Any:
    """Convert one pandas column to Arrow, by its own type."""
    import pyarrow

    kind = column.dtype
    for start, way in CONVERSIONS.items():
        if str(kind).startswith(start):
            raise SourceError(f"has the column {name!r} of type {kind}, which no engine reads; give it {way}", WHERE)
    if str(kind) == "category":
        return _texts(column.cat.categories, is_person).take(pyarrow.array(column.cat.codes, mask=column.cat.codes < 0))
    if kind.kind == "O" and not _in_arrow(kind):
        return _texts(column, is_person)
    array = pyarrow.array(column, from_pandas=True)
    return _to_plain_column(
        array if isinstance(array, pyarrow.ChunkedArray) else pyarrow.chunked_array([array]), is_person
    )


def _in_arrow(kind: Any) -> bool:
    return hasattr(kind, "pyarrow_dtype") or getattr(kind, "storage", "") == "pyarrow"


def _texts(values: Any, is_person: bool) -> Any:
    """Convert each value to text; a value that is missing or has no text becomes missing."""
    import pyarrow

    return pyarrow.array([_bytes(value, is_person) for value in values], pyarrow.large_string())


def _bytes(value: Any, is_person: bool) -> bytes | None:
    """Convert a value to UTF-8 text; None if it is missing or has no text.

    Characters that UTF-8 lacks become question marks. Gaps turn whole numbers into floats, so those are written as
    whole numbers again. An id must be a text, a whole number or a UUID in valid UTF-8, else it is missing.
    """
    try:
        if _is_absent(value):
            return None
        if isinstance(value, float | np.floating) and value.is_integer():
            value = int(value)
        if is_person:
            return str.encode(_cut(str(value)), "utf-8") if _can_be_id(value) else None
        return str.encode(_cut(format_midnight(value) or str(value)), "utf-8", "replace")
    except Exception:  # whatever it is, one record must not decide whether a frame is read
        return None


def _cut(text: str) -> str:
    """Cut a text off one letter beyond the longest public text; `records` does the same, but engines limit texts."""
    return str.__getitem__(text, slice(LONGEST_TEXT + 1))


def _can_be_id(value: Any) -> bool:
    """Return whether a value can be an id: values of these types differ in text, except a number and its digits."""
    return isinstance(value, str | int | Integral | UUID) and not isinstance(value, bool)


def _is_absent(value: Any) -> bool:
    """Return whether a value is None, pandas.NA, NaT, or NaN of any type."""
    unequal = value != value
    return type(value).__name__ in ABSENT or (type(unequal).__name__ in ("bool", "bool_") and bool(unequal))


# --- everything else that speaks Arrow --------------------------------------------------------------------


def _from_arrow(table: Any, wanted: Sequence[str], person: str = "") -> Any:
    import pyarrow

    names, unread = table.column_names, pyarrow.nulls(table.num_rows)
    _check_once(names, wanted)
    positions = {n: names.index(n) for n in _select_wanted(names, wanted)}
    return pyarrow.table(
        {n: _to_plain_column(table.column(k), n == person) if n in wanted else unread for n, k in positions.items()}
    )


def _drop_unread(frame: Any, wanted: Sequence[str]) -> Any:
    """Empty the columns of a Polars frame that are not read: Arrow may not know their types."""
    if not _is_polars(frame):
        return frame
    import polars

    unread = [polars.lit(None).alias(name) for name in frame.columns if name not in wanted]
    return frame.with_columns(unread)


def _is_polars(frame: Any) -> bool:
    return type(frame).__module__.partition(".")[0] == "polars" and type(frame).__name__ == "DataFrame"


def _with_arrow_types(frame: Any) -> Any:
    """Return an empty Arrow table with the frame's types."""
    try:
        return _schema(frame).empty_table()
    except Exception:  # its words may quote a value
        message = f"must be a frame whose columns all have a type that Arrow knows, got {_detect_kind(frame)}"
        unknown = (
            [name for name in frame.columns if not _has_arrow_types(frame.select(name))] if _is_polars(frame) else []
        )
    if unknown:
        message = (
            f"has the column {unknown[0]!r} of type {frame.schema[unknown[0]]}, which Arrow does not know; .cast it"
        )
    raise SourceError(message, WHERE)


def _has_arrow_types(frame: Any) -> bool:
    try:
        _schema(frame)
    except Exception:
        return False
    return True


def _schema(frame: Any) -> Any:
    """Return the Arrow schema of a frame without reading records: declared, of an empty part, or of a stream."""
    import pyarrow

    for declares in (getattr(frame, "schema", None), frame):
        if hasattr(declares, "__arrow_c_schema__"):
            return pyarrow.schema(declares)
    if hasattr(frame, "limit"):
        return pyarrow.table(frame.limit(0)).schema
    return pyarrow.RecordBatchReader.from_stream(frame).schema


def _to_plain_column(column: Any, is_person: bool) -> Any:
    """Convert categories to their values, null columns to text, and number types that engines lack to floats."""
    import pyarrow

    kind = column.type
    if isinstance(kind, pyarrow.BaseExtensionType) and "string" in str(kind.storage_type):
        column = pyarrow.chunked_array([chunk.storage for chunk in column.chunks], kind.storage_type)
        kind = column.type
    if pyarrow.types.is_dictionary(kind):
        value_kind = pyarrow.large_string() if "string" in str(kind.value_type) else kind.value_type
        parts = [
            _replace_invalid_bytes(c.dictionary, is_person).cast(value_kind).take(c.indices) for c in column.chunks
        ]
        return _to_plain_column(pyarrow.chunked_array(parts, value_kind), is_person)
    if pyarrow.types.is_null(kind):
        return column.cast(pyarrow.string())
    if pyarrow.types.is_decimal(kind):
        column = _drop_beyond_precision(column)
        engines_lack_it = pyarrow.types.is_decimal256(kind) or not 0 <= kind.scale <= kind.precision
        return column.cast(pyarrow.float64()) if engines_lack_it else column
    if pyarrow.types.is_float16(kind):
        return column.cast(pyarrow.float32())
    return _replace_invalid_bytes(column, is_person)


def _cut_column(column: Any) -> Any:
    """Texts cut off beyond the longest public text where there is such a text: DuckDB reads none of 4 GB.

    What is cut off may be a part of a letter; it is beyond the letters that anybody looks at.
    """
    import pyarrow
    import pyarrow.compute

    held = column.cast(pyarrow.large_binary())
    if (pyarrow.compute.max(pyarrow.compute.binary_length(held)).as_py() or 0) <= LONGEST_CELL:
        return column
    return pyarrow.compute.binary_slice(held, 0, LONGEST_CELL).cast(pyarrow.large_string(), safe=False)


def _drop_beyond_precision(column: Any) -> Any:
    """Decimals with more digits than their type declares become missing: Arrow holds them, engines stop at them.

    They are compared as the whole numbers that they are stored as, because Arrow checks some types and lacks others.
    """
    import pyarrow
    import pyarrow.compute

    kind, most = column.type, 10**column.type.precision - 1
    stored: Any = {32: pyarrow.int32(), 64: pyarrow.int64(), 128: pyarrow.decimal128(38), 256: pyarrow.decimal256(76)}
    whole = stored[kind.bit_width]
    lowest, highest = (pyarrow.scalar(Decimal(end) if kind.bit_width > 64 else end, whole) for end in (-most, most))
    nothing, parts = pyarrow.scalar(None, whole), []
    for chunk in column.chunks:
        held = chunk.view(whole)
        fits = pyarrow.compute.and_(
            pyarrow.compute.greater_equal(held, lowest), pyarrow.compute.less_equal(held, highest)
        )
        parts.append(pyarrow.compute.if_else(fits, held, nothing).view(kind))
    return pyarrow.chunked_array(parts, kind)


def _replace_invalid_bytes(column: Any, is_person: bool) -> Any:
    """Replace invalid UTF-8 in texts by question marks, because engines stop at it; such an id becomes missing."""
    import pyarrow

    if "string" not in str(column.type):
        return column
    column = _cut_column(column)
    try:
        column.validate(full=True)
    except pyarrow.ArrowInvalid:
        values = column.cast(pyarrow.large_binary()).to_pylist()
        texts = [None if value is None else value.decode("utf-8", "replace") for value in values]
        if is_person:
            texts = [t if t is None or t.encode() == value else None for t, value in zip(texts, values, strict=True)]
        return pyarrow.array(texts, pyarrow.large_string())
    return column
