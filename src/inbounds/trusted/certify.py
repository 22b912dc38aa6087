"""The checkers: integers only. With `bounds.exp_below` they are all that has to be trusted of a law.

They know nothing of how weights were made. A matrix W of weights stands for Pr[i | j] = W[i, j] / 2**62.
It passes when every weight is non-negative, every column sums to exactly 2**62, and for any two neighbouring
answers j, k and every output i,

    W[i, j] · 2**128 <= p · W[i, k]      with  p / 2**128 <= exp(epsilon · distance),

hence Pr[i | j] <= exp(epsilon · distance) · Pr[i | k]: differential privacy, with no tolerance anywhere. One checker
for each kind of law: a matrix over runs of neighbours or the edges of a graph, a noise table, a matrix over states, a
product of matrices, randomized response, blocks of labels; `is_within_ratio` for all.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import accumulate, groupby, islice

import numpy as np

from inbounds.errors import InvalidDistribution, PrivacyViolation
from inbounds.exact import Ints, Wholes
from inbounds.trusted.bounds import EXP_BITS, TOTAL, Clique, Edge, ratio_lower_bound

Window = tuple[int, int, int, int]
"""Answers start..stop-1 at levels first..last are neighbours of each other."""

Pairs = Iterable[tuple[int, int]]

CLIQUES_AT_A_TIME = 64
PAIRS_AT_A_TIME = 1 << 14
BASE, DIGIT = np.uint64(32), np.uint64(0xFFFFFFFF)


def check_matrix(weights: Ints, cliques: Iterable[Clique], epsilon: Fraction) -> None:
    """Raise unless the weights are a distribution in every column and private for every clique."""
    if weights.dtype != np.int64 or weights.ndim != 2 or weights.size == 0:
        raise InvalidDistribution("weights must be a two-dimensional array of int64")
    check_distributions(weights)
    for distance, alike in groupby(cliques, key=lambda clique: clique.distance):
        p = ratio_lower_bound(epsilon, distance)
        while some := [*islice(alike, CLIQUES_AT_A_TIME)]:
            blocks = [weights[:, start:stop] for start, stop, _ in some]
            highs, lows = (np.stack([best(block, axis=1) for block in blocks]) for best in (np.max, np.min))
            if not are_within_ratio(highs, lows, p):
                for block, (start, stop, _) in zip(blocks, some, strict=True):
                    _check_rows(block, range(start, stop), p)


def check_edges(weights: Ints, edges: Sequence[Edge], epsilon: Fraction) -> None:
    """Raise unless the weights are a distribution in every column and private across every edge.

    W[i, tail] · 2**128 <= p · W[i, head] with p / 2**128 <= exp(epsilon · length). Along a path the ratios multiply
    and the lengths add up, so any two answers keep the length of the shortest path between them.
    """
    if weights.dtype != np.int64 or weights.ndim != 2 or weights.size == 0:
        raise InvalidDistribution("weights must be a two-dimensional array of int64")
    check_distributions(weights)
    outputs, answers = weights.shape
    at_a_time = max(1, PAIRS_AT_A_TIME // outputs)
    for length, alike in edges_by_length(edges):
        p = ratio_lower_bound(epsilon, length)
        for start in range(0, len(alike), at_a_time):
            some = alike[start : start + at_a_time]
            if not all(0 <= tail < answers and 0 <= head < answers for tail, head in some):
                raise InvalidDistribution(f"edges must join two of the {answers} answers")
            tails, heads = np.array(some, dtype=np.int64).T
            if not are_within_ratio(weights[:, tails], weights[:, heads], p):
                for tail, head in some:
                    _check_edge(weights[:, tail], weights[:, head], (tail, head), p)


def edges_by_length(edges: Iterable[Edge]) -> list[tuple[Fraction, list[tuple[int, int]]]]:
    """(tail, head) of the edges of every length, lengths in the order of their first edge.

    Sorted and grouped, once for every length that is one object in memory: a dictionary of lengths from a hostile file,
    all of one hash, would take quadratic time.
    """
    held = [*edges]  # their lengths stay where they are
    places: dict[int, list[int]] = {}
    for place, edge in enumerate(held):
        places.setdefault(id(edge.length), []).append(place)
    ranked = sorted(places.values(), key=lambda some: held[some[0]].length)
    alike = groupby(ranked, key=lambda some: held[some[0]].length)
    groups = sorted(sorted(place for some in group for place in some) for _, group in alike)
    return [(held[some[0]].length, [held[place][:2] for place in some]) for some in groups]


def _check_edge(highs: Ints, lows: Ints, pair: tuple[int, int], p: int) -> None:
    for i, (high, low) in enumerate(zip(highs.tolist(), lows.tolist(), strict=True)):
        if not is_within_ratio(high, low, p):
            raise PrivacyViolation(i, pair, multiply_exact(high, low), p / 2**EXP_BITS)


def check_states(weights: Ints, windows: Iterable[Window], epsilon: Fraction) -> None:
    """As `check_matrix` where the law depends on a level beside the answer: weights[output, level, answer]."""
    if weights.dtype != np.int64 or weights.ndim != 3 or weights.size == 0:
        raise InvalidDistribution("weights must be outputs × levels × answers in int64")
    check_distributions(weights.reshape(len(weights), -1))
    p = ratio_lower_bound(epsilon, Fraction(1))
    for start, stop, first, last in windows:
        block = weights[:, first : last + 1, start:stop].reshape(len(weights), -1)
        _check_rows(block, [*range(start, stop)] * weights.shape[1], p)


def check_product(law: Wholes, cliques: Iterable[Clique], epsilon: Fraction) -> None:
    """As `check_matrix` for whole numbers of any size over one total: products of matrices, joint laws."""
    if (law < 0).any() or len(set(law.sum(axis=0))) != 1:
        raise InvalidDistribution("a law must be non-negative, with the same sum for every answer")
    for start, stop, distance in cliques:
        _check_rows(law[:, start:stop], range(start, stop), ratio_lower_bound(epsilon, distance))


def check_groups(weights: Ints, groups: Ints, epsilon: Fraction) -> None:
    """As `check_matrix` for any neighbours: a row of `groups` names answers that are neighbours of each other."""
    if weights.dtype != np.int64 or weights.ndim != 2 or weights.size == 0:
        raise InvalidDistribution("weights must be a two-dimensional array of int64")
    check_distributions(weights)
    p = ratio_lower_bound(epsilon, Fraction(1))
    for answers in groups.tolist():
        _check_rows(weights[:, answers], answers, p)


def check_distributions(weights: Ints) -> None:
    """Raise unless every column holds weights that are not negative and sum to exactly 2**62."""
    if (weights < 0).any():
        raise InvalidDistribution("weights must not be negative")
    for j, column_sum in enumerate(weights.sum(axis=0, dtype=object)):
        if column_sum != TOTAL:
            raise InvalidDistribution(f"column {j} must sum to 2**62, it misses by {TOTAL - column_sum}")


def _check_rows(block: Ints | Wholes, answers: Sequence[int], p: int) -> None:
    """Raise where a row of neighbours holds two weights further apart than p / 2**128; column c is answers[c]."""
    highs, lows = block.max(axis=1).tolist(), block.min(axis=1).tolist()
    for i, (high, low) in enumerate(zip(highs, lows, strict=True)):
        if not is_within_ratio(high, low, p):
            pair = answers[int(block[i].argmax())], answers[int(block[i].argmin())]
            raise PrivacyViolation(i, pair, multiply_exact(high, low), p / 2**EXP_BITS)


def is_within_ratio(high: int, low: int, p: int) -> bool:
    """high <= (p / 2**128) · low, in whole numbers of any size."""
    return high << EXP_BITS <= p * low


def are_within_ratio(highs: Ints, lows: Ints, p: int) -> bool:
    """`is_within_ratio` everywhere, for weights 0..2**62: floor(p · low / 2**128) by long multiplication, base 2**32.

    A digit is at most B - 1 with B = 2**32, so digit · digit + digit + carry <= (B - 1)² + 2·(B - 1) = 2**64 - 1.
    """
    ratio = [np.uint64(p >> place & 0xFFFFFFFF) for place in range(0, p.bit_length(), 32)]
    digits = np.zeros((max(len(ratio) + 2, 6), *lows.shape), dtype=np.uint64)
    wide = lows.astype(np.uint64)
    for i, part in enumerate((wide & DIGIT, wide >> BASE)):
        carry = np.zeros_like(wide)
        for k, digit in enumerate(ratio, start=i):
            place = part * digit + digits[k] + carry
            digits[k], carry = place & DIGIT, place >> BASE
        digits[i + len(ratio)] = carry
    most = digits[5] << BASE | digits[4]  # 2**128 = B**4
    return bool(((highs.astype(np.uint64) <= most) | digits[6:].any(axis=0)).all())


def multiply_exact(high: int, low: int) -> float:
    """How many times `high` is `low`, for a message."""
    try:
        return high / low
    except (ZeroDivisionError, OverflowError):
        return math.inf


def check_noise(core: Ints, floor: int, end: int, size: int, reach: int, distance: Fraction, epsilon: Fraction) -> None:
    """Raise unless clamp(answer + noise, 0, size) is private for answers 0..size at most `reach` apart.

    The noise weights are t[d] = core[d + K] for |d| <= K, `floor` for K < |d| < size, and `end` for
    |d| = size. Written out as a matrix, an output i strictly between 0 and size has weight t[i - j] under
    answer j: any two weights at most `reach` apart stand in one row. Output 0 has the tail sum
    t[-size] + … + t[-j], and output `size` the same sum from the other side.
    """
    if core.dtype != np.int64 or core.ndim != 1 or len(core) % 2 == 0 or len(core) // 2 >= size:
        raise InvalidDistribution("core must be an int64 array for the noise -K..K with K below the size")
    if (core < 1).any() or floor < 1 or end < 1:
        raise InvalidDistribution("noise weights must be positive")
    run = size - 1 - len(core) // 2
    missing = TOTAL - int(core.sum(dtype=object)) - 2 * run * floor - 2 * end
    if missing:
        raise InvalidDistribution(f"noise weights must sum to 2**62, they miss by {missing}")
    p = ratio_lower_bound(epsilon, distance)
    for width, pairs in neighbour_weights(core, floor, end, size, reach):
        _check_pairs(pairs, width, p)


def check_response(size: int, other: int, epsilon: Fraction) -> None:
    """Raise unless randomized response is private for any two of `size` answers: `other` is the weight of each answer
    that is not the true one, which has the rest."""
    if not (size > 1 and other > 0 and TOTAL - size * other >= 0):
        raise InvalidDistribution(
            "the weight of the other answers must be positive, and not above that of the true one"
        )
    own, p = TOTAL - (size - 1) * other, ratio_lower_bound(epsilon, Fraction(1))
    if not is_within_ratio(own, other, p):
        raise PrivacyViolation(0, (0, 1), multiply_exact(own, other), p / 2**EXP_BITS)


def check_blocks(blocks: int, holding: int, inside: int, epsilon: Fraction) -> None:
    """Raise unless a report that names one of `blocks` sets, `holding` of which hold the truth, is private.

    A first draw of 2**62 says with weight `inside` that the set holds the truth; a second draw modulo the number of
    such sets says which one, so that every set has the quotient of 2**62 by that number, or one more. Over 2**124 the
    weights of all sets under all labels lie between `least` and `most`: any two are within the ratio.
    """
    if not 0 < holding < blocks <= TOTAL or not 0 < inside < TOTAL:
        raise InvalidDistribution("sets that hold the truth, and others, must both be possible")
    p, (least, most) = ratio_lower_bound(epsilon, Fraction(1)), block_weights(blocks, holding, inside)
    if not is_within_ratio(most, least, p):
        raise PrivacyViolation(0, (0, 1), multiply_exact(most, least), p / 2**EXP_BITS)


def block_weights(blocks: int, holding: int, inside: int) -> tuple[int, int]:
    """The least and the greatest weight over 2**124 that a set can have under any label."""
    sides = (inside, holding), (TOTAL - inside, blocks - holding)
    least = min(weight * (TOTAL // sets) for weight, sets in sides)
    return least, max(weight * -(-TOTAL // sets) for weight, sets in sides)


def neighbour_weights(core: Ints, floor: int, end: int, size: int, reach: int) -> Iterator[tuple[int, Pairs]]:
    """(width, (high, low), …): pairs of weights of one output under answers `width` apart, the worst among them."""
    run = size - 1 - len(core) // 2
    table = np.pad(core, min(run, reach), constant_values=floor)
    width = min(reach, len(table) - 1)
    highs, lows = sliding_extremes(np.maximum, table, width), sliding_extremes(np.minimum, table, width)
    yield width, zip(highs.tolist(), lows.tolist(), strict=True)
    half = len(core) // 2 + 1
    for tail in (core[:half].tolist(), core[::-1][:half].tolist()):
        # The row of an end of the range: S[m + reach] <= ratio · S[m], S[m] = the m + 1 outermost weights.
        # Sums that meet only the floor are worst at the far end, so S[0] and S[reach] speak for them.
        skip = max(0, run - reach)
        sums = list(accumulate([end + skip * floor, *[floor] * (run - skip), *tail]))
        pairs = zip(sums[min(reach, len(sums) - 1) :], sums, strict=False)
        yield reach, [*pairs, (end + reach * floor, end)] if skip else pairs


def _check_pairs(pairs: Pairs, reach: int, p: int) -> None:
    """Raise where two noise weights, or two tail sums, `reach` apart are further apart than p / 2**128."""
    for d, (high, low) in enumerate(pairs):
        if not is_within_ratio(high, low, p):
            raise PrivacyViolation(d, (d, d + reach), multiply_exact(high, low), p / 2**EXP_BITS)


def sliding_extremes(best: Callable[[Ints, Ints], Ints], table: Ints, reach: int) -> Ints:
    """best (maximum or minimum) over every `reach + 1` consecutive entries, by doubling; exact."""
    width = 1
    while width < reach + 1:
        step = min(width, reach + 1 - width)
        table = best(table[: len(table) - step], table[step:])
        width += step
    return table
