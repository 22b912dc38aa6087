"""Worker processes: limits of time and memory, progress, and what a failure may say."""

from pathlib import Path

import pytest

from inbounds import workers
from inbounds.workers import UNKNOWN, CallFailure, WorkerEnded, WorkerNotStarted, WorkerPool, WorkerProcess
from worker_calls import add, fill_memory, quote_a_record, refuse, sleep


@pytest.fixture
def pool():
    made = WorkerPool(processes=1, seconds=30, most_bytes=4 << 30)
    yield made
    made.close()


def test_a_call_returns_its_result_and_its_process_is_used_again(pool):
    assert pool.run(add, 1, 2) == (3, None)
    assert pool.run(add, 3, 4) == (7, None)
    assert pool.idle == 1


def test_progress_reaches_the_caller(pool):
    worker, seen = pool.take(), []
    assert worker.call(add, (1, 2), progress=lambda *now: seen.append(now)) == (3, None)
    assert seen == [("adding", 1, 2)]


def test_a_call_that_takes_too_long_ends_with_its_process(pool):
    pool.seconds = 0.2
    with pytest.raises(WorkerEnded):
        pool.run(sleep)
    assert pool.idle == 0
    pool.seconds = 30
    assert pool.run(add, 1, 2) == (3, None)


def test_a_call_that_needs_too_much_memory_fails_and_the_process_goes_on(pool):
    assert pool.run(fill_memory) == (None, CallFailure(UNKNOWN))
    assert pool.run(add, 1, 2) == (3, None)


def test_a_failure_says_its_sentence_only_if_it_cannot_quote_data(pool):
    assert pool.run(refuse) == (None, CallFailure("this cannot be designed"))
    assert pool.run(quote_a_record) == (None, CallFailure(UNKNOWN))


def test_a_missing_file_is_named_without_its_folder():
    failure = workers.describe_failure(FileNotFoundError(2, "No such file or directory", str(Path("/home/ana/x.csv"))))
    assert failure.sentence == "No such file or directory: x.csv"


def test_a_cancelled_call_takes_no_process(pool):
    pool.take()
    assert pool.take(is_cancelled=lambda: True) is None


def test_starting_a_process_is_not_the_calls_time():
    waited = []

    class Pipe:
        """Ready after a while, and then at once done."""

        def poll(self, seconds):
            waited.append(seconds)
            return True

        def recv(self):
            return ("ready", None) if len(waited) == 1 else ("done", (5, None))

        def send(self, call): ...

    worker = object.__new__(WorkerProcess)
    worker._pipe, worker._ready = Pipe(), False
    assert worker.call(add, (2, 3), 0.5) == (5, None)
    assert worker.call(add, (2, 3), 0.25) == (5, None)
    assert waited[0] == workers.START_SECONDS
    assert all(0 < seconds <= most for seconds, most in zip(waited[1:], (0.5, 0.25), strict=True))


def test_a_process_that_does_not_start_is_told_apart(monkeypatch):
    monkeypatch.setattr(workers, "_run_worker", len)  # ends at once
    pool = WorkerPool(processes=1)
    with pytest.raises(WorkerNotStarted):
        pool.run(add, 1, 2)
