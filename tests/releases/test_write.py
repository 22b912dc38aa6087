"""Files: a table and its record, both whole, the record first; a killed release leaves no table without one."""

import csv
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envelopes import seal
from inbounds.errors import PassportError
from inbounds.releases.pipeline import release
from inbounds.releases.recompute import check_release as check
from inbounds.releases.write import encode_table_file, escape_formula, record_path, write_release
from inbounds.schema.errors import PlanError
from raising import raises_at, rejects

FRAME = pa.table({"g": ["A", "A", "B"], "c": ["p", "q", "p"]})
PLAN = {
    "groups": {"by": ["g"], "keys": ["B", 'Ä, "quoted"', "A"], "size": 4},
    "columns": {"c": {"type": "text"}},
    "statistics": [{"count": "c = 'p'", "name": "yes"}],
    "privacy": {"epsilon": 1},
}


@pytest.mark.parametrize("name", ["out.csv", "out.parquet", "out.json"])
def test_a_release_is_written_with_a_record_that_names_its_digest(tmp_path, name):
    done = release(PLAN, FRAME, output=tmp_path / name, cache=tmp_path / "cache")
    path = tmp_path / name
    if name.endswith("csv"):
        with open(path, newline="", encoding="utf-8") as file:
            rows = [[r["g"], int(r["yes"]), float(r["yes_error"])] for r in csv.DictReader(file)]
    elif name.endswith("json"):
        rows = [list(r.values()) for r in json.loads(path.read_text("utf-8"))]
    else:
        rows = [list(r.values()) for r in pyarrow.parquet.read_table(path).to_pylist()]
    assert rows == [list(r.values()) for r in done.table.to_pylist()]
    record = json.loads(record_path(path).read_text("utf-8"))["content"]
    assert record["table"] == {"file": name, "rows": 3, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    assert {"plan_sha256", "mechanisms", "epsilon", "versions", "time", "statement", "account"} <= set(record)
    assert record["epsilon"] == {"total": "1", "spent": "1"}
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        [name, record_path(path).name, "cache", "inbounds.ledger"]
    )


def test_an_existing_table_is_not_replaced_unless_on_purpose(tmp_path):
    target = tmp_path / "out.csv"
    release(PLAN, FRAME, output=target, cache=tmp_path / "cache")
    before = target.read_bytes(), record_path(target).read_bytes()
    with raises_at(PlanError, ("output", "path")):
        release(PLAN, FRAME, output=target, cache=tmp_path / "cache", key="again")
    assert (target.read_bytes(), record_path(target).read_bytes()) == before
    release(PLAN, FRAME, output=target, cache=tmp_path / "cache", key="again", overwrite=True)
    assert consistent(target)
    assert record_path(target).read_bytes() != before[1]


def test_a_failing_disk_leaves_nothing(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with rejects(OSError, about="Errno 28"):
        write_release(FRAME, {}, tmp_path / "out.csv")
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == []


def consistent(target: Path) -> bool:
    """No table, or a whole one whose record names it."""
    if not target.exists():
        return True
    record = json.loads(record_path(target).read_text("utf-8"))["content"]
    return record["table"]["sha256"] == hashlib.sha256(target.read_bytes()).hexdigest()


def no_table_without_its_record(folder: Path) -> None:
    for target in (path for path in folder.glob("out.*") if not path.name.endswith(".release.json")):
        assert record_path(target).exists(), "a table without a record"
        assert consistent(target), "a table that its record does not name"


@pytest.mark.parametrize("name", ["out.csv", "out.parquet", "out.json"])
def test_at_every_moment_of_writing_there_is_no_table_or_a_whole_one_with_its_record(tmp_path, every_moment, name):
    """The first time, again over an older table, and through a release from beginning to end."""
    target, large = tmp_path / name, pa.table({"g": ["A", "B"] * 500, "yes": [1, 2] * 500})
    whole = {name, record_path(target).name}
    for when, table, overwrite in (("first", FRAME, False), ("second", large, True), ("third", FRAME, True)):
        with every_moment(tmp_path, whole, no_table_without_its_record):
            write_release(table, {"time": when}, target, overwrite=overwrite)
    with every_moment(tmp_path, whole, no_table_without_its_record):
        release(PLAN, FRAME, output=target, cache=tmp_path / "cache", overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*whole, "cache", "inbounds.ledger"])


def test_the_watch_sees_a_table_before_its_record_and_one_written_in_place(tmp_path, every_moment):
    """Twins that must fail."""
    write_release(FRAME, {}, tmp_path / "other.csv")

    def table_first():
        with every_moment(tmp_path, set(), no_table_without_its_record):
            os.replace(tmp_path / "other.csv", tmp_path / "out.csv")
            os.replace(tmp_path / "other.csv.release.json", tmp_path / "out.csv.release.json")

    def in_place():
        with every_moment(tmp_path, {"new.csv"}, lambda _: None):
            (tmp_path / "new.csv").write_text("")

    with rejects(AssertionError, about="without"):
        table_first()
    with rejects(AssertionError, about="new.csv"):
        in_place()


