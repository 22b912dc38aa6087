"""The ledger by itself: budgets hold, keys repeat, entries chain, and whatever was tampered with is found."""

import json
import pickle
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import inbounds as ib
from envelopes import wrap
from inbounds.accounting.zcdp_filter import RHO_UNIT, epsilon_from_rho, max_rho, rho_upper_bound
from inbounds.files import LEDGER, canonical_json, sha256_hex
from inbounds.ledger import Ledger, LedgerHead, sqlite
from inbounds.ledger.charges import ChargeRequest, Cost
from inbounds.ledger.entries import Entry
from inbounds.ledger.ledger import verify_ledger
from inbounds.ledger.population import new_population
from inbounds.ledger.schema import POSTGRES, SQLITE, SchemaVersion
from inbounds.ledger.sqlite import Driver, Sqlite
from inbounds.ledger.store import ErrorTranslator, Transaction, redact_password
from inbounds.ledger.units import charge_units
from inbounds.ledger.verify import LedgerReport, export_entries, load_export, verify_entries
from raising import exceeds, rejects


@pytest.fixture
def file(tmp_path):
    return tmp_path / "budget.db"


@pytest.fixture
def ledger(file):
    with ib.Ledger.open(file) as made:
        made.add_population("pupils", epsilon=2)
        yield made


def broken(file: Path, *statements: str) -> None:
    """What somebody with the file and any SQLite tool can do."""
    with sqlite3.connect(file) as raw:
        for statement in statements:
            raw.execute(statement)
    raw.close()


WITHOUT_GUARDS = tuple(
    f"DROP TRIGGER {words.split()[2]}"
    for step in SQLITE
    for words in step.statements
    if words.startswith("CREATE TRIGGER")
)
GUARDS_AGAIN = tuple(words for step in SQLITE for words in step.statements if words.startswith("CREATE TRIGGER"))


# --- people and charges -----------------------------------------------------------------------------------


def test_what_is_spent_and_left_is_exact(ledger):
    ledger.charge("pupils", "0.1", key="a")
    ledger.charge("pupils", "1/3", key="b")
    (pupils,) = ledger.people()
    assert (pupils.name, pupils.budget) == ("pupils", 2)
    assert pupils.spent == Fraction(1, 10) + Fraction(333333334, 10**9)
    assert pupils.remaining == 2 - pupils.spent


def test_ten_charges_of_a_tenth_are_one_and_an_eleventh_is_refused(ledger):
    ledger.add_population("few", epsilon=1)
    for k in range(10):
        ledger.charge("few", 0.1, key=f"{k}")
    with exceeds("few", left=0) as refused:
        ledger.charge("few", 0.1, key="10")
    error = pickle.loads(pickle.dumps(refused.value))
    assert (error.people, error.asked, error.left, error.budget) == ("few", Fraction(1, 10), 0, 1)


def test_a_refused_charge_leaves_no_trace(ledger):
    before = ledger.head(), ledger.people()
    with pytest.raises(ib.BudgetExceeded):
        ledger.charge("pupils", 3, key="too much")
    assert (ledger.head(), ledger.people(), ledger.find("too much")) == (*before, None)


def test_a_chain_goes_on_from_every_head_that_it_had_and_from_no_other(ledger):
    heads = [ledger.head()]
    for key in ("a", "b"):
        ledger.charge("pupils", "0.1", key=key)
        heads.append(ledger.head())
    for head in heads:
        ledger.check_continues(head)
    for head in (replace(heads[0], sha256=heads[1].sha256), replace(heads[-1], entries=heads[-1].entries + 1)):
        with pytest.raises(ib.LedgerError):
            ledger.check_continues(head)


def test_draws_that_wait_are_counted_in_words(ledger):
    assert LedgerReport(ledger.head(), (), 0, 0).waiting == 0
    for waiting, words in enumerate(("", "1 draw waits for its answer", "2 draws wait for their answers")):
        said = [line for line in ledger.verify().sentences() if "wait" in line]
        assert [line.partition(":")[0] for line in said] == [words] * bool(waiting)
        ledger.store_draw(ledger.charge("pupils", "0.1", key=f"question {waiting}"), b"drawn")


def test_a_ledger_has_a_key_once_something_was_charged_under_it(ledger):
    assert not ledger.has(ledger.id)
    ledger.charge("pupils", "0.1", key="a")
    assert (ledger.has("a"), ledger.has("b")) == (True, False)
    assert not ledger.has(ledger.id)


def test_the_last_unit_can_be_spent_and_not_one_more(ledger):
    ledger.charge("pupils", Fraction(2 * 10**9 - 1, 10**9), key="nearly")
    with pytest.raises(ib.BudgetExceeded):
        ledger.charge("pupils", Fraction(2, 10**9), key="two")
    ledger.charge("pupils", Fraction(1, 10**9), key="one")
    assert ledger.people()[0].remaining == 0


def test_a_budget_is_rounded_down_and_a_charge_up(ledger):
    third = ledger.add_population("third", epsilon="1/3")
    assert third.budget == Fraction(333333333, 10**9)
    with pytest.raises(ib.BudgetExceeded):
        ledger.charge("third", "1/3", key="third")


def test_the_least_and_the_largest_budget_are_held(ledger):
    assert ledger.add_population("one unit", epsilon="1e-9").budget_units == 1
    most = ledger.add_population("most", epsilon=Fraction(2**63 - 1, 10**9))
    assert most.budget_units == 2**63 - 1
    with rejects(ValueError, "epsilon", about="units"):
        ledger.add_population("more", epsilon=Fraction(2**63, 10**9))


