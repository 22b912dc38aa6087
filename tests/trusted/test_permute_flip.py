"""The checker of score tables at the border: the index of the sampler is not quite uniform, and that is paid for."""

from fractions import Fraction

import pytest

from inbounds.errors import ScoreRatioViolation
from inbounds.trusted.bounds import EXP_BITS, TOTAL, ratio_lower_bound
from inbounds.trusted.permute_flip import check_scores, ratio_bounds

WIDTH = 1000
TABLE = [TOTAL // 2**k for k in range(20)]
GRID = 10**25


def least_epsilon(factor):
    """The least epsilon on a grid whose exp is at least the largest ratio times a factor."""
    high, low = max(ratio_bounds(TABLE, 1, (), WIDTH), key=lambda ratio: Fraction(*ratio))
    wanted, below, above = Fraction(high, low) * factor, 0, 64 * GRID
    while above - below > 1:
        middle = (below + above) // 2
        enough = Fraction(ratio_lower_bound(Fraction(middle, GRID), Fraction(1)), 1 << EXP_BITS) >= wanted
        below, above = (below, middle) if enough else (middle, above)
    return Fraction(above, GRID)


def test_the_ratio_of_the_weights_alone_is_not_enough():
    slack = Fraction(TOTAL + WIDTH + 1, TOTAL - WIDTH - 1)
    check_scores(TABLE, 1, (), WIDTH, least_epsilon(slack))
    for factor in (Fraction(1), slack - Fraction(1, 10**18)):
        with pytest.raises(ScoreRatioViolation):
            check_scores(TABLE, 1, (), WIDTH, least_epsilon(factor))
