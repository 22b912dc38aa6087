"""Answers: one mechanism per range, kept and re-certified; every declared group; intervals and sums that hold."""

import itertools
import json
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import inbounds as ib
from inbounds.adjust.histograms import round_to_sum
from inbounds.mechanism import Mechanism, Origin
from inbounds.mechanism.laws import Noise
from inbounds.mechanism.laws.noise import make_geometric_noise, make_staircase_noise
from inbounds.releases import aggregate, drawing
from inbounds.releases import workload as answering
from inbounds.releases.accuracy import credible_intervals
from inbounds.releases.pipeline import preview_release, release, to_plan
from inbounds.schema.errors import PlanError
from inbounds.statistics import designs
from inbounds.statistics.designs import (
    DESIGNED_UP_TO,
    DesignOptions,
    DesignRequest,
    design_noise_table,
    design_request,
    load_or_design,
    resolve_prior,
)
from inbounds.trusted.samplers import seeded_entropy
from raising import raises_at, rejects

FRAME = pa.table({"g": ["A", "A", "B", "zz"], "c": ["p", "q", "p", "p"], "n": [1, 2, 99, 3]})


def plan(*statistics, epsilon=1, interval=None, **groups):
    return {
        "groups": {"by": ["g"], "keys": ["empty", "B", "A"], "size": 4, **groups},
        "columns": {"c": {"labels": ["p", "q", "r"], "other": "r"}, "n": {"low": 0, "high": 3}},
        "statistics": [{**s, "name": f"s{k}"} for k, s in enumerate(statistics)],
        "privacy": {"epsilon": epsilon},
        "output": {} if interval is None else {"credible_level": interval},
    }


def test_every_declared_group_is_answered_in_declared_order_and_in_range(tmp_path):
    done = release(plan({"count": "c = 'p'"}, {"mean": "n"}), FRAME, cache=tmp_path)
    assert done.table["g"].to_pylist() == ["empty", "B", "A"]
    assert done.table.column_names == ["g", "s0", "s0_error", "s1", "s1_error"]
    for _ in range(5):
        again = release(plan({"count": "c = 'p'"}, {"mean": "n"}), FRAME, cache=tmp_path).table
        assert set(again["s0"].to_pylist()) <= set(range(5))
        assert all(0 <= v <= 3 and (4 * v) % 1 == 0 for v in again["s1"].to_pylist())


def test_the_package_itself_is_the_function(tmp_path):
    assert ib.release(plan({"count": "true"}), FRAME, cache=tmp_path).table.num_rows == 3


def test_a_huge_epsilon_gives_the_true_answers(tmp_path):
    """At epsilon 60 a wrong answer has a chance below 1e-10: the whole path is right."""
    done = release(plan({"count": "c = 'p'", "epsilon": 60}, epsilon=60), FRAME, cache=tmp_path)
    assert done.table["s0"].to_pylist() == [0, 1, 1]


@pytest.mark.parametrize("asked", [{"count": "c = 'p'"}, {"histogram": "c"}, {"max": "n"}], ids=lambda s: next(iter(s)))
def test_a_huge_epsilon_gives_the_true_answers_in_groups_of_every_size(tmp_path, asked):
    """Each size has a mechanism of its own; another one's would end elsewhere. A wrong answer: chance below 1e-12."""
    sizes = [7, 1, 4, 2, 7, 3]
    keys = [f"k{k}" for k in range(len(sizes))]
    rows = [(key, n) for key, size in zip(keys, sizes, strict=True) for n in range(size)]
    frame = pa.table({"g": [key for key, _ in rows], "c": ["p"] * len(rows), "n": [n for _, n in rows]})
    table = release(plan(asked, keys=keys, size=sizes, epsilon=60), frame, cache=tmp_path).table
    if "max" in asked:
        assert table["s0"].to_pylist() == [min(size - 1, 3) for size in sizes]
    else:
        assert table["s0" if "count" in asked else "s0: p"].to_pylist() == sizes


