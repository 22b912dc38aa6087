"""Errors and intervals of several quantiles in one draw, from simulated groups."""

import numpy as np
import pytest

import inbounds as ib
from inbounds.mechanism.bayes import find_shortest_run
from inbounds.mechanism.record_models import draw_cascades
from inbounds.releases.vector_accuracy import SimulatedVectors, simulate_vectors
from inbounds.statistics.sizes import certain_sizes
from inbounds.trusted.samplers import seeded_entropy


def make_vectors(epsilon, size=30, values=25):
    query = ib.quantiles([0.25, 0.5, 0.75], 0, values - 1, size=size)
    return simulate_vectors(ib.design_joint(query, epsilon), None)


def test_cascades_have_their_sizes_and_no_place_that_records_prefer():
    sizes = np.arange(1, 4001) % 50
    groups = draw_cascades(12, sizes, np.random.default_rng(0))
    assert np.array_equal(groups.sum(axis=1), sizes)
    shares = groups.sum(axis=0) / groups.sum()
    assert np.abs(shares - 1 / 12).max() < 0.015  # about five standard errors of 4,000 groups


def test_cascades_leave_a_half_empty_far_more_often_than_even_histograms():
    groups = draw_cascades(16, np.full(2000, 30), np.random.default_rng(1))
    even = np.random.default_rng(1).multinomial(30, np.random.default_rng(2).dirichlet(np.ones(16), 2000))
    empty, even_empty = (
        ((part[:, :8].sum(axis=1) == 0) | (part[:, 8:].sum(axis=1) == 0)).mean() for part in (groups, even)
    )
    assert empty > 0.05
    assert even_empty < 0.01


def test_the_stated_error_is_the_mean_distance_of_the_simulated_reports():
    vectors = make_vectors(1)
    for place in range(3):
        stated, constant = vectors.expected_error(place, "absolute", vectors.weights(None))
        assert stated == pytest.approx(np.abs(vectors.reports - vectors.truths)[:, place].mean())
        assert stated < constant


def test_the_posterior_is_the_truth_where_reports_are_exact():
    vectors = make_vectors(64, values=8)
    reports = np.array([[1, 4, 6], [0, 0, 7]])
    for place in range(3):
        for report, mass in zip(reports, vectors.posteriors(place, reports, vectors.weights(None)), strict=True):
            assert mass.argmax() == report[place]
            assert mass.max() > 0.9 * mass.sum()


def test_an_error_is_stretched_to_the_distances_of_the_group():
    query = ib.quantiles([0, 1], 0, 99, size=5)
    vectors = SimulatedVectors(query, np.array([5]), np.array([[30, 80]]), np.array([[20, 79]]))
    (mass,) = vectors.posteriors(0, np.array([[20, 49]]), np.ones(1))  # 30 to the next, where the simulated one has 60
    assert mass.nonzero()[0].tolist() == [20 + round(10 * 30 / 60)]
    (below,) = SimulatedVectors(query, vectors.sizes, np.array([[10, 80]]), vectors.reports).posteriors(
        0, np.array([[41, 50]]), np.ones(1)
    )
    assert below.nonzero()[0].tolist() == [41 - 10 * 2]


def test_distances_beside_a_report_decide_which_groups_count():
    query = ib.quantiles([0, 0.5, 1], 0, 99, size=5)
    near, far = [50, 51, 52], [10, 50, 90]
    truths, reports = np.array([[50, 51, 51], [10, 70, 90]]), np.array([near, far])
    vectors = SimulatedVectors(query, np.array([5, 5]), truths, reports)
    for report, truth in ((near, 51), (far, 70)):
        (mass,) = vectors.posteriors(1, np.array([report]), np.full(2, 0.5))
        assert mass.argmax() == truth


def test_intervals_hold_the_truth_of_fresh_groups_of_the_model_as_often_as_they_say():
    query = ib.quantiles([0.25, 0.5, 0.75], 0, 24, size=30)
    mechanism = ib.design_joint(query, 1)
    vectors, rng = simulate_vectors(mechanism, None), np.random.default_rng(7)
    groups = draw_cascades(25, np.full(300, 30), rng)
    reports = mechanism.draw(groups, seeded_entropy(rng))
    held = []
    for place, single in enumerate(query.singles):
        runs = [
            find_shortest_run(mass / mass.sum(), 0.9)
            for mass in vectors.posteriors(place, reports, vectors.weights(None))
        ]
        held += [low <= truth < stop for (low, stop), truth in zip(runs, single.true_positions(groups), strict=True)]
    assert 0.86 < np.mean(held) < 0.97


def test_a_prior_of_the_values_is_that_of_the_simulated_records():
    query = ib.quantiles([0.25, 0.75], 0, 9, size=20)
    prior = np.r_[np.zeros(5), np.full(5, 0.2)]
    vectors = simulate_vectors(ib.design_joint(query, 1), prior)
    assert vectors.truths.min() >= 5
    assert vectors.query.size == 20


def test_weights_follow_what_is_believed_of_the_size():
    query = ib.quantiles([0.25, 0.75], 0, 9, size=20)
    sizes = np.arange(400) * 21 // 400
    vectors = SimulatedVectors(query, sizes, np.zeros((400, 2), dtype=int), np.zeros((400, 2), dtype=int))
    weights = vectors.weights(certain_sizes([7]))
    assert weights.sum() == pytest.approx(1)
    assert sizes[weights.argmax()] == 7
    assert weights[(sizes < 3) | (sizes > 16)].sum() < 0.05


def test_a_group_that_resembles_none_is_read_by_all():
    query = ib.quantiles([0, 1], 0, 2000, size=5)
    vectors = SimulatedVectors(query, np.array([5, 5]), np.array([[5, 9], [5, 9]]), np.array([[5, 9], [5, 9]]))
    (mass,) = vectors.posteriors(0, np.array([[2000, 2000]]), np.full(2, 0.5))
    assert mass.sum() == pytest.approx(1)
