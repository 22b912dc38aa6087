"""Mechanisms for questions, designed before anything is charged: from the cache at once, or in a worker process.

A design may take long and need much memory, and questions come from strangers. So a worker process designs, with limits
on both, and stores the result on disk. This process reads it and certifies it again, like any cached design.
"""

import multiprocessing
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Protocol

from inbounds.accounting import load_chain
from inbounds.curator.dataset import Dataset
from inbounds.curator.errors import CuratorBusy, DesignTooExpensive
from inbounds.errors import InboundsError
from inbounds.files import canonical_json, sha256_hex
from inbounds.mechanism import Mechanism
from inbounds.mechanism.laws import AnswerLaw
from inbounds.mechanism.load import load
from inbounds.plan.plan import Plan
from inbounds.releases.charge_session import release_identity
from inbounds.releases.levels import ChainedDraw
from inbounds.releases.usefulness import CheckedDesign
from inbounds.releases.workload import DesignCache, ReleaseDesign, Workload
from inbounds.schema.errors import PlanError

MOST_KEPT = 2000
"""Designs kept in memory; beyond that number all are read from disk again."""

MOST_FAILED = 10_000
"""Failed designs that are remembered; beyond that number all are forgotten."""

FAILED_SECONDS = 600.0
"""Seconds for which a failed design is not tried again."""

PASSPORTS = "passports"
"""The folder of the passports that drew an answer, by digest."""

START_SECONDS = 60.0
"""Seconds that a process may take to start; this does not count as design time."""

READY = "ready"
"""The first message of a process."""

NOT_STARTED = (
    "the process that designs must start, and did not; ask again, and in a script of your own open the curator below "
    "`if __name__ == '__main__':`"
)

TOO_MUCH = "this question takes too long or too much memory to prepare; ask for coarser answers or fewer properties"


class HasPassport(Protocol):
    """A mechanism that can be saved with everything needed to check it."""

    def save(self, path: Path) -> None: ...


