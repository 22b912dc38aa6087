"""A ledger in one SQLite file. It requires a write-ahead log and synchronous=FULL or EXTRA.

In this mode a transaction is on the disk before it is acknowledged, and a loss of power at any moment leaves a database
from which none is missing (SQLite's documentation, "Write-Ahead Logging" and PRAGMA synchronous). NORMAL may lose the
last ones; so may other journals on file systems that reorder a deletion. The setting is EXTRA: with a write-ahead log
it is the same as FULL, and while the file is created, before there is a log, a journal that reappears after a loss of
power would undo all that followed.

Before it is acknowledged a transaction is also copied from the log into the file. So a copy of the file alone has all
that was acknowledged, also after a process was killed, and whoever takes the log away takes nothing with it.
"""

import ctypes
import os
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

from inbounds.errors import LedgerError
from inbounds.files import SQLITE_MAGIC, sync_directory
from inbounds.files.open_files import (
    OpenFile,
    acquire,
    file_identity,
    find_open_database,
    read_start,
    release,
    release_later,
)
from inbounds.ledger.schema import APPLICATION, SQLITE, SchemaVersion, migrate
from inbounds.ledger.store import DOUBT, ErrorTranslator, FairLock, Rows, Run, Transaction, do_nothing

PATIENCE = 60.0
"""Seconds that a writer waits for other writers."""

RETRY = 0.0005
"""Seconds between two attempts to copy the log into the file: about as long as a short transaction takes."""

LOGGED = b"\x02\x02"
"""Bytes 18 and 19 of a file with a write-ahead log: its write and read versions."""

HEADER = 100
"""Number of bytes of a database's header."""

FULL = 2
OLDEST = (3, 37)
"""The first SQLite version whose STRICT tables refuse a sum beyond 64 bits."""

OK, DENY, PRAGMA = 0, 1, 19
"""SQLite's own numbers: SQLITE_OK, SQLITE_DENY and the action SQLITE_PRAGMA."""

SMALL_PAGES = "page_size = 2048"
"""Page size of a new file: a charge changes three pages and waits until they are on the disk."""

SETTINGS = ("synchronous = EXTRA", "fullfsync = ON", "checkpoint_fullfsync = ON", "foreign_keys = ON")


class Driver(NamedTuple):
    """A way to connect to SQLite; tests use one whose disk loses power."""

    connect: Callable[[Path, bool], Any]
    error: type[Exception]


def default_driver() -> Driver:
    """Return Python's sqlite3 in autocommit mode, so that every transaction is explicit."""
    import sqlite3

    if sqlite3.sqlite_version_info < OLDEST:
        raise LedgerError(f"a ledger needs SQLite 3.37 or later, got {sqlite3.sqlite_version}; use a newer Python")

    def connect(path: Path, create: bool) -> Any:
        mode = "rwc" if create else "rw"
        return sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None, timeout=PATIENCE
        )

    return Driver(connect, sqlite3.Error)


def _connect_immutable(path: Path) -> Any:
    """Connect to a file that nobody can write to; a log beside it could not be read, so it must be empty."""
    import sqlite3

    log = Path(f"{os.path.realpath(path)}-wal")
    if log.exists() and log.stat().st_size:
        raise LedgerError(
            f"{path} has its last charges in {log.name}, which cannot be read where nothing can be written; copy both "
            "files to a folder that can be written to"
        )
    uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    return sqlite3.connect(uri, uri=True, isolation_level=None)


def can_be_written(path: Path) -> bool:
    """Return whether a file and its folder, where its log is, can be written to."""
    return os.access(path, os.W_OK) and os.access(os.path.dirname(os.path.realpath(path)), os.W_OK)


def is_ledger(path: Path) -> bool:
    """Return whether a file is an SQLite database with a ledger's application_id, in bytes 68..71."""
    try:
        return has_ledger_header(read_start(path, HEADER))
    except OSError:
        return False


def has_ledger_header(head: bytes) -> bool:
    """Return the same of a file that begins with these bytes."""
    return head.startswith(SQLITE_MAGIC) and int.from_bytes(head[68:72], "big") == APPLICATION


