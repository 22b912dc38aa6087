"""Group sizes that are not public: the prior of the size, and what expected errors and intervals make of it."""

import itertools
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import inbounds as ib
from inbounds.ledger.ledger import Ledger
from inbounds.mechanism.bayes import find_shortest_run
from inbounds.mechanism.expected_channel import _large_channel
from inbounds.plan.draft import draft_plan
from inbounds.plan.load import parse_plan
from inbounds.plan.oneline import one_line
from inbounds.releases.accuracy import StatisticModel, credible_intervals, describe_low_coverage, sizes_given_counts
from inbounds.releases.charge_session import ReusedTableWarning
from inbounds.releases.pipeline import preview_release, release
from inbounds.releases.workload import ReleaseDesign, Workload
from inbounds.schema.columns import number_column
from inbounds.schema.errors import PlanError
from inbounds.sources.open import Source
from inbounds.statistics import Median, StatisticContext
from inbounds.statistics._mean_pair import mean_from_sums, mean_interval, pair_query
from inbounds.statistics.designs import DesignOptions, DesignRequest, design_request
from inbounds.statistics.sizes import certain_sizes, common_nodes, size_nodes, size_prior, spread_on_nodes
from raising import raises_at

NUMBERS = ({"median": "x"}, {"mean": "x"}, {"sum": "x"}, {"max": "x"})
EVERYONE = {"count": "true"}


def plan(*statistics, most=30, high=10, epsilon="1", **groups):
    """A plan in which every statistic has the epsilon given."""
    return parse_plan(
        {
            "source": {"path": "x.csv"},
            "groups": {"by": ["g"], "keys": ["a", "b"], "max_size": most, **groups},
            "columns": {"x": {"low": 0, "high": high}},
            "privacy": {"epsilon": str(Fraction(epsilon) * len(statistics))},
            "statistics": [{**statistic, "epsilon": epsilon} for statistic in statistics],
            "output": {"credible_level": 0.9},
        }
    )


def designed(folder, *statistics, **facts):
    return ReleaseDesign.from_workload(Workload.from_plan(plan(*statistics, **facts)), folder)


def coverage_at(model, sizes):
    """What a record states of groups of these sizes."""
    return {size: model.coverage(size, Fraction(9, 10), model.beliefs) for size in sizes}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("designs")


# --- the prior --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [1, 2, 7, 40, 400])
def test_without_a_declaration_every_size_up_to_the_maximum_is_equally_likely(most):
    prior = size_prior((), most)
    assert prior.sizes.tolist() == list(range(most + 1))
    assert np.allclose(prior.weights, 1 / (most + 1))


def test_a_range_is_uniform_and_ends_at_the_maximum_of_a_smaller_group():
    assert size_prior((10, 30), 40).sizes.tolist() == list(range(10, 31))
    assert size_prior((10, 30), 20).sizes.tolist() == list(range(10, 21))
    assert np.ptp(size_prior((10, 30), 40).weights) == 0


@pytest.mark.parametrize(("typical", "most"), [(20, 5000), (100, 5000), (235, 10**5)])
def test_about_nine_groups_of_ten_are_within_a_factor_of_two_of_a_typical_size(typical, most):
    prior = size_prior((typical,), most)
    near = (prior.sizes >= typical / 2) & (prior.sizes <= 2 * typical)
    assert prior.weights[0][near].sum() == pytest.approx(0.91, abs=0.015)
    assert (prior.weights > 0).all()
    assert prior.sizes[prior.weights[0][:500].argmax()] == typical


@pytest.mark.parametrize(("typical", "most"), [((), 10**6), ((3000,), 10**6), ((1000, 90_000), 10**5)])
def test_many_sizes_are_represented_by_few_within_a_hundredth(typical, most):
    """The mean size and the mean of 1/size, against sums over every size."""
    prior, sizes = size_prior(typical, most), np.arange(most + 1)
    weights = np.ones(most + 1)
    if len(typical) == 1:
        ratio = (sizes + 1) / (typical[0] + 1)
        weights = np.minimum(ratio, 1 / ratio) ** 4
    elif typical:
        weights = ((sizes >= typical[0]) & (sizes <= typical[1])).astype(float)
    weights /= weights.sum()
    assert len(prior.sizes) < 4000
    assert prior.weights[0] @ prior.sizes == pytest.approx(weights @ sizes, rel=0.01)
    assert prior.weights[0] @ (1 / (prior.sizes + 1)) == pytest.approx(weights @ (1 / (sizes + 1)), rel=0.01)


