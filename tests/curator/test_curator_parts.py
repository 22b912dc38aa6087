"""Parts of the curator by themselves: moments, counts and sums at their very borders."""

from fractions import Fraction
from types import SimpleNamespace

import pytest

from inbounds.curator.exposure import MOST_ENUMERATED, largest_coalitions
from inbounds.curator.http.limits import Places
from inbounds.curator.reuse import sum_cells
from inbounds.curator.timing import Deadline


def test_the_error_of_a_sum_counts_every_cell_of_every_group():
    recipe = {"by": ["region"], "cells": {"count": ["a", "b", "c"]}, "errors": ("count_error", "cells_error")}
    table = {
        "region": ["N", "S", "N"],
        "school": ["1", "2", "3"],
        "a": [1, 2, 3],
        "b": [10, 20, 30],
        "c": [100, 200, 300],
        "cells_error": [0.5, 0.25, 1.0],
    }
    assert sum_cells(recipe, table) == {"region": ["N", "S"], "count": [444, 222], "count_error": [4.5, 0.75]}


@pytest.mark.parametrize(("moment", "in_time"), [(9.9, True), (10.0, False), (10.1, False)])
def test_an_evaluation_is_in_time_before_its_moment_and_not_at_it(moment, in_time):
    clock = SimpleNamespace(steady=lambda: moment)
    deadline = Deadline(clock)
    assert not deadline.is_past()
    deadline.fix(10.0)
    assert deadline.is_past() is not in_time
    assert deadline.finish() is in_time
    assert deadline.close() is in_time


def test_nothing_finishes_after_it_was_closed():
    deadline = Deadline(SimpleNamespace(steady=lambda: 0.0))
    deadline.fix(10.0)
    assert not deadline.close()
    assert not deadline.finish()


def test_as_many_places_are_taken_as_there_are():
    places = Places(2)
    assert [places.take() for _ in range(3)] == [True, True, False]


def test_accounts_that_hold_the_same_answer_never_know_more_than_it_together():
    names = [f"{k}" for k in range(MOST_ENUMERATED + 1)]
    held = {"answer": dict.fromkeys(names, Fraction(1)), "other": {"0": Fraction(1, 2)}}
    accounts = {name: Fraction(3, 2) if name == "0" else Fraction(1) for name in names}
    several = largest_coalitions(held, accounts)
    assert [one.epsilon for one in several] == [Fraction(3, 2)] * len(names)
    assert [one.exact for one in several] == [False] * MOST_ENUMERATED + [True]
