"""The routes of Budget: what was spent on each population, in the ledger's words and picture."""

from typing import Any
from urllib.parse import parse_qs, quote

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse

from inbounds.ledger import Ledger, budget_page
from inbounds.studio.pages import page
from inbounds.studio.studio import Studio


def router(studio: Studio) -> APIRouter:
    """Return the routes of a studio."""
    routes = APIRouter()

    @routes.get("/budget")
    def show(ledger: str = "") -> Response:
        names = studio.workspace.ledgers
        chosen = ledger or next(iter(names), "")
        opened = _find_ledger(studio, chosen) if chosen else None
        return page("budget.html", "/budget", ledgers=names, chosen=chosen, found=opened)

    @routes.post("/budget")
    async def declare(request: Request) -> Response:
        form = parse_qs((await request.body()).decode("utf-8", "replace"))
        return await run_in_threadpool(
            _declare_population, studio, {name: values[0].strip() for name, values in form.items()}
        )

    return routes


def _find_ledger(studio: Studio, name: str) -> dict[str, Any]:
    """Find the populations, pictures and entries of a ledger in the folder."""
    with Ledger.open(studio.workspace.existing(name), create=False) as ledger:
        return budget_page.budget_view(ledger.head(), ledger.people(), ledger.entries())


def _declare_population(studio: Studio, form: dict[str, str]) -> Response:
    """Add a population with a budget to a ledger, which is created if needed. The entry cannot be removed."""
    name = form.get("ledger", "")
    if not name.endswith(".ledger"):
        raise ValueError(f"ledger must be a name that ends in .ledger, got {name!r}")
    with Ledger.open(studio.workspace.path(name), create=True) as ledger:
        ledger.add_population(form.get("people", ""), form.get("epsilon", ""))
    return RedirectResponse(f"/budget?ledger={quote(name)}", 303)
