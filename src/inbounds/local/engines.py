"""The same two lines on every table engine: randomize a column, collect a column of reports.

The table decides the engine: Arrow, Polars (also lazy), pandas, DuckDB and Spark. Values are randomized where they
are; what comes out of `randomize` has reports in place of values. A lazy table is randomized anew whenever it is
evaluated, and two reports about one value reveal twice as much: write the reports once, then use what was written.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from inbounds.extras import library
from inbounds.local.client import Outside, Randomizer
from inbounds.local.collector import Collector
from inbounds.mechanism import Mechanism
from inbounds.trusted.incoming import as_array

KNOWN = "an Arrow, Polars or pandas table, a DuckDB relation or a Spark DataFrame"


def engine_of(table: Any) -> str:
    """The engine a table belongs to, from the module of its type; no engine is imported to find out."""
    for base in type(table).__mro__:
        package = base.__module__.partition(".")[0].lstrip("_")
        if package in ("pyarrow", "polars", "pandas", "duckdb", "pyspark"):
            return package
    raise TypeError(f"table must be {KNOWN}, got {type(table).__name__}")


def randomize(table: Any, column: str, mechanism: Mechanism, *, outside: Outside = "refuse") -> Any:
    """The table with private reports in place of the values of `column`.

    Arrow, Polars, pandas and Spark give a table of their own kind; a DuckDB relation gives an Arrow reader, batch
    by batch (`register` puts a function into DuckDB itself). outside: as for `ib.local.randomizer`.

        private = ib.local.randomize(people, "age", mechanism)
    """
    client, engine = Randomizer(mechanism, outside), engine_of(table)
    _need(table, engine, column)
    match engine:
        case "pandas":
            return table.assign(**{column: client(table[column])})
        case "polars":
            return table.with_columns(_polars_expression(client, column))
        case "pyarrow":
            return _arrow(table, column, client)
        case "duckdb":
            reader = table.to_arrow_reader if hasattr(table, "to_arrow_reader") else table.fetch_record_batch
            return _arrow(reader(), column, client)
    from inbounds.local.spark import randomized

    return randomized(table, column, client)


def collect(table: Any, column: str, mechanism: Mechanism) -> Collector:
    """A collector of the reports in `column`, counted by the engine itself: only the counts come back.

    ib.reconstruct(ib.local.collect(private, "age", mechanism)).distribution
    """
    collector, engine = Collector(mechanism), engine_of(table)
    _need(table, engine, column)
    match engine:
        case "pandas":
            return _grouped(collector, table[column].value_counts(dropna=False).items())
        case "polars":
            counted = table.lazy().group_by(column).len(name="times").collect()
            return _grouped(collector, counted.rows())
        case "pyarrow":
            return _collected(collector, table, column)
        case "duckdb":
            name = _quoted(column)
            return _grouped(collector, table.aggregate(f"{name}, count(*)", name).fetchall())
    return _grouped(collector, ((row[0], row[1]) for row in table.groupBy(column).count().collect()))


def register(connection: Any, name: str, mechanism: Mechanism, *, outside: Outside = "refuse") -> None:
    """Put the randomizer into a DuckDB connection as the SQL function `name`.

    ib.local.register(connection, "private_age", mechanism)
    connection.execute("create table reports as select private_age(age) as age from people")
    """
    pyarrow, client = library("pyarrow", "local"), Randomizer(mechanism, outside)
    kind = {"i": "BIGINT", "f": "DOUBLE", "O": "VARCHAR"}
    taken = "VARCHAR" if mechanism.query.labels else kind["i" if _whole(mechanism) else "f"]

    def private(values: Any) -> Any:
        return pyarrow.array(client(values).to_pylist())

    # A volatile function is drawn for every row; "special" passes missing values in, where they are refused:
    # left to itself DuckDB would answer NULL for them.
    given = kind[mechanism.query.reported.dtype.kind]
    connection.create_function(name, private, [taken], given, type="arrow", null_handling="special", side_effects=True)


# --- per engine -------------------------------------------------------------------------------------------


def _need(table: Any, engine: str, column: str) -> None:
    if engine == "polars":
        names = table.lazy().collect_schema().names()
    elif engine == "pyarrow":
        names = table.schema.names
    else:
        names = list(table.columns)
    if column not in names:
        raise ValueError(f"column must be one of {', '.join(map(repr, names))}, got {column!r}")


def _whole(mechanism: Mechanism) -> bool:
    answers = mechanism.query.answers
    return not mechanism.query.rounds and answers.start.denominator == answers.unit.denominator == 1


def _polars_expression(client: Randomizer, column: str) -> Any:
    polars = library("polars", "local")
    kinds = {"i": polars.Int64, "f": polars.Float64, "O": polars.String}
    given = kinds[client.mechanism.query.reported.dtype.kind]
    return polars.col(column).map_batches(client, return_dtype=given, is_elementwise=True)


def _arrow(table: Any, column: str, client: Randomizer) -> Any:
    """A table at once, a reader batch by batch."""
    pyarrow = library("pyarrow", "local")
    place = table.schema.get_field_index(column)
    if isinstance(table, pyarrow.Table | pyarrow.RecordBatch):
        return table.set_column(place, column, client(table.column(place)))
    kinds = {"i": pyarrow.int64(), "f": pyarrow.float64(), "O": pyarrow.string()}
    given = pyarrow.field(column, kinds[client.mechanism.query.reported.dtype.kind])

    def batches() -> Iterator[Any]:
        for batch in table:
            yield batch.set_column(place, given, client(batch.column(place)))

    return pyarrow.RecordBatchReader.from_batches(table.schema.set(place, given), batches())


def _collected(collector: Collector, table: Any, column: str) -> Collector:
    whole = [table] if type(table).__name__ == "RecordBatch" else None
    for batch in whole or (table.to_batches() if hasattr(table, "to_batches") else table):
        collector.add(as_array("arrow", batch.column(column)))
    return collector


def _grouped(collector: Collector, rows: Any) -> Collector:
    """From pairs (report, times)."""
    pairs = list(rows)
    if not pairs:
        return collector
    reports, times = zip(*pairs, strict=True)
    if any(report is None or report != report for report in reports):
        raise ValueError("reports must not be missing")
    return collector.add_counts(np.array(reports), np.array(times, dtype=np.int64))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
