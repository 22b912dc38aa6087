"""Release records believe nothing: digests, statement, account and mechanisms must agree, and no release is lost."""

import json
from copy import deepcopy
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

from envelopes import seal, wrap
from inbounds.checker import check_record
from inbounds.errors import PassportError, UnknownVersion
from inbounds.files import RELEASE, canonical_json, sha256_hex
from inbounds.plan.plan import ADD_OR_REMOVE, CHANGE, PERSON
from inbounds.releases.pipeline import release
from inbounds.releases.recompute import check_release as check
from inbounds.releases.record import format_plan_guarantee
from inbounds.releases.verify import compose_releases, load_record, record_page
from raising import rejects

FRAME = pa.table({"g": ["A", "A", "B"], "c": ["p", "q", "p"], "x": [1, 2, 3]})
PLAN = {
    "groups": {"by": ["g"], "keys": ["A", "B"], "size": [2, 3]},
    "columns": {"c": {"labels": ["p", "q"], "other": "q"}, "x": {"low": 0, "high": 4}},
    "statistics": [{"count": "c = 'p'", "name": "yes", "budget_share": "1/2"}, {"histogram": "c"}, {"mean": "x"}],
    "privacy": {"epsilon": 2},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("released")
    release(PLAN, FRAME, output=place / "o.csv", cache=place / "cache")
    return place


@pytest.fixture
def content(folder):
    return json.loads((folder / "o.csv.release.json").read_text())["content"]


@pytest.mark.parametrize("number", [0, 2, 3, True, "1", None])
def test_a_record_of_another_version_is_refused(content, tmp_path, number):
    envelope = seal({**wrap(RELEASE, content), "version": number})
    (tmp_path / "o.csv.release.json").write_text(json.dumps(envelope))
    with pytest.raises(UnknownVersion):
        load_record(tmp_path / "o.csv.release.json")


def test_a_record_and_its_table_prove_what_they_say(folder):
    assert len(check(folder / "o.csv.release.json")) == 7
    assert record_page(folder / "o.csv.release.json").count("c: p")


def test_the_checker_compares_the_digest_of_a_record_by_itself(content):
    envelope = wrap(RELEASE, content)
    assert check_record(envelope).lines
    with rejects(PassportError, "a release record", about="digest"):
        check_record({**envelope, "sha256": "0" * 64})


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
        change(("statement",), lambda said: said.replace("as likely", "more likely")),
        change(("statement",), lambda said: said.replace("7.389", "1.001")),
        change(("epsilon", "total"), "1"),
        change(("epsilon", "spent"), "1"),
        change(("plan", "epsilon"), "1"),
        change(("plan", "neighbours"), "anything"),
        change(("plan", "neighbours"), "add or remove one record"),
        change(("plan", "sizes"), "maximum"),
        change(("plan", "groups"), 3),
        change(("plan", "statistics", 0, "budget_share"), "1/4"),
        change(("account", 0, "spent"), "-1"),
        change(("account", 1, "draw_epsilon"), "1/2"),
        change(("account", 1, "statistic"), "yes"),
        change(("mechanisms", 0, "epsilon"), "-1"),
        change(("mechanisms", 0, "epsilon"), "3"),
        change(("mechanisms", 0, "groups"), 2),
        change(("mechanisms",), lambda lines: lines[1:]),
        change(("mechanisms", 0, "query", "neighbours"), {"reach": 0}),
        change(("table", "rows"), 5),
        lambda content: content.update(version=1),
    ],
)
def test_a_lie_is_found_although_all_digests_fit(folder, content, lie):
    lying = deepcopy(content)
    lie(lying)
    lying["plan_sha256"] = sha256_hex(canonical_json(lying["plan"]))
    (folder / "lie.json").write_text(json.dumps(wrap(RELEASE, lying)))
    with pytest.raises(PassportError):
        check(folder / "lie.json")
    with pytest.raises(PassportError):
        load_record(folder / "lie.json")


def test_a_field_named_twice_is_refused(folder):
    """JSON readers take the last one, people may read the first."""
    text = (folder / "o.csv.release.json").read_text()
    doubled = text.replace('"statement":', '"statement": "nothing to fear", "statement":', 1)
    (folder / "lie.json").write_text(doubled)
    with rejects(PassportError, "a file", about="repeat"):
        check(folder / "lie.json")


def test_releases_with_a_delta_say_what_a_replaced_record_costs_of_it():
    plan = {"sizes": "maximum", "neighbours": "add or remove one record"}
    one: Any = {"id": "1", "plan_sha256": "", "time": "", "plan": plan, "epsilon": {"spent": "1", "delta": "1/100"}}
    assert "replaced: at twice the epsilon, and 1 + exp(epsilon) times the delta)" in str(compose_releases({"a": one}))
    del one["epsilon"]["delta"]
    assert "replaced: at twice the epsilon)" in str(compose_releases({"a": one}))


def test_releases_count_by_themselves_however_alike_and_one_release_counts_once(tmp_path):
    """Two draws in the same second can be equal byte for byte; only a random number tells them apart."""
    records = {}
    for k in range(8):
        (tmp_path / str(k)).mkdir()
        done = release(PLAN, FRAME, output=tmp_path / str(k) / "o.csv", cache=tmp_path / "cache")
        records[str(k)] = load_record(f"{done.path}.release.json")
    assert compose_releases(records).epsilon == 16
    again = done.write(tmp_path / "again.csv")
    assert compose_releases({**records, "again": load_record(f"{again.path}.release.json")}).epsilon == 16


@pytest.mark.parametrize(
    ("neighbours", "change"),
    [(CHANGE, "were any other"), (ADD_OR_REMOVE, "row were added or removed"), (PERSON, "rows were added or removed")],
)
def test_the_promise_of_secret_sizes_names_the_change_that_it_covers(neighbours, change):
    person = {"id": "who", "max_records": 1, "max_groups": 1} if neighbours == PERSON else None
    promise = format_plan_guarantee(False, neighbours, Fraction(1), "frame", person).partition("(")[0]
    assert change in promise
