"""What every measurement shares: repeat, keep all times, say what the result promises, hand the rows over as JSON.

Peers run in processes of their own (some libraries cannot share one), one after the other; only DuckDB shares ours.
"""

import json
import os
import platform
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
OURS = "inbounds"
POLARS, PGM = "OpenDP, Polars", "Private-PGM"
APART = {
    POLARS: HERE.parent / ".venv-opendp" / "bin" / "python",
    PGM: HERE.parent / ".venv-mbi" / "bin" / "python",
}
"""Peers that need other versions of libraries than we do: the interpreters of their own environments (Makefile)."""

EXACT = "exact integers, OS entropy"
SHORT, LONG = 3.0, 10.0
"""Seconds: a peer is run three times if one run is SHORT, twice if it is shorter than LONG, otherwise once."""
BRIEF = 0.1
"""Seconds of a run in a fork that is repeated."""

LIBRARIES = (
    *("inbounds", "numpy", "scipy", "highspy", "opendp", "diffprivlib", "cvxpy", "clarabel", "qif", "dp-accounting"),
    *(
        "duckdb",
        "ibis-framework",
        "pyarrow",
        "matplotlib",
        "pandas",
        "polars",
        "pyspark",
        "pure-ldp",
        "multi-freq-ldpy",
    ),
)
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")


@dataclass(frozen=True)
class Row:
    """One measurement.

    times: seconds of every run; of a run that was stopped, the time it was given.
    privacy: what the result promises; proved: whether that promise is proved, None where no privacy is at stake.
    outcome: "stopped", "no solution" or another end; nothing for a result.
    amount, per: what one run did, to show a rate ("value") or the time of one ("step").
    """

    task: str
    who: str
    times: list[float]
    privacy: str = ""
    proved: bool | None = None
    note: str = ""
    outcome: str = ""
    amount: float = 1.0
    per: str = ""

    @property
    def each(self) -> float:
        """Seconds of the best run, for one of what it did."""
        return min(self.times) / self.amount

    @property
    def spread(self) -> float:
        return max(self.times) / min(self.times)


def repeated(
    run: Callable[[], Any],
    who: str,
    *,
    limit: float = 0.0,
    before: Callable[[], object] = lambda: None,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[list[float], Any]:
    """(seconds of every run, the last result). `before` is not timed; a first run beyond `limit` ends the process."""
    times: list[float] = []
    result = None
    while _again(times, who):
        before()
        # The alarm's default action ends the process: nothing gentler interrupts a solver's compiled code.
        signal.setitimer(signal.ITIMER_REAL, 0.0 if times else limit)
        start = clock()
        result = run()
        times.append(clock() - start)
        signal.setitimer(signal.ITIMER_REAL, 0.0)
    return times, result


def _again(times: list[float], who: str) -> bool:
    if not times:
        return True
    least = 3 if who.startswith(OURS) or times[0] < SHORT else 2 if times[0] < LONG else 1
    return len(times) < least or (len(times) < 10 and sum(times) < 1.0)


def timed(task: str, who: str, run: Callable[[], Any], **facts: Any) -> Row:
    """A row of repeated runs; `facts` are the row's other fields."""
    return Row(task, who, repeated(run, who)[0], **facts)


def within(patience: float, run: Callable[[], Any]) -> dict[str, Any]:
    """{"seconds", "found"} in a fork of this warm process, or {"stopped"} after `patience` seconds of processor time.

    Of a run below BRIEF seconds the best of three: the first one copies the memory that it shares with its parent.
    """
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.setitimer(signal.ITIMER_PROF, patience)
        times: list[float] = []
        while not times or (len(times) < 3 and times[0] < BRIEF):
            start = time.process_time()
            found = run()
            times.append(time.process_time() - start)
        os.write(write, json.dumps({"seconds": min(times), "found": found}).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    found = json.loads(text) if text else {"stopped": patience}
    assert isinstance(found, dict)
    return found


def serve(sides: Mapping[str, Callable[..., list[Row]]]) -> None:
    """The end of every script: measure the side that the command line names; print its rows, or what is missing."""
    name, *words = sys.argv[1:]
    try:
        answer: dict[str, Any] = {"rows": [asdict(row) for row in sides[name](*words)]}
    except ImportError as error:
        if (error.name or "").startswith(OURS):
            raise  # our own mistake, not a library that is missing
        answer = {"missing": str(error)}
    print(json.dumps(answer))


def measured(script: str, words: Sequence[str], *, timeout: float = 1800) -> tuple[list[Row], str]:
    """(rows, why there are none) of bench/<script> <words>: who is measured, and for one task alone task and limit."""
    interpreter = APART.get(words[0], Path(sys.executable))
    if not interpreter.exists():
        return [], f"{words[0]}: {interpreter.parents[1].name} is not there"
    command = [str(interpreter), str(HERE / script), *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return [], f"{words[0]}: stopped after {timeout:.0f} s"
    if done.returncode < 0 and len(words) == 3:
        stopped = done.returncode == -signal.SIGALRM
        outcome = "stopped" if stopped else f"ended by signal {-done.returncode}"
        return [Row(words[1], words[0], [float(words[2])] if stopped else [], outcome=outcome)], ""
    if done.returncode:
        reason = f"{' '.join(words)}: {(done.stderr.strip().splitlines() or ['no message'])[-1]}"
        if words[0].startswith(OURS):
            raise RuntimeError(reason)  # a page without our own rows says nothing
        return [], reason
    answer = json.loads(done.stdout.splitlines()[-1])
    if "missing" in answer:
        return [], f"{words[0]}: {answer['missing']}"
    return [Row(**row) for row in answer["rows"]], ""


def one_thread() -> None:
    """Linear algebra on one thread, unless the caller chose otherwise: the same for every side."""
    for name in THREADS:
        os.environ.setdefault(name, "1")


def peak_memory() -> float:
    """Gigabytes, of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def machine() -> dict[str, str]:
    """Where and with what a part was measured."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "processor": f"{_processor()}, {os.cpu_count()} cores, {memory:.0f} GB of memory, {platform.system()}",
        "threads": ", ".join(f"{name}={os.environ.get(name, 'unset')}" for name in THREADS),
        "versions": ", ".join([f"Python {platform.python_version()}", *filter(None, map(_installed, LIBRARIES))]),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()


def _installed(name: str) -> str:
    if name == OURS:  # what runs, which an editable installation may be ahead of
        from inbounds import __version__

        return f"{name} {__version__}"
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return ""
