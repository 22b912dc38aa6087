"""Files from strangers: none costs more than 0.2 s and 50 MB, and each is read or refused in one sentence.

One limited process reads them; what it cannot survive is found here, and it is started again.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hostile.files import Hostile, heavy_quantiles, hostile_files

SECONDS = 0.2


class Worker:
    """A limited process that reads files; a new one when the last has died."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.process = folder, None

    def read(self, file: Hostile) -> dict[str, object]:
        for name, content in {**file.beside, file.name: file.content}.items():
            (self.folder / name).write_bytes(content)
        if self.process is None:
            self.process = self._start()
        self.process.stdin.write(f"{file.kind}\t{self.folder / file.name}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)
        return {"refused": False, "seconds": 0.0, "problem": f"the process died: {self.end()}"}

    def _start(self) -> subprocess.Popen:
        return subprocess.Popen(
            [sys.executable, str(Path(__file__).parents[1] / "hostile" / "worker.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "MALLOC_ARENA_MAX": "1", "OPENBLAS_NUM_THREADS": "1"},
        )

    def end(self) -> int | None:
        """Close the process's input, so that it ends; its exit code."""
        if self.process is None:
            return None
        process, self.process = self.process, None
        process.communicate()
        return process.returncode


@pytest.fixture(scope="module")
def worker(tmp_path_factory):
    found = Worker(tmp_path_factory.mktemp("read"))
    yield found
    found.end()


def survey(worker, number, seed, folder):
    """What went wrong, and how many of each kind were read and refused."""
    wrong, count = [], {}
    for file in hostile_files(number, seed, folder):
        found = worker.read(file)
        count[file.kind, found["refused"]] = count.get((file.kind, found["refused"]), 0) + 1
        if found["problem"] or found["seconds"] > SECONDS:
            wrong.append((file.kind, found, file.content[:3000]))
    return wrong, count


@pytest.mark.long
def test_hundreds_of_hostile_files_are_read_or_refused_within_the_limits(worker, tmp_path):
    wrong, count = survey(worker, 400, 1, tmp_path)
    assert not wrong, wrong[:3]
    assert count["passport", False] > 0  # some lies are harmless
    assert count["passport", True] > 50
    assert count["plan", True] > 50
    assert count["quantile", False] > 0
    assert count["quantile", True] > 10


@pytest.mark.long
def test_checking_a_quantile_costs_no_more_than_its_file_is_long(worker):
    """Long tables that say much about the depth, and central records of long windows and many values."""
    read = [(worker.read(file), len(file.content)) for file in heavy_quantiles()]
    assert not [found for found, size in read if found["problem"] or found["seconds"] > SECONDS * max(1, size / 1e5)]
    assert sum(not found["refused"] for found, _ in read) >= 5


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 7))
def test_ten_thousand_hostile_files_are_read_or_refused_within_the_limits(worker, tmp_path, seed):
    wrong, _ = survey(worker, 2400, seed, tmp_path)
    assert not wrong, wrong[:3]


@pytest.mark.long
def test_the_limits_are_noticed(worker):
    """A twin that must fail: a reader of files that waits, or asks for memory, is found out."""
    slow = Hostile("waste", "file.json", b"seconds", {})
    assert worker.read(slow)["seconds"] > SECONDS
    assert "MemoryError" in worker.read(slow._replace(content=b"memory"))["problem"]
    assert "RecursionError" in worker.read(slow._replace(content=b"deep"))["problem"]
    assert "died" in worker.read(slow._replace(content=b"for ever"))["problem"]
