"""Measures of clamp(answer + noise), then remap: linear time, whatever the size of the range.

A noise table holds t[d] = Pr[noise = d] · 2**62 for |d| <= n, so that with C(x) = Pr[noise <= x]

    Pr[low <= clamp(j + noise) <= high] = C(high - j) - C(low - 1 - j),   C(n - j) := 1,  C(-1 - j) := 0,

in integers; expectations of the error are cumulative sums of t[d]·h(d), one for each side of the answer.
"""

from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from inbounds.exact import Floats, Ints
from inbounds.query import RangeQuery
from inbounds.trusted.bounds import TOTAL

if TYPE_CHECKING:
    from inbounds.mechanism.law import Noise

BLOCK = 1 << 15
"""Steps at a time."""

FEW = 8
"""Steps whose noise is added one by one rather than as a difference of cumulative sums."""

OfError = Callable[[Floats], Floats]
"""Signed errors (reported - true) to what they count for."""


def clamped_truth(law: "Noise", query: RangeQuery) -> Floats:
    """Pr[the report is the cell that holds the answer], for every answer; exact but for one rounding."""
    cumulative, j = np.cumsum(law.all_weights()), np.arange(law.size + 1)
    if law.remap is None:
        return interval_weights(cumulative, j, j, j) / TOTAL
    starts, stops, targets = remap_runs(law.remap)
    order = np.argsort(targets, kind="stable")
    first = np.searchsorted(targets[order], query.home_cell, side="left")
    count = np.searchsorted(targets[order], query.home_cell, side="right") - first
    units = np.zeros(law.size + 1, dtype=np.int64)
    for k in range(int(count.max(initial=0))):  # one turn for a remap that keeps the order
        has = j[count > k]
        run = order[first[has] + k]
        units[has] += interval_weights(cumulative, starts[run], stops[run], has)
    return units / TOTAL


def clamped_ends(law: "Noise", query: RangeQuery) -> Floats:
    """Pr[the report is the first or the last output], for every answer; exact but for one rounding."""
    return _output_probability(law, 0, len(query.outputs) - 1)


def clamped_likelihood(law: "Noise", output: int) -> Floats:
    """Pr[the report is `output`] for every answer; exact but for one rounding."""
    return _output_probability(law, output)


def _output_probability(law: "Noise", *outputs: int) -> Floats:
    """Pr[the report is one of these], for every answer: the noise that leads there, and what the ends gather."""
    table, n = law.all_weights(), law.size
    cumulative, units = None, np.zeros(n + 1, dtype=np.int64)
    for start, stop in _steps_to(law, outputs):
        if 0 < start <= stop < min(n, start + FEW):  # Pr[noise = s - j] for j = 0..n
            for s in range(start, stop + 1):
                units += table[s : s + n + 1][::-1]
            continue
        cumulative = np.cumsum(table) if cumulative is None else cumulative
        units += TOTAL if stop >= n else cumulative[stop : stop + n + 1][::-1]  # C(stop - j) for j = 0..n
        if start > 0:
            units -= cumulative[start - 1 : start + n][::-1]
    return units / TOTAL


def _steps_to(law: "Noise", outputs: tuple[int, ...]) -> Iterable[tuple[int, int]]:
    """The runs of steps that are reported as one of these: the first and the last step of each."""
    if law.remap is None:
        return [(output, output) for output in outputs]
    among = law.remap == outputs[0] if len(outputs) == 1 else np.isin(law.remap, outputs)
    inside = np.concatenate([[False], among, [False]])
    edges = np.flatnonzero(inside[1:] != inside[:-1])
    return zip(edges[::2].tolist(), (edges[1::2] - 1).tolist(), strict=True)


def clamped_average(law: "Noise", name: str) -> Fraction:
    """The loss in steps, averaged over all answers, as the exact fraction: O(core), however many answers.

    absolute, squared or zero-one, of a law without a remap. Noise d moves the answer by min(d, room), and the room
    to its side is 0..n once each, so with h the loss it counts for G(d) = h(0) + … + h(d) + (n - d)·h(d): a
    polynomial of d, and so is its sum over the steps of equal weight.
    """
    n, k = law.size, law.half_width
    worth = _MOVED[name]
    sides = (law.core[:k][::-1].tolist(), law.core[k + 1 :].tolist())
    inside = sum(weight * worth(d, n) for side in sides for d, weight in enumerate(side, start=1))
    run = _sum_polynomial(lambda d: worth(d, n), n - 1) - _sum_polynomial(lambda d: worth(d, n), k)
    return Fraction(inside + 2 * law.floor * run + 2 * law.end * worth(n, n), TOTAL * (n + 1))


