"""Authentication of the studio: one browser that exchanged the token, at the studio's address, from its pages.

A page elsewhere in the same browser can send requests to 127.0.0.1. Four checks stop it, each by itself: the Host must
be the studio's (a foreign name that points here is refused), a request that changes anything must come from the
studio's origin, a request that another site began is refused, and every request needs the cookie. The cookie is given
once for the token, and browsers do not send it for other sites.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from inbounds.report.drawing import STYLE

ENTER = "/enter"
"""Where the token is exchanged for the cookie."""

SAFE = ("GET", "HEAD")
OWN_SITES = ("same-origin", "none", "")
"""Allowed values of Sec-Fetch-Site: our page, a person, or none."""

MOST_BYTES = 64 << 20
"""A larger body is refused; the largest passports are smaller."""


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' "
    + _hash(STYLE)
    + "; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Only our files; the style inside every picture is allowed by its digest."""

PAPER = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; frame-ancestors 'none'; sandbox"
"""For a report page, which has an inline style and no script."""

HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # no-referrer would make the Origin of our forms "null"
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}

AWAY = "this page is for the person who started the studio; open the address that it printed in its terminal"
TOO_LONG = "this is longer than anything that the studio reads"
USED = "this address was used before, and works once; start the studio again for a new one"


@dataclass
class StudioAuth:
    """The studio's authentication. hosts: its names with the port. token: can be exchanged once. cookie: its name."""

    hosts: frozenset[str]
    cookie: str = "inbounds-studio"
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    secret: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    used: bool = False

    def refusal(self, method: str, path: str, headers: dict[str, str]) -> str:
        """Return why a request is refused, or nothing."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if host not in self.hosts:
            return "this is no address of the studio"
        if method not in SAFE and origin != f"http://{host}":
            return "a change must come from a page of the studio"
        if origin is not None and origin != f"http://{host}":
            return "another site must not ask the studio"
        if headers.get("sec-fetch-site", "") not in OWN_SITES:
            return "another site must not ask the studio"
        if path != ENTER and not self._is_known(headers.get("cookie", "")):
            return AWAY
        return ""

    def enter(self, token: str, cookies: str) -> Response:
        """Return the cookie for the token, which is then used up; a browser that has the cookie may enter again."""
        if self._is_known(cookies):
            return RedirectResponse("/", 303)
        if self.used or not hmac.compare_digest(token.encode(), self.token.encode()):
            return PlainTextResponse(USED if self.used else AWAY, 403)
        self.used = True
        answer = RedirectResponse("/", 303)
        answer.set_cookie(self.cookie, self.secret, httponly=True, samesite="strict", path="/")
        return answer

    def _is_known(self, cookies: str) -> bool:
        try:
            cookie = SimpleCookie(cookies).get(self.cookie)
        except CookieError:
            return False
        return cookie is not None and hmac.compare_digest(cookie.value.encode(), self.secret.encode())


class AuthMiddleware:
    """An app behind the authentication: it refuses before reading, limits bodies, and adds headers to every
    response.
    """

    def __init__(self, app: ASGIApp, guard: StudioAuth) -> None:
        self.app, self.guard = app, guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        await self._answer(scope)(scope, _limit_body(receive, scope), _with_headers(send))

    def _answer(self, scope: Scope) -> ASGIApp:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        refused = self.guard.refusal(scope["method"], scope["path"], headers)
        if not refused and _length(headers) > MOST_BYTES:
            return PlainTextResponse(TOO_LONG, 413)
        if refused:
            return PlainTextResponse(refused, 403)
        if scope["path"] == ENTER:
            token = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
            return self.guard.enter(token, headers.get("cookie", ""))
        return self.app


def _length(headers: dict[str, str]) -> int:
    header = headers.get("content-length", "0")
    return int(header) if header.isdecimal() and len(header) < 20 else MOST_BYTES + 1


def _limit_body(receive: Receive, scope: Scope) -> Receive:
    """Return a receive function that ends the connection once a body without a stated length is too long."""
    read = 0

    async def limited() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        return {"type": "http.disconnect"} if read > MOST_BYTES else message

    return limited


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name for name, _ in message["headers"]}
            message["headers"] = [*message["headers"], *_missing(present)]
        await send(message)

    return sent


def _missing(present: set[bytes]) -> Iterable[tuple[bytes, bytes]]:
    return ((name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in present)
