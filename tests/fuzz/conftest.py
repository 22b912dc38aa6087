"""The sources that fuzzers keep tables in, each in a folder of its own, or on a server of our own."""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from fuzz import values
from fuzz.sources import FOLDERS, SPARK, Columns, Place, in_postgres
from fuzz.values import Type


@pytest.fixture
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], tuple[list[Type], Any]]:
    """`source("sqlite")`: all types of a source, and a function that keeps a table there."""
    numbers = count()

    def found(name: str) -> tuple[list[Type], Callable[[Columns], Place]]:
        if name == "postgres":
            url = request.getfixturevalue("postgres_server").url
            return values.POSTGRES, lambda columns: in_postgres(url, f"fuzzed_{next(numbers)}", columns)
        if name in SPARK:
            request.getfixturevalue("spark")
        types, keep = {**FOLDERS, **SPARK}[name]

        def in_folder(columns: Columns) -> Place:
            folder = tmp_path / str(next(numbers))
            folder.mkdir()
            return keep(folder, columns)

        return types, in_folder

    return found


@pytest.fixture(scope="session")
def asked() -> Iterator[Counter[tuple[str, str, str]]]:
    """How often each operation was asked of each type of each source; told at the end."""
    found: Counter[tuple[str, str, str]] = Counter()
    yield found
    lines = [
        f"{number:10,} {source:9} {operation:28} {of}" for (source, of, operation), number in sorted(found.items())
    ]
    lines.append(f"{found.total():10,} in all")
    if "FUZZ_REPORT" in os.environ:
        Path(os.environ["FUZZ_REPORT"]).write_text("\n".join(lines) + "\n")
    print("", *lines, sep="\n")  # noqa: T201, for pytest -s
