"""What a checker refuses of groups and tables by themselves."""

import json
from hashlib import sha256

import pyarrow as pa
import pyarrow.parquet
import pytest

import inbounds as ib
from checker.released import sign
from inbounds.checker.plan import _read_groups
from inbounds.checker.tablefile import read_table
from inbounds.errors import PassportError


def groups(keys):
    sizes = [2] * len(keys)
    digest = sha256(json.dumps([[[key] for key in keys], sizes]).encode()).hexdigest()
    return _read_groups({"keys": {"g": keys}, "sizes": " ".join(map(str, sizes))}, ("g",), len(keys), digest)


@pytest.mark.parametrize("keys", [["3", "3.0"], ["true", "TRUE"], ["-7.0", "-7"], ["a", "a"]])
def test_keys_that_match_the_same_records_are_refused(keys):
    """A record would be in two groups, and cost twice the epsilon."""
    with pytest.raises(PassportError):
        groups(keys)


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
    ib.release(plan, frame, output=tmp_path / "t.csv", mechanisms=tmp_path / "m", cache=tmp_path / "c", anyway=True)
    (passport,) = (tmp_path / "m").iterdir()
    assert not ib.load(passport).weights[0].any()
    path, table = tmp_path / "t.csv.release.json", (tmp_path / "t.csv").read_text()
    record = json.loads(path.read_text())
    head, row = table.splitlines()
    cells = dict(zip(head.split(","), row.split(","), strict=True)) | {"yes": "0"}
    forged = "\n".join([head, ",".join(cells.values())]) + "\n"
    (tmp_path / "t.csv").write_text(forged)
    record["draws"]["yes"] = "0"
    path.write_text(json.dumps(sign(record, forged.encode())))
    verdict = ib.verify(path)
    assert not verdict.valid
    assert "never gives" in verdict.reason
