"""Positions of answers as exact numbers and as floats."""

import math
from fractions import Fraction

import numpy as np
import pytest

from inbounds.trusted.scale import Scale


@pytest.mark.parametrize(
    ("start", "unit"),
    [
        (Fraction(1, 3), Fraction(1, 7)),
        (Fraction(0), Fraction(1, 10**400)),
        (Fraction(10**400 + 1, 10**401), Fraction(1)),
    ],
)
def test_floats_are_the_exact_values_rounded_however_long_their_numbers_are(start, unit):
    scale = Scale(start, unit, range(4))
    assert np.allclose(scale.floats(), [float(value) for value in scale], rtol=1e-15, atol=0)
    assert scale.numbers_at(np.array(2)).shape == ()


def test_values_beyond_the_range_of_floats_are_infinite():
    assert Scale(Fraction(-(10**400) - 1, 2), Fraction(10**400), range(2)).numbers().tolist() == [-math.inf, math.inf]
