"""One harness for all benchmarks: repeat, keep the best and the spread, put a ratio beside every time.

Each peer runs in a process of its own (some cannot share one), in the same run on the same machine.
"""

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE.parent / "docs" / "benchmarks"


@dataclass
class Row:
    """One measurement. `seconds` is the best of the repeats, `spread` the worst over the best."""

    task: str
    who: str
    seconds: float
    spread: float
    note: str = ""
    amount: float = 1.0  # values sampled, so that rates can be shown


def timed(task: str, who: str, run: Callable[[], object], repeats: int = 3, note: str = "", amount: float = 1.0) -> Row:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return Row(task, who, min(times), max(times) / min(times), note, amount)


def in_own_process(script: str, *arguments: str, timeout: float = 600) -> tuple[list[Row], str]:
    """Run bench/<script> and read its rows; a peer that is missing or too slow is named, not fatal."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(HERE / script), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment)
    except subprocess.TimeoutExpired:
        return [], f"{script} {' '.join(arguments)}: stopped after {timeout:.0f} s"
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return [], f"{script} {' '.join(arguments)}: skipped ({last})"
    return [Row(**row) for row in json.loads(done.stdout.splitlines()[-1])], ""


def emit(rows: list[Row]) -> None:
    """What a peer's script prints last: its rows as JSON."""
    print(json.dumps([asdict(row) for row in rows]))


def machine() -> str:
    names = ("inbounds", "numpy", "scipy", "highspy", "opendp", "diffprivlib", "cvxpy", "qif")
    found = []
    for name in names:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    chip = platform.processor() or platform.machine()
    return f"{chip}, {os.cpu_count()} cores, Python {platform.python_version()}; {', '.join(found)}"


def table(title: str, rows: list[Row], unit: str = "s") -> str:
    """A Markdown table per task; the ratio is to our own row of the same task (how many times slower)."""
    lines = [f"### {title}", "", f"| task | who | {unit} | times ours | spread | |", "|---|---|---:|---:|---:|---|"]
    ours = {row.task: row.seconds / row.amount for row in rows if row.who == "inbounds"}
    for row in rows:
        own = row.seconds / row.amount
        shown = f"{row.amount / row.seconds / 1e6:.3g}" if unit != "s" else f"{row.seconds:.3g}"
        ratio = f"{own / ours[row.task]:.3g}" if row.task in ours else ""
        lines.append(f"| {row.task} | {row.who} | {shown} | {ratio} | {row.spread:.2f} | {row.note} |")
    return "\n".join(lines) + "\n"
