"""What is read from a ledger's rows: numbers of the right kind, and the charges for one place and no other."""

from json import JSONDecodeError
from pathlib import Path

import pytest

from inbounds.errors import LedgerError
from inbounds.ledger import Ledger
from inbounds.ledger.queries import population_from_row
from inbounds.ledger.sqlite import can_be_written
from inbounds.ledger.store import WRONG_KINDS, DamagedNumber, DamageTranslator

ROW = ("pupils", "sum", "2", None, 2 * 10**18, 0, None, None, 0, None, 0, 0)
"""A population as its row has it: name, rule, epsilon, delta, budget, spent, renewal, deltas."""


def replaced(place, value):
    return (*ROW[:place], value, *ROW[place + 1 :])


def test_a_row_with_whole_numbers_is_a_population():
    assert population_from_row(*ROW).epsilon == 2


@pytest.mark.parametrize("place", [5, 8])
@pytest.mark.parametrize("value", ["7", 7.0, True, None])
def test_what_was_spent_is_a_whole_number(place, value):
    with pytest.raises(DamagedNumber):
        population_from_row(*replaced(place, value))


@pytest.mark.parametrize("place", [2, 3, 9])
@pytest.mark.parametrize("text", ["half", "1/2/3", ""])
def test_a_declared_amount_is_a_number(place, text):
    with pytest.raises(DamagedNumber):
        population_from_row(*replaced(place, text))


@pytest.fixture
def ledger(tmp_path):
    with Ledger.open(tmp_path / "budget.db") as opened:
        for people in ("pupils", "teachers"):
            opened.add_population(people)
        yield opened


def test_charges_are_found_by_the_whole_place_alone(ledger):
    places = ["a.csv", "data/a.csv", "a%csv", "a_csv", "a!csv", 'a".csv', "A.CSV", "a.csv.gz"]
    for place in places:
        ledger.charge("pupils", "0.1", source=place, edition=place[::-1])
    ledger.charge("teachers", "0.1", source="a.csv", question={"source": "b.csv"})
    ledger.charge("teachers", "0.1")
    for place in places:
        expected = [("pupils", place[::-1])] + ([("teachers", "")] if place == "a.csv" else [])
        assert ledger.charges_about(place) == expected
    assert ledger.charges_about("b.csv") == []


def test_a_pure_charge_that_is_found_again_has_no_delta(ledger):
    ledger.charge("pupils", "0.1", key="first")
    assert ledger.find("first").delta == 0


def test_a_ledger_needs_an_open_store():
    with pytest.raises(TypeError):
        Ledger("l.db")


def test_a_ledger_whose_connection_is_opened_anew_is_the_same_ledger(tmp_path):
    with Ledger.open(tmp_path / "l.db") as ledger:
        ledger._check_reopened(ledger._store.look)  # what the store calls then
        ledger.add_population("pupils")
        ledger._check_reopened(ledger._store.look)


@pytest.mark.parametrize("kind", [one for one in WRONG_KINDS if one is not JSONDecodeError])
def test_a_value_of_another_kind_is_damage(kind):
    with pytest.raises(LedgerError), DamageTranslator("l.db"):
        raise kind
    with pytest.raises(RuntimeError), DamageTranslator("l.db"):
        raise RuntimeError


@pytest.mark.parametrize("missing", ["l.db", "folder", "none"])
def test_a_ledger_can_be_written_if_its_file_and_its_folder_can(tmp_path, monkeypatch, missing):
    path = tmp_path / "l.db"
    fixed = {"l.db": path, "folder": tmp_path, "none": None}[missing]
    monkeypatch.setattr("os.access", lambda asked, mode: Path(asked) != fixed)
    assert can_be_written(path) == (missing == "none")
