"""Replace columns of a table by reports: one draw for each row, and one evaluation of each draw.

An engine decides when, how often and on which rows it calls a function that is part of a query. It may call it once for
a constant and repeat the result for all rows: then many people share one draw, and who knows one of them learns about
the others. It may call it again when the query runs again: then one person has two reports. So the engine is not
left to decide. The values are there, one for each row, before anything is drawn, and what comes back is finished
reports:

pandas    A frame is a finished table. The values of its columns, also of categories, are copied to an array with one
          entry for each row.
Polars    A lazy frame is collected, once, all columns together. Constants, literals, hive partitions and cross joins
          are then columns with one entry for each row, and an eager frame gives them so too. A lazy frame comes back as
          the lazy view of a finished frame: whatever is asked of it, however often, reads the same reports.
Arrow     A table or batch is finished; dictionaries and runs are decoded to one entry for each row. A reader gives each
          batch once and cannot be read again, and so does the reader that comes back.
DuckDB    The relation is run once, and its rows arrive through an Arrow reader. DuckDB never sees the function.
Spark     See `inbounds.local.spark`: the executors draw in one job that is run at once, and keep the reports.

`draw` is called with arrays that have an entry for each row, and draws for each entry with entropy of its own
(`inbounds.trusted.samplers`), equal values included.
"""

from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import NDArray

from inbounds.local.spark import map_batches_once
from inbounds.optional import import_optional
from inbounds.trusted.inputs import as_array

DrawColumns = Callable[[Mapping[str, NDArray[Any]]], Mapping[str, NDArray[Any]]]
"""From the values of some columns to the reports in their place, row by row."""

Kinds = Mapping[str, str]
"""What the reports in a column are, as a numpy kind: "i" for whole numbers, "f" for floats, "O" for texts."""


def replace_columns(table: Any, engine: str, kinds: Kinds, draw: DrawColumns) -> Any:
    """Return the table with reports in the columns that `kinds` names; other columns and the order of rows stay.

    A DuckDB relation comes in as its Arrow reader. Missing values are refused.
    """
    match engine:
        case "pandas":
            reports = draw({name: as_array("pandas", table[name]) for name in kinds})
            return table.assign(**{name: _to_plain(reports[name]) for name in kinds})
        case "polars":
            return _replace_in_polars(table, kinds, draw)
        case "pyspark":
            return map_batches_once(table, kinds, lambda batch: _replace_in_batch(batch, kinds, draw))
    if hasattr(table, "num_rows"):
        return _replace_in_batch(table, kinds, draw)
    schema = table.schema
    for name, field in _fields(kinds).items():
        schema = schema.set(schema.get_field_index(name), field)
    replaced = (_replace_in_batch(batch, kinds, draw) for batch in table)
    return import_optional("pyarrow", "local").RecordBatchReader.from_batches(schema, replaced)


def _replace_in_polars(table: Any, kinds: Kinds, draw: DrawColumns) -> Any:
    polars = import_optional("polars", "local")
    lazy = isinstance(table, polars.LazyFrame)
    frame = table.collect() if lazy else table
    types = {"i": polars.Int64, "f": polars.Float64, "O": polars.String}
    reports = draw({name: as_array("polars", frame[name]) for name in kinds})
    replaced = frame.with_columns(
        polars.Series(name, _to_plain(reports[name]), types[kind]) for name, kind in kinds.items()
    )
    return replaced.lazy() if lazy else replaced


def _replace_in_batch(table: Any, kinds: Kinds, draw: DrawColumns) -> Any:
    """Replace columns of an Arrow table or batch."""
    pyarrow, fields = import_optional("pyarrow", "local"), _fields(kinds)
    reports = draw({name: as_array("arrow", table.column(name)) for name in kinds})
    for name, field in fields.items():
        column = pyarrow.array(_to_plain(reports[name]), field.type)
        table = table.set_column(table.schema.get_field_index(name), field, column)
    return table


def _fields(kinds: Kinds) -> dict[str, Any]:
    pyarrow = import_optional("pyarrow", "local")
    types = {"i": pyarrow.int64(), "f": pyarrow.float64(), "O": pyarrow.string()}
    return {name: pyarrow.field(name, types[kind]) for name, kind in kinds.items()}


def _to_plain(reports: NDArray[Any]) -> Any:
    return reports.tolist() if reports.dtype == object else reports
