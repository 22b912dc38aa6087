"""Measures of clamp(answer + noise), then remap: linear time, whatever the size of the range.

A noise table holds t[d] = Pr[noise = d] · 2**62 for |d| <= n, so that with C(x) = Pr[noise <= x]

    Pr[low <= clamp(j + noise) <= high] = C(high - j) - C(low - 1 - j),   C(n - j) := 1,  C(-1 - j) := 0,

in integers; expectations of the error are cumulative sums of t[d]·h(d), one for each side of the answer.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from inbounds.numbers import Floats, Ints
from inbounds.query import Query
from inbounds.trusted.bounds import TOTAL

if TYPE_CHECKING:
    from inbounds.mechanism.law import Noise

BLOCK = 1 << 15
"""Steps at a time."""

OfError = Callable[[Floats], Floats]
"""Signed errors (reported - true) to what they count for."""


def truth(law: "Noise", query: Query) -> Floats:
    """Pr[the report is the cell that holds the answer], for every answer; exact but for one rounding."""
    j = np.arange(law.size + 1)
    cumulative = np.cumsum(law.weights_of_noise())
    if law.remap is None:
        return _between(cumulative, j, j, j) / TOTAL
    starts, stops, targets = _runs(law.remap)
    order = np.argsort(targets, kind="stable")
    first = np.searchsorted(targets[order], query.home, side="left")
    count = np.searchsorted(targets[order], query.home, side="right") - first
    units = np.zeros(law.size + 1, dtype=np.int64)
    for k in range(int(count.max(initial=0))):  # one turn for a remap that keeps the order
        has = j[count > k]
        run = order[first[has] + k]
        units[has] += _between(cumulative, starts[run], stops[run], has)
    return units / TOTAL


def ends(law: "Noise", query: Query) -> Floats:
    """Pr[the report is the first or the last output], for every answer; exact but for one rounding."""
    j = np.arange(law.size + 1)
    cumulative = np.cumsum(law.weights_of_noise())
    remap = j if law.remap is None else law.remap
    units = np.zeros(law.size + 1, dtype=np.int64)
    for start, stop, _ in zip(*_runs(remap, only=(0, len(query.outputs) - 1)), strict=True):
        units += _between(cumulative, np.full_like(j, start), np.full_like(j, stop), j)
    return units / TOTAL


def likelihood(law: "Noise", output: int) -> Floats:
    """Pr[the report is `output`] for every answer: the noise that leads there, and what the ends gather."""
    steps = [output] if law.remap is None else np.flatnonzero(law.remap == output).tolist()
    table = law.weights_of_noise().astype(np.float64)
    rows = [_row(table, law.size, step) for step in steps]
    return np.asarray(np.sum(rows, axis=0) / TOTAL) if rows else np.zeros(law.size + 1)


def _row(table: Floats, size: int, step: int) -> Floats:
    """Weights of the clamped value `step` under every answer; the ends gather the tails."""
    answers = np.arange(size + 1)
    if step == 0:
        return np.cumsum(table)[size - answers]
    if step == size:
        return np.cumsum(table[::-1])[answers]
    return table[size + step - answers]


def expected(law: "Noise", query: Query, of: OfError) -> Floats:
    """E[of(reported - true)] for every answer, in O(n + moved · core).

    moved: the steps that the remap reports as something else. Their noise outside the core is taken as not
    moved: at most floor·moved·2**-62 of probability, some 10^-12 at a million answers.
    """
    table = law.weights_of_noise() / TOTAL
    steps = query.answers.floats()
    result = _clamped(table, of, steps - steps[0])
    if law.remap is None:
        return result
    reported = query.outputs.values.floats()[law.remap]
    cumulative, j = np.cumsum(law.weights_of_noise()), np.arange(law.size + 1)
    for end in (0, law.size):
        share = _between(cumulative, np.full_like(j, end), np.full_like(j, end), j) / TOTAL
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


def _clamped(table: Floats, of: OfError, distance: Floats) -> Floats:
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


def _between(cumulative: Ints, low: Ints, high: Ints, j: Ints) -> Ints:
    """Units of probability that answer j is reported as a step in low..high, elementwise."""
    n = len(cumulative) // 2
    upper = np.where(high >= n, TOTAL, cumulative[np.minimum(high - j + n, 2 * n)])
    lower = np.where(low <= 0, 0, cumulative[np.maximum(low - 1 - j + n, 0)])
    return np.asarray(upper - lower)


def _runs(remap: Ints, only: tuple[int, ...] | None = None) -> tuple[Ints, Ints, Ints]:
    """Runs of consecutive steps with the same target: first step, last step, target."""
    starts = np.concatenate([[0], np.flatnonzero(np.diff(remap)) + 1])
    stops = np.concatenate([starts[1:] - 1, [len(remap) - 1]])
    targets = remap[starts]
    keep = slice(None) if only is None else np.isin(targets, only)
    return starts[keep], stops[keep], targets[keep]
