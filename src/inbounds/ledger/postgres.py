"""A ledger in PostgreSQL, for several machines. It requires fsync on and synchronous_commit not off.

A commit is then on the server's disk before it is acknowledged (PostgreSQL's documentation, chapter "Reliability and
the Write-Ahead Log"). A dump that was read again, a server that was recovered to a moment and a standby that takes over
may have lost charges: each is another place than the tables were made at, so the ledger is closed until its owner
reopens it. A copy of the server's files that is started as it is looks like the server. Keep heads elsewhere.

A connection that was lost is opened again when the next transaction begins, with every check of the first opening. In
the middle of a transaction it is not: what was not acknowledged may be recorded, and the caller asks again.
"""

import logging
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from pathlib import Path
from typing import Any

from inbounds.errors import LedgerError
from inbounds.ledger.schema import ORIGIN, POSTGRES, SchemaVersion, migrate
from inbounds.ledger.store import (
    DOUBT,
    ConnectionLost,
    ErrorTranslator,
    FairLock,
    Rows,
    Run,
    Transaction,
    do_nothing,
    redact_password,
)
from inbounds.optional import import_optional

SCHEMA = "inbounds_ledger"
"""The schema of a ledger's tables; one ledger for each database."""

PATIENCE = 10
"""Seconds that a server may take to accept a connection, and a writer waits for other writers."""

IDLE = 3 * PATIENCE
"""Seconds after which the server ends a transaction whose process has stopped. A curator's transaction may wait for its
ledger meanwhile, for a connection and for a writer."""

WIRE = {
    "connect_timeout": PATIENCE,
    "keepalives_idle": PATIENCE,
    "keepalives_interval": PATIENCE // 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 1000 * IDLE,
}
"""How soon a connection counts as lost that nothing comes through any more."""

LIMITS = f"SET lock_timeout = '{PATIENCE}s'; SET idle_in_transaction_session_timeout = '{IDLE}s'"

log = logging.getLogger(__name__)

AS_MADE = "inbounds_ledger_as_made"
"""A schema that exists only inside one transaction, for comparison."""

DEFINITIONS = """
SELECT 'table', relname::text, concat_ws(' ', relkind, relpersistence, relrowsecurity, relforcerowsecurity)
  FROM pg_class WHERE relkind NOT IN ('i', 'I') AND relnamespace = ?::regnamespace
UNION ALL SELECT 'column', concat(relname, '.', attname), concat_ws(' ', attnum, format_type(atttypid, atttypmod),
    attnotnull, attgenerated, attidentity, nullif(attcollation, 0)::regcollation, pg_get_expr(adbin, adrelid))
  FROM pg_attribute JOIN pg_class c ON attrelid = c.oid LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
  WHERE attnum > 0 AND relkind NOT IN ('i', 'I') AND relnamespace = ?::regnamespace
UNION ALL SELECT 'index', c.relname::text, concat_ws(' ', indisvalid, indisready, pg_get_indexdef(indexrelid))
  FROM pg_index JOIN pg_class c ON indexrelid = c.oid WHERE relnamespace = ?::regnamespace
UNION ALL SELECT 'check', conname::text, concat_ws(' ', convalidated, pg_get_constraintdef(oid))
  FROM pg_constraint WHERE connamespace = ?::regnamespace
UNION ALL SELECT 'trigger', tgname::text, concat_ws(' ', tgenabled, pg_get_triggerdef(t.oid))
  FROM pg_trigger t JOIN pg_class c ON tgrelid = c.oid WHERE NOT tgisinternal AND relnamespace = ?::regnamespace
UNION ALL SELECT 'check', conname::text, concat_ws(' ', 'by', tgenabled, relname, tgfoid::regproc)
  FROM pg_trigger t JOIN pg_class c ON tgrelid = c.oid JOIN pg_constraint k ON tgconstraint = k.oid
  WHERE tgisinternal AND connamespace = ?::regnamespace
UNION ALL SELECT 'function', proname::text, CASE WHEN prokind = 'a' THEN 'aggregate' ELSE pg_get_functiondef(oid) END
  FROM pg_proc WHERE pronamespace = ?::regnamespace
UNION ALL SELECT 'operator', oprname::text, concat_ws(' ', oprleft::regtype, oprright::regtype, oprcode)
  FROM pg_operator WHERE oprnamespace = ?::regnamespace
UNION ALL SELECT 'table', c.relname::text, concat_ws(' ', 'inherited by', inhrelid::regclass)
  FROM pg_inherits JOIN pg_class c ON inhparent = c.oid WHERE relnamespace = ?::regnamespace
UNION ALL SELECT 'rule', rulename::text, pg_get_ruledef(r.oid)
  FROM pg_rewrite r JOIN pg_class c ON ev_class = c.oid WHERE relnamespace = ?::regnamespace
"""
"""Kind, name and definition of everything in a schema, as PostgreSQL writes it."""

