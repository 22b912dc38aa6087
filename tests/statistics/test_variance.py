"""Variances in groups of public size: the squared distances of all pairs, which one record moves by (n - 1)·w².

For secret sizes see test_three_sums.
"""

import math
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pyarrow as pa
import pytest

import inbounds as ib
from fuzz.joint import exp_below, joint_law, largest_ratio
from inbounds.query import Reach
from inbounds.releases.pipeline import PlanError, open_plan_source, preview_release, release, to_plan
from inbounds.releases.workload import Workload
from inbounds.schema.columns import number_column
from inbounds.statistics import StatisticContext, Variance
from inbounds.statistics.designs import DesignOptions, design_request
from inbounds.statistics.variance import PARTS, root_of_variance
from inbounds.trusted.samplers import seeded_entropy
from raising import raises_at

PLAN = {
    "groups": {"by": ["g"], "keys": ["A", "B"], "size": [3, 4]},
    "columns": {"x": {"low": -1, "high": 2, "missing": 0}},
    "statistics": [{"variance": "x"}],
    "privacy": {"epsilon": 1},
}


def table(rows):
    return pa.table(
        {"g": pa.array([r[0] for r in rows], pa.string()), "x": pa.array([r[1] for r in rows], pa.float64())}
    )


def variance(values):
    mean = Fraction(sum(values), len(values))
    return sum((value - mean) ** 2 for value in values) / len(values)


def query_of(size, column):
    return Variance(column="x").query(StatisticContext({"x": column}, public=True), size)


@pytest.mark.parametrize(("width", "size"), [(1, 2), (1, 5), (3, 3), (2, 4), (4, 3)])
def test_every_small_group_has_its_variance_rounded_and_neighbours_are_as_near_as_said(width, size):
    """All groups; one value changed to any other. The bound is reached."""
    column = number_column(0, width)
    query = query_of(size, column)
    groups, positions, moved = list(combinations_with_replacement(range(width + 1), size)), {}, 0
    keys = [str(k) for k in range(len(groups))]
    all_rows = [(key, float(value)) for key, values in zip(keys, groups, strict=True) for value in values]
    content = {**PLAN, "groups": {"by": ["g"], "keys": keys, "size": size}, "columns": {"x": {"low": 0, "high": width}}}
    (found,) = open_plan_source(to_plan(content, table(all_rows))).aggregate().positions
    for values, position in zip(groups, found.tolist(), strict=True):
        assert abs(query.answers[position] - variance(values)) <= query.answers.unit / 2
        positions[values] = position
    for values, position in positions.items():
        for k, new in product(range(size), range(width + 1)):
            other = positions[tuple(sorted((*values[:k], *values[k + 1 :], new)))]
            moved = max(moved, abs(position - other))
    assert isinstance(query.neighbours, Reach)
    assert moved <= query.neighbours.steps
    assert moved >= query.neighbours.steps - 1
    assert max(positions.values()) == len(query.answers) - 1


ROWS = [(key, value) for key in "AB" for value in (-1.0, 0.0, 2.0, None)]
TABLES = [
    [*rows, *more]
    for n in range(6)
    for rows in combinations_with_replacement(ROWS[:4], n)
    for more in ([], [("B", 2.0)])
]


def test_more_and_fewer_records_than_the_size_cost_no_more(tmp_path):
    """All tables of up to five records in a group of three, one record changed within its group or left out: exact.

    Each of these tables is two groups of one large table.
    """
    numbers, rows = range(len(TABLES)), [(f"{key}{n}", x) for n, rows in enumerate(TABLES) for key, x in rows]
    groups = {"by": ["g"], "keys": [f"{key}{n}" for key in "AB" for n in numbers]}
    groups["size"] = [size for size in PLAN["groups"]["size"] for _ in numbers]
    plan = to_plan({**PLAN, "groups": groups}, table(rows))
    every = joint_law(plan, open_plan_source(plan).aggregate(), tmp_path)
    laws = {tuple(rows): [every[n], every[len(TABLES) + n]] for n, rows in enumerate(TABLES)}
    ratios = []
    for rows, law in laws.items():
        if rows and rows[-1][0] == "B":
            continue
        for k in range(len(rows)):
            rest = (*rows[:k], *rows[k + 1 :])
            changed = {tuple(sorted((*rest, new), key=ROWS.index)) for new in ROWS[:4]} | {rest}
            ratios += [largest_ratio(*pair) for one in changed for pair in ((law, laws[one]), (laws[one], law))]
    assert max(ratios) <= exp_below(plan.total_epsilon)
    assert float(max(ratios) / exp_below(plan.total_epsilon)) > 0.9


