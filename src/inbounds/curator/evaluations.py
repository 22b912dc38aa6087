"""Evaluations: each reading of data for a question, noted before it begins and never repeated.

An evaluation is noted in the transaction of its charge, with the moment at which its answer leaves. The process that
noted it reads the data once. Data is never read again under that charge, not even after a crash.

    before that moment        no request learns the outcome; a request for the same answer waits
    afterwards, finished      the answer is stored and issued to accounts that ask
    afterwards, not finished  it failed: the dataset is closed until its owner reopens it

An engine that failed, one that was late and a process that died look alike, and each may be caused by the data. So a
failure reveals one bit that no epsilon covers. These observations are counted for the owner.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from inbounds.curator.errors import DatasetClosed, EvaluationFailed
from inbounds.ledger.store import Run

EVERYTHING = "SELECT key, dataset, until, finished, reopened FROM evaluations"


@dataclass(frozen=True)
class Evaluation:
    """The evaluation of a question, by its key in the ledger.

    until: when its answer leaves, in milliseconds since 1970. reopened: when the owner reopened the dataset after it
    failed.
    """

    key: str
    dataset: str
    until: int
    finished: bool
    reopened: str | None

    def has_failed(self, now: int) -> bool:
        return not self.finished and self.until <= now

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values of a failed evaluation."""
        when = datetime.fromtimestamp(self.until // 1000, UTC).isoformat()
        return {"time": when, "key": self.key, "reopened": self.reopened}


@dataclass(frozen=True)
class DatasetStatus:
    """Whether a dataset is closed, and which of its evaluations failed."""

    name: str
    failures: tuple[Evaluation, ...]

    @property
    def is_closed(self) -> bool:
        return any(one.reopened is None for one in self.failures)

    @property
    def observations(self) -> int:
        """How often accounts may have seen one bit about the data that no epsilon covers."""
        return len(self.failures)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        failures = [one.to_json() for one in self.failures]
        return {"name": self.name, "closed": self.is_closed, "observations": self.observations, "failures": failures}

    def __str__(self) -> str:
        """Return one line, and one more for each failure that closed the dataset."""
        state = "closed" if self.is_closed else "open"
        lines = [f"{self.name}: {state}, possible one-bit observations: {self.observations}"]
        for one in map(Evaluation.to_json, self.failures):
            again = f", reopened {one['reopened']}" if one["reopened"] else ""
            lines.append(f"  {one['time']}: question {one['key'][:16]} was not finished{again}")
        return "\n".join(lines)


def begin_evaluation(run: Run, key: str, dataset: str, until: int) -> None:
    """Note that data will be read for a question; the database refuses to note it twice."""
    run("INSERT INTO evaluations VALUES (?, ?, ?, 0, NULL)", key, dataset, until)


def finish_evaluation(run: Run, key: str, *, finished: bool = True) -> None:
    """Note that the answer was stored in time, or with finished=False that it was not."""
    run("UPDATE evaluations SET finished = ? WHERE key = ?", int(finished), key)


def find_evaluation(run: Run, key: str) -> Evaluation | None:
    """Find the evaluation of a question; None if there was none."""
    rows = run(f"{EVERYTHING} WHERE key = ?", key)
    return _evaluation_from_row(*rows[0]) if rows else None


def list_failures(run: Run, dataset: str, now: int) -> tuple[Evaluation, ...]:
    """List the failed evaluations of a dataset, the first one first."""
    rows = run(f"{EVERYTHING} WHERE dataset = ? AND finished = 0 AND until <= ? ORDER BY until, key", dataset, now)
    return tuple(_evaluation_from_row(*row) for row in rows)


def check_open(run: Run, dataset: str, now: int) -> None:
    """Raise `DatasetClosed` if an evaluation of the dataset failed and its owner has not reopened it."""
    if run(
        "SELECT 1 FROM evaluations WHERE dataset = ? AND finished = 0 AND until <= ? AND reopened IS NULL LIMIT 1",
        *(dataset, now),
    ):
        raise DatasetClosed(dataset)


def check_not_failed(run: Run, evaluation: Evaluation | None, now: int) -> None:
    """Raise `EvaluationFailed` if the evaluation of a question failed, or `DatasetClosed` while its dataset is
    closed.
    """
    if evaluation is not None and evaluation.has_failed(now):
        check_open(run, evaluation.dataset, now)
        raise EvaluationFailed


def reopen_dataset(run: Run, dataset: str, now: int, time: str) -> None:
    """Reopen a dataset. Failed evaluations stay failed: they were charged, and data is not read for them again."""
    closing = [one for one in list_failures(run, dataset, now) if one.reopened is None]
    if not closing:
        raise ValueError(f"dataset must be closed to be reopened, got {dataset!r}, which is open")
    for one in closing:
        run("UPDATE evaluations SET reopened = ? WHERE key = ?", time, one.key)


def forget_uncharged(run: Run, charged: Callable[[str], bool]) -> None:
    """Delete evaluations that finished under charges which the ledger no longer has. charged: whether the ledger has a
    key.
    """
    for (key,) in run("SELECT key FROM evaluations WHERE finished = 1"):
        if not charged(key):
            run("DELETE FROM evaluations WHERE key = ?", key)


def _evaluation_from_row(key: str, dataset: str, until: int, finished: int, reopened: str | None) -> Evaluation:
    return Evaluation(key, dataset, until, bool(finished), reopened)
