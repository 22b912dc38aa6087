"""Mutation testing of the whole package, within a budget of time: each room's tests must find the faults of that room.

    make nightly                                    an hour, another sample every night
    python tests/faults/nightly.py --minutes 10 --seed 7 exact ledger

Faults are those of `mutants.py`, inside functions, drawn at random from all modules of a room; every room gets the same
share of what is left of the time. Survivors are written to a report: a fault that no test of its room finds is a hole
in these tests, or changes nothing; then it belongs to EQUIVALENT there, with the reason.
"""

import argparse
import ast
import importlib
import json
import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

mutants: Any = importlib.import_module("mutants")

PACKAGE = mutants.SOURCE / "inbounds"


@dataclass(frozen=True)
class RoomReport:
    """What was planted in a room. survivors: each with module and line. problem: why nothing could be planted."""

    room: str
    planted: int
    survivors: tuple[str, ...]
    problem: str = ""

    def __str__(self) -> str:
        if self.problem:
            return f"## {self.room}\n\n{self.problem}\n"
        lines = [f"## {self.room}: {self.planted - len(self.survivors)} of {self.planted} found", ""]
        return "\n".join([*lines, *(f"- {one}" for one in self.survivors), ""])


def rooms() -> dict[str, tuple[list[str], list[str]]]:
    """Return for each room its modules and the paths of its own tests."""
    found: dict[str, tuple[list[str], list[str]]] = {}
    for path in sorted(PACKAGE.iterdir()):
        name = path.stem
        if name.startswith("_") or name == "data" or (path.is_file() and path.suffix != ".py"):
            continue
        files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
        modules = [".".join(file.relative_to(mutants.SOURCE).with_suffix("").parts) for file in files]
        tests = [f"tests/{name}", f"tests/test_{name}.py"]
        own = [place for place in tests if (mutants.ROOT / place).exists()]
        found[name] = [module for module in modules if not module.endswith("__init__")], own
    return found


def draw_faults(modules: list[str], choose: random.Random) -> Iterator[tuple[str, str, ast.Module]]:
    """Yield faults inside functions of random modules of a room, in random order: module, fault and changed module."""
    places = [
        (module, k, what)
        for module in modules
        for k, (_, what, _) in enumerate(mutants.places(mutants._tree(module)))
        if mutants._key(module, what) not in mutants.EQUIVALENT
    ]
    choose.shuffle(places)
    for module, k, what in places:
        tree = mutants._tree(module)
        place, _, change = list(mutants.places(tree))[k]
        change(next(node for i, node in enumerate(ast.walk(tree)) if i == place))
        changed = ast.fix_missing_locations(mutants._without_refusals(tree))
        if mutants.planted(module, changed):
            yield module, what, changed


class Night(mutants.Planting):  # type: ignore[misc]
    """Plants faults of several modules until the time is over; writes what came of each to a pipe."""

    def __init__(self, drawn: Iterator[tuple[str, str, ast.Module]], end: float, sink: int) -> None:
        super().__init__("", [])
        self.drawn, self.end, self.sink = drawn, end, sink

    def pytest_runtestloop(self, session: Any) -> bool:
        seconds = self.seconds_of(session.items)
        items = sorted(session.items, key=lambda item: seconds[item.nodeid].clock)
        for module, what, tree in self.drawn:
            if time.monotonic() > self.end:
                break
            self.module = module
            killer = self.killer(items, seconds, mutants.planted(module, tree))
            if killer is not None and seconds[items[killer].nodeid].clock < mutants.QUICK:
                items.insert(0, items.pop(killer))
            survivor = "" if killer is not None else f"{module}, line {what}"
            os.write(self.sink, json.dumps(survivor).encode() + b"\n")
        return True


def plant_room(room: str, modules: list[str], tests: list[str], choose: random.Random, seconds: float) -> RoomReport:
    """Plant faults of a room for so many seconds, its sound tests included; in a child of this process."""
    if not tests:
        return RoomReport(room, 0, (), "It has no tests of its own.")
    source, sink = os.pipe()
    end = time.monotonic() + seconds
    child = os.fork()
    if not child:
        os.close(source)
        os.setpgrp()
        os._exit(mutants._tested(tests, Night(draw_faults(modules, choose), end, sink)))
    os.close(sink)
    with os.fdopen(source, "rb") as file:
        results = [json.loads(line) for line in file.read().splitlines()]
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status and not results:
        return RoomReport(room, 0, (), f"Its tests do not run without a fault (status {status}).")
    if not results:
        return RoomReport(room, 0, (), "Its time was over before a fault was planted; give it more.")
    return RoomReport(room, len(results), tuple(one for one in results if one))


def main() -> int:
    """Plant faults in all rooms, or in those given, and write the report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("rooms", nargs="*", help="by default all, in random order")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=int(time.time()) // 86_400, help="by default that of the day")
    parser.add_argument("--report", type=Path, default=Path("nightly.md"))
    given = parser.parse_args()
    import flint  # noqa: F401 - imported once, for all children
    import numpy  # noqa: F401

    os.chdir(mutants.ROOT)
    choose, every = random.Random(given.seed), rooms()
    names = given.rooms or choose.sample(list(every), len(every))
    end = time.monotonic() + 60 * given.minutes
    reports = list[RoomReport]()
    for k, name in enumerate(names):
        share = (end - time.monotonic()) / (len(names) - k)
        reports.append(plant_room(name, *every[name], choose, share))
        mutants._say(str(reports[-1]))
        planted, survived = sum(one.planted for one in reports), sum(len(one.survivors) for one in reports)
        head = f"# Faults of seed {given.seed}: {planted - survived} of {planted} found\n\n"
        given.report.write_text(head + "\n".join(map(str, reports)), "utf-8")
    return int(any(one.survivors for one in reports))


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    raise SystemExit(main())
