"""Everyday tables: records without a key, dates and times as keys, products of keys, cells that sum to a maximum."""

import csv
import datetime as dt
import sqlite3
import sys
from contextlib import closing

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from inbounds.ledger import Ledger
from inbounds.releases.pipeline import PlanError, SourceError, open_plan_source, preview_release, release, to_plan
from inbounds.schema.condition.parser import parse
from inbounds.schema.condition.tree import check_condition
from raising import raises_at, rejects

pytest.importorskip("ibis")

TIMES = [
    dt.datetime(2024, 1, 31, 10, 30), dt.datetime(2024, 3, 1), dt.datetime(2024, 4, 1, 23, 59, 59),
    dt.datetime(2025, 12, 31), dt.datetime(2025, 12, 1, 0, 0, 1), None,
]  # fmt: skip
SAID = ["2024-01-31 10:30", "2024-03-01", "2024-04-01T23:59:59", "2025-12-31", "2025-12-01 0:00:01", "soon"]
TABLE = pa.table(
    {
        "t": pa.array(TIMES, pa.timestamp("us")),
        "d": pa.array([time and time.date() for time in TIMES], pa.date32()),
        "s": pa.array(SAID),
        "n": pa.array([1, 2, 2, 2, None, None], pa.int64()),
        "g": pa.array(["a", "a", "b", "", None, None]),
    }
)  # fmt: skip


def counts(by, keys, source=None, frame=None, **groups):
    content = {
        "groups": {"by": by, "keys": keys, "max_size": 9, **groups},
        "statistics": [{"count": "true", "name": "number"}],
        "privacy": {"epsilon": 1},
        **({"source": source} if source else {}),
    }
    with closing(open_plan_source(to_plan(content, frame))) as opened:
        (found,) = opened.aggregate().positions
    return found.tolist()


@pytest.fixture
def stored(tmp_path, request):
    def keep(name):
        if name in ("arrow", "pandas"):
            return None, TABLE if name == "arrow" else in_pandas()
        if name == "postgresql":
            return in_postgresql(request.getfixturevalue("postgres")), None
        kind = "parquet" if name == "spark" else name
        FILES[kind](tmp_path / f"t.{kind}")
        if name == "spark":
            request.getfixturevalue("spark")
        extra = {"engine": "spark"} if name == "spark" else {"table": "t"} if kind in ("duckdb", "sqlite") else {}
        return {"path": str(tmp_path / f"t.{kind}"), **extra}, None

    return keep


def rows():
    return list(zip(*(column.to_pylist() for column in TABLE.columns), strict=True))


def in_pandas():
    import pandas

    return TABLE.to_pandas(types_mapper=pandas.ArrowDtype)


def in_csv(path):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(TABLE.column_names)
        writer.writerows(rows())


def in_duckdb(path):
    import duckdb

    with duckdb.connect(str(path)) as connection:
        connection.register("given", TABLE)
        connection.execute("create table t as select * from given")


