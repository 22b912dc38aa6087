"""The bound of exp that decides privacy: never above exp, and as near below it as it says."""

from fractions import Fraction

import pytest

from inbounds.exact import EXPONENT_CAP
from inbounds.trusted.bounds import EXP_BITS, exp_lower_bound, ratio_lower_bound


@pytest.mark.parametrize("x", ["0", "1/1000000000", "1/3", "1", "7/2", "693147/1000000", "12.34", "63.9", "64"])
def test_the_bound_is_below_exp_and_within_its_error(x, judge):
    low, high = judge.exp(Fraction(x))
    bound = Fraction(exp_lower_bound(Fraction(x)), 1 << EXP_BITS)
    assert high * (1 - Fraction(1, 1 << 120)) <= bound <= low


def test_a_ratio_is_that_of_epsilon_and_distance_up_to_the_cap():
    assert ratio_lower_bound(Fraction(1, 2), Fraction(3)) == exp_lower_bound(Fraction(3, 2))
    assert ratio_lower_bound(Fraction(65), Fraction(1)) == exp_lower_bound(EXPONENT_CAP)
