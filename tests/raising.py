"""Errors by their type and place; how they are worded is reviewed in tests/texts."""

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import TypeVar

import pytest

from inbounds.errors import BudgetExceeded
from inbounds.schema.errors import Path, PlanError

E = TypeVar("E", bound=Exception)


@contextmanager
def raises_at(
    kind: type[PlanError], path: Path, *, line: int | None = None, about: str = ""
) -> Iterator[pytest.ExceptionInfo[PlanError]]:
    """Expect an error of exactly this kind about this place of a plan.

    line: of its file. about: a word that tells the error from others about the same place.
    """
    with pytest.raises(kind) as caught:
        yield caught
    assert caught.type is kind
    assert caught.value.path == path
    assert about in caught.value.message
    if line is not None:
        assert caught.value.place.endswith(f", line {line}")


@contextmanager
def rejects(kind: type[E], subject: str = "", *, about: str = "") -> Iterator[pytest.ExceptionInfo[E]]:
    """Expect an error of exactly this kind about this argument.

    subject: the argument's name, with which the message begins; empty for an error about no single argument.
    about: a word that tells the error from others about the same argument.
    """
    with pytest.raises(kind) as caught:
        yield caught
    assert caught.type is kind
    message = str(caught.value)
    assert not subject or message.startswith(f"{subject} ")
    assert about in message


@contextmanager
def exceeds(people: str, *, left: Fraction | int) -> Iterator[pytest.ExceptionInfo[BudgetExceeded]]:
    """Expect the refusal of a charge to these people, who have this much left."""
    with pytest.raises(BudgetExceeded) as caught:
        yield caught
    assert (caught.value.people, caught.value.left) == (people, left)
