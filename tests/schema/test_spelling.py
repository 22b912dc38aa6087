"""Declared spellings: one table of letters and spaces, the same in Python and in every engine."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inbounds.plan.load import parse_plan
from inbounds.schema.errors import PlanError
from inbounds.schema.spelling import LARGE, SMALL, SPACES, Spelling
from inbounds.schema.text import LONGEST_TEXT, are_folded, fold_text
from raising import raises_at


def test_letters_that_count_as_the_same_are_the_same_by_the_rules_of_unicode():
    assert len(LARGE) == len(SMALL) == len(set(LARGE))
    assert all(one.casefold() == other.casefold() for one, other in zip(LARGE, SMALL, strict=True))
    assert not set(LARGE) & set(SMALL) - {"ς"}
    assert all(letter.isspace() for letter in SPACES)


def test_a_text_is_spelled_once_and_for_all():
    spelling = Spelling(ignore_case=True, trim=True)
    for text in (LARGE, SMALL, f"{SPACES}Ä{SPACES}b{SPACES}", "ΣΑΣ", "ẞ"):
        assert spelling.spell(spelling.spell(text)) == spelling.spell(text)
        assert spelling.strict(spelling.spell(text)) == spelling.strict(text)


def plan(columns, keys=("North", "South")):
    return {
        "groups": {"by": "g", "keys": list(keys), "max_size": 9},
        "columns": columns,
        "statistics": [{"count": "true"}],
        "privacy": {"epsilon": 1},
    }


@pytest.mark.parametrize(
    ("column", "keys"),
    [
        ({"type": "text", "ignore_case": True}, ("North", "NORTH")),
        ({"type": "text", "ignore_case": True}, ("Straße", "STRASSE")),
        ({"type": "text", "trim": True}, ("North", "North\u00a0")),
    ],
)
def test_keys_that_become_equal_are_refused_from_the_plan(column, keys):
    with raises_at(PlanError, ("groups", "keys")):
        parse_plan(plan({"g": column}, keys), frame=object())
    parse_plan(plan({"g": {"type": "text"}}, keys), frame=object())


@pytest.mark.parametrize(
    ("column", "path"),
    [
        ({"labels": ["a", "A"], "ignore_case": True}, "labels"),
        ({"labels": {"1": "a", "2": "b"}, "missing_codes": ["1"]}, "missing_codes"),
        ({"labels": {"x": "a", "X": "b"}, "ignore_case": True}, "labels"),
        ({"type": "number", "trim": True}, "trim"),
        ({"low": 0, "high": 9, "missing_codes": ["5 to 3"]}, "missing_codes"),
    ],
)
def test_a_spelling_that_contradicts_itself_is_refused(column, path):
    with raises_at(PlanError, ("columns", "c", path)):
        parse_plan(plan({"c": column}), frame=object())


@given(st.lists(st.text("aTtRrUuEe3.0\nx-", max_size=6), max_size=4))
def test_texts_looked_at_together_are_folded_only_where_no_single_one_is_changed(texts):
    if are_folded(texts):
        assert list(map(fold_text, texts)) == texts
    assert not are_folded(["a" * (LONGEST_TEXT + 1)])
    assert are_folded(["North", "3", "v3.0x", "trues"])
