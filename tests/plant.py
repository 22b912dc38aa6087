"""Plant every known fault again, one at a time, and see that the tests named for it fail.

    python tests/plant.py            every fault
    python tests/plant.py sum chmod  those whose name holds one of these words

A fault is one expression of the package replaced by a wrong one. The file is found by the expression, so faults move
along when code moves; an expression that is not found exactly once is an error: carry the fault to where its line
went, or say why it is gone. Before anything is planted the named tests must pass.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Fault:
    """What stands in the package, what is planted in its place, the tests that must fail, and what would break."""

    name: str
    old: str
    new: str
    caught_by: str
    breaks: str


TABLES = "tests/release/test_release_every_small_table.py"

FAULTS = [
    # --- privacy of released tables
    Fault(
        "reach of a sum: width of the column",
        "Reach(max(abs(grid.low), abs(grid.high)))",
        "Reach(grid.high - grid.low)",
        TABLES,
        "a record of a column 5..10 moves the sum by 10, twice what its epsilon pays for",
    ),
    Fault(
        "reach of a sum: upper bound or width",
        "Reach(max(abs(grid.low), abs(grid.high)))",
        "Reach(max(grid.high - grid.low, grid.high))",
        TABLES,
        "a negative column moves the sum by |low|",
    ),
    Fault(
        "grid of a sum: step alone",
        "unit = Fraction(math.gcd(int(column.low * common), int(column.step * common)), common)",
        "unit = column.step",
        TABLES,
        "where low is no multiple of step, the reach is rounded down",
    ),
    Fault(
        "upper clamp of public sums",
        "column.default, 0, sizes * column.width)",
        "column.default, 0, 1 << 62)",
        TABLES,
        "more records than declared leave the range of the mechanism",
    ),
    Fault(
        "clamp of histogram cells",
        "return list(np.minimum(cells, sizes))",
        "return list(cells)",
        TABLES,
        "more records than declared leave the range of the mechanism",
    ),
    Fault(
        "halving where records change groups",
        'return spent / 2, "half, because a changed record may leave one group',
        'return spent, "half, because a changed record may leave one group',
        TABLES,
        "a changed record touches two groups: twice the epsilon",
    ),
    Fault(
        "halving of histograms",
        'return spent / 2, "half, because a changed record leaves one cell',
        'return spent, "half, because a changed record leaves one cell',
        TABLES,
        "a changed record touches two cells: twice the epsilon",
    ),
    # --- results of released tables
    Fault(
        "least sum by records",
        "np.minimum(0, sizes * grid.low)",
        "np.minimum(0, rows * grid.low)",
        TABLES,
        "wrong sums",
    ),
    Fault(
        "mean rounded down",
        "nearest = (2 * own + rows) // np.maximum(2 * rows, 1)",
        "nearest = own // np.maximum(rows, 1)",
        TABLES,
        "means are half a step too low",
    ),
    Fault(
        "steps rounded down",
        "(steps + 0.5).floor()",
        "steps.floor()",
        TABLES,
        "values are half a step too low",
    ),
]


def chosen(words: Sequence[str]) -> list[Fault]:
    return [fault for fault in FAULTS if not words or any(word in fault.name for word in words)]


def place_of(fault: Fault, root: Path) -> Path:
    """The one file of the package in which the fault's expression stands, once."""
    found = {file: file.read_text("utf-8").count(fault.old) for file in (root / "src").rglob("*.py")}
    places = [file for file, times in found.items() if times]
    if sum(found.values()) != 1:
        raise LookupError(
            f"fault {fault.name!r} must have its expression once in src, got {sum(found.values())} times: {fault.old!r}"
        )
    return places[0]


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
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=600)


def survives(fault: Fault, root: Path) -> str:
    """Why the fault is not caught; empty when it is."""
    file = place_of(fault, root)
    whole = file.read_text("utf-8")
    file.write_text(whole.replace(fault.old, fault.new), "utf-8")
    try:
        done = tested(root, fault.caught_by.split())
    finally:
        file.write_text(whole, "utf-8")
    if done.returncode == 1:
        return ""
    return f"{fault.name}: {fault.caught_by} ended with {done.returncode}; {fault.breaks}\n{done.stdout[-2000:]}"


def main(words: Sequence[str]) -> list[str]:
    """Plant the chosen faults; those that survive."""
    with copied() as root:
        faults = chosen(words)
        for fault in faults:
            place_of(fault, root)
        clean = tested(root, sorted({name for fault in faults for name in fault.caught_by.split()}))
        if clean.returncode:
            raise RuntimeError(f"the tests must pass before a fault is planted:\n{clean.stdout[-4000:]}")
        left = []
        for fault in faults:
            reason = survives(fault, root)
            sys.stdout.write(f"{'SURVIVES' if reason else 'caught'}  {fault.name}\n")
            sys.stdout.flush()
            left += [reason] if reason else []
        return left


if __name__ == "__main__":
    sys.exit("\n".join(main(sys.argv[1:])) or 0)
