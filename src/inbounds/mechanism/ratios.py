"""The largest ratio of an output's probabilities under two answers at most some steps apart, from integer weights."""

import math
from fractions import Fraction

import numpy as np

from inbounds.exact import Ints, round_up_to_float
from inbounds.query import Scale
from inbounds.trusted.certify import sliding_extremes


def largest_ratio(highs: Ints, lows: Ints) -> float:
    """Return the largest high / low, rounded up; infinite if only `low` is zero. Pairs of zeros are skipped."""
    high, low = highs[highs > 0], lows[highs > 0]
    if (low == 0).any():
        return math.inf
    ratios = high / low
    near = ratios >= ratios.max(initial=0.0) * (1 - 1e-12)
    pairs = np.unique(np.stack([high[near], low[near]]), axis=1)  # many cells, few distinct pairs
    return round_up_to_float(max(Fraction(*pair) for pair in pairs.T.tolist()))


def ratio_in_matrix(weights: Ints, answers: Scale, steps: int) -> float:
    """Return the largest ratio between answers at most `steps` grid steps apart."""
    ticks = answers.ticks
    if steps >= ticks[-1]:
        return largest_ratio(weights.max(axis=1), weights.min(axis=1))
    if answers.is_regular:
        return largest_ratio(
            sliding_extremes(np.maximum, weights.T, steps), sliding_extremes(np.minimum, weights.T, steps)
        )
    positions = np.asarray(ticks, dtype=np.int64)
    stops = np.searchsorted(positions, positions + steps, side="right").tolist()
    blocks = [weights[:, start:stop] for start, stop in enumerate(stops)]
    return max(largest_ratio(block.max(axis=1), block.min(axis=1)) for block in blocks)


def ratio_in_noise(table: Ints, steps: int) -> float:
    """Return the largest ratio between answers at most `steps` apart, from noise weights from -size to size.

    It compares weights inside the range and tail sums at its ends. A remap of the outputs can only lower the ratio.
    """
    inner = table[1:-1]
    width = min(steps, len(inner) - 1)
    inside = largest_ratio(sliding_extremes(np.maximum, inner, width), sliding_extremes(np.minimum, inner, width))
    tails = [np.cumsum(side)[: len(table) // 2 + 1] for side in (table, table[::-1])]
    return max(inside, *(largest_ratio(tail[steps:], tail[: len(tail) - steps]) for tail in tails))
