"""Measures of a noise table, clamp(answer + noise) followed by a remap, in time linear in the range.

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
    from inbounds.mechanism.laws import Noise

BLOCK = 1 << 15
"""Steps that are processed at a time."""

FEW = 8
"""Runs of fewer steps are summed step by step rather than as a difference of cumulative sums."""

ErrorFunction = Callable[[Floats], Floats]
"""A function of signed errors (output - true), elementwise."""


def clamped_truth(law: "Noise", query: RangeQuery) -> Floats:
    """Return Pr[the output is the cell that holds the answer] for every answer; exact except for one rounding."""
    cumulative, j = np.cumsum(law.all_weights()), np.arange(law.size + 1)
    if law.remap is None:
        return interval_weights(cumulative, j, j, j) / TOTAL
    starts, stops, targets = remap_runs(law.remap)
    order = np.argsort(targets, kind="stable")
    first = np.searchsorted(targets[order], query.home_cell, side="left")
    count = np.searchsorted(targets[order], query.home_cell, side="right") - first
    units = np.zeros(law.size + 1, dtype=np.int64)
    for k in range(int(count.max(initial=0))):  # once for a remap that keeps the order
        answers = j[count > k]
        run = order[first[answers] + k]
        units[answers] += interval_weights(cumulative, starts[run], stops[run], answers)
    return units / TOTAL


def clamped_ends(law: "Noise", query: RangeQuery) -> Floats:
    """Return Pr[the output is the first or the last output] for every answer; exact except for one rounding."""
    return _output_probability(law, 0, len(query.outputs) - 1)


def clamped_likelihood(law: "Noise", output: int) -> Floats:
    """Return Pr[the output is `output`] for every answer; exact except for one rounding."""
    return _output_probability(law, output)


def _output_probability(law: "Noise", *outputs: int) -> Floats:
    """Return Pr[the output is one of these outputs] for every answer, clamped noise included."""
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
    """Return the first and the last step of each run of steps that are mapped to one of these outputs."""
    if law.remap is None:
        return [(output, output) for output in outputs]
    is_target = law.remap == outputs[0] if len(outputs) == 1 else np.isin(law.remap, outputs)
    inside = np.concatenate([[False], is_target, [False]])
    edges = np.flatnonzero(inside[1:] != inside[:-1])
    return zip(edges[::2].tolist(), (edges[1::2] - 1).tolist(), strict=True)


def clamped_average(law: "Noise", name: str) -> Fraction:
    """Return the loss in steps, averaged over all answers, as an exact fraction: O(core) for any number of answers.

    name: absolute, squared or zero-one. The law must have no remap. Noise d moves the answer by min(d, room), where the
    room on its side takes each value 0..n once. With h the loss, noise d contributes
    G(d) = h(0) + … + h(d) + (n - d)·h(d), a polynomial of d, and so is its sum over the steps of equal weight.
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


def _sum_polynomial(f: Callable[[int], Fraction], last: int) -> Fraction:
    """Return f(1) + … + f(last) for a polynomial f of degree at most 3, by Newton's forward differences."""
    differences, total, binomial = [f(d) for d in range(1, 5)], Fraction(0), Fraction(1)
    for k in range(4):
        binomial = binomial * (last - k) / (k + 1)  # last choose k + 1
        total += binomial * differences[0]
        differences = [b - a for a, b in pairwise(differences)]
    return total


def expected_error_terms(law: "Noise", query: RangeQuery, f: ErrorFunction) -> Floats:
    """Return E[f(output - true)] for every answer, in O(n + moved · core).

    moved: the number of steps that the remap maps to another value. Their noise outside the core counts as not
    moved, which concerns at most floor·moved·2**-62 of probability: about 10^-12 for a million answers.
    """
    table = law.all_weights() / TOTAL
    steps = query.answers.floats()
    result = _clamped_moment(table, f, steps - steps[0])
    if law.remap is None:
        return result
    reported = query.outputs.values.floats()[law.remap]
    cumulative, j = np.cumsum(law.all_weights()), np.arange(law.size + 1)
    for end in (0, law.size):
        share = interval_weights(cumulative, np.full_like(j, end), np.full_like(j, end), j) / TOTAL
        result += share * (f(reported[end] - steps) - f(steps[end] - steps))
    _add_moved(result, law, f, steps, reported)
    return result


