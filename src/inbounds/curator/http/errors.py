"""Errors as RFC 9457 problem details: a type for programs, a title, and one sentence."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

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
from inbounds.errors import BudgetExceeded

MEDIA = "application/problem+json"

PREFIX = "urn:inbounds:problem:"

KINDS: dict[type[Exception], tuple[str, HTTPStatus]] = {
    UnknownToken: ("not-known", HTTPStatus.UNAUTHORIZED),
    Forbidden: ("not-allowed", HTTPStatus.FORBIDDEN),
    UnknownResource: ("not-found", HTTPStatus.NOT_FOUND),
    KeyConflict: ("key-taken", HTTPStatus.CONFLICT),
    CapExceeded: ("over-cap", HTTPStatus.CONFLICT),
    RowLimitExceeded: ("over-rows", HTTPStatus.CONFLICT),
    BudgetExceeded: ("over-budget", HTTPStatus.CONFLICT),
    CuratorBusy: ("busy", HTTPStatus.TOO_MANY_REQUESTS),
    DesignTooExpensive: ("too-much", HTTPStatus.UNPROCESSABLE_ENTITY),
    EvaluationFailed: ("not-answered", HTTPStatus.CONFLICT),
    DatasetClosed: ("closed", HTTPStatus.SERVICE_UNAVAILABLE),
    CuratorUnavailable: ("unavailable", HTTPStatus.SERVICE_UNAVAILABLE),
    ValueError: ("not-a-question", HTTPStatus.UNPROCESSABLE_ENTITY),
    CuratorError: ("refused", HTTPStatus.CONFLICT),
}
"""The problem of each error type, the most specific first."""


@dataclass(frozen=True)
class HttpProblem:
    """One problem document."""

    kind: str
    status: HTTPStatus
    detail: str
    members: Mapping[str, str] = field(default_factory=dict)

    def body(self) -> bytes:
        fields = {
            **self.members,
            "type": PREFIX + self.kind,
            "title": self.status.phrase,
            "status": int(self.status),
            "detail": self.detail,
        }
        return json.dumps(fields).encode()

    def headers(self) -> Mapping[str, str]:
        """Headers to send with the body."""
        more = {
            HTTPStatus.UNAUTHORIZED: {"www-authenticate": "Bearer"},
            HTTPStatus.TOO_MANY_REQUESTS: RETRY,
            HTTPStatus.SERVICE_UNAVAILABLE: RETRY,
        }
        return {"content-type": MEDIA, "cache-control": "no-store", **more.get(self.status, {})}


RETRY_SECONDS = 1
"""Seconds until a refused client may come again. A constant: how long others are still busy is nobody's business."""

RETRY = {"retry-after": str(RETRY_SECONDS)}

UNAVAILABLE = HttpProblem("unavailable", HTTPStatus.SERVICE_UNAVAILABLE, str(CuratorUnavailable()))
"""The one response to everything that may fail after a charge, and to unexpected errors."""


def to_problem(error: Exception) -> HttpProblem:
    """Return the problem of an error. Errors of this package keep their message; any other message might quote data and
    is withheld.
    """
    for kind, (name, status) in KINDS.items():
        if isinstance(error, kind):
            return HttpProblem(name, status, str(error), _members(error))
    return UNAVAILABLE


def _members(error: Exception) -> dict[str, str]:
    """Return the exact members of an error, such as account, asked and left, so that a client can raise the
    same error.
    """
    names = {
        BudgetExceeded: ("people", "asked", "left", "budget", "unit"),
        CapExceeded: ("account", "asked", "left", "stored"),
        RowLimitExceeded: ("account", "asked", "most"),
        DatasetClosed: ("dataset",),
    }
    return {name: str(getattr(error, name)) for name in names.get(type(error), ())}