def test_the_same_key_again_costs_nothing(ledger):
    first = ledger.charge("pupils", 1, key="a", purpose="mean age", question={"of": "age"})
    again = ledger.charge("pupils", "1.0", key="a", purpose="mean age", question={"of": "age"})
    assert (first.repeated, again.repeated, again.sha256) == (False, True, first.sha256)
    assert ledger.people()[0].spent == 1


@pytest.mark.parametrize(
    "other",
    [
        {"epsilon": 1, "purpose": "p", "question": 2},
        {"epsilon": 1, "purpose": "q", "question": 1},
        {"epsilon": "1/2", "purpose": "p", "question": 1},
        {"epsilon": 1, "purpose": "p", "question": 1, "parts": ["1/2", "1/2"]},
        {"epsilon": 1, "purpose": "p", "question": 1, "people": "teachers"},
    ],
)
def test_the_same_key_with_other_content_is_refused(ledger, other):
    ledger.add_population("teachers", epsilon=9)
    ledger.charge("pupils", 1, key="a", purpose="p", question=1)
    before = ledger.people()
    with rejects(ib.LedgerError, "key", about="earlier"):
        ledger.charge(other.pop("people", "pupils"), key="a", **other)
    assert ledger.people() == before


def test_a_charge_is_found_under_its_own_key_only(ledger):
    charges = {key: ledger.charge("pupils", price, key=key) for key, price in (("a", "0.1"), ("b", "0.2"))}
    ledger.store(charges["a"], b"of a")
    assert ledger.find("c") is None
    for key, content in (("a", b"of a"), ("b", None)):
        found = ledger.find(key)
        assert (found.number, found.amount, found.answer) == (charges[key].number, charges[key].amount, content)


@pytest.mark.parametrize("draw", ["text", bytearray(b"x"), memoryview(b"x"), None, 7])
def test_an_answer_is_bytes_and_nothing_else(ledger, draw):
    with rejects(TypeError, "an answer"):
        ledger.stored_answers("pupils", "0.1", lambda charge: draw, key="a")
    assert ledger.stored_answers("pupils", "0.1", lambda charge: b"drawn", key="a").content == b"drawn"
    assert ledger.verify().answers == 1


def test_an_answer_is_to_the_people_of_the_charge_that_is_there(ledger):
    others = ledger.add_population("teachers", epsilon=1)
    ledger.store(ledger.charge("pupils", "0.1", key="a")._replace(people=others), b"x")
    assert ledger.verify().answers == 1


@pytest.mark.parametrize(
    ("epsilon", "error", "got"),
    [(Decimal("sNaN"), ValueError, "'sNaN'"), ([0.1], TypeError, "list"), (True, TypeError, "bool")],
)
def test_a_price_that_is_none_is_refused_in_our_words(ledger, epsilon, error, got):
    with rejects(error, "epsilon", about=got):
        ledger.charge("pupils", epsilon)


def test_a_price_means_what_it_prints_as_whatever_it_equals(ledger):
    class Sly(float):
        """Equal to a tenth, and as good a key of a cache."""

        __slots__ = ()

        def __eq__(self, other):
            return other in (0.1, 0.5)

        def __hash__(self):
            return hash(Fraction(1, 10))

    assert ledger.charge("pupils", np.array(0.1)).amount == Fraction(1, 10)
    ledger.charge("pupils", Sly(0.1))
    assert ledger.charge("pupils", Sly(0.5)).amount == Fraction(1, 2)


@pytest.mark.parametrize("question", [{1: 2}, {"a": [{None: 1}]}, [({True: 1},)], {"a": {2.5: ""}}])
def test_a_question_whose_values_are_not_named_by_text_is_refused(ledger, question):
    with rejects(TypeError, "question"):
        ledger.charge("pupils", "0.1", key="a", question=question)
    ledger.charge("pupils", "0.1", key="a", question={"1": [{"a": (1, {"b": None})}]})


def test_others_may_charge_while_a_budget_is_computed(ledger, file, monkeypatch):
    from inbounds.ledger import ledger as module

    def slowly(*asked):
        with Ledger.open(file) as other:
            other.charge("many", "0.1", key="meanwhile")
        return new_population(*asked)

    ledger.add_population("many", epsilon=2, rule="zcdp", delta="1e-6")
    monkeypatch.setattr(sqlite, "PATIENCE", 0.1)
    monkeypatch.setattr(module, "new_population", slowly)
    raised = ledger.raise_budget("many", 3)
    assert (raised.epsilon, raised.spent) == (3, ledger.find("meanwhile").amount)


def test_a_receipt_names_the_people_right_after_the_charge(ledger):
    for k in range(3):
        assert ledger.charge("pupils", "0.3", key=f"{k}").people == ledger.population("pupils")
    assert ledger.population("pupils").spent == Fraction(9, 10)


def test_the_first_entry_says_what_it_begins(ledger):
    first = next(ledger.entries())
    assert (first.kind, first.key, first.parsed_facts) == (
        "ledger",
        ledger.id,
        {"format": "inbounds/ledger", "version": 1},
    )


def test_people_who_are_not_there_are_named_with_the_way_out(ledger):
    for ask in (ledger.population, lambda name: ledger.charge(name, 1), lambda name: ledger.raise_budget(name, 3)):
        with rejects(ib.LedgerError, "people", about="'nobody'"):
            ask("nobody")


