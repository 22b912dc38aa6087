"""Path lengths are breadth-first distances, zero exactly at the truth, and move by at most one between neighbours."""

from fractions import Fraction

import numpy as np
import pytest

from inbounds.trusted.path_lengths import group_by_person, path_lengths_added, path_lengths_changed, quantile_rank

from .small import QUANTILES, added_or_removed, changed, distances, histograms, quantile_of


@pytest.mark.parametrize("width", [1, 2, 3])
def test_lengths_of_changes_are_breadth_first_distances(width):
    for size in range(1, 6):
        groups = histograms(size, width)
        for at in {Fraction(k, size) for k in range(size + 1)}:
            truth = {group: quantile_of(group, at, 0) for group in groups}
            found = path_lengths_changed(np.array(groups), at, size, 0)
            expected = distances(groups, changed, truth, width)
            assert found.tolist() == [expected[group] for group in groups], (size, at)


@pytest.mark.parametrize("at", QUANTILES)
def test_lengths_of_additions_and_removals_are_breadth_first_distances(at):
    most, width = 11, 2  # groups of up to 5 records never need more than 11 on their way
    groups = [group for size in range(most + 1) for group in histograms(size, width)]
    for default in range(width + 1):
        truth = {group: quantile_of(group, at, default) for group in groups}
        found = path_lengths_added(np.array(groups), at, default)
        expected = distances(groups, added_or_removed(most), truth, width)
        for group, own in zip(groups, found.tolist(), strict=True):
            if sum(group) <= 5:
                assert own == expected[group], (group, default)


@pytest.mark.parametrize("at", QUANTILES)
def test_lengths_are_zero_at_the_truth_alone_and_neighbours_differ_by_one(at):
    groups = [group for size in range(9) for group in histograms(size, 2)]
    own = dict(zip(groups, path_lengths_added(np.array(groups), at, 1), strict=True))
    for group in groups:
        assert np.flatnonzero(own[group] == 0).tolist() == [quantile_of(group, at, 1)]
        for near in added_or_removed(8)(group):
            assert np.abs(own[near] - own[group]).max() <= 1


def test_records_short_of_a_public_size_count_as_missing():
    short, full = np.array([[1, 0, 0]]), np.array([[1, 0, 4]])
    assert (path_lengths_changed(short, Fraction(1, 2), 5, 2) == path_lengths_changed(full, Fraction(1, 2), 5, 2)).all()


def test_surplus_records_move_lengths_by_one_too():
    at, size = Fraction(1, 2), 3
    for group in histograms(size, 2):
        own = path_lengths_changed(np.array([group]), at, size, 0)
        assert (own == 0).sum() == 1
        for near in added_or_removed(size + 1)(group):
            assert np.abs(path_lengths_changed(np.array([near]), at, size, 0) - own).max() <= 1


@pytest.mark.parametrize("records", [2, 3])
def test_a_person_with_several_records_moves_lengths_by_one(records):
    at = Fraction(2, 3)
    groups = [group for size in range(9) for group in histograms(size, 2)]
    own = {group: group_by_person(path_lengths_added(np.array([group]), at, 0), records) for group in groups}
    near = {group: {group} for group in groups}
    for _ in range(records):
        near = {g: {n for h in near[g] for n in added_or_removed(8)(h)} | near[g] for g in groups}
    for group in groups:
        assert (own[group] == 0).sum() == 1
        assert max(np.abs(own[other] - own[group]).max() for other in near[group]) == 1


def test_huge_groups_do_not_overflow():
    many = np.array([[1 << 61, 1, 1 << 61]])
    found = path_lengths_added(many, Fraction(999_999, 10**6), 0)
    assert (found >= 0).all()
    assert (found == 0).sum() == 1


def test_rank_is_the_least_that_holds_the_share():
    assert [quantile_rank(Fraction(1, 2), n) for n in (1, 2, 3, 4)] == [1, 1, 2, 2]
    assert [quantile_rank(Fraction(at), 10) for at in (0, 1)] == [1, 10]
