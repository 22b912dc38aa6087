"""A ledger's file: drivers that wait for less or lie, files that are none, a log that is slow to start."""

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import inbounds as ib
from inbounds.errors import LedgerError
from inbounds.files import SQLITE_MAGIC
from inbounds.files.open_files import iter_chunks
from inbounds.ledger import Charge, Ledger, sqlite
from inbounds.ledger.ledger import verify_ledger
from inbounds.ledger.schema import APPLICATION
from inbounds.ledger.sqlite import Driver, Sqlite, is_ledger
from raising import rejects


@pytest.fixture
def file(tmp_path):
    return tmp_path / "budget.db"


def with_cursor(made: type[sqlite3.Cursor]) -> type[sqlite3.Connection]:
    """Connections whose statements go through cursors of this kind."""

    class Connection(sqlite3.Connection):
        def cursor(self):
            return super().cursor(made)

    return Connection


def opened(file: Path, **instead: str) -> Any:
    """A new store whose connection is given other statements than it is asked for, by their last words."""
    words = {asked.replace("_is_", " = "): given for asked, given in instead.items()}

    class Cursor(sqlite3.Cursor):
        def execute(self, sql, *values):
            return super().execute(words.get(sql.removeprefix("PRAGMA "), sql), *values)

    def connect(path, create):
        return sqlite3.connect(path, isolation_level=None, factory=with_cursor(Cursor))

    return Sqlite(file, create=True, driver=Driver(connect, sqlite3.Error))


def test_a_connection_that_does_not_wait_for_the_disk_is_refused(file):
    with rejects(ib.LedgerError, about="got wal with 0"):
        opened(file, synchronous_is_EXTRA="PRAGMA synchronous = OFF")
    with rejects(ib.LedgerError, about="got wal with 1"):
        opened(file, synchronous_is_EXTRA="PRAGMA synchronous = NORMAL")
    opened(file, synchronous_is_EXTRA="PRAGMA synchronous = FULL").close()


def test_a_connection_that_does_not_enforce_foreign_keys_is_refused(file):
    with rejects(ib.LedgerError, about="foreign"):
        opened(file, foreign_keys_is_ON="SELECT 1")


def test_a_connection_that_says_wal_of_a_file_that_is_not_is_refused(file):
    with rejects(ib.LedgerError, about="got another with 3"):
        opened(file, journal_mode_is_WAL="SELECT 'wal'", journal_mode="SELECT 'wal'")


class SlowToStart(sqlite3.Cursor):
    """The log starts when it has been asked for often enough."""

    asked, errors = 0, ()

    def execute(self, sql, *values):
        if sql == "PRAGMA journal_mode = WAL":
            SlowToStart.asked += 1
            if self.asked <= len(self.errors):
                raise sqlite3.OperationalError(self.errors[self.asked - 1])
        return super().execute(sql, *values)


def started(file: Path, monkeypatch: pytest.MonkeyPatch, patience: float, *errors: str) -> int:
    """How often the log was asked to start until the ledger was open."""
    monkeypatch.setattr(SlowToStart, "asked", 0)
    monkeypatch.setattr(SlowToStart, "errors", errors)
    monkeypatch.setattr(sqlite, "PATIENCE", patience)

    def connect(path, create):
        return sqlite3.connect(path, isolation_level=None, factory=with_cursor(SlowToStart))

    Sqlite(file, create=True, driver=Driver(connect, sqlite3.Error)).close()
    return SlowToStart.asked


def test_two_who_start_the_log_at_once_wait_for_each_other(file, monkeypatch):
    assert started(file, monkeypatch, 60, "database is locked", "database is locked") == 3


def test_nobody_waits_for_ever_for_the_log_to_start(file, monkeypatch):
    with rejects(ib.LedgerError, about="locked"):
        started(file, monkeypatch, 0, *["database is locked"] * 1000)
    assert SlowToStart.asked < 1000


def test_a_log_that_cannot_start_is_not_asked_twice(file, monkeypatch):
    with rejects(ib.LedgerError, about="disk I/O error"):
        started(file, monkeypatch, 60, "disk I/O error")
    assert SlowToStart.asked == 1


@pytest.mark.parametrize("version", [(3, 36, 9), (2, 99, 0)])
def test_an_older_sqlite_is_refused(file, monkeypatch, version):
    monkeypatch.setattr(sqlite3, "sqlite_version_info", version)
    with rejects(ib.LedgerError, "a ledger", about="3.37"):
        Ledger.open(file)
    assert not file.exists()


def test_the_first_sqlite_with_strict_tables_is_taken(file, monkeypatch):
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 37, 0))
    Ledger.open(file).close()


def test_a_ledger_is_known_by_its_first_bytes(file, tmp_path):
    Ledger.open(file).close()
    head = file.read_bytes()[:100]
    contents = {
        "ledger": (head, True),
        "text": (b"x" * 68 + head[68:], False),
        "other": (head[:68] + (APPLICATION + 1).to_bytes(4, "big") + head[72:], False),
        "short": (SQLITE_MAGIC, False),
    }
    for name, (content, known) in contents.items():
        (tmp_path / name).write_bytes(content)
        assert is_ledger(tmp_path / name) is known
    assert not is_ledger(tmp_path / "none")


def test_an_empty_file_becomes_a_ledger(file):
    file.touch()
    with Ledger.open(file) as ledger:
        assert ledger.head().entries == 1


