"""Where a ledger is kept: one small interface, so that SQLite, PostgreSQL and a disk that fails in a test are alike.

All of a ledger's SQL is written once, with `?` for values; a store only begins, ends and makes durable.
"""

import os
import threading
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol

from inbounds.errors import LedgerError

Rows = list[tuple[Any, ...]]
Run = Callable[..., Rows]
"""run(sql, *values): all rows of one statement."""

DOUBT = "what was not acknowledged may be recorded; ask again with the same key, which costs nothing twice"


class Store(Protocol):
    """A durable database with transactions."""

    @property
    def place(self) -> str:
        """What messages call it: a path, or a URL without its password."""

    @property
    def acquire(self) -> range:
        """The steps that were taken when it was opened: all of a new one, those since its version of an older one."""

    def writing(self) -> AbstractContextManager[Run]:
        """The only writer: durable when the block is left, undone when it raises."""

    def reading(self) -> AbstractContextManager[Run]:
        """One state of the database, whatever others write meanwhile."""

    def look(self, sql: str, *values: Any) -> Rows:
        """All rows of one statement that only reads, which sees one state by itself."""

    def guards(self) -> list[str]:
        """What is wrong with the database itself: damaged pages, guards that somebody took away; nothing if sound."""

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ThreadGuard:
    """The process and thread that opened a store: two on one connection would end each other's transactions."""

    process: int
    thread: int

    @staticmethod
    def here() -> "ThreadGuard":
        return ThreadGuard(os.getpid(), threading.get_ident())

    def check(self, place: str) -> None:
        """Refuse everybody else, before anything is asked of the database."""
        if self.process != os.getpid():
            raise LedgerError(f"{place} was opened by another process; open it again in this one")
        if self.thread != threading.get_ident():
            raise LedgerError(f"{place} was opened by another thread; open it again in this one")


@dataclass(frozen=True, slots=True)
class ErrorTranslator(AbstractContextManager[None]):
    """A driver's error as a `LedgerError` with a sentence of our own."""

    error: type[Exception]
    sentence: str
    detail: Callable[[Exception], str]

    def __exit__(self, kind: type | None, reason: BaseException | None, trace: TracebackType | None) -> None:
        self.check(reason)

    def check(self, reason: BaseException | None) -> None:
        """Raise the sentence in the place of a driver's error; others pass."""
        if isinstance(reason, self.error):
            raise LedgerError(f"{self.sentence} ({self.detail(reason)})") from reason


@dataclass(eq=False)  # not frozen: that would take as long to make as a transaction in memory to begin
class Transaction(AbstractContextManager[Run]):
    """Begin, check, and commit when the block is left; undo whatever raises; a driver's error is worded by `failed`.

    begin: nothing for a single statement, which is a transaction of its own.
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
    """One transaction at a time on a connection, by its owner. is_open: whether the connection is inside of one.

    A transaction is in the hands of its `with` block alone. Where it is gone and the database is still inside of one,
    an interrupt came between two instructions, and what it left is undone before the next begins.
    """

    def __init__(self, place: str, is_open: Callable[[], bool]) -> None:
        self.place, self.owner, self._is_open = place, ThreadGuard.here(), is_open
        self._last: Callable[[], Transaction | None] = lambda: None

    def give(self, transaction: Transaction) -> Transaction:
        """The transaction, if nobody is in the middle of another."""
        self.owner.check(self.place)
        with transaction.failed:
            left = self._is_open()
        if left and self._last() is not None:
            raise LedgerError(f"{self.place} is in the middle of a transaction; ask again when it has ended")
        if left:
            transaction.undo()
        self._last = weakref.ref(transaction)
        return transaction


def do_nothing() -> None:
    """What a single statement needs before and after it."""


def redact_password(url: str) -> str:
    """A database URL as it may be shown: user, host, database; no password, no parameters."""
    from urllib.parse import urlsplit, urlunsplit

    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    user = f"{parts.username}@" if parts.username else ""
    return urlunsplit((parts.scheme, user + host, parts.path, "", ""))
