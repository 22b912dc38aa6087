"""The best law over the central records: exactly private, better than permute-and-flip, read without belief."""

import json
from fractions import Fraction

import numpy as np
import pytest

import inbounds as ib
from envelopes import seal
from inbounds.design.quantiles.central import window_chances
from inbounds.errors import PassportError, PrivacyViolation
from inbounds.mechanism import Mechanism
from inbounds.mechanism.laws import CentralRecords
from inbounds.mechanism.origin import Origin
from inbounds.trusted.bounds import EXP_BITS, TOTAL, exp_lower_bound
from inbounds.trusted.multisets import all_multisets, central_window, count_multisets, multiset_index, neighbour_groups
from raising import rejects

from .small import changed, histograms


@pytest.mark.parametrize(("length", "width"), [(1, 1), (3, 2), (5, 3), (4, 4)])
def test_positions_count_every_multiset_once(length, width):
    multisets = all_multisets(length, width)
    assert sorted(map(tuple, multisets.tolist())) == sorted(histograms(length, width))
    assert multiset_index(multisets, length).tolist() == list(range(count_multisets(length, width)))


@pytest.mark.parametrize(("length", "width"), [(1, 1500), (1500, 1), (2, 100), (100, 2)])
def test_many_values_and_many_records_are_numbered_too(length, width):
    multisets = all_multisets(length, width)
    assert (multisets.sum(axis=1) == length).all()
    assert multiset_index(multisets, length).tolist() == list(range(count_multisets(length, width)))


def test_more_multisets_than_whole_numbers_are_refused():
    with rejects(ib.TooLarge, about="multisets"):
        multiset_index(np.array([[40] * 40]), 1600)


@pytest.mark.parametrize("length", [True, 3.0])
def test_central_records_are_whole_numbers_and_a_matrix(length):
    weights = ib.design_central(ib.median(0, 2, size=5), 1, length=1).law.weights
    with rejects(TypeError, about="whole"):
        CentralRecords(1, length, weights)
    with rejects(ib.InvalidDistribution, "weights", about="float64"):
        CentralRecords(1, 1, weights / 2)


def test_neighbours_are_all_multisets_that_differ_in_one_record():
    multisets = [tuple(row) for row in all_multisets(3, 2).tolist()]
    listed = {
        (multisets[a], multisets[b]) for row in neighbour_groups(3, 2).tolist() for a in row for b in row if a != b
    }
    assert listed == {(group, near) for group in multisets for near in changed(group)}


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_the_window_of_ranks_changes_in_one_record_at_most(length):
    size, width = 5, 3
    for group in histograms(size, width):
        records = np.repeat(np.arange(width + 1), group)
        for first in range(1, size - length + 2):
            own = central_window(np.array([group]), first, length)[0]
            assert np.repeat(np.arange(width + 1), own).tolist() == records[first - 1 : first - 1 + length].tolist()
            for near in changed(group):
                assert np.abs(central_window(np.array([near]), first, length)[0] - own).sum() <= 2


@pytest.mark.parametrize("epsilon", ["2", "7/2"])
@pytest.mark.parametrize("at", ["0.5", "0.2", "1"])
def test_neighbours_are_within_epsilon_and_it_is_attained(epsilon, at):
    query = ib.quantile(at, 0, 2, size=5)
    mechanism = ib.design_central(query, epsilon, length=3)
    groups = histograms(5, 2)
    columns = dict(zip(groups, mechanism.law._columns(query, np.array(groups)).tolist(), strict=True))
    weights, p, worst = mechanism.law.weights, exp_lower_bound(Fraction(epsilon)), 0.0
    for group in groups:
        for near in changed(group):
            for high, low in zip(weights[:, columns[group]], weights[:, columns[near]], strict=True):
                assert int(high) << EXP_BITS <= p * int(low)
                worst = max(worst, int(high) / int(low))
    assert np.log(worst) >= 0.99 * float(Fraction(epsilon))


