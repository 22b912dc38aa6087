"""Files of datasets that stay open between questions: to open one takes longer than to answer from it."""

import os
import threading

from inbounds.files import canonical
from inbounds.tables.engine import Opened, open_source
from inbounds.tables.plan import Plan
from inbounds.tables.statements import Statements

FILES = ("csv", "parquet")
"""Kinds of sources that stay open. A database is opened for each question, so that its owner can write to it."""


class Sources(threading.local):
    """What a thread has open. A file that was replaced is opened anew; whether one is, changes no answer.

    at_once: how many questions are answered at the same time; the processors are shared among them, because an engine
    that takes them all for each question spends more time on handing out work than on small tables.
    As a context: when what is done inside fails, everything is let go, because an engine may not survive its failure.
    """

    def __init__(self, at_once: int = 1) -> None:
        self._threads = max(1, (os.cpu_count() or 1) // at_once)
        self._open: dict[str, tuple[tuple[int, ...], Opened, Statements]] = {}

    def open(self, plan: Plan) -> Opened:
        """The source of a plan, its schema compared with the plan's."""
        source = plan.source
        if source.kind not in FILES or source.engine == "spark":
            return open_source(plan)
        name, now = canonical(source.place()), _version(source.path)
        if name in self._open and self._open[name][0] != now:
            self._open.pop(name)[1].close()
        if name not in self._open:
            opened = open_source(plan)
            self._open[name] = now, opened, Statements(opened.table, self._threads)
        return open_source(plan, self._open[name][2])

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type | None, error: BaseException | None, trace: object) -> None:
        if error is not None:
            self.close()

    def close(self) -> None:
        """Let go of everything that this thread has open."""
        while self._open:
            self._open.popitem()[1][1].close()


def _version(path: str) -> tuple[int, ...]:
    """Which file a path is of, and when it was written; nothing where there is none, which opening it will say."""
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size
