"""k answers to the same question: posteriors, estimates, expected losses, and where they lead."""

import json
import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import inbounds as ib
from inbounds.attack import (
    approximate_loss,
    approximation_for,
    estimate,
    loss_limit,
    posterior,
    repeated,
    simulate_collusion,
)
from inbounds.attack.collusion import ESTIMATORS, posteriors
from raising import rejects

COUNT = ib.catalog.truncated_geometric(ib.count(4), 1)
LABELS = ib.catalog.randomized_response(ib.category(["a", "b", "c"]), 1)
TEN = ib.interval(-10, 10, 10, 40)
PAPERS_CELLS = ([-10, -5, 5, 10], [-10, 0, 10])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=12), st.lists(st.integers(0, 9), min_size=5, max_size=5))
def test_the_posterior_is_the_product_of_likelihoods(reports, prior):
    if sum(prior) == 0:
        prior = None
    weights = np.ones(5) if prior is None else np.array(prior, dtype=float)
    by_hand = np.array([w * math.prod(COUNT.matrix[i, j] for i in reports) for j, w in enumerate(weights)])
    assert np.allclose(posterior(COUNT, reports, prior), by_hand / by_hand.sum(), rtol=1e-9)


def test_one_report_is_read_as_the_mechanism_itself_reads_it():
    prior = [1, 2, 3, 2, 1]
    for output in range(5):
        assert np.allclose(posterior(COUNT, [output], prior), COUNT.posterior(output, prior))
        assert estimate(COUNT, [output], "guess", prior=prior) == COUNT.best_guess(output, "absolute", prior)
        assert estimate(COUNT, [output], "median") == output
    (one,) = simulate_collusion(COUNT, 1, "absolute", prior)
    assert one.loss["guess"] == pytest.approx(COUNT.bayes_loss("absolute", prior), rel=1e-12)
    assert one.loss["median"] == pytest.approx(COUNT.loss("absolute", prior), rel=1e-12)


def test_estimates_are_what_their_names_say():
    reports = [1, 2, 2, 4]
    assert estimate(COUNT, reports, "median") == 2
    assert estimate(COUNT, reports, "likelihood") == np.argmax(posterior(COUNT, reports))
    assert estimate(COUNT, reports, "mean") == pytest.approx(posterior(COUNT, reports) @ np.arange(5))
    assert estimate(LABELS, ["a", "b", "b"], "likelihood") == "b"


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("loss", ["absolute", "squared", "zero-one"])
def test_expected_losses_are_sums_over_all_sequences_of_reports(k, loss):
    """Brute force: every sequence of k reports, its probability, and the loss of the estimate it leads to."""
    m, prior = ib.catalog.explicit_fair(ib.count(3), "0.8"), [4, 3, 2, 1]
    of = {"absolute": abs, "squared": lambda e: e * e, "zero-one": lambda e: float(e != 0)}[loss]
    (row,) = simulate_collusion(m, k, loss, prior)
    for by in ESTIMATORS:
        by_hand = 0.0
        for reports in product(range(4), repeat=k):
            guess = estimate(m, reports, by, prior=prior, loss=loss)
            for j, weight in enumerate(prior):
                by_hand += weight / 10 * math.prod(m.matrix[i, j] for i in reports) * of(guess - j)
        assert row.exact(by)
        assert row.loss[by] == pytest.approx(by_hand, rel=1e-9), by


def test_no_estimate_beats_the_best_guess_and_more_answers_never_hurt_it():
    rows = simulate_collusion(COUNT, range(1, 11))
    guesses = [row.loss["guess"] for row in rows]
    assert (np.diff(guesses) <= 1e-12).all()
    for row in rows:
        assert all(row.loss["guess"] <= row.loss[by] + 1e-12 for by in ("likelihood", "median"))
        assert row.loss["mean"] >= 0


def test_simulation_agrees_with_the_exact_values_and_with_no_others(monkeypatch):
    """Fixed seed; 6.5 standard errors are exceeded by chance in less than one case in 10^9."""
    exact = {row.answers: row for row in simulate_collusion(COUNT, [2, 5, 9])}
    monkeypatch.setattr(repeated, "LARGEST", 0)
    for row in simulate_collusion(COUNT, [2, 5, 9], runs=4000, rng=np.random.default_rng(11)):
        for by in ("likelihood", "mean", "guess"):
            assert not row.exact(by)
            assert abs(row.loss[by] - exact[row.answers].loss[by]) < 6.5 * row.error[by]
            other = exact[{2: 5, 5: 9, 9: 2}[row.answers]].loss[by]
            assert abs(row.loss[by] - other) > 6.5 * row.error[by]
    assert row.exact("median")


def test_many_answers_are_simulated_by_drawing_the_truth_from_the_prior():
    """More than fifty answers: beside the exact median, which for an odd number is the likeliest answer; fixed seed."""
    m = ib.catalog.truncated_geometric(ib.count(60), 1)
    prior = ib.priors.binomial(m.query, "0.4")
    (row,) = simulate_collusion(m, 7, prior=prior, by=["likelihood", "median"])
    assert not row.exact("likelihood")
    assert abs(row.loss["likelihood"] - row.loss["median"]) < 6.5 * row.error["likelihood"]
    assert row.error["likelihood"] < 0.01


