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
