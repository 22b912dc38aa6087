"""Many clients of one curator: what they get, how long they wait, and whether health checks wait with them."""

import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from inbounds.curator import Curator
from inbounds.curator.curator import OWNER
from inbounds.curator.demo import write_demo
from inbounds.ledger import Ledger
from storms.servers import find_free_port

ACCOUNTS = 64
ANSWER_SECONDS = 0.5
"""Declared for the storm; an evaluation alone takes some hundredths of a second."""

SHARE = 0.2
"""Of questions that nobody asked before."""

CLOSED, OPEN = (1, 8, 40, 400), (1, 2, 4)
"""How many clients ask again as soon as they have an answer; multiples of the most that they were answered in a second,
at which requests then come whatever becomes of them."""

CONNECTIONS = 400

WAITS = ("stored answers", "new answers", "health checks")

PROBE = """
import socket, sys, time
while True:
    began = time.perf_counter()
    with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=20) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\\r\\nHost: here\\r\\nConnection: close\\r\\n\\r\\n")
        status = connection.recv(65536)[9:12].decode()
    print(time.perf_counter() - began, status, flush=True)
    time.sleep(0.05)
"""
"""Health checks from a process of their own, each on a connection of its own."""


class Reply(NamedTuple):
    """A response. is_new: to a question that nobody asked before. status: 0 if the connection ended."""

    is_new: bool
    status: int
    seconds: float


class Connection:
    """A connection to the service, opened again when it ends."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def request(self, sent: bytes) -> int:
        """Send a request and read the response; return its status."""
        try:
            reader, writer = self._streams = self._streams or await asyncio.open_connection("127.0.0.1", self._port)
            writer.write(sent)
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            await reader.readexactly(int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0]))
            return int(head[9:12])
        except (OSError, asyncio.IncompleteReadError):
            self.close()
            return 0

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
        self._streams = None


class Crowd:
    """Clients of several accounts that ask stored and new questions."""

    def __init__(self, port: int, tokens: list[str], choose: random.Random) -> None:
        self._port, self._tokens, self._choose, self._numbers = port, tokens, choose, count(1)

    async def ask(self, connection: Connection, who: int, share: float, began: float) -> Reply:
        """Ask one question on a connection. began: when it was to be asked."""
        is_new = self._choose.random() < share
        k = next(self._numbers) if is_new else 0
        condition = f"age > {17 + k % 70} and age < {200 + k // 70}"
        question = {"count": condition, "by": ["sex"], "epsilon": "0.1", "allow_useless": True}
        body = json.dumps(question)
        head = "POST /v1/datasets/adult/answers HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\n"
        head += f"Content-Length: {len(body)}\r\n"
        head += f"Authorization: Bearer {self._tokens[who % len(self._tokens)]}\r\n\r\n"
        return Reply(is_new, await connection.request((head + body).encode()), time.perf_counter() - began)

    async def ask_closed(self, clients: int, seconds: float, share: float = SHARE) -> list[Reply]:
        """Let so many clients ask again as soon as they have an answer, refused or not."""
        end, replies = time.perf_counter() + seconds, list[Reply]()

        async def ask_on(who: int) -> None:
            connection = Connection(self._port)
            while (began := time.perf_counter()) < end:
                replies.append(await self.ask(connection, who, share, began))
            connection.close()

        await asyncio.gather(*map(ask_on, range(clients)))
        return replies

    async def ask_open(self, rate: float, seconds: float) -> list[Reply]:
        """Let requests come at a rate, whatever becomes of them; without a free connection they do not come."""
        free, running, replies = [Connection(self._port) for _ in range(CONNECTIONS)], set[Any](), list[Reply]()

        async def ask_once(connection: Connection, who: int, due: float) -> None:
            replies.append(await self.ask(connection, who, SHARE, due))
            free.append(connection)

        due = begin = time.perf_counter()
        for who in count():
            due += self._choose.expovariate(rate)
            if due > begin + seconds:
                break
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            if free:
                running.add(asyncio.ensure_future(ask_once(free.pop(), who, due)))
        await asyncio.gather(*running)
        for connection in free:
            connection.close()
        return replies


@contextmanager
def served(folder: Path, port: int) -> Iterator[list[str]]:
    """The service in a process of its own, as `inbounds curator serve` runs it; tokens of its accounts."""
    settings = write_demo(folder)
    text = settings.read_text("utf-8").replace("epsilon = 10\n", "epsilon = 1000000\n")
    text = text.replace("[datasets.adult]\n", f"[datasets.adult]\nanswer_seconds = {ANSWER_SECONDS}\n")
    settings.write_text(f"[limits]\nrate = 1000000\nburst = 1000000\ndesign_seconds = 29\n{text}", "utf-8")
    with Curator.open(settings) as curator:
        tokens = [curator.add_account(f"account {k}", {"adult": None}) for k in range(ACCOUNTS)]
    words = ["-m", "inbounds", "curator", "serve", str(settings), "--port", str(port)]
    process = subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        assert process.stdout.readline(), "the service did not start"
        yield tokens
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


@asynccontextmanager
async def probed(port: int, waits: list[float]) -> AsyncIterator[None]:
    """Check the service's health all the time; every check must be answered with 200."""
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen([sys.executable, "-c", PROBE, str(port)], stdout=output)
        try:
            yield
        finally:
            process.kill()
            process.wait()
        output.seek(0)
        for line in output.read().splitlines()[:-1]:  # the last one may be cut off
            wait, status = line.split()
            assert status == "200", f"a health check got {status}"
            waits.append(float(wait))