def test_the_same_seed_gives_the_same_simulation(monkeypatch):
    monkeypatch.setattr(repeated, "LARGEST", 0)
    first, again = (simulate_collusion(COUNT, [3], runs=50, rng=np.random.default_rng(1)) for _ in range(2))
    assert first == again


def test_a_simulation_without_a_miss_still_states_an_error(monkeypatch):
    monkeypatch.setattr(repeated, "LARGEST", 0)
    (row,) = simulate_collusion(ib.catalog.truncated_geometric(ib.count(2), 8), 9, runs=100)
    assert row.loss["guess"] == 0
    assert row.error["guess"] > 0


# --- the paper's relations --------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.2, 0.3, 0.4])
def test_staircase_noise_loses_less_than_laplace_noise_below_one_half(alpha):
    """004 Figure 3: in theory, for the snapped mechanisms on the paper's interval, and for pooled answers."""
    e = ib.epsilon_from_alpha(alpha)
    laplace, staircase = ib.catalog.snapped_laplace(TEN, e), ib.catalog.snapped_staircase(TEN, e)
    assert staircase.loss("absolute") < laplace.loss("absolute")
    for k in (1, 10, 100):
        assert approximate_loss("staircase", e, k) < approximate_loss("laplace", e, k)


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.2, 0.3, 0.4])
@pytest.mark.parametrize("query", ["mean", "max"])
def test_the_pre_rounded_mechanism_loses_less_than_both_for_the_papers_priors(alpha, query):
    """004 Figure 3: N(0, 1) and Beta(100, 1) on -10..10, sensitivity 10, cells reported as -10, 0, 10."""
    e = ib.epsilon_from_alpha(alpha)
    prior = ib.priors.normal(TEN, 0, 1) if query == "mean" else ib.priors.beta(TEN, 100, 1)
    heuristic = ib.catalog.prerounded_geometric(TEN, e, *PAPERS_CELLS).loss("absolute", prior)
    laplace, staircase = 10 / float(e), 10 * math.sqrt(alpha) / (1 - alpha)  # 004 (11), (12)
    assert heuristic < staircase < laplace


@pytest.mark.long
@pytest.mark.parametrize(
    ("build", "family"), [(ib.catalog.snapped_laplace, "laplace"), (ib.catalog.snapped_staircase, "staircase")]
)
def test_losses_of_continuous_answers_fall_like_one_over_root_k(build, family):
    """004 Figure 4 left: a wide fine grid, where snapping at the ends does not matter; medians are exact."""
    wide = ib.interval(-24, 24, 4, 480)
    m = build(wide, 1)
    middle = (np.abs(wide.answers.floats()) < 5).astype(float)
    rows = {
        row.answers: row.loss["median"] for row in simulate_collusion(m, [25, 101, 401], prior=middle, by=["median"])
    }
    assert rows[101] / rows[25] == pytest.approx(math.sqrt(25 / 101), rel=0.06)
    assert rows[401] / rows[101] == pytest.approx(math.sqrt(101 / 401), rel=0.04)
    assert rows[401] == pytest.approx(approximate_loss(family, 1, 401, 4), rel=0.05)
    assert approximation_for(m, 401) == approximate_loss(family, 1, 401, 4)


def test_losses_of_counts_fall_faster_and_at_the_predicted_rate():
    """004 Figure 4 right, which the paper left open: exponentially, at the Chernoff information of the columns."""
    m = ib.catalog.truncated_geometric(ib.count(1), 1)
    rows = {row.answers: row.loss["guess"] for row in simulate_collusion(m, [101, 201, 401], by=["guess"])}
    assert rows[401] / rows[101] < 0.1 * math.sqrt(101 / 401)
    rate = loss_limit(m).rate
    slope = math.log(rows[201] / rows[401]) / 200
    assert slope == pytest.approx(rate, rel=0.05)
    a = math.exp(-1)
    assert rate == pytest.approx(-math.log(2 * math.sqrt(a) / (1 + a)), rel=1e-9)  # e^eps : 1 against 1 : e^eps


def test_pre_rounding_leaves_a_floor_that_no_number_of_answers_removes():
    """004 §5.2.3, remark 4: cells of -10..10 hide where in the cell the truth is."""
    m = ib.catalog.prerounded_geometric(TEN, 2, *PAPERS_CELLS)
    found = loss_limit(m)
    answers = TEN.answers.floats()
    cells = [answers[answers < -5], answers[(answers > -5) & (answers < 5)], answers[answers > 5]]
    by_hand = sum(np.abs(cell - np.median(cell)).sum() for cell in cells) / len(answers)
    assert found.groups == 3
    assert found.floor["guess"] == pytest.approx(by_hand, rel=1e-12)
    rows = simulate_collusion(m, [1, 10, 60])
    assert rows[0].loss["guess"] > rows[1].loss["guess"] > found.floor["guess"]
    for by in ESTIMATORS:
        assert rows[2].loss[by] == pytest.approx(found.floor[by], abs=1e-8)


