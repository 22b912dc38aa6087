"""Storms over ledger, release, connections, curator and its load, for a bounded time, and figures of what they met.

    make storm                              five minutes, seed of the day's choosing
    python tests/storms/storm.py --seconds 60 --seed 7

Everything happens on this machine, in a folder of its own. Each storm breaks something at random, asks again, and is
judged: by the ledger's own verification, by the history of what all clients saw, by the digests of what was written.
The same seed breaks the same things in the same order; how far a storm gets in its time differs. It exits with 1 if
anything was overspent, lost, answered twice or left half written.
"""

import argparse
import importlib
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import inbounds as ib
from curator.clocks import SkippedTime
from curator.pupils import account, declared, question, write_pupils
from inbounds.curator import Curator, DatasetClosed, EvaluationFailed, parse_settings
from inbounds.curator.curator import OWNER
from inbounds.curator.errors import CuratorUnavailable
from inbounds.errors import LedgerError
from inbounds.ledger import Ledger
from storms.histories import Recorder, judge
from storms.load import storm_load
from storms.servers import PostgresServer
from storms.wire import Wire

CLIENTS = 3
BUDGET = "0.000006"
"""Less than what all questions cost, of a few hundred units of 10^-9 each: some are refused."""

Storm = Callable[[Path, random.Random, float], Counter[str]]

CHARGES = """
import random, sys
sys.path.insert(0, sys.argv[1])
from storms.histories import Operation, Recorder
from inbounds.ledger import Ledger
from contextlib import nullcontext
recorder, choose = Recorder(), random.Random(sys.argv[3])
with Ledger.open(sys.argv[2], create=False) as ledger:
    while True:
        k = choose.randrange(60)
        recorder.ask(lambda: nullcontext(ledger), "p", 100 + k, f"k{k}", choose.randbytes(20))
        for one in recorder.operations:
            print(repr(one), flush=True)
        recorder.operations.clear()
"""
"""A client that prints what it saw, until it is killed; keys are asked again and again, by all clients."""


def storm_ledger(folder: Path, choose: random.Random, seconds: float) -> Counter[str]:
    """Kill processes that charge one ledger in a file, at random moments."""
    place, figures = folder / "l.db", Counter[str]()
    with Ledger.open(place) as ledger:
        ledger.add_population("p", BUDGET)
    outputs = list[Path]()

    def start() -> "subprocess.Popen[bytes]":
        outputs.append(folder / f"seen {len(outputs)}")
        command = [sys.executable, "-c", CHARGES, str(Path(__file__).parents[1]), str(place), f"{choose.random()}"]
        with outputs[-1].open("wb") as output:
            return subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL)

    running, end = [start() for _ in range(CLIENTS)], time.monotonic() + seconds
    seen = outputs[:]
    while time.monotonic() < end:
        victim, pause = choose.randrange(CLIENTS), choose.uniform(0, 2.0)
        while not seen[victim].stat().st_size and time.monotonic() < end:
            time.sleep(0.01)  # until it is at work, however long the machine takes to start it
        time.sleep(pause)
        running[victim].send_signal(signal.SIGKILL)
        running[victim].wait()
        figures["processes killed"] += 1
        running[victim], seen[victim] = start(), outputs[-1]
    for process in running:
        process.kill()
        process.wait()
    recorders = [_recorder_of(output) for output in outputs]
    shutil.copyfile(place, folder / "alone.db")
    try:
        with Ledger.open(folder / "alone.db") as alone:
            judge(recorders, alone, "p")
        figures["copies of the file alone that know all"] = 1
    except LedgerError:  # a process was killed while it copied its log
        figures["copies of the file alone that say they are torn"] = 1
    with Ledger.open(place) as ledger:
        figures["operations acknowledged"] = len(judge(recorders, ledger, "p"))
        figures["charges"] = ledger.verify().charges
    assert figures["charges"], "nothing was charged before the time was over"
    return figures


def _recorder_of(output: Path) -> Recorder:
    """Read what a client printed; its last line may be cut off."""
    from storms.histories import Operation

    recorder = Recorder()
    for line in output.read_text("utf-8").splitlines():
        with suppress(SyntaxError):
            recorder.operations.append(eval(line, {"Operation": Operation}))
    return recorder