@pytest.mark.parametrize(("least", "last"), [(0, 3), (0, 400), (1, 1000), (100, 300), (7, 7)])
def test_between_nodes_whatever_falls_as_one_over_the_size_is_exact(least, last):
    nodes, sizes = size_nodes(least, last), np.arange(max(least, 1), last + 1)
    table = spread_on_nodes(sizes, nodes)
    assert np.allclose(table.sum(axis=1), 1)
    assert np.allclose(table @ (3 + 5 / np.maximum(nodes, 0.5)), 3 + 5 / sizes)
    if least == 0:
        assert spread_on_nodes(np.array([0]), nodes).tolist() == [[1.0] + [0.0] * (len(nodes) - 1)]


# --- what a plan says -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typical", "kept"), [(20, (20,)), ([5, 20], (5, 20)), ([20], (20,)), (np.array([5, 9]), (5, 9))]
)
def test_a_plan_declares_a_typical_size_or_a_range(typical, kept):
    assert plan(EVERYONE, typical=typical).groups.typical == kept
    assert plan(EVERYONE, typical=typical).summary()["typical"] == list(kept)


@pytest.mark.parametrize("typical", [0, 31, [20, 10], [5, 31], [1, 2, 3], [], "twenty", 2.5, [5, None], -1])
def test_another_declaration_is_refused_where_it_stands(typical):
    with pytest.raises(PlanError) as found:
        plan(EVERYONE, typical=typical)
    assert found.value.path == ("groups", "typical")


def test_public_sizes_need_no_typical_one():
    with pytest.raises(PlanError) as found:
        plan(EVERYONE, most=None, size=30, typical=20)
    assert found.value.path == ("groups", "typical")


def test_a_range_must_fit_every_maximum():
    assert plan(EVERYONE, most=[10, 30], typical=[5, 30]).groups.typical == (5, 30)
    with raises_at(PlanError, ("groups", "typical"), about="smallest max_size"):
        plan(EVERYONE, most=[10, 30], typical=[11, 30])


def test_the_command_line_has_the_same_declaration():
    facts = {"epsilon": "1", "max_size": "30", "typical": "5,20"}
    assert one_line("x.csv", {"count": ["true"]}, facts, {}).groups.typical == (5, 20)
    assert one_line("x.csv", {"count": ["true"]}, {**facts, "typical": "12"}, {}).groups.typical == (12,)


def test_a_drafted_plan_never_proposes_a_typical_size(tmp_path):
    (tmp_path / "d.csv").write_text("school,score\nA,1\nA,2\nB,3\n")
    text = draft_plan(Source(path=str(tmp_path / "d.csv")), tmp_path / "p.toml")
    assert not [line for line in text.splitlines() if "typical" in line.partition("#")[0]]


# --- what a declaration changes ---------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("typical", [20, [5, 20], [30, 30]])
def test_a_declaration_changes_no_mechanism_no_charge_and_no_identity(typical, folder):
    plain, told = (designed(folder, *NUMBERS, EVERYONE, **facts) for facts in ({}, {"typical": typical}))
    assert told.designs == plain.designs
    assert [entry.drawn_at for entry in told.workload.entries] == [entry.drawn_at for entry in plain.workload.entries]
    assert told.workload.plan.total_epsilon == plain.workload.plan.total_epsilon
    assert told.workload.plan.identity == plain.workload.plan.identity
    assert told.full == plain.full
    assert told.expected[0] != plain.expected[0]


SLOW_EPSILONS = [pytest.param(epsilon, marks=pytest.mark.slow) for epsilon in ("0.001", "0.01", "0.03")]


@pytest.mark.long
@pytest.mark.parametrize("epsilon", ["0.0001", "0.003", "0.1", *SLOW_EPSILONS])
@pytest.mark.parametrize("statistic", NUMBERS, ids=lambda one: next(iter(one)))
def test_whether_a_release_is_refused_does_not_depend_on_it(statistic, epsilon, folder, monkeypatch):
    monkeypatch.setattr("inbounds.releases.usefulness._helps", lambda *given: ())  # what would help takes many designs
    facts = [{}, {"typical": 1}, {"typical": 30}, {"typical": [0, 3]}, {"typical": [30, 30]}]
    refused = {_is_refused(plan(statistic, epsilon=epsilon, **own), folder) for own in facts}
    assert len(refused) == 1


