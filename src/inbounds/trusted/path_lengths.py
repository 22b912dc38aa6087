"""Path lengths: how many records must change until a quantile is another value. Exact, for many groups at once.

A group is a histogram: how many of its records have each of the values 0..w. F(t) is how many are at most t, L(t) how
many are below t. The a/b-quantile of n records is the least t with b·F(t) >= a·n, the k-th smallest with
k = max(1, ceil(a·n/b)); 0 is the minimum, 1 the maximum. Every function returns one length for each value; it is 0
exactly at the truth, and moves by at most 1 between neighbours. Proofs: docs/theory/quantiles.md.
"""

from fractions import Fraction

import numpy as np

from inbounds.exact import Ints

MOST_PARTS = 10**6
"""The largest denominator of a quantile: 0.999999 has it."""


def quantile_rank(at: Fraction, size: int) -> int:
    """Which of `size` records in order the quantile is, from 1."""
    return max(1, -(-at.numerator * size // at.denominator))


def path_lengths_changed(histograms: Ints, at: Fraction, size: int, missing: int) -> Ints:
    """Least number of records to *change* in groups of a public size: max(0, L - k + 1, k - F).

    Records short of the size count as `missing`; surplus ones are there, and move F and L like any other.
    """
    full = pad_histograms(histograms, size, missing)
    upto = np.cumsum(full, axis=1)
    k = quantile_rank(at, size)
    return np.asarray(np.maximum(np.maximum(upto - full - k + 1, k - upto), 0))


def path_lengths_added(histograms: Ints, at: Fraction, missing: int) -> Ints:
    """Least number of records to *add or remove*, however many there are; without records the quantile is `missing`.

    With H = b·L - a·n and K = a·n - b·F: t is too high where H >= 0 and too low where K > 0. A record added at t takes
    a from H and b - a from K; one removed below t takes b - a from H, one removed above takes a from K. The larger
    takes as long as it can; where it is the removal and no record is at t, one must be added there as well.
    """
    full = _cap_counts(histograms, at.denominator)
    upto = np.cumsum(full, axis=1)
    n, below, nobody = upto[:, -1:], upto - full, full == 0
    if at == 0:
        found = below + nobody
    else:
        a, rest = at.numerator, at.denominator - at.numerator
        high, low = at.denominator * below - a * n, a * n - at.denominator * upto
        if a >= rest:
            down = high // a + 1
            up = -(-low // a) + (nobody & ((low - 1) % a >= rest))
        else:
            down = high // rest + 1 + (nobody & (high % rest >= a))
            up = -(-low // rest)
        found = np.where(high >= 0, down, np.where(low > 0, up, 0))
    found[:, missing] = np.minimum(found[:, missing], n[:, 0])  # or all are removed
    return np.asarray(found)


def pad_histograms(histograms: Ints, size: int, missing: int) -> Ints:
    """Histograms of at least `size` records: those short of it count as `missing`."""
    full = _cap_counts(histograms, 1)
    full[:, missing] += np.maximum(size - full.sum(axis=1), 0)
    return full


def group_by_person(lengths: Ints, records: int) -> Ints:
    """ceil(length / r) where one person has up to r records: what r records move by r, a person moves by 1."""
    return -(-lengths // records)


def _cap_counts(histograms: Ints, parts: int) -> Ints:
    """A copy whose products with `parts` cannot overflow. Cutting a count off brings no two groups further apart."""
    return np.asarray(np.minimum(histograms, (1 << 60) // (parts * histograms.shape[1])))
