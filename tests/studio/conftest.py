"""What the tests of the studio share: a folder with a survey, a client that was let in, a running server, Chromium."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from check.chromium import CHROMIUM, chromium
from inbounds.curator.curator import Curator
from inbounds.studio.app import app
from inbounds.studio.jobs import JobQueue
from inbounds.studio.serve import make_auth, open_socket
from inbounds.studio.studio import Studio
from inbounds.studio.workspace import Workspace

SCHOOLS = ("North", "South", "East", "West")
ANSWERS = ("yes", "no", "unsure")


def write_survey(folder: Path) -> None:
    """400 pupils of four schools; no school has its share of answers by chance."""
    rows = [f"{SCHOOLS[k % 4]},{ANSWERS[k * k % 3]},{k % 11},{8 + k % 9},p{k}" for k in range(400)]
    (folder / "survey.csv").write_text("\n".join(["school,answer,score,age,pupil", *rows]) + "\n")


PLAN = """\
[source]
path = "survey.csv"

[groups]
by = ["school"]
keys = ["North", "South", "East", "West"]
size = 100

[people]
name = "pupils"
one_record_each = ["pupil"]

[columns.answer]
labels = ["yes", "no", "unsure"]

[columns.score]
low = 0
high = 10

[privacy]
epsilon = 2

[[statistics]]
count = "answer = 'yes'"
name = "yes"

[[statistics]]
mean = "score"

[output]
path = "released.csv"
credible_level = 0.9
"""


CURATOR = """\
[limits]
design_seconds = 300

[datasets.survey]
title = "400 pupils of four schools"
edition = "2026-11"
source.path = "survey.csv"
people = { name = "pupils", one_record_each = ["pupil"] }
budget.epsilon = 10
groups = { by = ["school"], keys = ["North", "South", "East", "West"], size = 100 }
columns.age = { low = 8, high = 16 }
columns.answer = { labels = ["yes", "no", "unsure"] }
columns.score = { labels = ["0", "1", "2"], other = "2" }
"""


def curator_in(folder: Path) -> Curator:
    """A curator of the survey, with an owner and an analyst."""
    write_survey(folder)
    (folder / "curator.toml").write_text(CURATOR)
    made = Curator.open(folder / "curator.toml")
    made.add_account("owner", role="owner")
    made.add_account("analyst", {"survey": "5"})
    return made


@pytest.fixture(scope="session")
def work() -> Iterator[JobQueue]:
    made = JobQueue()
    yield made
    made.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "folder"
    place.mkdir()
    write_survey(place)
    (place / "plan.toml").write_text(PLAN)
    return place


class Listener:
    """A server in this process; the app that answers may be another for each test."""

    app: Any

    def __init__(self) -> None:
        self.socket = open_socket(0)
        self.port = self.socket.getsockname()[1]
        config = uvicorn.Config(self, interface="asgi3", lifespan="off", log_level="warning", access_log=False)
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.socket]}, daemon=True)
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.app(scope, receive, send)

    def close(self) -> None:
        self.server.should_exit = True
        self.thread.join()
        self.socket.close()


class Served:
    """A studio that listens, in this process."""

    def __init__(self, folder: Path, work: JobQueue, listener: Listener | None = None, **asks: Any) -> None:
        self.folder, self.listener, self.is_alone = folder, listener or Listener(), listener is None
        self.guard = make_auth(self.listener.port)
        self.address = f"http://127.0.0.1:{self.listener.port}"
        self.listener.app = app(Studio(Workspace.from_path(folder), work, **asks), self.guard)

    def close(self) -> None:
        if self.is_alone:
            self.listener.close()


@pytest.fixture(scope="session")
def listener() -> Iterator[Listener]:
    """One server for the tests of a worker: to start and stop one takes longer than most tests."""
    made = Listener()
    yield made
    made.close()


@pytest.fixture
def outside(folder: Path, work: JobQueue, listener: Listener) -> Iterator[httpx.Client]:
    """A client that nobody let in."""
    made = Served(folder, work, listener)
    with httpx.Client(base_url=made.address, timeout=60) as client:
        client.served = made  # type: ignore[attr-defined]
        yield client


@pytest.fixture
def client(outside: httpx.Client) -> httpx.Client:
    """A client that has exchanged the token, as a browser on the studio's own pages."""
    outside.get(f"/enter?token={outside.served.guard.token}")  # type: ignore[attr-defined]
    outside.headers["origin"] = str(outside.base_url).rstrip("/")
    return outside


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, work: JobQueue) -> Iterator[Served]:
    place = tmp_path_factory.mktemp("studio")
    write_survey(place)
    with curator_in(tmp_path_factory.mktemp("curator")) as curator:
        made = Served(place, work, curator=curator, account="owner")
        yield made
        made.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if not CHROMIUM.exists():
        pytest.skip(f"needs {CHROMIUM}")
    with chromium() as found:
        yield found
