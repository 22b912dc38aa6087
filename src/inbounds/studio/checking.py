"""The routes of Check: the server's verdict on a file, beside the one that the visitor's own browser finds."""

from pathlib import Path
from tempfile import TemporaryDirectory

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse

from inbounds.files import Json
from inbounds.report import check
from inbounds.studio.pages import page
from inbounds.studio.studio import Studio
from inbounds.verdicts import verify


def router(studio: Studio) -> APIRouter:
    """The routes of a studio."""
    routes, place = APIRouter(), studio.workspace

    @routes.get("/check")
    def choose() -> Response:
        return page("check.html", "/check", documents=place.documents)

    @routes.get("/check/file")
    def file(file: str = "") -> Response:
        if not file:
            return _checked(None, None, "")
        path = place.existing(file)
        found = verify(path)
        if file in place.ledgers:  # a database, which only the server reads
            return page("check_ledger.html", "/check", file=file, valid=found.valid, said=found.reason or found.proved)
        return _checked(check.document_of(path), found.to_json(), file)

    @routes.post("/check/verdict")
    async def verdict(request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(_judged, await request.body()))

    return routes


def _checked(document: bytes | None, verdict: Json | None, name: str) -> Response:
    """The page with the browser's own checker, under its own policy."""
    text = check.page(document, verdict, name=name, server="/check/verdict", home="/check")
    policy = f"{check.policy(asks=True)}; frame-ancestors 'none'"
    return Response(text, media_type="text/html; charset=utf-8", headers={"content-security-policy": policy})


def _judged(document: bytes) -> Json:
    """The verdict on a document that was dropped into the page; it is kept for no longer than that."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "document.json"
        file.write_bytes(document)
        return verify(file).to_json()
