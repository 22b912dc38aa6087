"""A limited process that reads hostile files, one per line of its input, and answers with one line of JSON each.

Memory: the address space may grow by MEMORY over what the imported package has. Time: processor time, measured; past
PATIENCE seconds of it the system ends the process. Its parent starts another.
"""

import gc
import json
import resource
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas  # noqa: F401 - pyarrow imports it where it is installed; what is imported when needed counts as imported
import pyarrow.parquet  # noqa: F401

import inbounds as ib
from inbounds.accounting import chain
from inbounds.accounting import composition_record as attack_record
from inbounds.errors import PassportError
from inbounds.local.collector import Collector
from inbounds.plan.load import load_plan
from inbounds.releases.recompute import check_release
from inbounds.schema.errors import PlanError
from inbounds.trusted.limits import MOST_CELLS
from inbounds.verdict import verify

MEMORY = 50_000_000
PATIENCE = 2
LEAST = 0.2


def passport(path: Path) -> None:
    """As `inbounds verify --json` and `inbounds sample` do."""
    made = ib.load(path)
    verify(path).to_json()
    answers = made.query.labels or [made.query.answers[0], made.query.answers[-1]]
    if made.query.rounds and len(made.query.answers) > MOST_CELLS:
        return  # drawing writes out the edges of all cells
    with suppress(ib.TooLarge):  # a noise table whose floor is too heavy is refused before anything is drawn
        made.sample([answers[0], answers[-1]])


def quantile(path: Path) -> None:
    """As `inbounds verify --json` does, and a draw."""
    made = ib.load(path)
    verify(path).to_json()
    made.sample([made.query.values[0], None])


def collection(path: Path) -> None:
    Collector.load(path, ib.catalog.truncated_geometric(ib.count(3), 1))


def release(path: Path) -> None:
    check_release(path)


def waste(path: Path) -> None:
    """What no reader may do, so that a test can see that it would be noticed."""
    match path.read_text():
        case "seconds":
            end = time.process_time() + 2 * LEAST
            while time.process_time() < end:
                pass
        case "memory":
            bytearray(2 * MEMORY)
        case "for ever":
            while True:
                pass
        case "deep":
            raise RecursionError


READERS: dict[str, tuple[Callable[[Path], object], type[Exception]]] = {
    "waste": (waste, PassportError),
    "passport": (passport, PassportError),
    "quantile": (quantile, PassportError),
    "record": (attack_record.load_composition, PassportError),
    "chain": (chain.load_chain, PassportError),
    "release": (release, PassportError),
    "collection": (collection, PassportError),
    "plan": (load_plan, PlanError),
}


def answer(kind: str, path: Path) -> dict[str, Any]:
    reader, refusal = READERS[kind]
    found: dict[str, Any] = {"refused": False, "problem": ""}
    start = time.process_time()
    try:
        reader(path)
    except refusal as reason:
        found["refused"] = True
        if "\n" in str(reason) or not str(reason):
            found["problem"] = f"a refusal must be one sentence, got {str(reason)[:200]!r}"
    except Exception as wrong:
        found["problem"] = f"{type(wrong).__name__}: {str(wrong)[:200]}"
    found["seconds"] = time.process_time() - start
    return found


def address_space() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def main() -> None:
    gc.collect()
    gc.freeze()  # what is imported stays; collecting the rest is then quick
    for line in sys.stdin:
        kind, path = line.rstrip("\n").split("\t")
        gc.collect()
        resource.setrlimit(resource.RLIMIT_AS, (address_space() + MEMORY, resource.RLIM_INFINITY))
        signal.setitimer(signal.ITIMER_PROF, PATIENCE)
        found = answer(kind, Path(path))
        for _ in range(2):  # a slow one may only have met a busy machine
            if found["seconds"] > LEAST:
                found = min(found, answer(kind, Path(path)), key=lambda f: f["seconds"])
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
