"""The same plan on every engine: the same true answers, and only those of declared groups come back."""

import csv
import datetime
import importlib
import math
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import inbounds as ib
from inbounds.releases import aggregate
from inbounds.releases.pipeline import AggregationError, SourceError, open_plan_source, release, to_plan
from inbounds.schema.errors import PlanError
from inbounds.sources import engines
from inbounds.sources.open import Source, silence_engine
from raising import raises_at, rejects
from releases.places import places

PLAN = {
    "groups": {"by": ["g", "h"], "keys": [["B", 1], ["A", 2], ["A", 1], ["empty", 1]], "size": [2, 3, 1, 2]},
    "columns": {
        "c": {"labels": ["p", "q", "it's"], "other": "q"},
        "n": {"low": -1, "high": 3, "missing": 2},
        "x": {"low": 0, "high": 2, "step": 0.5},
        "b": {"type": "boolean"},
    },
    "statistics": [
        {"count": "c in ('p', 'it''s') and not n < 0 or b", "name": "count"},
        {"count": "x is null or x = 0.5", "name": "null"},
        {"histogram": "c"},
        {"mean": "n"},
        {"sum": "x"},
        {"min": "n", "name": "least"},
        {"max": "x", "name": "most"},
        {"median": "n"},
        {"median": "x"},
    ],
    "privacy": {"epsilon": 1},
}


def rows(seed: int = 0, count: int = 60) -> list[dict]:
    """Records with everything that can go wrong in them."""
    rng = np.random.default_rng(seed)

    def pick(*values):
        return values[rng.integers(len(values))]

    return [
        {
            "g": pick("A", "B", "C", None),
            "h": pick(1, 2, 3, None),
            "c": pick("p", "q", "it's", "other", "", None),
            "x": pick(0.0, 0.5, 1.3, 2.0, 9.0, -1e300, math.nan, math.inf, None),
            "n": pick(-1, 0, 1, 2, 3, 10**15, -(10**15), None),
            "b": pick(True, False, None),
        }
        for _ in range(count)
    ]


def table(records: list[dict]) -> pa.Table:
    types = {
        "g": pa.string(),
        "h": pa.int64(),
        "c": pa.string(),
        "x": pa.float64(),
        "n": pa.int64(),
        "b": pa.bool_(),
    }
    return pa.table({name: pa.array([r[name] for r in records], kind) for name, kind in types.items()})


def answers(**source) -> list[list[int]]:
    """The positions that an engine finds; a group's own order is the plan's."""
    content = {**PLAN, "source": source} if "frame" not in source else PLAN
    with closing(open_plan_source(to_plan(content, source.get("frame")))) as opened:
        return places(opened)


def parquet(folder: Path) -> dict:
    pyarrow.parquet.write_table(table(rows()), folder / "t.parquet")
    return {"path": str(folder / "t.parquet")}


