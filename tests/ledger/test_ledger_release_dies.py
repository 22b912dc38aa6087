"""What was drawn is kept before anything is computed from it: a release that dies goes on from there, never anew.

One that dies between charge and draw reads the data again only where its owner says so.

Were a draw made again because something failed that depends on it, what is given out would be a draw *given that it did
not fail*, which may tell more than was charged.
"""

import os
import subprocess
import sys
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import inbounds as ib
from inbounds.ledger import Ledger
from inbounds.releases import charge_session, drawing
from inbounds.releases.aggregate import OpenSource
from inbounds.releases.pipeline import ReusedTableWarning, UnfinishedRelease, release
from inbounds.schema.errors import PlanError
from raising import raises_at, rejects

ALONE = {
    "edition": "2026",
    "groups": {"by": ["g"], "keys": ["A", "B"], "size": 20},
    "statistics": [{"count": "c = 'p'", "name": "yes"}, {"histogram": "c", "sum_to_size": True}],
    "columns": {"c": {"labels": ["p", "q"], "other": "q"}},
    "privacy": {"epsilon": "0.5"},
}
ADDING_UP = {
    **ALONE,
    "groups": {"by": ["r", "g"], "keys": [["R", "A"], ["R", "B"]], "size": 20},
    "hierarchy": {"levels": ["r", "g"]},
    "statistics": [{"count": "c = 'p'", "name": "yes"}],
}
CROSSED = {
    **ALONE,
    "columns": {**ALONE["columns"], "d": {"labels": ["x", "y"], "other": "y"}},
    "statistics": [{"crosstab": ["c", "d"]}],
}
PLANS = {"alone": ALONE, "adding up": ADDING_UP, "crossed": CROSSED}
FRAME = pa.table({"r": ["R"] * 40, "g": ["A"] * 20 + ["B"] * 20, "c": ["p"] * 25 + ["q"] * 15, "d": ["x", "y"] * 20})


class Death(BaseException):
    """The process is gone."""


STEPS = {
    "charge": (charge_session.ChargeSession, "charge"),
    "read": (OpenSource, "aggregate"),
    "draw": (drawing.IndependentDraw, "draw"),
    "keep the draw": (charge_session.ChargeSession, "store_draw"),
    "compute": (drawing.IndependentDraw, "answers"),
    "keep the table": (charge_session.ChargeSession, "store_table"),
    "write": (sys.modules["inbounds.releases.pipeline"], "write_release"),
}
"""What a release does, in order; it may die before each, and after it."""


DEATHS = [(name, when) for name in STEPS for when in ("before", "after")]
FIRST_KEPT = DEATHS.index(("keep the draw", "after"))


@pytest.fixture
def folder(memory, monkeypatch):
    monkeypatch.chdir(memory)
    monkeypatch.setenv("XDG_CACHE_HOME", str(memory / "cache"))
    return memory


def dying(patch, name: str, when: str) -> None:
    owner, what = STEPS[name]
    own = getattr(owner, what)

    def step(*given, **more):
        if when == "before":
            raise Death
        own(*given, **more)
        raise Death

    patch.setattr(owner, what, step)


@pytest.fixture
def watched(monkeypatch):
    """Every row of rows that is drawn, and that a table is computed from."""
    drawn, used = [], []
    own_draw, own_answers = drawing.IndependentDraw.draw, drawing.IndependentDraw.answers

    def draw(self, *given):
        drawn.append(own_draw(self, *given))
        return drawn[-1]

    def answers(self, rows):
        used.append(rows)
        return own_answers(self, rows)

    monkeypatch.setattr(drawing.IndependentDraw, "draw", draw)
    monkeypatch.setattr(drawing.IndependentDraw, "answers", answers)
    return drawn, used


def die_computing(patch, plan, **more) -> None:
    """A release that is gone when its draw is kept, and nothing else."""
    with patch.context() as own:
        dying(own, "compute", "before")
        with pytest.raises(Death):
            release(plan, FRAME, output="out.csv", **more)


def same_rows(one, other) -> bool:
    return len(one) == len(other) and all(map(np.array_equal, one, other))


