"""Deltas in a ledger: a budget of their own, 0 unless declared, under both rules and in every period."""

from fractions import Fraction

import pytest

from inbounds.accounting.zcdp_filter import epsilon_from_rho
from inbounds.errors import BudgetExceeded, LedgerError
from inbounds.ledger import Ledger
from inbounds.ledger.charges import Cost
from inbounds.ledger.units import ATTO, delta_units
from inbounds.ledger.verify import export_entries, parse_export, verify_entries, verify_export
from ledger.test_ledger import chained, changed
from raising import rejects


@pytest.fixture
def ledger(tmp_path):
    with Ledger.open(tmp_path / "budget.db") as opened:
        yield opened


def exported(ledger):
    return export_entries(ledger.head(), ledger.entries(), ledger.people())


@pytest.mark.parametrize("budget", [{}, {"epsilon": 2}, {"epsilon": 2, "rule": "zcdp", "delta": "1e-6"}])
def test_a_delta_is_refused_where_none_was_declared(ledger, budget):
    ledger.add_population("pupils", **budget)
    with pytest.raises(BudgetExceeded) as refused:
        ledger.charge("pupils", "0.5", delta="1e-12")
    assert (refused.value.unit, refused.value.left, refused.value.budget) == ("delta", 0, 0)
    assert ledger.population("pupils").spent == 0
    assert "charge" not in {entry.kind for entry in ledger.entries()}


def test_epsilon_and_delta_are_charged_apart(ledger):
    ledger.add_population("pupils", 2, delta="1e-6")
    receipt = ledger.charge("pupils", "0.5", delta="4e-7", key="first")
    assert (receipt.amount, receipt.delta) == (Fraction(1, 2), Fraction(4, 10**7))
    assert receipt.people == ledger.population("pupils")
    ledger.charge("pupils", "0.5")  # pure: no delta
    people = ledger.population("pupils")
    assert (people.spent, people.delta_spent, people.delta_remaining) == (1, Fraction(4, 10**7), Fraction(6, 10**7))
    with pytest.raises(BudgetExceeded):
        ledger.charge("pupils", "0.5", delta="7e-7")
    again = ledger.charge("pupils", "0.5", delta="4e-7", key="first")
    assert (again.repeated, again.delta) == (True, receipt.delta)
    with pytest.raises(LedgerError):
        ledger.charge("pupils", "0.5", delta="3e-7", key="first")
    assert ledger.verify().people == (people,)
    assert verify_export(exported(ledger)).people == (people,)


@pytest.mark.parametrize("delta", [0, "0", Fraction(0)])
def test_a_delta_of_zero_needs_no_delta_budget(ledger, delta):
    ledger.add_population("pupils", 2)
    assert ledger.charge("pupils", "0.5", delta=delta).delta == 0


@pytest.mark.parametrize("delta", [1, "1.5", "-1e-6"])
def test_a_delta_that_is_none_is_refused(ledger, delta):
    ledger.add_population("pupils")
    with rejects(ValueError, "delta"):
        ledger.charge("pupils", "0.5", delta=delta)
    assert ledger.population("pupils").spent == 0


def test_a_pure_charge_has_delta_0(ledger):
    ledger.add_population("pupils", 2)
    assert ledger.charge("pupils", "0.5", key="first").delta == 0
    assert Cost.from_epsilon("0.5", None).delta == 0


def test_deltas_are_counted_in_units_rounded_up_and_budgets_down(ledger):
    assert delta_units(Fraction(1, 3 * 10**17)) == 4
    made = ledger.add_population("pupils", 2, delta=Fraction(1, 3 * 10**17))
    assert made.delta_budget == 3 * ATTO
    with pytest.raises(BudgetExceeded):
        ledger.charge("pupils", 1, delta=Fraction(1, 3 * 10**17))
    assert ledger.add_population("few", 2, delta=ATTO).delta_budget == ATTO
    with rejects(ValueError, "delta", about="least"):
        ledger.add_population("fewer", 2, delta="1e-19")


