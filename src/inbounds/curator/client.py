"""A client that asks a curator over HTTP: the same questions, answers and errors as in Python on the curator's machine.

c = ib.connect("http://127.0.0.1:8400", token)
c.ask("adult", mean="age", by=["sex"], epsilon="0.5").to_pandas()
"""

import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from numbers import Number
from pathlib import Path
from types import TracebackType
from typing import Any

from inbounds.curator.answer import Answer, AnswerCost
from inbounds.curator.errors import (
    CapExceeded,
    CuratorBusy,
    CuratorError,
    CuratorUnavailable,
    DatasetClosed,
    DesignTooExpensive,
    EvaluationFailed,
    Forbidden,
    KeyConflict,
    RowLimitExceeded,
    UnknownResource,
    UnknownToken,
)
from inbounds.curator.preview import QuestionPreview
from inbounds.errors import BudgetExceeded
from inbounds.exact import to_fraction
from inbounds.files import LoadedFile
from inbounds.ledger.population import validate_name
from inbounds.mechanism import AnyMechanism
from inbounds.mechanism.load import load
from inbounds.optional import import_optional

TRIES = 5
"""How often one request is tried before its failure is raised."""

PAUSE = 0.2
"""Seconds before the second try; twice as many before each that follows."""

AGAIN = (408, 425, 429, 502, 503, 504)
"""Statuses that a later try may not get: too early, too often, not available now."""

PREFIX = "urn:inbounds:problem:"

KINDS: dict[str, Callable[[str], Exception]] = {
    "not-known": UnknownToken,
    "not-allowed": Forbidden,
    "not-found": UnknownResource,
    "key-taken": KeyConflict,
    "busy": CuratorBusy,
    "too-much": DesignTooExpensive,
    "not-a-question": ValueError,
}
"""The error that each problem is raised as."""


def connect(url: str, token: str, *, seconds: float = 60.0, transport: Any = None) -> "CuratorClient":
    """Connect to a curator.

    url: where `inbounds curator serve` answers. token: of an account. seconds: how long one try may take.
    transport: an httpx transport, for tests and special proxies.
    """
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        # the value is not quoted: it may be the token
        raise ValueError("url must begin with http:// or https://, such as http://127.0.0.1:8400; the token is apart")
    if not isinstance(token, str) or not token.isascii() or not token.isprintable() or not token.strip() == token > "":
        raise ValueError("token must be the text that was shown when the account was made")
    return CuratorClient(url, token, seconds, transport)


