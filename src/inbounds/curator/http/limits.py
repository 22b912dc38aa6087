"""Limits around every route: admission, body sizes, time, and the ticks at which answers leave.

Requests are admitted by counts alone, before anything is read or charged: so many of one account, by its rate; so many
of all accounts in one tick; so many in progress at once, for each thread that answers, besides those in the queues for
designs and data (`app.Threads`). How long an engine works and how loaded the machine is decide nothing. Who is not
admitted may come again after a constant pause; who does not wait for it is answered at its end. So a connection costs
no more than a refusal for each pause, however fast its client asks. Health checks are always admitted.

The answer to a question that reads data leaves at a moment fixed beforehand (`curator.timing`), at the next tick. All
other requests read no data. Their time depends on stored designs, accounts and tables, and on other requests at the
same time. They leave at the next multiple of a tick after their request came, which hides small differences. A request
that takes longer than the limit gets one constant refusal.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from fastapi.security.utils import get_authorization_scheme_param

from inbounds.curator.http.errors import RETRY_SECONDS, UNAVAILABLE, HttpProblem
from inbounds.curator.http.metrics import Metrics
from inbounds.curator.settings import ServiceLimits

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

UNCOUNTED = ("/healthz", "/metrics")
"""Routes without a rate limit. They wait for a tick too; otherwise they would show the load exactly."""

ADMISSION = "inbounds.admission"
"""Where a request has its `Admission`."""

MOST_CLIENTS = 100_000
"""Clients that are remembered before those are forgotten who made a pause."""

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
        if len(self._left) > MOST_CLIENTS:  # a full bucket needs no entry
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
class Places:
    """The places of requests in progress. most: how many there are."""

    most: int
    taken: int = 0

    def take(self) -> bool:
        """Take a place if one is free, and return whether it was."""
        if self.taken >= self.most:
            return False
        self.taken += 1
        return True


@dataclass
class Admission:
    """A request that was admitted: its time limit, and its place until it waits in another queue or is answered."""

    timeout: asyncio.Timeout
    places: Places
    has_place: bool = True

    def leave(self) -> None:
        """Give the place to another request. A second call does nothing."""
        self.places.taken -= self.has_place
        self.has_place = False


@dataclass
class Refusals:
    """When refused clients are told so: at once, or where a pause that they do not make ends; so many in one tick.

    Otherwise many that were refused together would be answered together, and everybody else would wait for them.
    pause: in seconds. tick, most: of a tick, as in `TickCount`.
    """

    pause: float
    tick: float
    most: int
    clock: Callable[[], float] = time.monotonic
    _ends: dict[str, float] = field(default_factory=dict, repr=False)
    _leaving: Counter[int] = field(default_factory=Counter, repr=False)

    def refuse(self, who: str) -> float:
        """Return when a client is told that it is refused."""
        now = self.clock()
        end = self._ends.get(who, now)
        if end <= now:
            if len(self._ends) > MOST_CLIENTS:
                self._ends = {name: end for name, end in self._ends.items() if end > now}
            self._ends[who] = now + self.pause
            end = now
        return max(end, self._find_tick(now, end) * self.tick)

    def _find_tick(self, now: float, end: float) -> int:
        """Take a place in the first tick from `end` on that has one."""
        if not self.tick:
            return 0
        for past in [one for one in self._leaving if one < int(now / self.tick)]:
            del self._leaving[past]
        number = int(end / self.tick)
        while self._leaving[number] >= self.most:
            number += 1
        self._leaving[number] += 1
        return number


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
        self._places = Places(limits.threads * (1 + limits.waiting))
        self._refusals = Refusals(RETRY_SECONDS, limits.tick, limits.tick_requests, clock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = self._clock()
        response = await self._response(scope, receive)
        is_refused = response.status == HTTPStatus.TOO_MANY_REQUESTS
        await self._wait_for_tick(began, self._refusals.refuse(_client(scope)) if is_refused else began)
        self.metrics.note(scope["method"], _route(scope), response.status)
        headers = [header for header in response.headers if header[0] != NO_STORE[0]]
        await send({"type": "http.response.start", "status": response.status, "headers": [*headers, NO_STORE]})
        await send({"type": "http.response.body", "body": bytes(response.body)})

    async def _response(self, scope: Scope, receive: Receive) -> BufferedResponse:
        is_counted = scope["path"] not in UNCOUNTED
        if is_counted:
            if not self._buckets.take(_client(scope)):
                return BufferedResponse.from_problem(TOO_OFTEN)
            if not self._all.take():
                return BufferedResponse.from_problem(TOO_MANY)
        body = await self._body(receive)
        if isinstance(body, HttpProblem):
            return BufferedResponse.from_problem(body)
        if is_counted and not self._places.take():
            return BufferedResponse.from_problem(TOO_MANY)
        response = await self._admit(scope, body, has_place=is_counted)
        # unknown tokens are counted by address, so that strangers cannot lock an account out
        if response.status == HTTPStatus.UNAUTHORIZED and not self._strangers.take(_address(scope)):
            return BufferedResponse.from_problem(TOO_OFTEN)
        return response

    async def _admit(self, scope: Scope, body: bytes, *, has_place: bool) -> BufferedResponse:
        """Let a request in; return what the app responds."""
        response, timeout = BufferedResponse(), asyncio.timeout(self.limits.seconds)
        admission = scope[ADMISSION] = Admission(timeout, self._places, has_place)
        try:
            async with timeout:
                await self.app(scope, _replay_body(body), response.take)
        except Exception:  # unexpected: its message may quote data
            self.metrics.count_failure()
            return BufferedResponse.from_problem(UNAVAILABLE)
        finally:
            admission.leave()
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

    async def _wait_for_tick(self, began: float, earliest: float) -> None:
        """Wait for the next multiple of a tick after the request began, but at least until the earliest moment."""
        tick, passed = self.limits.tick, self._clock() - began
        least = max(passed, earliest - began)
        if tick:
            await self._sleep((int(least / tick) + 1) * tick - passed)
        elif least > passed:
            await self._sleep(least - passed)


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


def _address(scope: Scope) -> str:
    return str((scope.get("client") or ("",))[0])


def _client(scope: Scope) -> str:
    """Return the number by which a client's requests are counted, which means nothing elsewhere; its address without a
    token.

    The token is read from the header as the routes read it, so that no other spelling counts anew.
    """
    header = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
    _, token = get_authorization_scheme_param(header.decode("latin-1"))
    return f"token {hash(token)}" if token else _address(scope)


def _route(scope: Scope) -> str:
    """Return the route's pattern instead of the path, because paths contain names that people chose."""
    return getattr(scope.get("route"), "path", "none")
