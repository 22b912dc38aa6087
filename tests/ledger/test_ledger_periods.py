"""Budgets that renew: an entry opens a later period, nothing opens an earlier one, and all that was spent adds up."""

import sqlite3
import tempfile
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import inbounds as ib
from inbounds.cli import app
from inbounds.ledger.ledger import verify_ledger
from inbounds.ledger.population import is_edition_of
from inbounds.ledger.verify import export_entries, verify_export
from raising import rejects


@pytest.fixture
def file(tmp_path):
    return tmp_path / "budget.db"


@pytest.fixture
def ledger(file):
    with ib.Ledger.open(file) as made:
        made.add_population("pupils", epsilon=1, every="year", period="2026")
        yield made


def spend(ledger, epsilon, edition, key=None):
    return ledger.charge("pupils", epsilon, key=key, edition=edition)


def test_a_later_period_has_the_whole_budget_and_the_lifetime_total_stays(ledger):
    spend(ledger, "0.75", "2026-11")
    ledger.renew("pupils", "2027")
    spend(ledger, 1, "2027")
    (pupils,) = ledger.people()
    assert (pupils.period_spent, pupils.period_budget, pupils.remaining) == (1, 1, 0)
    assert (pupils.spent, pupils.earlier) == (Fraction(7, 4), Fraction(3, 4))
    assert str(pupils) == "pupils: epsilon 1 of 1 spent in 2027, 0 left; 1.75 in all periods so far"
    assert ledger.verify().people == (pupils,)


def test_what_a_period_leaves_is_lost(ledger):
    ledger.renew("pupils", "2027")
    with pytest.raises(ib.BudgetExceeded) as refused:
        spend(ledger, "1.5", "2027")
    assert (refused.value.left, refused.value.budget) == (1, 1)


@pytest.mark.parametrize("edition", ["", "2025", "2027", "20261", "summer 2026"])
def test_only_editions_of_the_current_period_are_charged(ledger, edition):
    with rejects(ValueError, "edition"):
        spend(ledger, "0.1", edition)
    assert ledger.people()[0].spent == 0


def test_an_earlier_period_is_never_opened_again(ledger):
    charge = spend(ledger, "0.5", "2026", key="first")
    ledger.store(charge, b"answer")
    ledger.renew("pupils", "2028")
    for period in ("2028", "2027", "2026"):
        with rejects(ValueError, "period"):
            ledger.renew("pupils", period)
    with rejects(ValueError, "edition"):
        spend(ledger, "0.1", "2026")
    assert spend(ledger, "0.5", "2026", key="first").answer == b"answer"  # a stored answer costs nothing


@pytest.mark.parametrize("period", ["27", "2027-13", "2027-1", "MMXXVII", "", None, 2027])
def test_a_period_is_a_year_or_a_month(ledger, period):
    with rejects(ValueError, "period"):
        ledger.renew("pupils", period)


def test_people_without_a_renewing_budget_cannot_be_renewed(ledger):
    ledger.add_population("teachers", epsilon=1)
    with rejects(ValueError, "people"):
        ledger.renew("teachers", "2027")
    for wrong, argument in (
        ({"every": "week", "period": "2026"}, "every"),
        ({"period": "2026"}, "period"),
        ({"every": "year"}, "period"),
    ):
        with rejects(ValueError, argument):
            ledger.add_population("others", epsilon=1, **wrong)
    with rejects(ValueError, "epsilon"):
        ledger.add_population("others", every="year", period="2026")


def test_a_raised_budget_is_that_of_each_period(ledger):
    spend(ledger, 1, "2026")
    ledger.renew("pupils", "2027")
    ledger.raise_budget("pupils", 2)
    assert ledger.people()[0].remaining == 2
    ledger.renew("pupils", "2028")
    assert ledger.people()[0].remaining == 2
    assert ledger.verify().people == tuple(ledger.people())


def test_budgets_under_zcdp_renew_too(ledger):
    ledger.add_population("many", epsilon=1, rule="zcdp", delta="1e-6", every="month", period="2026-11")
    first = ledger.population("many").remaining
    ledger.charge("many", "0.1", edition="2026-11")
    ledger.renew("many", "2026-12")
    assert ledger.population("many").remaining == first
    ledger.verify()