@pytest.mark.parametrize(("width", "size"), [(1, 2), (10, 25), (100, 1000), (2000, 40)])
def test_rounding_costs_little(width, size):
    query = query_of(size, number_column(0, width))
    one_record = Fraction((size - 1) * width**2, size**2)
    assert query.answers.unit <= max(one_record / PARTS, Fraction(1, size**2))
    assert query.sensitivity <= one_record * (1 + Fraction(1, PARTS))
    assert math.isclose(float(query.answers[-1]), (size**2 // 4) * width**2 / size**2, rel_tol=0.5 / PARTS)


def test_a_released_variance_verifies(tmp_path):
    rng = np.random.default_rng(1)
    rows = [("A", float(x)) for x in rng.integers(0, 11, 200)] + [("B", 5.0)] * 200
    content = {
        **PLAN,
        "groups": {"by": ["g"], "keys": ["A", "B"], "size": 200},
        "columns": {"x": {"low": 0, "high": 10, "missing": 5}},
        "output": {"credible_level": 0.9},
    }
    done = release(content, table(rows), cache=tmp_path, output=tmp_path / "t.csv")
    assert done.table.column_names == ["g", *(f"x_variance{end}" for end in ("", "_error", "_low", "_high"))]
    assert ib.verify(tmp_path / "t.csv.release.json").is_valid
    assert len(Workload.from_plan(done.plan).requests[0]) == 1


@pytest.mark.parametrize("groups", [{"max_size": 1}, {"size": 1}])
@pytest.mark.parametrize("kind", ["variance", "standard_deviation"])
def test_single_records_are_refused(kind, groups, tmp_path):
    content = {**PLAN, "statistics": [{kind: "x"}], "groups": {"by": ["g"], "keys": ["A", "B"], **groups}}
    with raises_at(PlanError, ("statistics", 0, kind)):
        preview_release(content, table([]), cache=tmp_path)


def test_a_standard_deviation_is_the_root_of_a_drawn_variance(tmp_path):
    rows = [(key, x) for key in "AB" for x in (-1.0, 0.0, 2.0, None)]
    content = {**PLAN, "statistics": [{"standard_deviation": "x", "name": "d"}], "output": {"credible_level": 0.9}}
    done = release(content, table(rows), cache=tmp_path, output=tmp_path / "t.csv", allow_useless=True).to_pandas()
    np.testing.assert_array_equal(done["d"], np.sqrt(done["d_variance"]))
    assert ((done["d_low"] <= done["d"]) & (done["d"] <= done["d_high"])).all()
    assert ib.verify(tmp_path / "t.csv.release.json").is_valid


def test_the_stated_error_and_interval_of_a_root_are_those_of_its_draws(tmp_path):
    """Of half as many draws as are simulated, of other truths: every standard deviation equally likely."""
    column = number_column(0, 100)
    mechanism = design_request(query_of(400, column), Fraction(1), DesignOptions())
    derived = root_of_variance(column)
    values, rng = mechanism.query.answers.numbers_at(np.arange(len(mechanism.query.answers))), np.random.default_rng(7)
    truths = np.searchsorted(np.sqrt(values), rng.uniform(0, 50, 2048)).clip(0, len(values) - 1)
    drawn = mechanism.draw(truths, seeded_entropy(rng))
    errors = np.abs(np.sqrt(values[drawn]) - np.sqrt(values[truths]))
    assert math.isclose(errors.mean(), derived.expected(mechanism, None, None).error, rel_tol=0.1)
    low, high = derived.interval(mechanism, [drawn], Fraction(9, 10), None, None)
    roots = np.sqrt(values[truths])
    assert 0.87 < ((low <= roots) & (roots <= high)).mean() < 0.97
