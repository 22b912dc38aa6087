"""The checker: integers only. With `exact.exp_below` it is all that has to be trusted.

It knows nothing of how weights were made. A matrix W of weights stands for Pr[i | j] = W[i, j] / 2**62.
It passes when every weight is non-negative, every column sums to exactly 2**62, and for any two neighbouring
answers j, k and every output i,

    W[i, j] · 2**128 <= p · W[i, k]      with  p / 2**128 <= exp(epsilon · distance),

hence Pr[i | j] <= exp(epsilon · distance) · Pr[i | k]: differential privacy, with no tolerance anywhere.
"""

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import accumulate

import numpy as np

from inbounds.errors import NotADistribution, PrivacyViolation
from inbounds.numbers import Ints
from inbounds.trusted.bounds import EXP_BITS, TOTAL, Clique, ratio_below

Pairs = Iterable[tuple[int, int]]


def check_matrix(weights: Ints, cliques: Iterable[Clique], epsilon: Fraction) -> None:
    """Raise unless the weights are a distribution in every column and private for every clique."""
    if weights.dtype != np.int64 or weights.ndim != 2 or weights.size == 0:
        raise NotADistribution("weights must be a two-dimensional array of int64")
    if (weights < 0).any():
        raise NotADistribution("weights must not be negative")
    for j, column_sum in enumerate(weights.sum(axis=0, dtype=object)):
        if column_sum != TOTAL:
            raise NotADistribution(f"column {j} must sum to 2**62, it misses by {TOTAL - column_sum}")
    for start, stop, distance in cliques:
        p = ratio_below(epsilon, distance)
        block = weights[:, start:stop]
        highs, lows = block.max(axis=1).tolist(), block.min(axis=1).tolist()
        for i, (high, low) in enumerate(zip(highs, lows, strict=True)):
            if high << EXP_BITS > p * low:
                worst = (start + int(block[i].argmax()), start + int(block[i].argmin()))
                raise PrivacyViolation(i, worst, high / low if low else float("inf"), p / 2**EXP_BITS)


def check_noise(core: Ints, floor: int, end: int, size: int, reach: int, distance: Fraction, epsilon: Fraction) -> None:
    """Raise unless clamp(answer + noise, 0, size) is private for answers 0..size at most `reach` apart.

    The noise weights are t[d] = core[d + K] for |d| <= K, `floor` for K < |d| < size, and `end` for
    |d| = size. Written out as a matrix, an output i strictly between 0 and size has weight t[i - j] under
    answer j: any two weights at most `reach` apart stand in one row. Output 0 has the tail sum
    t[-size] + … + t[-j], and output `size` the same sum from the other side.
    """
    if core.dtype != np.int64 or core.ndim != 1 or len(core) % 2 == 0 or len(core) // 2 >= size:
        raise NotADistribution("core must be an int64 array for the noise -K..K with K below the size")
    if (core < 1).any() or floor < 1 or end < 1:
        raise NotADistribution("noise weights must be positive")
    run = size - 1 - len(core) // 2
    missing = TOTAL - int(core.sum(dtype=object)) - 2 * run * floor - 2 * end
    if missing:
        raise NotADistribution(f"noise weights must sum to 2**62, they miss by {missing}")
    p = ratio_below(epsilon, distance)
    for width, pairs in neighbouring_weights(core, floor, end, size, reach):
        _compare(pairs, width, p)


def neighbouring_weights(core: Ints, floor: int, end: int, size: int, reach: int) -> Iterator[tuple[int, Pairs]]:
    """(width, (high, low), …): pairs of weights of one output under answers `width` apart, the worst among them."""
    run = size - 1 - len(core) // 2
    table = np.pad(core, min(run, reach), constant_values=floor)
    width = min(reach, len(table) - 1)
    highs, lows = sliding(np.maximum, table, width), sliding(np.minimum, table, width)
    yield width, zip(highs.tolist(), lows.tolist(), strict=True)
    half = len(core) // 2 + 1
    for tail in (core[:half].tolist(), core[::-1][:half].tolist()):
        # The row of an end of the range: S[m + reach] <= ratio · S[m], S[m] = the m + 1 outermost weights.
        # Sums that meet only the floor are worst at the far end, so S[0] and S[reach] speak for them.
        skip = max(0, run - reach)
        sums = list(accumulate([end + skip * floor, *[floor] * (run - skip), *tail]))
        pairs = zip(sums[min(reach, len(sums) - 1) :], sums, strict=False)
        yield reach, [*pairs, (end + reach * floor, end)] if skip else pairs


def _compare(pairs: Pairs, reach: int, p: int) -> None:
    for d, (high, low) in enumerate(pairs):
        if high << EXP_BITS > p * low:
            raise PrivacyViolation(d, (d, d + reach), high / low, p / 2**EXP_BITS)


def sliding(best: Callable[[Ints, Ints], Ints], table: Ints, reach: int) -> Ints:
    """best (maximum or minimum) over every `reach + 1` consecutive entries, by doubling; exact."""
    width = 1
    while width < reach + 1:
        step = min(width, reach + 1 - width)
        table = best(table[: len(table) - step], table[step:])
        width += step
    return table