class Stop(BaseException):
    """What no driver raises, such as a key pressed."""


@pytest.mark.parametrize(("error", "raised"), [(Stop("now"), Stop), (sqlite3.Error("full"), ib.LedgerError)])
@pytest.mark.parametrize("moment", ["begin", "check", "block", "commit"])
def test_a_transaction_that_fails_at_any_moment_is_undone_and_says_so(moment, error, raised):
    done = []

    def step(name):
        done.append(name)
        if name == moment:
            raise error

    failed = ErrorTranslator(sqlite3.Error, "it could not be written", str)
    steps = [lambda name=name: step(name) for name in ("undo", "check", "commit")]
    with rejects(raised, about=str(error)), Transaction(step, "begin", steps[0], failed, *steps[1:]) as run:
        run("block")
    until = ["begin", "check", "block", "commit"]
    assert done == [*until[: until.index(moment) + 1], "undo"]


def test_entries_are_read_page_by_page(ledger, monkeypatch):
    monkeypatch.setattr("inbounds.ledger.queries.PAGE", 2)
    for k in range(3):
        ledger.charge("pupils", "0.1", key=f"{k}")
    assert [entry.number for entry in ledger.entries()] == [1, 2, 3, 4, 5]
    assert ledger.verify().charges == 3


def test_a_charge_without_a_key_is_its_own(ledger):
    assert ledger.charge("pupils", "0.1").key != ledger.charge("pupils", "0.1").key
    assert ledger.people()[0].spent == Fraction(1, 5)


def test_raising_a_budget_is_an_entry_and_it_never_falls(ledger):
    ledger.charge("pupils", 2, key="all")
    assert ledger.raise_budget("pupils", 3, purpose="decided by the board").remaining == 1
    assert ledger.raise_budget("pupils", 3).remaining == 1
    with rejects(ValueError, "epsilon", about="3, got 2.5"):
        ledger.raise_budget("pupils", "2.5")
    assert [entry.kind for entry in ledger.entries()] == ["ledger", "people", "charge", "budget"]


def test_people_without_a_budget_are_counted(ledger):
    ledger.add_population("visitors")
    for k in range(5):
        ledger.charge("visitors", 64, key=f"{k}")
    visitors = ledger.people()[1]
    assert (visitors.spent, visitors.budget, visitors.remaining) == (320, None, None)
    with rejects(ValueError, "people", about="visitors"):
        ledger.raise_budget("visitors", 500)


def test_the_same_people_again_are_those_who_are_there_and_others_are_refused(ledger):
    ledger.charge("pupils", 1, key="a")
    assert ledger.add_population("pupils", epsilon="2.0") == ledger.people()[0]
    with rejects(ValueError, "people", about="pupils"):
        ledger.add_population("pupils", epsilon=5)
    assert len(list(ledger.entries())) == 3


def test_people_that_make_no_sense_are_refused(ledger, golden):
    def add(made):
        ledger.add_population("others", **made)

    golden.errors(
        "wrong_people",
        [
            lambda: add({"epsilon": 0}),
            lambda: add({"epsilon": "-1"}),
            lambda: add({"epsilon": "1e-10"}),
            lambda: add({"epsilon": "1e30"}),
            lambda: add({"epsilon": float("nan")}),
            lambda: add({"epsilon": 1, "rule": "advanced"}),
            lambda: add({"epsilon": 1, "rule": "zcdp"}),
            lambda: add({"rule": "zcdp", "delta": "1e-6"}),
            lambda: add({"epsilon": 1, "rule": "zcdp", "delta": 1}),
            lambda: add({"epsilon": 1, "rule": "zcdp", "delta": 0}),
        ],
    )
    assert [who.name for who in ledger.people()] == ["pupils"]


@pytest.mark.parametrize("name", ["", " a", "a\nb", "x" * 201, 7, "a\x1b[31m"])
def test_names_and_keys_are_one_printable_line(ledger, name):
    with rejects(ValueError, "people", about="printable"):
        ledger.add_population(name, epsilon=1)
    with rejects(ValueError, "key", about="printable"):
        ledger.charge("pupils", 1, key=name)


def test_a_name_may_have_200_characters(ledger):
    assert ledger.add_population("x" * 200, epsilon=1).name == ledger.population("x" * 200).name


def test_people_are_returned_as_they_are_in_the_ledger(ledger):
    assert ledger.add_population("few", epsilon=1) == ledger.population("few")
    assert ledger.population("few").spent == 0


def test_people_say_what_is_spent_and_what_it_promises(ledger):
    made = (("few", 1, "sum", None), ("many", 1, "zcdp", "1e-6"), ("visitors", None, "sum", None))
    few, many, visitors = (str(ledger.add_population(*words)) for words in made)
    assert few == "few: epsilon 0 of 1 spent, 1 left"
    assert many.startswith("many: rho 0 of 0.0")
    assert many.endswith(" left (epsilon 1 at delta 0.000001, by zCDP)")
    assert visitors == "visitors: epsilon 0 spent, counted without a cap"


def test_unknown_people_are_refused(ledger):
    with rejects(ib.LedgerError, "people", about="'pupil'"):
        ledger.charge("pupil", 1, key="a")


def test_parts_add_up_to_the_whole(ledger):
    with rejects(ValueError, "parts", about="5/6"):
        ledger.charge("pupils", 1, parts=["1/2", "1/3"])


# --- zCDP -------------------------------------------------------------------------------------------------


