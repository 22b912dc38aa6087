"""The page at /docs: every call with a form to try it, from the description at /openapi.json.

Its script and style are files of this package, and its Content-Security-Policy lets it ask no other server. A question
is sent as a dry run unless the person confirms its charge.
"""

from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path

from fastapi import FastAPI, Response

STATIC = Path(__file__).parent / "static"

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; form-action 'none'; "
    "base-uri 'none'; frame-ancestors 'none'"
)

HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}

FILES = {
    "/docs": ("docs.html", "text/html; charset=utf-8"),
    "/docs/page.css": ("docs.css", "text/css; charset=utf-8"),
    "/docs/page.js": ("docs.js", "text/javascript; charset=utf-8"),
}
"""The addresses of the page and its parts, and their files and media types."""


def add_docs(service: FastAPI) -> None:
    """Add the page and its parts to a service."""
    for path, (name, media_type) in FILES.items():
        service.add_api_route(path, _route(name, media_type), methods=["GET"], include_in_schema=False)


def _route(name: str, media_type: str) -> Callable[[], Awaitable[Response]]:
    async def read() -> Response:
        return Response(_content(name), media_type=media_type, headers=HEADERS)

    return read


@cache
def _content(name: str) -> bytes:
    return (STATIC / name).read_bytes()
