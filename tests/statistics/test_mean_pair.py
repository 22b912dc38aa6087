"""Means of groups whose size is secret: a pair of sums that costs epsilon once, and the share of the one in both."""

import json
import shutil
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest

import inbounds as ib
from envelopes import wrap
from inbounds.catalog.noise_tables import geometric_table
from inbounds.data import adult
from inbounds.errors import PassportError
from inbounds.files import RELEASE
from inbounds.releases.pipeline import PlanError, preview_release, release
from inbounds.releases.recompute import check_release as check
from inbounds.schema.columns import number_column
from inbounds.statistics._mean_pair import mean_expected_error, mean_from_sums, mean_interval, pair_query
from inbounds.statistics.sizes import certain_sizes
from inbounds.trusted.bounds import EXP_BITS, exp_lower_bound
from inbounds.trusted.samplers import seeded_entropy
from raising import raises_at

pytest.importorskip("ibis")


def drawn_at_once(column, size, epsilon):
    """The matrix of U, which is that of V."""
    mechanism = geometric_table(pair_query(column, size), epsilon)
    return mechanism, mechanism.law.matrix(mechanism.query).astype(object)


@pytest.mark.parametrize(("width", "size"), [(1, 3), (2, 2), (3, 2), (4, 2)])
@pytest.mark.parametrize("epsilon", [Fraction(1, 5), Fraction(1), Fraction(4)])
def test_one_record_moves_both_sums_by_no_more_than_epsilon_together(width, size, epsilon):
    """All tables of a size and less, one record more or less, every pair of outputs: in whole numbers."""
    _, law = drawn_at_once(number_column(0, width), size, epsilon)
    p, worst = exp_lower_bound(epsilon), Fraction(0)
    tables = [t for n in range(size + 2) for t in combinations_with_replacement(range(width + 1), n)]
    joint = {t: np.outer(law[:, min(sum(t), size * width)], law[:, _below(t, width, size)]) for t in tables}
    for more in tables:
        for place in range(len(more)):
            less = more[:place] + more[place + 1 :]
            for one, other in ((joint[more], joint[less]), (joint[less], joint[more])):
                assert ((one << EXP_BITS) <= p * other).all()
                worst = max(worst, max(map(Fraction, one.ravel().tolist(), other.ravel().tolist())))
    assert float(worst) > 0.99 * np.exp(float(epsilon))  # tight


def _below(table, width, size):
    return min(len(table) * width - sum(table), size * width)


def test_sums_that_each_cost_epsilon_break_the_promise():
    """A twin that must fail: noise for records half as wide as they are."""
    law = drawn_at_once(number_column(0, 1), 4, Fraction(1))[1]
    p = exp_lower_bound(Fraction(1))
    one, other = (np.outer(law[:, u], law[:, v]) for u, v in ((0, 0), (1, 1)))
    assert not ((one << EXP_BITS) <= p * other).all()


def test_the_mean_lies_in_its_range_whatever_is_drawn():
    column = number_column("0.1", "0.7", step="0.2", missing="0.3")
    above, below = (part.ravel() for part in np.meshgrid(np.arange(7), np.arange(7)))
    found = mean_from_sums(column, above, below)
    assert found[(above == 0) & (below == 0)].tolist() == [0.3]
    assert found.min() == 0.1
    assert found.max() == 0.7


def errors_of(column, values, size, epsilon=1, level=None):
    """Mean absolute errors, and how often the interval holds the mean, over many groups with fixed draws."""
    mechanism, draws = (
        geometric_table(pair_query(column, size), Fraction(epsilon)),
        seeded_entropy(np.random.default_rng(7)),
    )
    above = values.sum(axis=1)
    drawn = [mechanism.draw(part, draws) for part in (above, size * column.width - above)]
    truth = float(column.low) + values.mean(axis=1) * float(column.step)
    error = np.abs(mean_from_sums(column, *drawn) - truth).mean()
    if level is None:
        return error, 0.0
    low, high = mean_interval(column, mechanism, drawn, level, None, certain_sizes([size]))
    return error, ((low <= truth) & (truth <= high)).mean()


def test_means_err_as_little_as_the_construction_promises():
    """Likert 0.13, ages 2.9, wages 0.81 at epsilon 1, within 5 %; over 20,000 groups the figures are right to 1 %."""
    rng = np.random.default_rng(3)
    likert = rng.choice(5, (20_000, 25), p=[0.1, 0.15, 0.25, 0.3, 0.2])
    ages = rng.choice(adult().age, (20_000, 20)).astype(np.int64) - 17
    wages = np.clip(rng.lognormal(3.4, 0.5, (20_000, 100)).round(), 0, 100).astype(np.int64)
    assert errors_of(number_column(1, 5), likert, 25)[0] == pytest.approx(0.13, rel=0.05)
    assert errors_of(number_column(17, 90), ages, 20)[0] == pytest.approx(2.9, rel=0.05)
    assert errors_of(number_column(0, 100), wages, 100)[0] == pytest.approx(0.81, rel=0.05)


