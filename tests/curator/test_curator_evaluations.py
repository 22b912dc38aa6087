"""Evaluations: when answers leave, and what becomes of a question whose evaluation fails."""

import json
import re
import threading
import time as clock
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest
from typer.testing import CliRunner

from curator.clocks import ToldTime
from curator.pupils import account
from curator.test_curator import LIKES, spent
from inbounds.cli import app as commands
from inbounds.curator import (
    Curator,
    CuratorUnavailable,
    DatasetClosed,
    EvaluationFailed,
    Forbidden,
    UnknownResource,
    evaluations,
    ledger_head,
)
from inbounds.curator.curator import OWNER
from inbounds.curator.timing import Deadline, Slots, Time
from inbounds.errors import LedgerError
from inbounds.ledger import Ledger
from inbounds.releases.aggregate import OpenSource
from inbounds.releases.drawing import IndependentDraw
from inbounds.schema.errors import PlanError, SourceError
from raising import raises_at, rejects

OTHER = {"count": "age > 12", "epsilon": "0.5"}


class EngineError(RuntimeError):
    """What an engine says may quote a record."""


@pytest.fixture
def fails(monkeypatch):
    """Whatever is asked next fails while data is read."""

    def ask(curator, own, question=LIKES, *, error=EngineError):
        def broken(_):
            raise error("value 17 of ana is odd")

        with monkeypatch.context() as patch:
            patch.setattr(OpenSource, "aggregate", broken)
            with pytest.raises(CuratorUnavailable) as failed:
                curator.ask(own, "pupils", question)
        return failed.value

    return ask


def status(curator):
    (found,) = curator.statuses(OWNER)
    return found


# --- when an answer leaves ------------------------------------------------------------------------------------


def told(opened, monkeypatch, takes, fault=None):
    """A curator in a time that is told, whose answers leave after a second; reading takes so long, and may fail."""
    time, own = ToldTime(takes), OpenSource.aggregate

    def aggregate(self):
        found = own(self)
        time.read()
        if fault is not None:
            raise fault
        return found

    curator = opened(time=time, answer_seconds=1)
    ana = account(curator, "ana")
    curator.preview(ana, "pupils", LIKES)
    monkeypatch.setattr(OpenSource, "aggregate", aggregate)
    return curator, ana, time


def end_late_evaluations(time):
    """Let an engine that took too long end, and wait for it."""
    time.left.set()
    late = (
        [thread for thread in threading.enumerate() if thread.name.startswith("evaluation")] if time.takes > 1 else []
    )
    for thread in late:
        thread.join(60)


@pytest.mark.parametrize(
    ("takes", "fault", "answered"),
    [
        (0, None, True),
        (0.5, None, True),
        (0.999, None, True),
        (1, None, False),
        (7, None, False),
        (0, EngineError, False),
        (0.5, MemoryError, False),
        (7, EngineError, False),
    ],
)
def test_when_an_answer_leaves_does_not_depend_on_how_long_it_takes_or_whether_it_fails(
    opened, monkeypatch, takes, fault, answered
):
    curator, ana, time = told(opened, monkeypatch, takes, fault)
    began = time.now
    if answered:
        assert curator.ask(ana, "pupils", LIKES).how == "new"
    else:
        with pytest.raises(CuratorUnavailable) as refused:
            curator.ask(ana, "pupils", LIKES)
        assert str(refused.value) == str(CuratorUnavailable())
    assert time.now - began == 1
    end_late_evaluations(time)
    assert spent(curator) == Fraction(1, 2)
    assert (status(curator).is_closed, status(curator).observations) == (not answered, int(not answered))


def test_what_is_drawn_after_its_answer_had_to_leave_is_not_stored(opened, monkeypatch, folder):
    curator, ana, time = told(opened, monkeypatch, 7)
    drawn, own = [], IndependentDraw.draw

    def draw(self, *given):
        drawn.append(own(self, *given))
        return drawn[-1]

    monkeypatch.setattr(IndependentDraw, "draw", draw)
    with pytest.raises(CuratorUnavailable):
        curator.ask(ana, "pupils", LIKES)
    end_late_evaluations(time)
    assert len(drawn) == 1
    time.takes = 0
    curator.reopen(OWNER, "pupils")
    assert curator.ask(ana, "pupils", OTHER).how == "new"  # the slot has another thread
    with Ledger.open(folder / "budget.db") as ledger:
        assert (ledger.verify().charges, ledger.verify().answers, ledger.verify().waiting) == (2, 1, 0)


