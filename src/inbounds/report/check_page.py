"""The page that checks a file in the reader's browser, with a JavaScript checker that shares no code with Python.

It is one self-contained HTML file: the checker and, if given, the document and Python's verdict. Its
Content-Security-Policy forbids network requests and names scripts and styles by their digests.
"""

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from inbounds.files import Json, LoadedFile
from inbounds.report.templates import render_template

PARTS = (
    *("exact", "json", "graphs", "query", "laws", "plane", "response", "blocks", "quantiles"),
    *("claims", "passport", "approximate"),
    *("ledger", "release", "queries", "together", "found", "account", "cells", "record", "judge"),
)
"""The files of the checker; each uses only those before it."""

MOST_EMBEDDED = 1 << 26
"""The most bytes of an embedded document: the limit of the page's checker."""


def page(
    document: bytes | None = None,
    verdict: Json | None = None,
    *,
    name: str = "",
    server: str = "",
    home: str = "",
    others: Sequence[bytes] = (),
) -> str:
    """Return the page as HTML text.

    document: the bytes of the file to check; without it the page asks for one. verdict: Python's verdict on it, as
    `Verdict.to_json` returns it. name: the file's name. others: for a release record, its table and passports.
    server: an address of the same origin that takes a file's bytes by POST and answers with such a verdict, or with
    "valid": null if it has none; other files follow in the same body, and the header X-Sizes has the number of bytes of
    each part. home: the target of a link back.
    """
    values: dict[str, Any] = {
        "title": f"Check of {name}" if name else "Check a file",
        "policy": policy(asks=bool(server)),
        "style": stylesheet(),
        "script": script(),
        "document": None if document is None else base64.b64encode(document).decode("ascii"),
        "others": [base64.b64encode(other).decode("ascii") for other in others],
        "said": verdict,
        "name": name,
        "server": server,
        "home": home,
    }
    return render_template("check.html.j2", values)


def embedded(file: LoadedFile) -> bytes:
    """Read the bytes of a file for `page`. Raises ValueError where a page cannot hold or judge it."""
    if file.is_database:
        raise ValueError(
            f"a page holds JSON files, got a database: {file.path}; inbounds ledger export writes one of a ledger"
        )
    if len(file.data) > MOST_EMBEDDED:
        raise ValueError(f"a page holds files of at most {MOST_EMBEDDED} bytes, got a longer one: {file.path}")
    return file.data


def policy(*, asks: bool = False) -> str:
    """Return the Content-Security-Policy of the page. asks: it may request a second verdict from its own server."""
    sources = [
        "default-src 'none'",
        f"script-src '{digest_source(script())}'",
        f"style-src '{digest_source(stylesheet())}'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return "; ".join([*sources, "connect-src 'self'"] if asks else sources)


@cache
def script() -> str:
    """Return the checker and the page's script as one text."""
    texts = [_static(f"check/{part}.js") for part in PARTS]
    return "\n".join(["(() => {", '"use strict";', *texts, _static("check.js"), "})();"])


@cache
def stylesheet() -> str:
    return _static("check.css")


def _static(name: str) -> str:
    return (files("inbounds.report") / "static" / name).read_text("utf-8")


def digest_source(text: str) -> str:
    """Return the source of a policy that allows a script or style with exactly this text."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"