def _add_moved(result: Floats, law: "Noise", f: ErrorFunction, steps: Floats, reported: Floats) -> None:
    """Add to the expectation, in place, what the remap of inner steps changes."""
    moved = np.flatnonzero(reported[1:-1] != steps[1:-1]) + 1
    if len(moved) <= 2 * law.half_width + 1:
        _add_by_step(result, law, f, steps, reported, moved)
    else:
        _add_by_noise(result, law, f, steps, reported, moved)


def _add_by_step(result: Floats, law: "Noise", f: ErrorFunction, steps: Floats, reported: Floats, moved: Ints) -> None:
    k, n, chances = law.half_width, law.size, law.core[::-1] / TOTAL
    for s in moved.tolist():
        low, high = max(s - k, 0), min(s + k, n) + 1  # answers whose noise leads to s
        after, before = f(reported[s] - steps[low:high]), f(steps[s] - steps[low:high])
        result[low:high] += chances[low - s + k : high - s + k] * (after - before)


def _add_by_noise(result: Floats, law: "Noise", f: ErrorFunction, steps: Floats, reported: Floats, moved: Ints) -> None:
    """Add in blocks of steps that fit into the cache."""
    k, n = law.half_width, law.size
    noise = np.arange(-k, k + 1)
    unmoved = f(np.sign(noise) * (steps[np.abs(noise)] - steps[0]))
    for block in np.split(moved, np.searchsorted(moved, range(BLOCK, n, BLOCK))):
        if not len(block):
            continue
        first, last = int(block[0]), int(block[-1]) + 1
        for d, weight, before in zip(noise.tolist(), law.core.tolist(), unmoved.tolist(), strict=True):
            low, high = max(first, d), min(last, n + d + 1)  # answers s - d within 0..n
            if low < high:
                after = f(reported[low:high] - steps[low - d : high - d])
                result[low - d : high - d] += weight / TOTAL * (after - before)


def _clamped_moment(table: Floats, f: ErrorFunction, distance: Floats) -> Floats:
    """Return sum_d t[d]·f(clamp(j + d) - j) for every answer j."""
    n = len(distance) - 1
    up = _one_side(table[n + 1 :], np.asarray(f(distance), dtype=np.float64))
    down = _one_side(table[:n][::-1], np.asarray(f(-distance), dtype=np.float64))
    still = table[n] * float(np.asarray(f(distance[:1]))[0])
    return np.asarray(up[::-1] + down + still)


def _one_side(t: Floats, worth: Floats) -> Floats:
    """Return for room 0..n on one side the sum over noise d = 1..n of t[d]·worth[min(d, room)]."""
    n = len(t)
    inside = np.concatenate([[0.0, 0.0], np.cumsum(t * worth[1:])[:-1]])  # noise 1..room-1
    beyond = np.cumsum(t[::-1])[::-1]  # beyond[k-1]: noise of at least k
    return np.asarray(inside + beyond[np.maximum(np.arange(n + 1) - 1, 0)] * worth)


def remap_runs(remap: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the runs of consecutive steps with the same target: first steps, last steps, targets."""
    starts = np.concatenate([[0], np.flatnonzero(np.diff(remap)) + 1])
    stops = np.concatenate([starts[1:] - 1, [len(remap) - 1]])
    return starts, stops, remap[starts]


def interval_weights(cumulative: Ints, low: Ints, high: Ints, j: Ints) -> Ints:
    """Return the weight with which answer j is clamped to a step in low..high, elementwise."""
    n = len(cumulative) // 2
    upper = np.where(high >= n, TOTAL, cumulative[np.minimum(high - j + n, 2 * n)])
    lower = np.where(low <= 0, 0, cumulative[np.maximum(low - 1 - j + n, 0)])
    return np.asarray(upper - lower)
