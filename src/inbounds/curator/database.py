"""Where a curator keeps what it must not forget: its own tables, and the ledger beside them, for every thread its own.

A connection belongs to the thread that opened it. In SQLite the two are two files in one folder; in PostgreSQL two
schemas of one database.
"""

import threading
from os import PathLike, fspath
from pathlib import Path

from inbounds.curator.migrations import APPLICATION, POSTGRES, SCHEMA, SQLITE
from inbounds.ledger import Ledger
from inbounds.ledger.store import Store


def opened(place: str | PathLike[str]) -> Store:
    """The curator's tables in a file or behind a postgresql:// URL, made where there are none."""
    if fspath(place).startswith(("postgresql://", "postgres://")):
        from inbounds.ledger.postgres import Postgres

        return Postgres(fspath(place), create=True, steps=POSTGRES, schema=SCHEMA, locked="questions")
    from inbounds.ledger.sqlite import Sqlite

    return Sqlite(Path(place), create=True, steps=SQLITE, application=APPLICATION)


class Connections:
    """The ledger and the tables of a curator, opened once in every thread that asks."""

    def __init__(self, ledger: str, database: str) -> None:
        self._places, self._own = (ledger, database), threading.local()

    @property
    def ledger(self) -> Ledger:
        if not hasattr(self._own, "ledger"):
            self._own.ledger = Ledger.open(self._places[0])
        found: Ledger = self._own.ledger
        return found

    @property
    def store(self) -> Store:
        if not hasattr(self._own, "store"):
            self._own.store = opened(self._places[1])
        found: Store = self._own.store
        return found

    def close(self) -> None:
        """End those of this thread."""
        for name in ("ledger", "store"):
            if hasattr(self._own, name):
                getattr(self._own, name).close()
                delattr(self._own, name)
