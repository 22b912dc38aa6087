"""One draw for each person: equal values have draws of their own, and no use of a table draws a person again.

Reports here are (nearly) uniform on many outputs, whatever the value. n independent draws then have

    E = outputs · (1 − (1 − 1/outputs)ⁿ)

different values on average. One draw changes their number by at most 1, so that it falls below E − t with a probability
of at most exp(−2t²/n) (McDiarmid): 10⁻¹³ for the t that is used, and that is the error rate of one check. There are
fewer than a thousand, here and in test_local_shapes.py. 4,000 people with 1,600 draws or fewer are found out as surely.
That a person has one report is checked exactly.
"""

import math
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

import inbounds as ib
from inbounds import local
from inbounds.local.spark import map_batches_once
from inbounds.mechanism import Mechanism
from inbounds.trusted.samplers import BLOCK
from raising import rejects

ROWS = 4000
SETS = local.hadamard_response(ib.category(4000), "0.001")
"""Reports one of 4,095 sets, each with a probability within 0.1 % of that of the others."""
BY_LOT = local.Survey({"x": SETS, "z": SETS}, "one")
KINDS = {"column": ["x"], "coordinates": ["y", "x"], "survey": ["x", "z"]}
"""What is randomized, and the columns it takes."""


@cache
def places() -> Mechanism:
    """Report one of 1,600 places, all equally likely. Not made by collecting: checking it takes half a second."""
    return ib.certify(np.full((1600, 1600), 1 / 1600), ib.grid(40, 40, metric="manhattan"), 1)


def assert_own_draws(reports: list, outputs: int = 4095) -> None:
    """Refute that the reports are independent draws, with an error of 10^-13."""
    expected = outputs * (1 - (1 - math.exp(-0.002) / outputs) ** len(reports))
    slack = math.sqrt(len(reports) * math.log(1e13) / 2)
    assert len(set(reports)) >= expected - slack


def randomize(kind: str, table, keep=("row",)):
    match kind:
        case "column":
            return local.randomize(table, "x", SETS, keep=list(keep))
        case "coordinates":
            return local.randomize(table, ["y", "x"], places(), keep=list(keep))
    return local.Survey({"x": SETS, "z": SETS}).randomize(table, keep=list(keep))


def check_kind(kind: str, columns: dict[str, list]) -> None:
    """Own draws in the columns of reports; a place is one report."""
    if kind == "coordinates":
        assert_own_draws(list(zip(columns["y"], columns["x"], strict=True)), 1600)
    else:
        for name in KINDS[kind]:
            assert_own_draws(columns[name])


def constant(kind: str) -> dict[str, list[int]]:
    return {"row": list(range(ROWS)), **{name: [3] * ROWS for name in KINDS[kind]}}


# --- a constant, on every engine ----------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("engine", ["pandas", "polars", "polars lazy", "arrow", "arrow reader", "duckdb"])
def test_equal_values_have_draws_of_their_own(engine, kind):
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table(constant(kind))
    match engine:
        case "pandas":
            found = randomize(kind, table.to_pandas()).to_dict("list")
        case "polars":
            found = randomize(kind, pytest.importorskip("polars").from_arrow(table)).to_dict(as_series=False)
        case "polars lazy":
            lazy = pytest.importorskip("polars").from_arrow(table).lazy()
            found = randomize(kind, lazy).collect().to_dict(as_series=False)
        case "arrow":
            found = randomize(kind, table).to_pydict()
        case "arrow reader":
            found = randomize(kind, table.to_reader(max_chunksize=300)).read_all().to_pydict()
        case "duckdb":
            values = ", ".join(f"3 as {name}" for name in KINDS[kind])
            relation = pytest.importorskip("duckdb").connect().sql(f"select range as row, {values} from range({ROWS})")
            found = randomize(kind, relation).read_all().to_pydict()
    assert sorted(found["row"]) == list(range(ROWS))
    check_kind(kind, found)


