"""The curator: answers a second beside the engine's own query and the ledger's charge; what response times tell.

A new answer leaves a fixed time after its evaluation began, so the rate of new answers is what the settings allow.
"""

import contextlib
import os
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet
from harness import OURS, Row, serve

from inbounds.curator import Curator
from inbounds.curator.demo import write_demo
from inbounds.ledger import Ledger

ANSWERS, CLIENTS, ROUNDS = 200, 4, 3
SQLITE, SERVER = "new answers, SQLite, 4 clients", "new answers, PostgreSQL, 2 workers, 4 clients"
SHORT_TICK = 0.005
SERVER_SHORT = f"{SERVER}, ticks of {SHORT_TICK * 1e3:.0f} ms"
SHARED = "new answers, SQLite, 2 workers, 4 clients"
STORED = "stored answers, SQLite, 4 clients"
QUERY, CHARGE = "DuckDB's own query", "a charge and its answer"
PAIRS = 200
TIMES = "response times of two tables that differ in one person"
BUDGET = 10**6
ANSWER_SECONDS = 0.25
"""Declared here, where a trial takes some hundredths of a second: new answers are at most `evaluations` for each."""
Asked = Callable[[int], dict[str, object]]


def throughput() -> list[Row]:
    rows = []
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder), 1) as (url, token):
        rows.append(asked_anew(SQLITE, url, token))
        rows.append(measured(STORED, url, token, lambda _: new_question(1)))
        rows += [own_query(Path(folder)), charge(Path(folder))]
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder), 2) as (url, token):
        rows.append(asked_anew(SHARED, url, token))
    if url_of_server := os.environ.get("INBOUNDS_BENCH_POSTGRES"):
        with tempfile.TemporaryDirectory() as folder, serving(Path(folder), 2, url_of_server) as (url, token):
            rows.append(asked_anew(SERVER, url, token))
        with (
            tempfile.TemporaryDirectory() as folder,
            serving(Path(folder), 2, url_of_server, f"tick = {SHORT_TICK}\n") as (url, token),
        ):
            rows.append(asked_anew(SERVER_SHORT, url, token, 10**4))
    return rows


def asked_anew(task: str, url: str, token: str, first: int = 0) -> Row:
    """Questions that nobody has asked, from the first number on; designs are kept from the first on."""
    ask(url, token, new_question(first))
    numbers = count(first + 1)
    return measured(task, url, token, lambda _: new_question(next(numbers)))


def new_question(k: int) -> dict[str, object]:
    """One that nobody has asked, whose designs are kept."""
    condition = f"age > {17 + k % 70} and age < {200 + k // 70}"
    return {"count": condition, "by": ["sex"], "epsilon": "0.001", "allow_useless": True}