_MOVED: dict[str, Callable[[int, int], Fraction]] = {
    "absolute": lambda d, n: Fraction(d * (d + 1), 2) + d * (n - d),
    "squared": lambda d, n: Fraction(d * (d + 1) * (2 * d + 1), 6) + d * d * (n - d),
    "zero-one": lambda d, n: Fraction(n),
}


def _sum_polynomial(of: Callable[[int], Fraction], last: int) -> Fraction:
    """of(1) + … + of(last) for a polynomial of degree at most 3, by Newton's forward differences."""
    values, total, ways = [of(d) for d in range(1, 5)], Fraction(0), Fraction(1)
    for k in range(4):
        ways = ways * (last - k) / (k + 1)  # last choose k + 1
        total += ways * values[0]
        values = [b - a for a, b in pairwise(values)]
    return total


def expected_error_terms(law: "Noise", query: RangeQuery, of: OfError) -> Floats:
    """E[of(reported - true)] for every answer, in O(n + moved · core).

    moved: the steps that the remap reports as something else. Their noise outside the core is taken as not
    moved: at most floor·moved·2**-62 of probability, some 10^-12 at a million answers.
    """
    table = law.all_weights() / TOTAL
    steps = query.answers.floats()
    result = _clamped_moment(table, of, steps - steps[0])
    if law.remap is None:
        return result
    reported = query.outputs.values.floats()[law.remap]
    cumulative, j = np.cumsum(law.all_weights()), np.arange(law.size + 1)
    for end in (0, law.size):
        share = interval_weights(cumulative, np.full_like(j, end), np.full_like(j, end), j) / TOTAL
        result += share * (of(reported[end] - steps) - of(steps[end] - steps))
    _add_moved(result, law, of, steps, reported)
    return result


def _add_moved(result: Floats, law: "Noise", of: OfError, steps: Floats, reported: Floats) -> None:
    """What the remap of inner steps adds to the expectation, block by block: the arrays stay in the cache."""
    k, n = law.half_width, law.size
    noise = np.arange(-k, k + 1)
    unmoved = of(np.sign(noise) * (steps[np.abs(noise)] - steps[0]))
    moved = np.flatnonzero(reported[1:-1] != steps[1:-1]) + 1
    for block in np.split(moved, np.searchsorted(moved, range(BLOCK, n, BLOCK))):
        if not len(block):
            continue
        first, last = int(block[0]), int(block[-1]) + 1
        for d, weight, before in zip(noise.tolist(), law.core.tolist(), unmoved.tolist(), strict=True):
            low, high = max(first, d), min(last, n + d + 1)  # answers s - d within 0..n
            if low < high:
                after = of(reported[low:high] - steps[low - d : high - d])
                result[low - d : high - d] += weight / TOTAL * (after - before)


def _clamped_moment(table: Floats, of: OfError, distance: Floats) -> Floats:
    """sum_d t[d]·of(clamp(j + d) - j) from the noise strictly inside the range, and what the ends collect."""
    n = len(distance) - 1
    up = _one_side(table[n + 1 :], np.asarray(of(distance), dtype=np.float64))
    down = _one_side(table[:n][::-1], np.asarray(of(-distance), dtype=np.float64))
    still = table[n] * float(np.asarray(of(distance[:1]))[0])
    return np.asarray(up[::-1] + down + still)


def _one_side(t: Floats, worth: Floats) -> Floats:
    """For room 0..n on one side: noise 1..n of probability t, cut at the room and worth what it reaches."""
    n = len(t)
    inside = np.concatenate([[0.0, 0.0], np.cumsum(t * worth[1:])[:-1]])  # noise 1..room-1
    beyond = np.cumsum(t[::-1])[::-1]  # beyond[k-1]: noise of at least k
    return np.asarray(inside + beyond[np.maximum(np.arange(n + 1) - 1, 0)] * worth)


def remap_runs(remap: Ints) -> tuple[Ints, Ints, Ints]:
    """Runs of consecutive steps with the same target: first step, last step, target."""
    starts = np.concatenate([[0], np.flatnonzero(np.diff(remap)) + 1])
    stops = np.concatenate([starts[1:] - 1, [len(remap) - 1]])
    return starts, stops, remap[starts]


def interval_weights(cumulative: Ints, low: Ints, high: Ints, j: Ints) -> Ints:
    """Units of probability that answer j is reported as a step in low..high, elementwise."""
    n = len(cumulative) // 2
    upper = np.where(high >= n, TOTAL, cumulative[np.minimum(high - j + n, 2 * n)])
    lower = np.where(low <= 0, 0, cumulative[np.maximum(low - 1 - j + n, 0)])
    return np.asarray(upper - lower)
