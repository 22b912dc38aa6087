"""The ledger: charges beside bare durable inserts in the same run, and a million entries verified."""

import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from harness import OURS, Row, serve

from inbounds.files import canonical_json, sha256_hex
from inbounds.ledger import Ledger
from inbounds.ledger.entries import Entry

PAIRS, ROUNDS = 2400, 8
ENTRIES = 1_000_000
CHARGE = "one charge on one connection, durable"
ANSWERED = "one charge and its answer of 1 kB, durable"
BARE = "bare SQLite insert"
IN_MEMORY = "the same without a disk to wait for"
MEMORY = Path("/dev/shm")
VERIFY = "10^6 entries verified"


def charging() -> list[Row]:
    """Charges and bare inserts on this disk, and the same where nothing waits for one: what a charge adds to a wait."""
    times, sync = in_turn(Path.cwd())
    notes = {
        (CHARGE, OURS): rates(times[CHARGE, OURS], times[CHARGE, BARE]),
        (CHARGE, BARE): f"one row, the same two indexes; a sync alone takes {sync * 1e6:.0f} µs",
        (ANSWERED, OURS): "two transactions",
    }
    rows = [row(task, who, found, notes[task, who]) for (task, who), found in times.items()]
    if MEMORY.is_dir():
        times, _ = in_turn(MEMORY)
        rows += [row(IN_MEMORY, who, times[CHARGE, who], "no disk") for who in (OURS, BARE)]
    return rows


def row(task: str, who: str, times: list[float], note: str) -> Row:
    return Row(task, who, in_rounds(times), note=note, amount=PAIRS // ROUNDS, per="charge")


def in_turn(parent: Path) -> tuple[dict[tuple[str, str], list[float]], float]:
    """Seconds of a charge and of a bare insert one by one, the other first in every other pair; and of a sync."""
    with tempfile.TemporaryDirectory(dir=parent) as folder, Ledger.open(Path(folder) / "ledger.db") as ledger:
        ledger.add_population("people", 10**6)
        bare = bare_insert(Path(folder) / "bare.db")
        sides: dict[tuple[str, str], Callable[[str], object]] = {
            (CHARGE, OURS): lambda key: ledger.charge("people", "0.001", key=key),
            (CHARGE, BARE): bare,
            (ANSWERED, OURS): lambda key: ledger.stored_answers(
                "people", "0.001", lambda _: bytes(1000), key=f"{key} a"
            ),
        }
        times: dict[tuple[str, str], list[float]] = {side: [] for side in sides}
        for k in range(PAIRS):
            for side in [*sides] if k % 2 else [*sides][::-1]:
                start = time.perf_counter()
                sides[side](f"question {k}")
                times[side].append(time.perf_counter() - start)
        return times, statistics.median(synced(Path(folder) / "bytes") for _ in range(ROUNDS))


def rates(charges: list[float], inserts: list[float]) -> str:
    """The rate of charges as a part of that of inserts: a disk's slow moments are in the sums, not in the medians."""
    medians = statistics.median(inserts) / statistics.median(charges)
    pairs = statistics.median(bare / charge for charge, bare in zip(charges, inserts, strict=True))
    total = sum(inserts) / sum(charges)
    return (
        f"{medians:.0%} of the rate of bare inserts by the medians of {len(charges)} pairs, {pairs:.0%} by the median "
        f"pair, {total:.0%} in total"
    )


def synced(path: Path) -> float:
    """Seconds until the disk says that it has written a page: what both sides wait for."""
    with path.open("wb", buffering=0) as file:
        file.write(bytes(2**20))
        os.fsync(file)
        file.seek(0)
        file.write(bytes(4096))
        start = time.perf_counter()
        os.fdatasync(file)
        return time.perf_counter() - start


def in_rounds(times: list[float]) -> list[float]:
    """Seconds of every round."""
    size = len(times) // ROUNDS
    return [sum(times[k : k + size]) for k in range(0, len(times), size)]


def bare_insert(path: Path) -> Callable[[str], object]:
    """One row as long as an entry, in the ledger's own mode."""
    raw = sqlite3.connect(path, isolation_level=None)
    raw.execute("PRAGMA journal_mode = WAL")
    raw.execute("PRAGMA synchronous = FULL")
    raw.execute("CREATE TABLE rows (number INTEGER PRIMARY KEY, key TEXT, kind TEXT, content TEXT) STRICT")
    raw.execute("CREATE UNIQUE INDEX rows_key ON rows (key, kind)")
    content = "x" * 290  # an entry's other columns
    return lambda key: raw.execute("INSERT INTO rows (key, kind, content) VALUES (?, 'charge', ?)", (key, content))


def verifying() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder, Ledger.open(Path(folder) / "ledger.db") as ledger:
        ledger.add_population("people", 10**6)
        fill(ledger, ENTRIES)
        times = [processor_seconds(ledger) for _ in range(2)]
    return [Row(VERIFY, OURS, times, note="processor time; chain, prices, totals, indexes")]


def processor_seconds(ledger: Ledger) -> float:
    """Verifying waits for nobody, so what others do meanwhile is not its time."""
    start = time.process_time()
    assert ledger.verify().head.entries == ENTRIES
    return time.process_time() - start


def fill(ledger: Ledger, count: int) -> None:
    """Charges as they would be, written at once."""
    head, rows = ledger.head(), []
    number, previous = head.entries, head.sha256
    while number < count:
        number += 1
        facts = canonical_json({"parts": ["1/1000"], "purpose": f"question {number}"})
        values = (
            number,
            "2026-11-15T12:00:00+00:00",
            "charge",
            "people",
            10**6,
            f"key {number}",
            sha256_hex(facts),
            facts,
        )
        previous = sha256_hex(Entry(*values, previous).content)
        rows.append((*values, Entry(*values, rows[-1][-1] if rows else head.sha256).previous, previous))
    with ledger._store.writing() as run:
        ledger._store._connection.executemany("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        run("UPDATE people SET spent = ?", len(rows) * 10**6)


if __name__ == "__main__":
    serve({OURS: charging, f"{OURS}, verifying": verifying})