def measured(task: str, url: str, token: str, question: Asked) -> Row:
    times, waits = [], list[float]()
    for _ in range(ROUNDS):
        start = time.perf_counter()
        with ThreadPoolExecutor(CLIENTS) as pool:
            shares = [ANSWERS // CLIENTS] * CLIENTS
            waits += [wait for own in pool.map(lambda n: asked_by_one(url, token, question, n), shares) for wait in own]
        times.append(time.perf_counter() - start)
    waits.sort()
    middle, late = waits[len(waits) // 2], waits[len(waits) * 95 // 100]
    note = f"{ANSWERS / min(times):.0f} a second; half within {middle * 1e3:.0f} ms, 95 % within {late * 1e3:.0f} ms"
    return Row(task, OURS, times, note=note, amount=ANSWERS, per="answer")


def asked_by_one(url: str, token: str, question: Asked, number: int) -> list[float]:
    waits = []
    with client(url, token) as http:
        for k in range(number):
            start = time.perf_counter()
            posted(http, question(k))
            waits.append(time.perf_counter() - start)
    return waits


def client(url: str, token: str) -> httpx.Client:
    return httpx.Client(base_url=url, headers={"authorization": f"Bearer {token}"}, timeout=60)


def posted(http: httpx.Client, question: dict[str, object], dataset: str = "adult") -> None:
    key = {"idempotency-key": secrets.token_hex(8)}
    http.post(f"/v1/datasets/{dataset}/answers", json=question, headers=key).raise_for_status()


def ask(url: str, token: str, question: dict[str, object]) -> None:
    with client(url, token) as http:
        posted(http, question)


@contextlib.contextmanager
def serving(folder: Path, workers: int, database: str = "", tick: str = "") -> Iterator[tuple[str, str]]:
    """A curator of the embedded data in a process of its own: where it is, and an account's token."""
    settings = write_demo(folder)
    where = f'ledger = "{database}"\ndatabase = "{database}"\n' if database else ""
    limits = f"[limits]\nrate = 1000000\nburst = 1000000\n{tick}\n"
    text = settings.read_text("utf-8").replace("epsilon = 10\n", f"epsilon = {BUDGET}\n")
    text = text.replace("[datasets.adult]\n", f"[datasets.adult]\nanswer_seconds = {ANSWER_SECONDS}\n")
    settings.write_text(where + limits + text)
    yield from _served(settings, workers, {"adult": None})


def _served(settings: Path, workers: int, datasets: dict[str, None]) -> Iterator[tuple[str, str]]:
    with Curator.open(settings) as curator:
        token = curator.add_account(f"bench {secrets.token_hex(4)}", datasets)
    words = ["-m", "inbounds", "curator", "serve", str(settings), "--port", "8437", "--workers", str(workers)]
    server = subprocess.Popen([sys.executable, *words], stdout=subprocess.DEVNULL)
    url = "http://127.0.0.1:8437"
    try:
        while not _healthy(url):
            if server.poll() is not None:
                raise RuntimeError("the curator did not start")
            time.sleep(0.2)
        yield url, token
    finally:
        server.terminate()
        server.wait()


def _healthy(url: str) -> bool:
    try:
        return httpx.get(f"{url}/healthz", timeout=5).is_success
    except httpx.TransportError:
        return False


def own_query(folder: Path) -> Row:
    """The same aggregation by DuckDB alone, on a connection that stays open: no privacy."""
    import duckdb

    connection = duckdb.connect()
    sql = f"select sex, count(*) from '{folder / 'adult.parquet'}' where age > ? and age < ? group by sex"
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for k in range(ANSWERS):
            connection.execute(sql, [17 + k % 70, 200 + k // 70]).fetchall()
        times.append(time.perf_counter() - start)
    return Row(SQLITE, QUERY, times, privacy="none", amount=ANSWERS, per="answer")


def charge(folder: Path) -> Row:
    """What the ledger alone takes: a charge and 1 kB of answer, both durable."""
    times = []
    with Ledger.open(folder / "alone.db") as ledger:
        ledger.add_population("people", BUDGET)
        for turn in range(ROUNDS):
            start = time.perf_counter()
            for k in range(ANSWERS):
                ledger.stored_answers("people", "0.001", lambda _: bytes(1000), key=f"{turn} {k}")
            times.append(time.perf_counter() - start)
    return Row(SQLITE, CHARGE, times, note="no data read", amount=ANSWERS, per="answer")


# --- what response times tell -------------------------------------------------------------------------------

TWINS = """
[limits]
rate = 1000000
burst = 1000000
""" + "".join(
    f"""
[datasets.{name}]
edition = "1"
answer_seconds = {ANSWER_SECONDS}
source = {{ path = "{name}.parquet" }}
people = {{ name = "{name}" }}
budget = {{ epsilon = {BUDGET} }}
groups = {{ by = ["town"], keys = ["here", "there"], max_size = 2000 }}
columns = {{ age = {{ low = 0, high = 100 }} }}
"""
    for name in ("with_", "without")
)


def response_times() -> list[Row]:
    """Pairs of one question asked of two tables in turn: the difference of their times, and what would be seen."""
    with tempfile.TemporaryDirectory() as name:
        folder, rng = Path(name), np.random.default_rng(1)
        ages, towns = rng.integers(0, 101, 2000), np.array(["here", "there"])[rng.integers(0, 2, 2000)]
        for file, last in (("with_", 2000), ("without", 1999)):
            pyarrow.parquet.write_table(
                pa.table({"town": towns[:last], "age": ages[:last]}), folder / f"{file}.parquet"
            )
        settings = folder / "curator.toml"
        settings.write_text(TWINS)
        with contextlib.contextmanager(_served)(settings, 1, {"with_": None, "without": None}) as (url, token):
            found = {"with_": list[float](), "without": list[float]()}
            with client(url, token) as http:
                for k in range(PAIRS):
                    for dataset in [*found] if k % 2 else [*found][::-1]:
                        question = {"count": f"age > {k % 100} and age < {101 + k // 100}", "by": ["town"]}
                        start = time.perf_counter()
                        posted(http, {**question, "epsilon": "0.01", "allow_useless": True}, dataset)
                        found[dataset].append(time.perf_counter() - start)
    return [twins(found["with_"], found["without"])]


def twins(one: list[float], other: list[float]) -> Row:
    """The trimmed mean of the differences, its standard error, and the difference that nine of ten runs would show."""
    apart = np.sort(np.subtract(one, other) * 1e3)
    inner = apart[len(apart) // 20 : -len(apart) // 20]
    error = inner.std(ddof=1) / len(inner) ** 0.5
    note = (
        f"differ by {inner.mean():+.3f} ms, standard error {error:.3f} ms; one of {(1.96 + 1.28) * error:.2f} ms "
        f"would be seen at the 5 % level in 9 of 10 such runs; median response {statistics.median(one) * 1e3:.1f} ms"
    )
    return Row(TIMES, OURS, [sum(one), sum(other)], note=note, amount=PAIRS, per="answer")


if __name__ == "__main__":
    serve({OURS: throughput, f"{OURS}, response times": response_times})