@pytest.mark.long
@pytest.mark.parametrize("plan", ["alone", "adding up", pytest.param("crossed", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("name", "when"), DEATHS)
def test_a_release_that_dies_at_any_step_is_charged_once_and_never_drawn_again_once_its_draw_is_kept(
    folder, monkeypatch, watched, plan, name, when
):
    drawn, used = watched
    with monkeypatch.context() as patch:
        dying(patch, name, when)
        with pytest.raises(Death):
            release(PLANS[plan], FRAME, output="out.csv")
    assert Path("out.csv").exists() == ((name, when) == ("write", "after"))
    before = len(drawn)
    kept = DEATHS.index((name, when)) >= FIRST_KEPT
    with monkeypatch.context() as patch:
        if kept:
            patch.setattr(OpenSource, "aggregate", lambda self: pytest.fail("the data was read again"))
            with pytest.warns(ReusedTableWarning):
                done = release(PLANS[plan], FRAME, output="out.csv")
        else:
            charged = (name, when) != ("charge", "before")
            if charged:
                with pytest.raises(UnfinishedRelease):
                    release(PLANS[plan], FRAME, output="out.csv")
            done = release(PLANS[plan], FRAME, output="out.csv", read_again=charged)
    assert (done.stored, len(drawn) == before) == (kept, kept)
    assert same_rows(used[-1], drawn[-1])
    with Ledger.open("inbounds.ledger") as ledger:
        found = ledger.verify()
        assert (found.charges, found.answers, found.waiting) == (1, 1, 0)
        assert found.people[0].spent == Fraction(1, 2)
        assert [entry.kind for entry in ledger.entries()][-2:] == ["draw", "answer"]


DIES = """
import os, sys
sys.path.insert(0, sys.argv[1])
from ledger.test_ledger_release_dies import FRAME, PLANS, STEPS
from inbounds.releases.pipeline import release
owner, what = STEPS[sys.argv[3]]
own = getattr(owner, what)
def step(*given, **more):
    if sys.argv[4] == "after":
        own(*given, **more)
    os._exit(9)
setattr(owner, what, step)
release(PLANS[sys.argv[2]], FRAME, output="out.csv")
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("plan", "name", "when", "kept"),
    [
        ("alone", "compute", "before", True),
        pytest.param("adding up", "compute", "before", True, marks=pytest.mark.slow),
        pytest.param("adding up", "read", "after", False, marks=pytest.mark.slow),
        pytest.param("adding up", "keep the draw", "before", False, marks=pytest.mark.slow),
        pytest.param("adding up", "keep the table", "before", True, marks=pytest.mark.slow),
        pytest.param("adding up", "keep the table", "after", True, marks=pytest.mark.slow),
    ],
)
def test_a_process_that_is_gone_at_a_step_leaves_what_it_kept(folder, watched, plan, name, when, kept):
    words = [sys.executable, "-c", DIES, str(Path(__file__).parents[1]), plan, name, when]
    assert subprocess.run(words, env=os.environ, timeout=120, capture_output=True).returncode == 9
    with Ledger.open("inbounds.ledger") as ledger:
        charge = ledger.verify().people[0].spent
    assert charge == Fraction(1, 2)
    if kept:
        with pytest.warns(ReusedTableWarning):
            release(PLANS[plan], FRAME, output="out.csv")
    else:
        release(PLANS[plan], FRAME, output="out.csv", read_again=True)
    assert len(watched[0]) == (not kept)
    with Ledger.open("inbounds.ledger") as ledger:
        assert ledger.verify().people[0].spent == charge


def test_what_fails_for_some_draws_alone_cannot_choose_among_draws(folder, monkeypatch, watched):
    """It fails for the same draw for ever; were it drawn anew, one would soon come that does not fail."""
    drawn, _ = watched

    def choosy(self, rows):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(drawing.IndependentDraw, "answers", choosy)
        for _ in range(5):
            with pytest.raises(MemoryError):
                release(ADDING_UP, FRAME, output="out.csv")
    assert len(drawn) == 1
    with Ledger.open("inbounds.ledger") as ledger:
        assert ledger.verify().sentences()[3] == "1 draw waits for its answer: the same question again computes it"


@pytest.mark.long
@pytest.mark.parametrize("plan", PLANS)
def test_all_draws_of_a_plan_take_as_many_bytes(folder, watched, plan):
    for k in range(5):
        release(PLANS[plan], FRAME, ledger="l.db" if k else None, output="out.csv", overwrite=True, key=f"{k}")
        if not k:
            with Ledger.open("l.db") as ledger:
                ledger.add_population("the given table")
    drawn = watched[0]
    sizes = {len(drawing.Draw("0" * 64, tuple(rows)).to_bytes()) for rows in drawn}
    assert len(sizes) == 1
    assert any(not same_rows(drawn[0], rows) for rows in drawn)


def test_of_two_draws_at_once_one_is_kept_and_both_tables_are_of_it(folder, monkeypatch, watched):
    own, inner = charge_session.ChargeSession.store_draw, []

    def meanwhile(self, charge, content):
        monkeypatch.setattr(charge_session.ChargeSession, "store_draw", own)
        die_computing(monkeypatch, ALONE, read_again=True)
        inner.append(len(watched[0]))
        return own(self, charge, content)

    monkeypatch.setattr(charge_session.ChargeSession, "store_draw", meanwhile)
    with pytest.warns(ReusedTableWarning):
        release(ALONE, FRAME, output="second.csv")
    assert inner == [2]
    assert same_rows(watched[1][-1], watched[0][1])


def test_a_draw_of_a_frame_is_not_gone_on_from_for_one_that_nobody_told_apart(folder, monkeypatch):
    plan = {name: own for name, own in ALONE.items() if name != "edition"}
    die_computing(monkeypatch, plan)
    with rejects(ValueError, "edition") as refused:
        release(plan, FRAME, output="out.csv")
    stored = str(refused.value).partition("key='")[2].partition("'")[0]
    with pytest.warns(ReusedTableWarning):
        assert release(plan, FRAME, output="out.csv", key=stored).stored


def test_a_draw_is_read_with_the_mechanisms_that_drew_it_or_not_at_all(folder, monkeypatch):
    die_computing(monkeypatch, ALONE)
    with monkeypatch.context() as patch:
        patch.setattr(drawing.IndependentDraw, "mechanisms", ["others"])
        with rejects(ib.LedgerError, "the draws", about="mechanisms"):
            release(ALONE, FRAME, output="out.csv")
    with pytest.warns(ReusedTableWarning):
        assert release(ALONE, FRAME, output="out.csv").stored


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_release_that_is_stopped_between_its_two_names_finishes_writing(folder, monkeypatch, overwrite):
    own, renamed = os.replace, []

    def stopping(source, target):
        if Path(target).name.startswith("out.csv"):
            if renamed:
                raise Death
            renamed.append(target)
        own(source, target)

    if overwrite:
        Path("out.csv").write_text("old")
    with monkeypatch.context() as patch:
        patch.setattr("inbounds.releases.write.os.replace", stopping)
        with pytest.raises(Death):
            release(ALONE, FRAME, output="out.csv", overwrite=overwrite)
    assert (Path("out.csv.release.json").exists(), Path("out.csv").exists()) == (True, False)
    with raises_at(PlanError, ("output", "path"), about="release"):
        release({**ALONE, "edition": "2027"}, FRAME, output="out.csv")
    with pytest.warns(ReusedTableWarning):
        done = release(ALONE, FRAME, output="out.csv")
    assert done.stored
    assert ib.verify("out.csv.release.json").is_valid
    assert not list(Path().glob(".out*"))


@pytest.mark.parametrize("moment", ["prepare_table", "write_release"])
def test_two_who_release_the_same_at_once_charge_once_and_both_get_the_table(folder, monkeypatch, moment):
    """The other one begins and ends while this one designs, or when it is about to write."""
    module, others = sys.modules["inbounds.releases.pipeline"], []
    own = getattr(module, moment)

    def meanwhile(*given, **more):
        monkeypatch.setattr(module, moment, own)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ReusedTableWarning)
            others.append(release(ALONE, FRAME, output="out.csv"))
        return own(*given, **more)

    monkeypatch.setattr(module, moment, meanwhile)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReusedTableWarning)
        done = release(ALONE, FRAME, output="out.csv")
    assert done.table.equals(others[0].table)
    with Ledger.open("inbounds.ledger") as ledger:
        assert ledger.verify().people[0].spent == Fraction(1, 2)
    assert ib.verify("out.csv.release.json").is_valid