def _is_refused(declared, folder):
    from inbounds.releases.usefulness import CheckedDesign

    try:
        made = ReleaseDesign.from_workload(Workload.from_plan(declared), folder)
        CheckedDesign.from_design(made, folder, allow_useless=False)
    except PlanError:
        return True
    return False


def test_a_table_that_was_released_is_given_out_again_under_another_declaration(tmp_path, checks):
    rows = checks.frame([{"g": "a", "x": 3.0}] * 9 + [{"g": "b", "x": 8.0}] * 12)
    content = {
        "groups": {"by": ["g"], "keys": ["a", "b"], "max_size": 30},
        "columns": {"x": {"low": 0, "high": 10}},
        "statistics": [{"mean": "x"}],
        "privacy": {"epsilon": 1},
        "edition": "1",
    }
    ledger = Ledger.open(tmp_path / "l.ledger", create=True)
    ledger.add_population("the given table", epsilon=1)
    told = {**content, "groups": {**content["groups"], "typical": 10}}
    first = release(content, rows, ledger=ledger, cache=tmp_path / "designs")
    with pytest.warns(ReusedTableWarning):
        again = release(told, rows, ledger=ledger, cache=tmp_path / "designs")
    assert again.table.equals(first.table)


# --- certain sizes, and tiny cases by enumeration ---------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("statistic", NUMBERS, ids=lambda one: next(iter(one)))
def test_groups_that_are_certain_to_be_full_have_the_errors_and_intervals_of_full_groups(statistic, folder):
    made = designed(folder, statistic, typical=[30, 30])
    assert made.expected == made.full
    model = made.model(0, 0)
    if model.derived is None:
        outputs = np.arange(len(model.query.outputs))
        got = model.intervals([outputs], Fraction(9, 10), model.beliefs)
        assert np.array_equal(got, credible_intervals(model.mechanism.channel(), outputs, Fraction(9, 10)))


def _histograms(values, size):
    """All histograms of so many records."""
    return [np.bincount(one, minlength=values) for one in itertools.combinations_with_replacement(range(values), size)]


def _quantile_joint(mechanism, weights):
    """Pr[answer, report] by enumeration: sizes, answers alike, and given both all histograms alike."""
    query = mechanism.query
    joint = np.zeros((query.width + 1, query.width + 1))
    for size, weight in enumerate(weights):
        groups = np.array(_histograms(query.width + 1, size))
        truths, reports = query.true_positions(groups), mechanism.law.probabilities(query, groups)
        if size == 0:
            joint[:, query.missing] += weight * reports[0]
            continue
        for t in range(query.width + 1):
            joint[:, t] += weight / (query.width + 1) * reports[truths == t].mean(axis=0)
    return joint


@pytest.mark.parametrize("kind", ["min", "median", "max"])
@pytest.mark.parametrize("typical", [None, 2, [1, 2]])
def test_a_quantile_of_few_records_errs_as_enumeration_says(kind, typical, folder):
    facts = {} if typical is None else {"typical": typical}
    made = designed(folder, {kind: "x"}, most=3, high=3, **facts)
    model, weights = made.model(0, 0), np.zeros(4)
    weights[model.beliefs.sizes] = model.beliefs.weights[0]
    joint = _quantile_joint(model.mechanism, weights)
    losses = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    assert made.expected[0][0].error == pytest.approx((joint * losses).sum(), rel=1e-5)
    assert made.expected[0][0].constant == pytest.approx((losses @ joint.sum(axis=0)).min(), rel=1e-5)
    low, high = model.intervals([np.arange(4)], Fraction(9, 10), model.beliefs)
    runs = [find_shortest_run(mass / mass.sum(), 0.9) for mass in joint]
    assert [(int(a), int(b) + 1) for a, b in zip(low, high, strict=True)] == runs


