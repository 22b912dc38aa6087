"""Stored answers that do not fit any longer, or cost more than was asked for."""

import threading
from fractions import Fraction

import pytest

from curator.pupils import account
from curator.test_curator import LIKES, spent
from inbounds.curator import CapExceeded
from inbounds.files.atomic import temporary_file


def test_questions_stored_under_groups_that_are_gone_are_passed_over(opened):
    with opened() as before:
        ana = account(before, "ana")
        before.ask(ana, "pupils", {**LIKES, "by": ["school", "year"]})
    curator = opened(groups={"by": ["school"], "keys": ["north", "south"], "maximum": 24})
    assert curator.ask(ana, "pupils", LIKES).how == "new"


def test_a_small_epsilon_is_drawn_anew_where_the_stored_answer_costs_more_than_the_cap(curator, ana):
    curator.ask(ana, "pupils", {**LIKES, "epsilon": 2})
    bob = account(curator, "bob", "1")
    with pytest.raises(CapExceeded, match=r"stored answer, 2; ask with anew"):
        curator.ask(bob, "pupils", LIKES)
    drawn = curator.ask(bob, "pupils", {**LIKES, "anew": True})
    assert (drawn.how, drawn.epsilon, drawn.cost.account) == ("new", "0.5", "0.5")
    assert spent(curator) == Fraction(5, 2)
    assert curator.ask(bob, "pupils", {**LIKES, "anew": True}).table == drawn.table


def test_a_file_that_took_its_name_leaves_its_old_one_to_nobody(tmp_path):
    """Two threads that write one target: what the first tidies up is never the second's."""
    target, second = tmp_path / "design.json", None

    def begin_second() -> None:
        nonlocal second
        second = temporary_file(target)
        second.__enter__()

    with temporary_file(target) as first:
        first.replace(target)
        thread = threading.Thread(target=begin_second)
        thread.start()
        thread.join()
    assert [file for file in tmp_path.iterdir() if file != target], "the second writer's file is gone"
    second.__exit__(None, None, None)
