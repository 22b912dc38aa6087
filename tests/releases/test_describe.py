"""A release described for others: the fields of the registry of deployments, and every topic of the guidelines."""

import json

import pyarrow as pa
import pytest

import inbounds as ib
from inbounds.releases.describe import TO_COMPLETE, build_registry_entry, format_checklist, format_yaml
from inbounds.releases.public_page import public_page

yaml = pytest.importorskip("yaml")

FRAME = pa.table({"who": ["a", "b", "c"] * 4, "school": ["x", "y"] * 6, "age": [3, 5, 9] * 4})
PLAN = {
    "groups": {"by": ["school"], "keys": ["x", "y"], "max_size": 60},
    "people": {"id": "who", "max_records": 2},
    "columns": {"age": {"low": 0, "high": 10}},
    "statistics": [{"count": "true", "name": "n"}, {"mean": "age", "name": 'a "mean": # no\ttab'}],
    "privacy": {"epsilon": "4/3"},
    "about": {"title": "Pupils: how old?", "author": "Office", "notes": "One.\nTwo: - # ' \"."},
    "edition": "2026",
}


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("described")
    return ib.release(PLAN, FRAME, cache=folder, allow_useless=True).write(folder / "t.csv")


def test_an_entry_has_the_fields_of_the_registry_and_what_the_record_says(done):
    entry = build_registry_entry(done.record)
    assert set(entry) == {"url_slug", "status", "tier", "deployment"}
    deployment = entry["deployment"]
    assert set(deployment) == {
        *("product", "dp_flavor", "privacy_loss", "model", "accounting", "implementation", "resources")
    }
    assert entry["url_slug"] == "pupils-how-old-2026"
    assert deployment["product"]["data_curators"] == ["Office"]
    assert deployment["dp_flavor"]["bound_on_output_distance"] == "4/3"
    assert deployment["privacy_loss"]["privacy_parameters"]["epsilon"] >= 4 / 3
    assert deployment["privacy_loss"]["privacy_unit_description"] == done.record["statement"]
    assert all(line in deployment["accounting"]["composition"] for line in done.record["composition"])
    assert "who" in deployment["dp_flavor"]["input_metric"]


def test_the_entry_is_yaml_and_says_what_people_complete(done, tmp_path, command):
    entry = build_registry_entry(done.record)
    assert yaml.safe_load(format_yaml(entry)) == entry
    awkward = {"a": "\n", "b": " x\ny", "c": "x\n\n y", "d": "\u2028\x85\ny", "e": ["'", "#"], "f": "yes", "g": "x\n"}
    assert yaml.safe_load(format_yaml(awkward)) == awkward
    record = f"{done.path}.release.json"
    said = command(tmp_path, "describe", record, "--out", "e.yaml", "--checklist", "c.md")
    text = (tmp_path / "e.yaml").read_text("utf-8")
    assert yaml.safe_load(text) == entry
    assert f"{text.count(TO_COMPLETE)} fields" in said.stdout
    assert (tmp_path / "c.md").read_text("utf-8") == format_checklist(done.record)
    assert json.loads(command(tmp_path, "describe", record, "--json").stdout) == entry
    assert yaml.safe_load(command(tmp_path, "describe", record).stdout) == entry


def test_the_checklist_has_every_topic_with_what_follows_and_what_is_open(done):
    text = format_checklist(done.record)
    for topic in (
        *("Privacy parameters", "Unit of privacy", "Composition", "Algorithms", "Contribution and clipping bounds"),
        *("Accuracy", "Bias", "Floating point and randomness", "Side channels", "Trust model"),
        *("Security of data and ledger", "Collection of the data"),
    ):
        assert f"## {topic}\n" in text
    assert "Epsilon 4/3, delta 0." in text
    assert "at most 2 count in each of one group" in text
    assert "age 0..10" in text
    assert text.count("- [ ] ") == 11


def test_a_release_with_a_delta_says_so_everywhere(done):
    record = {**done.record, "epsilon": {**done.record["epsilon"], "delta": "1/1000000"}}
    deployment = build_registry_entry(record)["deployment"]
    assert deployment["dp_flavor"]["name"] == "Approximate DP"
    assert deployment["privacy_loss"]["privacy_parameters"]["delta"] >= 1e-6
    assert "approximate differential privacy" in format_checklist(record).lower()
    assert "and delta 1e-06)" in public_page(record, done.table)


def test_only_declared_groups_are_said_to_need_nothing_of_the_data(done):
    found = {**done.record, "plan": {**done.record["plan"], "keys": "from the data"}}
    declared, from_data = (
        build_registry_entry(record)["deployment"]["implementation"]["pre_processing_eda_hyperparameter_tuning"]
        for record in (done.record, found)
    )
    assert "no release computes a bound or a key from data" in declared
    assert "no release computes" not in from_data
    assert "groups are those of the data" in from_data
