"""Neighbours given by their author: pairs of answers, each with a distance, as a `Graph`."""

from collections.abc import Callable, Iterable, Sequence, Sized
from fractions import Fraction
from itertools import islice
from typing import Any

from inbounds.exact import to_fraction
from inbounds.query.neighbours import Graph, Neighbours
from inbounds.trusted.bounds import Edge
from inbounds.trusted.limits import MOST_EDGES
from inbounds.trusted.scale import Scale

Pairs = Iterable[Sequence[Any]]
"""Pairs of neighbouring answers, (a, b) or (a, b, distance)."""

NeighboursLike = Neighbours | Pairs | None
"""What a `neighbours=` argument may be: a relation, pairs of answers, or None for that of the query's kind."""

FindPosition = Callable[[Any], int | None]
"""A function that returns the position of an answer; None for what is no answer."""


def connect_pairs(find_position: FindPosition, pairs: Pairs, one_way: Pairs = ()) -> Graph:
    """Return the graph with edges both ways between the answers of every pair, and one way for those in `one_way`."""
    if isinstance(pairs, str) or not isinstance(pairs, Iterable):
        raise TypeError(f"neighbours must be pairs of answers such as [(0, 1), (1, 2)], got {type(pairs).__name__}")
    if sum(map(_count, (pairs, one_way))) > MOST_EDGES:
        raise ValueError(f"edges must be at most {MOST_EDGES}, got {sum(map(_count, (pairs, one_way)))}")
    edges, directed = (
        [_edge(pair, find_position) for pair in islice(given, MOST_EDGES + 1)] for given in (pairs, one_way)
    )  # one more than `Graph` accepts
    backward = [Edge(head, tail, length) for tail, head, length in edges]
    return Graph((*edges, *backward, *directed))


def _count(pairs: Pairs) -> int:
    """Return how many pairs there are, if that is known before they are read."""
    return len(pairs) if isinstance(pairs, Sized) else 0


def _edge(pair: Sequence[Any], find_position: FindPosition) -> Edge:
    if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) not in (2, 3):
        raise ValueError("an edge must be (answer, answer) or (answer, answer, length)")
    tail, head = map(find_position, pair[:2])
    if tail is None or head is None:
        raise ValueError(f"an edge must join two of the answers, got {pair[0]!r} and {pair[1]!r}")
    return Edge(tail, head, to_fraction(pair[2], "length") if len(pair) == 3 else Fraction(1))


def find_numbers(answers: Scale) -> FindPosition:
    """Return the function that finds a number among the answers; it must be exact: '1/3', not 0.333."""
    positions = None if answers.is_regular else {tick: j for j, tick in enumerate(answers.ticks)}

    def find_position(number: Any) -> int | None:
        tick = (to_fraction(number, "answer") - answers.start) / answers.unit
        if tick.denominator != 1 or not 0 <= tick <= answers.ticks[-1]:
            return None
        return int(tick) if positions is None else positions.get(int(tick))

    return find_position