def written_csv(folder: Path, delimiter: str = ",", name: str = "t.csv") -> dict:
    with open(folder / name, "w", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(rows()[0])
        writer.writerows(["" if value is None else value for value in record.values()] for record in rows())
    return {"path": str(folder / name)}


def tsv(folder: Path) -> dict:
    return written_csv(folder, "\t", "t.tsv")


def duckdb_file(folder: Path) -> dict:
    import duckdb

    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.register("frame", table(rows()))
        connection.execute("create table records as select * from frame")
    return {"path": str(folder / "t.duckdb"), "table": "records"}


def sqlite_file(folder: Path) -> dict:
    with sqlite3.connect(folder / "t.sqlite") as connection:
        connection.execute("create table records (g text, h integer, c text, x real, n integer, b boolean)")
        connection.executemany("insert into records values (?, ?, ?, ?, ?, ?)", [tuple(r.values()) for r in rows()])
    connection.close()
    return {"path": str(folder / "t.sqlite"), "table": "records"}


def pandas_frame(folder: Path) -> dict:
    import pandas

    return {"frame": table(rows()).to_pandas(types_mapper=pandas.ArrowDtype)}


def polars_frame(folder: Path) -> dict:
    return {"frame": pytest.importorskip("polars").from_arrow(table(rows()))}


def ibis_table(folder: Path) -> dict:
    import ibis

    return {"frame": ibis.memtable(table(rows()))}


SPELLED = {
    "groups": {"by": "g", "keys": ["North", "Süd", "Elsewhere"], "max_size": 20},
    "columns": {
        "g": {"labels": {"North": "North", "Süd": "Süd", "3": "Elsewhere"}, "ignore_case": True, "trim": True},
        "sex": {"labels": {"1": "male", "2": "F"}, "missing_codes": ["-9"], "trim": True},
        "n": {"low": 0, "high": 10, "missing": 5, "missing_codes": [-9, "-99 to -90"]},
    },
    "statistics": [
        {"histogram": "sex"},
        {"sum": "n"},
        {"count": "sex = 'F'"},
        {"count": "sex is null", "name": "none"},
    ],
    "privacy": {"epsilon": 1},
}
SPELLED_ROWS = [
    ("NORTH ", "1", 1),
    ("north\xa0", " 2", 2),
    ("SÜD", "-9", -9),
    ("\tsüd", "F", -95),
    ("3", "1 ", 4),
    ("4", "2", 9),
    (None, "2", 9),
]
SPELLED_ANSWERS = [[1, 0, 1], [1, 1, 0], [3, 10, 4], [1, 1, 0], [0, 1, 0]]


def spelled_answers(**source):
    frame = source.pop("frame", None)
    with closing(
        open_plan_source(to_plan({**SPELLED, "source": source} if frame is None else SPELLED, frame))
    ) as opened:
        return places(opened)


def test_spellings_and_codes_are_the_same_values(tmp_path):
    frame = pa.table(dict(zip(["g", "sex", "n"], map(list, zip(*SPELLED_ROWS, strict=True)), strict=True)))
    assert spelled_answers(frame=frame) == SPELLED_ANSWERS


@pytest.mark.long
def test_spellings_and_codes_are_the_same_values_on_postgresql(postgres):
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(postgres) as connection:
        connection.execute("create table spelled (g text, sex text, n integer)")
        connection.cursor().executemany("insert into spelled values (%s, %s, %s)", SPELLED_ROWS)
    assert spelled_answers(url=postgres, table="spelled") == SPELLED_ANSWERS


@pytest.mark.long
@pytest.mark.parametrize(
    "source", [parquet, written_csv, tsv, duckdb_file, sqlite_file, pandas_frame, polars_frame, ibis_table]
)
def test_every_source_gives_the_answers_of_an_arrow_table(tmp_path, source):
    assert answers(**source(tmp_path)) == answers(frame=table(rows()))


def test_a_plan_without_groups_answers_the_whole_table():
    whole = {**PLAN, "groups": {"size": 60}, "statistics": [{"count": "n is null"}]}
    found = open_plan_source(to_plan(whole, table(rows()))).aggregate().positions
    assert found[0].tolist() == [sum(r["n"] is None for r in rows())]


def test_sums_beyond_64_bits_are_clamped_and_do_not_wrap():
    """No table in a test holds 2^40 records; the aggregates of one do."""
    content = {
        "groups": {"size": 2**20},
        "columns": {"n": {"low": 0, "high": 2**31, "missing": 2**31}},
        "statistics": [{"sum": "n"}],
        "privacy": {"epsilon": 1},
    }
    plan = to_plan(content, pa.table({"n": [0, 1, 2**62]}))
    assert open_plan_source(plan).aggregate().positions[0].tolist() == [2**31 * (2**20 - 3) + 0 + 1 + 2**31]
    many = {"rows_": np.array([2**40]), "m0": np.array([2**62])}
    assert aggregate.true_answers(plan, many).positions[0].tolist() == [0]
    with raises_at(PlanError, ("statistics", 0, "sum")):
        to_plan({**content, "groups": {"size": 2**40}}, pa.table({"n": [0]}))


def test_keys_are_compared_as_numbers_where_the_column_holds_numbers():
    by_number = {**PLAN, "groups": {"by": ["h"], "keys": ["1", "3"], "size": 99}, "statistics": [{"count": "true"}]}
    found = open_plan_source(to_plan(by_number, table(rows()))).aggregate().positions[0].tolist()
    assert found == [sum(r["h"] == h for r in rows()) for h in (1, 3)]
    with raises_at(SourceError, ("groups", "keys"), about="different"):
        open_plan_source(to_plan({**by_number, "groups": {"by": ["h"], "keys": ["1", "01"], "size": 9}}, table(rows())))
    with raises_at(SourceError, ("groups", "keys"), about="whole numbers"):
        open_plan_source(to_plan({**by_number, "groups": {"by": ["h"], "keys": ["one"], "size": 9}}, table(rows())))


@pytest.fixture(scope="module")
def before(tmp_path_factory):
    """The answers of the file as it was written."""
    return answers(**written_csv(tmp_path_factory.mktemp("before")))


@pytest.mark.long
@pytest.mark.long
@pytest.mark.parametrize(
    "line",
    [
        "A,2,p,abc,1e400,maybe",
        "A,2,p",
        "A,2,p,1,1,true,extra",
        'A,2,"two\nlines",1,1,true',
        "\ufffd",
        "A" * 3_000_000,
    ],
    ids=["wrong types", "too few fields", "too many fields", "a quoted line break", "odd text", "three megabytes"],
)
def test_a_strange_record_of_a_csv_file_touches_no_group_but_its_own(before, tmp_path, line):
    """No error, no other schema: the record counts with missing values, or not at all."""
    source = written_csv(tmp_path)
    with open(source["path"], "a") as file:
        file.write(line + "\n")
    after = answers(**source)
    own = PLAN["groups"]["keys"].index(["A", 2])
    for old, new in zip(before, after, strict=True):
        assert [v for k, v in enumerate(old) if k != own] == [v for k, v in enumerate(new) if k != own]


def test_bytes_that_are_not_text_leave_the_other_records_alone(before, tmp_path):
    source = written_csv(tmp_path)
    with open(source["path"], "ab") as file:
        file.write(b"\xff\xfe,2,p,1,1,true\n")
    assert answers(**source) == before


def test_an_engine_that_fails_says_nothing_about_the_data(monkeypatch):
    def failing(*_, **__):
        raise ValueError("could not convert 'a secret' to a number")

    monkeypatch.setattr(aggregate, "materialise", failing)
    with pytest.raises(AggregationError) as caught:
        release(PLAN, table(rows()))
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_a_missing_engine_names_its_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "ibis", None)
    with raises_at(SourceError, ("source", "path"), about="inbounds[tables]"):
        open_plan_source(to_plan({**PLAN, "source": written_csv(tmp_path)}))
    with raises_at(SourceError, ("source", "url"), about="'postgres'"):
        open_plan_source(to_plan({**PLAN, "source": {"url": "postgresql://host/db", "table": "t"}}))


