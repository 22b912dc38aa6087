"""Limits around every route: admission, body sizes, time, and the ticks at which answers leave.

Requests are admitted by counts alone, before anything is read or charged: so many of one account, by its rate; so many
of all accounts in one tick; so many in their queues at once (`app.Threads`). How long an engine works and how loaded
the machine is decide nothing. Who is not admitted may come again after a constant pause. Health checks have a queue of
their own and are always admitted.

The answer to a question that reads data leaves at a moment fixed beforehand (`curator.timing`), at the next tick. All
other requests read no data. Their time depends on stored designs, accounts and tables, and on other requests at the
same time. They leave at the next multiple of a tick after their request came, which hides small differences. A request
that takes longer than the limit gets one constant refusal.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from fastapi.security.utils import get_authorization_scheme_param

from inbounds.curator.http.errors import UNAVAILABLE, HttpProblem
from inbounds.curator.http.metrics import Metrics
from inbounds.curator.settings import ServiceLimits

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

UNCOUNTED = ("/healthz", "/metrics")
"""Routes without a rate limit. They wait for a tick too; otherwise they would show the load exactly."""

TIMEOUT = "inbounds.timeout"
"""Where a request has its timeout, which ends for one that is about to be charged."""

NO_STORE = (b"cache-control", b"no-store")
"""Sent with every response, so that no proxy stores it."""

TOO_LARGE = HttpProblem("too-large", HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "a request must be shorter; see the limits")
TOO_SLOW = HttpProblem("too-slow", HTTPStatus.REQUEST_TIMEOUT, "a request must arrive sooner after it began")
TOO_OFTEN = HttpProblem("too-often", HTTPStatus.TOO_MANY_REQUESTS, "requests must come less often; wait a second")
TOO_MANY = HttpProblem("busy", HTTPStatus.TOO_MANY_REQUESTS, "too many requests came at once; wait a second")


@dataclass
class RateBuckets:
    """The requests that each client has left: they refill at a rate, up to a burst."""

    rate: float
    burst: int
    clock: Callable[[], float] = time.monotonic
    _left: dict[str, tuple[float, float]] = field(default_factory=dict, repr=False)

    def remaining(self, who: str) -> float:
        """Return how many requests are left."""
        now = self.clock()
        left, then = self._left.get(who, (float(self.burst), now))
        return min(float(self.burst), left + (now - then) * self.rate)

    def take(self, who: str) -> bool:
        """Take one request if one is left, and return whether it was."""
        now, left = self.clock(), self.remaining(who)
        if len(self._left) > 100_000:  # a full bucket needs no entry
            self._left = {name: (n, t) for name, (n, t) in self._left.items() if n + (now - t) * self.rate < self.burst}
        self._left[who] = (left - 1 if left >= 1 else left, now)
        return left >= 1


@dataclass
class TickCount:
    """The requests of all clients that are admitted in one tick. seconds: of a tick; 0 admits all."""

    seconds: float
    most: int
    clock: Callable[[], float] = time.monotonic
    _tick: int = 0
    _admitted: int = 0

    def take(self) -> bool:
        """Admit one request if there is room in this tick, and return whether there was."""
        if not self.seconds:
            return True
        tick = int(self.clock() / self.seconds)
        if tick != self._tick:
            self._tick, self._admitted = tick, 0
        self._admitted += 1
        return self._admitted <= self.most


@dataclass
class BufferedResponse:
    """The response of a route, held back until its tick."""

    status: int = 0
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytearray = field(default_factory=bytearray)

    async def take(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], list(message["headers"])
        elif message["type"] == "http.response.body":
            self.body += message.get("body", b"")

    @staticmethod
    def from_problem(problem: HttpProblem) -> "BufferedResponse":
        body = problem.body()
        headers = [(name.encode(), value.encode()) for name, value in problem.headers().items()]
        return BufferedResponse(
            int(problem.status), [*headers, (b"content-length", str(len(body)).encode())], bytearray(body)
        )


class RequestLimits:
    """An ASGI app behind its limits. clock, sleep: for tests."""

    def __init__(
        self,
        app: App,
        limits: ServiceLimits,
        metrics: Metrics,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.app, self.limits, self.metrics, self._clock, self._sleep = app, limits, metrics, clock, sleep
        self._buckets = RateBuckets(limits.rate, limits.burst, clock)
        self._strangers = RateBuckets(limits.rate, limits.burst, clock)
        self._all = TickCount(limits.tick, limits.tick_requests, clock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = self._clock()
        response = await self._response(scope, receive)
        await self._wait_for_tick(began)
        self.metrics.note(scope["method"], _route(scope), response.status)
        headers = [header for header in response.headers if header[0] != NO_STORE[0]]
        await send({"type": "http.response.start", "status": response.status, "headers": [*headers, NO_STORE]})
        await send({"type": "http.response.body", "body": bytes(response.body)})

    async def _response(self, scope: Scope, receive: Receive) -> BufferedResponse:
        address = (scope.get("client") or ("",))[0]
        if scope["path"] not in UNCOUNTED:
            if not self._buckets.take(_token(scope) or address):
                return BufferedResponse.from_problem(TOO_OFTEN)
            if not self._all.take():
                return BufferedResponse.from_problem(TOO_MANY)
        body = await self._body(receive)
        if isinstance(body, HttpProblem):
            return BufferedResponse.from_problem(body)
        response = BufferedResponse()
        try:
            async with asyncio.timeout(self.limits.seconds) as timeout:
                scope[TIMEOUT] = timeout
                await self.app(scope, _replay_body(body), response.take)
        except Exception:  # unexpected: its message may quote data
            self.metrics.count_failure()
            return BufferedResponse.from_problem(UNAVAILABLE)
        # unknown tokens are counted by address, so that strangers cannot lock an account out
        if response.status == HTTPStatus.UNAUTHORIZED and not self._strangers.take(address):
            return BufferedResponse.from_problem(TOO_OFTEN)
        return response

    async def _body(self, receive: Receive) -> bytes | HttpProblem:
        """Return the whole body, if it is small and arrives in time."""
        body = bytearray()
        try:
            async with asyncio.timeout(self.limits.seconds):
                while True:
                    message = await receive()
                    body += message.get("body", b"")
                    if len(body) > self.limits.body:
                        return TOO_LARGE
                    if message["type"] == "http.disconnect" or not message.get("more_body", False):
                        return bytes(body)
        except TimeoutError:
            return TOO_SLOW

    async def _wait_for_tick(self, began: float) -> None:
        tick = self.limits.tick
        if tick:
            passed = self._clock() - began
            await self._sleep((int(passed / tick) + 1) * tick - passed)


def _replay_body(body: bytes) -> Receive:
    """Return a body that was read, for the app to read again."""
    sent = False

    async def receive() -> Message:
        nonlocal sent
        if sent:
            await asyncio.Event().wait()  # a request that is held here does not disconnect
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


def _token(scope: Scope) -> str:
    """Return the number by which a client's requests are counted; it means nothing elsewhere.

    The token is read from the header as the routes read it, so that no other spelling counts anew.
    """
    header = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
    _, token = get_authorization_scheme_param(header.decode("latin-1"))
    return f"token {hash(token)}" if token else ""


def _route(scope: Scope) -> str:
    """Return the route's pattern instead of the path, because paths contain names that people chose."""
    return getattr(scope.get("route"), "path", "none")