class CuratorClient:
    """The connection of an account to a curator, made by `connect`; a context manager that closes it.

    A request that fails on the way is sent again if that changes nothing: one that only reads, or a question with the
    same key, which is charged once however often it is sent. Redirections are not followed.
    """

    def __init__(self, url: str, token: str, seconds: float, transport: Any) -> None:
        self.url, self._httpx = url.rstrip("/"), import_optional("httpx", "curator")
        headers = {"authorization": f"Bearer {token}", "accept": "application/json"}
        self._http = self._httpx.Client(base_url=self.url, headers=headers, timeout=seconds, transport=transport)

    def __enter__(self) -> "CuratorClient":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self.url!r})"

    def close(self) -> None:
        self._http.close()

    def datasets(self) -> list[str]:
        """Return the names of the datasets that this account may ask; `describe` says what they hold."""
        body = self._get("/v1/datasets")
        with _understood(self.url):
            return [str(one["name"]) for one in body["datasets"]]

    def describe(self, name: str) -> dict[str, Any]:
        """Return the public facts about a dataset: its columns with their bounds, its groups, edition and levels."""
        return self._get(f"/v1/datasets/{_part(name)}")

    def preview(self, name: str, **question: Any) -> QuestionPreview:
        """Return what a question would cost and how exact it would be; free, and reads no data. question: as
        for `ask`.
        """
        body = self._post(f"/v1/datasets/{_part(name)}/preview", question, {})
        with _understood(self.url):
            lists = {name: tuple(body[name]) for name in ("no_better", "accuracy", "account")}
            return QuestionPreview(**{**body, **lists})

    def ask(self, name: str, *, key: str | None = None, **question: Any) -> Answer:
        """Ask a question about a dataset and return the answer.

        question: one statistic as a plan writes it (`count="age > 50"`, `mean="age"`, `quantile="score", at="0.9"`,
        `crosstab=["gender", "answer"]`; the reference lists all statistics), with `where="…"`, `by=[…]`,
        `epsilon="0.5"` and the design options of a plan.
        key: of this request, the same for every try; a random one unless given.
        The same question again is answered from what is stored, and costs the people's budget nothing.
        """
        name, headers = _part(name), {"idempotency-key": secrets.token_hex(16) if key is None else _key(key)}
        body = self._post(f"/v1/datasets/{name}/answers", question, headers)
        with _understood(self.url):
            return _answer(body)

    def answers(self) -> list[dict[str, Any]]:
        """List the answers issued to this account, the last first: id, dataset, question, how, epsilon, time."""
        answers, page = list[dict[str, Any]](), ""
        while True:
            body = self._get("/v1/account" + page)
            with _understood(self.url):
                answers += body["answers"]
                if body["next"] is None:
                    return answers
                page = f"?before={_part(body['next'])}"

    def answer(self, id: str) -> Answer:  # noqa: A002 - as the service calls it
        """Return an answer that was issued to this account, by its id."""
        body = self._get(f"/v1/answers/{_part(id)}")
        with _understood(self.url):
            return _answer(body)

    def account(self) -> dict[str, Any]:
        """Describe this account: what it may ask, its caps and what is left of them."""
        return {name: value for name, value in self._get("/v1/account").items() if name not in ("answers", "next")}

    def mechanism(self, sha256: str) -> AnyMechanism:
        """Return the mechanism that drew an answer of this account, by the digest in the answer; it is certified again
        here.
        """
        response = self._send("GET", f"/v1/mechanisms/{_part(sha256)}")
        with _understood(self.url):
            loaded = LoadedFile(Path(sha256), response.content)
            if loaded.format is None:
                raise TypeError
        return load(loaded)

    def ledger(self) -> dict[str, Any]:
        """Return what was spent on each population, the ledger's head, and which datasets are closed. Owners only."""
        return self._get("/v1/ledger")

    def reopen(self, name: str) -> dict[str, Any]:
        """Reopen a dataset that was closed because an evaluation failed, and return its status. Owners only."""
        return _read(self._send("POST", f"/v1/datasets/{_part(name)}/reopen"))

    def exposure(self, name: str) -> dict[str, Any]:
        """Return what accounts that share their answers could know by now. Owners only."""
        return self._get(f"/v1/datasets/{_part(name)}/exposure")

    # --- the way there ------------------------------------------------------------------------------------

    def _get(self, path: str) -> dict[str, Any]:
        return _read(self._send("GET", path))

    def _post(self, path: str, question: Mapping[str, Any], headers: Mapping[str, str]) -> dict[str, Any]:
        return _read(self._send("POST", path, json=_plain_question(question), headers=headers))

    def _send(self, method: str, path: str, **more: Any) -> Any:
        """Send a request, again where that may help and changes nothing, and return the response. A problem is raised
        as the error that it names.
        """
        response, failure = None, None
        changes = method != "GET" and not path.endswith("/preview") and "idempotency-key" not in more.get("headers", {})
        for k in range(1 if changes else TRIES):
            if k:
                time.sleep(max(PAUSE * 2 ** (k - 1), _wished_pause(response)))
            try:
                response = self._http.request(method, path, **more)
            except self._httpx.TransportError as reason:
                response, failure = None, reason
                continue
            if response.status_code not in AGAIN or _is_closed(response):
                break
        if response is None:
            raise RequestFailed(self.url, more.get("headers", {}).get("idempotency-key")) from failure
        if response.is_success:
            return response
        raise _error(response)


