"""One record changes no more than the plan declares: hundreds of random tables, plans and changes."""

import math
from contextlib import closing

import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inbounds.releases.pipeline import open_plan_source, to_plan
from releases.places import places

CONDITIONS = [
    "true",
    "c = 'p'",
    "not c = 'p'",
    "c in ('p', 'q') and n >= 2",
    "n between 1 and 3 or b",
    "x is null",
    "n != 2",
]

NUMBERS = [
    {"low": -1, "high": 3},
    {"low": 2, "high": 6},
    {"low": -6, "high": -2},
    {"low": 1, "high": 7, "step": 2},
]
"""Columns around zero and away from it on both sides, and one whose low is no multiple of its step."""

COLUMNS = {
    "c": {"labels": ["p", "q", "r"]},
    "x": {"low": 0, "high": 2, "step": "1/2"},
    "b": {"type": "boolean"},
}

records = st.fixed_dictionaries(
    {
        "g": st.sampled_from(["A", "A", "A", "B", "undeclared", None]),
        "h": st.sampled_from([2, 2, 2, 1, 3, None]),
        "c": st.sampled_from(["p", "q", "r", "unknown", None]),
        "x": st.sampled_from([0.0, 0.5, 0.74, 0.8, 1.0, 2.0, -5.0, 1e308, math.inf, -math.inf, math.nan, None]),
        "n": st.sampled_from([-6, -1, 0, 1, 2, 3, 6, 99, -(2**63), 2**63 - 1, None]),
        "b": st.sampled_from([True, False, None]),
    }
)

statistics = st.one_of(
    st.builds(lambda of: {"count": of}, st.sampled_from(CONDITIONS)),
    st.builds(lambda c: {"histogram": "c", **c}, st.sampled_from([{}, {"epsilon": "1/8"}])),
    st.builds(
        lambda kind, of: {kind: of}, st.sampled_from(["sum", "mean", "min", "max", "median"]), st.sampled_from("nx")
    ),
)


@st.composite
def plans(draw):
    asked = draw(st.lists(statistics, min_size=1, max_size=3))
    other = draw(st.sampled_from([{}, {"other": "r"}]))
    number = draw(st.sampled_from(NUMBERS))
    missing = draw(st.sampled_from([{}, {"missing": number["high"]}]))
    two = draw(st.booleans())
    keys = {"by": ["g", "h"], "keys": [["B", 1], ["A", 2]]} if two else {"by": ["g"], "keys": ["B", "A", "empty"]}
    size = draw(st.sampled_from([1, 2, 3]))
    sizes = draw(
        st.sampled_from([{"size": size}, {"max_size": size}, {"size": [size] + [2] * (len(keys["keys"]) - 1)}])
    )
    relation = draw(st.sampled_from([{}, {"neighbours": "change one record"}]))
    if "size" in sizes and other:
        full = draw(st.booleans())
        asked = [{**s, "sum_to_size": True} if full and "histogram" in s else s for s in asked]
    return {
        "groups": {**keys, **sizes},
        "columns": {**COLUMNS, "c": {**COLUMNS["c"], **other}, "n": {**number, **missing}},
        "statistics": [{**s, "name": f"s{k}"} for k, s in enumerate(asked)],
        "privacy": {"epsilon": 1, **relation},
    }


@st.composite
def changes(draw, content):
    """Two tables that the plan's relation calls neighbours."""
    rows = draw(st.lists(records, min_size=1, max_size=8))
    place = draw(st.integers(0, len(rows) - 1))
    other = draw(records)
    if "size" in content["groups"]:
        other = {**other, "g": rows[place]["g"], "h": rows[place]["h"]}
        left_out = draw(st.booleans())
        return rows, [*rows[:place], *([] if left_out else [other]), *rows[place + 1 :]]
    if "neighbours" in content["privacy"]:
        return rows, [*rows[:place], other, *rows[place + 1 :]]
    return rows, rows[:place] + rows[place + 1 :]


@st.composite
def cases(draw):
    content = draw(plans())
    return content, *draw(changes(content))


RARELY = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@pytest.mark.long
@given(cases())
@settings(max_examples=15, deadline=None, suppress_health_check=RARELY, derandomize=True)
def test_changing_one_record_moves_the_answers_by_no_more_than_is_declared(checks, monkeypatch, capsys, case):
    """And never the groups, their order, the number of rows, the draws, what is asked of the engine, or the log."""
    content, here, there = case
    traces = [checks.trace(content, rows, monkeypatch, capsys) for rows in (here, there)]
    checks.assert_neighbours(content, *traces)


@pytest.mark.slow
@given(cases())
@settings(max_examples=1000, deadline=None, suppress_health_check=RARELY)
def test_no_random_change_of_one_record_among_many_moves_them_further(checks, monkeypatch, capsys, case):
    content, here, there = case
    traces = [checks.trace(content, rows, monkeypatch, capsys) for rows in (here, there)]
    checks.assert_neighbours(content, *traces)


@pytest.mark.long
@given(plans(), st.lists(records, max_size=8))
@settings(max_examples=20, deadline=None, suppress_health_check=RARELY, derandomize=True)
def test_true_answers_are_those_of_plain_python_over_the_records(checks, content, rows):
    """Values outside the bounds, nulls, unknown categories and undeclared groups count as documented."""
    checks.assert_truths_are_brute_force(content, rows)


@given(plans(), st.lists(records, min_size=1, max_size=8))
@settings(max_examples=8, deadline=None, suppress_health_check=RARELY, derandomize=True)
def test_a_parquet_file_gives_the_answers_of_its_records_whatever_it_says_about_itself(checks, tmp_path, content, rows):
    """Its own statistics follow from all records, and leave NaN out."""
    pyarrow.parquet.write_table(checks.frame(rows), tmp_path / "t.parquet")
    found = []
    for plan in (
        to_plan(content, checks.frame(rows)),
        to_plan({**content, "source": {"path": str(tmp_path / "t.parquet")}}),
    ):
        with closing(open_plan_source(plan)) as opened:
            found.append(places(opened))
    assert found[0] == found[1]
