"""The perturbation table with the least delta, by one linear program over all rows.

Unknowns are the probabilities of all rows, delta, and for both directions of every two neighbouring counts the excess
of each result. The program's floats are a proposal: whole weights are made of them, and the exact audit says what they
keep.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from math import exp
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csc_array

from inbounds.errors import InfeasibleDesign
from inbounds.exact import Number, round_up_to_printed, to_epsilon, to_fraction, to_int
from inbounds.perturbation.formats import DIGITS
from inbounds.perturbation.table import PerturbationTable

TOTAL = 10**DIGITS
"""What the weights of a row sum to: the digits that the tools read."""

MOST_LARGEST_NOISE = 60
"""The largest noise that a table is designed for."""

ROUNDS = 8
"""How often the variance is lowered for what rounding adds to it."""

SOLVER = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}

Entry = tuple[int, int, float]
"""Row, column and coefficient of a constraint."""


@dataclass(frozen=True)
class TableDesign:
    """A designed table: its delta at epsilon, exact and rounded up, and the optimum of the linear program in floats."""

    table: PerturbationTable
    epsilon: Fraction
    delta: float
    optimum: float


@dataclass(frozen=True)
class _Wish:
    """What the table must keep; see `design_table`."""

    largest: int
    variance: Fraction
    forbidden: frozenset[int]
    zero_stays: bool
    unbiased_from: int
    protected_from: int

    @property
    def last(self) -> int:
        """The first count whose noise is not limited by 0 or by forbidden results: all larger ones are alike."""
        return self.largest + max(self.forbidden, default=-1) + 1

    def noises(self, number: int) -> list[int]:
        """Return the noise that a count may get."""
        if number == 0 and self.zero_stays:
            return [0]
        span = range(max(-self.largest, -number), self.largest + 1)
        return [v for v in span if number + v not in self.forbidden]

    def is_unbiased(self, number: int) -> bool:
        return number >= self.unbiased_from and not (number == 0 and self.zero_stays)


def design_table(
    epsilon: Number,
    *,
    largest: int,
    variance: Number,
    forbidden: Collection[int] = (),
    zero_stays: bool = True,
    unbiased_from: int | None = None,
    protected_from: int = 0,
) -> TableDesign:
    """Return the perturbation table with the least delta at epsilon for counts that differ by one person.

    largest: the largest absolute noise (D), 1..60. variance: the largest variance of the noise for a count (V); around
    0, also where there is a bias. forbidden: positive results that never occur, such as {1, 2}. zero_stays: publish
    empty cells as 0. unbiased_from: counts from here on have noise of mean 0, exactly; by default 1 if empty cells stay
    0, otherwise the first count that no limit reaches. protected_from: compare counts from here on only.

    Among the tables with the least delta it is nearly the one with the least squared noise. Weights are whole over
    10^8, the digits that the tools read, so the delta is up to a few e^epsilon·10^-8 above the optimum. Raises
    `InfeasibleDesign` if no table keeps all this.

    >>> found = design_table(1, largest=3, variance=1)
    >>> found.table.zero_stays, 0.5 <= found.delta < 0.501
    (True, True)
    """
    e, top = to_epsilon(epsilon), to_int(largest, "largest", 1)
    v = to_fraction(variance, "variance")
    barred = frozenset(to_int(result, "forbidden result", 1) for result in forbidden)
    if top > MOST_LARGEST_NOISE or max(barred, default=0) > MOST_LARGEST_NOISE:
        raise ValueError(f"largest and forbidden results must be at most {MOST_LARGEST_NOISE}")
    if not v >= 0:
        raise ValueError(f"variance must not be negative, got {variance}")
    protected = to_int(protected_from, "protected_from", 0)
    wish = _Wish(top, v, barred, zero_stays, 0, protected)
    first = (1 if zero_stays else wish.last) if unbiased_from is None else to_int(unbiased_from, "unbiased_from", 0)
    if protected > wish.last:
        raise ValueError(f"protected_from must be at most {wish.last}: all larger counts are alike, got {protected}")
    wish = _Wish(top, v, barred, zero_stays, first, protected)
    aimed = v
    for _ in range(ROUNDS):
        optimum, rows = _solve(wish, float(e), float(aimed))
        table = _to_whole(wish, rows)
        over = max(_square(table, number) for number in range(len(table.rows))) - v
        if over <= 0:
            return TableDesign(table, e, round_up_to_printed(table.audit(protected).profile.delta(e)), optimum)
        aimed -= 2 * over
    raise InfeasibleDesign("no table of eight digits keeps this variance; allow a little more")


def _square(table: PerturbationTable, number: int) -> Fraction:
    return table.variance(number) + table.mean(number) ** 2


def _solve(wish: _Wish, epsilon: float, variance: float) -> tuple[float, list[dict[int, float]]]:
    """Return the least delta, and the rows of a table that has it, in floats."""
    places: dict[tuple[int, int], int] = {}
    for number in range(wish.last + 1):
        for v in wish.noises(number):
            places[number, number + v] = len(places)
    delta = len(places)
    upper, at_most, size = _limits_of_pairs(wish, places, epsilon)
    equal: list[Entry] = []
    equals: list[float] = []
    for number in range(wish.last + 1):
        noises = wish.noises(number)
        equal += [(len(equals), places[number, number + v], 1.0) for v in noises]
        equals.append(1.0)
        if wish.is_unbiased(number):
            equal += [(len(equals), places[number, number + v], float(v)) for v in noises]
            equals.append(0.0)
        upper += [(len(at_most), places[number, number + v], float(v * v)) for v in noises]
        at_most.append(variance)
    A, B = _sparse(upper, len(at_most), size), _sparse(equal, len(equals), size)
    cost = np.zeros(size)
    cost[delta] = 1.0
    found = linprog(cost, A, at_most, B, equals, method="highs", options=SOLVER)
    if found.status != 0:
        raise InfeasibleDesign(
            "no perturbation table keeps this largest noise, variance and these forbidden results; allow more "
            "variance, a larger noise, or a bias for more small counts (unbiased_from)"
        )
    best, x = float(found.fun), found.x
    squares = np.zeros(size)
    for (number, result), place in places.items():
        squares[place] = (result - number) ** 2
    bounds = [(0, best * (1 + 1e-9) + 1e-12) if place == delta else (0, None) for place in range(size)]
    calmer = linprog(squares, A, at_most, B, equals, bounds=bounds, method="highs", options=SOLVER)
    x = calmer.x if calmer.status == 0 else x
    rows = [
        {v: max(0.0, float(x[places[number, number + v]])) for v in wish.noises(number)}
        for number in range(wish.last + 1)
    ]
    return best, rows


def _limits_of_pairs(
    wish: _Wish, places: dict[tuple[int, int], int], epsilon: float
) -> tuple[list[Entry], list[float], int]:
    """Return the constraints P - e^epsilon·Q <= excess and sum of excesses <= delta, and the number of unknowns."""
    entries: list[Entry] = []
    right: list[float] = []
    delta, extra, ratio = len(places), len(places) + 1, exp(epsilon)

    def place(number: int, result: int) -> int | None:
        return places.get((number, result) if number <= wish.last else (wish.last, result - number + wish.last))

    for number in range(wish.protected_from, wish.last + 1):
        for first, second in ((number, number + 1), (number + 1, number)):
            excesses = []
            for result in range(max(0, number - wish.largest), number + wish.largest + 2):
                upper, lower = place(first, result), place(second, result)
                if upper is None:
                    continue
                entries += [(len(right), upper, 1.0), (len(right), extra, -1.0)]
                entries += [] if lower is None else [(len(right), lower, -ratio)]
                right.append(0.0)
                excesses.append(extra)
                extra += 1
            entries += [(len(right), excess, 1.0) for excess in excesses] + [(len(right), delta, -1.0)]
            right.append(0.0)
    return entries, right, extra


def _sparse(entries: Sequence[Entry], rows: int, columns: int) -> Any:
    at, places, values = zip(*entries, strict=True)
    return csc_array((np.array(values), (at, places)), shape=(rows, columns))


def _to_whole(wish: _Wish, rows: Sequence[dict[int, float]]) -> PerturbationTable:
    """Return whole weights near the probabilities that keep every sum, and mean 0 where it is asked for, exactly."""
    whole = []
    for number, row in enumerate(rows):
        weights = {v: int(p * TOTAL) for v, p in row.items()}
        missing = TOTAL - sum(weights.values())
        if wish.is_unbiased(number):
            weights = _with_mean_zero(weights, missing)
        else:
            weights[max(weights, key=lambda v: weights[v])] += missing
        whole.append(weights)
    return PerturbationTable(tuple(whole), TOTAL)


def _with_mean_zero(weights: dict[int, int], missing: int) -> dict[int, int]:
    """Add `missing` units in all so that the mean is 0, over three of the likeliest noises, with the least change."""
    moment = sum(v * weight for v, weight in weights.items())
    likeliest = sorted(weights, key=lambda v: -weights[v])[:6]
    best: tuple[int, dict[int, int]] | None = (0, {}) if not (missing or moment) else None
    for s, t, u in permutations(likeliest, 3):
        for more in range(-60, 61):  # x + more + y = missing and s·x + t·more + u·y = -moment
            y, rest = divmod(-moment - s * missing - more * (t - s), u - s)
            changes = {s: missing - more - y, t: more, u: y}
            size = sum(map(abs, changes.values()))
            can_be = rest == 0 and all(weights[v] + change >= 0 for v, change in changes.items())
            if can_be and (best is None or size < best[0]):
                best = size, changes
    if best is None:
        raise InfeasibleDesign("no table of eight digits keeps mean 0; allow a larger noise or variance")
    return {v: weight + best[1].get(v, 0) for v, weight in weights.items()}
