"""A curator goes on with the ledger that it began with, and with no other."""

import shutil
from fractions import Fraction

import pytest
from typer.testing import CliRunner

import inbounds as ib
from curator.pupils import account, declared, question
from curator.test_curator import LIKES, spent
from inbounds.curator import EvaluationFailed, parse_settings
from inbounds.curator.database import open_database as opened_store
from inbounds.curator.ledger_head import accept_head
from inbounds.errors import BudgetExceeded, LedgerError
from inbounds.ledger import Ledger
from inbounds.schema.errors import PlanError
from raising import raises_at, rejects


def remove_ledger(folder):
    for file in folder.glob("budget.db*"):
        file.unlink()


def accept_ledger(folder, *, write_off=False):
    store = opened_store(folder / "curator.db")
    datasets = parse_settings(declared(folder), folder).datasets
    accept_head(store, str(folder / "budget.db"), datasets, write_off=write_off)
    store.close()


def test_a_missing_ledger_is_not_made_anew(opened, folder):
    with opened() as curator:
        curator.ask(account(curator, "ana"), "pupils", LIKES)
    remove_ledger(folder)
    with rejects(LedgerError, about="no file") as refused:
        opened()
    assert "ledger init" not in str(refused.value)
    assert not (folder / "budget.db").exists()


def test_a_ledger_that_goes_missing_is_not_made_anew_by_another_thread(curator, ana, folder):
    from concurrent.futures import ThreadPoolExecutor

    remove_ledger(folder)
    with ThreadPoolExecutor(1) as pool, pytest.raises(LedgerError):
        pool.submit(curator.ask, ana, "pupils", LIKES).result()
    assert not (folder / "budget.db").exists()


def test_another_ledger_is_refused(opened, folder):
    opened().close()
    remove_ledger(folder)
    with Ledger.open(folder / "budget.db") as ledger:
        ledger.add_population("pupils", 6)
    with rejects(LedgerError, about="another ledger"):
        opened()


def test_a_restored_ledger_is_refused_even_when_it_went_on_since(opened, folder):
    with opened() as curator:
        ana = account(curator, "ana")
    shutil.copy(folder / "budget.db", folder / "copy.db")
    with opened() as curator:
        curator.ask(ana, "pupils", LIKES)
    remove_ledger(folder)
    shutil.copy(folder / "copy.db", folder / "budget.db")
    with rejects(LedgerError, about="2 entries, the head 3"):
        opened()
    with Ledger.open(folder / "budget.db") as ledger:
        for k in range(4):
            ledger.charge("pupils", "0.1", key=f"{k}", purpose="another")
    with rejects(LedgerError, about="changed"):
        opened()


def test_what_was_given_under_charges_that_an_accepted_ledger_does_not_have_is_charged_again(opened, folder):
    with opened() as curator:
        ana = account(curator, "ana", "2")
        curator.ask(ana, "pupils", LIKES, key="k")
        assert curator.find_account("ana").rows > 0
    remove_ledger(folder)
    Ledger.open(folder / "budget.db").close()
    accept_ledger(folder)
    with opened() as curator:
        assert curator.find_account("ana").rows == 0
        assert spent(curator) == Fraction(1, 2)
        again = curator.ask(ana, "pupils", LIKES, key="k")
        assert (again.how, again.cost.account, again.cost.account_left) == ("new", "0.5", "1")
        assert spent(curator) == 1


def test_a_curator_that_was_restored_is_closed_until_its_owner_decides(opened, folder):
    """The backup is older than answers that were given: nothing is drawn until they are counted or written off."""
    with opened() as curator:
        ana = account(curator, "ana")
        curator.ask(ana, "pupils", LIKES, key="k")
        curator.backup(folder / "copy")
        later = curator.ask(ana, "pupils", {"count": "age > 12", "epsilon": "1"})
    for name in ("budget.db", "curator.db"):
        shutil.copy(folder / "copy" / name, folder / name)
    with opened() as curator:
        assert sum("is a restored backup" in line for line in curator.check_sources()) == 2
        assert curator.ask(ana, "pupils", LIKES, key="k").how == "same"
        for question in (later.question, {"count": "age > 13", "epsilon": "1"}):
            with rejects(LedgerError, about="is closed"):
                curator.ask(ana, "pupils", {**question, "epsilon": "1"})
        assert spent(curator) == Fraction(1, 2)
    with Ledger.open(folder / "budget.db") as ledger, ledger.importing():
        ledger.charge("pupils", 1, key="an answer that ana holds")
    accept_ledger(folder)
    with opened() as curator:
        assert spent(curator) == Fraction(3, 2)
        assert curator.ask(ana, "pupils", {"count": "age > 13", "epsilon": "1"}).how == "new"


