"""Errors about plans and releases, and the place in the plan that each is about.

    ValueError
    └── PlanError             the plan is impossible; names the place in the plan
        └── SourceError       the source cannot be opened, or lacks the declared columns
    InboundsError
    ├── AggregationError      the engine stopped while aggregating
    ├── UnconfirmedEdition    a new edition is declared of data at the same place; the owner confirms that it is new
    └── UnfinishedRelease     an earlier run was charged and stored no draw; the owner decides whether to read again

No error contains a value from the data. An engine's error message may quote a record, so it is withheld.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from inbounds.errors import InboundsError, escape_unprintable

Path = tuple[str | int, ...]
"""A place in a plan: ("columns", "score", "high"), or ("statistics", 0, "count")."""


class PlanError(ValueError):
    """A plan that cannot be released. `path` is the place in the plan; `place` names the file and line."""

    def __init__(self, message: str, path: Path = (), place: str = "") -> None:
        self.message, self.path, self.place = escape_unprintable(message), path, place
        super().__init__(
            escape_unprintable(f"{place}: {self.subject}{message}" if place else f"{self.subject}{message}")
        )

    @property
    def subject(self) -> str:
        """Return the path as text with a space after it; empty without a path."""
        return f"{format_path(self.path)} " if self.path else ""

    def under(self, *outer: str | int) -> "PlanError":
        """Return the same error with its path inside `outer`."""
        return type(self)(self.message, (*outer, *self.path), self.place)

    def with_place(self, place: str) -> "PlanError":
        """Return the same error with the file and line it is about."""
        return self if self.place else type(self)(self.message, self.path, place)


class SourceError(PlanError):
    """The source cannot be opened, or does not have what the plan declares."""


class AggregationError(InboundsError):
    """The engine stopped while aggregating. Its message may quote data and is withheld."""


class UnconfirmedEdition(InboundsError):
    """The plan declares a new edition, and an earlier one was released from the same place."""


class UnfinishedRelease(InboundsError):
    """An earlier run of the same release was charged and stored no draw. Data is not read again unasked."""

    def __init__(self) -> None:
        super().__init__(
            "an earlier run of this release was charged and stored no draw: it failed, or is still running; if it "
            "failed, say read_again=True (--read-again) to read the data again under that charge, which costs nothing "
            "more, or draw and pay anew under a key of its own (--redraw)"
        )


def format_path(path: Path) -> str:
    """Format a path as people write it; lists are counted from one.

    >>> format_path(("statistics", 0, "count"))
    'statistics[1].count'
    """
    text = ""
    for part in path:
        text += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if text else part
    return text


@contextmanager
def error_path(*outer: str | int) -> Iterator[None]:
    """Add this place of the plan to every error raised inside.

    Messages about arguments begin with the argument's name; if the name is part of the place, it is not repeated.
    """
    try:
        yield
    except PlanError as error:
        raise error.under(*outer) from error.__cause__
    except (ValueError, TypeError, ArithmeticError) as error:
        first, _, rest = str(error).partition(" ")
        raise PlanError(rest if first in outer else str(error), outer) from error


# --- where each key of a TOML text stands, so that an error can name the line -------------------------------
#
# `tomllib` keeps no positions. This scan runs on text that `tomllib` has already accepted, so it only has to follow
# table headers, keys and brackets, and to step over strings and comments.


_KEY = r"(?:[A-Za-z0-9_-]+|\"(?:[^\"\\]|\\.)*\"|'[^']*')"
_DOTTED = re.compile(rf"\s*({_KEY}(?:\s*\.\s*{_KEY})*)\s*")
_PART = re.compile(_KEY)
_SKIPPED = re.compile(r"\"\"\".*?(?<!\\)\"\"\"|'''.*?'''|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|#[^\n]*", re.DOTALL)


@dataclass(frozen=True)
class LineIndex:
    """The line of every key of a TOML file. `name` is the name of the file in messages."""

    name: str
    known: dict[Path, int] = field(default_factory=dict, repr=False)

    def place(self, path: Path) -> str:
        """Return the file and line of a path, or of the nearest enclosing part of the plan."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.known:
                return f"{self.name}, line {self.known[path[:length]]}"
        return self.name


def index_lines(text: str, name: str) -> LineIndex:
    """Find the line of every key in a valid TOML text.

    >>> index_lines("[a]\\nb = 1\\n[[c]]\\nd = [\\n 2]\\n[[c]]\\nd = 3", "plan").place(("c", 1, "d"))
    'plan, line 7'
    """
    known: dict[Path, int] = {}
    table: Path = ()
    counts: dict[Path, int] = {}
    depth = 0
    for number, (line, written) in enumerate(zip(_bare(text).split("\n"), text.split("\n"), strict=True), start=1):
        if depth == 0 and line.strip().startswith("["):
            table = _header(written, counts)
            known.setdefault(table, number)
            continue
        if depth == 0 and (key := _DOTTED.match(written)) and "=" in line:
            path = table
            for part in _parts(key[1]):
                path = (*path, part)
                known.setdefault(path, number)
        depth += sum(map(line.count, "[{")) - sum(map(line.count, "]}"))
    return LineIndex(name, known)


def _bare(text: str) -> str:
    """Blank out every string and comment, but keep line breaks."""
    return _SKIPPED.sub(lambda match: re.sub(r"[^\n]", "_", match[0]) if match[0][0] != "#" else "", text)


def _header(line: str, counts: dict[Path, int]) -> Path:
    """Return the path that a header opens; a header of a list opens its next element."""
    inner = _DOTTED.match(line.strip().lstrip("["))
    parts = _parts(inner[1]) if inner else []
    path: Path = ()
    for position, part in enumerate(parts):
        path = (*path, part)
        last = position == len(parts) - 1
        if last and line.strip().startswith("[["):
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = (*path, counts[path])
    return path


def _parts(key: str) -> list[str]:
    return [part[1:-1] if part[0] in "\"'" else part for part in _PART.findall(key)]
