"""Jobs of the pages: calls in worker processes that a page asks for, waits for a moment, and shows when they are done.

The same function with the same arguments returns the job that exists already. Stopping a job kills its process, so a
design that would take minutes ends at once. A lasting job, such as a release, cannot be stopped.
"""

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from inbounds.workers import UNKNOWN, CallFailure, WorkerEnded, WorkerNotStarted, WorkerPool, WorkerProcess

KEPT = 96
"""Finished jobs that are remembered."""

PRELOADED = ("inbounds.studio.explore.designs", "inbounds.studio.plan.dry_run")
"""Modules that the worker processes load before their first job."""

STOPPED = CallFailure("stopped", stopped=True)


@dataclass
class Job:
    """A call in a worker process. Once `finished` is set, either result or failure is there."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    lasting: bool = False
    id: str = field(default_factory=lambda: secrets.token_urlsafe(9))
    began: float = field(default_factory=time.monotonic)
    progress: tuple[str, int, int] | None = None
    result: Any = None
    failure: CallFailure | None = None
    finished: threading.Event = field(default_factory=threading.Event)
    worker: WorkerProcess | None = field(default=None, repr=False)

    @property
    def seconds(self) -> int:
        """Seconds since the job began."""
        return int(time.monotonic() - self.began)

    def is_ready(self, seconds: float) -> bool:
        """Wait at most so many seconds; return whether the job is finished."""
        return self.finished.wait(seconds)

    def end(self, result: Any = None, failure: CallFailure | None = None) -> None:
        self.result, self.failure = result, failure
        self.finished.set()

    def note_progress(self, doing: str, done: int, total: int) -> None:
        self.progress = doing, done, total


class JobQueue:
    """The jobs of a studio and the worker processes that run them."""

    def __init__(self) -> None:
        self._pool = WorkerPool(preload=PRELOADED)
        self._lock = threading.Lock()
        self._jobs: OrderedDict[Hashable, Job] = OrderedDict()

    @property
    def processes(self) -> int:
        """Return how many jobs run at a time."""
        return self._pool.processes

    def warm(self) -> None:
        """Start a process now, so that the first job need not wait for it."""
        self._pool.warm()

    def ask(self, function: Callable[..., Any], *arguments: Hashable, again: Hashable = None) -> Job:
        """Return the job of a function and its arguments, which is started if there is none. again: a value that tells
        a repeated call apart from the first.
        """
        key = (function, arguments, again)
        with self._lock:
            if key in self._jobs:
                self._jobs.move_to_end(key)
                return self._jobs[key]
            job = self._jobs[key] = Job(function, arguments)
            self._forget_finished()
        threading.Thread(target=self._run, args=(job,), daemon=True).start()
        return job

    def start_lasting(self, function: Callable[..., Any], *arguments: Any) -> Job:
        """Start a job that runs to its end and cannot be stopped, such as a release once it is charged."""
        job = Job(function, arguments, lasting=True)
        with self._lock:
            self._jobs[job.id] = job
        threading.Thread(target=self._run, args=(job,), daemon=True).start()
        return job

    def job(self, name: str) -> Job:
        """Return the job with this id; `LookupError` if it is unknown."""
        with self._lock:
            match = next((job for job in self._jobs.values() if job.id == name), None)
        if match is None:
            raise LookupError("this job is unknown, or was finished long ago; start it again")
        return match

    def stop(self, job: Job) -> None:
        """End a job and its process; a lasting one goes on."""
        with self._lock:
            if job.lasting or job.finished.is_set():
                return
            for key in [key for key, known in self._jobs.items() if known is job]:
                del self._jobs[key]
            job.end(failure=STOPPED)
            if job.worker is not None:
                job.worker.kill()
        self._pool.wake()

    def close(self) -> None:
        """End all processes."""
        self._pool.close()

    def _run(self, job: Job) -> None:
        worker = self._pool.take(job.finished.is_set)
        if worker is None:
            return
        with self._lock:
            job.worker = worker
            stopped = job.finished.is_set()
        answer: tuple[Any, CallFailure | None] = None, CallFailure(UNKNOWN)
        if not stopped:
            with suppress(WorkerEnded, WorkerNotStarted):  # by `stop`, or by itself
                answer = worker.call(job.function, job.arguments, progress=job.note_progress)
        with self._lock:
            job.worker = None
            if not job.finished.is_set():
                job.end(*answer)
        self._pool.give_back(worker)

    def _forget_finished(self) -> None:
        for key in [key for key, job in self._jobs.items() if job.finished.is_set()][: len(self._jobs) - KEPT]:
            del self._jobs[key]
