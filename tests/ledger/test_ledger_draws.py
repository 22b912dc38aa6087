"""Draws in a ledger: kept once, under a charge, never changed, and named by the answer that was computed from them."""

import sqlite3

import pytest

import inbounds as ib
from inbounds.ledger import Ledger
from raising import rejects


@pytest.fixture
def ledger(memory):
    with Ledger.open(memory / "l.db") as made:
        made.add_population("pupils", epsilon=2)
        yield made


def test_a_draw_is_kept_once_and_named_by_its_answer(ledger):
    charge = ledger.charge("pupils", 1, key="a")
    assert (ledger.store_draw(charge, b"one"), ledger.store_draw(charge, b"other")) == (b"one", b"one")
    assert (ledger.find("a").draw, ledger.verify().waiting) == (b"one", 1)
    assert ledger.store(charge, b"computed") == b"computed"
    assert ledger.store_draw(charge, b"late") == b"late"
    found = ledger.find("a")
    assert (found.answer, found.draw, ledger.verify().waiting) == (b"computed", None, 0)
    with rejects(TypeError, "a draw"):
        ledger.store_draw(charge, "text")


def test_an_answer_without_a_draw_has_no_entry_of_one(ledger):
    ledger.stored_answers("pupils", 1, lambda charge: b"x", key="a")
    ledger.store_draw(ledger.find("a"), b"late")
    assert ledger.verify().waiting == 0
    assert not [entry for entry in ledger.entries() if entry.kind == "draw"]


def raw(ledger, *statements: str) -> None:
    with sqlite3.connect(ledger.place) as other:
        for statement in statements:
            other.execute(statement)
    other.close()


@pytest.mark.parametrize(
    "statement",
    ["UPDATE draws SET content = x'00'", "DELETE FROM draws", "INSERT OR REPLACE INTO draws VALUES (3, x'00')"],
)
def test_the_database_itself_refuses_to_change_a_draw(ledger, statement):
    ledger.store_draw(ledger.charge("pupils", 1, key="a"), b"one")
    with pytest.raises(sqlite3.IntegrityError, match="never change"):
        raw(ledger, statement)
    assert ledger.find("a").draw == b"one"


def test_a_waiting_draw_that_was_damaged_is_never_used(ledger):
    charge = ledger.charge("pupils", 1, key="a")
    ledger.store_draw(charge, b"one")
    raw(ledger, "DROP TRIGGER draws_update", "UPDATE draws SET content = x'6f6e66'")
    for use in (
        lambda: ledger.find("a"),
        lambda: ledger.store_draw(charge, b"two"),
        lambda: ledger.store(charge, b"x"),
    ):
        with rejects(ib.LedgerError, about="charge 3"):
            use()
    with pytest.raises(ib.LedgerError):
        ledger.verify()


GUARDS = ("draws_update", "draws_delete", "draws_once")


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE draws SET content = x'00' WHERE entry = 3",
        "DELETE FROM draws WHERE entry = 3",
        "INSERT INTO draws VALUES (2, x'00')",
        "INSERT INTO draws VALUES (4, x'00')",
    ],
)
def test_a_draw_that_is_not_what_the_entries_say_is_found(ledger, change):
    charge = ledger.charge("pupils", 1, key="a")
    ledger.store_draw(charge, b"one")
    ledger.store(charge, b"computed")
    ledger.stored_answers("pupils", "0.5", lambda charge: b"x", key="b")
    with sqlite3.connect(ledger.place) as other:
        again = dict(other.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall())
    other.close()
    raw(ledger, *(f"DROP TRIGGER {name}" for name in GUARDS), change, *(again[name] for name in GUARDS))
    with rejects(ib.LedgerError, about="stored draws"):
        ledger.verify()
