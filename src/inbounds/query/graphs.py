"""Constructors of queries on a graph, each as a `RangeQuery`: any edges, maps, trees, pairs of counts, histograms."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise, product
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from inbounds.errors import check_kind
from inbounds.exact import Floats, Number, to_fraction, to_int
from inbounds.query.neighbours import Graph
from inbounds.query.outputs import OutputCells
from inbounds.query.pairs import Pairs, connect_pairs, find_numbers
from inbounds.query.places import PlaceTuples, find_map_axes, format_place
from inbounds.query.query import RangeQuery, check_query
from inbounds.trusted.bounds import Edge
from inbounds.trusted.limits import MOST_EDGES, MOST_MOVES
from inbounds.trusted.scale import Scale

MOST_NODES = 1 << 16
"""The most answers of a map, a pair of counts or a histogram."""

UNASKED, EXACT = 1 << 19, 1 << 17
"""The most edges of a map without a `stretch` argument, and the most where every visible pair has one."""

FINE = 40
"""Irrational lengths are rounded down to multiples of 2**-FINE steps: less than 10^-12 of a step."""

Step = tuple[int, ...]


def graph(
    answers: Sequence[Any], edges: Sequence[Sequence[Any]] = (), *, one_way: Sequence[Sequence[Any]] = ()
) -> RangeQuery:
    """Return a query with any finite set of answers and the edges between neighbours.

    edges: (a, b) or (a, b, length); the length is 1 by default. For an edge of length L and every output i, Pr[i | a]
    <= exp(epsilon·L) · Pr[i | b], and the same from b to a; an edge in `one_way` means the first only. Along a path the
    lengths add up; nothing is promised between answers without a path.

    answers: texts, or tuples of numbers (places) that all have the same number of coordinates, or numbers. Numbers keep
    their order and distance, so every loss, property and mechanism for numbers is there, as with
    `ib.ordinal(…, neighbours=pairs)`.

    >>> graph(["home", "work", "gym"], [("home", "work", 2), ("work", "gym")])
    <graph: 3 labels; neighbours: 2 edges, epsilon for every 1 of length>
    >>> graph([0, 1, 5], [(0, 1), (1, 5, 2)])
    <graph: 0..5 (3 values); neighbours: 2 edges, epsilon for every 1 of length>
    """
    if isinstance(answers, str):
        raise TypeError("answers must be a list of texts, of numbers or of tuples of numbers, got a text")
    if all(_is_number(answer) for answer in answers):
        return _numeric_graph(answers, edges, one_way)
    names, places = _name_answers(answers)
    position = {name: j for j, name in enumerate(names)}
    if len(position) < len(names):
        raise ValueError("answers must be distinct")
    relation = connect_pairs(lambda answer: position.get(_name_answers([answer])[0][0]), edges, one_way)
    return _query("graph", names, places, relation)


def grid(
    rows: int,
    columns: int,
    *,
    step: Number = 1,
    metric: Literal["euclidean", "manhattan"] = "euclidean",
    stretch: Number | None = None,
) -> RangeQuery:
    """Return the query of a map of rows × columns square cells: epsilon per 1 of distance (001's d-privacy).

    Answers are the places (row·step, column·step). metric: "manhattan" joins each cell with its four neighbours;
    "euclidean" protects the straight-line distance of any two cells. These distances are irrational; the edges are
    shorter by at most 10^-12, so the promise holds for the true distance. With stretch 1 there is an edge between any
    two cells with no other cell on the line between them. A larger stretch needs fewer edges, whose lengths are divided
    by at most `stretch` (a spanner). The promise is the same, but the mechanism is as noisy as if epsilon were up to
    `stretch` times smaller. The default is 1 up to 20 × 20 cells, and for more the least stretch with at most 2^19
    edges and 512 moves, so that a noise table serves the map (30 × 30: 1.0007, 100 × 100: 1.008).

    >>> grid(3, 4, metric="manhattan")
    <map: 12 places; neighbours: 17 edges, epsilon for every 1 of length>

    Reference: Bordenabe, Chatzikokolakis, Palamidessi, Optimal geo-indistinguishable mechanisms for location privacy,
    2014 (spanners).
    """
    height, width = to_int(rows, "rows", 1), to_int(columns, "columns", 1)
    unit, max_stretch = to_fraction(step, "step"), None if stretch is None else to_fraction(stretch, "stretch")
    if height * width < 2:
        raise ValueError("a map must have at least two cells, got 1 row and 1 column; take more")
    if not unit > 0:
        raise ValueError(f"step must be positive, got {step}")
    if max_stretch is not None and not max_stretch >= 1:
        raise ValueError(f"stretch must be at least 1, got {stretch}")
    if metric not in ("euclidean", "manhattan"):
        raise ValueError(f"metric must be 'euclidean' or 'manhattan', got {metric!r}")
    _refuse_many(height * width)
    moves: dict[Step, Fraction] = {(0, 1): unit, (1, 0): unit}
    if metric == "euclidean":
        moves = _straight(height, width, unit, max_stretch)
    if _map_edges(height, width, moves) > MOST_EDGES:
        raise ValueError("a map of this size has too many edges; take stretch=1.03, or metric='manhattan'")
    cells = [*product(range(height), range(width))]
    return _query_of_moves("map", cells, moves, unit)


def tree(parents: Mapping[str, Any]) -> RangeQuery:
    """Return the query of the nodes of a tree: {"child": "parent"}, or {"child": ("parent", length)}; lengths default
    to 1.

    >>> tree({"Paris": "France", "Lyon": "France", "France": ("Europe", 2)})
    <tree: 4 labels; neighbours: 3 edges, epsilon for every 1 of length>
    """
    check_kind(parents, Mapping, "parents", "a dictionary from children to parents")
    parent_edges = {child: parent if isinstance(parent, tuple) else (parent, 1) for child, parent in parents.items()}
    names = [*dict.fromkeys([*(parent[0] for parent in parent_edges.values()), *parent_edges])]
    roots = [name for name in names if name not in parent_edges]
    if len(roots) != 1 or len(_below(roots[0], {child: parent[0] for child, parent in parent_edges.items()})) != len(
        names
    ):
        raise ValueError(f"parents must lead to one root, without a circle; got {len(roots)} nodes without a parent")
    query = graph(names, [(child, *parent) for child, parent in parent_edges.items()])
    return RangeQuery("tree", query.answers, query.outputs, query.neighbours, labels=query.labels)


def pair_of_counts(first: int, second: int, *, exclusive: bool = False) -> RangeQuery:
    """Return the query for two counts at once, 0..first and 0..second; one person changes each of them by at most one.

    exclusive: each person counts in at most one, so one person never moves both in the same direction.

    >>> pair_of_counts(2, 3)
    <pair of counts: 12 places; neighbours: 29 edges, epsilon for every 1 of length>
    """
    sizes = to_int(first, "first", 1) + 1, to_int(second, "second", 1) + 1
    _refuse_many(sizes[0] * sizes[1])
    moves = [(0, 1), (1, 0), (1, -1)] if exclusive else [(0, 1), (1, 0), (1, -1), (1, 1)]
    cells = [*product(*map(range, sizes))]
    return _query_of_moves("pair of counts", cells, dict.fromkeys(moves, Fraction(1)), Fraction(1))


def histogram_query(people: int, bins: int) -> RangeQuery:
    """Return the query for the counts of `people` people in `bins` bins, all at once.

    The counts sum to `people`, so there are (people + bins - 1 choose bins - 1) answers. Replacing one person moves one
    count from a bin to another: an edge of length 1.

    >>> histogram_query(3, 3)
    <histogram: 10 places; neighbours: 18 edges, epsilon for every 1 of length>
    """
    size, parts = to_int(people, "people", 1), to_int(bins, "bins", 2)
    _refuse_many(math.comb(size + parts - 1, parts - 1))
    cells = [*_sums(size, parts)]
    moves = [
        tuple((k == a) - (k == b) for k in range(parts)) for a in range(parts) for b in range(parts) if a < b
    ]  # one person from bin b to bin a; the way back is the same edge
    return _query_of_moves("histogram", cells, dict.fromkeys(moves, Fraction(1)), Fraction(1))


def snap_to_map(query: RangeQuery, values: ArrayLike) -> Floats:
    """Arrange one number for each cell of a map as values[row, column].

    >>> snap_to_map(grid(2, 3), range(6)).tolist()
    [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    """
    check_query(query)
    axes, numbers = find_map_axes(query.coordinates), np.asarray(values, dtype=np.float64)
    if axes is None:
        raise ValueError("query must be a map of cells, such as ib.grid(10, 10)")
    if numbers.shape != (len(query.answers),):
        raise ValueError(
            f"values must be one for each of the {len(query.answers)} cells, got the shape {numbers.shape}"
        )
    return numbers.reshape(len(axes[0]), len(axes[1]))


def _query(kind: str, names: Sequence[str], places: PlaceTuples | None, relation: Graph) -> RangeQuery:
    answers = Scale(Fraction(0), Fraction(1), range(len(names)))
    return RangeQuery(kind, answers, OutputCells.one_per_answer(answers), relation, labels=tuple(names), places=places)


def _is_number(answer: Any) -> bool:
    return isinstance(answer, Real | Decimal | np.number) and not isinstance(answer, bool | np.bool_)


def _numeric_graph(numbers: Sequence[Any], edges: Pairs, one_way: Pairs) -> RangeQuery:
    """Build the query of numbers with edges between them; the numbers are sorted."""
    values = sorted(to_fraction(number, "answer") for number in numbers)
    if not values or len(set(values)) < len(values):
        raise ValueError("answers must be distinct, and at least two")
    answers = Scale.from_numbers(values)
    relation = connect_pairs(find_numbers(answers), edges, one_way)
    return RangeQuery("graph", answers, OutputCells.one_per_answer(answers), relation)


def _name_answers(answers: Sequence[Any]) -> tuple[list[str], PlaceTuples | None]:
    """Return names and places: texts are names, tuples of numbers are places named by their coordinates."""
    if all(isinstance(answer, str) for answer in answers):
        return [*map(str, answers)], None
    if not all(isinstance(answer, tuple) for answer in answers):
        raise TypeError("answers must all be texts, all be numbers, or all be tuples of numbers such as (3, 4)")
    places = tuple(tuple(to_fraction(number, "coordinate") for number in answer) for answer in answers)
    return [*map(format_place, places)], places


def _query_of_moves(kind: str, cells: Sequence[Step], moves: Mapping[Step, Fraction], unit: Fraction) -> RangeQuery:
    """Build the query whose answers are cells times `unit`, with edges both ways for every move between two cells."""
    position = {cell: j for j, cell in enumerate(cells)}
    edges = []
    for move, length in moves.items():
        for cell, j in position.items():
            k = position.get(tuple(a + b for a, b in zip(cell, move, strict=True)))
            if k is not None:
                edges += [Edge(j, k, length), Edge(k, j, length)]
    places = tuple(tuple(unit * number for number in cell) for cell in cells)
    return _query(kind, [*map(format_place, places)], places, Graph(tuple(edges)))


def _map_edges(rows: int, columns: int, moves: Iterable[Step]) -> int:
    """Count the edges of a map with these moves, both directions."""
    return 2 * sum(max(0, rows - abs(a)) * max(0, columns - abs(b)) for a, b in moves)


def _is_light(rows: int, columns: int, moves: Sequence[Step]) -> bool:
    """Return whether a map with these moves has few enough edges, and few enough moves for a noise table."""
    return _map_edges(rows, columns, moves) <= UNASKED and 2 * len(moves) <= MOST_MOVES


def _straight(rows: int, columns: int, unit: Fraction, stretch: Fraction | None) -> dict[Step, Fraction]:
    """Return the moves between cells without another cell on the line between them, with lengths rounded down.

    With all moves up to `reach` each way, a line between two of their directions, an angle t apart, is replaced by
    moves along both: a detour of at most 1 / cos(t / 2). Lengths are shortened by that factor, so no path is longer
    than the straight line.
    """
    farthest, reach = max(rows, columns) - 1, 1
    if stretch is None:
        if _map_edges(rows, columns, _visible_moves(rows, columns, farthest)) <= EXACT:
            reach = farthest
        while reach < farthest and _is_light(rows, columns, _visible_moves(rows, columns, reach + 1)):
            reach += 1
    else:
        while reach < farthest and _shrink(reach) * stretch < 1 << FINE:
            reach += 1
    shrink = _shrink(reach) if reach < farthest else 1 << FINE
    return {
        (a, b): unit * Fraction(math.isqrt((a * a + b * b) * shrink * shrink), 1 << FINE)
        for a, b in _visible_moves(rows, columns, reach)
    }


def _visible_moves(rows: int, columns: int, reach: int) -> list[Step]:
    """List the moves of at most `reach` each way that pass through no other cell, in one direction only."""
    across = range(-min(reach, columns - 1), min(reach, columns - 1) + 1)
    steps = ((a, b) for a in range(min(reach, rows - 1) + 1) for b in across)
    return [(a, b) for a, b in steps if (a, b) > (0, 0) and math.gcd(a, b) == 1]


def _shrink(reach: int) -> int:
    """Return a lower bound of cos(t / 2) in units of 2**-FINE, t the widest angle between two directions. Float errors
    are far smaller than the unit.
    """
    slopes = sorted({Fraction(b, a) for a in range(1, reach + 1) for b in range(a + 1)})
    widest = max(math.atan(after) - math.atan(before) for before, after in pairwise(slopes))
    return math.floor(math.cos(widest / 2) * (1 << FINE)) - 1


def _sums(total: int, parts: int) -> Iterator[Step]:
    """Yield all ways to write `total` as a sum of `parts` non-negative integers."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for remaining in _sums(total - first, parts - 1):
            yield (first, *remaining)


def _below(root: str, parents: Mapping[str, str]) -> set[str]:
    """Return the nodes from which the parents lead to the root."""
    children: dict[str, list[str]] = {}
    for child, parent in parents.items():
        children.setdefault(parent, []).append(child)
    reached, queue = {root}, [root]
    while queue:
        new = [child for child in children.get(queue.pop(), ()) if child not in reached]
        reached.update(new)
        queue += new
    return reached


def _refuse_many(answers: int) -> None:
    if answers > MOST_NODES:
        raise ValueError(f"a graph must have at most {MOST_NODES} answers, got {answers}; use fewer")
