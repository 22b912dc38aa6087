"""Histories of charges, and a checker that knows nothing about ledgers but what a receipt must be.

A history is what clients saw, each with its own clock of one machine. It is judged against the list of charges that the
ledger holds at the end. An operation whose outcome is unknown may have happened or not.
"""

import bisect
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import accumulate
from typing import Literal

from inbounds.errors import BudgetExceeded, LedgerError
from inbounds.ledger import Ledger

UNITS = 10**9
"""Units of one epsilon where epsilons add up."""

Outcome = Literal["new", "repeated", "refused", "unknown"]


@dataclass(frozen=True)
class Operation:
    """One call of a client. number: of the entry that its receipt names. total: units spent in all that it was told.

    answer: the bytes that it was given.
    """

    key: str
    units: int
    began: float
    ended: float
    outcome: Outcome
    number: int = 0
    total: int = 0
    answer: bytes | None = None


@dataclass(frozen=True)
class HeldCharge:
    """A charge that the ledger holds at the end, and its answer."""

    number: int
    key: str
    units: int
    answer: bytes | None


def check_history(operations: Sequence[Operation], held: Sequence[HeldCharge], budget: int) -> list[str]:
    """Return what is wrong: receipts are prefix sums, keys have one charge and one answer, time runs forwards."""
    totals = [0, *accumulate(charge.units for charge in held)]
    places = {charge.number: k + 1 for k, charge in enumerate(held)}
    by_key = {charge.key: charge for charge in held}
    wrong = [f"{len(held) - len(by_key)} keys are charged twice"] if len(by_key) < len(held) else []
    wrong += [f"{totals[-1]} units are spent of {budget}"] if totals[-1] > budget else []
    wrong += [f"{key} was never asked" for key in by_key.keys() - {one.key for one in operations}]
    answers = defaultdict(set)
    positions = list[tuple[Operation, int]]()
    for one in operations:
        if one.answer is not None:
            answers[one.key].add(one.answer)
        if one.outcome == "unknown":
            continue
        position = bisect.bisect_left(totals, one.total)
        if position == len(totals) or totals[position] != one.total:
            wrong.append(f"{one.key}: {one.total} units in all are no prefix sum")
            continue
        positions.append((one, position))
        charge = by_key.get(one.key)
        if one.outcome == "refused":
            if one.total + one.units <= budget:
                wrong.append(f"{one.key}: refused although there was room")
        elif charge is None or (charge.number, charge.units) != (one.number, one.units):
            wrong.append(f"{one.key}: its receipt is not in the ledger")
        elif position < places[one.number] or (one.outcome == "new" and position != places[one.number]):
            wrong.append(f"{one.key}: its receipt is not the sum up to its charge")
    wrong += [f"{key}: several answers" for key, several in answers.items() if len(several) > 1]
    wrong += [
        f"{key}: an answer was given that the ledger does not hold"
        for key, several in answers.items()
        if key not in by_key or by_key[key].answer not in several
    ]
    return wrong + _check_times(positions)


def _check_times(positions: list[tuple[Operation, int]]) -> list[str]:
    """Return operations that saw less than one that had ended before they began."""
    ended = sorted(positions, key=lambda one: one[0].ended)
    times = [one.ended for one, _ in ended]
    latest = list(accumulate((position for _, position in ended), max))
    wrong = []
    for one, position in positions:
        before = bisect.bisect_left(times, one.began)
        if before and latest[before - 1] > position - (one.outcome == "new"):
            wrong.append(f"{one.key}: does not know what had been charged before")
    return wrong


class Recorder:
    """Asks a ledger for answers as a client does, and writes down what came of it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.operations, self._clock = list[Operation](), clock

    def ask(
        self, open_ledger: Callable[[], AbstractContextManager[Ledger]], people: str, units: int, key: str, drawn: bytes
    ) -> bool:
        """Charge, store a draw and an answer, and look it up; return whether there was an outcome."""
        began, note = self._clock(), partial(self._note, key, units)
        try:
            with open_ledger() as ledger:
                charge = ledger.charge(people, Fraction(units, UNITS), key=key)
                note(began, "repeated" if charge.repeated else "new", charge.number, charge.people.spent_units)
                answer = charge.answer
                if answer is None:
                    answer = ledger.store(charge, ledger.store_draw(charge, drawn))
                note(began, "unknown", answer=answer)
                began = self._clock()
                found = ledger.find(key)
                assert found is not None
                note(began, "repeated", found.number, found.people.spent_units, found.answer)
        except BudgetExceeded as refused:
            total = (refused.budget - refused.left) * UNITS
            assert total.denominator == 1
            note(began, "refused", 0, int(total))
        except LedgerError:
            note(began, "unknown")
            return False
        return True

    def _note(
        self, key: str, units: int, began: float, outcome: Outcome, number: int = 0, total: int = 0,
        answer: bytes | None = None,
    ) -> None:  # fmt: skip
        self.operations.append(Operation(key, units, began, self._clock(), outcome, number, total, answer))


def held_charges(ledger: Ledger) -> list[HeldCharge]:
    """Return the charges that a ledger holds, which must verify."""
    ledger.verify()
    charges = [entry for entry in ledger.entries() if entry.kind == "charge"]
    return [HeldCharge(one.number, one.key or "", one.units or 0, _answer(ledger, one.key or "")) for one in charges]


def _answer(ledger: Ledger, key: str) -> bytes | None:
    charge = ledger.find(key)
    return None if charge is None else charge.answer


def judge(recorders: Iterable[Recorder], ledger: Ledger, people: str) -> list[Operation]:
    """Raise AssertionError unless what all clients saw is a history of this ledger; return it."""
    operations = [operation for recorder in recorders for operation in recorder.operations]
    budget = ledger.population(people).budget_units
    assert budget is not None
    wrong = check_history(operations, held_charges(ledger), budget)
    assert not wrong, "\n".join(wrong[:20])
    return operations
