"""For the site: the examples of a docstring become code blocks, instead of quotations three levels deep."""

import re
from typing import Any

from griffe import Extension, Object

EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*", re.M)
"""From a prompt to the next empty line: the statement, its continuation, and what it prints."""


class Doctests(Extension):
    """Fences every doctest that mkdocstrings would otherwise read as prose."""

    def on_instance(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = EXAMPLE.sub(r"```pycon\n\g<0>\n```", obj.docstring.value)
