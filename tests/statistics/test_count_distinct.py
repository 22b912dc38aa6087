"""Persons with a record that meets a condition: each counts once in a group, so a person moves the number by one."""

import json
from itertools import combinations_with_replacement, product

import pyarrow as pa
import pytest

from envelopes import wrap
from fuzz.joint import exp_below, joint_law, largest_ratio
from inbounds.errors import PassportError
from inbounds.files import RELEASE
from inbounds.releases.pipeline import PlanError, open_plan_source, preview_release, release, to_plan
from inbounds.releases.recompute import check_release as check
from raising import raises_at

PLAN = {
    "groups": {"by": ["g"], "keys": ["A", "B"], "max_size": 4},
    "columns": {"x": {"low": 0, "high": 3}},
    "statistics": [{"count_distinct": "x > 1"}, {"count_distinct": "true", "name": "persons"}],
    "people": {"id": "who", "max_records": 2, "max_groups": 2},
    "privacy": {"epsilon": 2},
}


def table(rows):
    """Records (group, person, number)."""
    columns = {"g": [r[0] for r in rows], "who": [r[1] for r in rows]}
    return pa.table(
        {name: pa.array(values, pa.string()) for name, values in columns.items()}
        | {"x": pa.array([r[2] for r in rows], pa.float64())}
    )


def plan_with(records, groups, **more):
    return {**PLAN, "people": {"id": "who", "max_records": records, "max_groups": groups}, **more}


def answers(content, rows):
    """The true answers of every group, one tuple for each statistic."""
    found = open_plan_source(to_plan(content, table(rows))).aggregate().positions
    return [tuple(positions.tolist()) for positions in found]


ROWS = [
    ("A", "1", 3.0), ("A", "1", 0.0), ("A", "1", 3.0), ("A", "2", 0.0), ("A", "2", None), ("A", "3", 2.0),
    ("B", "1", 2.0), ("B", "2", 2.0), ("B", "2", 2.0), ("B", None, 3.0), ("B", "", 3.0), ("C", "4", 3.0),
]  # fmt: skip


def test_a_person_counts_once_in_each_group_and_nobody_without_an_id():
    everything = plan_with(5, 2)
    assert answers(everything, ROWS) == [(2, 2), (3, 2)]
    assert answers(everything, ROWS * 3) == [(2, 2), (3, 2)]


def test_only_records_that_count_are_looked_at():
    """With one record of each person in a group, a second one changes nothing or takes its place."""
    first, found = [("A", "1", 3.0)], set()
    for other in (0.0, 1.0, 3.0, None):
        (met, _), (persons, _) = answers(plan_with(1, 1), [*first, ("A", "1", other)])
        found.add(met)
        assert persons == 1
    assert found <= {0, 1}


def test_it_stops_at_the_largest_size():
    assert answers(plan_with(1, 1), [("A", str(k), 3.0) for k in range(9)]) == [(4, 0), (4, 0)]


RECORDS = [(g, x) for g, x in product("AB", [3.0, 0.0])]
MINE = [rows for n in range(5) for rows in combinations_with_replacement(RECORDS, n)]


@pytest.mark.parametrize(("records", "groups"), [(1, 1), (2, 1), (1, 2), (3, 2)])
def test_a_person_with_any_records_costs_epsilon_in_whole_numbers(records, groups, tmp_path):
    """Every person with up to four records comes or goes beside another one: exact joint laws, and tight.

    Each of these tables is two groups of one large table, with people of their own.
    """
    tables, rows = ((), *MINE), []
    for n, mine in enumerate(tables):
        rows += [(f"A{n}", f"another of {n}", 3.0), *((f"{group}{n}", f"me of {n}", x) for group, x in mine)]
    keys = [f"{group}{n}" for n in range(len(tables)) for group in "AB"]
    content = {**plan_with(records, groups), "groups": {**PLAN["groups"], "keys": keys}}
    plan = to_plan(content, table(rows))
    every = joint_law(plan, open_plan_source(plan).aggregate(), tmp_path)
    laws = [every[k : k + 2] + every[len(keys) + k :][:2] for k in range(0, len(keys), 2)]  # of both statistics
    ratios = [largest_ratio(*pair) for law in laws[1:] for pair in ((laws[0], law), (law, laws[0]))]
    bound = exp_below(plan.total_epsilon)
    assert max(ratios) <= bound
    assert float(max(ratios) / bound) > 0.99


def test_it_errs_less_than_a_count_of_records_of_the_same_people(tmp_path):
    """A count must cover all records of a person."""
    asked = [{"count_distinct": "x > 1"}, {"count": "x > 1"}]
    errors = preview_release(plan_with(4, 2, statistics=asked), table([]), cache=tmp_path).errors
    assert errors["count_distinct"][0] < errors["count"][0]


def test_a_record_that_covers_fewer_groups_or_is_about_records_is_refused(tmp_path):
    release(PLAN, table(ROWS), cache=tmp_path, output=tmp_path / "t.csv")
    path = tmp_path / "t.csv.release.json"
    assert check(path)
    honest = json.loads(path.read_text())["content"]
    for change in ("draw_epsilon", "neighbours"):
        record = json.loads(json.dumps(honest))
        if change == "draw_epsilon":
            record["account"][0]["draw_epsilon"] = record["account"][0]["spent"]
        else:
            record["mechanisms"][0]["query"]["neighbours"] = {"reach": 2}
        path.write_text(json.dumps(wrap(RELEASE, record)))
        with pytest.raises(PassportError):
            check(path)


@pytest.mark.parametrize("sizes", [{"size": 3}, {"max_size": 3}])
def test_where_every_record_is_a_person_it_is_refused(sizes, tmp_path):
    content = {name: part for name, part in PLAN.items() if name != "people"}
    content["groups"] = {"by": ["g"], "keys": ["A", "B"], **sizes}
    with raises_at(PlanError, ("statistics", 0, "count_distinct")):
        preview_release(content, table([]), cache=tmp_path)
