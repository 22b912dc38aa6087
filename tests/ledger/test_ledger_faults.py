"""Faults of the system around the ledger: every system call killed or failed in turn, and many processes at once.

Each run is a process of its own that charges, draws a random answer, stores it, and only then prints its receipt.
Whatever happens to it: the ledger verifies, every receipt is in it, the same key again gives the same answer, and what
is spent is never more than the budget.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest

from inbounds.errors import BudgetExceeded
from inbounds.ledger import Ledger

EACH = Fraction(1, 10)

ONE_QUESTION = """
import secrets, sys
from inbounds.ledger import Ledger
with Ledger.open(sys.argv[1]) as ledger:
    ledger.add_population("p", 2)
    answer = ledger.stored_answers("p", "0.1", lambda charge: secrets.token_bytes(6000), key=sys.argv[2])
    print(answer.content.hex(), flush=True)
"""

CALLS_THAT_WRITE = ("pwrite64", "fdatasync", "fsync", "ftruncate", "unlink", "openat")
DECISIVE = ("pwrite64", "fdatasync", "openat")
"""What the quick test breaks: the calls that a charge cannot do without."""
FAULTS = ("signal=KILL", "error=EIO", "error=ENOSPC")


def faults_of(name: str) -> tuple[str, ...]:
    """A disk that is full is told to those who write."""
    return FAULTS if name in CALLS_THAT_WRITE else FAULTS[:2]


@pytest.fixture
def strace() -> str:
    found = shutil.which("strace")
    if found is None:
        pytest.skip("strace is not installed (Debian package strace)")
    return found


def ask(script: Path, place: Path, key: str, tracer: list[str] | None = None) -> "subprocess.CompletedProcess[str]":
    command = [*(tracer or []), sys.executable, str(script), str(place), key]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def traced(strace: str, place: Path, *words: str) -> list[str]:
    """strace that only looks at the ledger's own files."""
    paths = [place, *(place.with_name(place.name + end) for end in ("-wal", "-shm", "-journal"))]
    return [strace, "-f", *(word for path in paths for word in ("-P", str(path))), *words]


def calls_of(strace: str, script: Path, place: Path) -> Counter[str]:
    """How often one question makes which system call about the ledger's files."""
    trace = place.with_name("trace")
    assert ask(script, place, "counted", traced(strace, place, "-o", str(trace))).returncode == 0
    names = [line.split()[1].partition("(")[0] for line in trace.read_text().splitlines() if "(" in line.split()[1]]
    return Counter(names)


def check_after(place: Path, key: str, receipt: str) -> None:
    with Ledger.open(place) as ledger:
        before = ledger.verify()
        there = ledger.find(key)
        if receipt:
            assert there is not None
            assert there.answer == bytes.fromhex(receipt)
        ledger.add_population("p", 2)
        again = ledger.stored_answers("p", EACH, lambda charge: b"drawn again", key=key)
        assert again.content == ((there and there.answer) or b"drawn again")
        after = ledger.verify()
        assert after.charges - before.charges == (there is None)
        assert after.people[0].spent == after.charges * EACH


def broken_by(strace: str, script: Path, start: Path, name: str, fault: str, nth: int) -> bool:
    """One question with one fault, from the start given, and what is true after it; whether the question felt it."""
    place = script.with_name(f"{name} {fault} {nth}") / start.name
    shutil.copytree(start.parent, place.parent)
    trace = place.with_name("trace")
    words = ("-o", str(trace), "-e", f"trace={name}", "-e", f"inject={name}:{fault}:when={nth}")
    broken = ask(script, place, "asked", traced(strace, place, *words))
    assert any(sign in trace.read_text() for sign in ("INJECTED", "killed by SIGKILL")), (name, fault, nth)
    check_after(place, "asked", broken.stdout.strip())
    shutil.rmtree(place.parent)
    return broken.returncode != 0


def sweep(strace: str, folder: Path, fresh: bool, chosen) -> int:
    """One fault in each chosen call, from the same start; returns how many there were."""
    script, start = folder / "one_question.py", folder / "start" / "l.db"
    script.write_text(ONE_QUESTION)
    start.parent.mkdir()
    if not fresh:
        assert ask(script, start, "first").returncode == 0
    counting = folder / "counting"
    shutil.copytree(start.parent, counting)
    counts = calls_of(strace, script, counting / "l.db")
    all_faults = [
        (name, fault, nth) for name in sorted(counts) for fault in faults_of(name) for nth in chosen(name, counts[name])
    ]
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        felt = list(threads.map(lambda each: broken_by(strace, script, start, *each), all_faults))
    assert sum(felt) > len(felt) / 4
    return len(felt)


