"""Rendering of page templates: every value is escaped, so markup in data is shown, not executed."""

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from jinja2 import Environment

WIDE_FROM = 7
"""Tables with more columns use the whole width of a desktop screen."""


class Cell(NamedTuple):
    """A table value with a special look: best (of its column) or code."""

    text: str
    look: str


def render_template(template: str, values: dict[str, Any]) -> str:
    """Render a template of report/templates with these values."""
    return _environment().get_template(template).render(values)


def property_codes(rows: Iterable[tuple[str, str]]) -> list[tuple[str, Cell]]:
    """Return names and texts with each text as a code cell, for copying."""
    return [(name, Cell(text, "code")) for name, text in rows]


def pick_evenly(count: int, shown: int) -> list[int]:
    """Return all of 0..count-1, or `shown` of them: the first, the last, and others evenly between."""
    return sorted({round(k) for k in np.linspace(0, count - 1, min(count, shown)).tolist()})


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    # escape everywhere: all templates, style sheets too, are pages or parts of them
    environment = Environment(
        loader=PackageLoader("inbounds.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["WIDE_FROM"] = WIDE_FROM
    return environment
