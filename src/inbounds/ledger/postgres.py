"""A ledger on PostgreSQL, for several machines: fsync on and synchronous_commit not off, or refused.

A commit is then on the server's disk before it is acknowledged (PostgreSQL's documentation, chapter "Reliability and
the Write-Ahead Log"). What no setting here can see: a standby that takes over without the last commits (asynchronous
failover) loses charges, and so does a restored backup. Keep heads elsewhere.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from inbounds.errors import LedgerError
from inbounds.extras import library
from inbounds.ledger.migrations import POSTGRES, Step, migrate
from inbounds.ledger.store import DOUBT, Owner, Rows, Run, Transaction, Worded, without_password

SCHEMA = "inbounds_ledger"
"""All tables of a ledger; one ledger for each database."""

PATIENCE = 10
"""Seconds that a server may take to answer the first time."""

LOCK = 7381240947
"""Of the advisory lock under which one process at a time makes or changes the tables."""


class Postgres:
    """The store on a server. create: make its tables where there are none."""

    def __init__(self, url: str, *, create: bool, steps: Sequence[Step] = POSTGRES) -> None:
        self.place, self._owner = without_password(url), Owner.here()
        self._psycopg = library("psycopg", "postgres")
        with self._worded(f"{self.place} cannot be opened as a ledger"):
            self._connection = self._psycopg.connect(url, autocommit=True, connect_timeout=PATIENCE)
        try:
            with self._worded(f"{self.place} cannot be opened as a ledger"):
                self.taken = self._prepare(create, steps)
        except BaseException:
            self.close()
            raise

    def _prepare(self, create: bool, steps: Sequence[Step]) -> range:
        self._check_mode()
        with self._transaction("BEGIN") as run:
            run("SELECT pg_advisory_xact_lock(?)", LOCK)
            if not run("SELECT 1 FROM pg_namespace WHERE nspname = ?", SCHEMA):
                if not create:
                    raise LedgerError(f"{self.place} must hold a ledger, got none; make one: inbounds ledger create")
                run(f"CREATE SCHEMA {SCHEMA}")
            run(f"SET search_path TO {SCHEMA}")
            return migrate(run, steps, self.place, _has_steps)

    def writing(self) -> AbstractContextManager[Run]:
        return self._transaction("BEGIN ISOLATION LEVEL READ COMMITTED", self._lock)

    def reading(self) -> AbstractContextManager[Run]:
        return self._transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def _transaction(self, begin: str, check: Callable[[], object] = lambda: None) -> Transaction:
        self._owner.check(self.place)
        if self._in_transaction():
            raise LedgerError(f"{self.place} is in the middle of a transaction; ask again when it has ended")
        failed = self._worded(f"{self.place} could not be written or read; {DOUBT}")
        return Transaction(self._run, begin, self._undo, failed, check, self._commit)

    def _in_transaction(self) -> bool:
        return bool(self._connection.info.transaction_status == self._psycopg.pq.TransactionStatus.INTRANS)

    def _commit(self) -> None:
        """Commit, and believe it only if the server did: without a transaction it merely warns, or rolls back."""
        if not self._in_transaction() or self._connection.execute("COMMIT").statusmessage != "COMMIT":
            raise LedgerError(f"{self.place} did not commit; ask again with the same key, which costs nothing twice")

    def _lock(self) -> None:
        self._run("LOCK TABLE entries IN SHARE ROW EXCLUSIVE MODE")  # before any snapshot: what follows sees the last
        self._check_mode()

    def _undo(self) -> None:
        try:
            self._run("ROLLBACK")
        except self._psycopg.Error:
            self._connection.close()

    def _check_mode(self) -> None:
        ((fsync, commit, pages),) = self._run(
            "SELECT current_setting('fsync'), current_setting('synchronous_commit'), "
            "current_setting('full_page_writes')"
        )
        if fsync != "on" or commit == "off" or pages != "on":
            raise LedgerError(
                f"{self.place} must have fsync and full_page_writes on and synchronous_commit not off, got fsync "
                f"{fsync}, full_page_writes {pages}, synchronous_commit {commit}; a loss of power could lose charges"
            )

    def guards(self) -> list[str]:
        found = [
            f"its table {name} is not logged"
            for (name,) in self._run(
                "SELECT relname FROM pg_class WHERE relkind = 'r' AND relpersistence <> 'p' "
                "AND relnamespace = ?::regnamespace",
                SCHEMA,
            )
        ]
        active = {row[0] for row in self._run(_TRIGGERS, SCHEMA)}
        wanted = {
            words.split()[2] for step in POSTGRES for words in step.statements if words.startswith("CREATE TRIGGER")
        }
        found += [f"its trigger {name} is not as it was made" for name in sorted(wanted - active)]
        checks = {row[0] for row in self._run("SELECT conname FROM pg_constraint WHERE convalidated")}
        return found + [f"its check {name} is gone" for name in sorted(_CONSTRAINTS - checks)]

    def close(self) -> None:
        """End the connection; a child process leaves that of its parent alone."""
        if self._owner.process == os.getpid():
            self._connection.close()

    def _run(self, sql: str, *values: Any) -> Rows:
        cursor = self._connection.execute(sql.replace("?", "%s") if values else sql, values or None)
        return list(cursor.fetchall()) if cursor.description else []

    def _worded(self, sentence: str) -> Worded:
        return Worded(self._psycopg.Error, sentence, lambda reason: type(reason).__name__)


_TRIGGERS = (
    "SELECT tgname FROM pg_trigger JOIN pg_class ON tgrelid = pg_class.oid "
    "WHERE relnamespace = ?::regnamespace AND tgenabled = 'O'"
)
_CONSTRAINTS = {
    *("people_check", "people_budget_check", "people_spent_check", "people_pkey", "entries_pkey", "answers_pkey"),
    *("entries_people_fkey", "answers_entry_fkey"),
}
"""PostgreSQL's own names for what the first step declares."""


def _has_steps(run: Run) -> bool:
    return bool(run("SELECT 1 FROM pg_tables WHERE schemaname = ? AND tablename = 'steps'", SCHEMA))
