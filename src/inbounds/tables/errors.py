"""What can go wrong with a release, as types.

    ValueError
    └── PlanError             the plan says something impossible; names the place in the plan
        └── SourceError       the source it names cannot be opened, or has not the declared columns
    InboundsError
    └── AggregationFailed     the engine gave up while aggregating

None of them ever carries a value from the data: what an engine says about a failure may quote a record, so it is
withheld.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from inbounds.errors import InboundsError, one_line

Path = tuple[str | int, ...]
"""A place in a plan: ("columns", "score", "high"), or ("statistics", 0, "count")."""


class PlanError(ValueError):
    """A plan that cannot be released: `path` is the place in the plan, `place` says it to a reader."""

    def __init__(self, message: str, path: Path = (), place: str = "") -> None:
        self.message, self.path, self.place = one_line(message), path, place
        super().__init__(one_line(f"{place}: {self.subject}{message}" if place else f"{self.subject}{message}"))

    @property
    def subject(self) -> str:
        return f"{dotted(self.path)} " if self.path else ""

    def under(self, *outer: str | int) -> "PlanError":
        """The same error seen from further out."""
        return type(self)(self.message, (*outer, *self.path), self.place)

    def placed(self, place: str) -> "PlanError":
        """The same error with the line of the file it is about."""
        return self if self.place else type(self)(self.message, self.path, place)


class SourceError(PlanError):
    """The source cannot be opened, or does not have what the plan declares."""


class AggregationFailed(InboundsError):
    """The engine stopped while aggregating; its own words may quote data and are withheld."""


def dotted(path: Path) -> str:
    """A path as people write it: statistics[1].count; lists are counted from one.

    >>> dotted(("statistics", 0, "count"))
    'statistics[1].count'
    """
    text = ""
    for part in path:
        text += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if text else part
    return text


@contextmanager
def at(*outer: str | int) -> Iterator[None]:
    """Whatever goes wrong inside is about this place of the plan.

    Errors of plain arguments begin with the argument's own name; when that is part of the place, it is not said
    twice.
    """
    try:
        yield
    except PlanError as error:
        raise error.under(*outer) from error.__cause__
    except (ValueError, TypeError, ArithmeticError) as error:
        first, _, rest = str(error).partition(" ")
        raise PlanError(rest if first in outer else str(error), outer) from error
