"""Calls that worker processes run in the tests."""

import time

from inbounds.errors import InboundsError

SLEEP = 60.0


def add(one, two, progress):
    progress("adding", 1, 2)
    return one + two


def sleep(progress):
    time.sleep(SLEEP)


def fill_memory(progress):
    return bytearray(8 << 30)[0]


def refuse(progress):
    raise InboundsError("this cannot be designed")


def quote_a_record(progress):
    raise KeyError("Ana Silva, born 2004")