def test_under_zcdp_answers_spend_a_part_of_delta_and_the_rest_converts_rho(ledger):
    made = ledger.add_population("pupils", 2, "zcdp", "1e-6", answer_delta="4e-7")
    plain = ledger.add_population("others", 2, "zcdp", "6e-7")
    assert (made.budget, made.delta_budget) == (plain.budget, Fraction(4, 10**7))
    ledger.charge("pupils", "0.2", delta="4e-7")
    people = ledger.population("pupils")
    assert people.spent_epsilon == epsilon_from_rho(people.spent_units, Fraction(6, 10**7))
    with pytest.raises(BudgetExceeded):
        ledger.charge("pupils", "0.1", delta=ATTO)
    assert verify_export(exported(ledger)).people == ledger.verify().people
    for wrong in ("1e-6", "2e-6", 0):
        with rejects(ValueError, "answer_delta", about="1e-6"):
            ledger.add_population("more", 2, "zcdp", "1e-6", answer_delta=wrong)
    with rejects(ValueError, "answer_delta", about="add"):
        ledger.add_population("more", 2, "sum", "1e-6", answer_delta="1e-7")


def test_a_delta_budget_may_be_raised_where_epsilons_add_up_and_never_falls(ledger):
    ledger.add_population("pupils", 2)
    raised = ledger.raise_budget("pupils", 2, delta="1e-6")
    assert (raised.budget, raised.delta_budget) == (2, Fraction(1, 10**6))
    ledger.charge("pupils", 1, delta="1e-6")
    with rejects(ValueError, "delta", about="1/1000000, got 1e-7"):
        ledger.raise_budget("pupils", 3, delta="1e-7")
    assert ledger.raise_budget("pupils", 3).delta_budget == raised.delta_budget
    ledger.add_population("many", 2, "zcdp", "1e-6")
    with rejects(ValueError, "delta", about="zcdp"):
        ledger.raise_budget("many", 3, delta="2e-6")
    assert verify_export(exported(ledger)).people == ledger.verify().people


def test_a_delta_budget_renews_with_its_period(ledger):
    ledger.add_population("pupils", 1, delta="1e-6", every="year", period="2027")
    ledger.charge("pupils", "0.5", delta="3e-7", edition="2027")
    after = ledger.renew("pupils", "2028")
    assert (after.delta_budget, after.delta_remaining) == (Fraction(13, 10**7), Fraction(1, 10**6))
    ledger.charge("pupils", "0.5", delta="1e-6", edition="2028")
    with pytest.raises(BudgetExceeded) as refused:
        ledger.charge("pupils", "0.1", delta=ATTO, edition="2028")
    assert (refused.value.left, refused.value.budget) == (0, Fraction(1, 10**6))
    assert verify_export(exported(ledger)).people == ledger.verify().people == (ledger.population("pupils"),)


def test_a_chain_that_spends_one_unit_of_delta_too_many_does_not_verify(ledger):
    ledger.add_population("pupils", 2, delta="1e-6")
    ledger.charge("pupils", "0.5", delta="1e-6")
    *before, last = ledger.entries()
    verify_entries("it", [*before, last], ledger.people(), None)
    more = changed(last, facts=last.facts.replace("1/1000000", str(Fraction(1, 10**6) + ATTO)))
    with rejects(LedgerError) as refused:
        verify_entries("it", chained([*before, more]), ledger.people(), None)
    assert refused.value.entry == last.number


def test_an_export_that_hides_a_delta_is_refused(ledger, subtests):
    ledger.add_population("pupils", 2, delta="1e-6")
    ledger.charge("pupils", "0.5", delta="4e-7")
    for name, value in {"delta_spent_units": "0", "delta_budget_units": "2000000000000", "delta": None}.items():
        document = exported(ledger)
        document.content["people"][0][name] = value
        with subtests.test(name), pytest.raises(LedgerError):
            verify_export(document)
    entries, _ = parse_export(exported(ledger).content, "here")
    assert [entry.parsed_facts.get("delta") for entry in entries if entry.kind == "charge"] == ["1/2500000"]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE people SET delta_spent = 0",
        "UPDATE people SET delta_budget = 0",
        "UPDATE people SET delta_spent = 2000000000000",
        "UPDATE people SET delta_earlier = 1",
        "UPDATE people SET answer_delta = '1/3'",
    ],
)
def test_the_database_itself_refuses_to_forget_a_delta(ledger, tmp_path, change):
    import sqlite3

    ledger.add_population("pupils", 2, delta="1e-6")
    ledger.charge("pupils", "0.5", delta="4e-7")
    ledger.close()
    with sqlite3.connect(tmp_path / "budget.db") as raw, pytest.raises(sqlite3.IntegrityError):
        raw.execute(change)