@pytest.mark.parametrize("late", ["while the table is made", "while it is noted as finished"])
def test_what_is_late_after_its_draw_was_stored_has_failed_and_is_never_given(opened, monkeypatch, late):
    """Otherwise when the data was read would decide between three ends: answered, answered later, and closed."""
    curator, ana, time = told(opened, monkeypatch, 0.5)
    answers, finish, noted = IndependentDraw.answers, evaluations.finish_evaluation, []

    def make_slowly(self, rows):
        time.now += late == "while the table is made"
        return answers(self, rows)

    def finish_slowly(run, key, **more):
        noted.append(more)
        time.now += late == "while it is noted as finished"
        finish(run, key, **more)

    monkeypatch.setattr(IndependentDraw, "answers", make_slowly)
    monkeypatch.setattr(evaluations, "finish_evaluation", finish_slowly)
    with pytest.raises(CuratorUnavailable):
        curator.ask(ana, "pupils", LIKES)
    assert noted == ([] if late == "while the table is made" else [{}, {"finished": False}])
    assert (status(curator).is_closed, status(curator).observations) == (True, 1)
    with pytest.raises(DatasetClosed):
        curator.ask(ana, "pupils", LIKES)
    curator.reopen(OWNER, "pupils")
    with pytest.raises(EvaluationFailed):
        curator.ask(ana, "pupils", LIKES)
    (mine,) = curator.answers(ana)
    with pytest.raises(EvaluationFailed):
        curator.answer(ana, mine.id)


def test_a_slot_is_held_until_the_answer_leaves():
    """Real time: with one slot, the second evaluation begins when the first answer left."""
    slots, began = Slots(1, Time(), lambda: None), []

    def evaluate(deadline: Deadline) -> bool:
        began.append(clock.monotonic())
        deadline.fix(clock.monotonic() + 0.2)
        return deadline.finish()

    with ThreadPoolExecutor(2) as pool:
        assert all(pool.map(lambda _: slots.evaluate(evaluate), range(2)))
    slots.close()
    assert began[1] - began[0] >= 0.2


def test_what_reads_no_data_does_not_wait(opened, monkeypatch):
    curator, ana, time = told(opened, monkeypatch, 0)
    curator.ask(ana, "pupils", LIKES)
    began = time.now
    curator.preview(ana, "pupils", OTHER)
    curator.ask(account(curator, "bob"), "pupils", LIKES)
    with pytest.raises(PlanError):
        curator.ask(ana, "pupils", {**OTHER, "epsilon": "1e-6"})
    assert time.now == began


def found(curator, asker, name):
    """The answer of this id, if it is there yet."""
    try:
        return curator.answer(asker, name)
    except UnknownResource:
        return None


def test_nobody_sees_an_answer_before_it_leaves(opened):
    """Whoever asks the same meanwhile waits as long; the answer by its id is not there yet. Real time."""
    curator = opened(time=Time(), answer_seconds=2)
    ana, bob = account(curator, "ana"), account(curator, "bob")
    curator.preview(ana, "pupils", LIKES)
    with ThreadPoolExecutor(2) as pool:
        began = clock.monotonic()
        first = pool.submit(curator.ask, ana, "pupils", LIKES)
        while not curator.answers(ana):
            clock.sleep(0.01)
        (mine,) = curator.answers(ana)
        looks, leaves = 0, curator._connections.store.look("SELECT until FROM evaluations")[0][0]
        while curator._answering.now() < leaves - 500:
            seen = curator.ask_stored(bob, "pupils", LIKES), found(curator, ana, mine.id), curator.answers(bob)
            if curator._answering.now() < leaves:
                assert seen == (None, None, [])
                looks += 1
        assert looks
        weaker = curator.ask(bob, "pupils", {**LIKES, "epsilon": "0.25"})
        assert clock.monotonic() - began >= 2
        assert (weaker.how, weaker.table) == ("stronger", first.result().table)
    assert curator.answer(ana, mine.id).table == first.result().table


