"""The checker of counts above a threshold, compared with the definition: every count, both orders, to the last unit."""

import random
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from inbounds.errors import DeltaViolation, InvalidDistribution
from inbounds.trusted.bounds import EXP_BITS, TOTAL, exp_lower_bound
from inbounds.trusted.samplers import ThresholdSampler
from inbounds.trusted.threshold import check_threshold

EPSILON = Fraction(1, 2)
TINY = Fraction(1, 1 << 200)


def tables(seed):
    """Two noise tables of random weights, of which some are 0; they sum to 2**62."""
    choose = random.Random(seed)
    k = choose.randint(1, 3)
    weights = [choose.choice([0, 1, 3, 9, 27]) * choose.randrange(1, 1 << 40) for _ in range(4 * k)]
    weights[k] += TOTAL - sum(weights)
    return np.array(weights[: 2 * k + 1]), np.array(weights[2 * k + 1 :])


def law(wide, narrow, count):
    """The weight of every report of a count; 0 stands for none."""
    weights = dict.fromkeys(range(count + len(wide)), 0)
    for table in (wide.tolist(), narrow.tolist()):
        bound = len(table) // 2
        for noise, weight in enumerate(table, start=-bound):
            weights[count + noise if count + noise > bound else 0] += weight
    return weights


def worst_excess(wide, narrow):
    p, laws = exp_lower_bound(EPSILON), [law(wide, narrow, count) for count in range(3 * len(wide))]
    pairs = [pair for one, two in pairwise(laws) for pair in ((one, two), (two, one))]
    return max(sum(max(0, (high << EXP_BITS) - p * two.get(o, 0)) for o, high in one.items()) for one, two in pairs)


@pytest.mark.parametrize("seed", range(40))
def test_the_least_delta_is_that_of_the_definition(seed):
    wide, narrow = tables(seed)
    delta = Fraction(worst_excess(wide, narrow), TOTAL << EXP_BITS)
    check_threshold(wide, narrow, EPSILON, delta)
    with pytest.raises(DeltaViolation):
        check_threshold(wide, narrow, EPSILON, delta - TINY)


def test_what_is_no_law_is_refused():
    wide, narrow = tables(0)
    for wrong in ((wide[:-1], narrow), (wide, np.append(narrow, 0)), (wide + 1, narrow), (-wide, narrow)):
        with pytest.raises(InvalidDistribution):
            check_threshold(*wrong, EPSILON, Fraction(1, 2))
    for delta in (Fraction(0), Fraction(1)):
        with pytest.raises(InvalidDistribution):
            check_threshold(wide, narrow, EPSILON, delta)


def test_the_sampler_draws_the_law_of_the_definition():
    """All noise of each table is one draw here: four outcomes of a quarter each, with three bounds of reports."""
    quarter = TOTAL // 4
    wide, narrow = np.array([quarter, 0, 0, 0, quarter]), np.array([quarter, 0, quarter])
    size = 4
    sampler = ThresholdSampler.from_weights(wide, narrow, size)
    draws = np.arange(16, dtype=np.uint64) << np.uint64(58)
    for count in range(size + 1):
        found = sampler.outputs(np.full(16, count), draws).tolist()
        expected = [
            min(report, size) for report, weight in law(wide, narrow, count).items() for _ in range(weight >> 58)
        ]
        assert sorted(found) == sorted(expected)
