"""Backups: they are whole, closed where they are restored, and reopened only by a proof, by imports, or written off."""

import contextlib
import os
import shutil
from fractions import Fraction
from itertools import islice
from pathlib import Path

import pytest
from typer.testing import CliRunner

import inbounds as ib
from inbounds.cli import app
from inbounds.ledger import Ledger
from inbounds.ledger.queries import population_from_row
from inbounds.ledger.sqlite import Sqlite
from inbounds.ledger.store import DamagedNumber
from ledger.test_ledger_release_dies import ALONE, FRAME
from raising import rejects


@pytest.fixture
def restored(memory):
    """A ledger that is the backup of one which went on, and the last head of that one."""
    with Ledger.open(memory / "l.db") as ledger:
        ledger.add_population("pupils", 2)
        ledger.add_population("many", 1, rule="zcdp", delta="1e-6")
        ledger.add_population("all")
        ledger.stored_answers("pupils", "0.25", lambda charge: b"given", key="whole")
        ledger.charge("pupils", "0.25", key="begun")
        assert ledger.backup(memory / "b.db") == ledger.head()
        same = ledger.head()
        ledger.store(ledger.charge("pupils", "0.25", key="begun"), b"given later")
        ledger.charge("pupils", 1, key="lost")
        last = ledger.head()
    with Ledger.open(memory / "b.db") as ledger:
        yield ledger, same, last


def test_a_backup_is_made_while_others_write_and_is_private_to_its_owner(memory):
    with Ledger.open(memory / "l.db") as ledger, Ledger.open(memory / "l.db") as other:
        ledger.add_population("pupils", 2)
        other.charge("pupils", 1, key="a")
        head = ledger.backup(memory / "b.db")
        other.charge("pupils", 1, key="b")
        with rejects(ValueError, "backup"):
            ledger.backup(memory / "b.db")
        assert ledger.verify(head).charges == 2
    assert os.stat(memory / "b.db").st_mode & 0o777 == 0o600
    assert not (memory / "b.db-wal").exists()
    with Ledger.open(memory / "b.db") as copy:
        assert copy.verify(head).people[0].spent == 1


def test_a_ledger_that_was_never_restored_is_open(memory):
    with Ledger.open(memory / "l.db") as ledger:
        assert not ledger.is_closed


def test_what_is_left_of_a_period_is_written_off_in_it(memory):
    with Ledger.open(memory / "l.db") as ledger:
        ledger.add_population("pupils", 1, every="year", period="2026")
        ledger.backup(memory / "b.db")
    with Ledger.open(memory / "b.db") as ledger:
        ledger.reopen(write_off=True)
        people = ledger.population("pupils")
        assert (people.remaining, people.spent) == (0, 1)


def test_a_restored_backup_gives_what_it_holds_and_charges_nothing(restored):
    ledger, _, _ = restored
    assert ledger.is_closed
    assert ledger.stored_answers("pupils", "0.25", lambda charge: b"", key="whole").content == b"given"
    begun = ledger.find("begun")
    for act in (
        lambda: ledger.charge("pupils", "0.25", key="begun"),
        lambda: ledger.charge("pupils", "0.1", key="new"),
        lambda: ledger.store_draw(begun, b"another"),
        lambda: ledger.store(begun, b"another"),
    ):
        with rejects(ib.LedgerError, about="is closed"):
            act()
    assert ledger.verify().charges == 2


def test_the_last_head_reopens_a_backup_of_which_nothing_is_missing(restored):
    ledger, same, last = restored
    with rejects(ib.LedgerError, about="7 entries, the head 9"):
        ledger.reopen(last)
    with rejects(ValueError, "reopen"):
        ledger.reopen()
    ledger.reopen(same)
    assert ledger.charge("pupils", "0.25", key="begun").repeated
    assert ledger.store_draw(ledger.find("begun"), b"drawn") == b"drawn"
    with rejects(ValueError, "ledger", about="open"):
        ledger.reopen(same)


def test_an_old_head_reopens_nothing(restored, memory):
    ledger, same, _ = restored
    with ledger.importing():
        ledger.charge("pupils", "0.1", key="brought in")
    with rejects(ValueError, "head", about="7 entries"):
        ledger.reopen(same)


def test_what_is_left_is_written_off(restored):
    ledger, _, _ = restored
    ledger.reopen(write_off=True)
    for name, rest in (("pupils", "1e-9"), ("many", "1e-6")):
        with pytest.raises(ib.BudgetExceeded):
            ledger.charge(name, rest, key="new")
    assert ledger.population("pupils").remaining == 0
    ledger.charge("all", 1, key="without a cap")
    ledger.verify()


def test_after_imports_no_charge_of_the_backup_is_drawn_a_second_time(restored, memory):
    ledger, _, _ = restored
    with ledger.importing():
        ledger.charge("pupils", 1, key="release of 2026")
    ledger.reopen(imported=True)
    for opened in (ledger, Ledger.open(memory / "b.db")):
        with opened, rejects(ib.LedgerError, about="charge 7"):
            opened.charge("pupils", "0.25", key="begun")
    with Ledger.open(memory / "b.db") as again:
        assert again.charge("pupils", "0.25", key="another").people.remaining == Fraction(1, 4)


