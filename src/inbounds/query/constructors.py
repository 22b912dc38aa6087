"""The questions that people ask, each as a `RangeQuery`: counts, totals, means, extremes, intervals, labels."""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

from inbounds.exact import Number, to_fraction, to_int
from inbounds.query.neighbours import AllPairs, Metric, Neighbours, Reach
from inbounds.query.outputs import OutputCells, cells, parse_bounds
from inbounds.query.query import RangeQuery
from inbounds.trusted.scale import Scale

ALLOWANCE = Fraction(1, 1 << 20)
"""Share of the sensitivity that a caller's own arithmetic may add to the distance of two real answers."""

Outputs = int | OutputCells | Sequence[Sequence[Number]] | None


def _query(kind: str, answers: Scale, neighbours: Neighbours, outputs: Outputs, *, rounds: bool = False) -> RangeQuery:
    return RangeQuery(kind, answers, _cells(answers, outputs), neighbours, rounds)


def _cells(answers: Scale, outputs: Outputs) -> OutputCells:
    """Return the output cells that an `outputs=` argument asks for."""
    around = OutputCells.one_per_answer(answers)
    if outputs is None or isinstance(outputs, OutputCells):
        return outputs or around
    if isinstance(outputs, int):
        return cells(around.lowers[0], around.uppers[-1], to_int(outputs, "outputs", 1))
    return OutputCells.from_edges(outputs)


def count(maximum: int, *, outputs: Outputs = None) -> RangeQuery:
    """Return how many of `maximum` people …: answers 0..maximum, one person moves it by one.

    outputs: None for one output per answer, a number of equal cells, `ib.cells(...)`, or a list of
    (lower, upper) or (lower, upper, value) cells that cover the answers.

    >>> count(20)
    <count: 0..20 (21 values); neighbours: one step apart>
    """
    size = to_int(maximum, "maximum", 1)
    return _query("count", Scale(Fraction(0), Fraction(1), range(size + 1)), Reach(1), outputs)


def total(size: int, low: int, high: int, *, outputs: Outputs = None) -> RangeQuery:
    """Sum of `size` whole numbers in low..high; replacing one person moves it by at most high - low."""
    n, lower, width = to_int(size, "size", 1), *_whole_range(low, high)
    return _query("total", Scale(Fraction(n * lower), Fraction(1), range(n * width + 1)), Reach(width), outputs)


def mean(size: int, low: int, high: int, *, outputs: Outputs = None) -> RangeQuery:
    """Mean of `size` whole numbers in low..high: (high-low)·size + 1 answers 1/size apart, reach high - low.

    The corrected spacing of 000 §4.3 (the paper prints 1/(k·size)).

    >>> mean(10, 1, 5).answers
    1..5 (41 values)
    """
    n, lower, width = to_int(size, "size", 1), *_whole_range(low, high)
    answers = Scale(Fraction(lower), Fraction(1, n), range(n * width + 1))
    return _query("mean", answers, Reach(width), outputs)


def extreme(low: int, high: int, *, outputs: Outputs = None) -> RangeQuery:
    """Minimum, maximum or median of whole numbers in low..high: one person may move it anywhere."""
    lower, width = _whole_range(low, high)
    return _query("extreme", Scale(Fraction(lower), Fraction(1), range(width + 1)), AllPairs(), outputs)


def ordinal(low: int, high: int, *, unit: Number = 1, outputs: Outputs = None) -> RangeQuery:
    """Return one person's whole number in low..high under metric privacy: epsilon for every `unit` of distance."""
    lower, width = _whole_range(low, high)
    answers = Scale(Fraction(lower), Fraction(1), range(width + 1))
    return _query("ordinal", answers, Metric(to_fraction(unit, "unit")), outputs)


