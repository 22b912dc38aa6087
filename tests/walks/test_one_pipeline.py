"""A release, a dry run and a question take the same steps, each of them once."""

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import inbounds as ib
from curator.conftest import Opened, folder, opened  # noqa: F401 - fixtures
from curator.pupils import account
from inbounds.curator.question import QuestionIdentity
from inbounds.ledger.ledger import Ledger
from inbounds.plan.plan import Plan
from inbounds.releases import pipeline
from inbounds.releases.workload import ReleaseDesign, Workload
from inbounds.schema.condition import parser

STEPS: dict[str, Callable[..., Any]] = {
    "validate": Plan.__post_init__,
    "identify": vars(Plan)["identity"].func,
    "identify question": QuestionIdentity.from_plan,
    "workload": Workload.from_plan,
    "design": ReleaseDesign.from_workload,
    "draw": pipeline.draw_table,
    "open ledger": Ledger.open,
    "parse condition": parser._parse.__wrapped__,
}
ONCE = dict.fromkeys(STEPS, 1)

PLAN = """
where = "age > 1"

[source]
path = "people.csv"

[groups]
max_size = 4

[columns]
age = { type = "number" }

[[statistics]]
count = "true"

[privacy]
epsilon = 1
"""


def calls(work: Callable[[], Any]) -> dict[str, int]:
    """How often each step is taken, in this thread and in those that it starts."""
    import threading

    codes = {getattr(step, "__func__", step).__code__: name for name, step in STEPS.items()}
    counted: Counter[str] = Counter()

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code in codes:
            counted[codes[frame.f_code]] += 1

    parser._parse.cache_clear()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return {step: counted[step] for step in STEPS}


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text("age\n1\n2\n3\n")
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path / "plan.toml"


def test_a_release_takes_every_step_once(plan, tmp_path):
    taken = calls(lambda: ib.release(plan, output=tmp_path / "out.csv", cache=tmp_path / "designs"))
    assert taken == ONCE | {"identify question": 0, "parse condition": 2}  # its own, and that of the count


def test_a_dry_run_stops_before_the_charge(plan, tmp_path):
    taken = calls(lambda: pipeline.preview_release(plan, cache=tmp_path / "designs"))
    assert taken == ONCE | dict.fromkeys(["identify", "identify question", "draw", "open ledger"], 0) | {
        "parse condition": 2
    }


def test_a_question_takes_the_steps_of_a_release(opened: Opened):  # noqa: F811
    curator = opened()
    ana = account(curator, "ana")
    question = {"mean": "age", "by": ["school"], "epsilon": "0.5"}
    taken = calls(lambda: curator.ask(ana, "pupils", question))
    opening = {"validate": 2, "parse condition": 1}  # the first question opens the dataset, with a plan of its own
    assert taken == ONCE | {"open ledger": 0} | opening  # the curator opened its ledger when it started


def test_a_repeated_question_is_only_identified(opened: Opened):  # noqa: F811
    curator = opened()
    ana = account(curator, "ana")
    question = {"mean": "age", "by": ["school"], "epsilon": "0.5"}
    curator.ask(ana, "pupils", question)
    taken = calls(lambda: curator.ask(ana, "pupils", question))
    assert {step for step, times in taken.items() if times} == {"validate", "identify", "identify question"}
    assert max(taken.values()) == 1
