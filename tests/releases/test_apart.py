"""The data is no register of its own keys, under whatever name it is given; and no key of a register is quoted."""

import importlib
import os
import shutil
from contextlib import closing

import pyarrow as pa
import pyarrow.parquet
import pytest

from inbounds.releases.pipeline import Plan, PlanError, Source, load_plan, parse_groups, to_plan
from inbounds.sources.groups import OWN_DATA
from inbounds.sources.open import silence_engine
from raising import raises_at

DATA = "school,answer\nNorth,yes\nSecret School,no\nSecret School,yes\n"
FRAME = pa.table({"school": ["North", "South"], "answer": ["yes", "no"]})


def plan(keys, **changed):
    return {
        "groups": {"by": ["school"], "keys": keys, "size": 9},
        "columns": {"answer": {"type": "text"}},
        "statistics": [{"count": "answer = 'yes'"}],
        "privacy": {"epsilon": 1},
        **changed,
    }


def assert_refused(content, frame=None):
    with pytest.raises(PlanError) as caught:
        to_plan(content, frame)
    assert OWN_DATA in str(caught.value)
    assert "groups.keys" in str(caught.value)
    assert "Secret" not in str(caught.value)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "survey.csv").write_text(DATA)
    return tmp_path


@pytest.mark.parametrize("way", ["path", "absolute", "dots", "symbolic link", "hard link", "copy"])
def test_the_data_file_is_refused_as_its_own_register_under_any_name(folder, way):
    names = {"path": "survey.csv", "absolute": str(folder / "survey.csv"), "dots": f"../{folder.name}/survey.csv"}
    name = names.get(way, "schools.csv")
    if way == "symbolic link":
        os.symlink("survey.csv", name)
    elif way == "hard link":
        os.link("survey.csv", name)
    elif way == "copy":
        shutil.copy("survey.csv", name)
    assert_refused(plan(name, source={"path": "survey.csv"}))


def test_a_plan_file_is_refused_with_its_line_before_the_register_is_read(folder):
    (folder / "plan.toml").write_text(
        '[source]\npath = "survey.csv"\n[groups]\nby = ["school"]\nkeys = "survey.csv"\nsize = 9\n'
        "[columns.answer]\ntype = 'text'\n[privacy]\nepsilon = 1\n[[statistics]]\ncount = \"answer = 'yes'\"\n"
    )
    for frame in (None, FRAME):  # a frame in the place of the file was most likely read from it
        with raises_at(PlanError, ("groups", "keys"), line=5, about="public list") as caught:
            load_plan("plan.toml", frame=frame)
        assert "Secret" not in str(caught.value)


def test_the_data_is_refused_in_one_line_and_not_quoted(command, folder):
    words = ["survey.csv", "--count", "answer = 'yes'", "--by", "school", "--size", "9", "--epsilon", "1"]
    done = command(folder, "release", *words, "--keys", "survey.csv")
    assert done.returncode == 2
    assert "must be a public list of groups, got the data itself" in done.one_line
    assert "Secret" not in done.one_line
    (folder / "schools.csv").write_text("school\nNorth\n")
    assert command(folder, "release", *words, "--keys", "schools.csv", "--dry-run").returncode == 0


def test_a_parquet_file_and_a_plan_made_in_python_are_refused_alike(folder):
    pa.parquet.write_table(FRAME, "t.parquet")
    assert_refused(plan("t.parquet", source={"path": "t.parquet"}))
    asked = to_plan(plan(["North"], source={"path": "survey.csv"}))
    (folder / "schools.csv").write_text("school\nNorth\n")
    declared = parse_groups("school", "schools.csv", size=9)
    with raises_at(PlanError, ("groups", "keys"), about="the data itself"):
        Plan(Source(path="schools.csv"), declared, asked.columns, asked.statistics, asked.epsilon)
    with raises_at(PlanError, ("groups", "keys"), about="the data itself"):
        to_plan(plan(FRAME), FRAME)


@pytest.mark.parametrize("made", ["arrow", "pandas", "polars"])
def test_a_frame_is_refused_as_its_own_register_and_so_is_a_copy(made):
    if made == "polars":
        pytest.importorskip("polars")
    frame, copy, other = (
        {"arrow": lambda table: table, "pandas": lambda table: table.to_pandas(), "polars": _polars}[made](table)
        for table in (FRAME, pa.table(FRAME.to_pydict()), pa.table({"school": ["North", "West"]}))
    )
    assert_refused(plan(frame), frame)
    assert_refused(plan(copy), frame)
    with raises_at(PlanError, ("groups", "keys"), about="the data itself"):
        to_plan(to_plan(plan(frame, source={"path": "survey.csv"})), frame)
    assert to_plan(plan(other), frame).groups.keys == (("North",), ("West",))


def _polars(table):
    import polars

    return polars.from_arrow(table)


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_what_is_computed_from_the_table_of_a_database_is_no_register_of_it(tmp_path, engine):
    import ibis

    path = tmp_path / f"t.{engine}"
    with closing(importlib.import_module({"sqlite": "sqlite3"}.get(engine, engine)).connect(str(path))) as database:
        for name in ("pupils", "schools"):
            database.execute(f"create table {name} (school text, answer text)")
            database.execute(f"insert into {name} values ('North', 'yes'), ('South', 'no')")
        database.commit()
    connection = getattr(ibis, engine).connect(path)
    with silence_engine():
        pupils, schools = connection.table("pupils"), connection.table("schools")
    assert_refused(plan(pupils), pupils)
    assert_refused(plan(pupils.select("school").distinct()), pupils)
    assert_refused(plan(pupils), pupils.filter(pupils.answer == "yes"))
    assert_refused(plan(pupils.select("school").distinct(), source={"path": str(path), "table": "pupils"}))
    assert len(to_plan(plan(schools), pupils).groups) == 2
    assert len(to_plan(plan(schools, source={"path": str(path), "table": "pupils"})).groups) == 2
    connection.disconnect()


@pytest.mark.slow
def test_a_table_of_postgresql_is_no_register_of_itself(postgres):
    import ibis
    import psycopg

    with psycopg.connect(postgres) as connection:
        connection.execute("drop table if exists pupils")
        connection.execute("create table pupils (school text, answer text)")
        connection.execute("insert into pupils values ('North', 'yes')")
    server = ibis.connect(postgres)
    pupils = server.table("pupils")
    assert_refused(plan(pupils), pupils)
    assert_refused(plan(pupils.select("school").distinct(), source={"url": postgres, "table": "pupils"}))
    server.disconnect()


@pytest.mark.parametrize("kind", ["txt", "csv", "parquet", "frame", "list"])
def test_a_key_that_stands_twice_in_a_register_is_not_quoted(folder, kind):
    twice = pa.table({"school": ["Secret School", "North", "Secret School"]})
    keys = {"frame": twice, "list": twice["school"].to_pylist()}.get(kind, f"schools.{kind}")
    if kind == "parquet":
        pa.parquet.write_table(twice, keys)
    elif isinstance(keys, str):
        (folder / keys).write_text("\n".join([*(["school"] if kind == "csv" else []), *twice["school"].to_pylist()]))
    with raises_at(PlanError, ("groups", "keys"), about="twice") as caught:
        to_plan(plan(keys, source={"path": "survey.csv"}))
    assert "Secret" not in str(caught.value)


def test_values_of_a_register_that_are_no_keys_are_not_quoted():
    with raises_at(PlanError, ("groups", "keys"), about="texts") as caught:
        to_plan(plan(pa.table({"school": [4711.25, 2.0]})), FRAME)
    assert "4711" not in str(caught.value)
