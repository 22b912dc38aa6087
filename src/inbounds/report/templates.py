"""Pages from templates: every value is escaped where it is put in, so that markup in data is shown and not obeyed."""

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from jinja2 import Environment

WIDE_FROM = 7
"""Tables with more columns need the whole width of a desktop screen."""


class Cell(NamedTuple):
    """A value of a table that does not look like the others. look: best (of its column) or code."""

    text: str
    look: str


def render_template(template: str, values: dict[str, Any]) -> str:
    """Return the text of a template in report/templates with the values in their places."""
    return _environment().get_template(template).render(values)


def property_codes(rows: Iterable[tuple[str, str]]) -> list[tuple[str, Cell]]:
    """Names with what is theirs, to be copied letter by letter."""
    return [(name, Cell(text, "code")) for name, text in rows]


def pick_evenly(count: int, shown: int) -> list[int]:
    """Return all of 0..count-1, or `shown` of them: the first, the last, and others evenly between."""
    return sorted({round(k) for k in np.linspace(0, count - 1, min(count, shown)).tolist()})


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    # all templates are pages or parts of them, style sheets too
    made = Environment(
        loader=PackageLoader("inbounds.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["WIDE_FROM"] = WIDE_FROM
    return made
