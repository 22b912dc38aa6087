"""Pages from templates. Every value is escaped where it is inserted; numbers are computed elsewhere."""

from functools import cache
from typing import TYPE_CHECKING, Any

from starlette.responses import HTMLResponse

from inbounds import __version__

if TYPE_CHECKING:
    from jinja2 import Environment

ROOMS = (
    ("/explore", "Explore"),
    ("/plan", "Plan"),
    ("/release", "Release"),
    ("/check", "Check"),
    ("/budget", "Budget"),
    ("/ask", "Ask"),
)
"""The pages, in the order of the menu."""


def page(template: str, here: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a whole page. here: its place in the menu."""
    return HTMLResponse(environment().get_template(template).render(values, here=here), status)


def fragment(template: str, **values: Any) -> HTMLResponse:
    """Return a part of a page that replaces an earlier one."""
    return HTMLResponse(environment().get_template(template).render(values))


@cache
def environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(
        loader=PackageLoader("inbounds.studio"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals.update(rooms=ROOMS, version=__version__)
    return templates
