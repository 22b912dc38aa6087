"""Neighbour relations: which true answers one person can turn into each other, and the distance between them."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from operator import itemgetter

import numpy as np

from inbounds.exact import Floats, to_fraction, to_int
from inbounds.trusted.bounds import Clique, Edge
from inbounds.trusted.limits import MOST_EDGES
from inbounds.trusted.scale import Scale

LONGEST_MEASURED = 1 << 1000
"""The longest edge for which distances are computed: sums of up to MOST_EDGES such lengths fit a float."""


@dataclass(frozen=True)
class Reach:
    """Answers at most `steps` grid steps apart are neighbours: one person moves the answer that far."""

    steps: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", to_int(self.steps, "steps", 1))

    def cliques(self, answers: Scale) -> Iterator[Clique]:
        ticks, end = answers.ticks, 0
        for start in range(len(ticks)):
            before, end = end, bisect_right(ticks, ticks[start] + self.steps, lo=end)
            if end > before and end - start > 1:
                yield Clique(start, end, Fraction(1))

    def cuts(self, answers: Scale) -> tuple[int, ...]:
        """Return every j whose next answer is too far away to be its neighbour: the promise does not reach across."""
        if answers.is_regular:
            return ()
        ticks = answers.ticks
        return tuple(j for j in range(len(ticks) - 1) if ticks[j + 1] - ticks[j] > self.steps)

    def sensitivity(self, answers: Scale) -> Fraction:
        return min(self.steps * answers.unit, answers.span)

    def __str__(self) -> str:
        return "one step apart" if self.steps == 1 else f"at most {self.steps} steps apart"


@dataclass(frozen=True)
class AllPairs:
    """All answers are neighbours: one person may move the answer anywhere (min, max, median, local privacy)."""

    def cliques(self, answers: Scale) -> Iterator[Clique]:
        yield Clique(0, len(answers), Fraction(1))

    def cuts(self, answers: Scale) -> tuple[int, ...]:
        return ()

    def sensitivity(self, answers: Scale) -> Fraction:
        return answers.span

    def __str__(self) -> str:
        return "any two"


@dataclass(frozen=True)
class Metric:
    """All pairs are neighbours, with ratio exp(epsilon·distance/unit): d-privacy (001 Definition (4)).

    It is enough to constrain consecutive answers, because the ratios along a line multiply.
    """

    unit: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        object.__setattr__(self, "unit", to_fraction(self.unit, "unit"))
        if not self.unit > 0:
            raise ValueError(f"unit must be positive, got {self.unit}")

    def cliques(self, answers: Scale) -> Iterator[Clique]:
        for j in range(len(answers) - 1):
            gap = (answers.ticks[j + 1] - answers.ticks[j]) * answers.unit
            yield Clique(j, j + 2, gap / self.unit)

    def cuts(self, answers: Scale) -> tuple[int, ...]:
        return ()

    def sensitivity(self, answers: Scale) -> Fraction:
        return self.unit

    def __str__(self) -> str:
        return f"any two, epsilon for every {self.unit} of distance"


@dataclass(frozen=True)
class Graph:
    """Edges between answers, each with a length: ratio exp(epsilon·length) from its tail to its head.

    An edge is one-way; the other direction needs another edge. Ratios along a path multiply, so any two answers
    keep exp(epsilon·length of the shortest path): d-privacy in the metric of the graph (001 Definition (4)).
    """

    edges: tuple[Edge, ...]

    def __post_init__(self) -> None:
        if type(self.edges) is not tuple or not all(map(_is_plain, self.edges)):
            raise TypeError("edges must be a tuple of Edge(tail, head, length): two plain ints and a Fraction")
        if not 0 < len(self.edges) <= MOST_EDGES:
            raise ValueError(f"a graph must have between 1 and {MOST_EDGES} edges, got {len(self.edges)}")
        for tail, head, length in self.edges:
            if tail == head or min(tail, head) < 0:
                raise ValueError(f"an edge must join two different answers, got {tail} and {head}")
            if not length > 0:
                raise ValueError(f"length must be positive, got {length}; two answers 0 apart are one answer")
        object.__setattr__(self, "edges", tuple(sorted(self.edges, key=itemgetter(0, 1))))
        if any(edge[:2] == next_edge[:2] for edge, next_edge in pairwise(self.edges)):
            raise ValueError("edges must join each two answers at most once in each direction")

    def __reduce__(self) -> tuple[type["Graph"], tuple[tuple[Edge, ...]]]:
        return Graph, (self.edges,)  # copies and pickles are validated again

    def cliques(self, answers: Scale) -> Iterator[Clique]:
        raise ValueError("answers on a graph have edges, not runs of neighbours on a line; this is not known for them")

    def cuts(self, answers: Scale) -> tuple[int, ...]:
        return ()

    def sensitivity(self, answers: Scale) -> Fraction:
        """Return 1, the length that costs epsilon."""
        return Fraction(1)

    @property
    def is_undirected(self) -> bool:
        """Whether every edge has one of the same length back."""
        edge_set = set(self.edges)
        return all(Edge(head, tail, length) in edge_set for tail, head, length in self.edges)

    def distances(self, answers: int, *, directed: bool = True) -> Floats:
        """Return distances[j, k], the length of the shortest path from j to k; inf if there is none.

        directed=False: every edge can be used in both directions.
        """
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import shortest_path

        tails, heads, lengths = zip(*self.edges, strict=True)
        if max(lengths) > LONGEST_MEASURED:
            raise ValueError("length must be at most 2**1000 for distances to be measured; use a larger unit")
        adjacency = csr_array((np.array([*map(float, lengths)]), (tails, heads)), shape=(answers, answers))
        return np.asarray(shortest_path(adjacency, method="D", directed=directed))

    def is_connected(self, answers: int) -> bool:
        """Return whether there is a path from every answer to every other."""
        return bool(np.isfinite(self.distances(answers)).all())

    def __str__(self) -> str:
        count = len(self.edges) // 2 if self.is_undirected else len(self.edges)
        return f"{count} {'edges' if self.is_undirected else 'one-way edges'}, epsilon for every 1 of length"


def _is_plain(edge: Edge) -> bool:
    """Test for exact types: a subclass could show the checker other values than the reader."""
    return type(edge) is Edge and [*map(type, edge)] == [int, int, Fraction]


Neighbours = Reach | AllPairs | Metric | Graph
