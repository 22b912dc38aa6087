"""Release records believe nothing: digests, statement, account and mechanisms must agree, and no release is lost."""

import hashlib
import json
from copy import deepcopy
from pathlib import Path

import pyarrow as pa
import pytest

from inbounds.errors import PassportError
from inbounds.tables import release
from inbounds.tables.reopen import check, page_of, read, together
from inbounds.tables.write import own_digest, spaced_digest

FRAME = pa.table({"g": ["A", "A", "B"], "c": ["p", "q", "p"], "x": [1, 2, 3]})
PLAN = {
    "groups": {"by": ["g"], "keys": ["A", "B"], "size": [2, 3]},
    "columns": {"c": {"labels": ["p", "q"], "other": "q"}, "x": {"low": 0, "high": 4}},
    "statistics": [{"count": "c = 'p'", "name": "yes", "share": "1/2"}, {"histogram": "c"}, {"mean": "x"}],
    "privacy": {"epsilon": 2},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("released")
    release(PLAN, FRAME, output=place / "o.csv", cache=place / "cache")
    return place


@pytest.fixture
def content(folder):
    return json.loads((folder / "o.csv.release.json").read_text())


def test_a_record_of_version_1_is_read_for_ever_and_says_what_it_said():
    file = Path(__file__).parents[1] / "fixtures" / "release_v1.csv.release.json"
    assert len(check(file)) == 5
    assert read(file)["statement"].startswith("One record is one person. Which group")
    assert page_of(file).count("North")


@pytest.mark.parametrize("number", [0, 3, True, "2", None])
def test_a_record_of_a_version_that_nobody_knows_is_refused(content, tmp_path, number):
    content["version"] = number
    content["sha256"] = own_digest(content)
    (tmp_path / "o.csv.release.json").write_text(json.dumps(content))
    with pytest.raises(PassportError, match=r"is a release record of version .*, not 1 or 2"):
        read(tmp_path / "o.csv.release.json")


def test_a_record_of_either_version_must_have_the_words_of_its_own(content, tmp_path):
    content["version"] = 1
    content["plan_sha256"] = spaced_digest(content["plan"])
    content["sha256"] = own_digest(content)
    (tmp_path / "o.csv.release.json").write_text(json.dumps(content))
    with pytest.raises(PassportError, match="the statement is not what the plan and the account promise"):
        read(tmp_path / "o.csv.release.json")


def test_a_record_and_its_table_prove_what_they_say(folder):
    assert len(check(folder / "o.csv.release.json")) == 5


def change(path, value):
    """Put a value, or the result of a function of the old one, at a path of keys and positions."""

    def changed(content):
        part = content
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = value(part[path[-1]]) if callable(value) else value

    return changed


@pytest.mark.parametrize(
    "lie",
    [
        change(("statement",), lambda said: said.replace("likelier", "less likely")),
        change(("statement",), lambda said: said.replace("7.389", "1.001")),
        change(("epsilon", "total"), "1"),
        change(("epsilon", "spent"), "1"),
        change(("plan", "epsilon"), "1"),
        change(("plan", "neighbours"), "anything"),
        change(("plan", "neighbours"), "add or remove one record"),
        change(("plan", "sizes"), "maximum"),
        change(("plan", "groups"), 3),
        change(("plan", "statistics", 0, "share"), "1/4"),
        change(("account", 0, "spent"), "-1"),
        change(("account", 1, "drawn_at"), "1/2"),
        change(("account", 1, "statistic"), "yes"),
        change(("mechanisms", 0, "epsilon"), "-1"),
        change(("mechanisms", 0, "epsilon"), "3"),
        change(("mechanisms", 0, "groups"), 2),
        change(("mechanisms",), lambda lines: lines[1:]),
        change(("mechanisms", 0, "query", "neighbours"), {"reach": 0}),
        change(("table", "rows"), 5),
        change(("version",), True),
    ],
)
def test_a_lie_is_found_although_all_digests_fit(folder, content, lie):
    lying = deepcopy(content)
    lie(lying)
    plan = json.dumps(lying["plan"], sort_keys=True)
    lying["plan_sha256"] = hashlib.sha256(plan.encode()).hexdigest()
    lying["sha256"] = own_digest(lying)
    (folder / "lie.json").write_text(json.dumps(lying))
    with pytest.raises(PassportError):
        check(folder / "lie.json")
    with pytest.raises(PassportError):
        read(folder / "lie.json")


def test_a_field_named_twice_is_refused(folder):
    """JSON readers take the last one, people may read the first."""
    text = (folder / "o.csv.release.json").read_text()
    doubled = text.replace("{", '{"statement": "nothing to fear", ', 1)
    (folder / "lie.json").write_text(doubled)
    with pytest.raises(PassportError, match="repeat a field"):
        check(folder / "lie.json")


def test_releases_count_by_themselves_however_alike_and_one_release_counts_once(tmp_path):
    """Two draws in the same second can be equal byte for byte; only a random number tells them apart."""
    records = {}
    for k in range(8):
        (tmp_path / str(k)).mkdir()
        done = release(PLAN, FRAME, output=tmp_path / str(k) / "o.csv", cache=tmp_path / "cache")
        records[str(k)] = read(f"{done.path}.release.json")
    assert together(records).epsilon == 16
    again = done.write(tmp_path / "again.csv")
    assert together({**records, "again": read(f"{again.path}.release.json")}).epsilon == 16
