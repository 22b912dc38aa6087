"""Estimates with intervals: they cover as they say, hold their own value, and two-sample tests keep their level."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import inbounds as ib
from inbounds import local
from inbounds.cli import app
from inbounds.local import label_mechanisms
from inbounds.local.collector import Collector
from inbounds.local.estimates.bounded_interval import bounded_interval, two_sided
from inbounds.local.estimates.resampling import bootstrap_estimate, updates_used
from inbounds.local.estimates.unbiased import unbiased_weights
from inbounds.local.reconstruct.affine_estimator import affine
from inbounds.local.reconstruct.batches import update_batch
from inbounds.local.reconstruct.channel import DenseChannel
from inbounds.local.reconstruct.structure import channel_for_law
from raising import rejects

AGES = ib.catalog.truncated_geometric(ib.ordinal(0, 30), local.epsilon_for_ratio(2, radius=5))
DRINKS = ib.catalog.randomized_response(ib.category(["tea", "coffee", "water", "milk", "gin"]), 1)
SHARES = np.array([0.5, 0.3, 0.15, 0.04, 0.01])
BELL = np.exp(-(((np.arange(31) - 13) / 5) ** 2) / 2)


def simulated(mechanism, p, reports, rng) -> Collector:
    """A collection of so many reports, drawn as counts of the outputs."""
    likely = mechanism.matrix @ (p / p.sum())
    counts = rng.multinomial(reports, likely / likely.sum())
    return Collector(mechanism).add_counts(mechanism.query.output_values, counts)


# --- intervals near a bound -------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("share", [0.0, 0.0004, 0.003, 0.02, 0.5, 0.995, 1.0])
def test_an_interval_near_a_bound_covers_as_it_says_and_holds_its_reading(share, level):
    """5,000 normal readings, seeded: the standard error of the coverage is at most 0.0071."""
    x = share + 0.004 * np.random.default_rng(1).standard_normal(5_000)
    low, high = bounded_interval(x, lambda m: np.full_like(m, 0.004), level)
    inside = np.clip(x, 0, 1)
    assert (low <= inside).all()
    assert (inside <= high).all()
    assert ((low <= share) & (share <= high)).mean() == pytest.approx(level, abs=0.015)


@pytest.mark.parametrize("deviation", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("share", [0.0, 0.05, 0.5, 0.9])
def test_an_interval_covers_as_it_says_where_the_noise_is_wider_than_the_range(share, deviation):
    """5,000 normal readings, seeded: the standard error of the coverage is 0.0042."""
    x = share + deviation * np.random.default_rng(2).standard_normal(5_000)
    low, high = bounded_interval(x, lambda m: np.full_like(m, deviation), 0.9)
    assert ((low >= 0) & (low <= np.clip(x, 0, 1)) & (np.clip(x, 0, 1) <= high) & (high <= 1)).all()
    assert ((low <= share) & (share <= high)).mean() == pytest.approx(0.9, abs=0.012)


def test_far_from_its_bounds_an_interval_is_the_usual_one():
    low, high = bounded_interval(np.array([0.3, 0.6]), lambda m: np.full_like(m, 0.01), 0.9)
    assert np.allclose([low, high], [[0.3 - 0.01645, 0.6 - 0.01645], [0.3 + 0.01645, 0.6 + 0.01645]], atol=1e-5)
    assert two_sided(0.9) == pytest.approx(1.6449, abs=1e-4)


# --- readings ---------------------------------------------------------------------------------------------


SETS = [
    make(ib.category(7), 1)
    for make in (
        label_mechanisms.subset_selection,
        label_mechanisms.hadamard_response,
        label_mechanisms.projective_response,
    )
]


@pytest.mark.parametrize("mechanism", SETS, ids=lambda m: m.origin.name)
def test_readings_of_reports_that_name_sets_are_right_on_average_and_vary_as_stated(mechanism):
    channel = channel_for_law(mechanism)
    matrix = np.stack([channel.forward(unit) for unit in np.eye(7)], axis=1)
    for weights in np.random.default_rng(0).normal(size=(3, 7)):
        assert np.allclose(unbiased_weights(channel, weights) @ matrix, weights, atol=1e-8)
    p = np.arange(1, 8) / 28
    law = affine(channel, matrix @ p)
    assert law.shares == pytest.approx(p)
    for j in range(7):
        read = unbiased_weights(channel, np.eye(7)[j])
        variance = matrix @ p @ read**2 - p[j] ** 2
        assert law.deviations(p, 100.0)[j] == pytest.approx(math.sqrt(variance / 100))


@pytest.mark.parametrize("mechanism", SETS[1:], ids=lambda m: m.origin.name)
def test_shares_from_sets_cover_as_they_say_and_two_samples_are_told_apart(mechanism):
    rng, p, hits = np.random.default_rng(11), np.array([60, 20, 10, 5, 3, 1, 1]) / 100, []
    channel = channel_for_law(mechanism)
    for _ in range(60):
        counts = rng.multinomial(3000, channel.forward(p) / channel.forward(p).sum())
        collector = Collector(mechanism).add_counts(np.arange(len(counts)), counts)
        shares = local.Estimates(ib.reconstruct(collector, method="inverse"), mechanism.query).shares()
        hits += [each.lower <= true <= each.upper for each, true in zip(shares, p, strict=True)]
    assert 0.87 <= np.mean(hits) <= 0.93
    other = Collector(mechanism).add(mechanism.simulate(rng.choice(7, 3000, p=p[::-1]), rng))
    assert local.two_sample_test(collector, other, runs=99).differ(0.01)


@pytest.mark.parametrize(
    "mechanism", [AGES, DRINKS, ib.catalog.explicit_fair(ib.count(6), 1)], ids=lambda m: m.query.kind
)
def test_a_reading_is_right_on_average_under_every_answer(mechanism):
    channel = channel_for_law(mechanism)
    for weights in np.random.default_rng(0).normal(size=(3, channel.shape[1])):
        assert np.allclose(unbiased_weights(channel, weights) @ mechanism.matrix, weights, atol=1e-8)


def test_shares_of_labels_are_those_of_the_inverse_where_it_is_a_distribution():
    collector = Collector(DRINKS).add_counts(DRINKS.query.labels, [900, 700, 600, 500, 480])
    found = local.estimate(collector)
    inverse = ib.reconstruct(collector, method="inverse")
    assert [each.reading for each in found.shares()] == pytest.approx(inverse.raw.tolist())
    assert found.share("tea") == found.shares()[0]
    errors = [each.standard_error for each in found.shares()]
    assert errors == pytest.approx(inverse.standard_errors().tolist(), rel=1e-3)


def test_the_mean_of_geometric_reports_is_that_of_unbiased_readings():
    reports = AGES.simulate(np.full(500, 11), np.random.default_rng(2))
    found = local.estimate(Collector(AGES).add(reports)).mean()
    total = ib.unbiased_sum(reports, AGES)
    assert found.value == pytest.approx(total.estimate / 500)
    assert found.standard_error == pytest.approx(total.standard_error / 500, rel=0.1)


# --- coverage ---------------------------------------------------------------------------------------------


def test_intervals_of_shares_cover_as_they_say_for_rare_labels_too():
    """60 collections of 5 shares each, seeded; 0.87 to 0.93 is what the page promises."""
    rng, hits = np.random.default_rng(3), []
    for _ in range(60):
        shares = local.estimate(simulated(DRINKS, SHARES, 2000, rng)).shares()
        hits += [each.lower <= p <= each.upper for each, p in zip(shares, SHARES, strict=True)]
        assert all(each.lower <= each.value <= each.upper for each in shares)
    assert 0.87 <= np.mean(hits) <= 0.93


def test_the_interval_of_a_mean_covers_as_it_says():
    rng, truth = np.random.default_rng(4), BELL @ np.arange(31) / BELL.sum()
    found = [local.estimate(simulated(AGES, BELL, 2000, rng), method="inverse").mean() for _ in range(200)]
    assert 0.85 <= np.mean([each.lower <= truth <= each.upper for each in found]) <= 0.95  # ± 2.4 standard errors


@pytest.mark.long
@pytest.mark.parametrize("matrix", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_shares_of_heaped_numbers_are_covered_as_the_intervals_say(matrix):
    """200 collections of people on three numbers alone, the noise far wider than one: readings assume nothing."""
    heaps = np.zeros(31)
    heaps[[5, 14, 15]] = 0.5, 0.3, 0.2
    rng, hits = np.random.default_rng(8), []
    for _ in range(200):
        collector = simulated(AGES, heaps, 5000, rng)
        found = ib.reconstruct(collector, method="inverse")
        if matrix:
            problem = replace(found.problem, channel=DenseChannel(AGES.matrix))
            found = replace(found, problem=problem)
        estimates = local.Estimates(found, AGES.query)
        shares = estimates.shares()
        hits += [shares[k].lower <= heaps[k] <= shares[k].upper for k in (5, 14, 15)]
        below = estimates.share(at_most=14)
        hits.append(below.lower <= 0.8 <= below.upper)
        assert all(each.lower <= each.value <= each.upper for each in shares)
        assert estimates.share(5).standard_error == pytest.approx(shares[5].standard_error, rel=1e-9)
    assert 0.86 <= np.mean(hits) <= 0.94


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{}, {"method": "ibu"}, {"acceleration": "none", "iterations": 300}],
    ids=["held out", "maximum", "stopped"],
)
def test_resampled_intervals_of_shares_and_quantiles_cover_as_they_say(options):
    """60 collections; shares of one collection hang together, so the band is wide."""
    rng, p = np.random.default_rng(5), BELL / BELL.sum()
    hits: dict[str, list[bool]] = {"shares": [], "quantiles": [], "ranges": []}
    truths = {part: local.estimates.estimates._quantile(p, np.arange(31.0), part) for part in (0.25, 0.5, 0.75)}
    for _ in range(60):
        found = local.estimate(simulated(AGES, BELL, 5000, rng), runs=60, smooth=True, **options)
        hits["shares"] += [
            e.lower <= true <= e.upper for e, true in zip(found.shares(), p, strict=True) if true > 10 / 5000
        ]
        for part, true in truths.items():
            hits["quantiles"].append(found.quantile(part).lower <= true <= found.quantile(part).upper)
        for top in (8, 13, 20):
            share = found.share(at_most=top)
            hits["ranges"].append(share.lower <= p[: top + 1].sum() <= share.upper)
    assert {name: 0.84 <= np.mean(hit) <= 0.97 for name, hit in hits.items()} == dict.fromkeys(hits, True)


def test_a_stopped_estimate_lies_within_its_own_interval_and_is_resampled_with_the_same_stop():
    collector = simulated(AGES, BELL, 3000, np.random.default_rng(6))
    found = ib.reconstruct(collector, acceleration="none", iterations=40)
    again = found.again(collector.counts.astype(float))
    assert np.allclose(again, found.distribution)
    both = np.stack([collector.counts, collector.counts[::-1]]).astype(float)
    for channel in (channel_for_law(AGES), DenseChannel(AGES.matrix)):
        rows = update_batch(channel, both, np.full(31, 1 / 31), 40)
        assert np.allclose(rows, [found.distribution, found.again(both[1])], rtol=1e-9)
    assert not np.allclose(again, ib.reconstruct(collector).distribution, atol=1e-3)
    shares = local.estimate(found, runs=30, smooth=True).shares()
    assert all(each.lower <= each.value <= each.upper for each in shares)
    spread = found.bootstrap(np.random.default_rng(0), runs=40, level=0.95)
    assert (spread.standard_errors < 0.05).all()
    outside = (found.distribution < spread.lower) | (found.distribution > spread.upper)
    assert outside.mean() < 0.05


def test_intervals_go_on_where_held_out_reports_stopped_the_updates_but_not_where_the_user_did():
    collector = simulated(AGES, BELL, 3000, np.random.default_rng(6))
    chosen, own = ib.reconstruct(collector), ib.reconstruct(collector, acceleration="none", iterations=40)
    assert chosen.choice.startswith("stopped after")
    assert updates_used(chosen) == 8 * chosen.iterations
    assert updates_used(own) == 40
    assert updates_used(ib.reconstruct(collector, method="ibu")) is None
    behind = bootstrap_estimate(chosen, 5, 0).distribution
    longer = ib.reconstruct(collector, acceleration="none", iterations=8 * chosen.iterations)
    assert np.allclose(behind, longer.distribution)
    assert [each.value for each in local.estimate(chosen, runs=5, smooth=True).shares()] == pytest.approx(
        behind.tolist()
    )


# --- asking -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def week():
    return local.estimate(simulated(AGES, BELL, 4000, np.random.default_rng(7)), runs=20)


def test_shares_of_ranges_add_up_and_quantiles_rise(week):
    below, above = week.share(at_most=12), week.share(at_least=13)
    assert below.value + above.value == pytest.approx(1)
    assert week.share([0, 1, 2]).value == pytest.approx(week.share(at_most=2).value)
    quantiles = [week.quantile(part).value for part in (0.1, 0.5, 0.9)]
    assert quantiles == sorted(quantiles)
    assert week.quantile(0.5).name == "median"
    assert week.at(0.5).mean().upper < week.mean().upper


def test_estimates_are_the_same_every_time(week):
    again = local.estimate(week.reconstruction, runs=20)
    assert [each.to_json() for each in again.summary()] == [each.to_json() for each in week.summary()]
    other = local.estimate(week.reconstruction, runs=20, seed=1)
    assert other.quantile(0.5).standard_error != week.quantile(0.5).standard_error


def test_what_cannot_be_asked_is_said(week, golden):
    golden.errors(
        "wrong_estimates",
        [
            lambda: week.share(),
            lambda: week.share(3, at_most=4),
            lambda: week.share(99),
            lambda: week.quantile(1),
            lambda: week.at(1.5),
            lambda: local.estimate([1, 2]),
            lambda: local.estimate(week.reconstruction, method="inverse"),
            lambda: local.estimate(ib.reconstruct([3, 4], np.eye(2))),
            lambda: week.mean() - week.at(0.5).mean(),
        ],
    )


def test_labels_have_no_mean():
    found = local.estimate(Collector(DRINKS).add(["tea"] * 30 + ["gin"] * 20))
    for ask in (found.mean, lambda: found.quantile(0.5), lambda: found.share(at_least=2)):
        with rejects(ValueError, "labels"):
            ask()
    assert found.share(["tea", "gin"]).name == "share of tea, gin"


# --- strata, tables, pictures -----------------------------------------------------------------------------


def test_strata_are_asked_together_and_shown_as_a_table_and_a_picture():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(8)
    people = pandas.DataFrame({"age": rng.binomial(30, 0.4, 900), "city": ["A", "B", "C"] * 300})
    reported = people.assign(age=AGES.simulate(people["age"].to_numpy(), rng))
    found = local.estimate(local.collect(reported, "age", AGES, by="city"), runs=10)
    table = found.to_pandas()
    assert list(table["city"].unique()) == ["A", "B", "C"]
    assert list(table["quantity"][:4]) == ["mean", "0.25 quantile", "median", "0.75 quantile"]
    means = found.to_pandas(lambda each: each.mean())
    assert means["reports"].tolist() == [300, 300, 300]
    assert "A: 300 reports" in str(found)
    one = found["B"].to_pandas()
    assert list(one.columns) == ["answer", "probability", "share", "lower", "upper", "standard_error"]
    assert one["probability"].sum() == pytest.approx(1)
    pytest.importorskip("matplotlib")
    assert len(found.plot().axes[0].lines) == 3
    drinks = local.estimate(Collector(DRINKS).add(["tea"] * 30 + ["gin"] * 20))
    assert [text.get_text() for text in drinks.plot().axes[0].get_xticklabels()][:1] == ["tea"]
    with rejects(KeyError, about="stratum"):
        found["D"]


# --- two samples ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mechanism", "p"), [(AGES, BELL), (DRINKS, SHARES)], ids=["numbers", "labels"])
def test_the_two_sample_test_keeps_its_level_and_finds_a_difference(mechanism, p):
    """200 tests of equal people at level 0.1: more than 37 rejections have probability below 1e-3, and it is seeded."""
    rng = np.random.default_rng(9)
    wrong = 0
    for k in range(200):
        one, other = (simulated(mechanism, p, size, rng) for size in (400, 250))
        wrong += local.two_sample_test(one, other, runs=59, seed=k).differ(0.1)
    assert 5 <= wrong <= 36
    shifted = simulated(mechanism, np.roll(p, 2), 4000, rng)
    assert local.two_sample_test(simulated(mechanism, p, 4000, rng), shifted).differ(0.01)


def test_a_difference_of_means_keeps_its_level_and_has_an_interval():
    rng = np.random.default_rng(10)
    one_mean = lambda: local.estimate(simulated(AGES, BELL, 500, rng), method="inverse").mean()  # noqa: E731
    pairs = [[one_mean() for _ in range(2)] for _ in range(200)]
    differences = [one - other for one, other in pairs]
    assert 0.85 <= np.mean([each.lower <= 0 <= each.upper for each in differences]) <= 0.95
    assert [each.p_value < 0.1 for each in differences] == [not each.lower <= 0 <= each.upper for each in differences]
    assert differences[0].name == "difference of mean"


def test_a_two_sample_test_refuses_what_it_cannot_compare():
    one = Collector(AGES).add([1, 2])
    for other, about in (
        (Collector(DRINKS).add("tea"), "mechanism"),
        (one, "different"),
        (Collector(AGES), "fewer"),
    ):
        with rejects(ValueError, "collectors", about=about):
            local.two_sample_test(one, other)
    with rejects(TypeError, about="Collectors"):
        local.two_sample_test(one, [1, 2])


# --- means beside others ----------------------------------------------------------------------------------


def test_the_deviations_of_peers_are_those_of_their_laws():
    """Duchi's two reports and the piecewise density, summed and integrated from their definitions."""
    found = local.mean_deviations(ib.catalog.truncated_geometric(ib.ordinal(-10, 10), "0.1"))
    epsilon, h = found.ldp, 10.0
    c = (math.exp(epsilon) + 1) / (math.exp(epsilon) - 1)
    for x, duchi, piecewise in zip(found.values / h, found.duchi, found.piecewise, strict=True):
        up = (x * (math.exp(epsilon) - 1) + math.exp(epsilon) + 1) / (2 * (math.exp(epsilon) + 1))
        assert up * c - (1 - up) * c == pytest.approx(x)
        assert duchi == pytest.approx(h * math.sqrt(c**2 - x**2))
        s = math.exp(epsilon / 2)
        top = (s + 1) / (s - 1)
        left = (top + 1) / 2 * x - (top - 1) / 2
        high = (math.exp(epsilon) - s) / (2 * s + 2)
        t = np.linspace(-top, top, 400_001)
        density = np.where((t >= left) & (t <= left + top - 1), high, high / math.exp(epsilon))
        width = t[1] - t[0]
        assert (density * width).sum() == pytest.approx(1, abs=1e-3)
        assert piecewise == pytest.approx(h * math.sqrt((density * (t - x) ** 2 * width).sum()), rel=2e-3)
    assert set(found.worst) == {"ours", "duchi", "piecewise"}
    assert found.rows()[0]["value"] == -10


