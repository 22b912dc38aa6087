"""Errors by their type and place; how they are worded is reviewed in tests/texts."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from inbounds.schema.errors import Path, PlanError


@contextmanager
def raises_at(kind: type[PlanError], path: Path, line: int | None = None) -> Iterator[pytest.ExceptionInfo[PlanError]]:
    """Expect an error of exactly this kind about this place of a plan, and about this line of its file if given."""
    with pytest.raises(kind) as caught:
        yield caught
    assert caught.type is kind
    assert caught.value.path == path
    if line is not None:
        assert caught.value.place.endswith(f", line {line}")