def storm_connections(folder: Path, choose: random.Random, seconds: float) -> Counter[str]:
    """Cut wires to a PostgreSQL server after random messages, end sessions, and stop the server."""
    figures = Counter[str]()
    with started_server() as server:
        if server is None:
            return Counter({"skipped, PostgreSQL is not installed": 1})
        url = server.make_database("storm")
        with Ledger.open(url) as ledger:
            ledger.add_population("p", BUDGET)
        recorders, over = [Recorder() for _ in range(CLIENTS)], threading.Event()
        clients = [
            threading.Thread(target=_ask_over_wire, args=(url, recorder, random.Random(choose.random()), over))
            for recorder in recorders
        ]
        for client in clients:
            client.start()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(choose.uniform(1, 3))
            if choose.random() < 0.2:
                server.stop_at_once()
                server.start()
                figures["immediate stops"] += 1
            else:
                figures["sessions ended"] += server.end_sessions()
        over.set()
        for client in clients:
            client.join()
        with Ledger.open(url) as ledger:
            operations = judge(recorders, ledger, "p")
            figures["charges"] = ledger.verify().charges
        figures["operations acknowledged"] = sum(one.outcome != "unknown" for one in operations)
        figures["operations without an outcome"] = sum(
            one.outcome == "unknown" and one.answer is None for one in operations
        )
    return figures


def _ask_over_wire(url: str, recorder: Recorder, choose: random.Random, over: threading.Event) -> None:
    with Wire(url) as wire:
        ledger: Ledger | None = None
        while not over.is_set():
            wire.cut_after(choose.randrange(200))
            try:
                ledger = ledger or Ledger.open(wire.url, create=False)
            except LedgerError:
                time.sleep(0.05)
                continue
            k = choose.randrange(60)
            open_ledger = partial[AbstractContextManager[Ledger]](nullcontext, ledger)
            recorder.ask(open_ledger, "p", 100 + k, f"k{k}", choose.randbytes(20))
        if ledger is not None:
            ledger.close()


