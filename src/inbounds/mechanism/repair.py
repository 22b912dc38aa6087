"""From floats to weights: integers near a matrix that keep every ratio. Trusted by nobody; the checker decides."""

from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from inbounds.numbers import Floats, Ints
from inbounds.trusted.bounds import EXP_BITS, TOTAL, Clique, ratio_below


def least_neighbour(high: Ints, p: int) -> Ints:
    """The least weight that may stand beside `high`: ceil(high · 2**EXP_BITS / p)."""
    return np.asarray(-((-(high.astype(object) << EXP_BITS)) // p), dtype=np.int64)


def raise_rows(weights: Ints, ratios: list[tuple[slice, int]]) -> None:
    """Raise entries, in place, until every row keeps every ratio; raising only costs utility.

    On a line one sweep each way is enough (an entry is raised by its larger neighbour, never by a smaller
    one); sweeps repeat until nothing changes, so other neighbourhoods are covered as well.
    """
    changed = True
    while changed:
        changed = False
        for window, p in (*ratios, *reversed(ratios)):
            block = weights[:, window]
            least = least_neighbour(block.max(axis=1), p)
            short = block < least[:, None]
            if short.any():
                np.maximum(block, least[:, None], out=block)
                changed = True


def _leftover_shortage(leftover: list[int], ratios: list[tuple[slice, int]]) -> int:
    """How many more units in every column would make the leftovers themselves a private row; 0 if they are."""
    shortage = max(0, -min(leftover))
    for window, p in ratios:
        high, low = max(leftover[window]), min(leftover[window])
        if high << EXP_BITS > p * low:
            gain = max(1, p - (1 << EXP_BITS))  # (low + c)·p >= (high + c)·2^EXP_BITS  <=>  c >= …
            shortage = max(shortage, -((p * low - (high << EXP_BITS)) // gain))
    return shortage


def weights_near(
    matrix: Floats, cliques: Iterable[Clique], epsilon: Fraction, *, total: int = TOTAL, even: bool = False
) -> Ints:
    """Integer weights close to `matrix` (non-negative, columns with mass) that keep every ratio exactly.

    Round down to multiples of 1/total, raise rows, give each column's leftover to the one output that every
    answer reports most surely. The leftovers differ a little between columns; a reserve of units kept back
    in all of them makes the leftover itself a private row, and a sum of private rows is private.
    even: every output receives the reserve, which keeps fairness and monotonicity to the few units by which
    the leftovers differ.
    """
    ratios = [(slice(c.start, c.stop), ratio_below(epsilon, c.distance)) for c in cliques]
    share = matrix / matrix.sum(axis=0)
    others = len(matrix) - 1 if even else 0
    reserve = 0
    while reserve < total:
        weights = np.floor(share * float(total - reserve)).astype(np.int64)
        raise_rows(weights, ratios)
        leftover = [total - s for s in weights.sum(axis=0, dtype=object)]
        each = max(0, min(leftover)) // (others + 1) if even else 0
        rest = [units - others * each for units in leftover]
        shortage = _leftover_shortage(rest, ratios)
        if not shortage:
            break
        reserve += (others + 1) * (shortage + (shortage >> 3) + 2)
    else:
        weights, each, rest = np.zeros(matrix.shape, dtype=np.int64), 0, [total] * matrix.shape[1]
    surest = weights.min(axis=1).argmax()
    weights += each
    weights[surest] += np.array(rest, dtype=np.int64) - each
    return np.asarray(weights)


def mirrored_weights(matrix: Floats, cliques: Iterable[Clique], epsilon: Fraction, *, even: bool = False) -> Ints:
    """As `weights_near`, exactly symmetric: half the total for the matrix, half for its mirror image."""
    half = weights_near(matrix, cliques, epsilon, total=TOTAL // 2, even=even)
    return half + half[::-1, ::-1]