def test_groups_of_one_size_share_one_mechanism_and_it_is_designed_once(tmp_path, monkeypatch):
    made = []
    own = designs.design_request
    monkeypatch.setattr(designs, "design_request", lambda *request: made.append(request) or own(*request))
    content = plan({"count": "c = 'p'"}, {"count": "c = 'q'"}, size=[3, 4, 3])
    release(content, FRAME, cache=tmp_path)
    assert len(made) == 2
    release(content, FRAME, cache=tmp_path)
    assert len(made) == 2
    assert len(list(tmp_path.glob("*.json"))) == 2


@pytest.mark.parametrize("harm", ["flip a digit", "another mechanism", "not JSON"])
def test_what_is_kept_is_recertified_and_anything_else_is_designed_anew(tmp_path, harm):
    request = DesignRequest(ib.count(4), Fraction(1, 2), DesignOptions())
    good = load_or_design(request, tmp_path)
    (path,) = tmp_path.glob("*.json")
    if harm == "flip a digit":
        content = json.loads(path.read_text())
        core = content["content"]["law"]["noise"]["core"]
        content["content"]["law"]["noise"]["core"] = ("1" if core[0] != "1" else "2") + core[1:]
        path.write_text(json.dumps(content))
    elif harm == "another mechanism":
        ib.catalog.truncated_geometric(ib.count(4), 5).save(path)
    else:
        path.write_text("nonsense")
    again = load_or_design(request, tmp_path)
    assert again.mechanism.epsilon == Fraction(1, 2)
    assert again.mechanism.law == good.mechanism.law
    assert ib.load(path).law == good.mechanism.law


def test_a_cache_that_cannot_be_written_only_costs_time(tmp_path):
    (tmp_path / "file").write_text("")
    assert release(plan({"count": "true"}), FRAME, cache=tmp_path / "file" / "below").table.num_rows == 3


def test_the_digest_in_the_record_is_the_passports(tmp_path):
    done = release(plan({"count": "true"}), FRAME, cache=tmp_path)
    (path,) = tmp_path.glob("*.json")
    assert [m["sha256"] for m in done.record["mechanisms"]] == [json.loads(path.read_text())["sha256"]]


def test_wishes_choose_the_mechanism():
    query, epsilon = ib.count(6), Fraction(1, 2)
    fair = design_request(query, epsilon, DesignOptions(properties=("fair",)))
    assert fair.properties()["fair"]
    named = design_request(query, epsilon, DesignOptions(mechanism="explicit_fair"))
    assert named.law == ib.catalog.explicit_fair(query, epsilon).law
    sure = design_request(query, epsilon, DesignOptions(prior=("binomial", Fraction(1, 20))))
    plain = design_request(query, epsilon, DesignOptions())
    prior = designs.resolve_prior(DesignOptions(prior=("binomial", Fraction(1, 20))), query)
    assert sure.loss("absolute", prior) < plain.loss("absolute", prior)


def test_losses_have_the_names_of_the_command_line():
    found = design_request(ib.count(6), Fraction(1), DesignOptions(loss="off-by-more-than-1"))
    assert found.loss(ib.threshold_loss(1)) == pytest.approx(
        ib.optimal(ib.count(6), 1, ib.threshold_loss(1)).loss(ib.threshold_loss(1))
    )
    with raises_at(PlanError, ("loss",)):
        DesignOptions(loss="cubic")


def test_a_range_too_fine_for_its_epsilon_is_refused_with_the_step_that_would_do(tmp_path):
    content = {**plan({"sum": "n"}, epsilon="0.1"), "columns": {"n": {"low": 0, "high": 10_000}}}
    with raises_at(PlanError, ("statistics", 0, "sum"), about="20"):
        release(content, FRAME, cache=tmp_path)


def test_large_ranges_are_answered_with_a_noise_table():
    query = ib.total(DESIGNED_UP_TO, 0, 2)
    found = design_request(query, Fraction(1), DesignOptions(loss="zero-one"))
    assert found.law == make_staircase_noise(query, Fraction(1), 1)
    assert found.optimality.gap < 0.001 * found.optimality.value
    with rejects(ValueError, about="2000"):
        design_request(ib.extreme(0, 5000), Fraction(1), DesignOptions())


