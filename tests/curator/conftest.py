"""Curators for tests, in a folder in memory where there is one: the disk is slow, and has tests of its own."""

import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from curator.clocks import SkippedTime
from curator.pupils import account, declared, write_pupils
from inbounds.curator import Account, Curator, parse_settings


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    if not Path("/dev/shm").is_dir():
        yield tmp_path
        return
    found = Path(tempfile.mkdtemp(dir="/dev/shm"))
    yield found
    shutil.rmtree(found)


Opened = Callable[..., Curator]


@pytest.fixture
def opened(folder: Path) -> Iterator[Opened]:
    """Opens curators of one folder: the same accounts, budget and answers, unless alone. Waiting takes no time, unless
    another time is given."""
    made: list[Curator] = []
    skipped = SkippedTime()

    def open_curator(**more: Any) -> Curator:
        if not (folder / "pupils.parquet").exists():
            write_pupils(folder / "pupils.parquet")
        limits, alone, time = more.pop("limits", {}), more.pop("alone", False), more.pop("time", skipped)
        more.setdefault("answer_seconds", 20)
        settings = declared(folder, **more)
        settings["limits"] |= limits
        own = folder / f"{len(made)}" if alone else folder
        own.mkdir(exist_ok=True)
        if "source" not in more:
            settings["datasets"]["pupils"]["source"]["path"] = str(folder / "pupils.parquet")
        settings["designs"] = str(folder / "designs")
        made.append(Curator(parse_settings(settings, own), time=time))
        return made[-1]

    yield open_curator
    for curator in made:
        curator.close()


@pytest.fixture
def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture
def curator(opened: Opened) -> Curator:
    return opened()


@pytest.fixture
def ana(curator: Curator) -> Account:
    return account(curator, "ana")
