"""Typical group sizes of datasets: groups that a question merges or restricts, and what previews and identities say."""

from fractions import Fraction
from pathlib import Path

import pytest

from inbounds.curator.dataset import parse_dataset
from inbounds.curator.question import QuestionIdentity, parse_question

HALF = Fraction(1, 2)


def dataset(keys=(("n", "1"), ("n", "2"), ("s", "1"), ("s", "2")), **groups):
    return parse_dataset(
        "pupils",
        {
            "source": {"path": "pupils.csv"},
            "groups": {"by": ["school", "year"], "keys": [list(key) for key in keys], "max_size": 40, **groups},
            "columns": {"score": {"low": 0, "high": 10}},
            "people": {"name": "pupils"},
            "edition": "1",
        },
        Path(),
    )


@pytest.mark.parametrize(
    ("typical", "by", "merged"),
    [
        (15, ["school", "year"], (15,)),
        (15, ["school"], (30,)),
        (15, [], (60,)),
        ([10, 30], ["school"], (20, 60)),
        (None, ["school"], ()),
    ],
)
def test_merged_groups_have_the_typical_size_times_their_number(typical, by, merged):
    plan = parse_question({"mean": "score", "by": by, "epsilon": "1"}, dataset(typical=typical)).to_plan(
        dataset(typical=typical), HALF
    )
    assert plan.groups.typical == merged


def test_unions_of_different_numbers_of_groups_have_a_range():
    uneven = dataset((("n", "1"), ("n", "2"), ("s", "1")), typical=15)
    assert uneven.groups_by(("school",)).typical == (15, 30)


def test_a_condition_leaves_any_size_up_to_the_typical_one():
    told = dataset(typical=15)
    question = parse_question({"mean": "score", "by": ["school"], "where": "score > 3", "epsilon": "1"}, told)
    assert question.to_plan(told, HALF).groups.typical == (0, 30)


def test_another_typical_size_is_the_same_question():
    plans = []
    for typical in (None, 15, [10, 20]):
        own = dataset(typical=typical)
        question = parse_question({"median": "score", "by": ["school"], "epsilon": "1"}, own)
        plans.append(QuestionIdentity.from_plan(own, question.to_plan(own, HALF)).key(HALF))
    assert len(set(plans)) == 1


def test_the_dataset_tells_its_typical_size():
    assert dataset(typical=15).describe()["typical"] == [15]
    assert dataset().describe()["typical"] is None
