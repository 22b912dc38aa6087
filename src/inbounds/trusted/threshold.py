"""The checker of counts that are reported only above a threshold, so that a group of nobody is never reported.

A count n of persons is reported as n + noise where that exceeds the bound of the noise that was drawn; otherwise
nothing is reported. The noise has a bound of k with the weights `wide`, and of k - 1 with the weights `narrow`, which
sum to 2**62 together. So a count of 0 is never reported, and for counts n the law has the weights

    report o > k     both[o - n], the sum of the two tables
    report k         narrow[k - n]
    nothing          the rest

The law is (epsilon, delta)-private between counts n and n + 1 if for both orders of the two, P and Q, and
p / 2**128 <= exp(epsilon), the sum over outputs of max(0, P · 2**128 - p · Q) is at most delta · 2**62 · 2**128. For
reports above k these terms depend on o - n alone, so their sum is a sum of the last terms of one list. From n = 2k + 1
on every report is above k, and all pairs have the same sums.

Reports are then moved to at most the largest count, which is post-processing.
"""

from fractions import Fraction
from itertools import accumulate

import numpy as np

from inbounds.errors import DeltaViolation, InvalidDistribution
from inbounds.exact import Ints
from inbounds.trusted.bounds import EXP_BITS, TOTAL, ratio_lower_bound


def check_threshold(wide: Ints, narrow: Ints, epsilon: Fraction, delta: Fraction) -> None:
    """Raise unless the law is a distribution, and (epsilon, delta)-private for counts one apart, in integers."""
    for table in (wide, narrow):
        if table.dtype != np.int64 or table.ndim != 1 or (table < 0).any():
            raise InvalidDistribution("weights of noise must be an int64 array, and not negative")
    if len(wide) < 3 or len(wide) % 2 == 0 or len(narrow) not in (0, len(wide) - 2):
        raise InvalidDistribution("the noise must be -k..k with k at least 1, and -(k - 1)..k - 1 or nothing")
    if sum(wide.tolist()) + sum(narrow.tolist()) != TOTAL:
        raise InvalidDistribution("the weights of both noises together must sum to 2**62")
    if not 0 < delta < 1:
        raise InvalidDistribution(f"delta must be above 0 and below 1, got {delta}")
    k = len(wide) // 2
    outer, inner = wide.tolist(), [0, *narrow.tolist(), 0] if len(narrow) else [0] * len(wide)
    both, p = [one + other for one, other in zip(outer, inner, strict=True)], ratio_lower_bound(epsilon, Fraction(1))
    upto = [[0, *accumulate(table)] for table in (outer, inner)]  # upto[v + k + 1]: noise at most v
    # terms of reports above k, for noise d = -k - 1..k + 1 of the first count: the other count has noise d - step
    above = {step: _sum_last(both, step, p) for step in (1, -1)}

    def nothing(n: int) -> int:
        wide_upto, narrow_upto = (
            sums[min(max(last + k + 1, 0), len(sums) - 1)] for sums, last in zip(upto, (k - n, k - 1 - n), strict=True)
        )
        return int(wide_upto + narrow_upto)

    def at_bound(n: int) -> int:
        return inner[2 * k - n] if n <= 2 * k else 0

    allowed = delta.numerator * TOTAL << EXP_BITS
    for n in range(2 * k + 2):
        for first, second in ((n, n + 1), (n + 1, n)):
            excess = above[second - first][min(max(2 * k + 2 - first, 0), 2 * k + 3)]
            for high, low in ((nothing(first), nothing(second)), (at_bound(first), at_bound(second))):
                excess += max(0, (high << EXP_BITS) - p * low)
            if excess * delta.denominator > allowed:
                raise DeltaViolation((first, second), Fraction(excess, TOTAL << EXP_BITS), delta)


def _sum_last(table: list[int], step: int, p: int) -> list[int]:
    """Return sums of max(0, t[d] · 2**128 - p · t[d - step]) over the noise d from each of -k - 1..k + 1, and none."""
    k = len(table) // 2

    def weight(d: int) -> int:
        return table[d + k] if -k <= d <= k else 0

    terms = [max(0, (weight(d) << EXP_BITS) - p * weight(d - step)) for d in range(-k - 1, k + 2)]
    return [*accumulate(reversed(terms), initial=0)][::-1]