def describe(waits: list[float]) -> str:
    """Return the median and the 99th percentile of some waits, and the longest."""
    if not waits:
        return "none"
    ordered = [f"{1e3 * sorted(waits)[min(len(waits) - 1, int(len(waits) * part))]:.0f}" for part in (0.5, 0.99, 1)]
    return f"{' / '.join(ordered)} ms of {len(waits):,}"


async def storm(port: int, tokens: list[str], choose: random.Random, seconds: float) -> tuple[list[str], Counter[str]]:
    """Ask more and more; return a line for each load, and counts."""
    crowd, lines, figures, most = Crowd(port, tokens, choose), list[str](), Counter[str](), 1.0
    each = seconds / (len(CLOSED) + len(OPEN))
    first = await crowd.ask(Connection(port), 0, 0.0, time.perf_counter())  # makes the design
    assert first.status == 200, first
    for load, is_closed in [*((one, True) for one in CLOSED), *((one, False) for one in OPEN)]:
        health = list[float]()
        async with probed(port, health):
            replies = await (crowd.ask_closed(load, each) if is_closed else crowd.ask_open(load * most, each))
        statuses = Counter(one.status for one in replies)
        assert set(statuses) <= {200, 429, 503}, f"responses with {statuses}"
        if is_closed:
            most = max(most, statuses[200] / each)
        waits = [[one.seconds for one in replies if one.is_new == new and one.status == 200] for new in (False, True)]
        name = f"{load} clients" if is_closed else f"{load} times saturation"
        figures += Counter({"requests answered": statuses[200], "requests refused": statuses[429]})
        figures["answers that were late or after one"] += statuses[503]
        figures["health checks"] += len(health)
        described = [f"{what} {describe(some)}" for what, some in zip(WAITS, (*waits, health), strict=True)]
        lines.append(f"  {name}: {', '.join(described)}; {statuses[429]:,} refused")
    return lines, figures


def storm_load(folder: Path, choose: random.Random, seconds: float) -> Counter[str]:
    """Ask a service on this machine far more than it can answer; it must charge what it answers.

    On a machine that is busy elsewhere an answer may be late, which closes the dataset and is counted.
    """
    port = find_free_port()
    with served(folder, port) as tokens:
        lines, figures = asyncio.run(storm(port, tokens, choose, seconds))
    title = "load: waits (median / 99 % / longest) of accepted requests and of health checks"
    sys.stdout.write("\n".join([title, *lines, ""]))
    with Curator.open(folder / "curator.toml") as curator:
        (status,) = curator.statuses(OWNER)
    with Ledger.open(folder / "budget.db") as ledger:
        report = ledger.verify()
        assert report.charges - report.answers <= status.observations, "charges without answers were not noticed"
        figures["charges"] = report.charges
    return figures