def test_a_record_never_replaces_a_file_that_the_release_reads(tmp_path):
    """The keys may have any name, also that of the record to come; --overwrite is for older releases alone."""
    keys = tmp_path / "out.csv.release.json"
    keys.write_text("g\nA\nB\n")
    with rejects(ValueError, "output", about="reads"):
        write_release(FRAME, {}, tmp_path / "out.csv", overwrite=True, inputs=[str(keys)])
    with rejects(ValueError, "output", about="reads"):
        write_release(FRAME, {}, tmp_path / "keys.csv", overwrite=True, inputs=[str(tmp_path / "keys.csv")])
    assert keys.read_text() == "g\nA\nB\n"


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o027, 0o640), (0o077, 0o600)])
def test_who_may_read_a_release_is_what_the_umask_says(tmp_path, mask, mode):
    """A temporary file is for its owner alone; the table and its record are for whom any new file is for."""
    before = os.umask(mask)
    try:
        write_release(FRAME, {}, tmp_path / "out.csv")
    finally:
        os.umask(before)
    for path in (tmp_path / "out.csv", record_path(tmp_path / "out.csv")):
        assert path.stat().st_mode & 0o777 == mode


KILLED_AT_A_CALL = """
import os, signal, sys
from pathlib import Path
import pyarrow as pa
from inbounds.releases.write import write_release

stop, target, overwrite = int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] == "True"
calls = 0

def step():
    global calls
    calls += 1
    if calls == stop:
        os.kill(os.getpid(), signal.SIGKILL)

def counted(own):
    def call(*words, **named):
        step()
        result = own(*words, **named)
        step()
        return result
    return call

for name in ("fsync", "replace", "open", "chmod", "unlink"):
    setattr(os, name, counted(getattr(os, name)))
table = pa.table({"g": ["A", "B"] * 500, "yes": [1, 2] * 500})
write_release(table, {"time": "now"}, target, overwrite=overwrite)
"""


@pytest.mark.slow
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_release_killed_at_any_step_of_writing_leaves_no_table_without_its_record(tmp_path, overwrite):
    """Every call that touches the disk, before and after it, with and without an older table in place."""
    script = tmp_path / "write.py"
    script.write_text(KILLED_AT_A_CALL)
    seen = set()
    for stop in range(1, 60):
        target = tmp_path / f"{stop}.csv"
        if overwrite:
            write_release(FRAME, {"time": "before"}, target)
        done = subprocess.run(
            [sys.executable, str(script), str(stop), str(target), str(overwrite)], capture_output=True, text=True
        )
        assert done.returncode in (0, -signal.SIGKILL), done.stderr
        assert consistent(target)
        seen.add((target.exists(), record_path(target).exists()))
        if done.returncode == 0:
            break
    else:
        pytest.fail("the release never finished")
    assert (True, True) in seen
    assert (False, True) in seen  # the record came first


