"""Quantiles in plans: what may be written, what is drawn, what the record says, and that they are in order."""

import json
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import inbounds as ib
from envelopes import wrap
from inbounds.errors import PassportError
from inbounds.files import RELEASE
from inbounds.mechanism.laws import CentralRecords, PermuteAndFlip
from inbounds.plan.oneline import one_line
from inbounds.releases.budget import plan_budget, query_for_person
from inbounds.releases.pipeline import PlanError, find_mechanism, preview_release, release, to_plan
from inbounds.releases.recompute import check_release as check
from raising import raises_at, rejects

pytest.importorskip("ibis")

RNG = np.random.default_rng(8)
GROUPS, SIZE = 40, 30
FRAME = pa.table({"g": [f"k{i % GROUPS}" for i in range(GROUPS * SIZE)], "x": RNG.integers(0, 11, GROUPS * SIZE)})


def plan(*statistics, epsilon=4, sizes=None, **more):
    return {
        "groups": {"by": ["g"], "keys": [f"k{i}" for i in range(GROUPS)], **(sizes or {"size": SIZE})},
        "columns": {"x": {"low": 0, "high": 10}},
        "statistics": list(statistics),
        "privacy": {"epsilon": epsilon},
        **more,
    }


def test_several_shares_of_groups_of_public_size_are_one_draw():
    found = to_plan(
        plan({"quantile": "x", "at": ["0.9", "0.25"], "budget_share": "1/2"}, {"mode": "y"}, **LABELS), FRAME
    )
    assert [found.cells(statistic) for statistic in found.statistics] == [["x_q25", "x_q90"], ["y_mode"]]
    assert found.statistics[0].query(found.context, SIZE) == ib.quantiles([0.25, 0.9], 0, 10, size=SIZE)
    assert found.epsilons == (2, 2)


@pytest.mark.parametrize("people", [{}, {"people": {"id": "p", "max_records": 2}}])
def test_several_shares_of_groups_with_a_maximum_are_one_draw_where_it_is_small_enough(people):
    found = to_plan(plan({"quantile": "x", "at": ["1/2", "1/4"]}, sizes={"max_size": 20}, **people), FRAME)
    assert [found.cells(statistic) for statistic in found.statistics] == [["x_q25", "x_median"]]
    (entry,) = plan_budget(found)
    query = query_for_person(entry.statistic, found.context, 20, entry.records)
    assert query == ib.quantiles(["1/4", "1/2"], 0, 10, maximum=20, records=2 if people else 1)


LABELS = {"columns": {"x": {"low": 0, "high": 10}, "y": {"labels": ["p", "q"]}}}
APART = {
    "a large maximum": {"sizes": {"max_size": 3000}},
    "an epsilon that is too small beside a maximum": {"sizes": {"max_size": SIZE}, "epsilon": "1/10000"},
    "a design option": {"design": {"loss": "zero-one"}},
    "a group beyond one draw": {"sizes": {"size": 1 << 20}},
}


@pytest.mark.parametrize("why", APART)
def test_several_shares_are_divided_where_they_cannot_be_one_draw(why):
    quartiles = {"quantile": "x", "at": ["0.9", "0.25"], "budget_share": "1/2"}
    found = to_plan(plan(quartiles, {"min": "x"}, **APART[why]), FRAME)
    assert [statistic.name for statistic in found.statistics] == ["x_q25", "x_q90", "x_min"]
    assert [statistic.share for statistic in found.statistics] == [Fraction(1, 4), Fraction(9, 10), 0]
    assert found.epsilons == (found.epsilon / 4, found.epsilon / 4, found.epsilon / 2)


@pytest.mark.parametrize("at", [[0, 0.9, 1], ("max", "min", 0.9), np.array([0.9, 0, 1]), ["1", "9/10", "min"]])
def test_shares_may_stand_in_any_kind_of_list_and_some_have_names(at):
    found = to_plan(plan({"quantile": "x", "at": at, "name": "own"}), FRAME)
    assert found.statistics[0].at == (0, Fraction(9, 10), 1)
    assert found.cells(found.statistics[0]) == ["own_min", "own_q90", "own_max"]


