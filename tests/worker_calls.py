"""Calls that worker processes run in the tests."""

import time
from typing import NoReturn

from inbounds.errors import InboundsError
from inbounds.progress import Progress

SLEEP = 60.0


def add(one: int, two: int, progress: Progress) -> int:
    progress("adding", 1, 2)
    return one + two


def sleep(progress: Progress) -> None:
    time.sleep(SLEEP)


def fill_memory(progress: Progress) -> int:
    return bytearray(8 << 30)[0]


def refuse(progress: Progress) -> NoReturn:
    raise InboundsError("this cannot be designed")


def quote_a_record(progress: Progress) -> NoReturn:
    raise KeyError("Ana Silva, born 2004")
