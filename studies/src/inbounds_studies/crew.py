"""Who does the work of a study: one process or several, with or without a sign of progress."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from multiprocessing import get_context
from types import TracebackType
from typing import Any, TypeVar

import numpy as np

Job = TypeVar("Job")
Done = TypeVar("Done")
Watch = Callable[[Iterable[Any], int], Iterable[Any]]
"""Passes results on as they come and shows how many of the total are done."""


def unwatched(results: Iterable[Any], total: int) -> Iterable[Any]:
    return results


class Crew:
    """Maps a function over jobs, in their order, on `cores` processes.

    Results do not depend on the number of cores: a job that draws takes its own stream, named by its numbers.
    Workers are started afresh (not forked), since a solver's threads do not survive a fork.
    """

    def __init__(self, cores: int = 1, watch: Watch = unwatched) -> None:
        if cores < 1:
            raise ValueError(f"cores must be at least 1, got {cores}")
        self.cores, self.watch = cores, watch
        self._pool: ProcessPoolExecutor | None = None
        self._open = ExitStack()

    def map(self, work: Callable[[Job], Done], jobs: Sequence[Job]) -> list[Done]:
        """[work(job) for job in jobs]; with several cores `work` must be a module's own function."""
        return list(self.watch(self._results(work, jobs), len(jobs)))

    def _results(self, work: Callable[[Job], Done], jobs: Sequence[Job]) -> Iterator[Done]:
        if self.cores == 1 or len(jobs) < 2:
            return map(work, jobs)
        if self._pool is None:
            pool = ProcessPoolExecutor(self.cores, mp_context=get_context("spawn"))
            self._pool = self._open.enter_context(pool)
        return self._pool.map(work, jobs)

    def __enter__(self) -> "Crew":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        self._open.close()
        self._pool = None


ALONE = Crew()
"""One process, no display."""


def stream(seed: int, *names: int) -> np.random.Generator:
    """The random numbers of one job: the same for the same seed and names, whoever does the job."""
    return np.random.default_rng([seed, *names])