def test_a_release_from_a_restored_backup_is_refused_until_its_record_is_brought_in(memory, monkeypatch):
    monkeypatch.chdir(memory)
    run = CliRunner()

    def command(*words: str) -> str:
        done = run.invoke(app, list(words))
        assert done.exit_code == 0, done.output
        return done.output

    command("ledger", "init", "l.db", "--people", "frame", "--epsilon", "2")
    command("ledger", "backup", "l.db", "b.db")
    plan = {**ALONE, "people": {"name": "frame"}}
    ib.release(plan, FRAME, ledger="l.db", output="out.csv")
    shutil.move("b.db", "l.db")
    with rejects(ib.LedgerError, about="is closed"):
        ib.release({**plan, "edition": "2027"}, FRAME, ledger="l.db", output="more.csv", new_data=True)
    assert not Path("more.csv").exists()
    assert "closed" in command("ledger", "show", "l.db")
    command("ledger", "import", "out.csv.release.json", "--ledger", "l.db", "--people", "frame")
    assert "0.5 of 2 spent" in command("ledger", "reopen", "l.db", "--imported")
    ib.release({**plan, "edition": "2027"}, FRAME, ledger="l.db", output="more.csv", new_data=True)
    assert "1 of 2 spent" in command("ledger", "show", "l.db")


# --- media that cannot be written to, and damage ---------------------------------------------------------------


def test_a_ledger_on_a_read_only_medium_is_shown_and_verified_and_not_charged(memory, monkeypatch):
    with Ledger.open(memory / "l.db") as ledger:
        ledger.add_population("pupils", 2)
        ledger.charge("pupils", 1, key="a")
    monkeypatch.setattr("inbounds.ledger.sqlite.os.access", lambda path, mode: mode != os.W_OK)
    before = sorted(os.listdir(memory))
    with Ledger.open_to_read(memory / "l.db") as ledger:
        assert ledger.verify().charges == 1
        assert [entry.kind for entry in ledger.entries()] == ["ledger", "people", "charge"]
        with rejects(ib.LedgerError, about="written"):
            ledger.charge("pupils", 1, key="b")
        assert sorted(os.listdir(memory)) == before
    for words in (["show"], ["verify"], ["head"], ["export"]):
        assert CliRunner().invoke(app, ["ledger", *words, str(memory / "l.db")]).exit_code == 0


def test_a_log_that_cannot_be_read_there_is_not_passed_over(memory, monkeypatch):
    with Ledger.open(memory / "l.db") as ledger:
        ledger.add_population("pupils", 2)
        shutil.copytree(memory, memory / "medium")
    monkeypatch.setattr("inbounds.ledger.sqlite.os.access", lambda path, mode: mode != os.W_OK)
    with rejects(ib.LedgerError, about="l.db-wal"):
        Ledger.open_to_read(memory / "medium" / "l.db")


def test_a_damaged_ledger_ends_in_words_and_closes_its_file(memory):
    """One byte changed at many places of every page; what still opens is read in every way."""
    with Ledger.open(memory / "l.db") as ledger:
        ledger.add_population("pupils", 2)
        ledger.store_draw(ledger.charge("pupils", "0.1", key="b"), b"drawn")
        ledger.stored_answers("pupils", "0.1", lambda charge: b"given", key="a")
    whole, damaged = (memory / "l.db").read_bytes(), memory / "d.db"
    for place in range(0, len(whole), 149):
        damaged.write_bytes(whole[:place] + bytes([whole[place] ^ 0xA5]) + whole[place + 1 :])
        for log in memory.glob("d.db-*"):
            log.unlink()
        try:
            with Ledger.open(damaged, create=False) as ledger:
                for read in (ledger.people, ledger.verify, lambda: ledger.charge("pupils", "0.1", key="b")):
                    read_or_refused(read)
                read_or_refused(lambda ledger=ledger: list(ledger.entries()))
                read_or_refused(lambda ledger=ledger: ledger.find("a"))
        except ib.LedgerError:
            continue


def test_entries_that_lead_back_to_earlier_ones_end_in_words(memory, monkeypatch):
    """As where two pages of a file were swapped: each page would be followed by another for ever."""
    monkeypatch.setattr("inbounds.ledger.queries.PAGE", 2)
    with Ledger.open(memory / "l.db") as ledger:
        ledger.add_population("pupils", 2)
        ledger.charge("pupils", 1)
        assert [entry.number for entry in ledger.entries()] == [1, 2, 3]
        own = ledger._store._run
        monkeypatch.setattr(ledger._store, "_run", lambda sql, *values: own(sql, *values)[::-1])
        with rejects(ib.LedgerError, about="damaged"):
            list(islice(ledger.entries(), 100))


SOUND = ("pupils", "zcdp", "1", "1e-6", 10, 5, "year", "2027", 2, "1e-7", 4, 3, 2)


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        *((k, value) for k in (0, 2, 3, 6, 7, 9) for value in (b"x", 1, 1.5)),
        *((k, value) for k in (4, 5, 8, 10, 11, 12) for value in ("x", b"1", 1.5)),
        *((1, value) for value in ("max", None, 1)),
        *((k, None) for k in (0, 2, 3, 4, 5, 8, 10, 11, 12)),
    ],
)
def test_people_of_another_kind_than_a_ledger_stores_are_damage(place, wrong):
    assert population_from_row(*SOUND).name == "pupils"
    with pytest.raises(DamagedNumber):
        population_from_row(*SOUND[:place], wrong, *SOUND[place + 1 :])


def read_or_refused(read) -> None:
    with contextlib.suppress(ib.LedgerError, ib.BudgetExceeded):
        read()


def test_a_ledger_that_cannot_be_opened_is_closed(memory, monkeypatch):
    closed = []
    own = Sqlite.close
    monkeypatch.setattr(Sqlite, "close", lambda self: (closed.append(self), own(self))[1])
    Ledger.open(memory / "l.db").close()
    monkeypatch.setattr("inbounds.ledger.queries.first_key", lambda run: b"".decode("ascii", "x")[0])
    with pytest.raises(IndexError):
        Ledger.open(memory / "l.db")
    assert len(closed) == 2
