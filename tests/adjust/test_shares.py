"""Shares of the levels are designed from the plan alone."""

import itertools
from fractions import Fraction

import pytest

from inbounds.adjust import shares as sharing
from inbounds.adjust.shares import FLOOR, STEPS, optimize_shares


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0])
@pytest.mark.parametrize("children", [(5.0, 4.0), (100.0, 2.0), (1.0, 30.0)])
def test_designed_shares_are_the_best_of_all_on_the_grid(epsilon, children):
    weights = (Fraction(1), Fraction(1), Fraction(1, 2))
    found = optimize_shares([epsilon] * 3, weights, children, 20)
    assert sum(found) == 1
    assert min(found) >= FLOOR
    least = int(STEPS * FLOOR)
    grid = (
        [a, b, STEPS - a - b] for a, b in itertools.product(range(least, STEPS, 5), repeat=2) if STEPS - a - b >= least
    )
    mine = sharing._error([int(share * STEPS) for share in found], [epsilon] * 3, weights, children, 20, [0, 1])
    assert mine <= min(sharing._error(own, [epsilon] * 3, weights, children, 20, [0, 1]) for own in grid) + 1e-9


def test_a_level_of_more_weight_gets_no_less():
    one = optimize_shares([1.0] * 2, [Fraction(1), Fraction(1)], [10.0], 20)
    other = optimize_shares([1.0] * 2, [Fraction(1), Fraction(5)], [10.0], 20)
    assert other[1] >= one[1]


def test_no_level_falls_below_the_floor_even_without_weight():
    found = optimize_shares([1.0] * 3, [Fraction(1), Fraction(0), Fraction(0)], [10.0, 10.0], 20)
    assert found == (1 - 2 * FLOOR, FLOOR, FLOOR)


def test_many_levels_share_equally_at_worst():
    found = optimize_shares([1.0] * 12, [Fraction(1)] * 12, [2.0] * 11, 20)
    assert sum(found) == 1
    assert min(found) > 0


def test_margins_of_a_two_way_table_both_build_on_its_cells():
    one, other = (Fraction(1), Fraction(1), Fraction(1)), [2.0, 2.0]
    found = optimize_shares([1.0] * 3, one, other, 20, below=[0, 0])
    assert found[1] == found[2]