def test_only_the_declared_groups_come_back_from_the_engine(monkeypatch):
    """What the engine returns is a row per declared group, or per value in one, and one for all other records."""
    sizes, own = [], engines.DuckDB.fetch
    monkeypatch.setattr(engines.DuckDB, "fetch", lambda self, sql: sizes.append(len((t := own(self, sql))[0])) or t)
    answers(frame=table(rows(count=500)))
    assert sizes
    values = max(len(query.values) for query in (ib.median(-1, 3, size=1), ib.median(0, 2, step="0.5", size=1)))
    assert max(sizes) <= (len(PLAN["groups"]["keys"]) + 1) * values


# --- real servers -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_same_plan_runs_unchanged_on_postgresql(postgres, tmp_path):
    import psycopg

    with psycopg.connect(postgres) as connection:
        connection.execute("create table records (g text, h int, c text, x double precision, n bigint, b boolean)")
        with connection.cursor() as cursor:
            cursor.executemany(
                "insert into records values (%s, %s, %s, %s, %s, %s)", [tuple(r.values()) for r in rows()]
            )
    assert answers(url=postgres, table="records") == answers(frame=table(rows()))
    done = release({**PLAN, "source": {"url": postgres, "table": "records"}}, cache=tmp_path)
    assert done.table.num_rows == len(PLAN["groups"]["keys"])
    with psycopg.connect(postgres) as connection:
        left = connection.execute("select count(*) from pg_tables where tablename like 'ibis%'").fetchone()
    assert left == (0,)


