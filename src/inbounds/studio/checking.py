"""The routes of Check: the server's verdict on a file, beside the one that the visitor's own browser finds."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from inbounds.studio.pages import fragment, page
from inbounds.studio.studio import Studio
from inbounds.verdicts import Verdict, verify


def router(studio: Studio) -> APIRouter:
    """The routes of a studio."""
    routes, place = APIRouter(), studio.workspace

    @routes.get("/check")
    def check(file: str = "") -> Response:
        verdict = _shown(verify(place.existing(file))) if file else None
        return page("check.html", "/check", documents=place.documents, chosen=file, verdict=verdict)

    @routes.post("/check")
    async def dropped(request: Request) -> Response:
        found = await run_in_threadpool(_judged, await request.body())
        return fragment("check_verdict.html", verdict=found)

    return routes


def _judged(document: bytes) -> dict[str, Any]:
    """The verdict on a document that was dropped into the page; it is kept for no longer than that."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "document.json"
        file.write_bytes(document)
        return _shown(verify(file))


def _shown(found: Verdict) -> dict[str, Any]:
    """A verdict in words."""
    return {"valid": found.valid, "reason": found.reason, "sentences": str(found).splitlines()}
