"""The same two lines on every engine: reports come out, only counts come back, missing values are refused."""

from fractions import Fraction

import numpy as np
import pytest

import inbounds as ib
from inbounds import local
from inbounds.local.collector import Collector
from inbounds.local.reconstruct import reconstruct
from raising import rejects

AGES = ib.catalog.truncated_geometric(ib.ordinal(0, 6), Fraction(1, 2))
TENTHS = ib.catalog.truncated_geometric(ib.mean(10, 0, 1), 1)
DRINKS = ib.catalog.randomized_response(ib.category(["tea", "coffee", "water"]), 1)
STEEP = ib.catalog.truncated_geometric(ib.ordinal(0, 6), 60)
"""So little noise that a report is its value: shows which value a report belongs to."""

COLUMNS = {
    "age": np.arange(700) % 7,
    "share": (np.arange(700) % 11) / 10,
    "drink": np.array(["tea", "coffee"])[np.arange(700) % 2],
    "row": np.arange(700),
}
CASES = [("age", AGES), ("share", TENTHS), ("drink", DRINKS)]
ENGINES = ["pandas", "polars", "polars lazy", "arrow", "arrow reader", "duckdb"]


def table(engine: str, columns=COLUMNS):
    """The columns as a table of the engine; a skip names the engine that is not installed."""
    arrow = pytest.importorskip("pyarrow")
    plain = {name: values.tolist() for name, values in columns.items()}
    match engine:
        case "pandas":
            return pytest.importorskip("pandas").DataFrame(plain)
        case "polars":
            return pytest.importorskip("polars").DataFrame(plain)
        case "polars lazy":
            return pytest.importorskip("polars").LazyFrame(plain)
        case "arrow":
            return arrow.table(plain)
        case "arrow reader":
            return arrow.table(plain).to_reader(max_chunksize=100)
        case "duckdb":
            connection = pytest.importorskip("duckdb").connect()
            connection.register("plain", arrow.table(plain))
            return connection.sql("select * from plain")
    raise AssertionError(engine)


def values(engine: str, found, column: str) -> list:
    """A column of a table as Python values."""
    match engine:
        case "pandas":
            return found[column].tolist()
        case "polars":
            return found[column].to_list()
        case "polars lazy":
            return found.collect()[column].to_list()
        case "arrow":
            return found.column(column).to_pylist()
    return found.read_all().column(column).to_pylist()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("column", "mechanism"), CASES, ids=[name for name, _ in CASES])
def test_a_column_is_randomized_in_place_and_the_others_are_untouched(engine, column, mechanism):
    private = local.randomize(table(engine), column, mechanism, keep=["row"])
    if engine in ("arrow reader", "duckdb"):
        private = private.read_all()
        engine = "arrow"
    reports = values(engine, private, column)
    assert set(reports) <= set(mechanism.query.output_values.tolist())
    assert reports != COLUMNS[column].tolist()  # 700 reports all equal to their values: below 1e-100
    assert values(engine, private, "row") == COLUMNS["row"].tolist()


@pytest.mark.parametrize("engine", ENGINES)
def test_reports_stay_in_the_rows_of_their_values(engine):
    assert values(engine, local.randomize(table(engine), "age", STEEP), "age") == COLUMNS["age"].tolist()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("column", "mechanism"), CASES, ids=[name for name, _ in CASES])
def test_the_engine_counts_what_a_collector_counts(engine, column, mechanism):
    expected = Collector(mechanism).add(COLUMNS[column])
    assert local.collect(table(engine), column, mechanism) == expected


@pytest.mark.parametrize("engine", ENGINES)
def test_raw_columns_stay_behind_unless_they_are_kept(engine):
    bare = local.randomize(table(engine), "age", AGES)
    kept = local.randomize(table(engine), "age", AGES, keep=["row", "drink"])
    names = [
        t.collect_schema().names() if engine == "polars lazy" else list(getattr(t, "columns", ())) for t in (bare, kept)
    ]
    if engine in ("arrow", "arrow reader", "duckdb"):
        names = [t.schema.names for t in (bare, kept)]
    assert names == [["age"], ["age", "row", "drink"]]
    with rejects(ValueError, "keep"):
        local.randomize(table(engine), "age", AGES, keep=["age"])
    with rejects(TypeError, "keep"):
        local.randomize(table(engine), "age", AGES, keep="row")


@pytest.mark.parametrize("engine", ENGINES)
def test_strata_are_counted_in_one_pass(engine):
    strata = local.collect(table(engine), "age", AGES, by="drink", shard="week 46")
    assert list(strata) == ["coffee", "tea"]
    for drink in strata:
        expected = Collector(AGES).add(COLUMNS["age"][COLUMNS["drink"] == drink])
        assert strata[drink] == expected
    assert strata.total == Collector(AGES).add(COLUMNS["age"])
    with rejects(ValueError, "shards", about="'week 46: coffee'"):
        strata + local.collect(table(engine), "age", AGES, by="drink", shard="week 46")
    twice = strata + local.collect(table(engine), "age", AGES, by=["drink"], shard="week 47")
    assert twice["tea"].total == 2 * strata["tea"].total
    pairs = local.collect(table(engine), "age", AGES, by=["drink", "share"])
    assert len(pairs) == 22
    assert pairs["tea", 0.0].total == (COLUMNS["share"][::2] == 0).sum()