@contextmanager
def started_server() -> Iterator[PostgresServer | None]:
    """Start a server of our own where PostgreSQL is installed."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not programs:
        yield None
        return
    home = Path(tempfile.mkdtemp())  # the server has a user of its own, to whom our folder is closed
    server = PostgresServer(programs[-1], home)
    try:
        yield server
    finally:
        server.stop_at_once()
        shutil.rmtree(home)


FILE_CALLS = ("open", "fsync", "replace", "unlink")
"""The calls to the system that a release is killed at."""

MOST_CALLS = 50
"""At which call a release is killed at the latest; it makes about half as many, so that every other one is written."""


def storm_releases(folder: Path, choose: random.Random, seconds: float) -> Counter[str]:
    """Kill a release at a random call that opens, syncs, renames or removes a file, until it is written; verify it."""
    tests = importlib.import_module("ledger.test_ledger_release_dies")
    figures, end, own = Counter[str](), time.monotonic() + seconds, folder / "work"
    while time.monotonic() < end:
        own.mkdir()
        plan, killed = tests.PLANS[choose.choice(["alone", "adding up"])], True
        while killed:
            killed = _release_and_die(own, plan, tests.FRAME, choose.randrange(1, MOST_CALLS))
            figures["releases killed"] += killed
        assert _run_in_child(partial(_verify_release, own)) == 0, "what was written does not verify"
        figures["releases written and verified"] += 1
        shutil.rmtree(own)
    return figures


def _release_and_die(folder: Path, plan: Any, frame: Any, last: int) -> bool:
    """Release in a child process that is gone at its last call; return whether it was."""

    def release() -> None:
        os.chdir(folder)
        os.environ["XDG_CACHE_HOME"] = str(folder.parent / "cache")
        left = itertools.count(last - 1, -1)
        for name in FILE_CALLS:
            setattr(os, name, _dying(getattr(os, name), left))
        ib.release(plan, frame, output="out.csv", read_again=True)

    status = _run_in_child(release)
    assert status in (0, KILLED), "a release that was killed before could not be finished"
    return status == KILLED


def _verify_release(folder: Path) -> None:
    verdict = ib.verify(folder / "out.csv.release.json")
    assert verdict.is_valid, verdict.reason
    with Ledger.open(folder / "inbounds.ledger") as ledger:
        report = ledger.verify()
    assert (report.charges, report.answers, report.people[0].spent) == (1, 1, Fraction(1, 2)), report


def _run_in_child(act: Callable[[], None]) -> int:
    """Run something in a fork of this process, which itself starts no threads; return its exit status."""
    child = os.fork()
    if not child:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                act()
            os._exit(0)
        except BaseException as wrong:
            sys.stderr.write(f"{wrong!r}\n")
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


KILLED = 9


def _dying(own: Callable[..., Any], left: Iterator[int]) -> Callable[..., Any]:
    def call(*given: Any, **more: Any) -> Any:
        if next(left) == 0:
            os._exit(KILLED)
        return own(*given, **more)

    return call


def storm_curator(folder: Path, choose: random.Random, seconds: float) -> Counter[str]:
    """Cut the wires of a curator on PostgreSQL while it is asked; every key gets one answer, or fails for good."""
    figures = Counter[str]()
    with started_server() as server:
        if server is None:
            return Counter({"skipped, PostgreSQL is not installed": 1})
        write_pupils(folder / "pupils.parquet")
        url = server.make_database("storm")
        settings = declared(folder, budget={"epsilon": 100_000}, answer_seconds=20)
        with Wire(url) as wire:
            settings |= {"ledger": wire.url, "database": wire.url}
            with Curator(parse_settings(settings, folder), time=SkippedTime()) as curator:
                accounts = [account(curator, f"account {k}") for k in range(CLIENTS)]
                tables, end = dict[int, str](), time.monotonic() + seconds
                while time.monotonic() < end:
                    k = choose.randrange(1000)
                    wire.cut_after(choose.randrange(300))
                    _ask_curator(curator, choose.choice(accounts), k, tables, figures)
                wire.cut_after(0)
                (status,) = curator.statuses(OWNER)
                figures["connections opened again"] = curator.reopened
                figures["evaluations that failed"] = status.observations
        with Ledger.open(url) as ledger:
            report = ledger.verify()
        assert report.people[0].spent == report.charges * Fraction(1, 2)
        assert report.charges - report.answers <= figures["evaluations that failed"]
        assert len(tables) <= report.charges
        figures["questions answered"] = len(tables)
    return figures


def _ask_curator(curator: Curator, own: object, k: int, tables: dict[int, str], figures: Counter[str]) -> None:
    for _ in range(6):
        try:
            table = json.dumps(curator.ask(own, "pupils", question(k), key=f"{k}").table)  # type: ignore[arg-type]
        except EvaluationFailed:
            return
        except DatasetClosed:
            with suppress(LedgerError):
                curator.reopen(OWNER, "pupils")
        except (CuratorUnavailable, LedgerError):
            figures["requests without an outcome"] += 1
        else:
            assert tables.setdefault(k, table) == table, "two answers to one question"
            figures["requests answered"] += 1
            return


STORMS: dict[str, Storm] = {
    "ledger": storm_ledger,
    "releases": storm_releases,
    "connections": storm_connections,
    "curator": storm_curator,
    "load": storm_load,
}


def main() -> int:
    """Run the storms one after the other and print their figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", choices=[[], *STORMS], help="which storms; all by default")
    parser.add_argument("--seconds", type=float, default=300.0, help="for all of them together")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**9)
    given = parser.parse_args()
    names, failed = given.names or list(STORMS), 0
    print(f"seed {given.seed}")
    for name in names:
        folder, began = Path(tempfile.mkdtemp(prefix="storm-")), time.monotonic()
        try:
            figures = STORMS[name](folder, random.Random(f"{given.seed} {name}"), given.seconds / len(names))
        except AssertionError as wrong:
            failed += 1
            print(f"{name}: WRONG, see {folder}: {wrong}")
            continue
        texts = ", ".join(f"{count:,} {what}" for what, count in figures.items())
        print(f"{name}: {texts}; nothing overspent, lost or answered twice, in {time.monotonic() - began:.0f} seconds")
        shutil.rmtree(folder, ignore_errors=True)
    return bool(failed)


if __name__ == "__main__":
    import logging

    logging.disable(logging.WARNING)  # connections are lost all the time
    raise SystemExit(main())