def test_nobody_sees_a_failure_before_its_answer_would_leave(opened, monkeypatch):
    curator = opened(time=Time(), answer_seconds=2)
    ana, bob = account(curator, "ana"), account(curator, "bob")
    for question in (LIKES, OTHER):
        curator.preview(ana, "pupils", question)
    failed, own = threading.Event(), OpenSource.aggregate

    def broken(self):
        monkeypatch.setattr(OpenSource, "aggregate", own)
        failed.set()
        raise EngineError

    monkeypatch.setattr(OpenSource, "aggregate", broken)
    with ThreadPoolExecutor(1) as pool:
        began = clock.monotonic()
        first = pool.submit(curator.ask, ana, "pupils", LIKES)
        assert failed.wait(60)
        assert not status(curator).is_closed
        assert curator.ask_stored(bob, "pupils", OTHER) is None  # to be drawn, and not refused
        assert isinstance(first.exception(), CuratorUnavailable)
        assert clock.monotonic() - began >= 2
    assert status(curator).is_closed


# --- what fails is never read again ---------------------------------------------------------------------------


@pytest.mark.parametrize("error", [EngineError, MemoryError, SourceError, OSError])
def test_a_failure_closes_the_dataset_and_keeps_the_charge(curator, ana, fails, error):
    stored = curator.ask(ana, "pupils", OTHER)
    failed = fails(curator, ana, error=error)
    assert str(failed) == str(CuratorUnavailable())
    assert failed.__cause__ is None
    assert spent(curator) == 1
    bob = account(curator, "bob", "3")
    for own, question in ((ana, LIKES), (bob, LIKES), (bob, {**LIKES, "by": []}), (bob, {**OTHER, "epsilon": 2})):
        with pytest.raises(DatasetClosed):
            curator.ask(own, "pupils", question)
    assert (spent(curator), curator.find_account("bob").grants["pupils"].spent) == (1, 0)
    assert curator.ask(bob, "pupils", OTHER).table == stored.table
    assert curator.preview(bob, "pupils", {**OTHER, "by": ["school"]}).how == "new"


def test_what_failed_is_never_read_again_and_other_questions_are_drawn_for_themselves(
    curator, ana, fails, monkeypatch, folder
):
    fails(curator, ana, LIKES)
    curator.reopen(OWNER, "pupils")
    bob = account(curator, "bob")
    with monkeypatch.context() as patch:
        patch.setattr(OpenSource, "aggregate", lambda _: pytest.fail("the data was read again"))
        for own in (ana, bob):
            for call in (curator.ask, curator.preview):
                with pytest.raises(EvaluationFailed):
                    call(own, "pupils", LIKES)
        (mine,) = curator.answers(ana)
        with pytest.raises(EvaluationFailed):
            curator.answer(ana, mine.id)
    assert curator.answers(bob) == []
    for question in ({**LIKES, "epsilon": "0.25"}, {**LIKES, "by": []}, {**LIKES, "epsilon": "0.75"}):
        assert curator.ask(bob, "pupils", question).how == "new"
    assert curator.ask(bob, "pupils", LIKES).how == "stronger"  # than what failed, and answered
    with Ledger.open(folder / "budget.db") as ledger:
        assert (ledger.verify().charges, ledger.verify().answers) == (4, 3)