MIDNIGHTS = [datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 1, 12, 30), datetime.datetime(2024, 1, 2)]
TYPED = {"b": [True, True, False], "d": [time.date() for time in MIDNIGHTS], "t": MIDNIGHTS}


def typed_answers(**source) -> list[list[int]]:
    """Groups by a boolean, a date and a midnight, with cells of a boolean in each."""
    keys = {"b": ["True", "false"], "d": ["2024-01-01", "2024-01-02"], "t": ["2024-01-01 00:00:00", "2024-01-02"]}
    found = []
    for by, values in keys.items():
        content = {
            "source": source,
            "groups": {"by": [by], "keys": values, "size": 3},
            "columns": {"b": {"labels": ["True", "False"]}},
            "statistics": [{"histogram": "b"}, {"count": "b = 'TRUE'"}],
            "privacy": {"epsilon": 1},
        }
        with closing(open_plan_source(to_plan(content))) as opened:
            found.append(places(opened))
    return found


TYPED_ANSWERS = [[[2, 0], [0, 1], [2, 0]], [[2, 0], [0, 1], [2, 0]], [[1, 0], [0, 1], [1, 0]]]


@pytest.mark.slow
def test_booleans_and_dates_are_keys_and_labels_on_postgresql(postgres):
    import psycopg

    with psycopg.connect(postgres) as connection:
        connection.execute("create table typed (b boolean, d date, t timestamp)")
        with connection.cursor() as cursor:
            cursor.executemany("insert into typed values (%s, %s, %s)", list(zip(*TYPED.values(), strict=True)))
    assert typed_answers(url=postgres, table="typed") == TYPED_ANSWERS


@pytest.mark.slow
def test_a_missing_table_a_refused_user_and_an_unreachable_server_are_told_apart_without_the_password(postgres):
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("drop role if exists somebody")
        connection.execute("create role somebody login password 'another'")
        hba = Path(connection.execute("show hba_file").fetchone()[0])
        before = hba.read_text()
        hba.write_text("host all somebody all scram-sha-256\n" + before)
        connection.execute("select pg_reload_conf()")
    place = postgres.partition("@")[2]
    wrong = {
        postgres: "table 'nothing'",
        f"postgresql://somebody:secret@{place}": "password",
        f"postgresql://somebody@{place}": "password",
        "postgresql://me:secret@127.0.0.1:1/db": "reached",
    }
    try:
        for url, about in wrong.items():
            with raises_at(SourceError, ("source", "url"), about=about) as caught:
                open_plan_source(to_plan({**PLAN, "source": {"url": url, "table": "nothing"}}))
            assert "secret" not in str(caught.value)
    finally:
        hba.write_text(before)
        with psycopg.connect(postgres, autocommit=True) as connection:
            connection.execute("select pg_reload_conf()")


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_a_missing_table_and_a_file_that_is_no_database_are_told_apart(tmp_path, engine):
    path = tmp_path / f"t.{engine}"
    with closing(importlib.import_module({"sqlite": "sqlite3"}.get(engine, engine)).connect(str(path))) as database:
        database.execute("create table u (g int)")
    with raises_at(SourceError, ("source", "path"), about="'nothing'"):
        open_plan_source(to_plan({**PLAN, "source": {"path": str(path), "table": "nothing"}}))
    (tmp_path / f"bad.{engine}").write_bytes(b"secret" * 500)
    with raises_at(SourceError, ("source", "path"), about="cannot be opened") as caught:
        open_plan_source(to_plan({**PLAN, "source": {"path": str(tmp_path / f"bad.{engine}"), "table": "nothing"}}))
    assert "secret" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("source", [parquet, written_csv])
