"""How many records must come or go: for the least and the largest value it can be said in a line."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from inbounds.trusted.path_lengths import path_lengths_added

GROUPS = [group for group in product(range(3), repeat=4) if sum(group) <= 5]


@pytest.mark.parametrize("missing", range(4))
def test_a_value_is_the_least_once_all_below_it_are_gone_and_one_is_there(missing):
    for at, groups in ((Fraction(0), GROUPS), (Fraction(1), [group[::-1] for group in GROUPS])):
        default = missing if at == 0 else 3 - missing
        found = path_lengths_added(np.array(groups), at, default).tolist()
        for group, own in zip(GROUPS, found, strict=True):
            expected = [sum(group[:t]) + (group[t] == 0) for t in range(4)]
            expected[missing] = min(expected[missing], sum(group))
            assert (own if at == 0 else own[::-1]) == expected


@pytest.mark.parametrize("many", [1 << 50, 1 << 62, (1 << 63) - 1])
def test_no_count_is_so_large_that_a_length_overflows(many):
    """Nearly all records have the value 1, so it is the quantile, and the others are as far as can be counted."""
    at, histograms = Fraction(999_999, 10**6), np.array([[1, many, 1]])
    lengths = path_lengths_added(histograms, at, missing=0)
    assert lengths[0, 1] == 0
    assert (lengths[0, [0, 2]] > 1 << 17).all()
