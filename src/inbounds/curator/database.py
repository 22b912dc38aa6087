"""The curator's database and ledger, with connections for each thread.

A connection belongs to the thread that opened it. In SQLite the two are files in one folder; in PostgreSQL they are two
schemas of one database.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from inbounds.curator import ledger_head
from inbounds.curator.schema import APPLICATION, POSTGRES, SCHEMA, SQLITE
from inbounds.ledger import Ledger
from inbounds.ledger.ledger import open_store
from inbounds.ledger.store import Rows, Run, Store


def open_database(place: str | PathLike[str]) -> Store:
    """Open the curator's tables in a file or behind a postgresql:// URL; they are created if there are none."""
    if fspath(place).startswith(("postgresql://", "postgres://")):
        from inbounds.ledger.postgres import Postgres

        return Postgres(fspath(place), create=True, steps=POSTGRES, schema=SCHEMA, locked="questions", mark="1")
    from inbounds.ledger.sqlite import Sqlite

    return Sqlite(Path(place), create=True, steps=SQLITE, application=APPLICATION)


@dataclass(frozen=True)
class WriteQueue:
    """A store whose writers in this process wait for each other. Without it SQLite's writers retry again and again."""

    store: Store
    turn: AbstractContextManager[Any]

    @property
    def place(self) -> str:
        return self.store.place

    @property
    def migrated_steps(self) -> range:
        return self.store.migrated_steps

    @contextmanager
    def writing(self) -> Iterator[Run]:
        with self.turn, self.store.writing() as run:
            yield run

    def reading(self) -> AbstractContextManager[Run]:
        return self.store.reading()

    def look(self, sql: str, *values: Any) -> Rows:
        return self.store.look(sql, *values)

    def guards(self) -> list[str]:
        return self.store.guards()

    @property
    def mark(self) -> int:
        return self.store.mark

    def set_mark(self, mark: int) -> None:
        self.store.set_mark(mark)

    def backup(self, target: Path, entries: str) -> None:
        self.store.backup(target, entries)

    def on_reopen(self, check: Callable[[Run], object]) -> None:
        self.store.on_reopen(check)

    def close(self) -> None:
        self.store.close()


class ThreadConnections:
    """The ledger and the tables of a curator, opened once in each thread.

    Code that writes to both must begin with the tables; otherwise two threads could wait for each other.
    """

    def __init__(self, ledger: str, database: str) -> None:
        self._places, self._thread = (ledger, database), threading.local()
        self._turns = threading.Lock(), threading.Lock()
        self._reopened, self._counting = 0, threading.Lock()

    @property
    def reopened(self) -> int:
        """Return how many lost connections were opened again."""
        return self._reopened

    def _count_reopened(self, _: Run) -> None:
        with self._counting:
            self._reopened += 1

    def begin(self) -> None:
        """Choose the ledger of a curator that has none yet. Called before anything else."""
        with closing(open_database(self._places[1])) as store:
            ledger_head.start_head(store, self._places[0])

    @property
    def ledger(self) -> Ledger:
        """The ledger, which must continue from the last head that was seen; a missing ledger is never created."""
        return self._ledger_and_store[0]

    @property
    def store(self) -> Store:
        return self._ledger_and_store[1]

    @property
    def _ledger_and_store(self) -> tuple[Ledger, Store]:
        """Both, opened together, because comparing them needs a transaction."""
        if not hasattr(self._thread, "both"):
            with ExitStack() as stack:
                store = stack.enter_context(closing(WriteQueue(open_database(self._places[1]), self._turns[1])))
                ledger_head.check_ledger_exists(store, self._places[0])
                ledger_store = stack.enter_context(
                    closing(WriteQueue(open_store(self._places[0], create=False), self._turns[0]))
                )
                ledger = stack.enter_context(Ledger(ledger_store))
                ledger_head.check_head(store, ledger)
                for one in (store, ledger_store):
                    one.on_reopen(self._count_reopened)
                stack.pop_all()
            self._thread.both = ledger, store
        both: tuple[Ledger, Store] = self._thread.both
        return both

    def close(self) -> None:
        """Close the connections of this thread."""
        if hasattr(self._thread, "both"):
            for one in self._thread.both:
                one.close()
            del self._thread.both
