"""Progress of long work, in counts of planned work.

A count is known from the plan before data is read: designs to make, numbers to draw. It is never a number of records or
of groups found in the data.
"""

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with the name of a step, how much of it is done, and how much is planned."""


def ignore_progress(doing: str, done: int, total: int) -> None:
    """Ignore progress."""
