"""For the site: examples of a docstring become code blocks, and what it says of arguments a list, one line for each."""

import re
from typing import Any

from griffe import Class, Extension, Function, Object

EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*", re.M)
"""From a prompt to the next empty line: the statement, its continuation, and what it prints."""

POWER = re.compile(r"`[^`]*`|(\w+)\*\*(-?\w+)")
"""Code, which stays as it is, or a power such as 2**62, which Markdown would take for stars around bold letters."""


def raised(paragraph: str) -> str:
    """A paragraph with its powers set as powers."""
    if paragraph.startswith((" ", ">>>", "```")):
        return paragraph
    return POWER.sub(lambda found: f"{found[1]}<sup>{found[2]}</sup>" if found[1] else found[0], paragraph)


def listed(paragraph: str, names: frozenset[str]) -> str:
    """A paragraph with its sentences "name: …" or "one, other: …" as a list; what comes before them stays as it is."""
    if not names or paragraph.startswith((" ", ">>>", "```")):
        return paragraph
    name = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    begins = re.compile(rf"(?:(?<=[.;]\s)|^)((?:{name})(?:(?:, | and )(?:{name}))*):\s+")
    before, *rest = begins.split(paragraph)
    if not rest:
        return paragraph
    items = [f"- {quoted(told)}: {' '.join(what.split())}" for told, what in zip(rest[::2], rest[1::2], strict=True)]
    return "\n".join([before.rstrip(), "", *items]).strip()


def quoted(names: str) -> str:
    """Each of the names as code."""
    return re.sub(r"(?!and\b)\b\w+", r"`\g<0>`", names)


class Docstrings(Extension):
    """Rewrites every docstring before mkdocstrings reads it."""

    def on_instance(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is None:
            return
        text = "\n\n".join(listed(raised(own), names_of(obj)) for own in obj.docstring.value.split("\n\n"))
        obj.docstring.value = EXAMPLE.sub(r"```pycon\n\g<0>\n```", text)


def names_of(obj: Object) -> frozenset[str]:
    """The arguments of a function, and what a class is made of."""
    if isinstance(obj, Function):
        return frozenset(own.name.lstrip("*") for own in obj.parameters)
    if isinstance(obj, Class):
        return frozenset(name for name, own in obj.members.items() if own.is_attribute and not name.startswith("_"))
    return frozenset()