@pytest.mark.slow
def test_a_release_killed_at_random_moments_leaves_no_table_without_its_record(tmp_path):
    """The whole command, from the start of Python to its end, killed from outside."""
    keys = [f"k{k}" for k in range(3000)]
    (tmp_path / "keys.txt").write_text("\n".join(keys))
    (tmp_path / "data.csv").write_text("g,c\n" + "".join(f"{key},p\n" for key in keys))
    words = ["release", "data.csv", "--by", "g", "--keys", "keys.txt", "--size", "3", "--epsilon", "1"]
    words += ["--cache", "cache", "--count", "c = 'p'"]
    command = [sys.executable, "-m", "inbounds", *words]
    start = time.perf_counter()
    subprocess.run([*command, "--out", "first.csv"], cwd=tmp_path, check=True, capture_output=True)
    whole, rng, finished = time.perf_counter() - start, random.Random(1), 0
    for k in range(40):
        target = tmp_path / f"{k}.csv"
        process = subprocess.Popen(
            [*command, "--out", target.name], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(rng.uniform(0.3, 1.1) * whole)
        process.kill()
        process.wait()
        finished += target.exists()
        assert consistent(target)
    assert (tmp_path / "first.csv").exists()


# --- a record checked again --------------------------------------------------------------------------------


@pytest.fixture
def written(tmp_path: Path) -> Path:
    plan = {**PLAN, "columns": {"c": {"labels": ["p", "q"]}}, "statistics": [{"count": "c = 'p'"}, {"histogram": "c"}]}
    done = release(plan, FRAME, output=tmp_path / "out.csv", cache=tmp_path / "cache")
    assert repr(done) == f"Release({tmp_path / 'out.csv'}, 3 rows, epsilon 1, entry 3 of its ledger)"
    return record_path(tmp_path / "out.csv")


def test_a_release_record_passes_its_own_check(written):
    said = " ".join(check(written))
    for words in ("all 18 cells of out.csv were recomputed", "0.5 + 0.5 = 1 of epsilon 1", "2 mechanisms"):
        assert words in said


def test_a_changed_table_or_a_missing_one_is_found(written):
    table = written.with_name("out.csv")
    table.write_bytes(table.read_bytes() + b"\n")
    with rejects(PassportError, "the table out.csv", about="digest"):
        check(written)
    table.unlink()
    with rejects(PassportError, "the table out.csv", about="beside"):
        check(written)


def _spend_less(record):
    record["account"][0]["spent"] = "1/4"


def _claim_less(record):
    record["epsilon"]["spent"] = "1/2"
    record["account"][0]["spent"] = record["account"][1]["spent"] = "1/4"


def _draw_cells_at_all_of_it(record):
    record["account"][1]["draw_epsilon"] = "1/2"


def _draw_more(record):
    record["mechanisms"][0]["epsilon"] = "5"


def _other_plan(record):
    record["plan"]["epsilon"] = "9"


def _elsewhere(record):
    record["table"]["file"] = "../out.csv"


def _no_account(record):
    del record["account"]


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (_spend_less, "the account of count"),
        (_claim_less, "the account of count"),
        (_draw_cells_at_all_of_it, "the account of c"),
        (_draw_more, "the mechanism of count"),
        (_other_plan, "the plan"),
        (_elsewhere, "the record"),
        (_no_account, "a release record"),
    ],
)
def test_a_changed_record_is_found_and_so_is_one_whose_digest_was_made_to_fit(written, change, place):
    record = json.loads(written.read_text("utf-8"))
    change(record["content"])
    written.write_text(json.dumps(record), "utf-8")
    with rejects(PassportError, "the digest"):
        check(written)
    written.write_text(json.dumps(seal(record)), "utf-8")
    with rejects(PassportError, place):
        check(written)


@pytest.mark.parametrize("text", ["", "[]", "null", "{}", '{"format": "inbounds/release", "version": 1}', "\udcff"])
def test_what_is_no_record_is_refused_in_a_sentence(tmp_path, text):
    (tmp_path / "r.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(PassportError):
        check(tmp_path / "r.json")


def test_a_new_table_has_the_rights_of_new_files_and_the_process_keeps_its_mask(tmp_path, monkeypatch):
    """The mask belongs to the whole process: other threads create files too."""
    (tmp_path / "plain").touch()
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("the mask of the process was changed"))
    write_release(pa.table({"a": [1]}), {}, tmp_path / "t.csv")
    for name in ("t.csv", "t.csv.release.json"):
        assert (tmp_path / name).stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_what_a_killed_process_left_is_neither_in_the_way_nor_touched(tmp_path):
    """A container starts every process with the same number."""
    left = tmp_path / f".t.csv.{os.getpid()}.0"
    left.write_text("half a table")
    write_release(pa.table({"a": [1]}), {}, tmp_path / "t.csv")
    assert left.read_text() == "half a table"
    assert (tmp_path / "t.csv").read_text() == "a\n1\n"


NULL_OR = st.none() | st.sampled_from(["a", "=1", "'=x", "-3", "a,b", 'q"q', "x\ny", "\r", "", "＝1", "+1.5e3", "ü"])
FLOATS = st.none() | st.sampled_from([0.0, -0.0, 1.5, 1e-5, 1e22, 1 / 3, 100.0, float("nan"), float("inf")])


@settings(max_examples=30)
@given(st.data())
def test_a_csv_file_is_written_by_columns_as_field_by_field(data):
    rows = data.draw(st.integers(0, 4))
    kinds = {pa.string(): NULL_OR, pa.float64(): FLOATS, pa.int64(): st.none() | st.integers(-5, 10**12)}
    table = pa.table(
        {
            f"{data.draw(NULL_OR)} {k}": pa.array(data.draw(st.lists(kinds[kind], min_size=rows, max_size=rows)), kind)
            for k, kind in enumerate(data.draw(st.lists(st.sampled_from(list(kinds)), min_size=1, max_size=3)))
        }
    )
    lines = [table.column_names, *zip(*(column.to_pylist() for column in table.columns), strict=True)]
    assert encode_table_file(table, ".csv").decode() == "".join(
        f"{','.join(map(field_text, line))}\n" for line in lines
    )


def field_text(value):
    """A field of RFC 4180, with an apostrophe before what a spreadsheet would calculate."""
    if not isinstance(value, str):
        return "" if value is None else str(value)
    text = escape_formula(value)
    return '"' + text.replace('"', '""') + '"' if set(text) & set('",\r\n') else text