def test_zcdp_adds_up_rho_part_by_part_and_stops_at_the_declared_epsilon_and_delta(ledger):
    made = ledger.add_population("many", epsilon=2, rule="zcdp", delta="1e-6")
    assert made.budget == max_rho(Fraction(2), Fraction(1, 10**6)) * RHO_UNIT
    receipt = ledger.charge("many", "0.3", parts=["0.1", "0.2"], key="a")
    assert receipt.amount == (rho_upper_bound(Fraction(1, 10)) + rho_upper_bound(Fraction(1, 5))) * RHO_UNIT
    small = Fraction(1, 20)
    fit = (made.budget - receipt.amount) // (rho_upper_bound(small) * RHO_UNIT)
    for k in range(fit):
        ledger.charge("many", small, key=f"{k}")
    with pytest.raises(ib.BudgetExceeded) as refused:
        ledger.charge("many", small, key="one more")
    assert (refused.value.people, refused.value.unit) == ("many", "rho")
    many = ledger.people()[0]
    assert many.spent_epsilon <= 2 < many.spent_epsilon + small
    assert fit * small > 2  # where epsilons add up it would have been over by now


def test_what_zcdp_spent_converts_back_to_at_most_the_declared_epsilon():
    epsilon, delta = Fraction(3, 2), Fraction(1, 10**9)
    cap = max_rho(epsilon, delta)
    assert epsilon_from_rho(cap, delta) <= epsilon < epsilon_from_rho(cap + 2, delta) + Fraction(1, 10**6)


@given(st.lists(st.fractions(Fraction(1, 10**9), 64, max_denominator=10**9), min_size=1, max_size=5))
def test_costs_are_never_rounded_down(parts):
    assert charge_units("sum", tuple(parts)) >= sum(parts) * 10**9 > charge_units("sum", tuple(parts)) - 1
    assert charge_units("zcdp", tuple(parts)) == sum(rho_upper_bound(part) for part in parts)


# --- answers ----------------------------------------------------------------------------------------------


def test_an_answer_is_drawn_once_and_only_after_its_charge_is_durable(ledger, file):
    seen = []

    def draw(charge):
        with sqlite3.connect(file) as other:  # another process would see it
            seen.append(other.execute("SELECT spent FROM people").fetchone())
        return b"drawn"

    first = ledger.stored_answers("pupils", "0.5", draw, key="a")
    again = ledger.stored_answers("pupils", "0.5", draw, key="a")
    assert seen == [(500_000_000,)]
    assert (first.content, first.drawn, again.content, again.drawn) == (b"drawn", True, b"drawn", False)


def test_a_failed_draw_stays_charged_and_is_drawn_later_under_the_same_charge(ledger):
    def fail(charge):
        raise OSError("the disk is gone")

    with rejects(OSError, about="gone"):
        ledger.stored_answers("pupils", 2, fail, key="a")
    assert ledger.people()[0].remaining == 0
    assert ledger.stored_answers("pupils", 2, lambda charge: b"later", key="a").content == b"later"


def test_of_two_that_draw_at_once_one_is_kept_and_both_give_it_out(ledger, file):
    def draw_while_another_does(charge):
        with Ledger.open(file) as other:
            assert other.stored_answers("pupils", 1, lambda _: b"other", key="a").content == b"other"
        return b"mine"

    answer = ledger.stored_answers("pupils", 1, draw_while_another_does, key="a")
    assert (answer.content, answer.drawn) == (b"other", False)
    assert ledger.verify().answers == 1
    assert ledger.people()[0].spent == 1


def test_no_answer_is_given_out_if_its_charge_was_lost(ledger, file, tmp_path):
    charge = ledger.charge("pupils", 1, key="a")
    with Ledger.open(tmp_path / "other.db") as other:
        other.add_population("pupils", epsilon=2)
        with rejects(ib.LedgerError, about="lost"):
            other.store(charge, b"x")
        other.charge("pupils", 1, key="a", purpose="something else")
        with rejects(ib.LedgerError, about="lost"):
            other.store(charge, b"x")
    assert ledger.store(charge, b"x") == b"x"


# --- the chain --------------------------------------------------------------------------------------------

texts = st.none() | st.text()


@given(texts, texts, texts, st.none() | st.integers(0, 2**63 - 1), st.dictionaries(st.text(), st.text()), st.text())
def test_an_entry_is_written_as_canonical_json(people, key, digest, units, facts, time):
    entry = Entry(7, time, "charge", people, units, key, digest, canonical_json(facts), "0" * 64)
    assert canonical_json(json.loads(entry.content)) == entry.content
    signed = Entry.from_row({**entry.to_json(), "sha256": sha256_hex(entry.content)})
    assert (signed.content, signed.sha256) == (entry.content, sha256_hex(entry.content))


plain_values = st.recursive(
    st.none() | st.text() | st.integers(), lambda some: st.lists(some) | st.dictionaries(st.text(), some)
)


@given(st.sampled_from(["", "why", 'a "quoted" é']), plain_values, st.lists(st.fractions(), max_size=3))
def test_a_request_is_digested_as_canonical_json(purpose, question, parts):
    request = ChargeRequest.from_arguments("p", Cost.in_parts(tuple(parts)), "k", purpose, question)
    facts = {"purpose": purpose, "parts": list(map(str, parts))}
    assert request.facts == canonical_json(facts)
    assert request.digest == sha256_hex(canonical_json({**facts, "people": "p", "question": question}))


