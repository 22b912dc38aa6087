"""What the tests of storms share."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inbounds.ledger import Ledger

NUMBERS = itertools.count()


@pytest.fixture
def memory_ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path / "l.db") as ledger:
        yield ledger


@pytest.fixture
def url(postgres_server: Any) -> str:
    """A database of its own."""
    return str(postgres_server.make_database(f"storm_{next(NUMBERS)}"))
