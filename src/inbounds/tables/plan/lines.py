"""Where each key of a TOML text stands, so that an error can name the line.

`tomllib` keeps no positions. This scan runs on text that `tomllib` has already accepted, so it only has to follow
table headers, keys and brackets, and to step over strings and comments.
"""

import re
from dataclasses import dataclass, field

from inbounds.tables.errors import Path

_KEY = r"(?:[A-Za-z0-9_-]+|\"(?:[^\"\\]|\\.)*\"|'[^']*')"
_DOTTED = re.compile(rf"\s*({_KEY}(?:\s*\.\s*{_KEY})*)\s*")
_PART = re.compile(_KEY)
_SKIPPED = re.compile(r"\"\"\".*?(?<!\\)\"\"\"|'''.*?'''|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|#[^\n]*", re.DOTALL)


@dataclass(frozen=True)
class Lines:
    """The line of every key of a TOML file; `name` is what errors call the file."""

    name: str
    known: dict[Path, int] = field(default_factory=dict, repr=False)

    def place(self, path: Path) -> str:
        """The file and the line of a path, or of the nearest part of the plan that holds it."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.known:
                return f"{self.name}, line {self.known[path[:length]]}"
        return self.name


def lines_of(text: str, name: str) -> Lines:
    """Scan a valid TOML text.

    >>> lines_of("[a]\\nb = 1\\n[[c]]\\nd = [\\n 2]\\n[[c]]\\nd = 3", "plan").place(("c", 1, "d"))
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
    return Lines(name, known)


def _bare(text: str) -> str:
    """The text with every string and comment blanked out, its line breaks kept."""
    return _SKIPPED.sub(lambda found: re.sub(r"[^\n]", "_", found[0]) if found[0][0] != "#" else "", text)


def _header(line: str, counts: dict[Path, int]) -> Path:
    """The path a header opens; a header of a list opens its next element."""
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
