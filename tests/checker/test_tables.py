"""What a checker refuses of groups and tables by themselves."""

import json
from hashlib import sha256

import pyarrow as pa
import pyarrow.parquet
import pytest

import inbounds as ib
from checker.released import sign
from inbounds.checker.keys import KeyMatching
from inbounds.checker.plan import _read_groups
from inbounds.checker.tablefile import read_table
from inbounds.errors import PassportError
from inbounds.releases.pipeline import preview_release
from inbounds.schema.errors import SourceError


def groups(keys, kind="text", missing_key="", period=None):
    sizes = [2] * len(keys)
    digest = sha256(json.dumps([[[key] for key in keys], sizes]).encode()).hexdigest()
    stated = {"keys": {"g": keys}, "types": {"g": kind}, "sizes": " ".join(map(str, sizes))}
    return _read_groups(stated, KeyMatching(("g",), missing_key, period or {}), len(keys), digest)


@pytest.mark.parametrize("keys", [["3", "3.0"], ["true", "TRUE"], ["-7.0", "-7"], ["a", "a"]])
def test_keys_that_match_the_same_records_are_refused(keys):
    """A record would be in two groups, and cost twice the epsilon."""
    with pytest.raises(PassportError):
        groups(keys)


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        ("number", ["1", "01"]),
        ("number", ["0", "-0"]),
        ("number", ["7", " 7"]),
        ("number", ["3", "3.0"]),
        ("number", ["3", "x"]),
        ("number", ["1", str(2**63)]),
        ("boolean", ["true", " TRUE "]),
        ("boolean", ["true", "1"]),
        ("date", ["2024-01-31", "2024-01-31T00:00"]),
        ("date", ["2024-01-31", "2024-02-30"]),
        ("time", ["2024-01-31", "2024-01-31 00:00:00.0"]),
        ("float", ["1", "2"]),
        ("", ["1", "2"]),
    ],
)
def test_keys_that_are_one_value_of_their_column_are_refused(kind, keys):
    with pytest.raises(PassportError):
        groups(keys, kind)


def test_keys_that_are_different_values_of_their_column_are_read():
    assert len(groups(["1", "10", "-1"], "number")[0]) == 3
    assert len(groups(["1", "01"], "text")[0]) == 2
    assert len(groups(["2024-01-31", "2024-02-29"], "date")[0]) == 2
    assert len(groups(["1", "01"], "number", missing_key="01")[0]) == 2
    assert len(groups(["2024-01", "none"], "date", missing_key="none", period={"g": "month"})[0]) == 2
    with pytest.raises(PassportError):
        groups(["2024-01", "2024-1"], "date", period={"g": "month"})
    with pytest.raises(PassportError):
        groups(["2024", "2025"], "number", period={"g": "year"})


def one_count(keys, by=("g",)):
    return {
        "groups": {"by": list(by), "keys": keys, "size": 3},
        "columns": {"c": {"type": "text"}},
        "statistics": [{"count": "c = 'p'"}],
        "privacy": {"epsilon": 1},
    }


def test_a_record_states_the_types_of_its_keys_and_colliding_ones_are_refused_before_the_charge(tmp_path):
    plan = one_count([["1", "1", "2024-01-31"], ["2", "01", "2024-02-01"]], by=("g", "h", "d"))
    days = pa.array([19753, 19754], pa.date32())
    frame = pa.table({"g": [1, 2], "h": ["1", "01"], "d": days, "c": ["p", "q"]})
    done = ib.release(plan, frame, output=tmp_path / "t.csv", allow_useless=True)
    assert done.record["groups"]["types"] == {"g": "number", "h": "text", "d": "date"}
    assert preview_release(plan, frame).record["groups"]["types"] == {
        "g": "number",
        "h": "text",
        "d": "date",
    }
    assert ib.verify(tmp_path / "t.csv.release.json").is_valid
    plan["groups"]["keys"] = [["1", "1", "2024-01-31"], ["01", "1", "2024-01-31T00:00"]]
    (tmp_path / "other").mkdir()
    with pytest.raises(SourceError):
        ib.release(plan, frame, output=tmp_path / "other" / "t.csv", allow_useless=True)
    assert not list((tmp_path / "other").iterdir())


def test_keys_that_are_said_to_be_of_another_type_are_refused(tmp_path):
    """Two texts, 1 and 01, of a column that is then said to hold numbers."""
    frame = pa.table({"g": ["1"], "c": ["p"]})
    ib.release(one_count(["1", "01"]), frame, output=tmp_path / "t.csv", allow_useless=True)
    path = tmp_path / "t.csv.release.json"
    record = json.loads(path.read_text())["content"]
    assert ib.verify(path).is_valid
    for types in ({"g": "number"}, {}, {"g": "text", "h": "text"}, {"g": None}, []):
        record["groups"]["types"] = types
        path.write_text(json.dumps(sign(record)))
        assert not ib.verify(path).is_valid


def test_keys_that_differ_in_any_other_way_are_read():
    assert groups(["3", "3.00", "v3.0", "truth"])[0] == (("3",), ("3.00",), ("v3.0",), ("truth",))


@pytest.mark.parametrize("notes", [{b"pandas": b"{}"}, {b"title": b"other"}])
def test_a_parquet_table_with_notes_beside_its_columns_is_refused(tmp_path, notes):
    """pandas takes the names of columns from there."""
    table, path = pa.table({"yes": [1], "no": [2]}), tmp_path / "t.parquet"
    for schema, accepted in ((table.schema, True), (table.schema.with_metadata(notes), False)):
        pa.parquet.write_table(table.cast(schema), path)
        digest = sha256(path.read_bytes()).hexdigest()
        if accepted:
            assert read_table(path, digest).rows == 1
        else:
            with pytest.raises(PassportError):
                read_table(path, digest)


def test_a_draw_that_its_mechanism_never_gives_is_refused(tmp_path):
    """The optimum for a count of 6 never reports 0 at this epsilon; table and digests are made to fit such a draw."""
    plan = {
        "groups": {"by": ["g"], "keys": ["a"], "size": 6},
        "columns": {"c": {"type": "text"}},
        "statistics": [{"count": "c = 'p'", "name": "yes"}],
        "privacy": {"epsilon": "0.5"},
    }
    frame = pa.table({"g": ["a"] * 6, "c": ["p"] * 3 + ["q"] * 3})
    ib.release(
        plan, frame, output=tmp_path / "t.csv", mechanisms=tmp_path / "m", cache=tmp_path / "c", allow_useless=True
    )
    (passport,) = (tmp_path / "m").iterdir()
    assert not ib.load(passport).weights[0].any()
    path, table = tmp_path / "t.csv.release.json", (tmp_path / "t.csv").read_text()
    record = json.loads(path.read_text())["content"]
    head, row = table.splitlines()
    cells = dict(zip(head.split(","), row.split(","), strict=True)) | {"yes": "0"}
    forged = "\n".join([head, ",".join(cells.values())]) + "\n"
    (tmp_path / "t.csv").write_text(forged)
    record["draws"]["yes"] = "0"
    path.write_text(json.dumps(sign(record, forged.encode())))
    verdict = ib.verify(path)
    assert not verdict.is_valid
    assert "never gives" in verdict.reason
