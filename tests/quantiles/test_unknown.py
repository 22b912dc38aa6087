"""What to expect of unknown shares: every histogram of a given quantile is as likely as every other."""

from math import comb

import numpy as np
import pytest

import inbounds as ib
from inbounds.design.quantiles.central import unknown_chances
from inbounds.mechanism.expected_channel import LEAST_EACH, MOST_TRUTHS, channel_of_unknown_records
from inbounds.mechanism.record_models import ALL_OF, _draw_groups, enumerate_groups
from inbounds.trusted.multisets import all_multisets, central_window, multiset_index


def mean_by_truth(mechanism, groups, truths, weights):
    """outputs × true quantiles."""
    values = groups.shape[1]
    own = np.zeros((len(groups), values))
    own[np.arange(len(groups)), truths] = weights
    return mechanism.probabilities(groups).T @ own


CASES = [("0.5", 6, 4), ("0.9", 9, 4), ("0", 7, 4), ("1", 7, 4), ("0.5", 1, 4), ("0.25", 30, 3)]


@pytest.mark.parametrize(("at", "size", "values"), CASES)
def test_expected_reports_are_means_over_all_histograms_of_a_quantile(at, size, values):
    query = ib.quantile(at, 0, values - 1, size=size)
    mechanism, groups = ib.design_permute_flip(query, 1), all_multisets(size, values - 1)
    truths = query.true_positions(groups)
    brute = mean_by_truth(mechanism, groups, truths, 1 / np.bincount(truths)[truths])
    expected = mechanism.channel()
    assert np.allclose(expected.matrix, brute, atol=1e-12)
    assert np.allclose(expected.prior, 1 / values)


@pytest.mark.parametrize(("at", "size", "values"), CASES)
def test_histograms_that_are_drawn_have_the_same_means_as_all(at, size, values):
    query = ib.quantile(at, 0, values - 1, size=size)
    mechanism, exact = ib.design_permute_flip(query, 1), ib.design_permute_flip(query, 1).channel()
    drawn = _draw_groups(values, query.rank, size, 4000, np.arange(values), np.random.default_rng(3))
    assert (query.true_positions(drawn.groups) == drawn.truths).all()
    assert (drawn.groups.sum(axis=1) == size).all()
    assert np.bincount(drawn.truths, drawn.weights) == pytest.approx(1)
    found = mean_by_truth(mechanism, drawn.groups, drawn.truths, drawn.weights)
    assert np.allclose(found, exact.matrix, atol=0.01)


@pytest.mark.parametrize("at", ["0", "0.5", "0.9", "1"])
def test_a_quantile_has_as_many_histograms_as_the_formula_says(at):
    size, values = 7, 5
    query = ib.quantile(at, 0, values - 1, size=size)
    truths = query.true_positions(all_multisets(size, values - 1))
    k, last = query.rank, values - 1
    ways = [comb(k - 1 + t, t) * comb(size - k + last - t, last - t) for t in range(values)]
    assert np.bincount(truths, minlength=values).tolist() == ways


def test_the_error_of_large_groups_is_decided_by_few_and_they_are_drawn():
    """About m/n of the groups have a depth of 0, and they decide the error: it falls like 1/n, not like exp(-n)."""
    errors = [ib.design_permute_flip(ib.median(0, 20, size=size), 1).loss() for size in (10**3, 10**4, 10**5)]
    assert errors[0] / errors[1] == pytest.approx(10, rel=0.15)
    assert errors[1] / errors[2] == pytest.approx(10, rel=0.15)


def test_all_histograms_are_taken_where_they_are_few():
    few = enumerate_groups(4, 8, 15, 5, np.arange(4))
    assert len(few.groups) == comb(18, 3) <= ALL_OF
    assert len(enumerate_groups(5, 40, 80, 5, np.arange(5)).groups) <= 5 * 5


def test_in_a_wide_range_groups_are_drawn_for_some_values_and_their_law_is_moved():
    query, drawn = ib.median(0, 799, size=9), list[int]()

    class Truth(ib.design_permute_flip(ib.median(0, 1, size=9), 1).law.__class__):
        def probabilities(self, query, histograms):
            drawn.append(len(histograms))
            return np.eye(800)[query.true_positions(histograms)]

    channel = channel_of_unknown_records(query, Truth((1,)), 9, 4)
    assert sum(drawn) <= LEAST_EACH * MOST_TRUTHS
    assert np.array_equal(channel.matrix, np.eye(800))


@pytest.mark.parametrize(("first", "length"), [(1, 3), (2, 3), (3, 3), (1, 7), (4, 1)])
def test_chances_of_windows_are_those_of_all_histograms_with_every_quantile_alike(first, length):
    size, values, k = 7, 3, 4
    groups, multisets = all_multisets(size, values - 1), all_multisets(length, values - 1)
    truths = (np.cumsum(groups, axis=1) < k).sum(axis=1)
    own = multiset_index(central_window(groups, first, length), length)
    found = np.bincount(own, 1 / np.bincount(truths)[truths] / values, len(multisets))
    if first <= k < first + length:
        seen = (np.cumsum(multisets, axis=1) <= k - first).sum(axis=1)
        assert np.allclose(unknown_chances(multisets, seen, first, size), found)


@pytest.mark.parametrize("centre", [10, 25, 50])
@pytest.mark.parametrize(("size", "epsilon"), [(20, 4), (100, 1), (1000, 1)])
def test_intervals_hold_medians_that_are_not_in_the_middle(centre, size, epsilon):
    """The coverage is computed for 200 groups: at least the level, where records lie no more sparsely than evenly."""
    query = ib.median(0, 100, size=size)
    mechanism = ib.design_permute_flip(query, epsilon)
    bell = np.exp(-0.5 * ((np.arange(101) - centre) / 8) ** 2)
    groups = np.random.default_rng(7).multinomial(size, bell / bell.sum(), size=200)
    readings = mechanism.channel().interpretations(0.9)
    inside = np.array([[value in set(row.answers) for value in range(101)] for row in readings])
    held = (mechanism.probabilities(groups) * inside[:, query.true_positions(groups)].T).sum(axis=1)
    assert held.mean() > 0.9
