"""Places whose row and column stand in two columns, on every engine."""

import numpy as np
import pytest

import inbounds as ib
from raising import rejects

pa, pl, pd, duckdb = (pytest.importorskip(name) for name in ("pyarrow", "polars", "pandas", "duckdb"))

MAP = ib.grid(3, 4, metric="manhattan")
SURE = ib.catalog.metric_geometric(MAP, 60)
"""Reports the truth but for a chance of 10^-26."""
NOISY = ib.catalog.metric_geometric(MAP, 1)
PEOPLE = {"y": [0, 1, 2, 2], "x": [3, 0, 1, 1], "name": ["a", "b", "c", "d"], "id": [7, 8, 9, 10]}
TABLES = {
    "pandas": lambda: pd.DataFrame(PEOPLE),
    "polars": lambda: pl.DataFrame(PEOPLE),
    "polars lazy": lambda: pl.LazyFrame(PEOPLE),
    "arrow": lambda: pa.table(PEOPLE),
    "reader": lambda: pa.table(PEOPLE).to_reader(max_chunksize=2),
    "duckdb": lambda: duckdb.from_arrow(pa.table(PEOPLE)),
}


def as_dict(table):
    if isinstance(table, pl.LazyFrame):
        table = table.collect()
    if isinstance(table, pl.DataFrame):
        return table.to_dict(as_series=False)
    if isinstance(table, pd.DataFrame):
        return table.to_dict("list")
    return (table.read_all() if hasattr(table, "read_all") else table).to_pydict()


@pytest.mark.parametrize("engine", TABLES)
def test_both_coordinates_are_randomized_together_and_others_stay_behind(engine):
    private = as_dict(ib.local.randomize(TABLES[engine](), ["y", "x"], SURE, keep=["id"]))
    assert private == {name: PEOPLE[name] for name in ("y", "x", "id")}


@pytest.mark.parametrize("engine", TABLES)
def test_reports_in_two_columns_are_collected_and_counted(engine):
    expected = ib.Collector(SURE).add(np.array([PEOPLE["y"], PEOPLE["x"]]).T)
    assert np.array_equal(ib.local.collect(TABLES[engine](), ["y", "x"], SURE).counts, expected.counts)
    strata = ib.local.collect(TABLES[engine](), ["y", "x"], SURE, by="name")
    assert strata["c"].total == 1


def test_a_lazy_table_draws_both_coordinates_at_once():
    """With the truth in a corner, row and column of one report must be a place that one draw gives."""
    many = pl.LazyFrame({"y": np.zeros(4000, dtype=np.int64), "x": np.zeros(4000, dtype=np.int64)})
    found = ib.local.randomize(many, ["y", "x"], NOISY).collect()
    counts = ib.local.collect(found, ["y", "x"], NOISY).counts
    expected = 4000 * NOISY.matrix[:, 0]
    assert (np.abs(counts - expected) <= 7 * np.sqrt(expected + 1)).all()


def test_a_duckdb_function_takes_two_columns_and_reports_names():
    with duckdb.connect() as connection:
        ib.local.register(connection, "private_place", SURE, by_coordinates=True)
        connection.register("people", pa.table(PEOPLE))
        rows = connection.execute("select private_place(id, y, x) from people").fetchall()
        assert [row[0] for row in rows] == ["0,3", "1,0", "2,1", "2,1"]
        with pytest.raises(duckdb.Error, match="missing"):
            connection.execute("select private_place(id + 10, null, x) from people").fetchall()


def test_missing_coordinates_and_wrong_columns_are_refused():
    holed = pd.DataFrame({"y": [0, None], "x": [1, 1]})
    with rejects(ValueError, "values", about="missing"):
        ib.local.randomize(holed, ["y", "x"], SURE)
    with rejects(ValueError, "reports", about="missing"):
        ib.local.collect(holed, ["y", "x"], SURE)
    assert ib.local.collect(holed, ["y", "x"], SURE, asked="some").total == 1
    for columns in (["y"], ["y", "x", "id"], ["y", "y"]):
        with rejects(ValueError, "column", about="coordinate"):
            ib.local.randomize(pd.DataFrame(PEOPLE), columns, SURE)
    with rejects(ValueError, "column", about="coordinates"):
        ib.local.randomize(pd.DataFrame(PEOPLE), ["y", "x"], ib.catalog.randomized_response(ib.category(["a", "b"]), 1))
    with rejects(ValueError, about="places"):
        ib.local.randomize(pd.DataFrame({"y": [9], "x": [9]}), ["y", "x"], SURE)


def test_a_map_with_fractional_steps_gives_fractions():
    half = ib.catalog.metric_geometric(ib.grid(3, 4, step="0.5", metric="manhattan"), 60)
    people = pd.DataFrame({"y": [0.5, 1.0], "x": [1.5, 0.0]})
    assert as_dict(ib.local.randomize(people, ["y", "x"], half)) == {"y": [0.5, 1.0], "x": [1.5, 0.0]}
    lazy = ib.local.randomize(pl.from_pandas(people).lazy(), ["y", "x"], half).collect()
    assert as_dict(lazy) == {"y": [0.5, 1.0], "x": [1.5, 0.0]}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_spark_randomizes_and_counts_two_columns(spark):
    frame = spark.createDataFrame(pd.DataFrame(PEOPLE))
    private = ib.local.randomize(frame, ["y", "x"], SURE, keep=["id"])
    assert sorted(tuple(row) for row in private.collect()) == sorted(
        zip(*(PEOPLE[c] for c in ("y", "x", "id")), strict=True)
    )
    assert ib.local.collect(frame, ["y", "x"], SURE).total == 4