NO_QUANTILES = [
    ({"quantile": "x"}, ("at",)),
    ({"quantile": {"at": 0.5}}, ("quantile", "of")),
    ({"quantile": {"of": "x", "at": 0.5}, "at": 0.5}, ("quantile", "at")),
    ({"quantile": "x", "at": 2}, ("at",)),
    ({"quantile": "x", "at": []}, ("at",)),
    ({"quantile": "x", "at": ["least"]}, ("at",)),
    ({"quantile": "x", "at": [0.5, 0.5]}, ("at",)),
    ({"quantile": "y", "at": 0.5}, ("quantile",)),
]


def test_what_is_no_quantile_is_refused_before_data_is_read(golden):
    said = {}
    for statistic, field in NO_QUANTILES:
        with raises_at(PlanError, ("statistics", 0, *field)) as caught:
            to_plan(plan(statistic), FRAME)
        said[str(statistic)] = caught.value
    golden.parts("wrong_quantiles", said)


@pytest.mark.long
@pytest.mark.parametrize("sizes", [{"size": SIZE}, {"max_size": SIZE}])
def test_quantiles_are_near_the_truth_and_in_order(tmp_path, sizes):
    asked = plan({"quantile": "x", "at": [0.25, 0.5, 0.75]}, epsilon=6, sizes=sizes, output={"credible_level": 0.9})
    table = release(asked, FRAME, cache=tmp_path).table
    names = ("x_q25", "x_median", "x_q75")
    found = np.array([table[name].to_numpy() for name in names])
    assert (np.diff(found, axis=0) >= 0).all()
    values = FRAME["x"].to_numpy().reshape(SIZE, GROUPS)
    truth = np.sort(values, axis=0)[[7, 14, 22]]
    assert np.abs(found - truth).mean() < 1.5  # expected 0.4 for 120 answers; 11 sigma
    for name, own in zip(names, found, strict=True):
        assert (table[f"{name}_low"].to_numpy() <= own).all()
        assert (own <= table[f"{name}_high"].to_numpy()).all()


def test_groups_of_different_sizes_have_draws_of_their_own(tmp_path):
    """At a large epsilon every draw is the truth: of 5 records the third, of 3 and 2 missing ones the third of all."""
    frame = pa.table({"g": ["a"] * 5 + ["b"] * 3, "x": [1, 3, 5, 7, 9, 4, 6, 8]})
    keys = {"groups": {"by": ["g"], "keys": ["a", "b", "c"], "size": [5, 3, 3]}}
    asked = plan({"quantile": "x", "at": ["min", "median", "max"], "name": "s"}, epsilon=64, **keys)
    done = release(asked, frame, cache=tmp_path, output=tmp_path / "o.csv")
    assert [done.table[f"s_{name}"].to_pylist() for name in ("min", "median", "max")] == [
        [1, 4, 0],
        [5, 6, 0],
        [9, 8, 0],
    ]
    assert [(line["law"], line["size"]) for line in done.record["mechanisms"]] == [("joint", 3), ("joint", 5)]
    assert check(tmp_path / "o.csv.release.json")
    done.report(tmp_path / "report.html")
    page = done.export(tmp_path / "page.html").read_text("utf-8")
    assert all(f"By g, {name}" in page for name in ("min", "median", "max"))  # each with errors of its own
    assert done.export(tmp_path / "o.xlsx").stat().st_size > 0


def test_wishes_about_the_answer_are_answered_obliviously(tmp_path):
    done = release(plan({"median": "x"}, {"max": "x", "loss": "zero-one"}), FRAME, cache=tmp_path)
    assert isinstance(done.mechanisms["x_median", SIZE].law, PermuteAndFlip)
    assert isinstance(done.mechanisms["x_max", SIZE].law, CentralRecords)
    assert [line["law"] for line in done.record["mechanisms"]] == ["scores", "central"]


