"""Plant every fault of faults.toml again, one at a time, and see that the tests named for it fail.

    python tests/faults/plant.py            every fault
    python tests/faults/plant.py sum chmod  those whose name holds one of these words

A fault is one expression of the package replaced by a wrong one. The file is found by the expression, so faults move
along when code moves; an expression that is not found exactly once is an error: carry the fault to where its line
went, or say why it is gone. Before anything is planted the named tests must pass.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).parents[2]
TESTS_FAILED = 1
"""pytest's exit code when tests ran and some failed; a crash or a missing test has another one."""


@dataclass(frozen=True)
class Fault:
    """What stands in the package, what is planted in its place, the tests that must fail, and what would break."""

    name: str
    old: str
    new: str
    caught_by: str
    breaks: str


@dataclass(frozen=True)
class Equivalent:
    """A fault that changes no result, and why."""

    name: str
    old: str
    new: str
    why: str


def listed() -> tuple[list[Fault], list[Equivalent]]:
    content = tomllib.loads((Path(__file__).with_name("faults.toml")).read_text("utf-8"))
    return [Fault(**entry) for entry in content["fault"]], [Equivalent(**entry) for entry in content["equivalent"]]


def texts_of(root: Path) -> dict[Path, str]:
    """Every file of the package, as it is now."""
    return {file: file.read_text("utf-8") for file in (root / "src").rglob("*.py")}


def place_of(fault: Fault | Equivalent, texts: dict[Path, str]) -> Path:
    """The one file of the package in which the fault's expression stands, once."""
    found = {file: text.count(fault.old) for file, text in texts.items()}
    if sum(found.values()) != 1:
        raise LookupError(
            f"fault {fault.name!r} must have its expression once in src, got {sum(found.values())} times: {fault.old!r}"
        )
    return next(file for file, times in found.items() if times)


@contextmanager
def copied() -> Iterator[Path]:
    """The package and its tests in a folder of their own."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name in ("src", "tests"):
            shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", root)
        yield root


def tested(root: Path, names: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """pytest on the copy, whose package comes before any installed one."""
    environment = {**os.environ, "PYTHONPATH": str(root / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "not slow", *names]
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=900)


def survives(fault: Fault, root: Path) -> str:
    """Why the fault is not caught; empty when it is."""
    file = place_of(fault, texts_of(root))
    whole = file.read_text("utf-8")
    file.write_text(whole.replace(fault.old, fault.new), "utf-8")
    try:
        done = tested(root, fault.caught_by.split())
    finally:
        file.write_text(whole, "utf-8")
    if done.returncode == TESTS_FAILED:
        return ""
    return f"{fault.name}: {fault.caught_by} ended with {done.returncode}; {fault.breaks}\n{done.stdout[-2000:]}"


def planted(words: Sequence[str] = ()) -> Iterator[tuple[str, str]]:
    """(name, why it survives) of the faults whose names hold one of the words; two at a time, each in its own copy."""
    faults, equivalents = listed()
    stated: tuple[Fault | Equivalent, ...] = (*faults, *equivalents)
    texts = texts_of(ROOT)
    for fault in stated:
        place_of(fault, texts)
    faults = [one for one in faults if not words or any(word in one.name for word in words)]
    with copied() as first, copied() as second:
        clean = tested(first, sorted({name for fault in faults for name in fault.caught_by.split()}))
        if clean.returncode:
            raise RuntimeError(f"the tests must pass before a fault is planted:\n{clean.stdout[-4000:]}")
        free: SimpleQueue[Path] = SimpleQueue()
        for root in (first, second):
            free.put(root)

        def attempt(fault: Fault) -> tuple[str, str]:
            root = free.get()
            try:
                return fault.name, survives(fault, root)
            finally:
                free.put(root)

        with ThreadPoolExecutor(2) as pool:
            yield from pool.map(attempt, faults)


def main(words: Sequence[str]) -> str:
    """Say of each fault whether it is caught; why the others survive."""
    left = []
    for name, reason in planted(words):
        sys.stdout.write(f"{'SURVIVES' if reason else 'caught'}  {name}\n")
        sys.stdout.flush()
        left += [reason] if reason else []
    return "\n".join(left)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) or 0)
