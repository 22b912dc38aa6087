"""Randomize and collect columns on every table engine, with the same two calls.

The table decides the engine: Arrow, Polars (also lazy), pandas, DuckDB or Spark. Values are randomized where they are.
The result of `randomize` holds finished reports, one draw for each row (`inbounds.local.frames` explains it for each
engine).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from inbounds.local import coordinates
from inbounds.local.client import Outside, Randomizer
from inbounds.local.collector import Collector
from inbounds.local.coordinates import need_axes
from inbounds.local.frames import replace_columns
from inbounds.local.reports import check_local_mechanism
from inbounds.local.strata import StratifiedCollector
from inbounds.mechanism import Mechanism
from inbounds.optional import import_optional

KNOWN = "an Arrow, Polars or pandas table, a DuckDB relation or a Spark DataFrame"


def detect_engine(table: Any) -> str:
    """Detect the engine of a table from the module of its type; no engine is imported."""
    for base in type(table).__mro__:
        package = base.__module__.partition(".")[0].lstrip("_")
        if package in ("pyarrow", "polars", "pandas", "duckdb", "pyspark"):
            return package
    raise TypeError(f"table must be {KNOWN}, got {type(table).__name__}")


def randomize(
    table: Any,
    column: str | Sequence[str],
    mechanism: Mechanism,
    *,
    keep: Sequence[str] = (),
    outside: Outside = "refuse",
) -> Any:
    """Return a table with private reports in place of `column`, one independent draw for each row.

    column: for places the column of their names, or one column for each coordinate, such as ["row", "column"]. keep:
    other columns to copy; all others are dropped, because they may reveal what the reports hide. outside: as for
    `ib.local.make_randomizer`.

    The result holds finished reports: using it twice does not draw twice. Each call draws again, and two reports about
    one value reveal twice as much. Arrow, Polars, pandas and Spark return a table of their kind. A lazy Polars frame is
    collected here. Spark runs one job and stores the reports in its checkpoint directory, or in local mode in the
    session. A DuckDB relation and an Arrow reader return an Arrow reader, which draws batch by batch and can be read
    once.

        private = ib.local.randomize(people, "age", mechanism, keep=["city"])
        private = ib.local.randomize(people, ["row", "column"], on_a_map)
    """
    check_local_mechanism(mechanism)
    client, engine = Randomizer(mechanism, outside), detect_engine(table)
    if isinstance(column, str):
        chosen = select_columns(table, engine, [column], keep)
        return replace_columns(chosen, engine, {column: client.kind}, lambda v: {column: client.array(v[column])})
    need_axes(mechanism, column)

    def draw(values: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        reports = coordinates.draw_coordinates(client, [values[name] for name in column])
        return dict(zip(column, reports.T, strict=True))

    kinds = dict.fromkeys(column, coordinates.kind(mechanism))
    return replace_columns(select_columns(table, engine, column, keep), engine, kinds, draw)


@overload
def collect(
    table: Any, column: str | Sequence[str], mechanism: Mechanism, *, shard: str | None = ..., asked: str = ...
) -> Collector: ...
@overload
def collect(
    table: Any,
    column: str | Sequence[str],
    mechanism: Mechanism,
    *,
    by: str | Sequence[str],
    shard: str | None = ...,
    asked: str = ...,
) -> StratifiedCollector: ...
def collect(
    table: Any,
    column: str | Sequence[str],
    mechanism: Mechanism,
    *,
    by: str | Sequence[str] | None = None,
    shard: str | None = None,
    asked: str = "all",
) -> Collector | StratifiedCollector:
    """Count the reports in `column` with the table's engine and return a collector; only counts leave the engine.

    column: of places the column of their names, or one for each coordinate. by: a column, or several, of strata; the
    collectors of all of them, in one pass. shard: a name for these reports, which cannot be merged a second time.
    asked: "some" where reports are missing of people who were not asked, as in a survey that samples its attributes; a
    missing report is refused otherwise.

        ib.reconstruct(ib.local.collect(private, "age", mechanism)).distribution
        ib.local.collect(private, "age", mechanism, by="city")["Lyon"].total
    """
    check_local_mechanism(mechanism)
    if asked not in ("all", "some"):
        raise ValueError(f"asked must be 'all' or 'some', got {asked!r}")
    names = [by] if isinstance(by, str) else list(by or ())
    engine = detect_engine(table)
    axes = [column] if isinstance(column, str) else list(column)
    if not isinstance(column, str):
        need_axes(mechanism, axes)
    require_engine(table, engine, [*axes, *names])
    rows = _count_combinations(table, engine, [*names, *axes])
    if not isinstance(column, str):
        rows = [(*row[: len(names)], _together(row[len(names) : -1]), row[-1]) for row in rows]
    answered = [row for row in rows if asked == "all" or not _missing(row[-2])]
    if not names:
        return _collect_grouped(Collector(mechanism, shard), ((row[0], row[1]) for row in answered))
    return _collect_strata(mechanism, shard, names, answered)


# --- per engine -------------------------------------------------------------------------------------------


def require_engine(table: Any, engine: str, columns: Iterable[str]) -> None:
    """Refuse a column that the table does not have."""
    if engine == "polars":
        names = table.lazy().collect_schema().names()
    elif engine == "pyarrow":
        names = table.schema.names
    else:
        names = list(table.columns)
    for column in columns:
        if column not in names:
            raise ValueError(f"column must be one of {', '.join(map(repr, names))}, got {column!r}")
        if list(names).count(column) > 1:
            raise ValueError(f"column {column!r} must stand in the table once")


def select_columns(table: Any, engine: str, columns: Sequence[str], keep: Sequence[str]) -> Any:
    """Return the table with only these columns; a DuckDB relation and a reader become a reader. Values are not read."""
    if isinstance(keep, str):
        raise TypeError(f"keep must be a list of columns, got the text {keep!r}; write [{keep!r}]")
    names = [*columns, *keep]
    if len(set(names)) < len(names):
        raise ValueError("keep must name other columns than those that are randomized, each once")
    require_engine(table, engine, names)
    match engine:
        case "pandas":
            return table[names]
        case "polars" | "pyspark":
            return table.select(names)
        case "duckdb":
            chosen = table.project(", ".join(map(_quote, names)))
            return (chosen.to_arrow_reader if hasattr(chosen, "to_arrow_reader") else chosen.fetch_record_batch)()
    if hasattr(table, "select"):
        return table.select(names)
    pyarrow = import_optional("pyarrow", "local")
    schema = pyarrow.schema([table.schema.field(name) for name in names])
    return pyarrow.RecordBatchReader.from_batches(schema, (batch.select(names) for batch in table))


def _count_combinations(table: Any, engine: str, columns: list[str]) -> list[tuple[Any, ...]]:
    """Return each combination of values that occurs, and how often: (*values, times)."""
    match engine:
        case "pandas":
            counted = table.groupby(columns, dropna=False, observed=True, sort=False).size()
            keys = (key if isinstance(key, tuple) else (key,) for key in counted.index)
            return [(*key, times) for key, times in zip(keys, counted.tolist(), strict=True)]
        case "polars":
            return list(table.lazy().group_by(columns).len(name="times of a report").collect().rows())
        case "pyarrow":
            return [row for batch in _tables(table) for row in _arrow_counted(batch, columns)]
        case "duckdb":
            names = ", ".join(map(_quote, columns))
            return list(table.aggregate(f"{names}, count(*)", names).fetchall())
    return [tuple(row) for row in table.groupBy(*columns).count().collect()]


def _tables(table: Any) -> Iterator[Any]:
    """Yield an Arrow table as it is, a batch or the batches of a reader as tables."""
    pyarrow = import_optional("pyarrow", "local")
    if isinstance(table, pyarrow.Table):
        yield table
        return
    for batch in [table] if isinstance(table, pyarrow.RecordBatch) else table:
        yield pyarrow.Table.from_batches([batch])


def _arrow_counted(table: Any, columns: list[str]) -> list[tuple[Any, ...]]:
    counted = table.group_by(columns).aggregate([([], "count_all")])
    return list(zip(*(counted.column(name).to_pylist() for name in [*columns, "count_all"]), strict=True))


def _collect_strata(
    mechanism: Mechanism, shard: str | None, names: list[str], rows: list[tuple[Any, ...]]
) -> StratifiedCollector:
    """Collect each stratum. Shards are named after their stratum too, so that strata can be merged."""
    parts: dict[Any, list[tuple[Any, Any]]] = {}
    for *key, report, times in rows:
        parts.setdefault(key[0] if len(names) == 1 else tuple(key), []).append((report, times))
    collectors = {
        key: _collect_grouped(Collector(mechanism, None if shard is None else f"{shard}: {key}"), pairs)
        for key, pairs in parts.items()
    }
    return StratifiedCollector.from_collectors(names, collectors)


def _together(coordinates: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return the coordinates of each report together; a report is missing if one of its coordinates is."""
    return None if any(map(_missing, coordinates)) else coordinates


def _missing(report: Any) -> bool:
    return report is None or report != report


def _collect_grouped(collector: Collector, rows: Any) -> Collector:
    """Collect pairs (report, times)."""
    pairs = list(rows)
    if not pairs:
        return collector
    reports, times = zip(*pairs, strict=True)
    if any(map(_missing, reports)):
        raise ValueError("reports must not be missing; where only some people were asked, say asked='some'")
    return collector.add_counts(np.array(reports), np.array(times, dtype=np.int64))


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
