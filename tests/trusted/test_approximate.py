"""The checkers of laws with a delta, at their border: the least delta is a sum that can be written down."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from inbounds.errors import DeltaViolation, InvalidDistribution
from inbounds.trusted.bounds import EXP_BITS, TOTAL, ratio_lower_bound
from inbounds.trusted.certify import check_approximate, check_approximate_noise

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


@pytest.mark.parametrize("noise", [[1, 5, 20], [20, 5, 1], [3, 9, 40, 2, 1], [1, 0, 6, 30, 8, 0, 2]])
@pytest.mark.parametrize("reach", [1, 2])
def test_noise_is_refused_a_hair_below_the_largest_delta_of_its_pairs(noise, reach):
    size, half = 4, len(noise) // 2
    table = whole(noise)
    columns = []
    for answer in range(size + 1):
        column = [0] * (size + 1)
        for k, weight in enumerate(table):
            column[min(max(answer + k - half, 0), size)] += weight
        columns.append(column)
    pairs = [(j, k) for j, k in permutations(range(size + 1), 2) if abs(j - k) <= reach]
    least = max(least_delta(columns[j], columns[k]) for j, k in pairs)
    array = np.array(table, dtype=np.int64)
    assert_border(lambda delta: check_approximate_noise(array, size, reach, EPSILON, delta), least)


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1), Fraction(-1, 2), Fraction(3, 2)])
def test_a_delta_is_between_0_and_1(delta):
    same = np.array([whole([1, 1]), whole([1, 1])], dtype=np.int64).T
    with pytest.raises(InvalidDistribution):
        check_approximate(same, [(0, 1)], EPSILON, delta)
    with pytest.raises(InvalidDistribution):
        check_approximate_noise(np.array(whole([1, 2, 1]), dtype=np.int64), 3, 1, EPSILON, delta)
