"""One transaction at a time on a connection: whoever asks in the middle waits, and what an interrupt left is undone."""

import sys
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest

import inbounds as ib
from inbounds.ledger import Ledger
from inbounds.ledger.sqlite import Sqlite


def interrupted(nth, act):
    """Act, with a key pressed before its nth instruction inside the ledger; whether it was still running."""
    count = 0

    def tracer(frame, event, argument):
        nonlocal count
        if f"{Path('inbounds', 'ledger')}" not in frame.f_code.co_filename:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            count += 1
            if count == nth:
                raise KeyboardInterrupt
        return tracer

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        act()
    except KeyboardInterrupt:
        return True
    except ib.LedgerError:  # a key inside SQLite's question whether a statement is allowed is a refusal of it
        assert count >= nth
        return True
    finally:
        sys.settrace(before)
    return False


@pytest.mark.long
def test_a_key_pressed_at_any_instruction_leaves_a_ledger_that_goes_on(memory):
    with Ledger.open(memory / "l.db") as ledger:
        ledger.add_population("pupils", epsilon=60)
        nth = 1
        while interrupted(nth, partial(ledger.charge, "pupils", "0.001", key=f"k{nth}")):
            assert ledger.charge("pupils", "0.001", key=f"k{nth}").people.spent == Fraction(nth, 1000)
            nth += 1
        assert nth > 100
        assert ledger.verify().charges == nth


def test_a_transaction_inside_another_is_refused_and_the_outer_one_goes_on(memory):
    errors, hook = [], []

    def clock():
        while hook:
            try:
                hook.pop()()
            except ib.LedgerError as error:
                errors.append(str(error))
        return 0.0

    with Ledger(Sqlite(memory / "l.db", create=True), clock=clock) as ledger:
        ledger.add_population("pupils", epsilon=2)
        hook[:] = [ledger.verify, lambda: ledger.charge("pupils", 1)]
        assert ledger.charge("pupils", "0.1", key="a").people.spent == Fraction(1, 10)
        assert ledger.verify().charges == 1
    assert len(errors) == 2
    assert all("transaction" in error for error in errors)


def test_half_a_transaction_that_an_interrupt_left_is_undone_before_the_next(memory):
    with Ledger.open(memory / "l.db") as ledger:
        ledger.add_population("pupils", epsilon=2)
        ledger._store._run("BEGIN IMMEDIATE")
        ledger._store._run("UPDATE people SET spent = 1")
        assert ledger.charge("pupils", "0.1", key="a").people.spent == Fraction(1, 10)
        assert ledger.verify().charges == 1