@pytest.mark.parametrize(("low", "high"), [(0, 3), (2, 5), (-2, 2)])
def test_a_sum_has_the_prior_of_enumeration(low, high, folder):
    made = parse_plan(
        {
            "source": {"path": "x.csv"},
            "groups": {"max_size": 5, "typical": [1, 4]},
            "columns": {"x": {"low": low, "high": high}},
            "privacy": {"epsilon": 1},
            "statistics": [{"sum": "x"}],
            "output": {"credible_level": 0.9},
        }
    )
    model = ReleaseDesign.from_workload(Workload.from_plan(made), folder).model(0, 0)
    first = min(0, 5 * low)
    prior = np.zeros(max(0, 5 * high) - first + 1)
    for size in range(1, 5):
        sums = np.arange(size * low, size * high + 1)
        prior[sums - first] += 1 / 4 / len(sums)
    assert np.allclose(model.answer_prior(model.beliefs), prior)
    losses = model.mechanism.loss_per_answer("absolute")
    assert model.expected_error().error == pytest.approx(float(losses @ prior), rel=1e-5)


def _pair_posterior(column, mechanism, above, below, sizes, weights):
    """All means and their probabilities given both draws: sizes as they are weighted, and given the size U flat."""
    likely = [mechanism.law.likelihood(mechanism.query, output) for output in (above, below)]
    means, masses = [], []
    for size, weight in zip(sizes, weights, strict=True):
        both = int(size) * column.width
        u = np.arange(both + 1)
        means.append(mean_from_sums(column, u, both - u))
        masses.append(weight / (both + 1) * likely[0][u] * likely[1][both - u])
    means, masses = map(np.concatenate, (means, masses))
    return means, masses / masses.sum()


@pytest.mark.parametrize("typical", [(), (8,), (4, 12)])
@pytest.mark.parametrize("epsilon", ["0.3", "1", "3"])
def test_intervals_of_means_leave_the_tails_of_enumeration_outside(typical, epsilon):
    """Each end is a quantile of the exact posterior, of a twentieth within 0.025."""
    column, prior, judged = number_column(0, 30), size_prior(typical, 16), 0
    mechanism = design_request(pair_query(column, 16), Fraction(epsilon), DesignOptions())
    for above, below in itertools.product((15, 60, 130, 210, 300), repeat=2):
        if above + below > 16 * 30:
            continue  # only by noise beyond the largest group
        means, masses = _pair_posterior(column, mechanism, above, below, prior.sizes, prior.weights[0])
        drawn = [np.array([above]), np.array([below])]
        (low,), (high,) = mean_interval(column, mechanism, drawn, Fraction(9, 10), None, prior)
        (published,) = mean_from_sums(column, *drawn)
        if published in (low, high):
            continue  # moved to hold the published mean
        judged += 1
        near = 1e-9
        assert masses[means < low - near].sum() <= 0.075
        assert masses[means <= low + near].sum() >= 0.025
        assert masses[means > high + near].sum() <= 0.075
        assert masses[means >= high - near].sum() >= 0.025
    assert judged > 9


# --- a count that is released -----------------------------------------------------------------------------


def test_a_released_count_conditions_the_prior_by_its_law(folder):
    made = designed(folder, {"median": "x"}, EVERYONE, typical=12)
    counter, prior = made.designs[1][0].mechanism, size_prior((12,), 30)
    given = sizes_given_counts(prior, counter, np.array([4, 20, 4]))
    for group, count in enumerate([4, 20, 4]):
        exact = prior.weights[0] * counter.matrix[count]
        assert np.allclose(given.weights[given.place[group]], exact / exact.sum())


def test_intervals_of_a_release_with_counts_follow_the_counts(checks):
    """Groups of 4 and of 40 of at most 40 records: the small ones have wider intervals and larger errors."""
    rows = [{"g": "a", "x": float(k % 11)} for k in range(4)] + [{"g": "b", "x": float(k % 11)} for k in range(40)]
    content = {
        "groups": {"by": ["g"], "keys": ["a", "b"], "max_size": 40},
        "columns": {"x": {"low": 0, "high": 10}},
        "statistics": [{"median": "x"}, EVERYONE],
        "privacy": {"epsilon": 1},
        "output": {"credible_level": 0.9},
    }
    found = {column.name: column.values for column in checks.release(content, rows, seed=3)}
    assert found["x_median_error"][0] > 2 * found["x_median_error"][1]
    widths = found["x_median_high"] - found["x_median_low"]
    assert widths[0] > widths[1]