def test_the_same_plan_runs_unchanged_on_spark(spark, tmp_path, source):
    assert answers(**source(tmp_path), engine="spark") == answers(frame=table(rows()))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_booleans_and_dates_are_keys_and_labels_on_spark(spark, tmp_path):
    pyarrow.parquet.write_table(pa.table(TYPED), tmp_path / "t.parquet")
    path = str(tmp_path / "t.parquet")
    assert typed_answers(path=path, engine="spark") == typed_answers(path=path) == TYPED_ANSWERS


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_spark_reads_the_numbers_of_a_csv_file_as_duckdb_does(spark, tmp_path):
    """Also with an unnamed index and a decimal comma; Spark by itself takes 1d for a number."""
    (tmp_path / "t.csv").write_text(";g;n\n0;A;2,5\n1;A;1_0\n2;B;1d\n3;B;1.5\n")
    content = {
        "groups": {"by": ["g"], "keys": ["A", "B"], "size": 3},
        "columns": {"n": {"low": 0, "high": 10, "step": "0.5"}},
        "statistics": [{"max": "n"}],
        "privacy": {"epsilon": 1},
    }
    for engine_name in ("duckdb", "spark"):
        source = {"path": str(tmp_path / "t.csv"), "delimiter": ";", "decimal": ",", "engine": engine_name}
        with closing(open_plan_source(to_plan({**content, "source": source}))) as opened:
            assert places(opened) == [[5, 0]]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_table_of_the_spark_session_is_a_source(spark, tmp_path):
    spark.read.parquet(parquet(tmp_path)["path"]).createOrReplaceTempView("records")
    assert answers(table="records", engine="spark") == answers(frame=table(rows()))


def test_a_source_shows_no_password():
    source = Source(url="postgresql://me:secret@host:5/db", table="t")
    assert source.name == "postgresql://me@host:5/db"
    assert "secret" not in repr(source) + str(source.summary())


FORMS = {
    "g": ["1", "1.0", "2.0", "v1.0", "1.00", "1.0\n", "-.0", "TRUE", "", None],
    "day": ["2024-05-31", "2024-06-01", "2024-06-02", "2024-6-3", "9", "unknown", "2024-06-02\n", "Z", "", None],
}
FORMS_PLAN = {
    "groups": {"size": 9},
    "columns": {"g": {"labels": ["1", "2.0", "v1", "true"]}, "day": {"type": "text"}},
    "statistics": [
        {"histogram": "g"},
        {"count": "g in ('1.0', '2')", "name": "in"},
        {"count": "day >= '2024-06-01'", "name": "from"},
        {"count": "not day >= '2024-06-01'", "name": "until"},
    ],
    "privacy": {"epsilon": 1},
}
FORMS_ANSWERS = [[2], [1], [0], [1], [3], [2], [1]]


def form_answers(**source) -> list[list[int]]:
    with closing(open_plan_source(to_plan({**FORMS_PLAN, "source": source}))) as opened:
        return places(opened)


