"""The checker of laws with a delta, at its border: the least delta is a sum that can be written down."""

from fractions import Fraction

import numpy as np
import pytest

from inbounds.errors import DeltaViolation, InvalidDistribution
from inbounds.trusted.bounds import EXP_BITS, TOTAL, ratio_lower_bound
from inbounds.trusted.certify import check_approximate

EPSILON = Fraction(1, 2)
HAIR = Fraction(1, TOTAL << EXP_BITS)


def least_delta(one, other) -> Fraction:
    """The sum over outputs of what Pr[output | one] is above exp(epsilon) Pr[output | other]."""
    factor = Fraction(ratio_lower_bound(EPSILON, Fraction(1)), 1 << EXP_BITS)
    above = (int(a) - factor * int(b) for a, b in zip(one, other, strict=True))
    return sum((part for part in above if part > 0), Fraction(0)) / TOTAL


def whole(weights) -> list[int]:
    """Integer weights in these proportions that sum to 2**62."""
    rest = [TOTAL // sum(weights) * weight for weight in weights]
    return [rest[0] + TOTAL - sum(rest), *rest[1:]]


def assert_border(check, least: Fraction) -> None:
    check(least)
    with pytest.raises(DeltaViolation):
        check(least - HAIR)


@pytest.mark.parametrize("pair", [([1, 9, 3], [9, 1, 3]), ([1, 0, 5], [0, 4, 5]), ([1, 20, 1], [8, 1, 13])])
def test_a_pair_is_refused_a_hair_below_its_delta(pair):
    columns = [whole(weights) for weights in pair]
    weights = np.array(columns, dtype=np.int64).T
    for j, k in ((0, 1), (1, 0)):
        least = least_delta(columns[j], columns[k])
        assert_border(lambda delta, pair=(j, k): check_approximate(weights, [pair], EPSILON, delta), least)


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1), Fraction(-1, 2), Fraction(3, 2)])
def test_a_delta_is_between_0_and_1(delta):
    same = np.array([whole([1, 1]), whole([1, 1])], dtype=np.int64).T
    with pytest.raises(InvalidDistribution):
        check_approximate(same, [(0, 1)], EPSILON, delta)


SAME = np.array([whole([1, 1]), whole([1, 1])], dtype=np.int64).T


@pytest.mark.parametrize("pair", [(0, 2), (2, 0), (-1, 0), (0, -1), (2, 2)])
def test_a_pair_is_of_two_answers(pair):
    with pytest.raises(InvalidDistribution):
        check_approximate(SAME, [(0, 1), pair], EPSILON, Fraction(1, 10))


@pytest.mark.parametrize("weights", [SAME[:, 0], SAME[None], SAME.astype(float), SAME.astype(object), SAME[:, :0]])
def test_weights_are_a_table_of_int64(weights):
    with pytest.raises(InvalidDistribution):
        check_approximate(weights, [], EPSILON, Fraction(1, 10))
    check_approximate(SAME[:, :1], [], EPSILON, Fraction(1, 10))  # the least there is
