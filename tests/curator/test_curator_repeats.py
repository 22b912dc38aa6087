"""Stored answers that do not fit any longer, or cost more than was asked for."""

import threading
from fractions import Fraction

from curator.pupils import account
from curator.test_curator import LIKES, spent
from inbounds.curator import CapExceeded
from inbounds.curator.question import LONGEST_CONDITION
from inbounds.files.atomic import temporary_file
from raising import rejects


def test_questions_stored_under_groups_that_are_gone_are_passed_over(opened):
    with opened() as before:
        ana = account(before, "ana")
        before.ask(ana, "pupils", {**LIKES, "by": ["school", "year"]})
    curator = opened(groups={"by": ["school"], "keys": ["north", "south"], "max_size": 24})
    assert curator.ask(ana, "pupils", LIKES).how == "new"


def test_a_small_epsilon_is_drawn_anew_where_the_stored_answer_costs_more_than_the_cap(curator, ana):
    curator.ask(ana, "pupils", {**LIKES, "epsilon": 2})
    bob = account(curator, "bob", "1")
    with rejects(CapExceeded, "epsilon", about="cap of bob: requested that of the stored answer, 2, remaining 1"):
        curator.ask(bob, "pupils", LIKES)
    drawn = curator.ask(bob, "pupils", {**LIKES, "redraw": True})
    assert (drawn.how, drawn.epsilon, drawn.cost.account) == ("new", "0.5", "0.5")
    assert spent(curator) == Fraction(5, 2)
    assert curator.ask(bob, "pupils", {**LIKES, "redraw": True}).table == drawn.table


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


def long_condition(first: int) -> str:
    """Almost as long as a condition may be, and longer when it is spelled out."""
    ages = [f"age = {k}e9" for k in range(first, first + 400)]
    return " or ".join(ages)[:LONGEST_CONDITION].rpartition(" or ")[0]


def test_a_sum_is_found_of_a_stored_answer_whose_condition_is_longer_than_anybody_may_write(curator, ana):
    asked = {"count": long_condition(1000), "where": long_condition(2000), "epsilon": "0.5", "allow_useless": True}
    first = curator.ask(ana, "pupils", {**asked, "by": ["school"]})
    bob = account(curator, "bob")
    whole = curator.ask(bob, "pupils", asked)
    assert (first.how, whole.how, spent(curator)) == ("new", "sum", Fraction(1, 2))
    assert whole.table["count"] == [sum(first.table["count"])]


def test_a_count_of_a_label_is_found_in_a_stored_histogram_however_long_the_other_conditions_are(curator, ana):
    where = long_condition(1000)
    curator.ask(ana, "pupils", {"histogram": "likes", "where": where, "epsilon": "0.5", "allow_useless": True})
    count = {"count": "likes = 'yes'", "where": where, "epsilon": "0.5", "allow_useless": True}
    assert curator.ask(ana, "pupils", count).how == "sum"
    both = {"count": f"likes = 'yes' and ({long_condition(1000)[:3000].rpartition(' or ')[0]})", "where": where}
    assert curator.ask(ana, "pupils", {**both, "epsilon": "0.5", "allow_useless": True}).how == "new"
    assert curator.ask(ana, "pupils", {**both, "epsilon": "0.5", "allow_useless": True}).how == "same"
