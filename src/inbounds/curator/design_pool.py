"""Mechanisms for questions, designed before anything is charged: from the cache at once, or in a worker process.

A design may take long and need much memory, and questions come from strangers. So a worker process designs, with limits
on both, and stores the result on disk. This process reads it and certifies it again, like any cached design.
"""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import NoReturn, Protocol

from inbounds.accounting import load_chain
from inbounds.curator.dataset import Dataset
from inbounds.curator.errors import CuratorBusy, DesignTooExpensive
from inbounds.errors import InboundsError
from inbounds.files import canonical_json, sha256_hex
from inbounds.mechanism import Mechanism
from inbounds.mechanism.laws import AnswerLaw
from inbounds.mechanism.load import load
from inbounds.plan.plan import Plan
from inbounds.progress import Progress
from inbounds.releases.levels import ChainedDraw
from inbounds.releases.usefulness import CheckedDesign
from inbounds.releases.workload import DesignCache, ReleaseDesign, Workload
from inbounds.schema.errors import PlanError
from inbounds.workers import CallFailure, WorkerEnded, WorkerNotStarted, WorkerPool

MOST_KEPT = 2000
"""Designs kept in memory; beyond that number all are read from disk again."""

MOST_FAILED = 10_000
"""Failed designs that are remembered; beyond that number all are forgotten."""

FAILED_SECONDS = 600.0
"""Seconds for which a failed design is not tried again."""

PASSPORTS = "passports"
"""The folder of the passports that drew an answer, by digest."""

PRELOADED = ("inbounds.curator.design_pool",)
"""Modules that the worker processes load before their first plan."""

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
    _workers: WorkerPool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._workers = WorkerPool(max(1, self.processes), self.seconds, self.bytes, PRELOADED)

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

    def _has_designs(self, workload: Workload) -> bool:
        """Return whether all designs are in memory or on disk."""
        requests = [request for row in (*workload.requests, *workload.layers) for request in row]
        return all(
            request in self._memory.designs or (self.folder / f"{request.digest}.json").exists() for request in requests
        )

    def _design_in_worker(self, plan: Plan) -> None:
        """Design a plan in a worker process, which leaves the designs on disk."""
        try:
            obstacle, failure = self._workers.run(_find_obstacle, plan, self.folder)
        except WorkerNotStarted:
            raise CuratorBusy(NOT_STARTED) from None
        except WorkerEnded:
            obstacle, failure = "", CallFailure(TOO_MUCH)
        if failure is not None:  # out of time or memory: its own words are not for strangers
            self._refuse(plan, DesignTooExpensive(TOO_MUCH))
        if obstacle:
            self._refuse(plan, PlanError(obstacle))

    def _refuse(self, plan: Plan, reason: PlanError | DesignTooExpensive) -> NoReturn:
        """Remember why a plan cannot be designed, and raise it."""
        with self._lock:
            if len(self._failed) >= MOST_FAILED:
                self._failed.clear()
            self._failed[_digest(plan)] = self.clock(), reason
        raise reason

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
        """Load those published passports whose outputs depend on one true answer; each is certified again."""
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
        self._workers.close()


def _find_obstacle(plan: Plan, folder: Path, progress: Progress) -> str:
    """Design a plan and store its designs; return why it cannot be designed, or an empty text."""
    try:
        designed = ReleaseDesign.from_workload(Workload.from_plan(plan), folder, progress)
        CheckedDesign.from_design(designed, folder, allow_useless=True)
    except (InboundsError, ValueError) as reason:
        return str(reason)
    return ""


def _digest(plan: Plan) -> str:
    return sha256_hex(canonical_json(plan.identity))
