"""Jobs of the studio's pages in worker processes.

A page asks for a job, waits a moment, and shows the result when it is there. The same function with the same arguments
returns the job that exists already. Stopping a job kills its process, so a design that would take minutes ends at once.
A lasting job, such as a release, cannot be stopped.
"""

import multiprocessing
import os
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

from inbounds.errors import InboundsError
from inbounds.progress import Progress

KEPT = 96
"""Finished jobs that are remembered."""

STARTED_WITH = ("inbounds.studio.explore.designs", "inbounds.studio.plan.dry_run")
"""Modules that the worker processes load before their first job."""

UNKNOWN = "this did not work, for a reason whose words might quote the data; the command line shows it with --debug"
STOPPED = "stopped"


@dataclass(frozen=True)
class JobFailure:
    """The reason why a job has no result.

    sentence: for the page. path: the place in a plan, if the failure is about one. stopped: whether the job was
    stopped.
    """

    sentence: str
    path: tuple[str | int, ...] = ()
    stopped: bool = False


@dataclass
class Job:
    """A function call in another process. Once `finished` is set, either result or failure is there."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    lasting: bool = False
    id: str = field(default_factory=lambda: secrets.token_urlsafe(9))
    began: float = field(default_factory=time.monotonic)
    progress: tuple[str, int, int] | None = None
    result: Any = None
    failure: JobFailure | None = None
    finished: threading.Event = field(default_factory=threading.Event)

    @property
    def seconds(self) -> int:
        """Seconds since the job began."""
        return int(time.monotonic() - self.began)

    def is_ready(self, seconds: float) -> bool:
        """Wait at most so many seconds; return whether the job is finished."""
        return self.finished.wait(seconds)

    def end(self, result: Any = None, failure: JobFailure | None = None) -> None:
        self.result, self.failure = result, failure
        self.finished.set()


class JobQueue:
    """A few worker processes and the jobs that they run. most: processes at a time."""

    def __init__(self, most: int | None = None) -> None:
        self.most = most or max(2, min(4, os.cpu_count() or 2))
        self._context = _choose_context()
        self._lock = threading.Condition()
        self._idle: list[_JobProcess] = []
        self._busy: dict[str, _JobProcess] = {}
        self._jobs: OrderedDict[Hashable, Job] = OrderedDict()

    def warm(self) -> None:
        """Start a process now, so that the first job need not wait for it."""
        threading.Thread(target=lambda: self._return_process(_JobProcess(self._context)), daemon=True).start()

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
        threading.Thread(target=self._run, args=(key, job), daemon=True).start()
        return job

    def start_lasting(self, function: Callable[..., Any], *arguments: Any) -> Job:
        """Start a job that runs to its end and cannot be stopped, such as a release once it is charged."""
        job = Job(function, arguments, lasting=True)
        with self._lock:
            self._jobs[job.id] = job
        threading.Thread(target=self._run, args=(job.id, job), daemon=True).start()
        return job

    def job(self, name: str) -> Job:
        """Return the job with this id; `LookupError` if it is unknown."""
        with self._lock:
            match = next((job for job in self._jobs.values() if job.id == name), None)
        if match is None:
            raise LookupError("this was finished long ago, or never asked")
        return match

    def stop(self, job: Job) -> None:
        """End a job and its process; a lasting one goes on."""
        with self._lock:
            if job.lasting or job.finished.is_set():
                return
            for key in [key for key, known in self._jobs.items() if known is job]:
                del self._jobs[key]
            worker = self._busy.get(job.id)
            job.end(failure=JobFailure(STOPPED, stopped=True))
            if worker is not None:
                worker.kill()
            self._lock.notify_all()

    def close(self) -> None:
        """End all processes."""
        with self._lock:
            for worker in (*self._idle, *self._busy.values()):
                worker.kill()
            self._idle.clear()

    def _run(self, key: Hashable, job: Job) -> None:
        worker = self._take_process(job)
        if worker is None:
            return
        try:
            answer = worker.answer(job)
        except (EOFError, OSError):  # the process has ended, by `stop` or by itself
            answer = ("failed", JobFailure(UNKNOWN))
        with self._lock:
            del self._busy[job.id]
        if not job.finished.is_set():
            job.end(**{"result" if answer[0] == "done" else "failure": answer[1]})
        self._return_process(worker if worker.alive else _JobProcess(self._context))

    def _take_process(self, job: Job) -> "_JobProcess | None":
        """Wait for a free process and return it; None if the job was stopped meanwhile."""
        with self._lock:
            self._lock.wait_for(lambda: job.finished.is_set() or len(self._busy) < self.most)
            if job.finished.is_set():
                return None
            worker = self._idle.pop() if self._idle else _JobProcess(self._context)
            self._busy[job.id] = worker
            return worker

    def _return_process(self, worker: "_JobProcess") -> None:
        with self._lock:
            self._idle.append(worker)
            self._lock.notify_all()

    def _forget_finished(self) -> None:
        for key in [key for key, job in self._jobs.items() if job.finished.is_set()][: len(self._jobs) - KEPT]:
            del self._jobs[key]


class _JobProcess:
    """A process that runs one job after another."""

    def __init__(self, context: Any) -> None:
        self.ours, theirs = context.Pipe()
        self._process = context.Process(target=_run_worker, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()

    @property
    def alive(self) -> bool:
        return bool(self._process.is_alive())

    def kill(self) -> None:
        self._process.kill()
        self._process.join()

    def answer(self, job: Job) -> tuple[str, Any]:
        self.ours.send((job.function, job.arguments))
        while True:
            word, content = self.ours.recv()
            if word != "progress":
                return word, content
            job.progress = content


def _run_worker(connection: Connection) -> None:
    """Run jobs until the connection is closed; this is the main function of a worker process."""
    while True:
        try:
            function, arguments = connection.recv()
        except (EOFError, KeyboardInterrupt):
            return
        connection.send(_run_job(function, arguments, lambda *now: connection.send(("progress", now))))


def _run_job(function: Callable[..., Any], arguments: tuple[Any, ...], progress: Progress) -> tuple[str, Any]:
    try:
        return "done", function(*arguments, progress=progress)
    except (InboundsError, ValueError, TypeError, OSError, ImportError) as error:
        return "failed", to_job_failure(error)
    except Exception:  # its message might quote a record
        return "failed", JobFailure(UNKNOWN)


def to_job_failure(error: Exception) -> JobFailure:
    """Return an error of this package as the sentence that a page shows."""
    if isinstance(error, OSError) and error.strerror:
        named = f": {os.path.basename(str(error.filename))}" if error.filename else ""
        return JobFailure(f"{error.strerror}{named}")
    return JobFailure(str(error), getattr(error, "path", ()))


def _choose_context() -> Any:
    """Return the way to start processes: forked from a server that has loaded what they need, or spawned where the
    system cannot fork.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(STARTED_WITH))
    return context
