"""Constructors of the common queries, each as a `RangeQuery`: counts, totals, means, extremes, intervals, labels."""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

from inbounds.exact import Number, to_fraction, to_int
from inbounds.query.neighbours import AllPairs, Metric, Neighbours, Reach
from inbounds.query.outputs import OutputCells, cells, parse_bounds
from inbounds.query.pairs import FindPosition, NeighboursLike, Pairs, connect_pairs, find_numbers
from inbounds.query.places import format_place
from inbounds.query.query import RangeQuery, check_query
from inbounds.trusted.scale import Scale

ALLOWANCE = Fraction(1, 1 << 20)
"""The default allowance for the caller's arithmetic, as a share of the sensitivity."""

Outputs = int | OutputCells | Sequence[Sequence[Number]] | None


def _query(
    kind: str,
    answers: Scale,
    natural: Neighbours,
    outputs: Outputs,
    neighbours: NeighboursLike = None,
    *,
    rounds: bool = False,
) -> RangeQuery:
    """Build a query; natural: the neighbours of its kind, unless others are given."""
    query = RangeQuery(kind, answers, _cells(answers, outputs), natural, rounds)
    return query if neighbours is None else with_neighbours(query, neighbours)


def _cells(answers: Scale, outputs: Outputs) -> OutputCells:
    """Return the output cells that an `outputs=` argument describes."""
    one_per_answer = OutputCells.one_per_answer(answers)
    if outputs is None or isinstance(outputs, OutputCells):
        return outputs or one_per_answer
    if isinstance(outputs, int):
        return cells(one_per_answer.lowers[0], one_per_answer.uppers[-1], to_int(outputs, "outputs", 1))
    return OutputCells.from_edges(outputs)


def count(maximum: int, *, outputs: Outputs = None, neighbours: NeighboursLike = None) -> RangeQuery:
    """Return the query "how many of `maximum` people …": answers 0..maximum; one person moves the count by one.

    outputs: None for one output per answer, a number of equal cells, `ib.cells(...)`, or a list of
    (lower, upper) or (lower, upper, value) cells that cover the answers. neighbours: other neighbours than those of
    the kind, as `with_neighbours` takes them.

    >>> count(20)
    <count: 0..20 (21 values); neighbours: one step apart>
    """
    size = to_int(maximum, "maximum", 1)
    return _query("count", Scale(Fraction(0), Fraction(1), range(size + 1)), Reach(1), outputs, neighbours)


def total(size: int, low: int, high: int, *, outputs: Outputs = None, neighbours: NeighboursLike = None) -> RangeQuery:
    """Return the query for the sum of `size` integers in low..high; replacing one person moves it by at most high -
    low.
    """
    n, lower, width = to_int(size, "size", 1), *_whole_range(low, high)
    answers = Scale(Fraction(n * lower), Fraction(1), range(n * width + 1))
    return _query("total", answers, Reach(width), outputs, neighbours)


def mean(size: int, low: int, high: int, *, outputs: Outputs = None, neighbours: NeighboursLike = None) -> RangeQuery:
    """Return the query for the mean of `size` integers in low..high: (high-low)·size + 1 answers, 1/size apart.

    Neighbours are at most high - low steps apart. The spacing corrects that of 000 §4.3, which prints 1/(k·size).

    >>> mean(10, 1, 5).answers
    1..5 (41 values)
    """
    n, lower, width = to_int(size, "size", 1), *_whole_range(low, high)
    answers = Scale(Fraction(lower), Fraction(1, n), range(n * width + 1))
    return _query("mean", answers, Reach(width), outputs, neighbours)


def extreme(low: int, high: int, *, outputs: Outputs = None, neighbours: NeighboursLike = None) -> RangeQuery:
    """Return the query for the minimum, maximum or median of integers in low..high: one person may move it anywhere."""
    lower, width = _whole_range(low, high)
    return _query("extreme", Scale(Fraction(lower), Fraction(1), range(width + 1)), AllPairs(), outputs, neighbours)