class Sqlite:
    """The store in a file. create: create it if there is none. steps, application: of a ledger by default.

    read_only: of a file that cannot be written to, such as one on a read-only medium; it is read as it is.
    """

    def __init__(
        self,
        path: Path,
        *,
        create: bool,
        driver: Driver | None = None,
        steps: Sequence[SchemaVersion] = SQLITE,
        application: int = APPLICATION,
        read_only: bool = False,
    ) -> None:
        self.place, self._path, self._driver = str(path), path, driver or default_driver()
        self._read_only = read_only
        self._steps, self._application = steps, application
        self._turns, self._holds = FairLock(self.place, self._is_open), list[OpenFile]()
        self._failed = self._translate_errors(f"{path} could not be written or read; {DOUBT}")
        _check_file(path, create)
        before = _identity(self.place) if path.exists() else None
        with self._translate_errors(f"{path} cannot be opened as a ledger"):
            self._connection = _connect_immutable(path) if read_only else self._driver.connect(path, create)
            self._cursor = self._connection.cursor()
        _open_here.add(self)
        try:
            self._hold(self.place)
            with self._translate_errors(f"{path} cannot be opened as a ledger"):
                self._prepare()
            self._file, self._logs = before or _identity(self.place), dict[str, int]()
            if read_only:
                self.migrated_steps = self._check_steps()
                return
            self._hold(f"{os.path.realpath(path)}-shm")
            self._check_mode()
            with self.writing() as run:
                self.migrated_steps = migrate(run, steps, self.place, _has_steps)
            self._connection.set_authorizer(_refuse_settings)
            if self.migrated_steps:
                sync_directory(path.absolute().parent)
            self._logs = {name: number for name in self._log_names() if (number := _file_number(name)) is not None}
        except BaseException:
            self.close()
            raise

    def _hold(self, file: str) -> None:
        """Keep a file open from before the first lock until after the last: closing it would release SQLite's locks."""
        if os.path.exists(file):
            self._holds.append(acquire(file, database=True))

    def _prepare(self) -> None:
        """Set up this connection; set the journal mode, which belongs to the file, for a new file only."""
        self._run("PRAGMA busy_timeout = 60000")
        for setting in SETTINGS:
            self._run(f"PRAGMA {setting}")
        if not self._run("SELECT 1 FROM sqlite_master LIMIT 1"):
            self._run(f"PRAGMA {SMALL_PAGES}")
            self._start_log()
            self._run("SELECT 1 FROM sqlite_master")  # makes the files of the log, which are kept open next
        elif self._pragma("application_id") != self._application:
            raise LedgerError(f"{self.place} is a database but no ledger; give another name")

    def _check_steps(self) -> range:
        """Raise LedgerError unless all steps were taken; a file that cannot be written to cannot be brought forward."""
        with self.reading() as run:
            taken = len(run("SELECT number FROM steps"))
            if taken < len(self._steps):
                raise LedgerError(
                    f"{self.place} is a ledger of version {taken}, not {len(self._steps)}; copy it to a folder that "
                    "can be written to, where it is brought forward"
                )
            return migrate(run, self._steps, self.place, _has_steps)

    @property
    def mark(self) -> int:
        return int(self._pragma("user_version"))

    def set_mark(self, mark: int) -> None:
        self._connection.set_authorizer(None)
        try:
            self._run(f"PRAGMA user_version = {mark:d}")
        finally:
            self._connection.set_authorizer(_refuse_settings)

    def backup(self, target: Path, entries: str) -> None:
        if target.exists() or not target.absolute().parent.is_dir():
            raise ValueError(f"backup must be a new file in a folder that is there, got {target}; give another name")
        self._turns.owner.check(self.place)
        _create(target)
        with self._translate_errors(f"{target} could not be written"):
            copy = self._driver.connect(target, False)
            with closing(copy):
                self._connection.backup(copy)
                ((mark,),) = copy.execute(entries).fetchall()
                copy.execute("PRAGMA synchronous = EXTRA")
                copy.execute(f"PRAGMA user_version = {-mark:d}")
        sync_directory(target.absolute().parent)

    def _start_log(self) -> None:
        """Start the write-ahead log of a new file; retry while another process that creates it holds a lock.

        After any other error there must be no retry: a connection that failed to write the new mode reports it when
        asked again, although the file does not have it.
        """
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                self._run("PRAGMA journal_mode = WAL")
                return
            except self._driver.error as reason:
                if "locked" not in str(reason) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def writing(self) -> AbstractContextManager[Run]:
        if self._read_only:
            raise LedgerError(f"{self.place} cannot be written to, so nothing can be charged; it can only be read")
        return self._transaction("BEGIN IMMEDIATE", self._check_name, self._commit_to_file)

    def reading(self) -> AbstractContextManager[Run]:
        return self._transaction("BEGIN")

    def look(self, sql: str, *values: Any) -> Rows:
        with self._turns.give(Transaction(self._run, "", self._undo, self._failed, do_nothing, do_nothing)) as run:
            return run(sql, *values)

    def _transaction(
        self, begin: str, check: Callable[[], object] = do_nothing, commit: Callable[[], object] | None = None
    ) -> Transaction:
        own = Transaction(self._run, begin, self._undo, self._failed, check, commit or self._commit)
        return self._turns.give(own)

    def _is_open(self) -> bool:
        return bool(self._connection.in_transaction)

    def _commit(self) -> None:
        self._run("COMMIT")

    def _commit_to_file(self) -> None:
        """Commit, and copy the log into the file, whoever wrote it; wait while others do so or read what is older."""
        self._commit()
        deadline = time.monotonic() + PATIENCE
        while True:
            ((is_busy, logged, copied),) = self._run("PRAGMA wal_checkpoint")
            if not is_busy and logged == copied:
                return
            if time.monotonic() > deadline:
                raise LedgerError(
                    f"{self.place} has been read by another program for more than {PATIENCE:.0f} seconds, so the last "
                    f"charges are in its log alone; end that program; {DOUBT}"
                )
            time.sleep(RETRY)

    def _check_name(self) -> None:
        """Raise LedgerError if the file was replaced by another of its name, or its log taken away.

        What is not acknowledged yet may be in the log alone.

        The mode was checked when the file was opened and cannot be set since. The journal mode belongs to the file and
        stays while it is open.
        """
        if _identity(self.place) != self._file:
            raise LedgerError(f"{self.place} was replaced while it was open; open it again")
        if any(_file_number(name) != number for name, number in self._logs.items()):
            raise LedgerError(
                f"the log of {self.place} was removed while it was open, and with it the last charges; stop what has "
                "it open, and compare a head before anything more is spent"
            )

    def _log_names(self) -> tuple[str, str]:
        real = os.path.realpath(self.place)
        return f"{real}-wal", f"{real}-shm"

    def _undo(self) -> None:
        """Roll back; after an error the database may have done so itself."""
        try:
            if self._is_open():
                self._run("ROLLBACK")
        except self._driver.error:
            self._connection.close()

    def _check_mode(self) -> None:
        mode = self._pragma("journal_mode"), self._pragma("synchronous"), self._pragma("foreign_keys")
        if mode[0] == "wal" and read_start(self._path, HEADER)[18:20] != LOGGED:
            mode = "another", *mode[1:]
        if mode[0] != "wal" or mode[1] < FULL:
            raise LedgerError(
                f"{self.place} must be in journal mode wal with synchronous {FULL} or more, got {mode[0]} with "
                f"{mode[1]}; a loss of power could lose what was spent: compare it with a head kept elsewhere, then "
                "PRAGMA journal_mode = WAL"
            )
        if mode[2] != 1:
            raise LedgerError(f"{self.place} must enforce foreign keys; this SQLite was built without them")

    def guards(self) -> list[str]:
        with self.reading() as run:
            problems = [str(row[0]) for row in run("PRAGMA integrity_check") if row[0] != "ok"]
            problems += [f"a row of {row[0]} refers to nothing" for row in run("PRAGMA foreign_key_check")]
            definitions = set(run("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL"))
        return problems + [
            f"its {kind} {name} is not as it was made" for kind, name, _ in sorted(definitions ^ _schema(self._steps))
        ]

    def on_reopen(self, check: Callable[[Run], object]) -> None:
        """Do nothing: a file is opened once."""

    def close(self) -> None:
        """Close the file; a child process does not close its parent's, whose log it would delete."""
        self._close(release)

    def _close(self, let_go: Callable[[OpenFile], None]) -> None:
        if self._turns.owner.process != os.getpid():
            return
        self._turns.owner.check(self.place)
        self._connection.close()
        while self._holds:
            let_go(self._holds.pop())

    def __del__(self) -> None:
        """Close a store that was not closed: SQLite is about to, and must do so before the file is released."""
        with suppress(Exception):  # from another thread it stays open, which costs a descriptor and no lock
            self._close(release_later)

    def _run(self, sql: str, *values: Any) -> Rows:
        try:
            rows: Rows = self._cursor.execute(sql, values).fetchall()
        except UnicodeDecodeError as reason:  # in SQLite's own message about a damaged page
            raise LedgerError(f"{self.place} was damaged: it holds invalid texts") from reason
        return rows

    def _pragma(self, name: str) -> Any:
        return self._run(f"PRAGMA {name}")[0][0]

    def _translate_errors(self, sentence: str) -> ErrorTranslator:
        return ErrorTranslator(self._driver.error, sentence, str)


