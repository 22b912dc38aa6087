"""The checker of histories finds each kind of lie, and no lie in a history that is true."""

from contextlib import nullcontext
from dataclasses import replace

import pytest

from storms.histories import HeldCharge, Operation, Recorder, check_history, judge

HELD = [HeldCharge(3, "a", 2, b"x"), HeldCharge(6, "b", 5, b"y")]
TRUE = [
    Operation("a", 2, 0, 1, "new", 3, 2, b"x"),
    Operation("b", 5, 2, 3, "new", 6, 7, b"y"),
    Operation("c", 9, 2, 4, "refused", 0, 2),
    Operation("a", 2, 5, 6, "repeated", 3, 7, b"x"),
    Operation("d", 1, 5, 6, "unknown"),
]


def test_a_true_history_is_found_true():
    assert check_history(TRUE, HELD, 10) == []


@pytest.mark.parametrize(
    ("place", "lie", "found"),
    [
        (0, {"total": 3}, "a: 3 units in all are no prefix sum"),
        (0, {"total": 7}, "a: its receipt is not the sum up to its charge"),
        (0, {"number": 4}, "a: its receipt is not in the ledger"),
        (0, {"units": 1}, "a: its receipt is not in the ledger"),
        (0, {"answer": b"z"}, "a: several answers"),
        (2, {"units": 8}, "c: refused although there was room"),
        (2, {"began": 3.5}, "c: does not know what had been charged before"),
        (3, {"total": 2}, "a: does not know what had been charged before"),
        (4, {"answer": b"z"}, "d: an answer was given that the ledger does not hold"),
        (1, {"key": "e"}, "b was never asked"),
    ],
)
def test_each_lie_is_found(place, lie, found):
    history = [*TRUE]
    history[place] = replace(history[place], **lie)
    assert found in check_history(history, HELD, 10)


def test_a_ledger_that_overspends_or_charges_a_key_twice_is_found():
    assert "7 units are spent of 6" in check_history(TRUE[:2], HELD, 6)
    assert "1 keys are charged twice" in check_history(TRUE, [*HELD, HeldCharge(9, "b", 1, None)], 10)


def test_charges_in_another_order_than_time_are_found():
    swapped = [replace(TRUE[0], began=8, ended=9), TRUE[1]]
    assert check_history(swapped, HELD, 10) == ["a: does not know what had been charged before"]


def test_what_a_recorder_saw_of_a_ledger_in_a_file_is_its_history(memory_ledger):
    memory_ledger.add_population("p", "0.000001")
    recorder = Recorder()
    for k in (0, 1, 1, 2, 0):
        assert recorder.ask(lambda: nullcontext(memory_ledger), "p", 400 + k, f"k{k}", b"drawn")
    seen = [one.outcome for one in judge([recorder], memory_ledger, "p")]
    assert (seen.count("new"), seen.count("refused")) == (2, 1)
