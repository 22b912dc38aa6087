"""Limits around every route: body sizes, rates, time, and the ticks at which answers leave.

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

NO_STORE = (b"cache-control", b"no-store")
"""Sent with every response, so that no proxy stores it."""

TOO_LARGE = HttpProblem("too-large", HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "a request must be shorter; see the limits")
TOO_SLOW = HttpProblem("too-slow", HTTPStatus.REQUEST_TIMEOUT, "a request must arrive sooner after it began")
TOO_OFTEN = HttpProblem("too-often", HTTPStatus.TOO_MANY_REQUESTS, "requests must come less often; wait a second")


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
        if scope["path"] not in UNCOUNTED and not self._buckets.take(_token(scope) or address):
            return BufferedResponse.from_problem(TOO_OFTEN)
        body = await self._body(receive)
        if isinstance(body, HttpProblem):
            return BufferedResponse.from_problem(body)
        response = BufferedResponse()
        try:
            async with asyncio.timeout(self.limits.seconds):
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
    """Return the number by which a client's requests are counted; it means nothing elsewhere."""
    header = next((value for name, value in scope["headers"] if name == b"authorization"), None)
    return f"token {hash(header)}" if header else ""


def _route(scope: Scope) -> str:
    """Return the route's pattern instead of the path, because paths contain names that people chose."""
    return getattr(scope.get("route"), "path", "none")
