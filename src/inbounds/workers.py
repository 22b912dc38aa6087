"""Worker processes for calls that may take long or need much memory.

A process runs one call at a time, within limits of time and memory. A process that exceeds a limit is killed, and the
next call gets a new one.
"""

import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from typing import Any

from inbounds.errors import InboundsError
from inbounds.progress import Progress, ignore_progress

START_SECONDS = 60.0
"""Seconds that a process may take to start; they do not count as time of a call."""

UNKNOWN = "this did not work, for a reason whose words might quote the data; the command line shows it with --debug"


class WorkerNotStarted(Exception):
    """A worker process did not start."""


class WorkerEnded(Exception):
    """A worker process ended before its call did: it was killed, or exceeded a limit."""


@dataclass(frozen=True)
class CallFailure:
    """The reason why a call has no result.

    sentence: for people. path: the place in a plan, if it is about one. stopped: whether the call was cancelled.
    """

    sentence: str
    path: tuple[str | int, ...] = ()
    stopped: bool = False


class WorkerPool:
    """Worker processes.

    processes: at a time. seconds: of a call. most_bytes: memory of a process. preload: modules that the processes load
    before their first call.
    """

    def __init__(
        self,
        processes: int | None = None,
        seconds: float | None = None,
        most_bytes: int | None = None,
        preload: Sequence[str] = (),
    ) -> None:
        self.processes = processes or max(2, min(4, os.cpu_count() or 2))
        self.seconds, self.most_bytes = seconds, most_bytes
        self._context = _choose_context(preload)
        self._changed = threading.Condition()
        self._idle: list[WorkerProcess] = []
        self._busy: set[WorkerProcess] = set()

    @property
    def idle(self) -> int:
        """Return how many processes wait for a call."""
        return len(self._idle)

    def warm(self) -> None:
        """Start a process now, so that the first call need not wait for it."""
        threading.Thread(target=lambda: self.give_back(self._start()), daemon=True).start()

    def run(self, function: Callable[..., Any], *arguments: Any) -> tuple[Any, CallFailure | None]:
        """Wait for a free process and run a call in it; return its result, or why it has none."""
        worker = self.take()
        assert worker is not None
        try:
            return worker.call(function, arguments, self.seconds)
        finally:
            self.give_back(worker)

    def take(self, is_cancelled: Callable[[], bool] = lambda: False) -> "WorkerProcess | None":
        """Wait for a free process and return it; None if the call is cancelled meanwhile (see `wake`)."""
        with self._changed:
            self._changed.wait_for(lambda: is_cancelled() or len(self._busy) < self.processes)
            if is_cancelled():
                return None
            worker = self._idle.pop() if self._idle else self._start()
            self._busy.add(worker)
            return worker

    def give_back(self, worker: "WorkerProcess") -> None:
        """Take back a process; one that has ended is dropped."""
        with self._changed:
            self._busy.discard(worker)
            if worker.usable:
                self._idle.append(worker)
            self._changed.notify_all()

    def wake(self) -> None:
        """Let the waiting calls look whether they are cancelled."""
        with self._changed:
            self._changed.notify_all()

    def close(self) -> None:
        """End all processes."""
        with self._changed:
            for worker in (*self._idle, *self._busy):
                worker.kill()
            self._idle.clear()

    def _start(self) -> "WorkerProcess":
        return WorkerProcess(self._context, self.most_bytes)


class WorkerProcess:
    """A process that runs one call after another. usable: whether it waits for a call, and can take one."""

    def __init__(self, context: BaseContext, most_bytes: int | None = None) -> None:
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_run_worker, args=(theirs, most_bytes), daemon=True)  # type: ignore[attr-defined]
        self._process.start()
        theirs.close()
        self._ready, self.usable = False, True

    def call(
        self,
        function: Callable[..., Any],
        arguments: Sequence[Any],
        seconds: float | None = None,
        progress: Progress = ignore_progress,
    ) -> tuple[Any, CallFailure | None]:
        """Run a call; return its result, or why it has none. Raises `WorkerEnded` if the process is killed, or after so
        many seconds.
        """
        self._wait_until_ready()
        end = None if seconds is None else time.monotonic() + seconds
        try:
            self._pipe.send((function, tuple(arguments)))
            while end is None or self._pipe.poll(max(0.0, end - time.monotonic())):
                kind, content = self._pipe.recv()
                if kind == "done":
                    result: tuple[Any, CallFailure | None] = content
                    return result
                progress(*content)
        except (EOFError, OSError):
            pass
        self.kill()
        raise WorkerEnded

    def kill(self) -> None:
        """End the process at once."""
        self.usable = False
        self._process.kill()
        self._process.join()

    def _wait_until_ready(self) -> None:
        with suppress(EOFError, OSError):  # it ended
            self._ready = self._ready or (self._pipe.poll(START_SECONDS) and self._pipe.recv()[0] == "ready")
        if not self._ready:
            self.kill()
            raise WorkerNotStarted


def end_with_parent(end: Callable[[], object]) -> None:
    """Call `end` in this worker process as soon as its parent has ended, however it ended."""
    parent = multiprocessing.parent_process()
    if parent is None:
        raise RuntimeError("only a process that another one started may end with it")

    def watch() -> None:
        parent.join()
        end()

    threading.Thread(target=watch, daemon=True).start()


def _run_worker(pipe: Connection, most_bytes: int | None) -> None:
    """Run calls until the pipe is closed; this is the main function of a worker process."""
    end_with_parent(lambda: os._exit(1))
    pipe.send(("ready", None))
    if most_bytes is not None:
        _limit_memory(most_bytes)
    while True:
        try:
            function, arguments = pipe.recv()
        except (EOFError, KeyboardInterrupt):
            return
        pipe.send(("done", _run_call(function, arguments, lambda *now: pipe.send(("progress", now)))))


def _run_call(
    function: Callable[..., Any], arguments: tuple[Any, ...], progress: Progress
) -> tuple[Any, CallFailure | None]:
    try:
        return function(*arguments, progress=progress), None
    except (InboundsError, ValueError, TypeError, OSError, ImportError) as error:
        return None, describe_failure(error)
    except Exception:  # its message might quote a record
        return None, CallFailure(UNKNOWN)


def describe_failure(error: Exception) -> CallFailure:
    """Return an error of this package as the sentence that a page shows."""
    if isinstance(error, OSError) and error.strerror:
        named = f": {os.path.basename(str(error.filename))}" if error.filename else ""
        return CallFailure(f"{error.strerror}{named}")
    return CallFailure(str(error), getattr(error, "path", ()))


def _limit_memory(most_bytes: int) -> None:
    try:
        import resource
    except ImportError:  # not on Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (most_bytes, most_bytes))


def _choose_context(preload: Sequence[str]) -> BaseContext:
    """Return the way to start processes: forked from a server that has loaded what they need, or spawned where the
    system cannot fork.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(preload))
    return context
