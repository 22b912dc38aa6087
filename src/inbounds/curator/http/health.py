"""Health checks that wait for nothing: ledger and database are read again and again, by a thread of its own.

A request gets the last result. So it waits for no thread, no connection and no lock, and any number of requests cost
the ledger one look a second.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

from inbounds.curator.errors import CuratorUnavailable

INTERVAL = 1.0
"""Seconds between two checks."""

OVERDUE = 10.0
"""Seconds after which a result no longer counts: a check that takes so long has failed."""


class HealthMonitor:
    """The health of a curator. check: raises if something is wrong. leave: closes the connections of its thread.

    The thread starts with the first request. clock, interval: for tests.
    """

    def __init__(
        self,
        check: Callable[[], object],
        leave: Callable[[], object],
        clock: Callable[[], float] = time.monotonic,
        interval: float = INTERVAL,
    ) -> None:
        self._check, self._leave, self._clock, self._interval = check, leave, clock, interval
        self._first, self._closed, self._last = Future[None](), threading.Event(), (0.0, False)
        self._thread = threading.Thread(target=self._watch, name="health", daemon=True)

    async def require_health(self) -> None:
        """Raise `CuratorUnavailable` unless the last check succeeded, and not long ago."""
        if self._thread.ident is None:
            self._thread.start()
        await asyncio.shield(asyncio.wrap_future(self._first))
        when, is_well = self._last
        if not is_well or self._clock() - when > OVERDUE:
            raise CuratorUnavailable

    def close(self) -> None:
        """End the thread and its connections."""
        self._closed.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _watch(self) -> None:
        while not self._closed.is_set():
            began = self._clock()
            self._last = began, self._is_well()
            if not self._first.done():
                self._first.set_result(None)
            self._closed.wait(self._interval)
        self._leave()

    def _is_well(self) -> bool:
        try:
            self._check()
        except Exception:  # whatever it is, the curator cannot answer
            return False
        return True
