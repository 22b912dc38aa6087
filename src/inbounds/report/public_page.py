"""The page for the public: one self-contained HTML file.

Its Content-Security-Policy forbids every request and names style and script by their digests, so that it also works
where a server forbids others. Without its script the page shows the same numbers, but cannot be searched or sorted.
"""

from functools import cache
from importlib.resources import files
from typing import Any

from inbounds.report.check_page import digest_source
from inbounds.report.templates import render_template


def render_public_page(values: dict[str, Any]) -> str:
    """Return the page as HTML text. values: those of the template, see `releases.public_page`."""
    style, script = _static("public.css"), _static("public.js")
    return render_template("public.html", {**values, "policy": public_policy(), "style": style, "script": script})


def public_policy() -> str:
    """Return the Content-Security-Policy of the page."""
    sources = [
        "default-src 'none'",
        f"script-src '{digest_source(_static('public.js'))}'",
        f"style-src '{digest_source(_static('public.css'))}'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return "; ".join(sources)


@cache
def _static(name: str) -> str:
    return (files("inbounds.report") / "static" / name).read_text("utf-8")