# --- coverage ---------------------------------------------------------------------------------------------


def _simulated_median_coverage(model, size, groups, rng):
    """How often the interval holds the median: all histograms alike, weighted so that all medians are alike."""
    query = model.mechanism.query
    shares = rng.standard_exponential((groups, query.width + 1))
    histograms = rng.multinomial(size, shares / shares.sum(axis=1, keepdims=True))
    truths = query.true_positions(histograms)
    weights = 1 / np.bincount(truths, minlength=query.width + 1)[truths]
    outputs = np.arange(query.width + 1)
    low, high = model.intervals([outputs], Fraction(9, 10), model.beliefs)
    inside = (low[:, None] <= outputs) & (outputs <= high[:, None])
    covered = (model.mechanism.probabilities(histograms) * inside[:, truths].T).sum(axis=1)
    return float(weights @ covered / weights.sum())


@pytest.mark.parametrize("typical", [None, 25, [30, 30]])
def test_the_stated_coverage_of_medians_is_what_simulation_finds(typical, folder):
    """With fixed seeds; the standard error of 20,000 groups is below 0.003."""
    made = designed(folder, {"median": "x"}, epsilon="0.5", **({} if typical is None else {"typical": typical}))
    model, stated = made.model(0, 0), dict(made.with_coverage().coverage[0][0])
    assert list(stated) == [3, 6, 9, 12, 15, 18, 21, 24, 27, 30]
    for size in (3, 9, 21, 30):
        found = _simulated_median_coverage(model, size, 20_000, np.random.default_rng(size))
        assert stated[size] == pytest.approx(found, abs=0.03)


@pytest.mark.long
@pytest.mark.parametrize("typical", [None, 20, [28, 30]])
def test_the_stated_coverage_of_means_is_what_simulation_finds(typical, folder):
    """2,000 groups of each size, with fixed seeds: the standard error is below 0.012."""
    made = designed(folder, {"mean": "x"}, epsilon="0.5", **({} if typical is None else {"typical": typical}))
    model, rng = made.model(0, 0), np.random.default_rng(11)
    stated = coverage_at(model, (3, 12, 30))
    table = model.mechanism.law.noise_table
    noise, mass = np.arange(-table.half_width, table.half_width + 1), table.core / np.sum(table.core, dtype=float)
    for size in (3, 12, 30):
        above = rng.integers(0, size * 10 + 1, 2000)
        parts = (above, size * 10 - above)
        drawn = [np.clip(part + rng.choice(noise, 2000, p=mass), 0, 300) for part in parts]
        low, high = model.intervals(drawn, Fraction(9, 10), model.beliefs)
        truth = above / size
        assert stated[size] == pytest.approx(((low <= truth) & (truth <= high)).mean(), abs=0.035)


@pytest.mark.long
@pytest.mark.parametrize("high", [10, 100])
def test_the_stated_coverage_of_sums_is_what_simulation_finds(high, folder):
    """By a matrix for few answers and by spread draws for many; 1,500 sums of each size, with fixed seeds."""
    made = designed(folder, {"sum": "x"}, epsilon="0.5", high=high)
    model, rng = made.model(0, 0), np.random.default_rng(12)
    stated = coverage_at(model, (3, 30))
    for size in (3, 30):
        totals = rng.integers(0, size * high + 1, 1500)
        outputs = model.mechanism.draw(totals, _seeded(rng))
        low, upper = model.intervals([outputs], Fraction(9, 10), model.beliefs)
        assert stated[size] == pytest.approx(((low <= totals) & (totals <= upper)).mean(), abs=0.03)


def _seeded(rng):
    from inbounds.trusted.samplers import seeded_entropy

    return seeded_entropy(rng)


@pytest.mark.parametrize(("condition", "counts_all"), [("not false", True), ("x >= 0", False), ("x <= 1e99", False)])
def test_a_count_of_all_records_tells_sizes_however_it_is_spelled(condition, counts_all):
    assert (plan({"count": condition}).total_count_place == 0) is counts_all


