"""No file is destroyed: not the data, the keys or the plan, whatever is typed; others only when asked to."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import inbounds as ib
from inbounds.releases.pipeline import load_plan, parse_groups, release
from inbounds.schema.errors import PlanError
from raising import raises_at, rejects

DATA = "school,answer\nNorth,yes\nNorth,no\nSouth,yes\n"
PLAN = """
[source]
path = "survey.csv"
[groups]
by = ["school"]
keys = "schools.txt"
size = 3
[columns.answer]
type = "text"
[[statistics]]
count = "answer = 'yes'"
[privacy]
epsilon = 1
"""
ONE_LINE = ["release", "survey.csv", "--by", "school", "--keys", "schools.txt", "--size", "3", "--epsilon", "1"]
ONE_LINE += ["--count", "answer = 'yes'"]
RELEASED = "survey.released.csv"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "survey.csv").write_text(DATA)
    (tmp_path / "schools.txt").write_text("North\nSouth\nWest\n")
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "other.csv").write_text("mine\n1\n")
    (tmp_path / "link.csv").symlink_to("survey.csv")
    os.link(tmp_path / "survey.csv", tmp_path / "hard.csv")
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def refused(command, folder, words, said):
    """The command refuses with these words, before anything is written or changed."""
    before = contents(folder)
    done = command(folder, *words)
    assert done.returncode == 2
    assert said in done.one_line
    assert contents(folder) == before


# --- the report of a release ------------------------------------------------------------------------------


@pytest.mark.parametrize("overwrite", [[], ["--overwrite"]])
@pytest.mark.parametrize("name", ["survey.csv", "./survey.csv", "link.csv", "hard.csv", "schools.txt", RELEASED])
def test_a_report_never_replaces_what_the_release_reads_or_writes(command, folder, name, overwrite):
    said = "report must not be a file that the release reads or writes itself"
    refused(command, folder, [*ONE_LINE, "--report", name, *overwrite], said)
    refused(command, folder, [*ONE_LINE, "--report", name, "--dry-run", *overwrite], said)


@pytest.mark.parametrize("name", ["plan.toml", "schools.txt", "survey.csv", f"{RELEASED}.release.json"])
def test_a_report_of_a_plan_file_replaces_neither_the_plan_nor_its_keys(command, folder, name):
    words = ["release", "plan.toml", "--out", RELEASED, "--report", name, "--overwrite"]
    refused(command, folder, words, "must not be a file that the release reads or writes itself")


def test_a_report_replaces_another_file_only_when_asked_to(command, folder):
    refused(command, folder, [*ONE_LINE, "--report", "other.csv"], "report must not exist yet, got other.csv")
    done = command(folder, *ONE_LINE, "--report", "other.csv", "--overwrite")
    assert done.returncode == 0, done.one_line
    assert "<h1>" in (folder / "other.csv").read_text()
    assert (folder / "survey.csv").read_text() == DATA


# --- the table --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("overwrite", [[], ["--overwrite"]])
@pytest.mark.parametrize("name", ["survey.csv", "link.csv", "hard.csv", "../folder/survey.csv"])
def test_a_table_never_replaces_its_source(command, tmp_path, folder, name, overwrite):
    place = shutil.copytree(folder, tmp_path / "folder", symlinks=True)
    os.remove(place / "hard.csv")
    os.link(place / "survey.csv", place / "hard.csv")
    said = f"must not be a file that the release reads, got {name}; give another name"
    refused(command, place, [*ONE_LINE, "--out", name, *overwrite], said)


def test_a_table_never_replaces_the_keys(command, folder):
    (folder / "keys.csv").write_text("school,n\nNorth,3\nSouth,2\n")
    words = [*ONE_LINE, "--keys", "keys.csv", "--out", "keys.csv", "--overwrite"]
    refused(command, folder, words, "must not be a file that the release reads")
    (folder / "plan.toml").write_text(PLAN.replace("schools.txt", "keys.csv"))
    words = ["release", "plan.toml", "--out", "keys.csv", "--overwrite"]
    refused(command, folder, words, "must not be a file that the release reads")


@pytest.mark.parametrize("name", ["survey.csv", "link.csv", "keys.csv"])
def test_python_never_replaces_what_the_plan_reads(folder, monkeypatch, name):
    monkeypatch.chdir(folder)
    Path("keys.csv").write_text("school\nNorth\nSouth\n")
    Path("plan.toml").write_text(PLAN.replace("schools.txt", "keys.csv"))
    values = {
        "source": {"path": "survey.csv"},
        "groups": {"by": ["school"], "keys": "keys.csv", "size": 3},
        "columns": {"answer": {"type": "text"}},
        "statistics": [{"count": "answer = 'yes'"}],
        "privacy": {"epsilon": 1},
    }
    before = contents(folder)
    for plan in ("plan.toml", load_plan("plan.toml"), values):
        with raises_at(PlanError, ("output", "path"), about="reads"):
            release(plan, output=name, overwrite=True, cache="cache")
        done = release(plan, cache="cache")
        for subject, write in (("output", done.write), ("report", done.report)):
            with rejects(ValueError, subject, about="reads"):
                write(name, overwrite=True)
    assert contents(folder) == before


def test_only_a_second_release_is_said_to_spend_its_epsilon(command, folder):
    done = command(folder, *ONE_LINE, "--out", "other.csv")
    assert "must not exist yet, got other.csv; give another name, or replace it with --overwrite" in done.one_line
    assert "epsilon" not in done.one_line
    assert command(folder, *ONE_LINE).returncode == 0
    refused(command, folder, [*ONE_LINE, "--redraw"], "a second release spends its epsilon on top of the first")


def test_writing_the_same_release_again_is_not_said_to_spend_anything(tmp_path):
    plan = {"groups": {"size": 3}, "statistics": [{"count": "true"}], "privacy": {"epsilon": 1}}
    done = release(plan, pa.table({"c": ["x"]}), output=tmp_path / "a.csv", cache=tmp_path / "cache")
    with rejects(ValueError, "output", about="exist") as refusal:
        done.write(tmp_path / "a.csv")
    assert "spends" not in str(refusal.value)
    done.write(tmp_path / "a.csv", overwrite=True)
    done.write(tmp_path / "b.parquet")


# --- other commands ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["survey.csv", "link.csv"])
def test_init_never_replaces_the_data(command, folder, name):
    refused(command, folder, ["init", "survey.csv", "--out", name, "--overwrite"], "output must not be the data")
    refused(command, folder, ["init", "survey.csv", "--out", "other.csv"], "exists; give another name, or --overwrite")


@pytest.mark.long
@pytest.mark.long
@pytest.mark.parametrize(
    "words",
    [
        ["design", "count", "--size", "2", "--epsilon", "1", "--out"],
        ["recommend", "count", "--size", "2", "--epsilon", "1", "--out"],
        ["calibrate", "count", "--size", "2", "--mean-error", "0.5", "--out"],
        ["local", "plan", "--low", "0", "--high", "3", "--epsilon", "1", "--reports", "20", "--out"],
        ["compose", "m.json", "--out"],
        ["compare", "count", "--size", "2", "--epsilon", "1", "--out"],
        ["report", "m.json", "--out"],
        ["attack", "m.json", "--repeat", "1,2", "--out"],
        ["compose", "m.json", "--figure"],
    ],
)
def test_passports_records_and_pages_replace_only_their_own_kind(command, folder, words):
    ib.catalog.uniform(ib.count(2), 1).save(folder / "m.json")
    assert command(folder, *ONE_LINE).returncode == 0
    passports = words[0] in ("design", "recommend", "calibrate", "local")
    own = "m.json" if passports else "new.png" if words[0] == "attack" or "--figure" in words else "new"
    for name in {"survey.csv", "other.csv", f"{RELEASED}.release.json", "m.json"} - {own}:
        before = contents(folder)
        for overwrite in ([], ["--overwrite"]) if name == "other.csv" else (["--overwrite"],):
            done = command(folder, *words, name, *overwrite)
            assert done.returncode == 2, name
            assert "give another name" in done.one_line
            assert contents(folder) == before
    for _ in range(2):  # the second time over a file of its own kind
        assert command(folder, *words, own, "--overwrite").returncode == 0
    refused(command, folder, [*words, own], f"must not exist yet, got {own}; give another name, or --overwrite to")


def test_a_cache_that_holds_something_else_is_filled_anew(folder, monkeypatch):
    monkeypatch.chdir(folder)
    first = release("plan.toml", cache="cache").record["mechanisms"]
    (file,) = Path("cache").iterdir()
    file.write_text("not a passport")
    assert release("plan.toml", cache="cache").record["mechanisms"] == first
    assert json.loads(file.read_text())["format"] == "inbounds/mechanism"


def test_the_source_that_a_frame_replaces_is_spared(folder):
    frame = pa.table({"school": ["North"], "answer": ["yes"]})
    before = contents(folder)
    for plan in (folder / "plan.toml", load_plan(folder / "plan.toml")):
        with raises_at(PlanError, ("output", "path"), about="reads"):
            release(plan, frame, output=folder / "survey.csv", overwrite=True)
    assert contents(folder) == before


def test_a_register_is_spared_however_the_plan_was_made(folder):
    (folder / "schools.csv").write_text("school\nNorth\n")
    keys = parse_groups("school", str(folder / "schools.csv"), size=3)
    plan = replace(load_plan(folder / "plan.toml"), groups=keys, reads=())
    with raises_at(PlanError, ("output", "path"), about="reads"):
        release(plan, output=folder / "schools.csv", overwrite=True)


def test_the_passports_of_another_release_are_not_replaced(command, folder):
    assert command(folder, *ONE_LINE, "--passports", "passports").returncode == 0
    assert command(folder, *ONE_LINE, "-o", "again.csv", "--passports", "passports").returncode == 0
    before = (folder / "passports" / "count-3.json").read_bytes()
    other = [word if word != "1" else "2" for word in ONE_LINE]
    done = command(folder, *other, "-o", "third.csv", "--passports", "passports")
    assert done.returncode == 2
    assert "is not this mechanism's passport; give another folder" in done.one_line
    assert (folder / "passports" / "count-3.json").read_bytes() == before
    assert not (folder / "third.csv").exists()


def test_a_table_does_not_take_the_name_of_a_passport(command, folder):
    done = command(folder, *ONE_LINE, "-o", "count-3.json", "--passports", ".")
    assert done.returncode == 2
    assert "exists; give another name" in done.one_line or "must not exist" in done.one_line
    assert not (folder / "count-3.json.release.json").exists()