def in_sqlite(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create table t (t timestamp, d date, s text, n integer, g text)")
        texts = [[str(value) if isinstance(value, dt.date) else value for value in row] for row in rows()]
        connection.executemany("insert into t values (?, ?, ?, ?, ?)", texts)
        connection.commit()


def in_postgresql(url):
    import psycopg

    with psycopg.connect(url) as connection:
        connection.execute("drop table if exists everyday")
        connection.execute("create table everyday (t timestamp, d date, s text, n bigint, g text)")
        with connection.cursor() as cursor:
            cursor.executemany("insert into everyday values (%s, %s, %s, %s, %s)", rows())
    return {"url": url, "table": "everyday"}


FILES = {
    "csv": in_csv, "duckdb": in_duckdb, "sqlite": in_sqlite,
    "parquet": lambda path: pa.parquet.write_table(TABLE, path),
}  # fmt: skip
SLOW = [
    pytest.param(name, marks=[pytest.mark.slow, pytest.mark.filterwarnings("ignore")])
    for name in ("postgresql", "spark")
]
ENGINES = ["arrow", "pandas", "csv", "parquet", "duckdb", "sqlite", *SLOW]

# Parquet files and pandas frames are read into Arrow.
FIRST = ["arrow", "csv", "duckdb", "sqlite", *(pytest.param(n, marks=pytest.mark.slow) for n in ("pandas", "parquet"))]

PERIODS = {
    "day": (["2024-01-31", "2024-03-01", "2025-12-31", "2024-12-31"], [1, 1, 1, 0]),
    "month": (["2024-01", "2024-02", "2025-12"], [1, 0, 2]),
    "quarter": (["2024-Q1", "2024-Q2", "2024-Q3", "2025-Q4"], [2, 1, 0, 2]),
    "year": ([2024, 2025], [3, 2]),
}


@pytest.mark.long
@pytest.mark.parametrize("name", [*FIRST, *SLOW])
def test_dates_times_and_their_texts_are_keys_by_day_month_quarter_and_year_on_every_engine(stored, name):
    source, frame = stored(name)
    for column in ("t", "d", "s"):
        for period, (keys, expected) in PERIODS.items():
            if (column, period) == ("t", "month"):
                assert counts([column], keys, source, frame, period={column: period}) == expected, period
            more = {"period": {column: period}, "missing_key": "not stated"}
            assert counts([column], [*keys, "not stated"], source, frame, **more) == [*expected, 1]


@pytest.mark.long
@pytest.mark.parametrize("name", ENGINES)
def test_records_without_a_key_are_in_the_group_not_stated_on_every_engine(stored, name):
    source, frame = stored(name)
    assert counts(["g"], ["a", "b", "?"], source, frame, missing_key="?") == [2, 1, 3]
    assert counts(["n"], [1, 2, "?"], source, frame, missing_key="?") == [1, 3, 2]
    assert counts(["n"], [1, 2], source, frame) == [1, 3]
    both = counts(["g", "n"], {"g": ["a", "?"], "n": [1, 2, "?"]}, source, frame, missing_key="?")
    assert both == [1, 1, 0, 0, 1, 2]


def test_what_cannot_be_a_period_or_not_stated_is_refused_in_words():
    with raises_at(PlanError, ("groups", "keys"), about="month"):
        counts(["d"], ["2024"], frame=TABLE, period={"d": "month"})
    with raises_at(PlanError, ("groups", "period", "d")):
        counts(["d"], ["2024"], frame=TABLE, period={"d": "week"})
    with raises_at(PlanError, ("groups", "period")):
        counts(["d"], ["2024"], frame=TABLE, period={"x": "year"})
    with raises_at(PlanError, ("groups", "missing_key")):
        counts(["g"], ["a"], frame=TABLE, missing_key="?")
    with raises_at(PlanError, ("groups", "keys"), about="missing_key"):
        counts(["g"], ["a", ""], frame=TABLE)
    with raises_at(SourceError, ("groups", "period", "n")):
        counts(["n"], ["2024"], frame=TABLE, period={"n": "year"})


def test_times_with_a_zone_have_no_day_of_their_own_and_are_refused():
    zoned = pa.table({"t": pa.array(TIMES, pa.timestamp("us", "UTC"))})
    with raises_at(SourceError, ("groups", "by")):
        counts(["t"], ["2024"], frame=zoned, period={"t": "year"})


def test_how_records_find_their_group_is_said_and_part_of_the_plans_digest():
    content = {
        "groups": {"by": ["d"], "keys": ["2024-01", "none"], "max_size": 3},
        "statistics": [{"count": "true", "name": "number"}],
        "privacy": {"epsilon": 4},
    }
    said = {**content, "groups": {**content["groups"], "period": {"d": "month"}, "missing_key": "none"}}
    record = preview_release(said, TABLE).record
    assert "d: a record's group is the month of its date or time" in record["values"]
    assert any("has the key none" in line for line in record["values"])
    assert record["plan"]["period"] == {"d": "month"}
    without = preview_release(
        {**said, "groups": {**said["groups"], "keys": ["2024-01"], "missing_key": ""}}, TABLE
    ).record
    assert any("text not written like 2024-01-31, is in no group" in line for line in without["values"])


def test_periods_and_not_stated_in_one_line(tmp_path, command):
    in_csv(tmp_path / "t.csv")
    (tmp_path / "keys.txt").write_text("2024-01\n2024-03\nnone\n")
    words = ("--count", "n > 1", "--by", "s", "--period", "s=month", "--missing-key", "none", "--keys", "keys.txt")
    done = command(tmp_path, "release", "t.csv", *words, "--max-size", "9", "--epsilon", "2")
    assert done.returncode == 0
    assert [line.split(",")[0] for line in (tmp_path / "t.released.csv").read_text().split()[1:]] == [
        "2024-01", "2024-03", "none",
    ]  # fmt: skip
    refused = command(
        tmp_path, "release", "t.csv", *words[:-2], "--period", "month", "--max-size", "9", "--epsilon", "2"
    )
    assert refused.returncode == 2


def test_products_of_keys_are_written_in_a_plan_as_they_are(tmp_path):
    (tmp_path / "p.toml").write_text(
        '[groups]\nby = ["gender", "answer"]\nkeys = { gender = ["f", "m"], answer = ["yes", "no", "not stated"] }\n'
        'max_size = 9\nmissing_key = "not stated"\n[privacy]\nepsilon = 2\n'
        '[[statistics]]\ncount = "true"\nname = "number"\n'
    )
    frame = pa.table({"gender": ["f", "m", "f"], "answer": ["yes", None, "no"]})
    found = preview_release(tmp_path / "p.toml", frame).plan.groups.keys
    assert found == tuple((g, a) for g in ("f", "m") for a in ("yes", "no", "not stated"))


# --- consistent with a maximum ----------------------------------------------------------------------------


def test_cells_of_groups_with_a_maximum_sum_to_no_more_than_it(checks):
    content = {
        "groups": {"by": ["g"], "keys": [str(k) for k in range(300)], "max_size": 4},
        "columns": {"c": {"labels": ["p", "q", "r"]}},
        "statistics": [{"histogram": "c", "sum_to_size": True}],
        "privacy": {"epsilon": 2},
    }
    rows = [{"g": str(k), "c": label} for k in range(300) for label in "ppqr"[: k % 5]]
    drawn = {c.name: c.values for c in checks.release({**content, "statistics": [{"histogram": "c"}]}, rows, seed=2)}
    made = {c.name: c.values for c in checks.release(content, rows, seed=2)}
    before, after = (np.array([found[f"c: {label}"] for label in "pqr"]) for found in (drawn, made))
    assert (before.sum(axis=0) > 4).any()
    assert (after.sum(axis=0) == np.minimum(before.sum(axis=0), 4)).all()
    fits = before.sum(axis=0) <= 4
    assert (before[:, fits] == after[:, fits]).all()
    assert after.min() >= 0


# --- conditions and drafts --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["'q1 Likert' >= 4", "'q1 Likert' = 'yes'", "'q1 Likert' in (1, 2)", "'q1 Likert' is null"]
)
def test_a_text_in_the_place_of_a_column_is_told_about_double_quotes(text):
    with rejects(ValueError, about="'q1 Likert'"):
        check_condition(parse(text), {"q1 Likert": "number"})