def interval(
    low: Number,
    high: Number,
    sensitivity: Number,
    cells: int,
    *,
    holes: Sequence[tuple[Number, Number]] = (),
    outputs: Outputs = None,
    allowance: Number | None = None,
) -> RangeQuery:
    """Any real-valued query in low..high, rounded down into `cells` equal cells and known by their middles.

    Rounding keeps neighbours within reach = ceil(sensitivity / width) cells. allowance: what the caller's own
    arithmetic may add to the distance of two answers, by default 2^-20 of the sensitivity; the cells are a hair wider
    for it, so that answers at most sensitivity + allowance apart stay within the reach. 0 says that answers are
    exact. `holes` are ranges that no true answer can lie in; their edges must be cell edges. A hole narrower than the
    reach, which one person can cross, keeps its last cell: with the allowance that cell holds answers beyond the hole.
    """
    lower, upper = parse_bounds(low, high)
    moved = to_fraction(sensitivity, "sensitivity")
    if not 0 < moved <= upper - lower:
        raise ValueError(f"sensitivity must be positive and at most high - low, got {sensitivity}")
    parts = to_int(cells, "cells", 2)
    width = (upper - lower) / parts
    reach = math.ceil(moved / width)
    spare = moved * ALLOWANCE if allowance is None else to_fraction(allowance, "allowance")
    ticks = _outside_holes(lower, width, parts, holes)
    if len(ticks) < 2:
        raise ValueError("holes must leave at least two cells")
    if spare:
        ticks = _with_shared_cells(ticks, reach, 1 + spare / (reach * width))
    places = ticks if isinstance(ticks, range) else tuple(tick - ticks[0] for tick in ticks)
    answers = Scale(lower + width / 2 + ticks[0] * width, width, places)
    query = _query("interval", answers, Reach(reach), outputs, rounds=True)
    return replace(query, allowance=spare)


def _with_shared_cells(ticks: Sequence[int], reach: int, wider: Fraction) -> Sequence[int]:
    """Also the cells of a hole that neighbours can cross in which answers beyond it land: cells are a hair wider."""
    if isinstance(ticks, range):
        return ticks
    kept, first = {ticks[0]}, ticks[0]
    for before, after in pairwise(ticks):
        if after - before > reach:
            first = after
        elif after > before + 1:
            kept.update(range(first + math.floor((after - first) / wider), after))
        kept.add(after)
    return sorted(kept)


def category(labels: Sequence[str] | int) -> RangeQuery:
    """Return one of several labels without order or distance; all are neighbours.

    A number of labels stands for as many that are known by their numbers, from 0: codes of any kind.

    >>> category(10**6)
    <category: 0..999999 (1000000 values); neighbours: any two>
    """
    if isinstance(labels, int):
        numbered = Scale(Fraction(0), Fraction(1), range(to_int(labels, "labels", 2)))
        return RangeQuery("category", numbered, OutputCells.one_per_answer(numbered), AllPairs())
    names = tuple(labels)
    if isinstance(labels, str) or len(names) < 2 or not all(isinstance(name, str) for name in names):
        raise ValueError("labels must be at least two strings")
    if len(set(names)) < len(names):
        raise ValueError("labels must be distinct")
    answers = Scale(Fraction(0), Fraction(1), range(len(names)))
    return RangeQuery(
        "category", answers, OutputCells.one_per_answer(answers), AllPairs(), labels=tuple(map(str, names))
    )


def with_outputs(query: RangeQuery, outputs: Outputs) -> RangeQuery:
    """Return the same question reported in other cells."""
    return replace(query, outputs=_cells(query.answers, outputs))


def with_neighbours(query: RangeQuery, neighbours: Neighbours) -> RangeQuery:
    """Return the same question under another promise: e.g. a count whose whole value is one person's secret."""
    allowance = query.allowance if isinstance(neighbours, Reach) else Fraction(0)
    changed = replace(query, neighbours=neighbours, allowance=allowance)
    if allowance and changed.cuts != query.cuts:
        raise ValueError("neighbours must leave the holes as they are; make the interval again with that sensitivity")
    return changed


def _outside_holes(low: Fraction, width: Fraction, parts: int, holes: Sequence[tuple[Number, Number]]) -> Sequence[int]:
    """Return the cells that no hole holds."""
    inside: set[int] = set()
    for hole in holes:
        start, stop = (min(max((edge - low) / width, Fraction(0)), Fraction(parts)) for edge in parse_bounds(*hole))
        if start.denominator != 1 or stop.denominator != 1:
            raise ValueError(f"holes must begin and end on cell edges, got {hole}")
        inside.update(range(int(start), int(stop)))
    return [tick for tick in range(parts) if tick not in inside] if inside else range(parts)


def _whole_range(low: int, high: int) -> tuple[int, int]:
    lower, upper = parse_bounds(low, high)
    if lower.denominator != 1 or upper.denominator != 1:
        raise ValueError(f"low and high must be whole numbers, got {low} and {high}")
    return int(lower), int(upper - lower)
