"""The interface of a ledger's database, so that SQLite, PostgreSQL and a failing disk in a test are interchangeable.

All SQL of a ledger is written once, with `?` for values. A store begins and ends transactions and makes them durable.
"""

import os
import threading
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from json import JSONDecodeError
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from inbounds.errors import LedgerError

Rows = list[tuple[Any, ...]]
Run = Callable[..., Rows]
"""run(sql, *values): all rows of one statement."""

DOUBT = "what was not acknowledged may be recorded; ask again with the same key, which costs nothing twice"


class DamagedNumber(ValueError):
    """A text that should be a number is none, or numbers that should rise do not."""


class ConnectionLost(LedgerError):
    """The connection to a server was lost in the middle of a transaction, which may or may not have been recorded."""


class Store(Protocol):
    """A durable database with transactions."""

    @property
    def place(self) -> str:
        """Return its name in messages: a path, or a URL without its password."""

    @property
    def migrated_steps(self) -> range:
        """Return the schema steps taken when it was opened: all for a new one, the missing ones for an older one."""

    def writing(self) -> AbstractContextManager[Run]:
        """Begin a transaction of the only writer: durable when the block is left, undone if it raises."""

    def reading(self) -> AbstractContextManager[Run]:
        """Begin a transaction that sees one state of the database, whatever others write meanwhile."""

    def look(self, sql: str, *values: Any) -> Rows:
        """Return all rows of one statement that only reads."""

    def guards(self) -> list[str]:
        """Return what is wrong with the database itself, such as damaged pages or removed triggers."""

    @property
    def mark(self) -> int:
        """Return 0; -n if this is a backup of n entries that was restored and is closed; n if it was reopened since
        without a proof that nothing is missing.
        """

    def set_mark(self, mark: int) -> None:
        """Set the mark inside a transaction of this store."""

    def backup(self, target: Path, entries: str) -> None:
        """Copy the database to a new file that is marked as closed. entries: SQL of the number for its mark."""

    def on_reopen(self, check: Callable[[Run], object]) -> None:
        """Call this whenever a lost connection was opened again, before it is used; what it raises closes it."""

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ThreadGuard:
    """The process and thread that opened a store: two on one connection would end each other's transactions."""

    process: int
    thread: int

    @staticmethod
    def here() -> "ThreadGuard":
        """Return the guard of this process and thread."""
        return ThreadGuard(os.getpid(), threading.get_ident())

    def check(self, place: str) -> None:
        """Raise LedgerError in any other process or thread, before the database is used."""
        if self.process != os.getpid():
            raise LedgerError(f"{place} was opened by another process; open it again in this one")
        if self.thread != threading.get_ident():
            raise LedgerError(f"{place} was opened by another thread; open it again in this one")


@dataclass(frozen=True, slots=True)
class ErrorTranslator(AbstractContextManager[None]):
    """A context that turns a driver's error into a `LedgerError` with our sentence. kind: of which class it is."""

    error: type[Exception]
    sentence: str
    detail: Callable[[Exception], str]
    kind: Callable[[Exception], type[LedgerError]] = lambda reason: LedgerError

    def __exit__(self, kind: type | None, reason: BaseException | None, trace: TracebackType | None) -> None:
        self.check(reason)

    def check(self, reason: BaseException | None) -> None:
        """Raise our error if the reason is a driver's error; let others pass."""
        if isinstance(reason, self.error):
            raise self.kind(reason)(f"{self.sentence} ({self.detail(reason)})") from reason


@dataclass(frozen=True)
class DamageTranslator(AbstractContextManager[None]):
    """A context in which values of another kind than a ledger's mean that it was damaged."""

    place: str

    def __exit__(self, kind: type | None, reason: BaseException | None, trace: TracebackType | None) -> None:
        if isinstance(reason, WRONG_KINDS):
            raise LedgerError(f"{self.place} was damaged: it holds values that no ledger has") from reason


WRONG_KINDS = (TypeError, KeyError, AttributeError, UnicodeError, ArithmeticError, JSONDecodeError, DamagedNumber)
"""What the functions that read rows raise where a value is of another kind."""


@dataclass(eq=False)  # not frozen: that would take as long to make as a transaction in memory to begin
class Transaction(AbstractContextManager[Run]):
    """A transaction: begin, check, and commit when the block is left; undo if anything raises.

    begin: empty for a single statement, which is its own transaction. failed: translates a driver's errors.
    """

    run: Run
    begin: str
    undo: Callable[[], None]
    failed: ErrorTranslator
    check: Callable[[], object]
    commit: Callable[[], object]

    def __enter__(self) -> Run:
        try:
            if self.begin:
                self.run(self.begin)
            self.check()
        except BaseException as reason:
            self._undo(reason)
            raise
        return self.run

    def __exit__(self, kind: type | None, reason: BaseException | None, trace: TracebackType | None) -> None:
        if reason is not None:
            self._undo(reason)
            return
        try:
            self.commit()
        except BaseException as late:
            self._undo(late)
            raise

    def _undo(self, reason: BaseException) -> None:
        self.undo()
        self.failed.check(reason)


class FairLock:
    """A lock for one transaction at a time on a connection, by its owner. is_open: whether the connection is inside
    one.

    Only its `with` block holds a transaction. If the transaction is gone and the database is still inside one, an
    interrupt came between two instructions, and its rest is undone before the next begins.
    """

    def __init__(self, place: str, is_open: Callable[[], bool]) -> None:
        self.place, self.owner, self._is_open = place, ThreadGuard.here(), is_open
        self._last: Callable[[], Transaction | None] = lambda: None

    def give(self, transaction: Transaction) -> Transaction:
        """Return the transaction; raise LedgerError if another one is open."""
        self.owner.check(self.place)
        with transaction.failed:
            is_inside = self._is_open()
        if is_inside and self._last() is not None:
            raise LedgerError(f"{self.place} is in the middle of a transaction; ask again when it has ended")
        if is_inside:
            transaction.undo()
        self._last = weakref.ref(transaction)
        return transaction


def do_nothing() -> None:
    """Do nothing, before or after a single statement."""


def redact_password(url: str) -> str:
    """Return a database URL that may be shown: user, host, database; no password, no parameters."""
    from urllib.parse import urlsplit, urlunsplit

    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    user = f"{parts.username}@" if parts.username else ""
    return urlunsplit((parts.scheme, user + host, parts.path, "", ""))