@pytest.mark.parametrize("loss", ["absolute", "squared", "zero-one"])
@pytest.mark.parametrize("size", [1, 2, 7, 40])
def test_a_count_is_kept_as_noise_and_remap_and_is_the_optimum(size, loss):
    query, epsilon = ib.count(size), Fraction(1, 3)
    for prior in (None, ("binomial", Fraction(1, 4))):
        found = design_request(query, epsilon, DesignOptions(loss=loss, prior=prior))
        best = ib.optimal(query, epsilon, loss, resolve_prior(DesignOptions(prior=prior), query))
        assert isinstance(found.law, Noise)
        assert found.optimality.value == pytest.approx(best.optimality.value, rel=1e-9)
        assert found.optimality.bound <= found.optimality.value


@pytest.mark.parametrize("query", [ib.count(30), ib.mean(5, 0, 4), ib.total(4, -3, 5)], ids=lambda q: q.kind)
@pytest.mark.parametrize("epsilon", [Fraction(1, 4), Fraction(2)])
def test_the_reports_of_a_wide_range_are_the_best_for_each_noisy_value(query, epsilon):
    """No other way to read the same noise loses less; for counts that is the optimum over all mechanisms."""
    found = design_noise_table(query, epsilon, DesignOptions())
    law = found.law
    plain = Mechanism(query, epsilon, Noise(law.core, law.floor, law.end, law.size), Origin("plain"))
    assert found.loss() == pytest.approx(plain.bayes_loss("absolute", None), rel=1e-9)
    assert found.loss() <= Mechanism(query, epsilon, make_geometric_noise(query, epsilon), Origin("geometric")).loss()
    if query.kind == "count":
        assert found.loss() == pytest.approx(ib.optimal(query, epsilon).loss(), rel=1e-9)


def test_the_expected_error_is_that_of_the_mechanism(tmp_path):
    content = plan({"count": "true"}, size=[3, 4, 5])
    found = preview_release(content, FRAME, cache=tmp_path)
    expected = [ib.optimal(ib.count(size), 1).loss() for size in (3, 4, 5)]
    assert found.errors["s0"] == pytest.approx(expected, rel=1e-5)
    done = release(content, FRAME, cache=tmp_path)
    assert done.table["s0_error"].to_pylist() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("prior", [{"binomial": 0.05}, {"normal": [4, 1]}, "uniform"])
def test_the_expected_error_is_over_the_prior_that_the_plan_names(tmp_path, prior):
    content = {**plan({"count": "true"}, size=[3, 4, 9]), "design": {"prior": prior}}
    found = preview_release(content, FRAME, cache=tmp_path)
    name, *numbers = (prior,) if isinstance(prior, str) else next((k, *np.ravel(v)) for k, v in prior.items())
    expected = []
    for size in (3, 4, 9):
        believed = getattr(ib.priors, name)(ib.count(size), *numbers)
        expected.append(ib.optimal(ib.count(size), 1, prior=believed).loss("absolute", believed))
    assert found.errors["s0"] == pytest.approx(expected, rel=1e-5)


def test_a_dry_run_reads_no_record(tmp_path, monkeypatch):
    monkeypatch.setattr(aggregate, "materialise", lambda *_, **__: pytest.fail("the data was read"))
    assert preview_release(plan({"median": "n"}), FRAME, cache=tmp_path).errors["s0"]


# --- intervals --------------------------------------------------------------------------------------------


def runs(mass, level):
    """Brute force: the shortest run of answers with enough mass; of several the likeliest, then the first."""
    held = {(a, b): round(mass[a:b].sum() / mass.sum(), 9) for a, b in itertools.combinations(range(len(mass) + 1), 2)}
    enough = [ab for ab in held if held[ab] >= level - 1e-9]
    a, b = min(enough, key=lambda ab: (ab[1] - ab[0], -held[ab], ab[0]))
    return a, b - 1


@given(st.integers(1, 9), st.sampled_from(["1/2", "1", "3"]), st.sampled_from(["1/2", "9/10", "99/100"]))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_an_interval_is_the_shortest_run_with_enough_posterior(n, epsilon, level):
    mechanism = ib.catalog.truncated_geometric(ib.count(n), epsilon)
    outputs = np.arange(n + 1)
    low, high = credible_intervals(mechanism.channel(), outputs, Fraction(level))
    expected = [runs(row, float(Fraction(level))) for row in mechanism.matrix]
    assert list(zip(low, high, strict=True)) == expected
    sets = [mechanism.credible_set(i, float(Fraction(level))).answers for i in outputs]
    assert [(s[0], s[-1]) for s in sets] == expected  # the table and `inbounds interpret` say the same


