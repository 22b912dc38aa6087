"""The checkers of the distributions that mechanisms sample from. They use integers only.

The privacy of a law depends on this module and `bounds.exp_lower_bound`, not on how the weights were computed. A
matrix W of weights stands for Pr[i | j] = W[i, j] / 2**62. It passes if every weight is non-negative, every column
sums to exactly 2**62, and for any two neighbouring answers j, k and every output i,

    W[i, j] · 2**128 <= p · W[i, k]      with  p / 2**128 <= exp(epsilon · distance),

hence Pr[i | j] <= exp(epsilon · distance) · Pr[i | k]: differential privacy, with no tolerance anywhere. There is one
checker for each kind of law: a matrix over runs of neighbours or the edges of a graph, a noise table, a matrix over
states, a product of matrices, randomized response, blocks of labels. All of them use `is_within_ratio`.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import accumulate, groupby, islice

import numpy as np

from inbounds.errors import DeltaViolation, InvalidDistribution, PrivacyViolation
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
    for distance, group in groupby(cliques, key=lambda clique: clique.distance):
        p = ratio_lower_bound(epsilon, distance)
        while batch := [*islice(group, CLIQUES_AT_A_TIME)]:
            blocks = [weights[:, start:stop] for start, stop, _ in batch]
            highs, lows = (np.stack([extreme(block, axis=1) for block in blocks]) for extreme in (np.max, np.min))
            if not are_within_ratio(highs, lows, p):
                for block, (start, stop, _) in zip(blocks, batch, strict=True):
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
    for length, pairs in edges_by_length(edges):
        p = ratio_lower_bound(epsilon, length)
        for start in range(0, len(pairs), at_a_time):
            batch = pairs[start : start + at_a_time]
            if not all(0 <= tail < answers and 0 <= head < answers for tail, head in batch):
                raise InvalidDistribution(f"edges must join two of the {answers} answers")
            tails, heads = np.array(batch, dtype=np.int64).T
            if not are_within_ratio(weights[:, tails], weights[:, heads], p):
                for tail, head in batch:
                    _check_edge(weights[:, tail], weights[:, head], (tail, head), p)


def check_approximate(weights: Ints, pairs: Iterable[tuple[int, int]], epsilon: Fraction, delta: Fraction) -> None:
    """Raise unless the weights are a distribution in every column and (epsilon, delta)-private for every ordered pair.

    For answers j, k of a pair, and p / 2**128 <= exp(epsilon),

        sum over outputs i of max(0, W[i, j] · 2**128 - p · W[i, k]) <= delta · 2**62 · 2**128.

    Pr[S | j] - exp(epsilon) · Pr[S | k] is a sum over the outputs in S, so at most the sum of its positive terms, for
    every set S. Weights may be 0 under one answer of a pair only; such an output counts in full. Unlike ratios, these
    sums do not multiply along a path: the pairs must be all that the promise is about.
    """
    if weights.dtype != np.int64 or weights.ndim != 2 or weights.size == 0:
        raise InvalidDistribution("weights must be a two-dimensional array of int64")
    if not 0 < delta < 1:
        raise InvalidDistribution(f"delta must be above 0 and below 1, got {delta}")
    check_distributions(weights)
    p, answers, columns = ratio_lower_bound(epsilon, Fraction(1)), weights.shape[1], weights.T.tolist()
    allowed = delta.numerator * TOTAL << EXP_BITS
    for j, k in pairs:
        if not (0 <= j < answers and 0 <= k < answers):
            raise InvalidDistribution(f"pairs must be two of the {answers} answers")
        excess = sum_excess(columns[j], columns[k], p)
        if excess * delta.denominator > allowed:
            raise DeltaViolation((j, k), Fraction(excess, TOTAL << EXP_BITS), delta)


def sum_excess(highs: Sequence[int], lows: Sequence[int], p: int) -> int:
    """Return 2**128 times the sum of max(0, high - (p / 2**128) · low), exactly."""
    return sum(max(0, (high << EXP_BITS) - p * low) for high, low in zip(highs, lows, strict=True))


def edges_by_length(edges: Iterable[Edge]) -> list[tuple[Fraction, list[tuple[int, int]]]]:
    """Return (tail, head) of the edges of every length, lengths in the order of their first edge.

    Lengths are sorted and grouped, once for every length that is one object in memory. A dictionary would take
    quadratic time for a hostile file whose lengths all have one hash.
    """
    edge_list = [*edges]  # keeps the lengths alive, so that their ids stay unique
    indices_by_id: dict[int, list[int]] = {}
    for index, edge in enumerate(edge_list):
        indices_by_id.setdefault(id(edge.length), []).append(index)
    by_length = sorted(indices_by_id.values(), key=lambda indices: edge_list[indices[0]].length)
    equal_lengths = groupby(by_length, key=lambda indices: edge_list[indices[0]].length)
    groups = sorted(sorted(index for indices in group for index in indices) for _, group in equal_lengths)
    return [(edge_list[indices[0]].length, [edge_list[index][:2] for index in indices]) for indices in groups]


def _check_edge(highs: Ints, lows: Ints, pair: tuple[int, int], p: int) -> None:
    for i, (high, low) in enumerate(zip(highs.tolist(), lows.tolist(), strict=True)):
        if not is_within_ratio(high, low, p):
            raise PrivacyViolation(i, pair, ratio_as_float(high, low), p / 2**EXP_BITS)


def check_states(weights: Ints, windows: Iterable[Window], epsilon: Fraction) -> None:
    """Check as `check_matrix`, for a law that depends on a level beside the answer: weights[output, level, answer]."""
    if weights.dtype != np.int64 or weights.ndim != 3 or weights.size == 0:
        raise InvalidDistribution("weights must be outputs × levels × answers in int64")
    check_distributions(weights.reshape(len(weights), -1))
    p = ratio_lower_bound(epsilon, Fraction(1))
    for start, stop, first, last in windows:
        block = weights[:, first : last + 1, start:stop].reshape(len(weights), -1)
        _check_rows(block, [*range(start, stop)] * weights.shape[1], p)


def check_product(law: Wholes, cliques: Iterable[Clique], epsilon: Fraction) -> None:
    """Check as `check_matrix`, for integers of any size over one common total: products of matrices, joint laws."""
    if (law < 0).any() or len(set(law.sum(axis=0))) != 1:
        raise InvalidDistribution("a law must be non-negative, with the same sum for every answer")
    for start, stop, distance in cliques:
        _check_rows(law[:, start:stop], range(start, stop), ratio_lower_bound(epsilon, distance))


def check_groups(weights: Ints, groups: Ints, epsilon: Fraction) -> None:
    """Check as `check_matrix`, for any neighbours: each row of `groups` lists answers that are mutual neighbours."""
    if weights.dtype != np.int64 or weights.ndim != 2 or weights.size == 0:
        raise InvalidDistribution("weights must be a two-dimensional array of int64")
    check_distributions(weights)
    p = ratio_lower_bound(epsilon, Fraction(1))
    for answers in groups.tolist():
        _check_rows(weights[:, answers], answers, p)


def check_distributions(weights: Ints) -> None:
    """Raise unless every column holds non-negative weights that sum to exactly 2**62."""
    if (weights < 0).any():
        raise InvalidDistribution("weights must not be negative")
    for j, column_sum in enumerate(weights.sum(axis=0, dtype=object)):
        if column_sum != TOTAL:
            raise InvalidDistribution(f"column {j} must sum to 2**62, it misses by {TOTAL - column_sum}")


def _check_rows(block: Ints | Wholes, answers: Sequence[int], p: int) -> None:
    """Raise if a row holds two weights whose ratio exceeds p / 2**128; column c belongs to answers[c]."""
    highs, lows = block.max(axis=1).tolist(), block.min(axis=1).tolist()
    for i, (high, low) in enumerate(zip(highs, lows, strict=True)):
        if not is_within_ratio(high, low, p):
            pair = answers[int(block[i].argmax())], answers[int(block[i].argmin())]
            raise PrivacyViolation(i, pair, ratio_as_float(high, low), p / 2**EXP_BITS)


def is_within_ratio(high: int, low: int, p: int) -> bool:
    """Test high <= (p / 2**128) · low, in integers of any size."""
    return high << EXP_BITS <= p * low


def are_within_ratio(highs: Ints, lows: Ints, p: int) -> bool:
    """Test `is_within_ratio` for all pairs of weights 0..2**62.

    Computes floor(p · low / 2**128) by long multiplication, base B = 2**32. A digit is at most B - 1, so
    digit · digit + digit + carry <= (B - 1)² + 2·(B - 1) = 2**64 - 1 fits a uint64.
    """
    ratio = [np.uint64(p >> place & 0xFFFFFFFF) for place in range(0, p.bit_length(), 32)]
    digits = np.zeros((max(len(ratio) + 2, 6), *lows.shape), dtype=np.uint64)
    factors = lows.astype(np.uint64)
    for i, part in enumerate((factors & DIGIT, factors >> BASE)):
        carry = np.zeros_like(factors)
        for k, digit in enumerate(ratio, start=i):
            place = part * digit + digits[k] + carry
            digits[k], carry = place & DIGIT, place >> BASE
        digits[i + len(ratio)] = carry
    limit = digits[5] << BASE | digits[4]  # 2**128 = B**4
    return bool(((highs.astype(np.uint64) <= limit) | digits[6:].any(axis=0)).all())


def ratio_as_float(high: int, low: int) -> float:
    """Return high / low as a float, for a message; infinity if there is no such float."""
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
    """Raise unless randomized response is private for any two of `size` answers.

    other: the weight of each answer that is not the true one; the true answer has the rest of 2**62.
    """
    if not (size > 1 and other > 0 and TOTAL - size * other >= 0):
        raise InvalidDistribution(
            "the weight of the other answers must be positive, and not above that of the true one"
        )
    true_weight, p = TOTAL - (size - 1) * other, ratio_lower_bound(epsilon, Fraction(1))
    if not is_within_ratio(true_weight, other, p):
        raise PrivacyViolation(0, (0, 1), ratio_as_float(true_weight, other), p / 2**EXP_BITS)


def check_blocks(blocks: int, holding: int, inside: int, epsilon: Fraction) -> None:
    """Raise unless a report that names one of `blocks` sets is private; `holding` of the sets hold the true label.

    A first draw of 2**62 decides with weight `inside` that the reported set holds the true label. A second draw modulo
    the number of such sets decides which one, so every set has the quotient of 2**62 by that number, or one more. Over
    2**124 the weights of all sets under all labels lie between `least` and `greatest`: any two are within the ratio.
    """
    if not 0 < holding < blocks <= TOTAL or not 0 < inside < TOTAL:
        raise InvalidDistribution("sets that hold the truth, and others, must both be possible")
    p, (least, greatest) = ratio_lower_bound(epsilon, Fraction(1)), block_weights(blocks, holding, inside)
    if not is_within_ratio(greatest, least, p):
        raise PrivacyViolation(0, (0, 1), ratio_as_float(greatest, least), p / 2**EXP_BITS)


def block_weights(blocks: int, holding: int, inside: int) -> tuple[int, int]:
    """Return the least and the greatest weight, over 2**124, that a set can have under any label."""
    sides = (inside, holding), (TOTAL - inside, blocks - holding)
    least = min(weight * (TOTAL // sets) for weight, sets in sides)
    return least, max(weight * -(-TOTAL // sets) for weight, sets in sides)


def neighbour_weights(core: Ints, floor: int, end: int, size: int, reach: int) -> Iterator[tuple[int, Pairs]]:
    """Yield (width, pairs): pairs (high, low) of weights of one output under answers `width` apart, including the
    worst.
    """
    run = size - 1 - len(core) // 2
    table = np.pad(core, min(run, reach), constant_values=floor)
    width = min(reach, len(table) - 1)
    highs, lows = sliding_extremes(np.maximum, table, width), sliding_extremes(np.minimum, table, width)
    yield width, zip(highs.tolist(), lows.tolist(), strict=True)
    half = len(core) // 2 + 1
    for tail in (core[:half].tolist(), core[::-1][:half].tolist()):
        # The row of an end of the range: S[m + reach] <= ratio · S[m], S[m] = the sum of the m + 1 outermost weights.
        # Among sums that contain only floor weights and the end, the pair S[0], S[reach] has the largest ratio.
        skip = max(0, run - reach)
        sums = list(accumulate([end + skip * floor, *[floor] * (run - skip), *tail]))
        pairs = zip(sums[min(reach, len(sums) - 1) :], sums, strict=False)
        yield reach, [*pairs, (end + reach * floor, end)] if skip else pairs


def _check_pairs(pairs: Pairs, reach: int, p: int) -> None:
    """Raise if two noise weights, or two tail sums, `reach` apart have a ratio above p / 2**128."""
    for d, (high, low) in enumerate(pairs):
        if not is_within_ratio(high, low, p):
            raise PrivacyViolation(d, (d, d + reach), ratio_as_float(high, low), p / 2**EXP_BITS)


def sliding_extremes(extreme: Callable[[Ints, Ints], Ints], table: Ints, reach: int) -> Ints:
    """Return the extreme (maximum or minimum) of every `reach + 1` consecutive entries, by doubling; exact."""
    width = 1
    while width < reach + 1:
        step = min(width, reach + 1 - width)
        table = extreme(table[: len(table) - step], table[step:])
        width += step
    return table