def test_all_records_in_the_window_are_the_best_of_all_mechanisms():
    query = ib.median(0, 2, size=5)
    errors = [ib.design_central(query, 1, length=length).loss() for length in (1, 3, 5)]
    assert errors[0] > errors[1] > errors[2]
    assert errors[1] < ib.design_permute_flip(query, 1).loss()
    one = ib.design_central(query, 1, length=1)  # sees the median alone: the oblivious optimum
    answers = one.channel().prior
    assert one.loss() == pytest.approx(ib.optimal(query.as_range_query, 1, prior=answers).loss(prior=answers), rel=1e-6)


@pytest.mark.parametrize(("first", "length"), [(1, 3), (2, 3), (3, 3), (1, 7), (4, 1)])
def test_chances_of_windows_are_those_of_independent_records(first, length):
    values, size = np.array([0.5, 0.2, 0.3]), 7
    multisets = all_multisets(length, 2)
    groups = np.random.default_rng(4).multinomial(size, values, size=200_000)
    found = np.bincount(multiset_index(central_window(groups, first, length), length), minlength=len(multisets)) / len(
        groups
    )
    chances = window_chances(multisets, values, first, size)
    assert chances.sum() == pytest.approx(1)
    assert np.allclose(chances, found, atol=0.008)  # 7 sigma


def test_weights_that_are_not_private_are_refused():
    query = ib.median(0, 2, size=5)
    weights = ib.design_central(query, 2, length=3).law.weights
    with pytest.raises(PrivacyViolation):
        Mechanism(query, Fraction(1), CentralRecords(2, 3, weights), Origin("mine"))


@pytest.mark.parametrize("change", [{"first": "9"}, {"length": "4"}, {"length": "900000"}])
def test_a_passport_is_read_as_it_was_written_or_refused(change, tmp_path):
    path, mechanism = tmp_path / "q.json", ib.design_central(ib.median(0, 2, size=5), 1, length=3)
    mechanism.save(path)
    assert ib.load(path) == mechanism
    content = json.loads(path.read_text())
    content["content"]["law"]["central"].update(change)
    path.write_text(json.dumps(seal(content)))
    with pytest.raises(PassportError):
        ib.load(path)


ANY_SIZE = [ib.quantile("1/3", 0, 2, maximum=5, missing=1), ib.median(0, 2, size=5, records=2), ib.median(0, 2, size=4)]


@pytest.mark.parametrize("query", ANY_SIZE)
def test_one_record_at_the_rank_is_the_true_answer_for_any_size_and_number_of_records(query, tmp_path):
    best = ib.optimal(query.as_range_query, 1)
    mechanism = Mechanism(query, best.epsilon, CentralRecords.from_answers(query, best.weights), best.origin)
    groups = np.array([group for size in range(8) for group in histograms(size, 2)])
    assert np.array_equal(mechanism.probabilities(groups), best.matrix.T[query.true_positions(groups)])
    mechanism.save(tmp_path / "q.json")
    assert ib.load(tmp_path / "q.json") == mechanism
    with pytest.raises(PrivacyViolation):
        Mechanism(query, Fraction(9, 10), mechanism.law, best.origin)


@pytest.mark.parametrize("query", ANY_SIZE[:2])
def test_one_record_at_another_rank_needs_a_public_size_and_one_record_a_person(query):
    best = ib.optimal(query.as_range_query, 1)
    law = CentralRecords(query.rank + 1, 1, CentralRecords.from_answers(query, best.weights).weights)
    with rejects(ValueError, about="public"):
        Mechanism(query, Fraction(1), law, best.origin)


def test_a_window_of_one_record_is_the_same_law_however_it_is_found():
    query = ib.median(0, 4, size=7)
    weights = ib.optimal(query.as_range_query, 1).weights
    law = CentralRecords.from_answers(query, weights)
    groups = np.array(histograms(7, 4))
    columns = multiset_index(central_window(groups, query.rank, 1), 1)
    assert np.array_equal(law.probabilities(query, groups), law.weights.T[columns] / TOTAL)


@pytest.mark.parametrize("query", [ib.median(0, 2, maximum=5), ib.median(0, 2, size=5, records=2)])
def test_secret_sizes_and_persons_with_several_records_are_refused(query):
    with rejects(ValueError, about="public"):
        ib.design_central(query, 1)
    law = CentralRecords(1, 3, np.full((3, 10), 1 << 62, dtype=np.int64))
    with rejects(ValueError, about="public"):
        Mechanism(query, Fraction(1), law, Origin("mine"))