_open_here: "weakref.WeakSet[Sqlite]" = weakref.WeakSet()


def _keep_for_ever() -> None:
    """In a child process, keep the parent's connections open for ever, even when the interpreter ends.

    Closing one would delete a log that may belong to another process by now. An extra reference prevents it.
    """
    for store in _open_here:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(store._connection))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_keep_for_ever)


def _identity(path: str) -> tuple[int, int]:
    """Return the identity of a file; raise LedgerError if it has several names, because SQLite keeps a log for each."""
    try:
        status = os.stat(path)
    except OSError:
        raise LedgerError(f"{path} was removed or cannot be read; nothing was charged now") from None
    if status.st_nlink != 1:
        raise LedgerError(
            f"{path} must be the only name of its file, got {status.st_nlink} hard links; charges under one would not "
            "be seen under another: remove the others"
        )
    return file_identity(status)


def _file_number(path: str) -> int | None:
    """Return the number of a file on its disk; None if there is none."""
    try:
        return os.stat(path).st_ino
    except OSError:
        return None


def _check_file(path: Path, create: bool) -> None:
    if not path.exists():
        if not create:
            raise LedgerError(f"{path} must be a ledger, got no file; make one: inbounds ledger init {path} --people …")
        if not path.absolute().parent.is_dir():
            raise ValueError(f"a ledger must be in a folder that is there, got {path}")
        _create(path)
        return
    if not path.stat().st_size and not create:
        raise LedgerError(f"{path} is empty, so what it counted is lost; restore it from a copy, and compare a head")
    open_database = find_open_database(path)
    if open_database is not None and open_database.inherited:
        raise LedgerError(
            f"{path} must not be open when a process is forked that opens it too, because SQLite would take the "
            "locks of the parent for those of the child; close it before, or start processes by spawn"
        )
    if path.stat().st_size and not read_start(path, HEADER).startswith(SQLITE_MAGIC):
        raise LedgerError(f"{path} is no ledger; give another name")
    real = os.path.realpath(path)
    if _find_mount(real) != _find_mount(os.path.dirname(real)):
        raise LedgerError(
            f"{path} must not be mounted by itself, because its log is beside it under each of its names; mount its "
            "folder"
        )


