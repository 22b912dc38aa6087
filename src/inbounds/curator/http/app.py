"""The HTTP routes: parse, call the curator, respond. Each is a call that Python users have too."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from http import HTTPStatus
from threading import Barrier, Lock
from typing import Annotated, Any, TypeVar

from fastapi import Depends, FastAPI, Header, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.exceptions import HTTPException

from inbounds import __version__
from inbounds.curator import Curator
from inbounds.curator.accounts import Account
from inbounds.curator.answer import Answer
from inbounds.curator.errors import CuratorBusy, UnknownToken
from inbounds.curator.http import models
from inbounds.curator.http.docs_page import add_docs
from inbounds.curator.http.errors import MEDIA, UNAVAILABLE, HttpProblem, to_problem
from inbounds.curator.http.health import HealthMonitor
from inbounds.curator.http.limits import ADMISSION, Admission, RequestLimits
from inbounds.curator.http.metrics import Metrics
from inbounds.curator.reuse import PricedQuestion
from inbounds.errors import InboundsError
from inbounds.exact import format_decimal

T = TypeVar("T")

log = logging.getLogger(__name__)

DESCRIPTION = "Questions about datasets, answered with differential privacy from one budget for all who ask."

PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": models.ProblemModel, "content": {MEDIA: {}}, "description": words}
    for status, words in {
        400: "the request cannot be read",
        401: "no account has this token",
        403: "this account may not",
        404: "there is none, for this account",
        408: "the request came too slowly",
        409: "over budget, over the account's cap or rows, a key used for another question, or one never answered",
        413: "the request is too long",
        422: "this is no question that can be answered",
        429: "too often, or another question of this account is being prepared",
        503: "not available now; ask again, which is charged only once, unless the dataset is closed",
    }.items()
}

bearer = HTTPBearer(auto_error=False, description="The token of an account.")
DatasetName = Annotated[str, Path(max_length=200)]


MOST_WAITING = 64
"""Calls that may take long, running or waiting: more are refused."""


class Threads:
    """Threads for the curator's calls, each with its connections, and the queues before them.

    The account is looked up in a separate thread, so a request waits only once for others. A queue takes a fixed number
    of calls, and more are refused before anything is charged. So requests that were admitted wait for a bounded number
    of others. Health checks wait for no thread.
    """

    def __init__(self, curator: Curator) -> None:
        self.curator, self._closed = curator, False
        limits = curator.limits
        sizes = {"designing": limits.designs + 1, "curator": limits.threads, "evaluating": limits.evaluations}
        sizes |= {"accounts": 1}
        self._pools = {name: ThreadPoolExecutor(size, thread_name_prefix=name) for name, size in sizes.items()}
        self._sizes, self._waiting = sizes, set[str]()
        self._most = {name: size * (1 + limits.waiting) for name, size in sizes.items()}
        self._most["accounts"] += self._most["curator"]  # a look-up is short
        self._queued, self._counting = Counter[tuple[str, str]](), Lock()
        self.health = HealthMonitor(curator.check, curator.close_thread)

    async def long(self, call: Callable[..., T], account: Account, *arguments: Any) -> T:
        """Run a call that may take long, in its own queue: one for each account, and not too many in all."""
        if account.name in self._waiting:
            raise CuratorBusy("one question of an account is prepared at a time; wait for the other")
        if len(self._waiting) >= MOST_WAITING:
            raise CuratorBusy("too many questions are being prepared; ask again in a while")
        self._waiting.add(account.name)
        began = self._pools["designing"].submit(call, account, *arguments)
        began.add_done_callback(lambda _: self._waiting.discard(account.name))  # even if the client has gone
        return await asyncio.wrap_future(began)

    async def run(self, call: Callable[..., T], *arguments: Any, **named: Any) -> T:
        """Run a call in one of the threads. It finishes even if the client has gone, and its answer is then stored."""
        return await self._submit("curator", partial(call, *arguments, **named))

    async def evaluate(self, call: Callable[..., T], account: Account, *arguments: Any, **named: Any) -> T:
        """Run a call that reads data, in its own queue: each holds its thread for a time fixed beforehand.

        No account has more of the queue than what can be evaluated at once.
        """
        return await self._submit("evaluating", partial(call, account, *arguments, **named), account.name)

    @property
    def number(self) -> int:
        """Return how many threads may want the interpreter at once, slots and the loop of requests included."""
        return sum(self._sizes.values()) + self.curator.limits.evaluations + 2

    async def _submit(self, name: str, call: Callable[[], T], account: str = "") -> T:
        """Run a call in a pool if its queue has room. account: whose part of the queue is limited as well."""
        places = {(name, ""): self._most[name], **({(name, account): self._sizes[name]} if account else {})}
        with self._counting:
            if any(self._queued[place] >= most for place, most in places.items()):
                raise CuratorBusy("too many requests are waiting; ask again in a while")
            self._queued.update(places.keys())
        began = self._pools[name].submit(call)
        began.add_done_callback(lambda _: self._leave_queue(places))  # even if the client has gone
        return await asyncio.wrap_future(began)

    def _leave_queue(self, places: Iterable[tuple[str, str]]) -> None:
        with self._counting:
            for place in places:
                self._queued[place] -= 1
                if not self._queued[place]:
                    del self._queued[place]

    async def account(self, token: str) -> Account:
        """Return the account with this token."""
        return await self._submit("accounts", partial(self.curator.account, token))

    def close(self) -> None:
        """Wait for running calls, close every thread's connections, then the design processes. A second call does
        nothing.
        """
        if self._closed:
            return
        self._closed = True
        self.health.close()
        for name, pool in self._pools.items():
            gate = Barrier(self._sizes[name])  # a barrier: each thread closes its connections exactly once
            for left in [pool.submit(self._leave, gate) for _ in range(self._sizes[name])]:
                left.result()
            pool.shutdown(wait=True)
        self.curator.close()

    def _leave(self, gate: Barrier) -> None:
        gate.wait()
        self.curator.close_thread()


def app(curator: Curator) -> FastAPI:
    """Return the service of a curator behind its limits; other pages may be mounted on it."""
    threads = Threads(curator)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        threads.close()

    service = FastAPI(
        title="inbounds curator",
        version=__version__,
        description=DESCRIPTION,
        responses=PROBLEMS,
        docs_url=None,  # FastAPI's page would load scripts from elsewhere; `add_docs` adds ours
        redoc_url=None,
        lifespan=lifespan,
    )
    service.state.threads, service.state.metrics = threads, Metrics(lambda: curator.reopened)
    service.add_middleware(RequestLimits, limits=curator.limits, metrics=service.state.metrics)
    for kind in (InboundsError, ValueError):  # any other error is unexpected, and the limits withhold its message
        service.add_exception_handler(kind, _answer_problem)
    service.add_exception_handler(RequestValidationError, _answer_invalid)
    service.add_exception_handler(HTTPException, _answer_http)
    for path, route, method, form in ROUTES:
        service.add_api_route(path, route, methods=[method], response_model=form, operation_id=route.__name__)
    add_docs(service)
    return service


# --- who asks ---------------------------------------------------------------------------------------------


def _threads(request: Request) -> Threads:
    threads: Threads = request.app.state.threads
    return threads


async def _account(
    threads: Annotated[Threads, Depends(_threads)],
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
) -> Account:
    if credentials is None:
        raise UnknownToken("a request must have the header Authorization: Bearer, with the token of an account")
    return await threads.account(credentials.credentials)


def _admission(request: Request) -> Admission:
    admission: Admission = request.scope[ADMISSION]
    return admission


Run = Annotated[Threads, Depends(_threads)]
Admitted = Annotated[Admission, Depends(_admission)]
Asker = Annotated[Account, Depends(_account)]
Key = Annotated[str | None, Header(alias="Idempotency-Key", max_length=200, description="Of this account.")]

Before = Annotated[str | None, Query(max_length=64, description="The `next` of the page before.")]


# --- routes -----------------------------------------------------------------------------------------------


async def datasets(run: Run, account: Asker) -> dict[str, Any]:
    """List the datasets that this account may ask."""
    return {"datasets": [dataset.describe() for dataset in run.curator.datasets(account)]}


async def dataset(run: Run, account: Asker, name: DatasetName) -> dict[str, Any]:
    """Return the public facts about a dataset."""
    return run.curator.dataset(account, name).describe()


async def preview(
    run: Run, admission: Admitted, account: Asker, name: DatasetName, question: models.Question
) -> dict[str, Any]:
    """Preview a question: free, and reads no data."""
    priced = await run.run(run.curator.price, account, name, question)
    if await run.run(run.curator.needs_design, account, name, priced):
        admission.leave()
        await run.long(run.curator.preview, account, name, priced)
    result = await run.run(run.curator.preview, account, name, priced)
    return result.to_json()


async def ask(
    run: Run, admission: Admitted, account: Asker, name: DatasetName, question: models.Question, key: Key = None
) -> dict[str, Any]:
    """Answer a question; charged once, however often it is asked."""
    priced, result = await run.run(_ask_stored, run.curator, account, name, question, key)
    if result is None:  # requests that wait for a design or for data have their own queues
        needs_design = await run.run(run.curator.needs_design, account, name, priced)
        admission.leave()
        if needs_design:
            await run.long(run.curator.prepare, account, name, priced)
        admission.timeout.reschedule(None)  # what is charged leaves at its moment, however long the queue was
        result = await run.evaluate(run.curator.ask, account, name, priced, key=key)
    return result.to_json()


def _ask_stored(
    curator: Curator, account: Account, name: str, values: Mapping[str, Any], key: str | None
) -> tuple[PricedQuestion, Answer | None]:
    """Price a question, and answer it if its answer is stored."""
    priced = curator.price(account, name, values)
    return priced, curator.ask_stored(account, name, priced, key=key)


async def answer(run: Run, account: Asker, id: Annotated[str, Path(max_length=64)]) -> dict[str, Any]:  # noqa: A002
    """Return an answer that was issued to this account."""
    result = await run.run(run.curator.answer, account, id)
    return result.to_json()


async def mechanism(run: Run, account: Asker, sha256: Annotated[str, Path(max_length=64)]) -> Response:
    """Return the passport of a mechanism that drew an answer of this account."""
    return Response(await run.run(run.curator.mechanism, account, sha256), media_type="application/json")


async def account(run: Run, account: Asker, before: Before = None) -> dict[str, Any]:
    """Describe this account: what it may ask, what is left of its caps, and a page of its answers, the last first."""
    issued, following = await run.run(run.curator.answers_page, account, before)
    answers = [
        {
            "id": one.id,
            "dataset": one.dataset,
            "question": one.question,
            "how": one.how,
            "epsilon": format_decimal(one.epsilon),
            "time": one.time,
        }
        for one in issued
    ]
    return {**account.to_json(), "answers": answers, "next": following}


async def ledger(run: Run, account: Asker) -> dict[str, Any]:
    """Return what was spent on each population, and which datasets are closed. Owners only."""
    return await run.run(run.curator.ledger, account)


async def reopen(run: Run, account: Asker, name: DatasetName) -> dict[str, Any]:
    """Reopen a dataset that was closed because an evaluation failed. Owners only."""
    status = await run.run(run.curator.reopen, account, name)
    return status.to_json()


async def exposure(run: Run, admission: Admitted, account: Asker, name: DatasetName) -> dict[str, Any]:
    """Return what accounts that share their answers could know by now. Owners only."""
    admission.leave()
    result = await run.long(run.curator.exposure, account, name)
    return result.to_json()


async def healthz(run: Run) -> dict[str, str]:
    """Return whether the ledger and the database can be read: the result of the last look, at most seconds ago."""
    await run.health.require_health()
    return {"status": "ok"}


async def metrics(request: Request) -> Response:
    """Return counts of requests for Prometheus."""
    return Response(request.app.state.metrics.text(), media_type="text/plain; version=0.0.4")


ROUTES: list[tuple[str, Callable[..., Any], str, Any]] = [
    ("/v1/datasets", datasets, "GET", models.DatasetsForm),
    ("/v1/datasets/{name}", dataset, "GET", models.DatasetModel),
    ("/v1/datasets/{name}/preview", preview, "POST", models.PreviewModel),
    ("/v1/datasets/{name}/answers", ask, "POST", models.AnswerModel),
    ("/v1/answers/{id}", answer, "GET", models.AnswerModel),
    ("/v1/mechanisms/{sha256}", mechanism, "GET", None),
    ("/v1/account", account, "GET", models.AccountBody),
    ("/v1/ledger", ledger, "GET", models.LedgerBody),
    ("/v1/datasets/{name}/reopen", reopen, "POST", models.StatusForm),
    ("/v1/datasets/{name}/exposure", exposure, "GET", models.ExposureForm),
    ("/healthz", healthz, "GET", models.HealthForm),
    ("/metrics", metrics, "GET", None),
]


NOTHING_HERE = "a curator has nothing at this address; clients need its url without a path: {url}"


# --- errors -----------------------------------------------------------------------------------------------


def _problem_response(problem: HttpProblem, headers: dict[str, str] | None = None) -> Response:
    return Response(problem.body(), problem.status, headers={**problem.headers(), **(headers or {})})


async def _answer_problem(request: Request, error: Exception) -> Response:
    problem = to_problem(error)
    if problem is UNAVAILABLE:  # nothing that a request should cause, such as a ledger that cannot be read
        request.app.state.metrics.count_failure()
        log.warning("a request failed: %s", type(error).__name__)
    return _problem_response(problem)


async def _answer_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return _problem_response(to_problem(ValueError(models.explain_validation_error(error.errors()[0])[:500])))


async def _answer_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    url = str(request.base_url).rstrip("/")  # as the caller wrote it
    detail = NOTHING_HERE.format(url=url) if status is HTTPStatus.NOT_FOUND else str(error.detail)
    return _problem_response(
        HttpProblem(status.phrase.lower().replace(" ", "-"), status, detail), dict(error.headers or {})
    )