def encodings():
    """Columns that hold 4,000 equal values in less than 4,000 places."""
    arrow, pandas, polars = (pytest.importorskip(name) for name in ("pyarrow", "pandas", "polars"))
    runs = arrow.RunEndEncodedArray.from_arrays(arrow.array([ROWS]), arrow.array([3]))
    coded = arrow.array([3] * ROWS).dictionary_encode()
    return {
        "a dictionary": coded,
        "chunks with dictionaries": arrow.chunked_array([coded[:10], coded[10:]]),
        "runs": runs,
        "categories": pandas.Series([3] * ROWS, dtype="category"),
        "a sparse column": pandas.Series(pandas.arrays.SparseArray([3] * ROWS, fill_value=3)),
        "a view of one number": np.broadcast_to(3, ROWS),
        "a column of a broadcast number": pandas.Series(3, index=range(ROWS)),
        "an extended column": polars.Series([3]).new_from_index(0, ROWS),
        "a repeated literal": polars.select(polars.repeat(3, ROWS)).to_series(),
    }


@pytest.mark.parametrize("name", [*encodings()])
def test_encoded_columns_are_drawn_row_by_row(name):
    reports = local.make_randomizer(SETS)(encodings()[name])
    assert_own_draws([int(report) for report in np.asarray(reports)])


def test_labels_behind_dictionaries_and_enums_are_drawn_row_by_row():
    arrow, pandas, polars, duckdb = (pytest.importorskip(name) for name in ("pyarrow", "pandas", "polars", "duckdb"))
    mechanism = local.hadamard_response(ib.category([f"label {k}" for k in range(4000)]), "0.001")
    labels, few = ["label 3"] * ROWS, ["label 3", "label 4"]
    names = ", ".join(map(repr, few))
    tables = {
        "pandas": pandas.DataFrame({"x": pandas.Series(labels, dtype="category")}),
        "polars categories": polars.DataFrame({"x": polars.Series(labels, dtype=polars.Categorical)}),
        "polars enum": polars.DataFrame({"x": polars.Series(labels, dtype=polars.Enum(few))}).lazy(),
        "arrow": arrow.table({"x": arrow.array(labels).dictionary_encode()}),
        "duckdb": duckdb.connect().sql(f"select 'label 3'::enum({names}) as x from range({ROWS})"),
    }
    for table in tables.values():
        private = local.randomize(table, "x", mechanism)
        counted = local.collect(private, "x", mechanism).counts
        assert counted.sum() == ROWS
        assert_own_draws(np.repeat(np.arange(len(counted)), counted).tolist())


@pytest.mark.long
def test_blocks_of_many_places_are_drawn_place_by_place():
    """The randomizer works block by block; the blocks' own reports agree as rarely as any others."""
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"y": [3] * 2 * BLOCK, "x": [3] * 2 * BLOCK})
    found = local.randomize(frame, ["y", "x"], places())
    first, second = found[:BLOCK].rows(), found[BLOCK:].rows()
    equal = sum(a == b for a, b in zip(first, second, strict=True))
    assert equal < 250  # of 32,768 pairs 20.5 on average; a Poisson number is above 250 with 10^-150


# --- Polars -------------------------------------------------------------------------------------------------


@pytest.fixture
def hive(tmp_path):
    """A folder whose file has the rows, and whose path has the values."""
    polars = pytest.importorskip("polars")
    folder = tmp_path / "x=3" / "y=3" / "z=3"
    folder.mkdir(parents=True)
    polars.DataFrame({"row": range(ROWS)}).write_parquet(folder / "people.parquet", row_group_size=500)
    return tmp_path