def test_with_a_count_medians_are_covered_at_every_size(folder):
    alone, counted = (designed(folder, {"median": "x"}, *more, most=100) for more in ((), (EVERYONE,)))
    least = [min(covered for _, covered in made.with_coverage().coverage[0][0]) for made in (alone, counted)]
    assert least[0] < 0.85 < least[1]


def test_sizes_with_low_coverage_are_named_before_anything_is_released(tmp_path, checks):
    frame = checks.frame([{"g": "a", "x": 1.0}])
    content = {
        "groups": {"by": ["g"], "keys": ["a"], "max_size": 100, "typical": [90, 100]},
        "columns": {"x": {"low": 0, "high": 20}},
        "statistics": [{"median": "x"}],
        "privacy": {"epsilon": 1},
        "output": {"credible_level": 0.9},
    }
    said = preview_release(content, frame, cache=tmp_path).record["values"]
    (flag,) = [line for line in said if "intervals cover" in line]
    assert flag.startswith("x_median: in groups of up to ")
    assert any("the gap" in line for line in said)
    content["output"] = {}
    assert not [line for line in preview_release(content, frame, cache=tmp_path).record["values"] if "cover" in line]


def test_only_sizes_below_the_bar_are_named():
    assert describe_low_coverage({100: ((50, 0.85), (100, 0.93))}, Fraction(9, 10)) == ""
    found = describe_low_coverage({400: ((40, 0.71), (80, 0.87), (120, 0.9))}, Fraction(9, 10))
    assert found == "in groups of up to 40 of at most 400 records, 90 % intervals cover about 71 %"
    middle = describe_low_coverage({9: ((1, 0.9), (2, 0.7), (3, 0.8), (4, 0.9))}, Fraction(9, 10))
    assert middle == "in groups of 2, 3 of at most 9 records, 90 % intervals cover about 70 to 80 %"


# --- records ----------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_record_with_a_typical_size_verifies_and_another_one_does_not(tmp_path, checks):
    frame = checks.frame([{"g": "a", "x": 3.0}] * 9 + [{"g": "b", "x": 8.0}] * 12)
    content = {
        "groups": {"by": ["g"], "keys": ["a", "b"], "max_size": 30, "typical": [5, 20]},
        "columns": {"x": {"low": 0, "high": 10}},
        "statistics": [{"mean": "x"}, {"median": "x"}, {"sum": "x"}, EVERYONE],
        "privacy": {"epsilon": 4},
        "output": {"credible_level": 0.9},
    }
    release(content, frame, cache=tmp_path / "designs", output=tmp_path / "t.csv", allow_useless=True)
    (record,) = tmp_path.glob("t*.json")
    found = ib.verify(record)
    assert found.is_valid, found.reason
    values = json.loads(Path(record).read_text())
    assert values["content"]["plan"]["typical"] == [5, 20]


@pytest.mark.parametrize(("least", "last"), [(0, 500), (50, 450), (1, 1), (7, 64), (65, 65)])
def test_common_nodes_are_powers_of_two_around_all_sizes(least, last):
    nodes, sizes = common_nodes(least, last), np.arange(least, last + 1)
    assert set(nodes.tolist()) <= {0, *(1 << k for k in range(11))}
    assert nodes[0] <= least <= last <= nodes[-1]
    table = spread_on_nodes(np.maximum(sizes, 1), nodes)
    np.testing.assert_allclose(table @ (1 / np.maximum(nodes, 0.5)), 1 / np.maximum(sizes, 1))


def test_quantiles_of_wide_columns_share_what_is_expected_among_all_maxima():
    """Two maxima, one law: the records of a group do not know the maximum."""
    column = {"x": number_column(0, 200, step=1, missing=100)}
    models = []
    for most in (300, 400):
        statistic, context = Median(column="x"), StatisticContext(column, public=False)
        query = statistic.query(context, most)
        mechanism = design_request(query, Fraction(1), DesignOptions())
        request = DesignRequest(query, Fraction(1), DesignOptions())
        models.append(StatisticModel(statistic, context, request, mechanism, most, certain_sizes([250])))
    assert models[0].mechanism.law == models[1].mechanism.law
    first = models[0].expected_error()
    made = _large_channel.cache_info().misses
    assert models[1].expected_error() == first
    assert _large_channel.cache_info().misses == made
