"""Noise on the smallest map, whose two columns can be written down."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from inbounds.errors import InvalidDistribution, PrivacyViolation
from inbounds.trusted.bounds import TOTAL
from inbounds.trusted.plane_noise import check_plane
from inbounds.trusted.samplers import PlaneSampler

MOVES = {(0, 1): Fraction(1), (0, -1): Fraction(1)}
HAIR = Fraction(1, 10**30)


def smallest(left: int, right: int, anywhere: int) -> np.ndarray:
    """Noise of -1, 0 and 1 on two cells beside each other; nothing of 2**62 remains."""
    return np.array([[left, TOTAL - left - right - 2 * anywhere, right]], dtype=np.int64)


@pytest.mark.parametrize("anywhere", [0, 1 << 57, 1 << 60])
@pytest.mark.parametrize(("left", "right"), [(1 << 60, 1 << 58), (1 << 57, 1 << 59)])
def test_the_border_of_two_cells_is_the_larger_of_their_two_ratios(left, right, anywhere):
    table = smallest(left, right, anywhere)
    stay = int(table[0, 1])
    worst = max(Fraction(side + stay + anywhere, side + anywhere) for side in (left, right))
    with localcontext() as digits:
        digits.prec = 60
        least = Fraction((Decimal(worst.numerator) / Decimal(worst.denominator)).ln())
    check_plane(table, anywhere, MOVES, least + HAIR)
    with pytest.raises(PrivacyViolation):
        check_plane(table, anywhere, MOVES, least - HAIR)


def test_weights_below_zero_or_beyond_the_whole_are_no_distribution():
    table = smallest(1 << 60, 1 << 60, 1 << 59)
    check_plane(table, 1 << 59, MOVES, Fraction(9))
    for wrong, anywhere in ((table, -1), (table, (1 << 59) + 1), (-table, 1 << 59), (table[:, :2], 1 << 59)):
        with pytest.raises(InvalidDistribution):
            check_plane(wrong, anywhere, MOVES, Fraction(9))


def test_the_sampler_moves_a_place_by_its_noise_and_keeps_it_on_the_map():
    """2 rows of 3 places; 15 steps of noise and a report of place 4 are equally likely, one draw each."""
    noise, constant = np.full((3, 5), TOTAL // 16), np.array([0, 0, 0, 0, TOTAL // 16, 0])
    sampler = PlaneSampler.from_weights(noise, constant, None)
    draws = np.arange(32, dtype=np.uint64) << np.uint64(57)
    for place in range(6):
        row, column = divmod(place, 3)
        steps = [(a, b) for a in (-1, 0, 1) for b in range(-2, 3)]
        moved = [3 * min(max(row + a, 0), 1) + min(max(column + b, 0), 2) for a, b in steps]
        found = sampler.outputs(np.full(32, place), draws).tolist()
        assert sorted(found) == sorted(2 * [*moved, 4])