def test_the_mechanism_of_a_median_is_found_again_from_its_record(tmp_path):
    release(plan({"median": "x"}), FRAME, output=tmp_path / "o.csv", cache=tmp_path / "c", mechanisms=tmp_path / "m")
    found = find_mechanism(tmp_path / "o.csv.release.json", "x_median")
    assert found == ib.design_quantile(ib.median(0, 10, size=SIZE), 4).mechanism
    assert ib.load(tmp_path / "m" / f"x_median-{SIZE}.json") == found
    assert check(tmp_path / "o.csv.release.json")


@pytest.mark.parametrize("change", [{"public": False}, {"size": "31"}])
def test_a_record_whose_mechanism_is_for_other_groups_is_refused(tmp_path, change):
    release(plan({"median": "x"}), FRAME, output=tmp_path / "o.csv", cache=tmp_path / "c")
    file = tmp_path / "o.csv.release.json"
    content = json.loads(file.read_text())["content"]
    content["mechanisms"][0]["query"].update(change)
    file.write_text(json.dumps(wrap(RELEASE, content)))
    with pytest.raises(PassportError):
        check(file)


@pytest.mark.parametrize("lie", ["no groups", "less than none", "a range", "another size", "the same twice"])
def test_a_record_whose_groups_or_sizes_are_not_the_plans_is_refused(tmp_path, lie):
    release(plan({"median": "x"}, {"count": "true"}), FRAME, output=tmp_path / "o.csv", cache=tmp_path / "c")
    file = tmp_path / "o.csv.release.json"
    content = json.loads(file.read_text())["content"]
    median, count = content["mechanisms"]
    more = {"no groups": (0, GROUPS), "less than none": (-1, GROUPS + 1), "the same twice": (1, GROUPS - 1)}.get(lie)
    if more is not None:
        content["mechanisms"] = [{**count, "groups": n} for n in more] + [median]
    elif lie == "a range":
        median["size"] = f"1..{SIZE}"
    else:
        count["size"] = SIZE - 1
    file.write_text(json.dumps(wrap(RELEASE, content)))
    with pytest.raises(PassportError):
        check(file)


def test_a_thousand_values_are_answered_and_too_many_are_refused_before_anything_is_read():
    column = {"x": {"low": 0, "high": 1000}}
    found = preview_release(plan({"median": "x"}, columns=column), FRAME)
    assert 0 < found.errors["x_median"][0] < 100
    with raises_at(PlanError, ("statistics", 0, "median"), about="2048"):
        to_plan(plan({"median": "x"}, columns={"x": {"low": 0, "high": 2048}}), FRAME)


def test_one_line_asks_for_quantiles_of_a_column():
    facts, column = {"size": "20", "epsilon": "1"}, {"low": ["0"], "high": ["10"]}
    found = one_line("t.csv", {"quantile": ["x@0.5,0.9"]}, facts, column)
    assert [(statistic.column, statistic.at) for statistic in found.statistics] == [
        ("x", (Fraction(1, 2), Fraction(9, 10)))
    ]
    with rejects(ValueError, "--quantile"):
        one_line("t.csv", {"quantile": ["x"]}, facts, column)


def test_an_expected_error_is_said_before_data_is_read(tmp_path):
    found = preview_release(plan({"median": "x"}, {"min": "x"}), FRAME, cache=tmp_path)
    assert 0 < found.errors["x_median"][0] < 0.5
    assert found.no_better == ()


@pytest.mark.long
@pytest.mark.parametrize("sizes", [{"size": SIZE}, {"max_size": SIZE}])
def test_which_groups_expected_errors_are_of_is_said_where_sizes_are_not_public(sizes):
    said = preview_release(plan({"median": "x"}, {"max": "x"}, {"sum": "x"}, sizes=sizes), FRAME).record["values"]
    supposed = [line.partition(":")[0] for line in said if "every size up to the maximum is equally likely" in line]
    assert supposed == (["x_median, x_max, x_sum"] if "max_size" in sizes else [])