def _create(path: Path) -> None:
    """Create an empty file that its owner alone may read; its log gets the same permissions.

    A file that another thread created meanwhile is not opened, because closing it here would release the locks there.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def _find_mount(path: str) -> str:
    """Return the number of the mount of a path on Linux; empty if the system does not tell.

    The descriptor is for the path only (O_PATH), so closing it releases no locks.
    """
    if not hasattr(os, "O_PATH"):
        return ""
    handle = os.open(path, os.O_PATH)
    try:
        facts = Path(f"/proc/self/fdinfo/{handle}").read_text("ascii")
    except OSError:
        return ""
    finally:
        os.close(handle)
    return facts.partition("mnt_id:")[2].split("\n")[0].strip()


def _refuse_settings(action: int, name: str | None, value: str | None, *place: str | None) -> int:
    """Allow SQLite settings to be read but not changed, so that no mode becomes weaker."""
    return DENY if action == PRAGMA and value is not None else OK


def _has_steps(run: Run) -> bool:
    return bool(run("SELECT 1 FROM sqlite_master WHERE name = 'steps'"))


def _schema(steps: Sequence[SchemaVersion]) -> set[tuple[Any, ...]]:
    """Return the definitions that the steps make, from a database in memory."""
    import sqlite3

    fresh = sqlite3.connect(":memory:", isolation_level=None)
    migrate(lambda sql, *values: fresh.execute(sql, values).fetchall(), steps, "", _has_steps)
    definitions = set(fresh.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall())
    fresh.close()
    return definitions
