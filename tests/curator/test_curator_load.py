"""Many who ask at once, and a curator that is killed while they do: nothing is given out that was not charged."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import httpx
import pytest

from curator.clocks import PromptTime
from curator.pupils import account, declared, question, write_pupils
from inbounds.curator import CapExceeded, Curator, parse_settings
from inbounds.curator.curator import OWNER
from inbounds.curator.timing import Time
from inbounds.errors import BudgetExceeded
from inbounds.ledger import Ledger

ANSWER_SECONDS = 2
"""Real ones: of services in processes of their own."""

SERVE = """
import json, sys
from pathlib import Path
from inbounds.curator import Curator, parse_settings
from inbounds.curator.http.serve import serve
curator = Curator(parse_settings(json.loads(sys.argv[1]), Path(sys.argv[2])))
serve(curator, "127.0.0.1", int(sys.argv[3]), lambda: print("ready", flush=True))
"""


@contextmanager
def served(folder: Path, settings: dict, port: int) -> Iterator[subprocess.Popen]:
    """The service in a process of its own."""
    command = [sys.executable, "-c", SERVE, json.dumps(settings), str(folder), str(port)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONWARNINGS": "ignore"})
    try:
        assert process.stdout.readline() == b"ready\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_askers_at_the_edge_of_the_budget_never_pass_it(opened):
    """The people have room for 6 questions of 1; 20 are asked by 8 accounts in 4 threads."""
    curator = opened(time=PromptTime())
    several = [account(curator, f"account {k}", "2") for k in range(8)]

    def ask(k: int) -> str:
        try:
            return curator.ask(several[k % 8], "pupils", question(k, "1")).how
        except (BudgetExceeded, CapExceeded) as refused:
            return type(refused).__name__

    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(ask, range(20)))
    assert outcomes.count("new") == 6
    assert curator.people(curator.settings.datasets["pupils"]).spent == 6
    given = [one for own in several for one in curator.answers(own)]
    assert len({one.key for one in given}) == 6
    for own in curator.accounts():
        held = sum((one.epsilon for one in given if one.account == own.name), Fraction(0))
        assert own.grants["pupils"].spent == held <= 2


@pytest.mark.long
def test_threads_that_ask_one_question_are_given_one_answer(opened):
    curator = opened(time=Time(), answer_seconds=2)
    several = [account(curator, f"account {k}") for k in range(8)]
    gate = threading.Barrier(8)

    def ask(own) -> str:
        gate.wait()
        return str(curator.ask(own, "pupils", question(0, "0.05")).table)

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(ask, several))) == 1
    assert curator.people(curator.settings.datasets["pupils"]).spent == Fraction(1, 20)


@pytest.mark.slow
def test_two_hundred_askers_at_the_edge_of_the_budget_over_http(folder, free_port):
    write_pupils(folder / "pupils.parquet")
    settings = declared(folder, answer_seconds=10)  # two hundred clients and others share the machine
    settings["limits"] |= {"evaluations": 12, "seconds": 120}
    curator = Curator(parse_settings(settings, folder))
    tokens = [curator.add_account(f"account {k}", {"pupils": "0.5"}) for k in range(200)]
    curator.close()
    with served(folder, settings, free_port):
        address = f"http://127.0.0.1:{free_port}/v1/datasets/pupils/answers"

        def ask(k: int) -> int:
            headers = {"Authorization": f"Bearer {tokens[k]}"}
            while True:  # who is not admitted comes again after the pause that everybody is told
                found = httpx.post(address, json=question(k % 60, "0.5"), headers=headers, timeout=120)
                if found.status_code != 429:
                    return found.status_code
                time.sleep(float(found.headers["retry-after"]))

        # whoever waits for a design may be told to come again, so it is made before
        preview = address.replace("/answers", "/preview")
        first = httpx.post(preview, json=question(0), headers={"Authorization": f"Bearer {tokens[0]}"}, timeout=120)
        assert first.status_code == 200
        with ThreadPoolExecutor(200) as pool:
            statuses = list(pool.map(ask, range(200)))
    assert set(statuses) <= {200, 409, 503}
    assert statuses.count(503) == 0
    with Ledger.open(folder / "budget.db") as ledger:
        (people,) = ledger.verify().people
        charged = sum(entry.kind == "charge" for entry in ledger.entries())
    assert people.spent == people.budget == 6
    assert charged == 12


def killed_under_load(folder: Path, port: int, kills: int) -> None:
    """Ask from four threads while the service is killed and starts again; then compare what left with what was paid.

    Whoever is killed between charge and draw leaves a closed dataset, which the owner reopens before the next start.
    """
    write_pupils(folder / "pupils.parquet")
    settings = declared(folder, budget={"epsilon": 1000}, answer_seconds=ANSWER_SECONDS)
    curator = Curator(parse_settings(settings, folder))
    tokens = [curator.add_account(f"account {k}", {"pupils": None}) for k in range(4)]
    curator.close()
    seen: dict[str, set[str]] = {}
    over, given, closed = threading.Event(), threading.Semaphore(0), 0

    def ask(who: int) -> None:
        headers = {"Authorization": f"Bearer {tokens[who]}"}
        k = 0
        while not over.is_set():
            k += 1
            try:
                address = f"http://127.0.0.1:{port}/v1/datasets/pupils/answers"
                found = httpx.post(address, json=question(k % 40, "0.05"), headers=headers, timeout=20)
            except httpx.HTTPError:
                time.sleep(0.05)
                continue
            assert found.status_code in (200, 503) or found.json()["type"].endswith("not-answered")
            if found.status_code == 200:
                asked = json.dumps(found.json()["question"], sort_keys=True)
                seen.setdefault(asked, set()).add(json.dumps(found.json()["table"]))
                given.release()

    with ThreadPoolExecutor(4) as pool:
        asking = [pool.submit(ask, who) for who in range(4)]
        for kill in range(kills):
            with served(folder, settings, port) as process:
                for _ in range(3 + 2 * kill):
                    given.acquire(timeout=60)
                process.send_signal(signal.SIGKILL)
                process.wait()
            time.sleep(ANSWER_SECONDS)
            closed += reopened(settings, folder)
        over.set()
        for done in asking:
            done.result()
    assert seen
    assert all(len(tables) == 1 for tables in seen.values()), "two answers to one question"
    with Ledger.open(folder / "budget.db") as ledger:
        verified = ledger.verify()
        charged = sum(entry.kind == "charge" for entry in ledger.entries())
    assert len(seen) <= charged
    assert verified.people[0].spent == charged * Fraction(1, 20)
    assert verified.charges - verified.answers <= closed, "a charge without an answer that closed nothing"


def reopened(settings: dict, folder: Path) -> int:
    """The evaluations that did not end before the service was killed; the dataset is open afterwards."""
    with Curator(parse_settings(settings, folder)) as curator:
        (status,) = curator.statuses(OWNER)
        if status.is_closed:
            curator.reopen(OWNER, "pupils")
        return sum(one.reopened is None for one in status.failures)


@pytest.mark.slow
def test_a_curator_killed_under_load_gives_out_nothing_uncharged(folder, free_port):
    killed_under_load(folder, free_port, 6)