def test_a_ledger_is_verified_in_sentences(ledger):
    ledger.stored_answers("pupils", 1, lambda charge: b"x", key="a")
    found = ledger.verify(ledger.head())
    assert (found.charges, found.answers, found.head.entries) == (1, 1, 4)
    assert found.people == tuple(ledger.people())
    assert "nothing up to there was changed or lost" in found.sentences()[-1]
    assert "no head was compared" in ledger.verify().sentences()[-1]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET units = 1 WHERE kind = 'charge'",
        "UPDATE entries SET people = NULL WHERE kind = 'charge'",
        "DELETE FROM entries WHERE kind = 'charge'",
        "INSERT OR REPLACE INTO entries SELECT number, time, kind, people, 1, key, digest, facts, previous, sha256 "
        "FROM entries WHERE kind = 'charge'",
        "INSERT OR REPLACE INTO entries SELECT 9, time, kind, people, 1, key, digest, facts, previous, sha256 "
        "FROM entries WHERE kind = 'charge'",
        "INSERT INTO entries SELECT number + 9, time, kind, people, units, 'b', digest, facts, previous, sha256 "
        "FROM entries WHERE kind = 'charge'",
        "UPDATE answers SET content = x'00'",
        "DELETE FROM answers",
        "DELETE FROM people",
        "UPDATE people SET spent = 0",
        "UPDATE people SET spent = spent - 1",
        "UPDATE people SET budget = NULL",
        "UPDATE people SET spent = 2000000001",
        "UPDATE people SET rule = 'zcdp'",
        "INSERT OR REPLACE INTO people SELECT name, rule, epsilon, delta, budget, 0, NULL, NULL, 0, NULL, 0, 0, 0 "
        "FROM people",
        "UPDATE steps SET sha256 = ''",
        "UPDATE people SET spent = 'much'",
        "INSERT INTO answers VALUES (99, x'00')",
    ],
)
def test_the_database_itself_refuses_to_forget(ledger, file, statement):
    ledger.stored_answers("pupils", 1, lambda charge: b"x", key="a")
    before = ledger.verify(), list(ledger.entries())
    raw = sqlite3.connect(file)
    raw.execute("PRAGMA foreign_keys = ON")
    with pytest.raises(sqlite3.IntegrityError):
        raw.execute(statement)
    raw.close()
    assert (ledger.verify(), list(ledger.entries())) == before


def test_whoever_takes_the_guards_away_changes_something_and_puts_them_back_is_found(tmp_path, golden):
    def change(statement):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        with Ledger.open(folder / "budget.db", create=True) as ledger:
            ledger.add_population("pupils", epsilon=2)
            ledger.stored_answers("pupils", 1, lambda charge: b"x", key="a")
            broken(folder / "budget.db", *WITHOUT_GUARDS, statement, *GUARDS_AGAIN)
            ledger.verify()

    ghosts = "INSERT INTO people (name, rule, epsilon, budget) VALUES ('ghosts', 'sum', '1', 1000000000)"
    golden.errors(
        "wrong_ledgers",
        [
            lambda: change("UPDATE entries SET units = 1 WHERE kind = 'charge'"),
            lambda: change("UPDATE entries SET people = 'x' WHERE kind = 'charge'"),
            lambda: change("UPDATE entries SET key = 'x' WHERE kind = 'charge'"),
            lambda: change("UPDATE entries SET time = '2020-01-01T00:00:00+00:00' WHERE number = 2"),
            lambda: change("UPDATE entries SET previous = sha256 WHERE number = 4"),
            lambda: change("UPDATE entries SET sha256 = previous WHERE number = 3"),
            lambda: change("UPDATE entries SET facts = '{ }' WHERE number = 3"),
            lambda: change("DELETE FROM entries WHERE number = 3"),
            lambda: change("DELETE FROM entries WHERE number = 4"),
            lambda: change("UPDATE people SET spent = 0"),
            lambda: change("UPDATE people SET budget = 9000000000"),
            lambda: change("UPDATE people SET epsilon = '9'"),
            lambda: change(ghosts),
            lambda: change("UPDATE answers SET content = x'00'"),
            lambda: change("DELETE FROM answers"),
        ],
        hide=[tmp_path],
    )


@pytest.mark.parametrize("kind", ["ledger", "people", "charge"])
def test_an_answer_kept_under_an_entry_that_is_none_is_found(ledger, file, kind):
    ledger.stored_answers("pupils", 1, lambda _: b"real", key="a")
    number = next(entry.number for entry in ledger.entries() if entry.kind == kind)
    broken(file, f"INSERT INTO answers VALUES ({number}, x'00')")
    with rejects(ib.LedgerError, about="stored answers"):
        ledger.verify()


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (["DROP INDEX entries_key"], "index entries_key"),
        (["DROP INDEX entries_key", "CREATE INDEX entries_key ON entries (key, kind)"], "index entries_key"),
        (["CREATE TRIGGER more AFTER INSERT ON entries BEGIN DELETE FROM people; END"], "trigger more"),
        (["CREATE VIEW more AS SELECT * FROM people"], "view more"),
    ],
)
def test_whatever_is_not_as_it_was_made_is_found(ledger, file, change, found):
    broken(file, *change)
    with rejects(ib.LedgerError, about=f"its {found} "):
        ledger.verify()


@pytest.mark.parametrize("guard", [words.split()[2] for words in WITHOUT_GUARDS])
def test_a_missing_guard_is_found(ledger, file, guard):
    broken(file, f"DROP TRIGGER {guard}")
    with rejects(ib.LedgerError, about=f"trigger {guard} "):
        ledger.verify()


