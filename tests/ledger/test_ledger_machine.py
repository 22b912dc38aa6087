"""The ledger against a model of five lines, with a crash between any two statements, on both stores.

A crash comes before or after some statement to the database: the process is gone, what was not committed with it. An
operation that was not acknowledged may or may not have happened; asked again with the same key it must have, once.
"""

import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from inbounds.errors import BudgetExceeded, LedgerError
from inbounds.ledger import Ledger
from inbounds.ledger.ledger import open_store
from raising import rejects

KEYS = st.sampled_from([f"k{k}" for k in range(8)])
NANOS = st.sampled_from([1, 250_000_000, 333_333_333, 500_000_000, 10**9])
STATEMENTS = st.integers(0, 12)


class Model:
    """What a ledger is."""

    def __init__(self) -> None:
        self.budget, self.charged, self.draws, self.answers = 2 * 10**9, {}, {}, {}

    def charge(self, key: str, nanos: int) -> bool:
        fits = key in self.charged or sum(self.charged.values()) + nanos <= self.budget
        if fits:
            self.charged.setdefault(key, nanos)
        return fits


class Crash(Exception):
    """The process is gone."""


class Machine(RuleBasedStateMachine):
    place: str
    after: int | None

    @initialize()
    def start(self) -> None:
        self.place, self.model, self.ledger = self.new_place(), Model(), None
        self.open()
        self.ledger.add_population("p", 2)

    def new_place(self) -> str:
        self.folder = tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
        return self.folder.name + "/l.db"

    def open(self) -> None:
        store: Any = open_store(self.place, create=True)
        own = store._run
        self.countdown = None

        def run(sql: str, *values: Any) -> Any:
            if self.countdown is not None:
                self.countdown -= 1
                if self.countdown == 0:
                    raise Crash
            found = own(sql, *values)
            if self.countdown is not None and sql == "COMMIT" and self.countdown == 1:
                raise Crash  # done, but nobody heard of it
            return found

        store._run = run
        self.ledger = Ledger(store)

    def crash(self) -> None:
        self.countdown = None
        self.ledger._store._connection.close()
        self.open()

    @rule(key=KEYS, nanos=NANOS, crash=STATEMENTS)
    def charge(self, key: str, nanos: int, crash: int) -> None:
        amount = Fraction(self.model.charged.get(key, nanos), 10**9)
        self.countdown = crash or None
        try:
            try:
                receipt = self.ledger.charge("p", amount, key=key)
            except Crash:
                self.crash()
                receipt = self.ledger.charge("p", amount, key=key)
        except BudgetExceeded as refused:
            receipt = None
            left = refused.left
        finally:
            self.countdown = None
        assert self.model.charge(key, nanos) == (receipt is not None)
        if receipt is None:
            assert left * 10**9 == self.model.budget - sum(self.model.charged.values())
        else:
            assert receipt.answer == self.model.answers.get(key)

    @rule(key=KEYS, content=st.binary(max_size=20), crash=STATEMENTS)
    def draw(self, key: str, content: bytes, crash: int) -> None:
        if key not in self.model.charged or key in self.model.answers:
            return
        charge = self.ledger.charge("p", Fraction(self.model.charged[key], 10**9), key=key)
        self.countdown = crash or None
        try:
            kept = self.ledger.store_draw(charge, content)
        except Crash:
            self.crash()
            kept = self.ledger.store_draw(charge, content + b"drawn again")
            assert kept in (content, content + b"drawn again", self.model.draws.get(key))
        finally:
            self.countdown = None
        assert self.model.draws.setdefault(key, kept) == kept

    @rule(key=KEYS, content=st.binary(max_size=20), crash=STATEMENTS)
    def answer(self, key: str, content: bytes, crash: int) -> None:
        if key not in self.model.charged:
            return
        charge = self.ledger.charge("p", Fraction(self.model.charged[key], 10**9), key=key)
        self.countdown = crash or None
        try:
            kept = self.ledger.store(charge, content)
        except Crash:
            self.crash()
            kept = self.ledger.store(charge, content + b"drawn again")
            assert kept in (content, content + b"drawn again", self.model.answers.get(key))
        finally:
            self.countdown = None
        assert self.model.answers.setdefault(key, kept) == kept

    @rule(key=KEYS)
    def ask_something_else_under_a_key(self, key: str) -> None:
        if key in self.model.charged:
            with rejects(LedgerError, "key", about="earlier"):
                self.ledger.charge("p", Fraction(self.model.charged[key], 10**9), key=key, purpose="other")

    @rule(whole=st.integers(2, 6))
    def raise_budget(self, whole: int) -> None:
        if whole * 10**9 >= self.model.budget:
            self.ledger.raise_budget("p", whole)
            self.model.budget = whole * 10**9

    @rule()
    def restart(self) -> None:
        self.crash()

    @invariant()
    def the_ledger_is_the_model(self) -> None:
        if getattr(self, "ledger", None) is None:
            return
        found = self.ledger.verify()
        spent = sum(self.model.charged.values())
        assert (found.people[0].spent_units, found.people[0].budget_units) == (spent, self.model.budget)
        assert {key: self.ledger.find(key).answer for key in self.model.answers} == self.model.answers
        assert (found.charges, found.answers) == (len(self.model.charged), len(self.model.answers))
        waiting = {key: drawn for key, drawn in self.model.draws.items() if key not in self.model.answers}
        assert {key: self.ledger.find(key).draw for key in waiting} == waiting
        assert found.waiting == len(waiting)

    def teardown(self) -> None:
        if getattr(self, "ledger", None) is not None:
            self.ledger.close()
            self.drop()

    def drop(self) -> None:
        self.folder.cleanup()


def carried_out(machine: type[Machine], examples: int, steps: int) -> None:
    limits = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=limits)


@pytest.mark.long
def test_sqlite_is_the_model_in_any_crash():
    carried_out(Machine, examples=30, steps=20)


@pytest.mark.slow
def test_sqlite_is_the_model_in_very_many_crashes():
    carried_out(Machine, examples=1000, steps=40)


@pytest.mark.slow
def test_postgresql_is_the_model_in_any_crash(postgres_server):
    import psycopg

    class OnPostgres(Machine):
        count = 0

        def new_place(self) -> str:
            OnPostgres.count += 1
            self.name = f"machine_{OnPostgres.count}"
            with psycopg.connect(postgres_server.url, autocommit=True) as server:
                server.execute(f"CREATE DATABASE {self.name}")
            return str(postgres_server.url).rsplit("/", 1)[0] + f"/{self.name}"

        def drop(self) -> None:
            with psycopg.connect(postgres_server.url, autocommit=True) as server:
                server.execute(f"DROP DATABASE {self.name} WITH (FORCE)")

    carried_out(OnPostgres, examples=40, steps=25)