def ordinal(
    low: int, high: int, *, unit: Number = 1, outputs: Outputs = None, neighbours: NeighboursLike = None
) -> RangeQuery:
    """Return the query for one person's integer in low..high under metric privacy: epsilon per `unit` of distance.

    neighbours: pairs of answers that are neighbours instead, as `with_neighbours` takes them, without a unit.

    >>> ordinal(0, 5, neighbours=[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (3, 5)])
    <ordinal: 0..5 (6 values); neighbours: 6 edges, epsilon for every 1 of length>
    """
    lower, width = _whole_range(low, high)
    answers, distance = Scale(Fraction(lower), Fraction(1), range(width + 1)), to_fraction(unit, "unit")
    if neighbours is not None and distance != 1:
        raise ValueError(f"unit must be left out beside neighbours, got {unit}; give each pair its distance instead")
    return _query("ordinal", answers, Metric(distance), outputs, neighbours)


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
    """Return a query for any real number in low..high, rounded down into `cells` equal cells, each named by its middle.

    Rounding keeps neighbours within reach = ceil(sensitivity / width) cells. allowance: how much the caller's
    arithmetic may add to the distance of two answers, by default 2^-20 of the sensitivity; 0 means that answers are
    exact. The cells are slightly wider for it, so that answers at most sensitivity + allowance apart stay within the
    reach. holes: ranges in which no true answer can lie; their ends must be cell edges. A hole narrower than the reach,
    which one person can cross, keeps its last cell: with the allowance that cell holds answers from beyond the hole.
    """
    lower, upper = parse_bounds(low, high)
    shift = to_fraction(sensitivity, "sensitivity")
    if not 0 < shift <= upper - lower:
        raise ValueError(f"sensitivity must be positive and at most high - low, got {sensitivity}")
    cell_count = to_int(cells, "cells", 2)
    width = (upper - lower) / cell_count
    reach = math.ceil(shift / width)
    margin = shift * ALLOWANCE if allowance is None else to_fraction(allowance, "allowance")
    ticks = _outside_holes(lower, width, cell_count, holes)
    if len(ticks) < 2:
        raise ValueError("holes must leave at least two cells")
    if margin:
        ticks = _with_shared_cells(ticks, reach, 1 + margin / (reach * width))
    places = ticks if isinstance(ticks, range) else tuple(tick - ticks[0] for tick in ticks)
    answers = Scale(lower + width / 2 + ticks[0] * width, width, places)
    query = _query("interval", answers, Reach(reach), outputs, rounds=True)
    return replace(query, allowance=margin)


def _with_shared_cells(ticks: Sequence[int], reach: int, wider: Fraction) -> Sequence[int]:
    """Add the cells of a narrow hole in which answers from beyond it land, because the cells are slightly wider."""
    if isinstance(ticks, range):
        return ticks
    cells, first = {ticks[0]}, ticks[0]
    for before, after in pairwise(ticks):
        if after - before > reach:
            first = after
        elif after > before + 1:
            cells.update(range(first + math.floor((after - first) / wider), after))
        cells.add(after)
    return sorted(cells)


def category(labels: Sequence[str] | int) -> RangeQuery:
    """Return the query for one of several labels without order or distance; all labels are neighbours.

    labels: texts, or a number of labels; then the labels are 0, 1, 2, …, codes of any kind.

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
    """Return the same query with other output cells."""
    return replace(query, outputs=_cells(query.answers, outputs))


def with_neighbours(query: RangeQuery, neighbours: Neighbours | Pairs) -> RangeQuery:
    """Return the same query with other neighbours, e.g. a count whose whole value is one person's secret.

    neighbours: a relation such as `ib.AllPairs()`, or pairs of answers (a, b) or (a, b, distance), where the distance
    is 1 by default. For a pair at distance d and every output i, Pr[i | a] <= exp(epsilon·d) · Pr[i | b], and the same
    from b to a. Along a path of pairs the distances add up; nothing is promised between answers without a path. List
    every pair of answers that one person can turn into each other: whether the list is complete cannot be checked.
    Numbers must be answers exactly: '1/3', not 0.333.

    >>> with_neighbours(count(3), [(0, 1), (1, 2), (2, 3), (0, 3, 2)])
    <count: 0..3 (4 values); neighbours: 4 edges, epsilon for every 1 of length>
    """
    check_query(query)
    relation = neighbours if isinstance(neighbours, Neighbours) else connect_pairs(_finder(query), neighbours)
    allowance = query.allowance if isinstance(relation, Reach) else Fraction(0)
    changed = replace(query, neighbours=relation, allowance=allowance)
    if allowance and changed.cuts != query.cuts:
        raise ValueError("neighbours must leave the holes as they are; make the interval again with that sensitivity")
    return changed


def _finder(query: RangeQuery) -> FindPosition:
    """Return the function that finds the answers of a query: numbers, labels or places."""
    if query.labels is None:
        return find_numbers(query.answers)
    positions = {label: j for j, label in enumerate(query.labels)}
    if query.places is None:
        return lambda label: positions.get(label)
    return lambda place: positions.get(format_place(tuple(to_fraction(number, "coordinate") for number in place)))


def _outside_holes(
    low: Fraction, width: Fraction, cell_count: int, holes: Sequence[tuple[Number, Number]]
) -> Sequence[int]:
    """Return the indices of the cells outside all holes."""
    inside: set[int] = set()
    for hole in holes:
        start, stop = (
            min(max((edge - low) / width, Fraction(0)), Fraction(cell_count)) for edge in parse_bounds(*hole)
        )
        if start.denominator != 1 or stop.denominator != 1:
            raise ValueError(f"holes must begin and end on cell edges, got {hole}")
        inside.update(range(int(start), int(stop)))
    return [tick for tick in range(cell_count) if tick not in inside] if inside else range(cell_count)


def _whole_range(low: int, high: int) -> tuple[int, int]:
    lower, upper = parse_bounds(low, high)
    if lower.denominator != 1 or upper.denominator != 1:
        raise ValueError(f"low and high must be whole numbers, got {low} and {high}")
    return int(lower), int(upper - lower)