@pytest.mark.long
def test_a_system_call_that_is_killed_or_fails_costs_no_charge_and_no_answer(strace, memory):
    assert sweep(strace, memory, False, lambda name, n: [(n + 1) // 2] if name in DECISIVE else []) == 9


@pytest.mark.long
def test_a_ledger_whose_first_sync_fails_is_not_made_in_a_weaker_mode(strace, memory):
    """SQLite, asked a second time, said that it had the log which it had failed to start."""
    assert sweep(strace, memory, True, lambda name, n: [1] if name == "fdatasync" else []) == len(FAULTS)


@pytest.mark.slow
@pytest.mark.parametrize("fresh", [False, True], ids=["on a ledger", "while it is made"])
def test_every_system_call_killed_or_failed_in_turn_costs_no_charge_and_no_answer(memory, fresh):
    found = shutil.which("strace")
    assert found, "strace is not installed (Debian package strace)"
    assert sweep(found, memory, fresh, lambda name, n: range(1, n + 1)) > 200


# --- many processes ---------------------------------------------------------------------------------------

MANY_QUESTIONS = """
import json, random, secrets, sys
from inbounds.errors import BudgetExceeded
from inbounds.ledger import Ledger
place, receipts, keys, seed = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), sys.argv[4]
random.Random(seed).shuffle(keys)
with Ledger.open(place) as ledger, open(receipts, "a") as file:
    for key in keys:
        try:
            answer = ledger.stored_answers("p", "0.1", lambda charge: secrets.token_hex(8).encode(), key=key)
        except BudgetExceeded:
            continue
        file.write(f"{key} {answer.content.decode()}\\n")
        file.flush()
"""


def crowd(place: str, folder: Path, processes: int, keys: int, kills: int, budget: int) -> None:
    """Processes that ask the same questions in other orders; some are killed and asked again."""
    script, names = folder / "many.py", [f"k{k}" for k in range(keys)]
    script.write_text(MANY_QUESTIONS)
    rng = random.Random(7)
    with Ledger.open(place) as ledger:
        ledger.add_population("p", budget)

    def start(k: int) -> "subprocess.Popen[bytes]":
        words = [place, str(folder / f"receipts {k}"), json.dumps(names), f"{k} {rng.random()}"]
        return subprocess.Popen([sys.executable, str(script), *words])

    running = {k: start(k) for k in range(processes)}
    for _ in range(kills):
        time.sleep(rng.uniform(0.05, 0.4))
        victim = rng.randrange(processes)
        os.kill(running[victim].pid, signal.SIGKILL)
        running[victim].wait()
        running[victim] = start(victim)
    assert [process.wait(timeout=300) for process in running.values()] == [0] * processes
    check_crowd(place, folder, names, budget)


def check_crowd(place: str, folder: Path, names: list[str], budget: int) -> None:
    receipts: dict[str, set[str]] = {}
    for file in folder.glob("receipts *"):
        for line in file.read_text().splitlines():
            key, answer = line.split()
            receipts.setdefault(key, set()).add(answer)
    assert all(len(answers) == 1 for answers in receipts.values())
    with Ledger.open(place) as ledger:
        found = ledger.verify()
        (who,) = found.people
        assert len(receipts) * EACH <= who.spent == found.charges * EACH <= budget
        for name in names:
            try:
                answer = ledger.stored_answers("p", EACH, lambda charge: b"late", key=name)
            except BudgetExceeded:
                continue
            assert receipts.setdefault(name, {answer.content.decode()}) == {answer.content.decode()}
        after = ledger.verify()
        assert len(receipts) * EACH == after.people[0].spent == min(budget, len(names) * EACH)
        assert after.answers == after.charges


@pytest.mark.long
def test_processes_that_are_killed_and_ask_again_spend_what_they_have_receipts_for(memory):
    crowd(str(memory / "l.db"), memory, processes=3, keys=30, kills=4, budget=2)


@pytest.mark.slow
def test_sixteen_processes_with_retries_and_kills_spend_what_they_have_receipts_for(tmp_path):
    crowd(str(tmp_path / "l.db"), tmp_path, processes=16, keys=300, kills=60, budget=20)


@pytest.mark.long
def test_many_who_make_the_same_ledger_at_once_make_one(memory):
    script = memory / "one.py"
    script.write_text(ONE_QUESTION)
    words = [sys.executable, str(script), str(memory / "l.db"), "same key"]
    running = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    told = {process.communicate(timeout=120)[0] for process in running}
    assert (len(told), {process.returncode for process in running}) == (1, {0})
    with Ledger.open(memory / "l.db") as ledger:
        assert (ledger.verify().charges, ledger.verify().answers) == (1, 1)
