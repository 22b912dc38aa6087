"""How much likelier an output can be under one answer than under another, up to any distance: read off the weights."""

import math
from fractions import Fraction

import numpy as np

from inbounds.exact import Ints, round_up_to_float
from inbounds.query import Scale
from inbounds.trusted.certify import sliding_extremes


def largest_ratio(highs: Ints, lows: Ints) -> float:
    """The largest ratio of weights, rounded up; infinite beside a zero. Two zeros reveal nothing."""
    high, low = highs[highs > 0], lows[highs > 0]
    if (low == 0).any():
        return math.inf
    ratios = high / low
    near = ratios >= ratios.max(initial=0.0) * (1 - 1e-12)
    pairs = np.unique(np.stack([high[near], low[near]]), axis=1)  # many cells, few different ones
    return round_up_to_float(max(Fraction(*pair) for pair in pairs.T.tolist()))


def ratio_in_matrix(weights: Ints, answers: Scale, steps: int) -> float:
    """The worst ratio between answers at most `steps` grid steps apart."""
    ticks = answers.ticks
    if steps >= ticks[-1]:
        return largest_ratio(weights.max(axis=1), weights.min(axis=1))
    if answers.is_regular:
        return largest_ratio(
            sliding_extremes(np.maximum, weights.T, steps), sliding_extremes(np.minimum, weights.T, steps)
        )
    places = np.asarray(ticks, dtype=np.int64)
    stops = np.searchsorted(places, places + steps, side="right").tolist()
    blocks = [weights[:, start:stop] for start, stop in enumerate(stops)]
    return max(largest_ratio(block.max(axis=1), block.min(axis=1)) for block in blocks)


def ratio_in_noise(table: Ints, steps: int) -> float:
    """On noise weights from -size to size: two weights at most `steps` apart in the range, two tail sums at its ends.

    Renaming outputs afterwards can only lower it.
    """
    inner = table[1:-1]
    width = min(steps, len(inner) - 1)
    inside = largest_ratio(sliding_extremes(np.maximum, inner, width), sliding_extremes(np.minimum, inner, width))
    tails = [np.cumsum(side)[: len(table) // 2 + 1] for side in (table, table[::-1])]
    return max(inside, *(largest_ratio(tail[steps:], tail[: len(tail) - steps]) for tail in tails))
