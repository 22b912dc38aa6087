"""Power cuts: whatever the disk had not promised to keep is kept, torn or lost; no acknowledged charge may be.

A virtual file system for SQLite records every write, sync, truncation and deletion of a whole day of charges. A
power cut is a moment of that record: what was written before a file's last sync is on the disk, what came after is
on it, partly on it (whole sectors of 512 bytes), or not, each by a coin of its own; a file that was deleted may be
back. The ledger found afterwards must know every charge and answer that had been acknowledged, and take up work.
"""

import random
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from inbounds.errors import BudgetExceeded, LedgerError
from inbounds.ledger import Ledger
from inbounds.ledger.sqlite import Driver, Sqlite

apsw = pytest.importorskip("apsw", reason="apsw is not installed (extra test)")

SECTOR = 512
BUDGET, EACH = 2, Fraction(1, 10)
KEYS = [f"question {k}" for k in range(24)]  # four more than the budget allows


@dataclass
class Disk:
    """What was asked of the disk, in order, and what had been acknowledged by then."""

    log: list[tuple[Any, ...]] = field(default_factory=list)

    def note(self, *what: Any) -> None:
        self.log.append(what)


class RecordedFile(apsw.VFSFile):
    def __init__(self, disk: Disk, base: str, name: Any, flags: list[int]) -> None:
        self.disk, self.name = disk, Path(name if isinstance(name, str) else name.filename()).name
        super().__init__(base, name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        self.disk.note("write", self.name, offset, bytes(data))
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:
        super().xSync(flags)
        self.disk.note("sync", self.name)

    def xTruncate(self, size: int) -> None:
        self.disk.note("truncate", self.name, size)
        super().xTruncate(size)


class RecordedFiles(apsw.VFS):
    def __init__(self, disk: Disk, name: str) -> None:
        self.disk = disk
        super().__init__(name, "")

    def xOpen(self, name: Any, flags: list[int]) -> RecordedFile:
        return RecordedFile(self.disk, "", name, flags)

    def xDelete(self, name: str, sync: bool) -> None:
        self.disk.note("delete", Path(name).name, sync)
        super().xDelete(name, sync)


def driver(vfs: str | None = None) -> Driver:
    def connect(path: Path, create: bool) -> Any:
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        return apsw.Connection(str(path), flags=flags, vfs=vfs)

    return Driver(connect, apsw.Error)


def a_day(folder: Path, seed: int, store: Any = Sqlite) -> Disk:
    """Charges, answers and restarts, all of it recorded; what is acknowledged is noted when it is."""
    disk, rng = Disk(), random.Random(seed)
    name = f"power {seed} {id(disk)}"
    vfs = RecordedFiles(disk, name)
    path, ledger = folder / "l.db", None
    for key in KEYS:
        if ledger is None:
            ledger = Ledger(store(path, create=True, driver=driver(name)))
            if not ledger.people():
                ledger.add_population("p", BUDGET)
                disk.note("people")
        try:
            charge = ledger.charge("p", EACH, key=key)
        except BudgetExceeded:
            continue
        disk.note("charged", key)
        if rng.random() < 0.7:
            answer = rng.randbytes(rng.choice([10, 5000, 20000]))
            ledger.store(charge, answer)
            disk.note("answered", key, answer)
        if rng.random() < 0.15:
            ledger.close()
            ledger = None
    if ledger is not None:
        ledger.close()
    vfs.unregister()
    return disk


def after_the_cut(log: list[tuple[Any, ...]], rng: random.Random) -> dict[str, bytes]:
    """The files as they may be after a power cut at the end of the log."""
    last = {what[1]: k for k, what in enumerate(log) if what[0] == "sync"}
    files: dict[str, bytearray] = {}
    for k, what in enumerate(log):
        if what[0] not in ("write", "truncate", "delete"):
            continue
        kind, name = what[:2]
        content = files.setdefault(name, bytearray())
        sure = k < last.get(name, -1) or (kind == "delete" and what[2])
        if not sure and rng.random() < 0.5:
            continue
        if kind == "write":
            data = what[3]
            if not sure and rng.random() < 0.3:
                data = data[: SECTOR * rng.randrange(len(data) // SECTOR + 1)]
            content.extend(b"\0" * (what[2] - len(content)))
            content[what[2] : what[2] + len(data)] = data
        elif kind == "truncate":
            del content[what[2] :]
        else:
            del files[name]
    return {name: bytes(content) for name, content in files.items()}


def check_after_a_cut(log: list[tuple[Any, ...]], files: dict[str, bytes], folder: Path) -> None:
    """Everything acknowledged is there, nothing is overspent, and after all retries everything is as without a cut."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
    charged = [what[1] for what in log if what[0] == "charged"]
    answers = {what[1]: what[2] for what in log if what[0] == "answered"}
    with Ledger(Sqlite(folder / "l.db", create=True, driver=driver())) as ledger:
        found = ledger.verify()
        spent = sum((who.spent for who in found.people), Fraction(0))
        assert len(charged) * EACH <= spent <= BUDGET
        if ("people",) in log:
            assert [who.budget for who in found.people] == [BUDGET]
        ledger.add_population("p", BUDGET)
        for key in charged:
            again = ledger.charge("p", EACH, key=key)
            assert again.repeated
            assert again.answer == answers.get(key, again.answer)
        open_keys = [key for key in KEYS if ledger.find(key) is None]
        for key in open_keys:
            if ledger.people()[0].remaining >= EACH:
                ledger.charge("p", EACH, key=key)
        assert ledger.verify().people[0].spent == BUDGET


def cuts(folder: Path, days: int, each: int, seed: int, store: Any = Sqlite) -> int:
    done = 0
    for day in range(days):
        place = folder / f"day {day}"
        place.mkdir()
        log = a_day(place, seed + day, store).log
        rng = random.Random(f"{seed} {day}")
        for k in range(each):
            moment = rng.randrange(len(log) + 1)
            here = place / f"cut {k}"
            here.mkdir()
            check_after_a_cut(log[:moment], after_the_cut(log[:moment], rng), here)
            done += 1
    return done


@pytest.mark.long
def test_no_power_cut_loses_an_acknowledged_charge_or_answer(memory):
    assert cuts(memory, days=3, each=30, seed=1) == 90


class Hasty(Sqlite):
    """A store that does not wait for the disk, and does not look: what the check is there to prevent."""

    def _check_mode(self) -> None:
        pass

    def _prepare(self) -> None:
        super()._prepare()
        self._run("PRAGMA synchronous = OFF")


def test_the_same_cuts_find_a_ledger_that_does_not_wait_for_the_disk(memory):
    """The twin that must fail: with synchronous OFF acknowledged charges are lost, or the file is."""
    with pytest.raises((AssertionError, LedgerError)):
        cuts(memory, days=3, each=30, seed=1, store=Hasty)


@pytest.mark.slow
def test_ten_thousand_power_cuts_lose_nothing(memory):
    assert cuts(memory, days=100, each=101, seed=1000) >= 10_000