def test_strata_that_are_missing_or_differ_are_refused():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": [1, 2], "city": ["A", None]})
    with rejects(ValueError, "strata"):
        local.collect(frame, "age", AGES, by="city")
    strata = local.collect(frame.assign(city="A"), "age", AGES, by="city")
    with rejects(ValueError, "strata"):
        strata + local.collect(frame.assign(town="A"), "age", AGES, by="town")
    with rejects(KeyError, about="stratum"):
        strata["B"]
    with rejects(ValueError, "asked"):
        local.collect(frame, "age", AGES, asked="few")


@pytest.mark.parametrize("engine", ENGINES)
def test_an_empty_table_collects_nothing(engine):
    none = {"age": np.array([], dtype=np.int64)}
    empty = table(engine, {"age": np.array([1])})
    empty = {"pandas": lambda t: t.iloc[:0], "duckdb": lambda t: t.limit(0)}.get(engine, lambda t: None)(empty)
    if empty is None:
        arrow = pytest.importorskip("pyarrow")
        plain = arrow.table({"age": arrow.array(none["age"])})
        polars = pytest.importorskip("polars")
        empty = {
            "polars": lambda: polars.from_arrow(plain),
            "polars lazy": lambda: polars.from_arrow(plain).lazy(),
            "arrow": lambda: plain,
            "arrow reader": plain.to_reader,
        }[engine]()
    assert local.collect(empty, "age", AGES).total == 0


@pytest.mark.parametrize("engine", ["pandas", "polars", "polars lazy", "arrow", "duckdb"])
def test_missing_values_are_refused_because_a_missing_report_would_show_them(engine):
    arrow = pytest.importorskip("pyarrow")
    plain = arrow.table({"age": [1, None, 3]})
    match engine:
        case "pandas":
            holed = plain.to_pandas()
        case "polars" | "polars lazy":
            frame = pytest.importorskip("polars").from_arrow(plain)
            holed = frame.lazy() if engine == "polars lazy" else frame
        case "duckdb":
            holed = pytest.importorskip("duckdb").connect().from_arrow(plain)
        case _:
            holed = plain
    with pytest.raises(Exception, match="missing"):  # DuckDB raises its own
        values(engine, local.randomize(holed, "age", AGES), "age")
    with rejects(ValueError, "reports", about="missing"):
        local.collect(holed, "age", AGES)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_column_that_is_not_there_is_named(engine):
    with rejects(ValueError, "column"):
        local.randomize(table(engine), "wage", AGES)
    with rejects(ValueError, "column", about="wage"):
        local.collect(table(engine), "wage", AGES)


def test_a_column_that_stands_twice_is_refused():
    pandas, arrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    for twice in (pandas.DataFrame([[1, 2]], columns=["age", "age"]), arrow.table([[1], [2]], ["age", "age"])):
        with rejects(ValueError, about="column"):
            local.randomize(twice, "age", AGES)


def test_what_is_not_a_table_is_refused():
    with rejects(TypeError, "table"):
        local.randomize({"age": [1]}, "age", AGES)


def test_single_columns_keep_their_kind_and_name():
    client = local.make_randomizer(STEEP)
    polars, pandas, arrow = (pytest.importorskip(name) for name in ("polars", "pandas", "pyarrow"))
    series = client(polars.Series("age", [1, 2]))
    assert (series.name, series.to_list()) == ("age", [1, 2])
    column = client(pandas.Series([3, 4], index=[7, 9], name="age"))
    assert (column.name, column.index.tolist(), column.tolist()) == ("age", [7, 9], [3, 4])
    assert client(arrow.array([5, 6])).to_pylist() == [5, 6]
    assert client(arrow.chunked_array([[1], [2, 3]])).to_pylist() == [1, 2, 3]
    assert client(arrow.array([5, 6], type=arrow.int8())).to_pylist() == [5, 6]


def test_clamping_reaches_every_engine():
    wide = {"age": np.array([-4, 3, 99])}
    for engine in ENGINES:
        clamped = local.randomize(table(engine, wide), "age", STEEP, outside="clamp")
        assert values(engine, clamped, "age") == [0, 3, 6]


# --- DuckDB's own SQL -------------------------------------------------------------------------------------


@pytest.fixture
def connection():
    pytest.importorskip("pyarrow")
    found = pytest.importorskip("duckdb").connect()
    found.execute("create table people as select range % 7 as age, range as row from range(20000)")
    yield found
    found.close()


