"""Path lengths: how many records must change until a quantile is another value. Exact, for many groups at once.

A group is a histogram: how many of its records have each of the values 0..w. F(t) is the number of records at most t,
L(t) the number below t. The a/b-quantile of n records is the least t with b·F(t) >= a·n, i.e. the k-th smallest record
with k = max(1, ceil(a·n/b)); 0 is the minimum, 1 the maximum. Every function returns one length for each value. The
length is 0 exactly at the true quantile and moves by at most 1 between neighbours. Proofs: docs/theory/quantiles.md.
"""

from fractions import Fraction

import numpy as np

from inbounds.exact import Ints

MOST_PARTS = 10**6
"""The largest denominator of a quantile, that of 0.999999."""


def quantile_rank(at: Fraction, size: int) -> int:
    """Return the rank, from 1, of the record that is the quantile of `size` records."""
    return max(1, -(-at.numerator * size // at.denominator))


def path_lengths_changed(histograms: Ints, at: Fraction, size: int, missing: int) -> Ints:
    """Return the least number of records to *change* in groups of a public size: max(0, L - k + 1, k - F).

    Records short of the size count as `missing`; surplus records count in F and L like any other.
    """
    full = pad_histograms(histograms, size, missing)
    upto = np.cumsum(full, axis=1)
    k = quantile_rank(at, size)
    return np.asarray(np.maximum(np.maximum(upto - full - k + 1, k - upto), 0))


def path_lengths_added(histograms: Ints, at: Fraction, missing: int) -> Ints:
    """Return the least number of records to *add or remove*; the quantile of a group without records is `missing`.

    With H = b·L - a·n and K = a·n - b·F: t is too high if H >= 0 and too low if K > 0. A record added at t takes
    a from H and b - a from K; one removed below t takes b - a from H, one removed above takes a from K. The operation
    with the larger effect is repeated; if that is the removal and no record is at t, one must be added there as well.
    """
    full = _cap_counts(histograms, at.denominator)
    upto = np.cumsum(full, axis=1)
    n, below, is_empty = upto[:, -1:], upto - full, full == 0
    if at == 0:
        lengths = below + is_empty
    else:
        a, complement = at.numerator, at.denominator - at.numerator
        high, low = at.denominator * below - a * n, a * n - at.denominator * upto
        if a >= complement:
            down = high // a + 1
            up = -(-low // a) + (is_empty & ((low - 1) % a >= complement))
        else:
            down = high // complement + 1 + (is_empty & (high % complement >= a))
            up = -(-low // complement)
        lengths = np.where(high >= 0, down, np.where(low > 0, up, 0))
    lengths[:, missing] = np.minimum(lengths[:, missing], n[:, 0])  # or remove all records
    return np.asarray(lengths)


def pad_histograms(histograms: Ints, size: int, missing: int) -> Ints:
    """Return histograms of at least `size` records: records short of it count as `missing`."""
    full = _cap_counts(histograms, 1)
    full[:, missing] += np.maximum(size - full.sum(axis=1), 0)
    return full


def group_by_person(lengths: Ints, records: int) -> Ints:
    """Return ceil(length / r) for persons with up to r records each: what r records move by r, a person moves by 1."""
    return -(-lengths // records)


def _cap_counts(histograms: Ints, parts: int) -> Ints:
    """Return a copy whose products with `parts` cannot overflow. Capping a count brings no two groups further apart."""
    return np.asarray(np.minimum(histograms, (1 << 60) // (parts * histograms.shape[1])))
