"""Golden files: texts that people read, each whole in a file of tests/texts. `pytest --update` writes them anew."""

import difflib
import linecache
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import inbounds as ib
from inbounds.statistics import STATISTICS
from inbounds.statistics.entries import KNOWN

TEXTS = Path(__file__).parent / "texts"

VARYING = {
    re.escape(ib.__version__): "<version>",
    re.escape(", ".join(KNOWN)): "<every field of a statistic>",
    re.escape(", ".join(STATISTICS)): "<every kind of statistic>",
    r"\b[0-9a-f]{64}\b": "<sha256>",
    r"\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?": "<time>",
    r"\(gap [-+.e\d]+\)": "(gap <gap>)",  # what rounding leaves between two bounds of a solver
    r"\b\d+ units of 2\^-62": "<units> of 2^-62",  # what rounding leaves of a property
}
"""What differs from one machine or moment to another, or grows with the registry of statistics: a pattern, and what
stands for it in every golden file."""


def without_varying(text: str) -> str:
    """Return a text with names in the place of what differs, and without blanks at the ends of lines."""
    for pattern, name in VARYING.items():
        text = re.sub(pattern, name, text)
    return "\n".join(line.rstrip() for line in text.strip("\n").split("\n")) + "\n"


@dataclass(frozen=True)
class Golden:
    """Compare a text with its golden file, or write the file if `update`."""

    update: bool
    folder: Path = TEXTS

    def __call__(self, name: str, text: str) -> None:
        file, found = self.folder / f"{name}.txt", without_varying(text)
        if self.update:
            file.write_text(found, "utf-8")
        expected = file.read_text("utf-8") if file.exists() else ""
        if found != expected:
            lines = difflib.unified_diff(
                expected.split("\n"), found.split("\n"), str(file), "what is said now", lineterm=""
            )
            pytest.fail("\n".join(["read the difference; if it is meant, run pytest --update", *lines]), pytrace=False)

    def parts(self, name: str, parts: Mapping[str, Any]) -> None:
        """Compare several short texts, each under a heading, with one golden file."""
        self(name, "\n\n".join(f"=== {heading}\n{text}" for heading, text in parts.items()))

    def errors(self, name: str, calls: Iterable[Callable[[], object]], hide: Iterable[object] = ()) -> None:
        """Compare the errors that these calls raise with one golden file, by type and message; each call must raise.

        calls: lambdas, each on a line of its own, which is its heading in the file. hide: what differs from run to
        run, such as a folder, and is written as … in the file.
        """
        parts: dict[str, str] = {}
        for call in calls:
            heading = _source_line(call)
            assert heading not in parts, f"called twice: {heading}"
            try:
                call()
            except Exception as error:
                parts[heading] = f"{type(error).__name__}: {error}"
                for text in map(str, hide):
                    parts[heading] = parts[heading].replace(text, "…")
            else:
                pytest.fail(f"nothing was raised: {heading}", pytrace=False)
        self.parts(name, parts)


def _source_line(call: Callable[[], object]) -> str:
    """Return what is written after `lambda:`, up to the end of the line."""
    code = call.__code__
    return linecache.getline(code.co_filename, code.co_firstlineno).strip().removeprefix("lambda: ").rstrip(",")
