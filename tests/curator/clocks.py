"""Clocks for curators in tests: time that is skipped, and time that the test tells."""

import threading
from concurrent.futures import Future, wait
from typing import Any

from inbounds.curator.timing import Time


class SkippedTime(Time):
    """Real time, of which waiting skips the rest; for tests that ask one question after the other."""

    def __init__(self) -> None:
        self.skipped = 0.0

    def wall(self) -> float:
        return super().wall() + self.skipped

    def steady(self) -> float:
        return super().steady() + self.skipped

    def sleep(self, seconds: float) -> None:
        self.skipped += max(0.0, seconds)

    def hold(self, work: "Future[Any]", leave: float) -> None:
        wait([work])
        super().hold(work, leave)


class PromptTime(Time):
    """Real time in which an answer leaves when its evaluation is done; for threads that ask different questions."""

    def hold(self, work: "Future[Any]", leave: float) -> None:
        wait([work])


class ToldTime(Time):
    """Time that passes when somebody says so. takes: seconds that the next evaluation reads data."""

    def __init__(self, takes: float = 0.0) -> None:
        self.now, self.takes = 1_000_000.0, takes
        self.left = threading.Event()

    def wall(self) -> float:
        return self.now

    def steady(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += max(0.0, seconds)

    def read(self) -> None:
        """What an engine does: it takes its time. One that takes longer than its answer waits ends after that left."""
        if self.takes > 1:
            assert self.left.wait(60)
        else:
            self.now += self.takes

    def hold(self, work: "Future[Any]", leave: float) -> None:
        if self.takes <= 1:
            wait([work])
        self.now = max(self.now, leave)