def test_the_same_declaration_finds_the_people_in_a_later_period(ledger):
    ledger.renew("pupils", "2027")
    assert ledger.add_population("pupils", epsilon=1, every="year", period="2026").period == "2027"
    with rejects(ValueError, "people"):
        ledger.add_population("pupils", epsilon=1)


CHANGES = [
    "UPDATE people SET period = '2025'",
    "UPDATE people SET earlier = 0",
    "UPDATE people SET budget = 1000000000, earlier = 0, period = '2026'",
    "UPDATE people SET every = 'month'",
    "UPDATE people SET period = NULL",
]


@pytest.mark.parametrize("statement", CHANGES)
def test_the_database_refuses_to_go_back(ledger, file, statement):
    spend(ledger, "0.5", "2026")
    ledger.renew("pupils", "2027")
    with sqlite3.connect(file) as raw, pytest.raises(sqlite3.IntegrityError):
        raw.execute(statement)
    raw.close()
    ledger.verify()


def test_a_period_that_no_entry_opened_is_found(ledger, file):
    with sqlite3.connect(file) as raw:
        raw.execute("UPDATE people SET budget = budget + 1000000000, period = '2028'")
    raw.close()
    with rejects(ib.LedgerError, about="sum of its entries"):
        ledger.verify()


PERIODS = ["2026", "2027", "2028", "2029"]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["charge", "renew"]), st.sampled_from(PERIODS), st.integers(1, 12))))
def test_no_order_of_charges_and_renewals_spends_more_than_each_period_allows(steps):
    with tempfile.TemporaryDirectory() as folder, ib.Ledger.open(f"{folder}/budget.db") as ledger:
        ledger.add_population("pupils", epsilon=1, every="year", period="2026")
        spent, current = dict.fromkeys(PERIODS, Fraction(0)), "2026"
        for what, period, tenths in steps:
            if what == "renew":
                allowed = period > current
                current = max(current, period)
                call = lambda period=period: ledger.renew("pupils", period)  # noqa: E731
            else:
                amount = Fraction(tenths, 10)
                allowed = period == current and spent[period] + amount <= 1
                spent[period] += amount if allowed else 0
                call = lambda amount=amount, period=period: spend(ledger, amount, f"{period}-06")  # noqa: E731
            if allowed:
                call()
            else:
                with pytest.raises((ValueError, ib.BudgetExceeded)):
                    call()
        assert ledger.people()[0].spent == sum(spent.values())
        assert ledger.verify().people == tuple(ledger.people())


def test_an_export_is_checked_with_its_periods(ledger, tmp_path):
    spend(ledger, "0.5", "2026")
    ledger.renew("pupils", "2027")
    spend(ledger, "0.25", "2027-02")
    document = export_entries(ledger.head(), ledger.entries(), ledger.people())
    assert verify_export(document).people[0].period == "2027"
    document.save(tmp_path / "ledger.json")
    assert verify_ledger(str(tmp_path / "ledger.json")).charges == 2


def test_editions_belong_to_the_period_that_they_begin_with():
    assert all(is_edition_of(edition, "2027") for edition in ("2027", "2027-03", "2027 spring", "2027/1"))
    assert not any(is_edition_of(edition, "2027") for edition in ("", "20271", "2027a", "2026", "x2027"))


def test_the_command_line_declares_and_renews(tmp_path):
    place = str(tmp_path / "b.db")
    declared = ["--people", "pupils", "--epsilon", "1", "--every", "year", "--period", "2026"]
    made = CliRunner().invoke(app, ["ledger", "init", place, *declared], env={"COLUMNS": "200"})
    assert made.exit_code == 0
    assert "protected by the sum" in made.output
    renewed = CliRunner().invoke(app, ["ledger", "renew", place, "--people", "pupils", "--period", "2027"])
    assert renewed.exit_code == 0
    assert "spent in 2027" in renewed.output
    again = CliRunner().invoke(app, ["ledger", "renew", place, "--people", "pupils", "--period", "2027"])
    assert isinstance(again.exception, ValueError)
