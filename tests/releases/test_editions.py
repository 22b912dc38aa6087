"""Next month: the same plan on other data, and what is asked when an edition is declared of data at the same place."""

import json

import pytest

import inbounds as ib
from inbounds.ledger import Ledger
from inbounds.plan.load import load_plan
from inbounds.releases.charge_session import ChargeSession, OtherPeopleWarning, ReusedTableWarning
from inbounds.releases.pipeline import PlanError, UnconfirmedEdition, release
from raising import raises_at, rejects

PLAN = """\
edition = "2026-11"
[source]
path = "november.csv"
[people]
name = "pupils"
ledger = "budget.ledger"
[groups]
by = ["school"]
keys = ["North", "South"]
size = 20
[columns.answer]
labels = ["yes", "no"]
[[statistics]]
count = "answer = 'yes'"
[privacy]
epsilon = 1
[output]
path = "{edition}.csv"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for month in ("november", "december"):
        (tmp_path / f"{month}.csv").write_text("school,answer\nNorth,yes\nSouth,no\n")
    for month in ("2026-11", "2026-12"):
        (tmp_path / f"{month}.toml").write_text(PLAN.replace('"2026-11"', f'"{month}"').replace("{edition}", month))
    with Ledger.open(tmp_path / "budget.ledger") as ledger:
        ledger.add_population("pupils", epsilon=10)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def spent(folder):
    with Ledger.open(folder / "budget.ledger") as ledger:
        return ledger.population("pupils").spent


def test_a_new_edition_at_the_same_place_must_be_confirmed(folder):
    release("2026-11.toml")
    with rejects(UnconfirmedEdition, "november.csv", about="2026-12"):
        release("2026-12.toml")
    assert spent(folder) == 1
    assert not (folder / "2026-12.csv").exists()
    assert not release("2026-12.toml", new_data=True).stored
    with pytest.warns(ReusedTableWarning):  # an edition that was confirmed is not asked about again
        assert release("2026-12.toml", overwrite=True).stored
    assert spent(folder) == 2


def test_the_question_depends_on_declared_places_alone(folder):
    release("2026-11.toml")
    (folder / "november.csv").write_text("school,answer\nNorth,no\n" * 7)
    with pytest.raises(UnconfirmedEdition):
        release("2026-12.toml")
    (folder / "december.csv").unlink()
    (folder / "december.csv").symlink_to(folder / "november.csv")
    with pytest.raises(UnconfirmedEdition):  # the same place under another name
        release(load_plan("2026-12.toml").with_source(str(folder / "december.csv")))


def test_another_source_needs_no_confirmation_and_is_charged_to_the_same_people(folder):
    release("2026-11.toml")
    plan = load_plan("2026-12.toml").with_source("december.csv")
    assert release(plan).plan.population == "pupils"
    assert spent(folder) == 2


def test_people_that_a_plan_does_not_name_stay_those_of_its_first_source(folder):
    unnamed = (folder / "2026-11.toml").read_text().replace('name = "pupils"\nledger = "budget.ledger"', "")
    (folder / "unnamed.toml").write_text(unnamed)
    plan = load_plan("unnamed.toml")
    assert plan.with_source("december.csv").population == plan.population


def test_a_source_of_another_kind_must_fit_what_the_plan_declares(folder):
    with raises_at(PlanError, ("source", "path")):
        load_plan("2026-12.toml").with_source("december.doc")


def test_data_charged_to_other_people_is_told(folder):
    release("2026-11.toml")
    others = (folder / "2026-11.toml").read_text().replace('"pupils"', '"children"').replace("2026-11.csv", "o.csv")
    (folder / "others.toml").write_text(others)
    with Ledger.open(folder / "budget.ledger") as ledger:
        ledger.add_population("children", epsilon=10)
    with pytest.warns(OtherPeopleWarning) as told:
        release("others.toml")
    assert "pupils" in str(told[0].message)


def test_entries_state_source_and_edition(folder):
    release("2026-11.toml")
    with Ledger.open(folder / "budget.ledger") as ledger:
        (charge,) = [entry for entry in ledger.entries() if entry.kind == "charge"]
    facts = charge.parsed_facts
    assert (facts["edition"], facts["source"]) == ("2026-11", str(folder / "november.csv"))


def test_a_release_from_a_renewed_budget_states_the_period_and_the_sum(folder):
    with Ledger.open(folder / "yearly.ledger") as ledger:
        ledger.add_population("pupils", epsilon=1, every="year", period="2026")
    for month in ("2026-11", "2026-12"):
        text = (folder / f"{month}.toml").read_text().replace("budget.ledger", "yearly.ledger")
        (folder / f"{month}.toml").write_text(text.replace("november", "december") if month == "2026-12" else text)
    record = release("2026-11.toml").record
    entry = record["ledger"]
    assert (entry["period"], entry["period_spent"], entry["period_budget"], entry["spent"]) == ("2026", "1", "1", "1")
    with pytest.raises(ib.BudgetExceeded):
        release("2026-12.toml")
    assert ib.verify(folder / "2026-11.csv.release.json")


def test_the_command_line_takes_another_source_and_a_confirmation(folder, command):
    assert command(folder, "release", "2026-11.toml").returncode == 0
    refused = command(folder, "release", "2026-12.toml")
    assert refused.returncode != 0
    assert "--new-data" in refused.stderr
    moved = command(folder, "release", "2026-12.toml", "--source", "december.csv", "--json")
    assert moved.returncode == 0, moved.stderr
    assert json.loads(moved.stdout)["output"] == "2026-12.csv"
    again = command(folder, "release", "2026-12.toml", "--new-data", "--overwrite")
    assert again.returncode == 0, again.stderr


def test_a_session_without_a_ledger_asks_nothing(folder):
    plan = load_plan("2026-11.toml")
    with ChargeSession.open(plan, None, folder / "missing.ledger", None) as session, pytest.raises(ib.LedgerError):
        session.describe_new_edition()