class RequestFailed(CuratorError):
    """The curator could not be reached. key: the key to ask again with."""

    def __init__(self, url: str, key: str | None) -> None:
        self.key = key
        again = f"; ask again with the key {key!r}, which is charged only once" if key else ""
        super().__init__(f"{url} could not be reached, or did not answer in time{again}")


def _read(response: Any) -> dict[str, Any]:
    """Read the object that a response holds."""
    with _understood(str(response.url)):
        body = response.json()
        if not isinstance(body, dict):
            raise TypeError
        return body


@contextmanager
def _understood(url: str) -> Iterator[None]:
    """Turn anything that is wrong with a response into a `CuratorError`."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise CuratorError(f"{url} must be a curator, got an answer that none gives") from None


def _key(key: str) -> str:
    """Return a key as a header carries it."""
    if not validate_name(key, "key").isascii():
        raise ValueError(f"key must be of ASCII characters, got {key!r}")
    return key


def _answer(body: dict[str, Any]) -> Answer:
    lists = {"mechanisms": tuple(body["mechanisms"]), "values": tuple(body["values"])}
    return Answer(**{**body, **lists, "cost": AnswerCost(**body["cost"])})


def _plain_question(question: Mapping[str, Any]) -> dict[str, Any]:
    """Return a question as it is sent: exact numbers as text, a single group column as a list."""
    values = {name: _to_json_value(value, name) for name, value in question.items() if value is not None}
    return {**values, "by": [values["by"]]} if isinstance(values.get("by"), str) else values


def _to_json_value(value: Any, name: str) -> Any:
    if isinstance(value, bool | str):
        return value
    if isinstance(value, Number):  # NumPy's too
        return str(to_fraction(value, name))  # type: ignore[arg-type]
    if isinstance(value, Mapping):
        return {key: _to_json_value(part, f"{name}.{key}") for key, part in value.items()}
    if isinstance(value, Iterable):
        return [_to_json_value(part, name) for part in value]
    raise ValueError(f"{name} must be a text, a number or a list, got {type(value).__name__}")


def _part(name: str) -> str:
    """Return a name as one part of a path."""
    from urllib.parse import quote

    if not isinstance(name, str) or name in ("", ".", ".."):
        raise ValueError(f"name must be a text, got {name!r}; c.datasets() lists what may be asked")
    return quote(name, safe="")


def _is_closed(response: Any) -> bool:
    """Return whether the owner has to reopen the dataset first; another try would not help."""
    return isinstance(_error(response), DatasetClosed)


def _wished_pause(response: Any) -> float:
    """Return the seconds that the curator asks to wait."""
    wished = "" if response is None else response.headers.get("retry-after", "")
    return float(wished) if wished.isdecimal() and len(wished) < 3 else 0.0


def _error(response: Any) -> Exception:
    """Return the error that a problem document names; any other response is described by its status alone."""
    try:
        return _to_error(response.json())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return CuratorError(f"{response.url} must be a curator, got an answer of status {response.status_code}")


def _to_error(problem: Mapping[str, str]) -> Exception:
    kind = problem["type"].removeprefix(PREFIX)
    if kind == "unavailable":
        return CuratorUnavailable()
    if kind == "not-answered":
        return EvaluationFailed()
    if kind == "closed":
        return DatasetClosed(problem["dataset"])
    if kind == "over-cap":
        requested, left = (to_fraction(problem[name], name) for name in ("asked", "left"))
        return CapExceeded(problem["account"], requested, left, stored=problem.get("stored") == "True")
    if kind == "over-rows":
        return RowLimitExceeded(problem["account"], int(problem["asked"]), int(problem["most"]))
    if kind == "over-budget":
        requested, left, budget = (to_fraction(problem[name], name) for name in ("asked", "left", "budget"))
        return BudgetExceeded(problem["people"], requested, left, budget, problem["unit"])
    return KINDS.get(kind, CuratorError)(problem["detail"])