def test_texts_may_still_stand_on_the_left_of_a_column():
    check_condition(parse("'yes' = answer"), {"answer": "text"})


@pytest.mark.parametrize(
    ("header", "by", "person"),
    [
        ("student_id,name,School,age", "School", 'id = "student_id"'),
        ("answer,Gender,q1", "Gender", '# id = "person"'),
        ("PatientId,visited,ward", "ward", 'id = "PatientId"'),
        ("name,colour,shape", "colour", '# id = "person"'),
    ],
)
def test_a_draft_groups_by_what_names_groups_and_never_by_persons(tmp_path, command, header, by, person):
    (tmp_path / "t.csv").write_text(f"{header}\n")
    assert command(tmp_path, "init", "t.csv").returncode == 0
    text = (tmp_path / "plan.toml").read_text()
    assert f'by = ["{by}"]' in text
    assert f"\n{person}  " in text
    assert "[columns.name]" not in text or 'count = "name' not in text


def test_a_draft_has_bounds_to_fill_in_from_what_a_name_says(tmp_path, command):
    (tmp_path / "t.csv").write_text("school,age,likert item\n")
    command(tmp_path, "init", "t.csv")
    text = (tmp_path / "plan.toml").read_text()
    assert "# low = 0 " in text
    assert "# high = 100" in text
    assert "# low = 1 " in text


def test_a_draft_completed_with_public_facts_is_a_plan(tmp_path, command):
    (tmp_path / "t.csv").write_text("school,pupil_id,age\nNorth,1,12\nNorth,1,13\nSouth,2,11\n")
    command(tmp_path, "init", "t.csv")
    text = (tmp_path / "plan.toml").read_text()
    text = text.replace("keys = []", 'keys = ["North", "South"]').replace("draft = true", "")
    (tmp_path / "plan.toml").write_text(text)
    assert release(tmp_path / "plan.toml", cache=tmp_path).plan.neighbours == "add or remove one person"


def test_an_installation_that_cannot_read_is_refused_before_the_charge(tmp_path, monkeypatch):
    (tmp_path / "survey.csv").write_text("school,answer\nNorth,yes\nSouth,no\n")
    plan = {
        "source": {"path": str(tmp_path / "survey.csv")},
        "groups": {"by": ["school"], "keys": ["North", "South"], "size": 20},
        "columns": {"answer": {"labels": ["yes", "no"]}},
        "statistics": [{"count": "answer = 'yes'"}],
        "privacy": {"epsilon": 1},
    }
    monkeypatch.setitem(sys.modules, "pyarrow.dataset", None)  # importing it fails
    with pytest.raises(ImportError):
        release(plan, output=tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()
    with Ledger.open(tmp_path / "inbounds.ledger", create=True) as ledger:
        assert not [entry for entry in ledger.entries() if entry.kind == "charge"]


def test_several_columns_of_groups_in_one_line_are_separated_by_commas_or_repeated(tmp_path, command):
    (tmp_path / "d.csv").write_text("g,h\na,x\na,y\nb,x\n")
    (tmp_path / "k.csv").write_text("g,h\na,x\nb,y\n")
    for name, by in (("1.csv", ["--by", "g, h"]), ("2.csv", ["--by", "g", "--by", "h"])):
        words = ["--keys", "k.csv", "--max-size", "9", "--count", "true", "--epsilon", "64", "--out", name]
        assert command(tmp_path, "release", "d.csv", *by, *words).returncode == 0
    assert (tmp_path / "1.csv").read_text() == (tmp_path / "2.csv").read_text()
