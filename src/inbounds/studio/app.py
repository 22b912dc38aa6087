"""The app: routes, static files, and the guard before them."""

from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.staticfiles import StaticFiles
from starlette.requests import ClientDisconnect

from inbounds.errors import InboundsError
from inbounds.studio import asking, budget, checking, releasing
from inbounds.studio.explore import routes as explore
from inbounds.studio.guard import TOO_LONG, Guarded, StudioGuard
from inbounds.studio.pages import page
from inbounds.studio.planning import routes as planning
from inbounds.studio.studio import Studio
from inbounds.studio.work import failure_of

STATIC = Path(__file__).parent / "static"


def app(studio: Studio, guard: StudioGuard) -> Guarded:
    """The studio as an ASGI app."""
    inner = FastAPI(title="inbounds studio", docs_url=None, redoc_url=None, openapi_url=None)
    inner.mount("/static", StaticFiles(directory=STATIC), name="static")
    for room in (explore, planning, releasing, checking, budget, asking):
        inner.include_router(room.router(studio))

    @inner.get("/")
    def first(request: Request) -> Response:
        place = studio.workspace
        return page(
            "first.html", "/", folder=place.folder.name, data=place.data, plans=place.plans, ledgers=place.ledgers
        )

    @inner.post("/jobs/{name}/stop")
    def stop(name: str) -> Response:
        studio.work.stop(studio.work.job(name))
        return Response(status_code=204)

    for kind in (InboundsError, ValueError, TypeError, OSError, LookupError, ImportError):
        inner.add_exception_handler(kind, _refused)
    inner.add_exception_handler(ClientDisconnect, _too_long)
    inner.add_exception_handler(404, _missing)
    return Guarded(inner, guard)


def _refused(request: Request, error: Any) -> Response:
    """A page, or a part of one, for what the package explains in a sentence."""
    if "x-part" in request.headers:
        return page("part_refused.html", "", 422, failure=failure_of(error))
    return page("refused.html", "", 422, failure=failure_of(error), plan=request.query_params.get("plan", ""))


def _too_long(request: Request, error: Any) -> Response:
    """A body that was cut off because it goes on for too long, or because nobody is there any more."""
    return page("refused.html", "", 413, failure=failure_of(ValueError(TOO_LONG)), plan="")


def _missing(request: Request, error: Any) -> Response:
    return page(
        "refused.html", "", 404, failure=failure_of(LookupError("there is no such page in the studio")), plan=""
    )
