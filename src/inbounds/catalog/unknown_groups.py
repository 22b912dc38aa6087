"""Counts of groups that are not known before the data is read: which are published, and with which number."""

from fractions import Fraction

import numpy as np

from inbounds.errors import check_kind
from inbounds.exact import Number, to_epsilon, to_fraction
from inbounds.mechanism import Mechanism, Origin
from inbounds.mechanism.laws import Threshold
from inbounds.query import RangeQuery
from inbounds.trusted.bounds import EXP_BITS, TOTAL, ratio_lower_bound

FINE = 1 << 300
"""The weight of the largest noise, before weights are scaled to 2**62."""

MOST_NOISE = 1 << 14
"""Largest noise of a threshold: its table is written out in passports."""


def threshold(query: RangeQuery, epsilon: Number, delta: Number) -> Mechanism:
    """Publish a number of persons with noise where it exceeds the noise's bound, and nothing otherwise (output 0).

    query: `count(n)`, for groups of at most n persons. epsilon, delta: both exact.

    Let G_k be geometric noise of the rate epsilon, cut to -k..k, and d_k its probability at k, with d_k <= delta <
    d_(k-1). The noise is G_k with the probability w and else G_(k-1), where w·d_k + (1 - w)·d_(k-1) = delta. A group of
    n persons is then published with the largest probability that an (epsilon, delta)-private law allows, for every
    n < 2k at once (docs/theory/unknown-groups.md), up to the rounding to whole weights, and its number costs nothing
    more.

    >>> import inbounds as ib
    >>> made = ib.catalog.threshold(ib.count(1000), 1, "1e-6")
    >>> made.law.bound, float(made.law.chance(0)), round(float(made.law.chance(14)), 3)
    (14, 0.0, 0.7)
    """
    check_kind(query, RangeQuery, "query", "made by count")
    exact_epsilon, exact_delta = to_epsilon(epsilon), to_fraction(delta, "delta")
    if not 0 < exact_delta < 1:
        raise ValueError(f"delta must be above 0 and below 1, got {delta}")
    wide, narrow = _tables(exact_epsilon, exact_delta)
    parameters = {"delta": str(exact_delta)}
    return Mechanism(query, exact_epsilon, Threshold(wide, narrow, exact_delta), Origin("threshold", parameters))


def _tables(epsilon: Fraction, delta: Fraction) -> tuple[np.ndarray, np.ndarray]:
    """Return whole weights of both noises, which keep delta after rounding.

    A weight loses less than one unit of 2**-62, and the middle one gets what all of them lost. There are at most
    2k + 3 terms in a sum of the checker, each wrong by at most 1 + e^epsilon units, and 4k units in the middle.
    """
    p = ratio_lower_bound(epsilon, Fraction(1))
    per_step = Fraction(8 * (2 + (p >> EXP_BITS)), TOTAL)
    half, total, before = [FINE], FINE, Fraction(1)  # from the end inwards, the sum of both sides, and d_(k-1)
    while Fraction(FINE, total) > delta - per_step * (len(half) + 1):
        if not delta > per_step * (len(half) + 1) or len(half) > MOST_NOISE:
            raise ValueError(
                f"epsilon {epsilon} and delta {float(delta):g} are too small: noise would exceed {MOST_NOISE}, or "
                "whole weights could not keep delta; give larger ones"
            )
        before = Fraction(FINE, total)
        total += half[-1]  # the middle of a shorter table stands twice in a longer one
        half.append(half[-1] * p >> EXP_BITS)
        total += half[-1]
    k = len(half) - 1
    target = delta - per_step * (k + 2)
    share = min(Fraction(1), (before - target) / (before - Fraction(FINE, total)))
    wide, narrow = _scale_table(half, share), _scale_table(half[:-1], 1 - share)
    wide[k] += TOTAL - sum(wide) - sum(narrow)
    return np.array(wide, dtype=np.int64), np.array(narrow, dtype=np.int64)


def _scale_table(half: list[int], share: Fraction) -> list[int]:
    """Return both sides of a table, scaled to sum to at most share · 2**62; nothing for a share of 0."""
    if not share:
        return []
    both = [*half, *half[-2::-1]]
    scale = share * TOTAL / sum(both)
    return [one * scale.numerator // scale.denominator for one in both]
