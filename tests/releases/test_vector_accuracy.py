"""Errors and intervals of several quantiles in one draw, from simulated groups."""

from fractions import Fraction

import numpy as np
import pytest

import inbounds as ib
from inbounds.mechanism.bayes import find_shortest_run
from inbounds.mechanism.record_models import draw_cascades, draw_declared
from inbounds.releases.accuracy import StatisticModel
from inbounds.releases.vector_accuracy import SimulatedVectors, simulate_vectors
from inbounds.statistics.sizes import certain_sizes
from inbounds.trusted.samplers import seeded_entropy


def one_half(query, sizes, truths, reports):
    return SimulatedVectors(query, *map(np.array, (sizes, truths, reports)), np.zeros(len(sizes), dtype=int))


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


def test_half_of_the_declared_groups_are_in_windows_of_every_scale():
    groups, scales = draw_declared(12, np.full(400, 30), np.random.default_rng(3))
    assert np.array_equal(groups.sum(axis=1), np.full(400, 30))
    assert np.bincount(scales).tolist() == [200, 50, 50, 50, 50]
    for scale, width in ((2, 6), (3, 3), (4, 1)):
        used = groups[scales == scale] > 0
        spans = used.shape[1] - used[:, ::-1].argmax(axis=1) - used.argmax(axis=1)
        assert spans.max() <= width
    ends = groups[scales == 4][:, [0, -1]].sum(axis=0) / 1500
    assert (ends > 0.15).all()


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
            assert mass.sum(axis=0).argmax() == report[place]
            assert mass.sum(axis=0).max() > 0.9 * mass.sum()


def test_an_error_is_stretched_to_the_distances_of_the_group():
    query = ib.quantiles([0, 1], 0, 99, size=5)
    vectors = one_half(query, [5], [[30, 80]], [[20, 79]])
    (mass,) = vectors.posteriors(0, np.array([[20, 49]]), np.ones(1))  # 30 to the next, where the simulated one has 60
    assert mass[0].nonzero()[0].tolist() == [20 + round(10 * 30 / 60)]
    below_it = one_half(query, [5], [[10, 80]], [[20, 79]])
    (below,) = below_it.posteriors(0, np.array([[41, 50]]), np.ones(1))
    assert below[0].nonzero()[0].tolist() == [41 - 10 * 2]


def test_distances_beside_a_report_decide_which_groups_count():
    query = ib.quantiles([0, 0.5, 1], 0, 99, size=5)
    near, far = [50, 51, 52], [10, 50, 90]
    vectors = one_half(query, [5, 5], [[50, 51, 51], [10, 70, 90]], [near, far])
    for report, truth in ((near, 51), (far, 70)):
        (mass,) = vectors.posteriors(1, np.array([report]), np.full(2, 0.5))
        assert mass.argmax() == truth


def test_intervals_hold_the_truth_of_fresh_groups_of_the_model_as_often_as_they_say():
    query = ib.quantiles([0.25, 0.5, 0.75], 0, 24, size=30)
    mechanism = ib.design_joint(query, 1)
    vectors, rng = simulate_vectors(mechanism, None), np.random.default_rng(7)
    groups, scales = draw_declared(25, np.full(400, 30), rng)
    reports = mechanism.draw(groups, seeded_entropy(rng))
    held = []
    for place, single in enumerate(query.singles):
        truths = single.true_positions(groups)
        for mass, truth in zip(vectors.posteriors(place, reports, vectors.weights(None)), truths, strict=True):
            held.append(
                [low <= truth < stop for low, stop in (find_shortest_run(one / one.sum(), 0.9) for one in mass)]
            )
    found = np.array(held).reshape(3, 400, 2)
    for half in (0, 1):  # under the half that they suppose
        assert 0.86 < found[:, np.sign(scales) == half, half].mean() < 0.98


def test_an_interval_holds_those_of_both_halves_and_the_report():
    """In windows errors are small here, elsewhere large: the interval follows the larger, and not the mean of both."""
    query = ib.quantiles([0, 1], 0, 99, size=5)
    moved = np.array([[k, 80] for k in (20, 20, 5, 45)])
    vectors = SimulatedVectors(query, np.full(4, 5), moved, np.array([[20, 80]] * 4), np.array([1, 1, 0, 0]))
    model = StatisticModel(None, None, None, ib.design_joint(query, 1), 5, at=Fraction(0))
    model.__dict__.update(vectors=vectors, derived=None)
    low, high = model.intervals([np.array([20]), np.array([80])], Fraction(9, 10), None)
    assert (low.tolist(), high.tolist()) == ([5.0], [45.0])


def test_a_prior_of_the_values_is_that_of_the_simulated_records():
    query = ib.quantiles([0.25, 0.75], 0, 9, size=20)
    prior = np.r_[np.zeros(5), np.full(5, 0.2)]
    vectors = simulate_vectors(ib.design_joint(query, 1), prior)
    assert vectors.truths.min() >= 5
    assert vectors.query.size == 20


def test_weights_follow_what_is_believed_of_the_size():
    query = ib.quantiles([0.25, 0.75], 0, 9, size=20)
    sizes = np.arange(400) * 21 // 400
    vectors = one_half(query, sizes, np.zeros((400, 2), dtype=int), np.zeros((400, 2), dtype=int))
    weights = vectors.weights(certain_sizes([7]))
    assert weights.sum() == pytest.approx(1)
    assert sizes[weights.argmax()] == 7
    assert weights[(sizes < 3) | (sizes > 16)].sum() < 0.05


def test_a_group_that_resembles_none_is_read_by_all():
    query = ib.quantiles([0, 1], 0, 2000, size=5)
    vectors = one_half(query, [5, 5], [[5, 9], [5, 9]], [[5, 9], [5, 9]])
    (mass,) = vectors.posteriors(0, np.array([[2000, 2000]]), np.full(2, 0.5))
    assert mass.sum() == pytest.approx(1)