MODE = (
    "SELECT current_setting('fsync'), current_setting('synchronous_commit'), current_setting('full_page_writes'), "
    "current_setting('session_replication_role')"
)
"""The settings that decide durability, read at the beginning of every transaction that writes."""

PLACE = (
    "concat_ws('/', (SELECT system_identifier FROM pg_control_system()), (SELECT oid FROM pg_database "
    "WHERE datname = current_database()), 'steps'::regclass::oid, left(pg_walfile_name(pg_current_wal_lsn()), 8))"
)
"""SQL of where tables are: the server's cluster, the database, the table of the schema steps, and the timeline.

Where a dump is read the database or the table is another. A server that is recovered to a moment, or a standby that
takes over, begins a timeline.
"""

WRITES = ("INSERT ", "UPDATE ")

LOCK = 7381240947
"""The advisory lock under which one process at a time creates or changes the tables."""


class Postgres:
    """The store on a server.

    create: create its tables if there are none. steps, schema, locked, mark: of a ledger by default; the schema steps,
    the schema, the table that the only writer locks, and SQL of the mark of a copy that was restored.
    """

    def __init__(
        self,
        url: str,
        *,
        create: bool,
        steps: Sequence[SchemaVersion] = POSTGRES,
        schema: str = SCHEMA,
        locked: str = "entries",
        mark: str = "(SELECT max(number) FROM entries)",
    ) -> None:
        self.place, self._steps, self._schema, self._locked = redact_password(url), steps, schema, locked
        self._restored, self._mark = mark, 0
        self._turns, self._waiting = FairLock(self.place, self._is_open), list[tuple[str, tuple[Any, ...]]]()
        self._psycopg = import_optional("psycopg", "postgres")
        self._failed = self._translate_errors(f"{self.place} could not be written or read; {DOUBT}")
        self._url, self._checks = url, list[Callable[[Run], object]]()
        self._connection: Any = None
        with self._translate_errors(f"{self.place} cannot be opened as a ledger"):
            self.migrated_steps = self._connect(create=create)

    def _connect(self, *, create: bool) -> range:
        """Open a connection and prepare it; close it if anything is wrong. Return the schema steps that were taken."""
        self._connection = self._psycopg.connect(self._url, autocommit=True, **WIRE)
        self._cursor = self._connection.cursor()
        try:
            self._send(LIMITS)
            self._check_mode(*self._send(MODE)[0])
            taken = self._prepare(create, self._steps)
            self._mark = self._read_mark()
            return taken
        except BaseException:
            self._connection.close()
            raise

    def _reopen(self) -> None:
        """Open a lost connection again, with the same checks, and those of whoever uses the store."""
        self._connection.close()
        log.warning("a connection to %s was lost and is opened again", self.place)
        self._connect(create=False)
        try:
            for check in self._checks:
                check(self._send)
        except BaseException:
            self._connection.close()
            raise

    @property
    def mark(self) -> int:
        if self._mark < 0:  # it may have been reopened meanwhile
            with self._failed:
                self._mark = self._read_mark()
        return self._mark

    def _read_mark(self) -> int:
        """Return the mark; that of a restored backup where the tables are not where they were made or accepted."""
        sql = f"SELECT coalesce((SELECT mark FROM origin WHERE place = {PLACE}), -{self._restored})"  # noqa: S608
        return 0 if self._send("SELECT pg_is_in_recovery()")[0][0] else int(self._send(sql)[0][0])

    def set_mark(self, mark: int) -> None:
        self._send("DELETE FROM origin")
        self._send(f"INSERT INTO origin SELECT {PLACE}, {mark:d}")
        self._mark = mark

    def backup(self, target: Path, entries: str) -> None:
        raise ValueError(f"a ledger to back up must be a file, got {self.place}; back up its server with pg_dump")

    def on_reopen(self, check: Callable[[Run], object]) -> None:
        self._checks.append(check)

    def _prepare(self, create: bool, steps: Sequence[SchemaVersion]) -> range:
        with Transaction(self._send, "BEGIN", self._undo, self._failed, do_nothing, self._commit) as run:
            run("SELECT pg_advisory_xact_lock(?)", LOCK)
            if not run("SELECT 1 FROM pg_namespace WHERE nspname = ?", self._schema):
                if not create:
                    make = f"inbounds ledger init {self.place} --people …"
                    raise LedgerError(f"{self.place} must hold a ledger, got none; make one: {make}")
                run(f"CREATE SCHEMA {self._schema}")
            run(f"SET search_path TO {self._schema}")
            taken = migrate(run, steps, self.place, self._has_steps)
            if any(steps[number - 1] == ORIGIN for number in taken):
                self.set_mark(0)
            return taken

    def _has_steps(self, run: Run) -> bool:
        return bool(run("SELECT 1 FROM pg_tables WHERE schemaname = ? AND tablename = 'steps'", self._schema))

    def writing(self) -> AbstractContextManager[Run]:
        # the lock before any snapshot, so that what follows sees the last; with the mode, all in one message
        lock = f"LOCK TABLE {self._locked} IN SHARE ROW EXCLUSIVE MODE"
        begin = f"BEGIN ISOLATION LEVEL READ COMMITTED; {lock}; {MODE}"
        transaction = Transaction(self._write, begin, self._undo, self._failed, self._check_begun, self._commit)
        return self._turns.give(transaction)

    def reading(self) -> AbstractContextManager[Run]:
        return self._transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def look(self, sql: str, *values: Any) -> Rows:
        with self._turns.give(Transaction(self._begin, "", self._undo, self._failed, do_nothing, do_nothing)) as run:
            return run(sql, *values)

    def _transaction(self, begin: str) -> Transaction:
        return self._turns.give(Transaction(self._run, begin, self._undo, self._failed, do_nothing, self._commit))

    def _trying(self) -> Transaction:
        """Return a transaction that is always undone."""
        failed = self._translate_errors(f"{self.place} cannot be compared with a ledger as it is made")
        return self._turns.give(Transaction(self._run, "BEGIN", self._undo, failed, do_nothing, self._undo))

    def _is_open(self) -> bool:
        status = self._psycopg.pq.TransactionStatus
        return self._connection.info.transaction_status in (status.ACTIVE, status.INTRANS, status.INERROR)

    def _commit(self) -> None:
        """Commit, and check that the server did: without a transaction it only warns, or rolls back."""
        if not self._is_open() or self._run_pending("COMMIT").statusmessage != "COMMIT":
            raise LedgerError(f"{self.place} did not commit; ask again with the same key, which costs nothing twice")

    def _undo(self) -> None:
        self._waiting = []
        try:
            self._run("ROLLBACK")
        except self._psycopg.Error:
            self._connection.close()

    def _check_begun(self) -> None:
        """Clear waiting statements, and check the mode in the transaction's last result."""
        self._waiting = []
        while self._cursor.nextset():
            pass
        self._check_mode(*self._cursor.fetchone())

    def _check_mode(self, fsync: str, commit: str, pages: str, role: str) -> None:
        if fsync != "on" or commit == "off" or pages != "on":
            raise LedgerError(
                f"{self.place} must have fsync and full_page_writes on and synchronous_commit not off, got fsync "
                f"{fsync}, full_page_writes {pages}, synchronous_commit {commit}; a loss of power could lose charges"
            )
        if role != "origin":
            raise LedgerError(
                f"{self.place} must have session_replication_role origin, got {role}; its triggers would not run"
            )

    def guards(self) -> list[str]:
        with self._trying() as run:
            if not run("SELECT has_database_privilege(current_database(), 'CREATE')")[0][0]:
                raise LedgerError(
                    f"{self.place} cannot be compared with a ledger as it is made: this user may not create a schema"
                )
            watchers = [name for (name,) in run("SELECT evtname::text FROM pg_event_trigger ORDER BY evtname")]
            strange = self._definitions(run)
        return [
            *(f"its event trigger {name} could change what it is compared with" for name in watchers),
            *(f"its {kind} {name} is not as it was made" for kind, name in sorted({row[:2] for row in strange})),
        ]

    def _definitions(self, run: Run) -> set[tuple[Any, ...]]:
        """Return definitions that differ from those which the steps make, in a temporary schema."""
        run(f"CREATE SCHEMA {AS_MADE}")
        run(f"SET LOCAL search_path TO {AS_MADE}")
        migrate(run, self._steps, self.place, lambda run: False)
        run("SET LOCAL search_path TO pg_catalog")  # so that all names are written out with their schema
        found, made = (_defined_in(run, schema) for schema in (self._schema, AS_MADE))
        return found ^ made

    def close(self) -> None:
        """Close the connection; a child process does not close its parent's."""
        if self._turns.owner.process == os.getpid():
            self._connection.close()

    def _run(self, sql: str, *values: Any) -> Rows:
        return self._begin(sql) if sql.startswith("BEGIN") else self._send(sql, *values)

    def _begin(self, sql: str, *values: Any) -> Rows:
        """Run the first statement of a transaction, on another connection if this one was lost before."""
        try:
            return self._send(sql, *values)
        except self._psycopg.OperationalError as reason:
            if not self._is_lost(reason):
                raise
        self._reopen()
        return self._send(sql, *values)

    def _is_lost(self, reason: Exception) -> bool:
        """Return whether the connection is gone, or the server has said that it ends it."""
        errors = self._psycopg.errors
        ended = errors.AdminShutdown, errors.CrashShutdown, errors.IdleInTransactionSessionTimeout
        return self._connection is not None and (self._connection.closed or isinstance(reason, ended))

    def _send(self, sql: str, *values: Any) -> Rows:
        cursor = self._cursor.execute(_to_psycopg(sql) if values else sql, values or None)
        return list(cursor.fetchall()) if cursor.description else []

    def _write(self, sql: str, *values: Any) -> Rows:
        """Run a writer's statement; one that returns nothing waits for the next that does, or for the commit."""
        if values and sql.startswith(WRITES) and "RETURNING" not in sql:
            self._waiting.append((sql, values))
            return []
        if not self._waiting:
            return self._run(sql, *values)
        cursor = self._run_pending(sql, *values)
        return list(cursor.fetchall()) if cursor.description else []

    def _run_pending(self, sql: str, *values: Any) -> Any:
        """Run waiting statements and this one, in their order and in one message; return the last cursor.

        An error of any of them ends what follows, the commit too.
        """
        waiting, self._waiting = self._waiting, []
        with self._connection.pipeline() if waiting else nullcontext():
            for earlier, own in waiting:
                self._connection.execute(_to_psycopg(earlier), own)
            return self._connection.execute(_to_psycopg(sql), values or None)

    def _translate_errors(self, sentence: str) -> ErrorTranslator:
        return ErrorTranslator(self._psycopg.Error, sentence, self._describe, self._classify)

    def _classify(self, reason: Exception) -> type[LedgerError]:
        is_lost = isinstance(reason, self._psycopg.OperationalError) and self._is_lost(reason)
        return ConnectionLost if is_lost else LedgerError

    def _describe(self, reason: Exception) -> str:
        if isinstance(reason, self._psycopg.errors.LockNotAvailable):
            return f"another process has been writing for more than {PATIENCE} seconds"
        return type(reason).__name__


@lru_cache(maxsize=256)
def _to_psycopg(sql: str) -> str:
    """Replace the placeholders of a statement by those of psycopg."""
    return sql.replace("?", "%s")


def _defined_in(run: Run, schema: str) -> set[tuple[Any, ...]]:
    rows = run(DEFINITIONS, *[schema] * DEFINITIONS.count("?"))
    return {(kind, name, text.replace(f"{schema}.", "")) for kind, name, text in rows}