@pytest.mark.slow
@pytest.mark.parametrize("collation", ["C", "und-x-icu"])
def test_whole_numbers_and_dates_in_texts_are_read_alike_on_postgresql(postgres, collation):
    import psycopg

    with psycopg.connect(postgres) as connection:
        connection.execute("drop table if exists forms")
        connection.execute(f'create table forms (g text collate "{collation}", day text collate "{collation}")')
        with connection.cursor() as cursor:
            cursor.executemany("insert into forms values (%s, %s)", list(zip(*FORMS.values(), strict=True)))
    assert form_answers(url=postgres, table="forms") == FORMS_ANSWERS


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_whole_numbers_and_dates_in_texts_are_read_alike_on_spark(spark, tmp_path):
    pyarrow.parquet.write_table(pa.table(FORMS), tmp_path / "t.parquet")
    path = str(tmp_path / "t.parquet")
    assert form_answers(path=path, engine="spark") == form_answers(path=path) == FORMS_ANSWERS


def wide(statistics, columns, **source):
    return {
        "source": source,
        "groups": {"maximum": 9},
        "columns": {name: {"type": kind} for name, kind in columns.items()},
        "statistics": [{"count": one, "name": f"s{k}"} for k, one in enumerate(statistics)],
        "privacy": {"epsilon": 1},
    }


MIXED = [["text"], ["numeric"], ["bigint"], ["text", "bigint"], ["text", "numeric"], ["bigint", "text", "numeric"]]


