"""Mistakes that can be foreseen from the schema and the declarations are refused before anything is spent."""

import pytest

from inbounds.ledger.ledger import Ledger
from inbounds.releases.pipeline import PlanError, SourceError, preview_release, release
from raising import raises_at

PLAN = {
    "groups": {"by": "ward", "keys": ["A", "B"], "max_size": 9},
    "columns": {"wage": {"low": 0, "high": 100}},
    "statistics": [{"mean": "wage"}],
    "privacy": {"epsilon": 1},
}


@pytest.fixture
def planned(tmp_path):
    """A plan about a file with these names of columns, and the ledger that it would charge."""

    def build(names, delimiter=",", **changes):
        (tmp_path / "t.csv").write_text(delimiter.join(names) + "\n")
        source = {"path": str(tmp_path / "t.csv"), "delimiter": delimiter}
        return {**PLAN, "source": source, **changes}

    return build


def refuse(plan, tmp_path, error, path):
    with raises_at(error, path):
        release(plan, output=tmp_path / "out.csv", cache=tmp_path / "cache")
    ledger = tmp_path / "inbounds.ledger"
    if ledger.exists():
        with Ledger.open(ledger) as opened:
            assert all(who.spent == 0 for who in opened.people())
    assert not (tmp_path / "out.csv").exists()


def test_semicolons_without_a_decimal_mark_are_refused_if_numbers_are_read(tmp_path, planned):
    refuse(planned(["ward", "wage"], ";"), tmp_path, SourceError, ("source", "decimal"))
    counts = planned(["ward", "wage"], ";", statistics=[{"count": "true"}])
    assert preview_release(counts, cache=tmp_path / "cache").statement


@pytest.mark.parametrize("name", ["patient_id", "PatientNo", "Pupil", "customer number"])
def test_a_column_that_tells_persons_apart_must_be_declared(tmp_path, planned, name):
    plan = planned(["ward", "wage", name])
    refuse(plan, tmp_path, SourceError, ("people",))
    for people in ({"id": name}, {"one_record_each": [name]}):
        assert preview_release({**plan, "people": people}, cache=tmp_path / "cache").statement


def test_a_number_of_the_record_is_not_taken_for_a_person(tmp_path, planned):
    plan = planned(["ward", "wage", "id", "patients", "clients served"])
    assert preview_release(plan, cache=tmp_path / "cache").statement


def test_keys_that_their_column_is_not_declared_to_have_are_refused(tmp_path, planned):
    labelled = {**PLAN["columns"], "ward": {"labels": ["A", "C"]}}
    refuse(planned(["ward", "wage"], columns=labelled), tmp_path, PlanError, ("groups", "keys"))
    grades = {"by": "ward", "keys": ["1", "7"], "max_size": 9}
    ranged = {**PLAN["columns"], "ward": {"low": 1, "high": 6}}
    refuse(planned(["ward", "wage"], columns=ranged, groups=grades), tmp_path, PlanError, ("groups", "keys"))


def test_a_draft_can_be_tried_and_not_released(tmp_path, planned):
    plan = planned(["ward", "wage"], draft=True)
    assert preview_release(plan, cache=tmp_path / "cache").statement
    refuse(plan, tmp_path, PlanError, ("draft",))
