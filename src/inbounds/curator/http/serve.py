"""Run the service with uvicorn, with limits and without a log of requests."""

import asyncio
import gc
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from os import PathLike, fspath
from typing import Any
from weakref import WeakSet

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.supervisors import Multiprocess

from inbounds.curator import Curator
from inbounds.curator.http.app import app
from inbounds.curator.settings import ServiceLimits
from inbounds.workers import end_with_parent

SETTINGS = "INBOUNDS_CURATOR"
"""The environment variable that tells worker processes their settings' file."""

CONCURRENT = 512
"""Connections at once; more are refused until some have ended."""

PAUSE, LONGEST_PAUSE = 0.002, 0.004
"""Seconds that a process pauses for each connection it has before it accepts the next one, and the longest pause."""

NO_ROOM = 1.0
"""Seconds until the next try after a connection could not be accepted."""

HEADER_SECONDS = 10
"""Seconds that a connection may take until its next request is complete but for its body."""

GRACE = 30
"""Seconds that requests may take to finish when the service ends."""


class PunctualProtocol(H11Protocol):
    """HTTP of a connection that is closed if nothing, or only a part of a request's headers, arrives in time."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for_headers()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._wait_for_headers()

    def _wait_for_headers(self) -> None:
        """Start the timer while a request's headers are missing, unless it runs; stop it otherwise."""
        if self.conn.their_state is not h11.IDLE:
            self._stop_timer()
        elif self._timer is None:
            self._timer = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)


OPTIONS: dict[str, Any] = {
    "http": PunctualProtocol,
    "access_log": False,  # an access log would store addresses and paths
    "log_level": "warning",
    "server_header": False,
    "timeout_keep_alive": HEADER_SECONDS,
    "timeout_graceful_shutdown": GRACE,
    "limit_concurrency": CONCURRENT,
    "h11_max_incomplete_event_size": 16_384,
}


class SharingLoop(asyncio.SelectorEventLoop):
    """An event loop that accepts connections one by one and pauses while it has some, so that other processes get
    theirs.

    A plain loop accepts all waiting connections, so one of several processes would do all the work.
    """

    async def create_server(self, protocol_factory: Any, *args: Any, backlog: int = 100, **named: Any) -> Any:
        if named.get("sock") is None:
            return await super().create_server(protocol_factory, *args, backlog=backlog, **named)
        server = await super().create_server(protocol_factory, *args, start_serving=False, **named)
        named["sock"].listen(backlog)
        self._taking = self.create_task(self._take_turns(protocol_factory, named["sock"]))
        return server

    async def _take_turns(self, protocol_factory: Any, sock: socket.socket) -> None:
        transports = WeakSet[asyncio.BaseTransport]()
        while sock.fileno() >= 0:
            pause = NO_ROOM
            with suppress(OSError):  # as with too many open files
                connection, _ = await self.sock_accept(sock)
                transport, _ = await self.connect_accepted_socket(protocol_factory, connection)
                transports.add(transport)
                pause = min(PAUSE * sum(not one.is_closing() for one in transports), LONGEST_PAUSE)
            await asyncio.sleep(pause)


class SharedConfig(uvicorn.Config):
    """Settings of a server whose worker processes share the work and send a body right after its headers.

    Without TCP_NODELAY on the shared socket, a connection waits for the client to acknowledge the headers first, which
    may take 40 ms.
    """

    def bind_socket(self) -> socket.socket:
        listener = super().bind_socket()
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # accepted connections inherit it
        return listener

    def get_loop_factory(self) -> Callable[[], asyncio.AbstractEventLoop]:
        return SharingLoop


class AnnouncingServer(uvicorn.Server):
    """A server that calls `announce` when it listens."""

    def __init__(self, config: uvicorn.Config, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self._announce = announce

    async def startup(self, sockets: list[Any] | None = None) -> None:
        await super().startup(sockets)
        self._announce()


def check_free(host: str, port: int) -> None:
    """Raise `ValueError` unless this process may listen there. Checked before tokens are made, which are shown only
    once.
    """
    if not 0 <= port < 1 << 16:
        raise ValueError(f"port must be between 0 and 65535, got {port}")
    try:
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError as error:
        reason = (error.strerror or str(error)).partition(" (while ")[0]
        raise ValueError(
            f"host and port must be free to listen at, got {host}:{port} ({reason}); give others"
        ) from None


def share_interpreter(limits: ServiceLimits, threads: int) -> None:
    """Let so many threads share the interpreter so that each of them has its turn within one tick.

    With Python's own interval of 5 ms a thread that waits for the disk ten times would wait for the others ten times
    as long, and under load an answer might not be drawn in time.
    """
    if limits.tick:
        sys.setswitchinterval(limits.tick / threads)


def spare_collections() -> None:
    """Exempt from garbage collection what was loaded so far, which stays for ever: a full collection of it stops all
    threads for more than a tenth of a second.
    """
    gc.collect()
    gc.freeze()


def serve(curator: Curator, host: str, port: int, announce: Callable[[], None] = lambda: None) -> None:
    """Answer requests in this process until it is interrupted; running requests finish first."""
    AnnouncingServer(uvicorn.Config(_prepare(curator), host=host, port=port, **OPTIONS), announce).run()


def serve_settings(path: str | PathLike[str], host: str, port: int, workers: int) -> None:
    """Answer requests in several processes, which share the database and ledger of the settings."""
    os.environ[SETTINGS] = fspath(path)
    config = SharedConfig(
        f"{__name__}:from_environment", factory=True, host=host, port=port, workers=workers, **OPTIONS
    )
    Multiprocess(config, sockets=[config.bind_socket()]).run()


def from_environment() -> FastAPI:
    """Return the app of a worker process, which ends when the process that started it is gone."""
    end_with_parent(_end_worker)
    return _prepare(Curator.open(os.environ[SETTINGS]))


def _end_worker() -> None:
    """End this process as on SIGTERM, and at once if running requests do not finish."""
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE)
    os._exit(1)


def _prepare(curator: Curator) -> FastAPI:
    """Return the app of a process that serves.

    Checks the sources first, which raises on errors, and writes warnings for the owner to standard error.
    """
    for line in (*curator.check_sources(), *curator.budget_conflicts()):
        sys.stderr.write(f"{line}\n")
    service = app(curator)
    share_interpreter(curator.limits, service.state.threads.number)
    spare_collections()
    return service
