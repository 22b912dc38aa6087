"""The ASGI app of the studio: routes, static files, and the authentication in front of them."""

from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.staticfiles import StaticFiles
from starlette.requests import ClientDisconnect

from inbounds.errors import InboundsError
from inbounds.studio import ask, budget, check, release
from inbounds.studio.auth import TOO_LONG, AuthMiddleware, StudioAuth
from inbounds.studio.explore import routes as explore
from inbounds.studio.forms import write_stylesheet
from inbounds.studio.pages import page
from inbounds.studio.plan import routes as planning
from inbounds.studio.studio import Studio
from inbounds.workers import describe_failure

STATIC = Path(__file__).parent / "static"


def app(studio: Studio, guard: StudioAuth) -> AuthMiddleware:
    """Return the studio as an ASGI app."""
    inner = FastAPI(title="inbounds studio", docs_url=None, redoc_url=None, openapi_url=None)
    inner.mount("/static", StaticFiles(directory=STATIC), name="static")
    for room in (explore, planning, release, check, budget, ask):
        inner.include_router(room.router(studio))

    @inner.get("/")
    def first(request: Request) -> Response:
        place = studio.workspace
        return page(
            "first.html", "/", folder=place.folder.name, data=place.data, plans=place.plans, ledgers=place.ledgers
        )

    @inner.get("/statistics.css")
    def stylesheet() -> Response:
        return Response(write_stylesheet(), media_type="text/css")

    @inner.post("/jobs/{name}/stop")
    def stop(name: str) -> Response:
        studio.work.stop(studio.work.job(name))
        return Response(status_code=204)

    for kind in (InboundsError, ValueError, TypeError, OSError, LookupError, ImportError):
        inner.add_exception_handler(kind, _error_page)
    inner.add_exception_handler(ClientDisconnect, _too_long)
    inner.add_exception_handler(404, _missing)
    return AuthMiddleware(inner, guard)


def _error_page(request: Request, error: Any) -> Response:
    """Return a page, or a part of one, for an error of this package."""
    if "x-part" in request.headers:
        return page("part_refused.html", "", 422, failure=describe_failure(error))
    return page("refused.html", "", 422, failure=describe_failure(error), plan=request.query_params.get("plan", ""))


def _too_long(request: Request, error: Any) -> Response:
    """Return the page for a body that was cut off because it is too long, or because the client has gone."""
    return page("refused.html", "", 413, failure=describe_failure(ValueError(TOO_LONG)), plan="")


def _missing(request: Request, error: Any) -> Response:
    return page(
        "refused.html", "", 404, failure=describe_failure(LookupError("there is no such page in the studio")), plan=""
    )
