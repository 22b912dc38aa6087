"""The moment at which an answer leaves, fixed before data is read.

How long an evaluation takes may depend on the data, and so may whether it fails. So the moment is fixed when the
evaluation begins, and the caller waits for that moment, not for the evaluation:

    slot acquired → moment fixed → read, draw, store          in its own thread
                                 → wait until the moment      the slot is held as long
                                 → the answer, or one constant refusal

The slot is free again at that moment and not before, so the queue does not depend on the data either.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from inbounds.curator.errors import CuratorUnavailable

T = TypeVar("T")


class Time:
    """The clocks of a curator, and how it waits. Tests replace them."""

    def wall(self) -> float:
        """Return seconds since 1970. All processes that share a database must agree on it."""
        return time.time()

    def steady(self) -> float:
        """Return seconds of a clock that never jumps, in this process."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(max(0.0, seconds))

    def hold(self, work: "Future[Any]", leave: float) -> None:
        """Wait until the steady clock says `leave`, whether or not the work is done."""
        self.sleep(leave - self.steady())


class Deadline:
    """The moment at which an answer leaves. An evaluation that is not finished by then has failed."""

    def __init__(self, clock: Time) -> None:
        self.leave: float | None = None
        self._clock, self._lock = clock, threading.Lock()
        self._decided, self._finished, self._closed = threading.Event(), False, False

    def fix(self, leave: float) -> None:
        """Set the moment at which the answer leaves, by the steady clock. Called before data is read."""
        self.leave = leave
        self._decided.set()

    def wait_until_decided(self, work: "Future[Any]") -> None:
        """Wait until the moment is fixed, or the work ends without reading data."""
        work.add_done_callback(lambda _: self._decided.set())
        self._decided.wait()

    def is_past(self) -> bool:
        return self.leave is not None and (self._closed or self._clock.steady() >= self.leave)

    def finish(self) -> bool:
        """Note that everything is done and stored; return whether that was in time."""
        with self._lock:
            self._finished = self._finished or not self.is_past()
            return self._finished

    def close(self) -> bool:
        """Refuse to finish from now on; return whether the work has finished."""
        with self._lock:
            self._closed = True
            return self._finished


class Slots:
    """Places for evaluations, each with a thread that keeps its connections.

    number: questions evaluated at once. leave: closes the connections of the thread that calls it.
    """

    def __init__(self, number: int, clock: Time, leave: Callable[[], None]) -> None:
        self._number, self._clock, self._leave = number, clock, leave
        self._free, self._lock = threading.Semaphore(number), threading.Lock()
        self._idle: list[ThreadPoolExecutor] = []

    def evaluate(self, work: Callable[[Deadline], T]) -> T:
        """Return the result of the work; once its deadline is fixed, at that moment and not before.

        Raises `CuratorUnavailable` then if the work has not finished, whatever the reason.
        """
        with self._free:
            with self._lock:
                thread = self._idle.pop() if self._idle else ThreadPoolExecutor(1, "evaluation")
            deadline = Deadline(self._clock)
            done = thread.submit(work, deadline)
            try:
                deadline.wait_until_decided(done)
                if deadline.leave is not None:
                    self._clock.hold(done, deadline.leave)
                    if not deadline.close():
                        raise CuratorUnavailable
                return done.result()
            finally:
                self._give_back(thread, done)

    def _give_back(self, thread: ThreadPoolExecutor, done: "Future[Any]") -> None:
        """Return a thread to the pool. A busy thread is abandoned, ends by itself, and the slot gets another."""
        if not done.done():
            thread.submit(self._leave)
            thread.shutdown(wait=False)
            return
        with self._lock:
            self._idle.append(thread)

    def start(self, prepare: Callable[[], None]) -> None:
        """Start a thread for every slot before it is needed, because the first work of a thread takes much longer."""
        threads = [ThreadPoolExecutor(1, "evaluation") for _ in range(self._number)]
        for done in [thread.submit(prepare) for thread in threads]:
            done.result()
        with self._lock:
            self._idle += threads

    def close(self) -> None:
        """End the threads and their connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        for thread in idle:
            thread.submit(self._leave).result()
            thread.shutdown(wait=True)