def test_a_ledger_older_than_its_curator_knows_what_was_given_before_it_charges(opened, folder):
    with opened() as curator:
        ana = account(curator, "ana")
        curator.backup(folder / "copy")
        curator.ask(ana, "pupils", {"count": "age > 12", "epsilon": "1"})
    shutil.copy(folder / "copy" / "budget.db", folder / "budget.db")
    with rejects(LedgerError, about="2 entries, the head 3"):
        opened()
    accept_ledger(folder, write_off=True)
    with opened() as curator:
        assert spent(curator) == 6
        with pytest.raises(BudgetExceeded):
            curator.ask(ana, "pupils", {"count": "age > 13", "epsilon": "1"})
    with Ledger.open(folder / "budget.db") as ledger:
        charged = [entry.key.split()[0] for entry in ledger.entries() if entry.kind == "charge"]
    assert charged == ["lost", "written"]


def test_a_question_that_a_restored_curator_forgot_is_not_evaluated_under_its_charge_again(opened, folder):
    """The ledger is whole and has a charge without a draw: the database does not know whether it was evaluated."""
    with opened() as curator:
        ana = account(curator, "ana")
        curator.backup(folder / "copy")
        priced = curator.price(ana, "pupils", LIKES)
        with curator._answering._open_session(priced) as session:
            session.charge()
    shutil.copy(folder / "copy" / "curator.db", folder / "curator.db")
    accept_ledger(folder)
    with opened() as curator, pytest.raises(EvaluationFailed):
        curator.ask(ana, "pupils", LIKES)


def test_a_ledger_is_accepted_from_the_shell(tmp_path):
    from inbounds.cli import app
    from inbounds.curator.demo import write_demo

    settings = write_demo(tmp_path)
    runner = CliRunner()
    assert runner.invoke(app, ["curator", "account", "add", str(settings), "ana"]).exit_code == 0
    remove_ledger(tmp_path)
    Ledger.open(tmp_path / "budget.db").close()
    assert runner.invoke(app, ["curator", "account", "list", str(settings)]).exit_code != 0
    assert runner.invoke(app, ["curator", "accept-ledger", str(settings)]).exit_code != 0
    assert runner.invoke(app, ["curator", "accept-ledger", str(settings), "--imported"]).exit_code == 0
    assert runner.invoke(app, ["curator", "account", "list", str(settings)]).exit_code == 0


def test_a_declared_budget_that_is_not_the_ledgers_is_said(opened):
    assert opened().budget_conflicts() == []
    (line,) = opened(budget={"epsilon": 60}).budget_conflicts()
    assert "datasets.pupils.budget is not that of the ledger, which holds: pupils: epsilon 0 of 6" in line


YEARLY = {"epsilon": 1, "every": "year", "period": "2026"}


def test_a_budget_that_renews_is_declared_in_the_settings_and_never_lowers_what_was_spent(opened, folder):
    curator = opened(budget=YEARLY)
    assert curator.budget_conflicts() == []
    who = account(curator, "ann")
    curator.ask(who, "pupils", question(1, "1"))
    with pytest.raises(ib.BudgetExceeded):
        curator.ask(who, "pupils", question(2, "1"))
    curator.close()
    with Ledger.open(folder / "budget.db") as ledger:
        ledger.renew("pupils", "2027")
    curator = opened(budget=YEARLY)
    (line,) = curator.budget_conflicts()
    assert "datasets.pupils.edition is 2026-11" in line
    with rejects(ValueError, "edition", about="2027"):
        curator.ask(account(curator, "bob"), "pupils", question(2, "1"))
    curator.close()
    curator = opened(budget=YEARLY, edition="2027-01")
    assert curator.budget_conflicts() == []
    curator.ask(account(curator, "cid"), "pupils", question(2, "1"))
    people = curator.people(curator.settings.datasets["pupils"])
    assert (people.spent, people.period) == (2, "2027")


def test_a_budget_that_no_ledger_can_hold_is_refused_with_its_place(opened):
    for budget, field in (({"epsilon": 1, "every": "week", "period": "2026"}, "every"), ({"every": "year"}, "epsilon")):
        with raises_at(PlanError, ("datasets", "pupils", "budget", field)):
            opened(budget=budget)