@pytest.mark.parametrize("remap", [None, np.array([0, 0, 2, 3, 3, 5, 5])])
def test_the_likelihood_of_a_noise_table_is_the_row_of_its_matrix(remap):
    query = ib.count(6)
    mechanism = Mechanism(query, Fraction(1), make_geometric_noise(query, Fraction(1), remap), Origin("test"))
    for output in range(7):
        row = mechanism.law.likelihood(query, output)
        assert np.allclose(row, mechanism.matrix[output], atol=1e-15)


def test_intervals_hold_the_truth_as_often_as_they_say(tmp_path):
    """Truth uniform, 20,000 groups: coverage below 0.87 has a chance below 1e-20 when it is at least 0.9."""
    rng = np.random.default_rng(3)
    keys = [str(k) for k in range(20_000)]
    truth = rng.integers(0, 11, len(keys))
    content = to_plan(plan({"count": "c = 'p'"}, keys=keys, size=10, interval="0.9"), FRAME)
    made = answering.ReleaseDesign.from_workload(answering.Workload.from_plan(content), tmp_path)
    columns = answering.build_table(
        made, drawing.draw_rows(made, aggregate.TrueAnswers((truth,)), draws=seeded_entropy(rng))
    ).columns
    found = {c.name: c.values for c in columns}
    assert ((found["s0_low"] <= truth) & (truth <= found["s0_high"])).mean() > 0.87


# --- consistency ------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 6), min_size=1, max_size=4), st.integers(1, 6))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_consistent_cells_are_the_nearest_whole_ones_with_the_total(cells, total):
    found = round_to_sum(np.array(cells)[:, None], np.array([total]))[:, 0]
    assert found.sum() == total
    assert found.min() >= 0
    allowed = [c for c in itertools.product(range(total + 1), repeat=len(cells)) if sum(c) == total]
    best = min(sum((a - b) ** 2 for a, b in zip(c, cells, strict=True)) for c in allowed)
    assert ((found - cells) ** 2).sum() == best


def test_a_consistent_histogram_sums_to_the_public_size_of_every_group(tmp_path):
    content = plan({"histogram": "c", "sum_to_size": True}, size=[2, 5, 9])
    for _ in range(10):
        table = release(content, FRAME, cache=tmp_path).table
        sums = sum(np.array(table[f"s0: {label}"]) for label in "pqr")
        assert sums.tolist() == [2, 5, 9]


def test_the_interval_of_a_consistent_cell_holds_the_published_cell(checks):
    """Narrow intervals around noisy cells: without widening, some of these published cells lie outside."""
    rows = [{"g": "A", "c": "p"}] * 3
    content = {
        "groups": {"by": ["g"], "keys": [f"k{k}" for k in range(200)], "size": 6},
        "columns": {"c": {"labels": ["p", "q", "r"], "other": "r"}},
        "statistics": [{"histogram": "c", "sum_to_size": True}],
        "privacy": {"epsilon": 1},
        "output": {"credible_level": 0.2},
    }
    columns = {column.name: column.values for column in checks.release(content, rows, seed=11)}
    for label in "pqr":
        low, cell, high = (columns[f"c: {label}{end}"] for end in ("_low", "", "_high"))
        assert ((low <= cell) & (cell <= high)).all()
        assert cell.dtype == low.dtype == high.dtype == np.int64


# --- what must not be said --------------------------------------------------------------------------------


def test_true_answers_show_in_no_repr_and_no_record(tmp_path):
    """Two tables with different truths have equal records, but for time, id and draws; truths print as nothing."""
    other = pa.table({"g": ["A"] * 4, "c": ["r"] * 4, "n": [0] * 4})
    content = plan({"count": "c = 'p'"}, {"median": "n"})
    records = [dict(release(content, frame, cache=tmp_path).record) for frame in (FRAME, other)]
    for record in records:
        del record["time"], record["id"], record["draws"]
    assert records[0] == records[1]
    assert repr(aggregate.TrueAnswers((np.array([4711]),))) == "TrueAnswers()"
    opened = aggregate.open_plan_source(to_plan(content, FRAME))
    assert "99" not in repr(opened)