def test_a_registered_function_draws_for_every_row(connection):
    """A function that DuckDB took for a constant would give 20,000 equal reports of the constant 3."""
    local.register(connection, "private_age", AGES)
    rows = connection.execute("select private_age(row, 3), count(*) from people group by 1").fetchall()
    assert sum(times for _, times in rows) == 20_000
    assert len(rows) == 7
    local.register(connection, "same", STEEP)
    assert connection.execute("select count(*) from people where same(row, age) = age").fetchone() == (20_000,)


def test_a_registered_function_takes_labels_and_fractions(connection):
    local.register(connection, "private_drink", DRINKS)
    local.register(connection, "private_share", TENTHS)
    drinks = connection.execute("select distinct private_drink(row, 'tea') from people").fetchall()
    assert {drink for (drink,) in drinks} == {"tea", "coffee", "water"}
    shares = connection.execute("select distinct private_share(row, 0.3) from people").fetchall()
    assert {round(share * 10) for (share,) in shares} == set(range(11))


def test_a_registered_function_refuses_missing_values_and_those_outside(connection):
    local.register(connection, "private_age", AGES)
    with pytest.raises(Exception, match="missing"):
        connection.execute("select private_age(row, null::bigint) from people").fetchall()
    with pytest.raises(Exception, match="grid") as caught:
        connection.execute("select private_age(row, 7654321) from people").fetchall()
    assert "7654321" not in str(caught.value)


def test_reports_made_and_counted_inside_duckdb_reconstruct_the_distribution(connection):
    local.register(connection, "private_age", AGES)
    connection.execute("create table reports as select private_age(row, age % 3) as age from people")
    collected = local.collect(connection.table("reports"), "age", AGES)
    assert collected.total == 20_000
    found = reconstruct(collected).distribution
    assert found[:3].sum() > 0.7  # the standard error of this share is below 0.03


# --- Spark ------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
class TestSpark:
    """One line moves a job there; tested in local mode."""

    def frame(self, spark, columns=COLUMNS):
        plain = {name: values.tolist() for name, values in columns.items()}
        rows = list(zip(*plain.values(), strict=True))
        return spark.createDataFrame(rows, list(plain)).repartition(5)

    @pytest.mark.parametrize(("column", "mechanism"), CASES, ids=[name for name, _ in CASES])
    def test_a_column_is_randomized_on_the_executors(self, spark, column, mechanism):
        private = local.randomize(self.frame(spark), column, mechanism, keep=["row"])
        rows = {row["row"]: row[column] for row in private.collect()}
        assert len(rows) == 700
        assert set(rows.values()) <= set(mechanism.query.output_values.tolist())
        assert [rows[k] for k in range(700)] != COLUMNS[column].tolist()

    def test_reports_stay_in_the_rows_of_their_values(self, spark):
        private = local.randomize(self.frame(spark), "age", STEEP, keep=["row"])
        assert all(row["age"] == row["row"] % 7 for row in private.collect())

    @pytest.mark.parametrize(("column", "mechanism"), CASES, ids=[name for name, _ in CASES])
    def test_spark_counts_what_a_collector_counts(self, spark, column, mechanism):
        expected = Collector(mechanism).add(COLUMNS[column].astype(object) if column == "drink" else COLUMNS[column])
        assert local.collect(self.frame(spark), column, mechanism) == expected

    @pytest.mark.parametrize("labels", [30, 1000])
    def test_sets_of_labels_are_drawn_on_the_executors_and_counted_there(self, spark, labels):
        mechanism = local.best_label_mechanism(ib.category(labels), 1)
        people = spark.range(50_000).selectExpr("id % 3 as town")
        private = local.randomize(people, "town", mechanism).cache()
        collected = local.collect(private, "town", mechanism)
        assert collected == Collector(mechanism).add(np.array([row["town"] for row in private.collect()]))
        found = reconstruct(collected).distribution
        assert np.abs(found[:3] - 1 / 3).max() < 0.06  # six standard errors, 2e-9

    def test_a_job_runs_from_values_to_a_distribution(self, spark):
        people = spark.range(200_000).selectExpr("id % 3 as age")
        private = local.randomize(people, "age", AGES)
        collected = local.collect(private, "age", AGES)
        assert collected.total == 200_000
        found = reconstruct(collected).distribution
        assert np.abs(found[:3] - 1 / 3).max() < 0.1  # standard errors are below 0.01

    def test_missing_values_and_those_outside_are_refused(self, spark):
        holed = spark.createDataFrame([(1,), (None,)], "age bigint")
        with pytest.raises(Exception, match="missing"):
            local.randomize(holed, "age", AGES).collect()
        wide = spark.createDataFrame([(1,), (7654321,)], "age bigint")
        with pytest.raises(Exception, match="grid"):
            local.randomize(wide, "age", AGES).collect()
        clamped = local.randomize(wide, "age", STEEP, outside="clamp").collect()
        assert sorted(row["age"] for row in clamped) == [1, 6]

    def test_a_column_that_is_not_there_is_named(self, spark):
        with rejects(ValueError, "column", about="'wage'"):
            local.randomize(self.frame(spark), "wage", AGES)