def test_a_ledger_whose_file_is_gone_charges_nothing(file):
    with Ledger.open(file) as ledger:
        ledger.add_population("pupils", 1)
        file.unlink()
        with rejects(ib.LedgerError, about="removed"):
            ledger.charge("pupils", 1)


def test_a_row_that_refers_to_nothing_is_found(file):
    with Ledger.open(file) as ledger:
        ledger.add_population("pupils", 1)
        raw = sqlite3.connect(file)
        raw.execute("INSERT INTO answers VALUES (99, x'00')")
        raw.commit()
        raw.close()
        with rejects(ib.LedgerError, about="row of answers"):
            ledger.verify()


def test_an_index_that_does_not_hold_what_its_table_does_is_found(file):
    with Ledger.open(file) as ledger:
        ledger.add_population("pupils", 1)
        ledger.charge("pupils", "0.1", key="a long and lonely key")
    content = file.read_bytes()
    assert content.count(b"a long and lonely key") == 2  # in its table, and in the index of keys
    place = content.rindex(b"a long and lonely key")
    file.write_bytes(content[:place] + b"A" + content[place + 1 :])
    with Ledger.open(file) as ledger, rejects(ib.LedgerError, about="index entries_key"):
        ledger.verify()


@pytest.mark.parametrize("ending", ["-wal", "-shm"])
def test_nothing_is_charged_after_its_log_was_removed(tmp_path, ending):
    with Ledger.open(tmp_path / "l.db") as ledger:
        ledger.add_population("pupils", epsilon=2)
        ledger.charge("pupils", 1, key="a")
        (tmp_path / f"l.db{ending}").unlink()
        with rejects(LedgerError, "the log", about="removed"):
            ledger.charge("pupils", "0.5", key="b")


def test_an_emptied_ledger_is_not_made_anew(tmp_path):
    file = tmp_path / "l.db"
    with Ledger.open(file) as ledger:
        ledger.add_population("pupils", epsilon=2)
    file.write_bytes(b"")
    for use in (lambda: Ledger.open(file, create=False), lambda: verify_ledger(str(file))):
        with rejects(LedgerError, about="empty"):
            use()
    assert file.stat().st_size == 0


def test_only_its_owner_may_read_a_new_ledger(tmp_path):
    with Ledger.open(tmp_path / "l.db") as ledger:
        ledger.add_population("pupils", epsilon=2)
        assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {0o600}
        assert len(list(tmp_path.iterdir())) == 3


def test_a_file_that_another_thread_made_meanwhile_is_not_opened_and_closed(tmp_path, monkeypatch):
    file, closed = tmp_path / "l.db", []
    with Ledger.open(file):
        monkeypatch.setattr(sqlite.os, "close", closed.append)
        sqlite._create(file)
        monkeypatch.undo()
    assert closed == []


# --- a copy of the file alone --------------------------------------------------------------------------------------


def copied(file: Path) -> Path:
    """A copy of the file without its log, as somebody makes who knows of no log."""
    copy = file.with_name("copy.db")
    copy.write_bytes(b"".join(iter_chunks(file)))
    return copy


def test_a_copy_of_the_file_alone_has_all_that_was_acknowledged(memory):
    """Each step is looked for in a copy that is made while the ledger is open: what a process leaves that is killed."""
    with Ledger.open(memory / "budget.db") as ledger:

        def found() -> Charge:
            with Ledger.open(copied(memory / "budget.db"), create=False) as copy:
                assert copy.verify().head == ledger.head()
                return copy.find("a")

        ledger.add_population("pupils", 2)
        charge = ledger.charge("pupils", 1, key="a")
        assert found().people.spent == 1
        ledger.store_draw(charge, b"drawn")
        assert found().draw == b"drawn"
        ledger.store(charge, b"given")
        assert found().answer == b"given"
        ledger.raise_budget("pupils", 3)
        assert found().people.budget == 3


def test_a_charge_is_not_acknowledged_while_a_reader_keeps_it_out_of_the_file(memory, monkeypatch):
    with Ledger.open(memory / "budget.db") as ledger, Ledger.open(memory / "budget.db") as other:
        ledger.add_population("pupils", 2)
        monkeypatch.setattr(sqlite, "PATIENCE", 0.01)
        with other._store.reading() as run:
            run("SELECT 1 FROM entries")
            with rejects(ib.LedgerError, about="in its log alone"):
                ledger.charge("pupils", 1, key="a")
        again = ledger.charge("pupils", 1, key="a")
        assert again.repeated
        assert again.people.spent == 1
        with Ledger.open(copied(memory / "budget.db"), create=False) as copy:
            assert copy.verify().head == ledger.head()


def test_a_charge_waits_for_a_reader(memory):
    with Ledger.open(memory / "budget.db") as ledger:
        ledger.add_population("pupils", 2)
        reading, done = threading.Event(), threading.Event()

        def read() -> None:
            with Ledger.open(memory / "budget.db") as other, other._store.reading() as run:
                run("SELECT 1 FROM entries")
                reading.set()
                assert not done.wait(0.05), "the charge did not wait"

        with ThreadPoolExecutor(1) as pool:
            reader = pool.submit(read)
            reading.wait()
            ledger.charge("pupils", 1, key="a")
            done.set()
            reader.result()