def test_the_key_of_a_request_that_failed_is_answered_alike(curator, ana, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(OpenSource, "aggregate", lambda _: 1 / 0)
        with pytest.raises(CuratorUnavailable):
            curator.ask(ana, "pupils", LIKES, key="k")
    with pytest.raises(DatasetClosed):
        curator.ask(ana, "pupils", LIKES, key="k")
    curator.reopen(OWNER, "pupils")
    with pytest.raises(EvaluationFailed):
        curator.ask(ana, "pupils", LIKES, key="k")


def test_every_process_of_a_database_sees_that_a_dataset_is_closed(opened, fails):
    one = opened()
    ana = account(one, "ana")
    fails(one, ana)
    other = opened()
    with pytest.raises(DatasetClosed):
        other.ask(ana, "pupils", OTHER)
    other.reopen(OWNER, "pupils")
    assert one.ask(ana, "pupils", OTHER).how == "new"


@pytest.mark.long
def test_another_dataset_of_the_curator_stays_open(opened, folder, fails):
    from curator.pupils import declared
    from inbounds.curator import parse_settings

    opened().close()
    values = declared(folder)
    values["datasets"]["others"] = {**values["datasets"]["pupils"], "people": {"name": "others"}}
    with Curator(parse_settings(values, folder)) as curator:
        owner = curator.account(curator.add_account("owner", role="owner"))
        fails(curator, owner)
        assert [one.is_closed for one in curator.statuses(owner)] == [True, False]
        assert curator.ask(owner, "others", LIKES).how == "new"


def test_closings_are_counted_for_the_owner_with_time_and_key_and_no_words(curator, ana, fails):
    assert str(status(curator)) == "pupils: open, possible one-bit observations: 0"
    for k in range(2):
        fails(curator, ana, {**OTHER, "count": f"age > {12 + k}"})
        curator.reopen(OWNER, "pupils")
    fails(curator, ana)
    found = status(curator)
    assert (found.is_closed, found.observations) == (True, 3)
    assert [one.reopened is None for one in found.failures] == [False, False, True]
    assert {one.key for one in found.failures} == {one.key for one in curator.answers(ana)}
    assert "possible one-bit observations: 3" in str(found)
    assert "17" not in re.sub(r"\d{4}-\S+|question \w+", "", str(found))
    assert curator.ledger(OWNER)["datasets"] == [found.to_json()]
    assert curator.exposure(OWNER, "pupils").observations == 3


def test_only_an_owner_reopens_and_only_what_is_closed(curator, ana, fails):
    with rejects(ValueError, "dataset", about="is open"):
        curator.reopen(OWNER, "pupils")
    fails(curator, ana)
    for call in (lambda: curator.reopen(ana, "pupils"), lambda: curator.statuses(ana)):
        with pytest.raises(Forbidden):
            call()
    with pytest.raises(UnknownResource):
        curator.reopen(OWNER, "nothing")
    assert status(curator).is_closed


@pytest.mark.long
def test_a_dataset_is_reopened_on_the_command_line(folder, opened, fails):
    from curator.test_curator_settings import SETTINGS

    opened().close()
    file = folder / "curator.toml"
    file.write_text(SETTINGS.partition("[datasets.pupils.levels]")[0])

    def run(*words: str) -> str:
        done = CliRunner().invoke(commands, ["curator", *words])
        assert done.exit_code == 0, done.output
        return done.output

    assert "pupils: open, possible one-bit observations: 0" in run("status", str(file))
    with Curator.open(file) as curator:
        fails(curator, account(curator, "ana"))
    assert "pupils: closed, possible one-bit observations: 1" in run("status", str(file))
    assert "pupils: open, possible one-bit observations: 1" in run("reopen", str(file), "pupils")
    (found,) = json.loads(run("status", str(file), "--json"))["datasets"]
    assert (found["closed"], len(found["failures"])) == (False, 1)


class Death(BaseException):
    """The process is gone."""


@pytest.mark.parametrize("step", ["aggregate", "draw", "store_draw"])
def test_a_process_that_dies_between_charge_and_draw_leaves_a_closed_dataset(opened, monkeypatch, folder, step):
    from inbounds.releases.charge_session import ChargeSession

    owner = {"aggregate": OpenSource, "draw": IndependentDraw, "store_draw": ChargeSession}[step]
    curator = opened()
    ana = account(curator, "ana")

    def die(*_):
        raise Death

    with monkeypatch.context() as patch:
        patch.setattr(owner, step, die)
        with pytest.raises(CuratorUnavailable):
            curator.ask(ana, "pupils", LIKES)
    monkeypatch.setattr(OpenSource, "aggregate", lambda _: pytest.fail("the data was read again"))
    again = opened()
    for question in (LIKES, OTHER):
        with pytest.raises(DatasetClosed):
            again.ask(ana, "pupils", question)
    again.reopen(OWNER, "pupils")
    with pytest.raises(EvaluationFailed):
        again.ask(ana, "pupils", LIKES)
    with Ledger.open(folder / "budget.db") as ledger:
        assert (ledger.verify().charges, ledger.verify().answers) == (1, 0)


def test_what_was_charged_and_never_noted_was_never_read_and_is_read_once(curator, ana, monkeypatch):
    """A crash between the two databases: whoever reads has noted it before."""

    def power_fails(*_):
        raise LedgerError("the power failed")

    with monkeypatch.context() as patch:
        patch.setattr(ledger_head, "note_head", power_fails)
        patch.setattr(OpenSource, "aggregate", lambda _: pytest.fail("the data was read"))
        with pytest.raises(LedgerError):
            curator.ask(ana, "pupils", LIKES)
    assert not status(curator).is_closed
    assert curator.ask(ana, "pupils", LIKES).how == "new"
    assert spent(curator) == Fraction(1, 2)


def test_what_fails_after_the_draw_is_stored_closes_nothing_and_goes_on_from_it(curator, ana, monkeypatch):
    """It depends on the draw, which is private."""
    with monkeypatch.context() as patch:
        patch.setattr(IndependentDraw, "answers", lambda *_: 1 / 0)
        for _ in range(2):
            with pytest.raises(CuratorUnavailable):
                curator.ask(ana, "pupils", LIKES)
    assert not status(curator).is_closed
    monkeypatch.setattr(OpenSource, "aggregate", lambda _: pytest.fail("the data was read again"))
    assert curator.ask(ana, "pupils", LIKES).cost.people == "0"


# --- when the owner attaches the data ---------------------------------------------------------------------------


@pytest.mark.parametrize(("takes", "told_of"), [(0.25, False), (0.26, True), (0.9, True)])
def test_the_owner_is_told_to_declare_more_where_a_trial_takes_more_than_a_quarter(opened, monkeypatch, takes, told_of):
    curator, _, _ = told(opened, monkeypatch, takes)
    lines = curator.check_sources()
    assert ["datasets.pupils.answer_seconds" in line for line in lines] == [True] * told_of
    if told_of:
        declared = float(re.search(r"at least ([\d.]+)", lines[0])[1])
        assert 4 * takes <= declared < 8 * takes


def test_the_owner_is_told_which_datasets_are_closed(curator, ana, fails):
    assert curator.check_sources() == []
    fails(curator, ana)
    (line,) = curator.check_sources()
    assert "pupils: closed" in line


def test_a_source_that_cannot_be_aggregated_is_refused_when_it_is_attached(curator, monkeypatch):
    from inbounds.releases.aggregate import OpenSource

    monkeypatch.setattr(OpenSource, "_raw", lambda *_: 1 / 0)
    with pytest.raises(SourceError) as refused:
        curator.check_sources()
    assert refused.value.path == ("datasets", "pupils", "source")


def test_quotation_marks_of_a_csv_file_are_looked_at_when_it_is_attached(opened, folder):
    rows = [f"{('north', 'south')[k % 2]},{1 + k // 2 % 2},yes,{10 + k % 8}" for k in range(40)]
    (folder / "pupils.csv").write_text("\n".join(["school,year,likes,age", *rows]) + "\n")
    assert opened(source={"path": str(folder / "pupils.csv")}, alone=True).check_sources() == []
    (folder / "pupils.csv").write_text("\n".join(["school,year,likes,age", 'north,1,a"b,10', *rows]) + "\n")
    with pytest.raises(SourceError) as refused:
        opened(source={"path": str(folder / "pupils.csv")}, alone=True).check_sources()
    assert refused.value.path == ("datasets", "pupils", "source", "path")


@pytest.mark.parametrize("seconds", [0, -1, 3601, "soon"])
def test_answer_seconds_are_a_positive_number(opened, seconds):
    with raises_at(PlanError, ("datasets", "pupils", "answer_seconds")):
        opened(answer_seconds=seconds)


def test_answer_seconds_are_public_and_shorter_than_a_request_may_take(opened):
    curator = opened(answer_seconds="2.5")
    assert curator.dataset(OWNER, "pupils").describe()["answer_seconds"] == "2.5"
    with pytest.raises(PlanError) as refused:
        opened(answer_seconds=30, limits={"seconds": 30})
    assert refused.value.path == ("datasets", "pupils", "answer_seconds")