# --- the command line -------------------------------------------------------------------------------------


def test_estimates_and_tests_of_strata_from_a_file(tmp_path):
    rng = np.random.default_rng(12)
    weeks = {"46": BELL, "47": np.roll(BELL, 6)}
    lines = [f"{r},{w}" for w, p in weeks.items() for r in AGES.simulate(rng.choice(31, 800, p=p / p.sum()), rng)]
    (tmp_path / "r.csv").write_text("\n".join(["age,week", *lines]))
    AGES.save(tmp_path / "m.json")
    words = [str(tmp_path / "r.csv"), "--column", "age", "-m", str(tmp_path / "m.json")]

    def run(command, *more, code=0):
        result = CliRunner().invoke(app, ["local", command, *words, *more], env={"COLUMNS": "120"})
        assert result.exit_code == code, result.output
        return result.output if code == 0 else str(result.exception)

    rows = json.loads(run("estimate", "--by", "week", "--json"))
    assert [(row["stratum"], row["quantity"]) for row in rows][::4] == [("46", "mean"), ("47", "mean")]
    assert all(row["lower"] <= row["estimate"] <= row["upper"] for row in rows)
    assert "1600 reports" in run("estimate")
    assert json.loads(run("test", "--by", "week", "--between", "46,47", "--json"))["p_value"] == 0.001
    assert "46 and 47: the two differ: p = 0.001" in run("test", "--by", "week", "--between", "46, 47")
    assert "--between must name two strata" in run("test", "--by", "week", "--between", "46", code=1)
    assert "stratum must be one of '46', '47', got '48'" in run("test", "--by", "week", "--between", "46,48", code=1)