def test_the_median_keeps_a_loss_where_a_column_is_not_centred_on_its_answer():
    """A finite-range effect: under strong privacy the median of a fair mechanism's column is nearer the middle."""
    m = ib.catalog.explicit_fair(ib.count(6), "0.2")
    found = loss_limit(m)
    (row,) = simulate_collusion(m, 20001, by=["median"])
    assert found.floor["guess"] == 0
    assert found.floor["median"] > 1
    assert row.loss["median"] == pytest.approx(found.floor["median"], abs=2e-3)


def test_indistinguishable_answers_never_come_apart():
    found = loss_limit(ib.catalog.uniform(ib.count(4), 1))
    assert found.groups == 1
    assert math.isinf(found.rate)
    assert found.floor["guess"] == pytest.approx(6 / 5)


def test_the_approximations_are_the_papers_formulas():
    a, k = 0.3, 7
    e = ib.epsilon_from_alpha(a)
    assert approximate_loss("laplace", e, k) == pytest.approx(math.sqrt(2 / (math.pi * k)) / -math.log(a))
    assert approximate_loss("staircase", e, k) == pytest.approx(math.sqrt(2 / (math.pi * k)) * math.sqrt(a) / (1 - a))
    assert approximate_loss("geometric", e, k) == pytest.approx((1 + a) / (1 - a) / math.sqrt(2 * math.pi * k))
    assert approximation_for(ib.catalog.uniform(ib.count(3), 1), 5) is None


# --- odd input --------------------------------------------------------------------------------------------


def test_no_answers_tell_nothing():
    with rejects(ValueError, "outputs", about="0"):
        posterior(COUNT, [])
    with rejects(ValueError, "repeats"):
        simulate_collusion(COUNT, 0)
    with rejects(ValueError, "repeats"):
        simulate_collusion(COUNT, [])


def test_estimates_that_make_no_sense_are_refused():
    with rejects(ValueError, "estimator"):
        estimate(COUNT, [1], "mode")
    for by in ("median", "mean"):
        with rejects(ValueError, about="numeric"):
            estimate(LABELS, ["a"], by)
    with rejects(ValueError, about="error"):
        simulate_collusion(COUNT, 2, lambda said, true: float(said != true), by=["mean"])
    with rejects(ValueError, "output", about="outputs"):
        posterior(COUNT, [7])
    with rejects(ValueError, "family"):
        approximate_loss("normal", 1, 1)
    with rejects(ValueError, "outputs", about="possible"):
        posteriors(np.array([[0.0, -np.inf]]), np.array([0.0, 1.0]))


def test_labels_are_attacked_by_likelihood_and_best_guess():
    (row,) = simulate_collusion(LABELS, 5, "zero-one")
    assert set(row.loss) == {"likelihood", "guess"}


# --- the command line -------------------------------------------------------------------------------------


def test_attack_prints_a_table_and_draws_a_figure(inbounds, tmp_path):
    COUNT.save(tmp_path / "m.json")
    done = inbounds("attack", str(tmp_path / "m.json"), "--repeat", "1..8", "--out", str(tmp_path / "a.png"))
    assert done.returncode == 0, done.stderr
    assert "Unlimited answers leave no loss" in done.stdout
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_attack_prints_json_with_every_number_of_answers(inbounds, tmp_path):
    COUNT.save(tmp_path / "m.json")
    found = json.loads(inbounds("attack", str(tmp_path / "m.json"), "--repeat", "1..8", "--json").stdout)
    expected = simulate_collusion(COUNT, range(1, 9))
    assert [row["answers"] for row in found["rows"]] == list(range(1, 9))
    assert [row["loss"]["guess"] for row in found["rows"]] == pytest.approx([r.loss["guess"] for r in expected])
    assert found["rate"] == pytest.approx(loss_limit(COUNT).rate)


@pytest.mark.parametrize("repeat", ["0..5", "5..1", "x", "1,,2"])
def test_attack_refuses_odd_numbers_of_answers(inbounds, tmp_path, repeat):
    COUNT.save(tmp_path / "m.json")
    done = inbounds("attack", str(tmp_path / "m.json"), "--repeat", repeat)
    assert done.returncode == 2
    assert "repeat must" in done.stderr


@pytest.mark.parametrize(
    "attack",
    [
        lambda made: posterior(made, [0]),
        lambda made: estimate(made, [0]),
        lambda made: simulate_collusion(made, 3),
        lambda made: loss_limit(made),
        lambda made: approximation_for(made, 3),
    ],
)
def test_a_mechanism_that_reports_sets_of_labels_is_refused(attack):
    with rejects(TypeError, "mechanism", about="labels"):
        attack(ib.local.subset_selection(ib.category(list("abcdefg")), 1))
