"""A survey inside the table engines: all its columns change together, since one lot decides which are reported."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from inbounds.extras import library
from inbounds.trusted.incoming import as_array

if TYPE_CHECKING:
    from inbounds.local.survey import Survey


def surveyed(table: Any, engine: str, survey: "Survey") -> Any:
    """The table with reports in place of the survey's attributes; what `selected` returned comes in."""
    match engine:
        case "pandas":
            reports = survey.arrays({name: as_array("pandas", table[name]) for name in survey.mechanisms})
            return table.assign(**{name: column.tolist() for name, column in reports.items()})
        case "polars":
            return _polars(table, survey)
        case "pyarrow" | "duckdb":
            return _arrow(table, survey)
    return _spark(table, survey)


def _types(survey: "Survey") -> dict[str, Any]:
    pyarrow = library("pyarrow", "local")
    kinds = {"i": pyarrow.int64(), "f": pyarrow.float64(), "O": pyarrow.string()}
    return {name: kinds[client.kind] for name, client in survey.clients.items()}


def _changed(table: Any, survey: "Survey") -> Any:
    """An Arrow table or batch with the reports, typed alike whatever was drawn."""
    pyarrow, types = library("pyarrow", "local"), _types(survey)
    columns = {name: as_array("arrow", table.column(name)) for name in survey.mechanisms}
    for name, reports in survey.arrays(columns).items():
        field = pyarrow.field(name, types[name])
        table = table.set_column(
            table.schema.get_field_index(name), field, pyarrow.array(reports.tolist(), types[name])
        )
    return table


def _arrow(table: Any, survey: "Survey") -> Any:
    """A table or batch at once, a reader batch by batch."""
    pyarrow = library("pyarrow", "local")
    if isinstance(table, pyarrow.Table | pyarrow.RecordBatch):
        return _changed(table, survey)
    schema = table.schema
    for name, kind in _types(survey).items():
        schema = schema.set(schema.get_field_index(name), pyarrow.field(name, kind))
    return pyarrow.RecordBatchReader.from_batches(schema, (_changed(batch, survey) for batch in table))


def _polars(table: Any, survey: "Survey") -> Any:
    polars = library("polars", "local")

    def changed(frame: Any) -> Any:
        return polars.from_arrow(_changed(frame.to_arrow(), survey))

    if not isinstance(table, polars.LazyFrame):
        return changed(table)
    kinds = {"int64": polars.Int64, "double": polars.Float64, "string": polars.String}
    given = {name: kinds[str(kind)] for name, kind in _types(survey).items()}
    return table.map_batches(
        changed,
        schema={**table.collect_schema(), **given},
        predicate_pushdown=False,  # a filter below would choose by true values; older versions push it there unasked
        projection_pushdown=False,
        slice_pushdown=False,
    )


def _spark(frame: Any, survey: "Survey") -> Any:
    """Batches of Arrow on the executors; the mechanisms travel there and are checked again when they arrive."""
    kinds = {"int64": "bigint", "double": "double", "string": "string"}
    given = {name: kinds[str(kind)] for name, kind in _types(survey).items()}
    fields = (f"`{name}` {given.get(name, kind)}" for name, kind in frame.dtypes)

    def private(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            yield _changed(batch, survey)

    return frame.mapInArrow(private, ", ".join(fields))