@pytest.mark.parametrize("kinds", MIXED, ids=", ".join)
def test_a_row_that_postgresql_is_given_fits_at_its_widest_and_one_column_more_is_refused_when_all_is_missing(
    postgres, kinds
):
    """Digits that hardly compress, of every length that PostgreSQL keeps in the row, and of some that it does not."""
    import psycopg

    taken = {"text": 32, "numeric": 32, "bigint": 8}
    size = [24 + -(-n // 64) * 8 + sum(taken[kinds[k % len(kinds)]] for k in range(n)) for n in range(1500)]
    most = sum(bytes_ <= 8160 for bytes_ in size)
    rng = np.random.default_rng(5)
    digits = "".join(map(str, rng.integers(1, 10, 5000)))
    lengths = [None, *range(1, 60), 125, 126, 127, 128, 400, 2000]

    def row(columns: int, length: int | None) -> str:
        own = [(kinds[k % len(kinds)], digits[k : k + (length or 0)]) for k in range(columns)]
        cells = ["NULL" if length is None else f"'{text[:18] if kind == 'bigint' else text}'" for kind, text in own]
        return ", ".join(
            f"CAST({cell} AS {kind}) AS c{k}" for k, (cell, (kind, _)) in enumerate(zip(cells, own, strict=True))
        )

    with psycopg.connect(postgres, autocommit=True) as server:
        engine = engines.PostgreSQL(server)
        for length in lengths:
            engine.keep("kept", f"SELECT {row(most - 1, length)}")
            engine.drop("kept")
        with rejects(ValueError, "a row", about="block"):
            engine.keep("kept", f"SELECT {row(most, None)}")
        engine.drop("kept")


# What a row takes at most, as `PostgreSQL.keep` counts it: 8160 with so many columns, more with one more.
FITTING = {"text": ("text", 253, "text"), "numeric": ("numeric", 253, "number"), "bigint": ("bigint", 1000, "number")}
FILLINGS = {
    "text": ["", "a", "12345678", "12345678901", "123456789012", "é" * 40, "x" * 3000],
    "numeric": ["0", "1e-290", "123456789012345678901234567890123456", "1e299", "NaN", f"{'7' * 280}.{'3' * 900}"],
    "bigint": ["0", str(2**63 - 1)],
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", FITTING)
def test_rows_of_postgresql_are_refused_before_the_charge_or_fit_whatever_they_hold(postgres, kind):
    import psycopg

    name, most, declared = FITTING[kind]
    columns = {f"c{k}": declared for k in range(most + 1)}
    where = [" or ".join(f"c{k} is null" for k in range(n)) for n in (most, most + 1)]
    with psycopg.connect(postgres, autocommit=True) as server:
        server.execute("drop table if exists wide")
        server.execute(f"create table wide ({', '.join(f'c{k} {name}' for k in range(most + 1))})")
        fitting, beyond = (to_plan(wide([one], columns, url=postgres, table="wide")) for one in where)
        for filling in [None, *FILLINGS[kind], FILLINGS[kind]]:
            cycle = filling if isinstance(filling, list) else [filling]
            server.execute("truncate wide")
            row = [cycle[k % len(cycle)] for k in range(most + 1)]
            written = ", ".join("null" if one is None else f"'{one}'" for one in row)
            try:
                server.execute(f"insert into wide values ({written})")
            except psycopg.errors.ProgramLimitExceeded:  # then no table has such a row
                assert (kind, "777" in str(filling)) == ("numeric", True)
            with closing(open_plan_source(fitting)) as opened:
                opened.aggregate()
            with pytest.raises(SourceError) as caught:
                open_plan_source(beyond)
            assert caught.value.path == ("statistics",)


@pytest.mark.slow
def test_statistics_that_postgresql_cannot_keep_in_a_row_are_refused_whatever_the_table_holds(postgres):
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as server:
        server.execute("drop table if exists narrow")
        server.execute("create table narrow (c int)")
        for _ in range(2):
            several = {
                n: wide([f"c = {k}" for k in range(n)], {"c": "number"}, url=postgres, table="narrow")
                for n in (1000, 1001)
            }
            with closing(open_plan_source(to_plan(several[1000]))) as opened:
                opened.aggregate()
            with pytest.raises(SourceError) as caught:
                open_plan_source(to_plan(several[1001]))
            assert caught.value.path == ("statistics",)
            server.execute("insert into narrow values (1), (null)")


def test_what_an_engine_cannot_evaluate_is_refused_before_it_is_charged(tmp_path, monkeypatch):
    """Engines limit width and depth of a statement: a rehearsal on no records finds out, in a dry run too."""
    frame, file = pa.table({"x": [1, 2]}), tmp_path / "budget.db"
    content = {
        "groups": {"size": 2},
        "columns": {"x": {"type": "number"}},
        "statistics": [{"count": "x > 1"}],
        "privacy": {"epsilon": 1},
    }
    with ib.Ledger.open(file) as ledger:
        ledger.add_population("us", epsilon=5)
    content["people"] = {"name": "us", "ledger": str(file)}
    monkeypatch.setattr(engines.DuckDB, "fetch", lambda *_: 1 / 0)
    for act in (ib.preview_release, ib.release):
        with pytest.raises(SourceError) as refused:
            act(content, frame, cache=tmp_path / "designs")
        assert refused.value.path == ("statistics",)
    with ib.Ledger.open(file) as ledger:
        assert ledger.people()[0].remaining == 5


def test_keys_are_loaded_once_before_the_charge_and_leave_no_table_behind(tmp_path, monkeypatch):
    import ibis

    connection, loads, load = ibis.duckdb.connect(), [], engines.DuckDB.load
    connection.raw_sql("CREATE TABLE t AS SELECT * FROM (VALUES ('a', 'p'), ('b', 'q')) AS rows (g, c)")
    monkeypatch.setattr(
        engines.DuckDB, "load", lambda self, name, columns: (loads.append(name), load(self, name, columns))[1]
    )
    plan = {
        "groups": {"by": ["g"], "keys": ["b", "a"], "size": 4},
        "columns": {"c": {"type": "text"}},
        "statistics": [{"count": "c = 'p'"}],
        "privacy": {"epsilon": 1},
    }
    with silence_engine():
        frame = connection.table("t")
    release(plan, frame, cache=tmp_path)
    assert len(loads) == len(set(loads)) == 2  # the keys of the column, and the groups
    assert connection.con.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("t",)]