def test_the_expected_error_is_that_of_full_groups_with_flat_means():
    """Means spread evenly over the range: the stated error within 3 %; the interval holds full groups more often."""
    column, rng = number_column(0, 20), np.random.default_rng(5)
    totals = rng.integers(0, 10 * 20 + 1, 4_000)
    values = np.stack([totals // 10] * 10, axis=1)
    values[:, 0] += totals - values.sum(axis=1)
    error, held = errors_of(column, values, 10, level=Fraction(9, 10))
    stated = mean_expected_error(
        column, geometric_table(pair_query(column, 10), Fraction(1)), None, certain_sizes([10])
    )
    assert stated.error == pytest.approx(error, rel=0.03)
    assert stated.constant == pytest.approx(5, rel=0.05)
    assert 0.88 < held < 0.96


PLAN = {
    "groups": {"by": ["g"], "keys": ["a", "b"], "max_size": 20},
    "columns": {"x": {"low": 0, "high": 10}},
    "statistics": [{"mean": "x"}],
    "privacy": {"epsilon": 1},
    "output": {"credible_level": 0.9},
}


@pytest.fixture(scope="module")
def frame(checks):
    return checks.frame([{"g": "a", "x": 3.0}] * 12 + [{"g": "b", "x": 8.0}] * 15)


def test_a_released_mean_stands_beside_the_sums_it_is_computed_from(frame, tmp_path):
    table = release(PLAN, frame, cache=tmp_path).table
    names = ["g", "x_mean", "x_mean_above_low", "x_mean_below_high", "x_mean_error", "x_mean_low", "x_mean_high"]
    assert table.column_names == names
    mean, above, below = (np.array(table[name]) for name in names[1:4])
    assert mean == pytest.approx(10 * above / (above + below))
    assert (np.array(table["x_mean_low"]) <= mean).all()
    assert (mean <= np.array(table["x_mean_high"])).all()


def test_sums_of_secret_sizes_have_intervals_that_hold(checks):
    """Of 2,000 groups whose sums are spread evenly 90 % lie in the interval, within 4 points; the draws are fixed."""
    keys = [str(k) for k in range(2000)]
    groups = {"by": ["g"], "keys": keys, "max_size": 4, "typical": [4, 4]}
    content = {**PLAN, "groups": groups, "statistics": [{"sum": "x"}]}
    totals = [k % 41 for k in range(2000)]
    rows = [
        {"g": key, "x": float(min(10, max(0, total - 10 * i)))}
        for key, total in zip(keys, totals, strict=True)
        for i in range(4)
    ]
    found = {column.name: column.values for column in checks.release(content, rows, seed=4)}
    held = (found["x_sum_low"] <= totals) & (totals <= found["x_sum_high"])
    assert held.mean() == pytest.approx(0.9, abs=0.04)


def test_record_and_passports_prove_that_both_sums_cost_epsilon_once(frame, tmp_path):
    done = release(PLAN, frame, cache=tmp_path, output=tmp_path / "t.csv", mechanisms=tmp_path / "passports")
    assert check(tmp_path / "t.csv.release.json")
    (line,) = done.record["mechanisms"]
    assert line["parts"] == ["x_mean_above_low", "x_mean_below_high"]
    (passport,) = (tmp_path / "passports").iterdir()
    mechanism = ib.load(passport)
    assert mechanism.sha256 == line["sha256"]
    assert mechanism.query.neighbours == ib.Metric(Fraction(10))
    assert ib.find_mechanism(tmp_path / "t.csv.release.json", "x_mean", 20).sha256 == line["sha256"]


@pytest.fixture(scope="module")
def released(frame, tmp_path_factory):
    """A folder with a table and its record, which is accepted."""
    folder = tmp_path_factory.mktemp("released")
    release(PLAN, frame, cache=folder / "designs", output=folder / "t.csv")
    assert check(folder / "t.csv.release.json")
    return folder


@pytest.mark.parametrize("lie", ["narrower", "no parts", "three parts", "the same part twice", "other parts"])
def test_a_record_whose_sums_cost_more_than_it_says_is_refused(released, tmp_path, lie):
    shutil.copytree(released, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "t.csv.release.json"
    record = json.loads(path.read_text())["content"]
    line = record["mechanisms"][0]
    if lie == "narrower":
        line["query"]["neighbours"]["metric"] = "9"
    elif lie == "no parts":
        del line["parts"]
    elif lie == "the same part twice":
        line["parts"] = line["parts"][:1] * 2
    elif lie == "other parts":
        line["parts"] = ["one", "two"]
    else:
        line["parts"].append("more")
    record = wrap(RELEASE, record)
    path.write_text(json.dumps(record))
    with pytest.raises(PassportError):
        check(path)


def test_the_drawn_sums_can_be_read_and_the_mean_says_so(frame, tmp_path, command):
    release(PLAN, frame, cache=tmp_path, output=tmp_path / "t.csv")
    said = command(tmp_path, "interpret", "t.csv.release.json", "36", "--statistic", "x_mean_above_low")
    assert said.returncode == 0
    refused = command(tmp_path, "interpret", "t.csv.release.json", "3.6", "--statistic", "x_mean")
    assert refused.returncode == 2
    assert "computed from x_mean_above_low and x_mean_below_high" in refused.one_line


def test_wishes_that_a_pair_cannot_have_are_refused_before_anything_is_read(frame, tmp_path):
    content = {**PLAN, "design": {"properties": ["fair"]}}
    with raises_at(PlanError, ("statistics", 0, "mean")):
        preview_release(content, frame, cache=tmp_path)