def chained(entries) -> list[Entry]:
    """Entries numbered, linked and signed anew, as by a forger who knows the format."""
    made, previous = [], "0" * 64
    for number, entry in enumerate(entries, start=1):
        unsigned = changed(entry, number=number, previous=previous, sha256="")
        previous = sha256_hex(unsigned.content)
        made.append(changed(unsigned, sha256=previous))
    return made


def rewritten(file: Path, change) -> None:
    """The whole chain of a file replaced by a changed one that is signed anew."""
    with Ledger.open(file) as ledger:
        old = list(ledger.entries())
    rows = [tuple(getattr(entry, name) for name in Entry.__slots__) for entry in chained(change(old))]
    raw = sqlite3.connect(file)
    for statement in (*WITHOUT_GUARDS, "DELETE FROM answers", "DELETE FROM entries"):
        raw.execute(statement)
    raw.executemany("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    for statement in GUARDS_AGAIN:
        raw.execute(statement)
    raw.commit()
    raw.close()


def changed(entry: Entry, **values) -> Entry:
    return Entry(**{**{name: getattr(entry, name) for name in Entry.__slots__}, **values})


def test_a_chain_made_anew_must_still_make_sense(ledger, golden):
    ledger.stored_answers("pupils", 1, lambda charge: b"x", key="a")
    e = list(ledger.entries())
    assert chained(e) == e

    def verify(entries):
        verify_entries("it", chained(entries), ledger.people(), None)

    golden.errors(
        "wrong_chains",
        [
            lambda: verify([changed(e[0], key=None), *e[1:]]),
            lambda: verify([*e[:2], changed(e[2], facts="{}"), *e[3:]]),
            lambda: verify([*e, changed(e[2], people="nobody", key="y")]),
            lambda: verify([*e[:2], changed(e[2], key=None)]),
            lambda: verify([*e[:3], changed(e[3], digest=None)]),
            lambda: verify([*e[:2], changed(e[2], units=1), *e[3:]]),
            lambda: verify([*e, *(changed(e[2], key=f"k{k}") for k in range(2))]),
            lambda: verify([*e, e[2]]),
            lambda: verify([e[1]]),
            lambda: verify([*e, e[0]]),
            lambda: verify([*e, changed(e[2], kind="take", key="y")]),
            lambda: verify([e[0], changed(e[1], units=9 * 10**9), *e[2:]]),
            lambda: verify([*e, e[1]]),
            lambda: verify([e[0], changed(e[1], people=None)]),
            lambda: verify([e[0], changed(e[1], facts=e[1].facts.replace("sum", "max"))]),
            lambda: verify([*e, changed(e[1], kind="budget", facts=canonical_json({"epsilon": "2"}))]),
            lambda: verify([*e, changed(e[3], key="z")]),
            lambda: verify([*e, e[3]]),
            lambda: verify([*e[:3], changed(e[3], people="others")]),
        ],
    )


def test_a_chain_cut_off_and_made_to_agree_is_found_by_a_head_kept_elsewhere(ledger, file):
    ledger.charge("pupils", 1, key="a")
    head = ledger.head()
    ledger.close()
    rewritten(file, lambda entries: entries[:-1])
    broken(file, *WITHOUT_GUARDS, "UPDATE people SET spent = 0", *GUARDS_AGAIN)
    with Ledger.open(file) as forged:
        forged.verify()
        with rejects(ib.LedgerError, about="2 entries, the head 3"):
            forged.verify(head)
        forged.charge("pupils", "0.1", key="b")
        with pytest.raises(ib.LedgerError) as found:
            forged.verify(head)
        assert found.value.entry == 3


def test_a_restored_old_copy_is_found_by_a_head_kept_elsewhere(ledger, file, tmp_path):
    ledger.charge("pupils", 1, key="a")
    raw = sqlite3.connect(file)
    with sqlite3.connect(tmp_path / "copy.db") as copy:
        raw.backup(copy)
    copy.close()
    raw.close()
    ledger.charge("pupils", 1, key="b")
    head = ledger.head()
    with Ledger.open(tmp_path / "copy.db") as old:
        assert old.verify().charges == 1
        with rejects(ib.LedgerError, about="3 entries, the head 4"):
            old.verify(head)
    ledger.raise_budget("pupils", 3)
    assert ledger.verify(head).compared == head


def test_nothing_at_all_is_no_ledger():
    with rejects(ib.LedgerError, about="no entries"):
        verify_entries("it", [], [], None)


def test_another_ledgers_head_is_named_so(ledger, tmp_path):
    with Ledger.open(tmp_path / "other.db") as other, rejects(ib.LedgerError, about="another ledger"):
        ledger.verify(other.head())


# --- modes, files, versions -------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["DELETE", "TRUNCATE", "PERSIST", "MEMORY", "OFF"])
def test_a_weaker_journal_is_refused(ledger, file, mode):
    ledger.close()
    broken(file, "PRAGMA journal_mode = DELETE")
    raw = sqlite3.connect(file)
    raw.execute(f"PRAGMA journal_mode = {mode}")
    raw.close()
    with rejects(ib.LedgerError, about="got delete"):
        Ledger.open(file)


@pytest.mark.parametrize(
    "setting", ["synchronous = OFF", "synchronous = NORMAL", "foreign_keys = OFF", "journal_mode=DELETE"]
)
def test_an_open_connection_cannot_be_told_to_wait_for_less(ledger, setting):
    with pytest.raises(sqlite3.DatabaseError, match="not authorized"):
        ledger._store._run(f"PRAGMA {setting}")
    ledger.charge("pupils", 1, key="a")
    found = [ledger._store._pragma(name) for name in ("synchronous", "foreign_keys", "journal_mode")]
    assert found == [3, 1, "wal"]


def test_a_ledger_in_memory_is_refused(tmp_path):
    def in_memory(path, create):
        return sqlite3.connect(":memory:", isolation_level=None)

    with rejects(ib.LedgerError, about="got memory"):
        Sqlite(tmp_path / "none.db", create=True, driver=Driver(in_memory, sqlite3.Error))


def test_other_files_are_no_ledgers_and_stay_as_they_are(tmp_path):
    text, other = tmp_path / "survey.csv", tmp_path / "other.db"
    text.write_text("a,b\n")
    broken(other, "CREATE TABLE t (x)")
    before = text.read_bytes(), other.read_bytes()
    for path in (text, other):
        with rejects(ib.LedgerError, about="no ledger"):
            Ledger.open(path)
    assert (text.read_bytes(), other.read_bytes()) == before
    with rejects(ib.LedgerError, about="no file"):
        Ledger.open(tmp_path / "none.db", create=False)
    with rejects(ValueError, "a ledger", about="folder"):
        Ledger.open(tmp_path / "no" / "folder.db")
    with rejects(ValueError, "a ledger", about="postgresql://"):
        Ledger.open("mysql://me:secret@host/db")


def test_a_ledger_with_a_second_name_is_refused_under_both_before_and_while_it_is_open(ledger, file, tmp_path):
    (tmp_path / "second.db").hardlink_to(file)
    with rejects(ib.LedgerError, about="got 2 hard links"):
        ledger.charge("pupils", 2, key="a")
    for name in (file, tmp_path / "second.db"):
        with rejects(ib.LedgerError, about="got 2 hard links"):
            Ledger.open(name)
    (tmp_path / "second.db").unlink()
    ledger.charge("pupils", 2, key="a")


def test_a_ledger_that_was_removed_or_replaced_while_open_charges_nothing(ledger, file, tmp_path):
    file.rename(tmp_path / "aside.db")
    with rejects(ib.LedgerError, about="removed"):
        ledger.charge("pupils", 1, key="a")
    Ledger.open(file).close()
    with rejects(ib.LedgerError, about="replaced"):
        ledger.charge("pupils", 1, key="a")


def test_a_symbolic_link_leads_to_the_one_ledger(ledger, file, tmp_path):
    (tmp_path / "link.db").symlink_to(file)
    with Ledger.open(tmp_path / "link.db") as other:
        other.charge("pupils", 2, key="a")
    with pytest.raises(ib.BudgetExceeded):
        ledger.charge("pupils", 1, key="b")


def test_an_empty_file_becomes_a_ledger_as_after_a_crash_at_birth(tmp_path):
    (tmp_path / "new.db").touch()
    with Ledger.open(tmp_path / "new.db") as made:
        assert made.verify().head.entries == 1


LATER = SchemaVersion(("CREATE INDEX entries_time ON entries (time)",))
"""A step that a later version might bring."""


def test_a_ledger_of_an_older_version_is_brought_forward_with_all_it_holds(file):
    with Ledger(Sqlite(file, create=True)) as ledger:
        ledger.add_population("pupils", epsilon=2)
        ledger.charge("pupils", 1, key="a")
    new = Sqlite(file, create=False, steps=(*SQLITE, LATER))
    assert list(new.migrated_steps) == [2]
    with Ledger(new) as ledger:
        assert ledger.verify().people[0].spent == 1
        assert ledger.brought_forward == f"{file} was a ledger of version 1 and was brought forward to 2"
    again = Sqlite(file, create=False, steps=(*SQLITE, LATER))
    assert list(again.migrated_steps) == []
    with Ledger(again) as ledger:
        assert ledger.brought_forward == ""


def test_a_new_ledger_was_not_brought_forward(ledger):
    assert ledger.brought_forward == ""


def test_whoever_verifies_an_older_ledger_hears_that_it_was_brought_forward(file, monkeypatch):
    Ledger.open(file).close()
    later = (*SQLITE, LATER)
    monkeypatch.setattr("inbounds.ledger.ledger.open_store", lambda *_, **__: Sqlite(file, create=False, steps=later))
    heard = []
    assert verify_ledger(str(file), tell=heard.append).head.entries == 1
    assert verify_ledger(str(file), tell=heard.append).whole
    assert heard == [f"{file} was a ledger of version 1 and was brought forward to 2"]


def test_a_ledger_of_a_later_version_and_one_of_another_hand_are_refused(ledger, file):
    ledger.close()
    broken(file, "INSERT INTO steps VALUES (2, 'later')")
    with rejects(ib.UnknownVersion, about="version 2"):
        Ledger.open(file)
    broken(file, "DROP TRIGGER steps_update", "DROP TRIGGER steps_delete", "DELETE FROM steps WHERE number = 2")
    broken(file, "UPDATE steps SET sha256 = 'other' WHERE number = 1")
    with rejects(ib.LedgerError, about="step 1"):
        Ledger.open(file)
    broken(file, "UPDATE steps SET number = 2")
    with rejects(ib.LedgerError, about="numbered"):
        Ledger.open(file)


STEPS = {"sqlite": ["16f371616a021a65"], "postgres": ["b4dde8cd70330b49", "72b13766937ea86b"]}


def test_the_released_steps_never_change():
    """A step that others have taken stays what it was: these are the digests of their first publication."""
    assert [step.sha256[:16] for step in SQLITE] == STEPS["sqlite"]
    assert [step.sha256[:16] for step in POSTGRES] == STEPS["postgres"]


def test_a_ledger_carried_into_a_child_process_is_refused(ledger, monkeypatch):
    monkeypatch.setattr("os.getpid", lambda: -1)
    with rejects(ib.LedgerError, about="process"):
        ledger.charge("pupils", 1, key="a")


def test_a_ledger_carried_into_another_thread_is_refused_and_nothing_is_in_doubt(ledger):
    with ThreadPoolExecutor(1) as threads:
        refused = threads.submit(ledger.charge, "pupils", 1, key="a").exception()
    assert isinstance(refused, ib.LedgerError)
    assert "thread" in str(refused)
    assert "may be recorded" not in str(refused)
    assert ledger.find("a") is None
    for act in (ledger.verify, ledger.close):
        with ThreadPoolExecutor(1) as threads, rejects(ib.LedgerError, about="thread"):
            threads.submit(act).result()
    assert ledger.verify().charges == 0


def test_clock_and_ids_are_arguments(file):
    with Ledger(
        Sqlite(file, create=True), clock=datetime(2026, 1, 2, tzinfo=UTC).timestamp, ids=lambda: "me"
    ) as ledger:
        assert ledger.id == "me"
        assert {entry.time for entry in ledger.entries()} == {"2026-01-02T00:00:00+00:00"}


@pytest.mark.parametrize("parts", [["-1"], ["0", "1/2"], ["3/2", "-1"]])
def test_a_forged_charge_that_gives_something_back_is_found(ledger, tmp_path, parts):
    ledger.add_population("everybody", epsilon=2)
    ledger.charge("everybody", "3/2", key="first")
    ledger.charge("everybody", "1/2", key="second")
    content = export_entries(ledger.head(), ledger.entries(), ledger.people()).content
    last, units = content["entries"][-1], charge_units("sum", tuple(map(Fraction, parts)))
    last |= {"units": str(units), "facts": {**last["facts"], "parts": parts}}
    last["sha256"] = sha256_hex(canonical_json({key: value for key, value in last.items() if key != "sha256"}))
    content["head"]["entry_sha256"] = last["sha256"]
    spent = 1_500_000_000 + units
    content["people"] = [{**who, "spent_units": str(spent)} for who in content["people"]]
    (tmp_path / "forged.json").write_text(json.dumps(wrap(LEDGER, content)))
    with pytest.raises(ib.LedgerError) as found:
        load_export(tmp_path / "forged.json")
    assert pickle.loads(pickle.dumps(found.value)).entry == 5


@pytest.mark.parametrize("change", [{"time": None}, {"number": 1.0}, {"kind": 3}, {"people": []}, {"sha256": None}])
def test_an_exported_entry_of_other_types_is_refused_in_a_sentence(ledger, tmp_path, change):
    content = export_entries(ledger.head(), ledger.entries(), ledger.people()).content
    content["entries"][0] |= change
    (tmp_path / "odd.json").write_text(json.dumps(wrap(LEDGER, content)))
    with rejects(ib.LedgerError, about="whole"):
        load_export(tmp_path / "odd.json")


def test_an_exported_ledger_is_checked_like_the_ledger_itself(ledger, tmp_path):
    ledger.add_population("many", epsilon=1, rule="zcdp", delta="1e-6")
    ledger.add_population("visitors")
    ledger.stored_answers("many", "0.1", lambda charge: b"x", key="a")
    content = export_entries(ledger.head(), ledger.entries(), ledger.people()).content
    path = tmp_path / "ledger.json"
    path.write_text(json.dumps(wrap(LEDGER, content)))
    assert load_export(path, ledger.head()) == replace(ledger.verify(ledger.head()), whole=False)
    assert verify_ledger(str(path)) == load_export(path)
    for change in (
        lambda c: c["entries"].pop(),
        lambda c: c["entries"][1].update(units="1"),
        lambda c: c["people"][0].update(spent_units="0"),
        lambda c: c["head"].update(entry_sha256="0" * 64),
        lambda c: c.pop("people"),
        lambda c: c.update(version=2),
    ):
        other = json.loads(json.dumps(content))
        change(other)
        path.write_text(json.dumps(wrap(LEDGER, other)))
        with pytest.raises(ib.LedgerError):
            load_export(path)


def test_a_head_is_read_back_from_its_file(ledger, tmp_path):
    path = tmp_path / "head.json"
    path.write_text(json.dumps(ledger.head().to_json()))
    assert LedgerHead.load(path) == ledger.head()
    assert (ledger.head().to_json()["format"], ledger.head().to_json()["version"]) == ("inbounds/ledger-head", 1)
    path.write_text(json.dumps({"format": "other"}))
    with rejects(ib.PassportError, about="'inbounds/ledger-head'"):
        LedgerHead.load(path)
    path.write_text(json.dumps({**ledger.head().to_json(), "version": 2}))
    with rejects(ib.UnknownVersion, about="version 2"):
        LedgerHead.load(path)


def test_no_message_holds_the_password_of_a_server():
    assert redact_password("postgresql://me:secret@host:5/db?password=x") == "postgresql://me@host:5/db"
    pytest.importorskip("psycopg")
    with pytest.raises(ib.LedgerError) as refused:
        Ledger.open("postgresql://me:secret@127.0.0.1:1/db")
    assert "secret" not in str(refused.value)
