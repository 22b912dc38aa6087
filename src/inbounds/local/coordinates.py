"""Places whose coordinates stand in columns of their own: both are drawn together, once for every row."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inbounds.extras import library
from inbounds.local.client import Randomizer
from inbounds.local.reports import LocalMechanism
from inbounds.trusted.incoming import as_array

KINDS = {
    "polars": {True: "Int64", False: "Float64"},
    "pyspark": {True: "bigint", False: "double"},
    "duckdb": {True: "BIGINT", False: "DOUBLE"},
}


def need_axes(mechanism: LocalMechanism, columns: Sequence[str]) -> None:
    """Refuse columns that are not one for each coordinate of the mechanism's places."""
    places = mechanism.query.places
    if places is None or len(columns) != len(places[0]) or len(set(columns)) < len(columns):
        raise ValueError(
            f"column must name one column, or for places one for each coordinate, got {len(columns)}; "
            "answers of this mechanism have "
            + ("no coordinates" if places is None else f"{len(places[0])} coordinates each")
        )


def whole_coordinates(mechanism: LocalMechanism) -> bool:
    """Whether reports have whole coordinates."""
    return all(number.denominator == 1 for place in mechanism.query.places or () for number in place)


def drawn(client: Randomizer, kind: str, columns: Sequence[Any]) -> NDArray[Any]:
    """Coordinates of reports, one row for each row of the columns; missing values are refused."""
    found = [as_array(kind, column) for column in columns]
    return client.array(np.stack(found, axis=1)) if len(found[0]) else np.empty((0, len(columns)), dtype=np.int64)


def named(client: Randomizer, columns: Sequence[Any]) -> list[str]:
    """The names of the places that are reported, for columns of coordinates of Arrow."""
    query, reports = client.mechanism.query, drawn(client, "arrow", columns)
    labels = query.labels or ()
    return [labels[j] for j in query.index(reports).tolist()] if len(reports) else []


def randomized(table: Any, engine: str, columns: Sequence[str], client: Randomizer) -> Any:
    """The table with reports in place of the coordinates; a reader batch by batch."""
    match engine:
        case "pandas":
            reports = drawn(client, "pandas", [table[name] for name in columns])
            return table.assign(**dict(zip(columns, reports.T, strict=True)))
        case "polars":
            return _polars(table, columns, client)
        case "pyspark":
            return _spark(table, columns, client)
    if hasattr(table, "num_rows"):
        return _replaced(table, columns, client)
    pyarrow, schema = library("pyarrow", "local"), table.schema
    given = pyarrow.int64() if whole_coordinates(client.mechanism) else pyarrow.float64()
    for name in columns:
        schema = schema.set(schema.get_field_index(name), pyarrow.field(name, given))
    return pyarrow.RecordBatchReader.from_batches(schema, (_replaced(batch, columns, client) for batch in table))


def _replaced(table: Any, columns: Sequence[str], client: Randomizer) -> Any:
    pyarrow = library("pyarrow", "local")
    given = pyarrow.int64() if whole_coordinates(client.mechanism) else pyarrow.float64()
    reports = drawn(client, "arrow", [table.column(name) for name in columns])
    for name, values in zip(columns, reports.T, strict=True):
        table = table.set_column(table.schema.get_field_index(name), name, pyarrow.array(values, given))
    return table


def _polars(table: Any, columns: Sequence[str], client: Randomizer) -> Any:
    """One expression for all coordinates, taken apart afterwards: two would be two draws."""
    polars = library("polars", "local")
    kind = getattr(polars, KINDS["polars"][whole_coordinates(client.mechanism)])
    fields = dict.fromkeys(columns, kind)

    def private(together: Any) -> Any:
        reports = drawn(client, "polars", [together.struct.field(name) for name in columns])
        return polars.DataFrame(dict(zip(columns, reports.T, strict=True)), schema=fields).to_struct(
            "report of a place"
        )

    both = polars.struct(columns).map_batches(private, return_dtype=polars.Struct(fields), is_elementwise=True)
    others = polars.all().exclude(*columns)
    return table.select(both.alias("report of a place"), others).unnest("report of a place")


def _spark(frame: Any, columns: Sequence[str], client: Randomizer) -> Any:
    kind = KINDS["pyspark"][whole_coordinates(client.mechanism)]
    kept = [field for field in frame.schema.fields if field.name not in columns]
    types = library("pyspark.sql.types", "spark")
    schema = types.StructType(
        [types.StructField(name, types._parse_datatype_string(kind), nullable=False) for name in columns] + kept
    )
    order = [*columns, *(field.name for field in kept)]

    def private(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            yield randomized(batch, "pandas", columns, client)[order]

    return frame.mapInPandas(private, schema)