@dataclass
class DesignPool:
    """Finds or designs the mechanisms of questions. processes: worker processes at a time; 0 to design in this process.

    clock: for tests.
    """

    folder: Path
    seconds: float = 30.0
    bytes: int = 2 << 30
    processes: int = 1
    clock: Callable[[], float] = time.monotonic
    _memory: DesignCache = field(default_factory=DesignCache, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _failed: dict[str, tuple[float, PlanError | DesignTooExpensive]] = field(default_factory=dict, repr=False)
    _idle: "list[_Worker]" = field(default_factory=list, repr=False)
    _free: threading.Semaphore = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._free = threading.Semaphore(max(1, self.processes))

    def design(self, workload: Workload, *, allow_useless: bool) -> CheckedDesign:
        """Design every mechanism of a workload. Raises `PlanError` if none is useful, unless `allow_useless`; reads
        designs only.
        """
        if self.processes:
            self._check_failed(workload.plan)
            if not self._has_designs(workload):
                self._design_in_worker(workload.plan)
        with self._lock:
            if len(self._memory.designs) + len(self._memory.expected) > MOST_KEPT:
                self._memory = DesignCache()
            memory = self._memory
        return CheckedDesign.from_design(
            ReleaseDesign.from_workload(workload, self.folder, memory=memory), self.folder, allow_useless=allow_useless
        )

    def needs_design(self, workload: Workload) -> bool:
        """Return whether a workload needs designs that are not stored, and did not fail before."""
        return not self._has_designs(workload) and self._failure(workload.plan) is None

    def _failure(self, plan: Plan) -> PlanError | DesignTooExpensive | None:
        """Return why a plan's designs could not be made a while ago, if that is known."""
        if not self._failed:
            return None
        then, reason = self._failed.get(_digest(plan), (0.0, None))
        return reason if reason is not None and self.clock() - then < FAILED_SECONDS else None

    def _check_failed(self, plan: Plan) -> None:
        """Raise the failure of a plan that failed before, even if its designs are stored: the search for useful
        settings may have been what took too long.
        """
        reason = self._failure(plan)
        if reason is not None:
            raise type(reason)(str(reason))

    def _note_failed(self, plan: Plan, reason: PlanError | DesignTooExpensive) -> None:
        with self._lock:
            if len(self._failed) >= MOST_FAILED:
                self._failed.clear()
            self._failed[_digest(plan)] = self.clock(), reason

    def _has_designs(self, workload: Workload) -> bool:
        """Return whether all designs are in memory or on disk."""
        requests = [request for row in (*workload.requests, *workload.layers) for request in row]
        return all(
            request in self._memory.designs or (self.folder / f"{request.digest}.json").exists() for request in requests
        )

    def _design_in_worker(self, plan: Plan) -> None:
        with self._free:
            with self._lock:
                worker = self._idle.pop() if self._idle else _Worker(self.folder, self.bytes)
            try:
                reason_text = worker.ask(plan, self.seconds)
            except BaseException as reason:
                worker.stop()
                if isinstance(reason, DesignTooExpensive):
                    self._note_failed(plan, reason)
                raise
            with self._lock:
                self._idle.append(worker)
        if reason_text:
            refusal = DesignTooExpensive(reason_text) if reason_text == TOO_MUCH else PlanError(reason_text)
            self._note_failed(plan, refusal)
            raise refusal

    def chain(self, dataset: Dataset, design: CheckedDesign) -> ChainedDraw | None:
        """Return the chained draws of a question about a dataset with levels; None without levels."""
        return ChainedDraw.from_design(design.designed, list(dataset.levels.values())) if dataset.levels else None

    def publish(self, checked: CheckedDesign, chained: ChainedDraw | None) -> tuple[str, ...]:
        """Store the passports of what is about to draw, for the accounts that get the answer; return their digests."""
        designed = checked.designed
        passports: dict[str, HasPassport] = {
            design.sha256: design.mechanism for row in (*designed.designs, *designed.layers) for design in row
        }
        if chained is not None:
            passports = {chained.sha256(k): chain for k, chain in enumerate(chained.chains)}
        folder = self.folder / PASSPORTS
        folder.mkdir(exist_ok=True)
        for digest, mechanism in passports.items():
            if not (folder / f"{digest}.json").exists():
                mechanism.save(folder / f"{digest}.json")
        return tuple(passports)

    def find_passport(self, digest: str) -> str | None:
        """Find the passport with this digest, if it drew an answer here."""
        if len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
            return None
        try:
            return (self.folder / PASSPORTS / f"{digest}.json").read_text("utf-8")
        except OSError:
            return None

    def mechanisms(self, digests: Sequence[str]) -> list[Mechanism]:
        """Load those published passports whose reports depend on one true answer; each is certified again."""
        files = [self.folder / PASSPORTS / f"{digest}.json" for digest in digests]
        loaded = []
        for file in files:
            with suppress(InboundsError, OSError):
                loaded.append(load(file))
        return [mechanism for mechanism in loaded if isinstance(mechanism.law, AnswerLaw)]

    def level(self, digest: str, epsilon: Fraction) -> Mechanism:
        """Return one level of a published chain as a mechanism."""
        chain = load_chain(self.folder / PASSPORTS / f"{digest}.json")
        return chain.level(chain.epsilons.index(epsilon))

    def close(self) -> None:
        """End the processes."""
        with self._lock:
            while self._idle:
                self._idle.pop().stop()


class _Worker:
    """A process that designs one plan at a time."""

    def __init__(self, folder: Path, most: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process: BaseProcess = context.Process(target=_design, args=(theirs, folder, most), daemon=True)
        self._process.start()
        theirs.close()
        self._ready = False

    def _wait_until_ready(self) -> None:
        with suppress(EOFError, OSError):  # it ended
            self._ready = self._ready or (self._pipe.poll(START_SECONDS) and self._pipe.recv() == READY)
        if not self._ready:
            raise CuratorBusy(NOT_STARTED)

    def ask(self, plan: Plan, seconds: float) -> str:
        """Design a plan; return an empty text once its designs are on disk, or why they cannot be made. Raises
        `DesignTooExpensive` after so many seconds.
        """
        self._wait_until_ready()
        try:
            self._pipe.send(plan)
            if not self._pipe.poll(seconds):
                raise DesignTooExpensive(TOO_MUCH)
            reason: str = self._pipe.recv()
        except (EOFError, OSError):
            raise DesignTooExpensive(TOO_MUCH) from None
        return reason

    def stop(self) -> None:
        self._process.kill()
        self._process.join()
        self._pipe.close()


def _design(pipe: Connection, folder: Path, most: int) -> None:
    """Design plans with limited memory and answer in fixed sentences; the main function of the worker process."""
    pipe.send(READY)
    _limit_memory(most)
    while True:
        try:
            plan = pipe.recv()
        except EOFError:
            return
        pipe.send(_find_obstacle(plan, folder))


def _find_obstacle(plan: Plan, folder: Path) -> str:
    """Design a plan; return an empty text once its designs are on disk, or why they are not."""
    try:
        CheckedDesign.from_design(
            ReleaseDesign.from_workload(Workload.from_plan(plan), folder), folder, allow_useless=True
        )
    except (InboundsError, ValueError) as reason:
        return str(reason)
    except MemoryError:
        return TOO_MUCH
    return ""


def _digest(plan: Plan) -> str:
    return sha256_hex(canonical_json(release_identity(plan)))


def _limit_memory(most: int) -> None:
    try:
        import resource
    except ImportError:  # not on Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