def polars_constants(names, hive) -> dict:
    """Constants as a Polars query can have them: the engine knows that there is one value for all rows."""
    pl = pytest.importorskip("polars")
    rows, one = pl.LazyFrame({"row": range(ROWS)}), {name: [3] for name in names}
    codes = pl.LazyFrame({"code": [0, 1], **{name: [3, 3] for name in names}})
    return {
        "literals": rows.with_columns(**{name: pl.lit(3) for name in names}),
        "repeated": rows.with_columns(**{name: pl.repeat(3, pl.len()) for name in names}),
        "filled": rows.with_columns(**{name: pl.lit(None, pl.Int64).fill_null(3) for name in names}),
        "chosen": rows.with_columns(**{name: pl.when(pl.col("row") >= 0).then(3).otherwise(4) for name in names}),
        "a cross join": rows.join(pl.LazyFrame(one), how="cross"),
        "a cross join from the other side": pl.LazyFrame(one).join(rows, how="cross"),
        "hive partitions": pl.scan_parquet(hive / "**/*.parquet", hive_partitioning=True),
        "a join on a code": rows.with_columns(code=pl.col("row") % 2).join(codes, on="code"),
        "the first of a window": rows.with_columns(
            **{name: (pl.col("row") * 0 + 3).first().over(pl.col("row") // 1000) for name in names}
        ),
        "an aggregate, exploded": rows.group_by(pl.col("row") // 1000 * 0 + 3)
        .agg(inner=pl.col("row"))
        .explode("inner")
        .select(pl.col("inner").alias("row"), *(pl.col("row").alias(name) for name in names)),
        "concatenated literals": pl.concat(
            [rows.filter(pl.col("row") % 2 == k).with_columns(**{name: pl.lit(3) for name in names}) for k in (0, 1)]
        ),
        "an eager literal": rows.collect().with_columns(**{name: pl.lit(3) for name in names}),
        "an eager cross join": rows.collect().join(pl.DataFrame(one), how="cross"),
    }


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
@pytest.mark.parametrize("kind", KINDS)
def test_constants_of_polars_have_a_draw_for_each_row(kind, engine, hive):
    for table in polars_constants(KINDS[kind], hive).values():
        found = randomize(kind, table)
        found = found.collect(engine=engine) if hasattr(found, "collect") else found
        assert sorted(found["row"]) == list(range(ROWS))
        check_kind(kind, found.to_dict(as_series=False))


@pytest.mark.parametrize("kind", KINDS)
def test_a_lazy_frame_of_reports_is_drawn_once_however_often_it_is_used(kind):
    pl = pytest.importorskip("polars")
    private = randomize(kind, pl.LazyFrame(constant(kind)))
    first = private.sort("row").collect()
    assert first.equals(private.sort("row").collect(engine="streaming"))
    for options in (pl.QueryOptFlags(), pl.QueryOptFlags.none()):
        both = pl.concat([private, private]).unique().sort("row").collect(optimizations=options)
        assert both.equals(first)
        sides = private.join(private, on="row", suffix=" again").collect(optimizations=options)
        assert all((sides[name] == sides[f"{name} again"]).all() for name in KINDS[kind])
    again = pl.LazyFrame.deserialize(private.serialize())
    assert again.sort("row").collect().equals(first)


def test_a_lazy_survey_by_lot_reports_one_attribute_though_each_is_collected_by_itself():
    pl = pytest.importorskip("polars")
    people = pl.LazyFrame({"row": range(300), "x": [3] * 300, "z": [3] * 300})
    collected = BY_LOT.collect(BY_LOT.randomize(people, keep=["row"]), by="row")
    assert sorted([*collected["x"], *collected["z"]]) == list(range(300))


def test_a_lazy_frame_is_read_once():
    pl = pytest.importorskip("polars")
    calls = []

    def counted(frame):
        calls.append(len(frame))
        return frame

    private = randomize("survey", pl.LazyFrame(constant("survey")).map_batches(counted))
    pl.concat([private, private]).collect()
    private.collect()
    assert calls == [ROWS]


# --- Arrow and DuckDB readers -------------------------------------------------------------------------------


def test_a_reader_of_reports_cannot_be_read_twice():
    arrow, duckdb = pytest.importorskip("pyarrow"), pytest.importorskip("duckdb")
    private = randomize("column", arrow.table(constant("column")).to_reader())
    assert private.read_all().num_rows == ROWS
    assert private.read_all().num_rows == 0
    connection = duckdb.connect()
    private = randomize("column", connection.sql(f"select range as row, 3 as x from range({ROWS})"))
    other = connection.cursor().register("private", private)
    with pytest.raises(duckdb.Error):
        other.execute("select * from private join private as again using (row)").fetchall()


# --- DuckDB's SQL -------------------------------------------------------------------------------------------


@pytest.fixture
def connection():
    pytest.importorskip("pyarrow")
    found = pytest.importorskip("duckdb").connect()
    found.execute(f"create table people as select range as row, 3 as x, 3 as y from range({ROWS})")
    local.register(found, "private", SETS)
    yield found
    found.close()


@pytest.mark.parametrize("value", ["3", "x", "(select 3)", "(select max(x) from people)", "coalesce(null, 3)"])
def test_a_function_of_sql_draws_constants_for_each_person(connection, value):
    rows = connection.execute(f"select private(row, {value}) from people").fetchall()
    assert_own_draws([report for (report,) in rows])


def test_a_function_of_sql_has_one_report_for_a_person_in_every_query(connection):
    first = dict(connection.execute("select row, private(row, x) from people").fetchall())
    assert_own_draws(list(first.values()))
    connection.execute("create view reports as select row, private(row, x) as x from people")
    queries = [
        "select row, private(row, 3) from people",
        "select row, private(row, x) from people, range(3)",
        "select a.row, b.x from reports as a join reports as b using (row)",
        "with r as not materialized (select * from reports) select a.row, b.x from r as a join r as b using (row)",
        "select row, x from reports union all select row, x from reports",
        "select row, (select private(p.row, 3)) from people as p",
        "select row, case when private(row, x) % 2 = 0 then private(row, x) else private(row, x) end from people",
    ]
    for query in queries:
        found = connection.execute(query).fetchall()
        assert {row for row, _ in found} == set(range(ROWS))
        assert all(first[row] == report for row, report in found)
    cursor = connection.cursor()
    assert dict(cursor.execute("select row, private(row, x) from people").fetchall()) == first


def test_a_function_of_sql_does_not_look_at_a_value_after_the_report(connection):
    first = connection.execute("select private(7, 3)").fetchone()
    assert connection.execute("select private(7, 3999)").fetchone() == first
    assert connection.execute("select private(7, null)").fetchone() == first


def test_a_function_of_sql_takes_ids_of_text_and_refuses_missing_ones(connection):
    duckdb = pytest.importorskip("duckdb")
    local.register(connection, "by_name", SETS, id_type="VARCHAR")
    rows = connection.execute("select by_name('person ' || row, 3) from people").fetchall()
    assert_own_draws([report for (report,) in rows])
    with pytest.raises(duckdb.Error, match="missing"):
        connection.execute("select private(null, 3)").fetchall()
    with rejects(ValueError, "id_type"):
        local.register(connection, "by_day", SETS, id_type="DATE")


@pytest.mark.long
def test_a_function_of_sql_draws_places_for_each_person_together(connection):
    local.register(connection, "place", places(), by_coordinates=True)
    query = "select row, place(row, 3, 3) as r from people"
    twice = connection.execute(f"select a.r, b.r from ({query}) as a join ({query}) as b using (row)").fetchall()
    assert_own_draws([report for report, _ in twice], 1600)
    assert all(one == other for one, other in twice)


# --- Spark --------------------------------------------------------------------------------------------------


def frame_on(master: str | None, directory: str | None = None, streaming: bool = False):
    """As much of a Spark frame as decides how its reports are kept."""
    context = SimpleNamespace(master=master, getCheckpointDir=lambda: directory)
    session = SimpleNamespace(sparkContext=context) if master else SimpleNamespace()
    return SimpleNamespace(isStreaming=streaming, sparkSession=session)


@pytest.mark.parametrize("master", ["yarn", "spark://host:7077", "local-cluster[2,1,1024]", "k8s://host"])
def test_a_cluster_without_a_checkpoint_directory_is_refused(master):
    with rejects(ValueError, about="checkpoint"):
        map_batches_once(frame_on(master), {}, lambda batch: batch)


def test_a_stream_is_refused_because_a_batch_may_run_twice():
    with rejects(ValueError, "table", about="stream"):
        map_batches_once(frame_on("local[2]", streaming=True), {}, lambda batch: batch)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
class TestSpark:
    """In local mode, where a failed task is tried again."""

    @staticmethod
    def constants(spark, names) -> dict:
        from pyspark.sql import functions as f

        rows = spark.range(ROWS).withColumnRenamed("id", "row").repartition(3)
        one = spark.createDataFrame([(3,) * len(names)], list(names))
        return {
            "literals": rows.select("row", *(f.lit(3).alias(name) for name in names)),
            "a cross join": rows.crossJoin(one),
            "a broadcast join": rows.crossJoin(f.broadcast(one)),
            "a cross join from the other side": one.crossJoin(rows),
            "a scalar subquery": rows.select("row", *(f.expr("(select 3)").alias(name) for name in names)),
            "one partition": rows.select("row", *(f.lit(3).alias(name) for name in names)).coalesce(1),
        }

    @staticmethod
    def columns(frame) -> dict[str, list]:
        rows = frame.collect()
        return {name: [row[name] for row in rows] for name in frame.columns}

    @pytest.mark.parametrize("kind", KINDS)
    def test_constants_have_a_draw_for_each_row(self, spark, kind):
        for table in self.constants(spark, KINDS[kind]).values():
            found = self.columns(randomize(kind, table))
            assert sorted(found["row"]) == list(range(ROWS))
            check_kind(kind, found)

    @pytest.mark.parametrize("kind", KINDS)
    def test_reports_are_drawn_once_however_often_they_are_used(self, spark, kind):
        private = randomize(kind, self.constants(spark, KINDS[kind])["literals"])
        first = sorted(private.collect())
        assert sorted(private.collect()) == first
        assert sorted(private.union(private).distinct().collect()) == first
        others = private.toDF(*(name if name == "row" else f"{name} again" for name in private.columns))
        for row in private.join(others, "row").collect():
            assert all(row[name] == row[f"{name} again"] for name in KINDS[kind])
        cached = private.cache()
        cached.count()
        cached.unpersist()
        assert sorted(cached.collect()) == first
        even = private.filter("x % 2 = 0").collect()
        assert sorted(even) == [row for row in first if row["x"] % 2 == 0]

    def test_a_survey_by_lot_reports_one_attribute_though_each_is_collected_by_itself(self, spark):
        people = self.constants(spark, ["x", "z"])["literals"].filter("row < 300")
        collected = BY_LOT.collect(BY_LOT.randomize(people, keep=["row"]), by="row")
        assert sorted([*collected["x"], *collected["z"]]) == list(range(300))

    def test_a_task_that_is_tried_again_leaves_one_report_for_each_person(self, spark):
        def failing(batches):
            from pyspark import TaskContext

            yield from batches
            if TaskContext.get().attemptNumber() == 0:
                raise RuntimeError("the first attempt is lost after its reports were drawn")

        people = self.constants(spark, ["x"])["literals"]
        private = randomize("column", people.mapInArrow(failing, people.schema))
        found = self.columns(private)
        assert sorted(found["row"]) == list(range(ROWS))
        check_kind("column", found)
        assert self.columns(private) == found

    def test_lost_reports_are_never_drawn_again(self, spark):
        private = randomize("column", self.constants(spark, ["x"])["literals"])
        assert private.count() == ROWS
        manager = spark.sparkContext._jsc.sc().env().blockManager().master()
        kept = spark.sparkContext._jsc.sc().getPersistentRDDs().keySet().mkString(",")
        for each in kept.split(","):
            manager.removeRdd(int(each), True)
        with pytest.raises(Exception, match="CHECKPOINT"):
            private.collect()

    def test_a_checkpoint_directory_keeps_the_reports(self, spark, tmp_path):
        context = spark.sparkContext._jsc.sc()
        before = context.checkpointDir()
        spark.sparkContext.setCheckpointDir(str(tmp_path))
        try:
            private = randomize("column", self.constants(spark, ["x"])["literals"])
            found = self.columns(private)
            assert list(tmp_path.rglob("part-*"))
            check_kind("column", found)
            assert self.columns(private) == found
        finally:
            getattr(context, "checkpointDir_$eq")(before)

    def test_a_stream_is_refused(self, spark):
        stream = spark.readStream.format("rate").load().selectExpr("value % 7 as x", "value as row")
        with rejects(ValueError, "table", about="stream"):
            randomize("column", stream)
