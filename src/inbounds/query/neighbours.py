"""Neighbour relations: which true answers one person can turn into each other, and the distance between them.

`Neighbours` is the common base of the four relations. Each one answers for itself what designers, checkers and pages
ask: how its constraints are listed, what epsilon pays for, and how its promise reads.
"""

import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from inbounds.exact import Floats, format_decimal, to_fraction, to_int
from inbounds.trusted.bounds import Clique, Edge
from inbounds.trusted.certify import edges_by_length
from inbounds.trusted.limits import MOST_EDGES
from inbounds.trusted.scale import Scale, check_list_size

if TYPE_CHECKING:
    from inbounds.query.query import RangeQuery

MOST_SHOWN = 6
"""The most pairs of neighbours that a sentence names."""

LONGEST_MEASURED = 1 << 1000
"""The longest edge for which distances are computed: sums of up to MOST_EDGES such lengths fit a float."""

MANY, CROWDED = 100, 16
"""From MANY answers on, if one pair in CROWDED has an edge, all shortest paths are found at once (Floyd, Warshall)."""

ROUNDING = 1e-9
"""Paths longer than 1 by at most this count as 1: lengths are added in floats, and an extra pair is safe."""

Pair = tuple[int, int]


class Neighbours(ABC):
    """A neighbour relation between the answers of a query: Pr[i | j] <= exp(epsilon·d) · Pr[i | k] for every output i
    and any two answers j, k at distance d.

    The relations are `Reach`, `AllPairs`, `Metric` and `Graph`; the checkers know no others.
    """

    key: ClassVar[str]
    """Its name in passports."""
    notion: ClassVar[str]
    """The notion of privacy for one person's value: "epsilon-LDP", "epsilon·d" or "epsilon within reach"."""
    is_line: ClassVar[bool] = True
    """Whether neighbours are runs of consecutive answers, listed by `cliques`; if not, they are edges."""
    is_complete: ClassVar[bool] = False
    """Whether any two answers are neighbours at distance 1."""
    has_distances: ClassVar[bool] = False
    """Whether epsilon is paid for every 1 of a distance (metric privacy), so that far answers may differ by more."""

    # --- constraints ----------------------------------------------------------------------------------------

    @abstractmethod
    def cliques(self, answers: Scale) -> Iterator[Clique]:
        """Return the constraints as runs of answers that are neighbours of each other; raise unless `is_line`."""

    def list_edges(self, answers: Scale) -> tuple[Edge, ...]:
        """Return the constraints as edges, each direction of its own. O(answers²) where many are neighbours."""
        distances: dict[Pair, Fraction] = {}
        for start, stop, distance in self.cliques(answers):
            for j in range(start, stop):
                for k in range(start, stop):
                    if j != k:
                        distances[j, k] = min(distance, distances.get((j, k), distance))
        return tuple(Edge(j, k, distance) for (j, k), distance in sorted(distances.items()))

    def pairs(self, answers: Scale) -> list[Pair]:
        """Return all ordered pairs of answers at most 1 apart, for which epsilon is paid once."""
        runs = (
            (j, k) for start, stop, _ in self.cliques(answers) for j in range(start, stop) for k in range(start, stop)
        )
        return sorted({(j, k) for j, k in runs if j != k})

    def all_distances(self, answers: Scale) -> list[tuple[int, int, Fraction]]:
        """Return every ordered pair of answers with a path between them, with the exact length of the shortest."""
        ways: dict[int, list[tuple[int, Fraction]]] = {}
        for tail, head, length in self.list_edges(answers):
            ways.setdefault(tail, []).append((head, length))
        return [(j, k, d) for j in sorted(ways) for k, d in _shortest_paths(ways, j).items() if k != j]

    def cuts(self, answers: Scale) -> tuple[int, ...]:
        """Return every j that is no neighbour of j + 1 on a line: the promise does not reach across."""
        return ()

    def with_records(self, records: int, answers: Scale) -> "Neighbours":
        """Return the relation if one person has up to so many records, each of which may move the answer."""
        return self

    # --- distances ------------------------------------------------------------------------------------------

    @abstractmethod
    def sensitivity(self, answers: Scale) -> Fraction:
        """Return how far one person can move the answer: the distance that costs epsilon."""

    @abstractmethod
    def distance_of_steps(self, steps: int, answers: Scale) -> Fraction:
        """Return the distance of any two answers so many grid steps apart, on a grid without gaps."""

    def least_distance(self, answers: Scale) -> Fraction:
        """Return the distance of the two closest neighbours."""
        return min((clique.distance for clique in self.cliques(answers)), default=Fraction(1))

    @property
    def is_undirected(self) -> bool:
        """Whether every constraint holds in both directions."""
        return True

    def distances(self, answers: Scale, *, directed: bool = True) -> Floats:
        """Return distances[j, k], the length of the shortest path from j to k; inf if there is none.

        directed=False: every edge can be used in both directions.
        """
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import shortest_path

        check_list_size(len(answers) ** 2)
        tails, heads, lengths = zip(*self.list_edges(answers), strict=True)
        distinct = {id(length): length for length in lengths}  # edges of a map share the objects of their lengths
        if max(distinct.values()) > LONGEST_MEASURED:
            raise ValueError("length must be at most 2**1000 for distances to be measured; use a larger unit")
        floats = {key: float(length) for key, length in distinct.items()}
        shape = len(answers), len(answers)
        adjacency = csr_array((np.array([floats[id(length)] for length in lengths]), (tails, heads)), shape=shape)
        together = len(answers) >= MANY and CROWDED * len(tails) > len(answers) ** 2
        return np.asarray(shortest_path(adjacency, method="FW" if together else "D", directed=directed))

    def is_connected(self, answers: Scale) -> bool:
        """Return whether there is a path from every answer to every other."""
        return not self.cuts(answers)

    # --- files and sentences --------------------------------------------------------------------------------

    @abstractmethod
    def to_json(self) -> Any:
        """Return the relation as the plain JSON value that a passport has under its key."""

    @abstractmethod
    def describe(self, query: "RangeQuery") -> str:
        """Return which true answers are neighbours, in words."""

    @abstractmethod
    def promise(self, query: "RangeQuery", epsilon: Fraction) -> str:
        """Return the guarantee about the outputs of a query, in sentences without formulas."""

    @abstractmethod
    def local_promise(self, query: "RangeQuery", epsilon: Fraction) -> str:
        """Return the guarantee about one person's value, as a part of a sentence."""

    def claim(self, query: "RangeQuery") -> str:
        """Return what the query's author claims by this relation, as a part of a sentence that begins with 'that'."""
        return f"one person moves its answer by at most {format_decimal(query.sensitivity)}"


@dataclass(frozen=True)
class Reach(Neighbours):
    """Answers at most `steps` grid steps apart are neighbours: one person moves the answer that far."""

    steps: int

    key = "reach"
    notion = "epsilon within reach"

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", to_int(self.steps, "steps", 1))

    def cliques(self, answers: Scale) -> Iterator[Clique]:
        ticks, end = answers.ticks, 0
        for start in range(len(ticks)):
            before, end = end, bisect_right(ticks, ticks[start] + self.steps, lo=end)
            if end > before and end - start > 1:
                yield Clique(start, end, Fraction(1))

    def cuts(self, answers: Scale) -> tuple[int, ...]:
        if answers.is_regular:
            return ()
        ticks = answers.ticks
        return tuple(j for j in range(len(ticks) - 1) if ticks[j + 1] - ticks[j] > self.steps)

    def with_records(self, records: int, answers: Scale) -> "Reach":
        return Reach(min(records * self.steps, len(answers) - 1)) if records > 1 else self

    def sensitivity(self, answers: Scale) -> Fraction:
        return min(self.steps * answers.unit, answers.span)

    def distance_of_steps(self, steps: int, answers: Scale) -> Fraction:
        return Fraction(math.ceil(Fraction(steps, self.steps)))

    def to_json(self) -> int:
        return self.steps

    def describe(self, query: "RangeQuery") -> str:
        allowance = f", and {float(query.allowance):.3g} more for the arithmetic behind them" if query.allowance else ""
        return f"true answers at most {format_decimal(query.sensitivity)} apart are neighbours{allowance}"

    def promise(self, query: "RangeQuery", epsilon: Fraction) -> str:
        return f"{_promise_within(query, epsilon)}{_caveat_of_cuts(query)}{_caveat_of_arithmetic(query)}"

    def local_promise(self, query: "RangeQuery", epsilon: Fraction) -> str:
        return f"epsilon {float(epsilon):.6g} for values {self}"

    def __str__(self) -> str:
        return "one step apart" if self.steps == 1 else f"at most {self.steps} steps apart"


@dataclass(frozen=True)
class AllPairs(Neighbours):
    """All answers are neighbours: one person may move the answer anywhere (min, max, median, local privacy)."""

    key = "everyone"
    notion = "epsilon-LDP"
    is_complete = True

    def cliques(self, answers: Scale) -> Iterator[Clique]:
        yield Clique(0, len(answers), Fraction(1))

    def sensitivity(self, answers: Scale) -> Fraction:
        return answers.span

    def distance_of_steps(self, steps: int, answers: Scale) -> Fraction:
        return Fraction(1 if steps else 0)

    def distances(self, answers: Scale, *, directed: bool = True) -> Floats:
        return 1.0 - np.eye(len(answers))

    def to_json(self) -> bool:
        return True

    def describe(self, query: "RangeQuery") -> str:
        return "any two true answers are neighbours"

    def promise(self, query: "RangeQuery", epsilon: Fraction) -> str:
        return _promise_within(query, epsilon)

    def local_promise(self, query: "RangeQuery", epsilon: Fraction) -> str:
        return f"epsilon-LDP with epsilon {float(epsilon):.6g}"

    def claim(self, query: "RangeQuery") -> str:
        return "the answers listed are all there are"

    def __str__(self) -> str:
        return "any two"


@dataclass(frozen=True)
class Metric(Neighbours):
    """All pairs are neighbours, with ratio exp(epsilon·distance/unit): d-privacy (001 Definition (4)).

    It is enough to constrain consecutive answers, because the ratios along a line multiply.
    """

    unit: Fraction = Fraction(1)

    key = "metric"
    notion = "epsilon·d"
    has_distances = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "unit", to_fraction(self.unit, "unit"))
        if not self.unit > 0:
            raise ValueError(f"unit must be positive, got {self.unit}")

    def cliques(self, answers: Scale) -> Iterator[Clique]:
        for j in range(len(answers) - 1):
            gap = (answers.ticks[j + 1] - answers.ticks[j]) * answers.unit
            yield Clique(j, j + 2, gap / self.unit)

    def pairs(self, answers: Scale) -> list[Pair]:
        values = list(answers)
        close = [(j, k) for j, a in enumerate(values) for k, b in enumerate(values) if 0 < abs(a - b) <= self.unit]
        if not close:
            raise ValueError(
                "metric privacy must have answers at most one unit apart to be composed; use a larger unit"
            )
        return close

    def sensitivity(self, answers: Scale) -> Fraction:
        return self.unit

    def distance_of_steps(self, steps: int, answers: Scale) -> Fraction:
        return steps * answers.unit / self.unit

    def to_json(self) -> str:
        return str(self.unit)

    def describe(self, query: "RangeQuery") -> str:
        pairs = "the cells of every two true answers" if query.rounds else "every two true answers"
        return f"{pairs} are compared, epsilon for each {self.unit} between them"

    def promise(self, query: "RangeQuery", epsilon: Fraction) -> str:
        if query.rounds:
            rate = self._rate_of_cells(query, epsilon)
            return (
                f"True answers are rounded down into cells of {format_decimal(query.cell)}. Two true answers in "
                f"neighbouring cells, "
                f"however close, give any output with probabilities that differ by a factor of at most "
                f"{_factor(rate)} (epsilon {format_decimal(rate)}), and by that factor again for every "
                f"further cell."
            )
        return (
            f"Two true answers {self.unit} apart give any output with probabilities that differ by a factor of at most "
            f"{_factor(epsilon)} (epsilon {format_decimal(epsilon)}), and by that factor again for every "
            f"further {self.unit}."
        )

    def local_promise(self, query: "RangeQuery", epsilon: Fraction) -> str:
        if query.rounds:
            rate = float(self._rate_of_cells(query, epsilon))
            return (
                f"values are first rounded down into cells of {query.cell}: values d apart within a ratio of "
                f"e^({rate:.6g}·k), where k = ceil(d / ({query.cell})), so at least e^{rate:.6g} however close they are"
            )
        return (
            f"values d apart within a ratio of e^({float(epsilon / self.unit):.6g}·d): epsilon·d privacy with "
            f"epsilon {float(epsilon):.6g} for every {self.unit} of distance"
        )

    def _rate_of_cells(self, query: "RangeQuery", epsilon: Fraction) -> Fraction:
        """Return what two real answers in neighbouring cells cost."""
        return epsilon * query.answers.unit / self.unit

    def claim(self, query: "RangeQuery") -> str:
        return "the distance between two answers says how well they must be protected from each other"

    def __str__(self) -> str:
        return f"any two, epsilon for every {self.unit} of distance"


@dataclass(frozen=True)
class Graph(Neighbours):
    """Edges between answers, each with a length: ratio exp(epsilon·length) from its tail to its head.

    An edge is one-way; the other direction needs another edge. Ratios along a path multiply, so any two answers
    keep exp(epsilon·length of the shortest path): d-privacy in the metric of the graph (001 Definition (4)).
    """

    edges: tuple[Edge, ...]

    key = "graph"
    notion = "epsilon·d"
    is_line = False
    has_distances = True

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

    def list_edges(self, answers: Scale) -> tuple[Edge, ...]:
        return self.edges

    def pairs(self, answers: Scale) -> list[Pair]:
        is_near = self.distances(answers) <= 1 + ROUNDING
        return [(j, k) for j, k in np.argwhere(is_near).tolist() if j != k]

    def sensitivity(self, answers: Scale) -> Fraction:
        """Return the largest distance of two numbers that an edge 1 long may join: noise of that scale is private."""
        ticks = answers.ticks
        return max(abs(ticks[tail] - ticks[head]) / length for tail, head, length in self.edges) * answers.unit

    def distance_of_steps(self, steps: int, answers: Scale) -> Fraction:
        raise ValueError("two answers on a graph have a length of their own, whatever steps lie between them")

    def least_distance(self, answers: Scale) -> Fraction:
        return min(edge.length for edge in self.edges)

    @property
    def is_undirected(self) -> bool:
        """Whether every edge has one of the same length back."""
        edge_set = set(self.edges)
        return all(Edge(head, tail, length) in edge_set for tail, head, length in self.edges)

    def is_connected(self, answers: Scale) -> bool:
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        tails, heads, _ = zip(*self.edges, strict=True)
        adjacency = csr_array((np.ones(len(tails)), (tails, heads)), shape=(len(answers), len(answers)))
        parts, _ = connected_components(adjacency, directed=True, connection="strong")
        return bool(parts == 1)

    def to_json(self) -> dict[str, list[str]]:
        """Return lengths, and for each length a line of edges: tail head tail head …"""
        groups = edges_by_length(self.edges)
        lines = [" ".join(str(end) for pair in pairs for end in pair) for _, pairs in groups]
        return {"lengths": [str(length) for length, _ in groups], "edges": lines}

    @property
    def has_equal_lengths(self) -> bool:
        """Whether every edge is 1 long: the answers that it joins are neighbours in the plain sense."""
        return all(edge.length == 1 for edge in self.edges)

    def describe(self, query: "RangeQuery") -> str:
        if query.is_ordered and self.is_undirected and self.has_equal_lengths:
            return f"the neighbours among the true answers are {self._list_pairs(query)}"
        return f"true answers are compared along {self}"

    def _list_pairs(self, query: "RangeQuery") -> str:
        """Return the first pairs of answers that an edge joins, and how many more there are."""
        pairs = [f"{query.answers[tail]} and {query.answers[head]}" for tail, head, _ in self.edges if tail < head]
        shown = [*pairs[:MOST_SHOWN], *([f"{len(pairs) - MOST_SHOWN} more"] if len(pairs) > MOST_SHOWN else [])]
        return ", ".join(shown)

    def promise(self, query: "RangeQuery", epsilon: Fraction) -> str:
        factor, cost = _factor(epsilon), format_decimal(epsilon)
        if query.is_ordered and self.is_undirected and self.has_equal_lengths:
            return (
                f"Any output is at most {factor} times likelier under one true answer than under a neighbour of it "
                f"(epsilon {cost}), and by that factor again for every further pair on the way from one true answer to "
                f"another; nothing is promised where there is no way. The neighbours are declared, and no program "
                f"can check them: {self._list_pairs(query)}. This protects a person whose record can only move the "
                f"answer within one of these pairs."
            )
        if self.is_undirected:
            return (
                f"Two true answers that are joined by an edge 1 long give any output with probabilities that differ by "
                f"a factor of at most {factor} (epsilon {cost}), any two true answers by that factor for every 1 of "
                f"the shortest path between them; nothing is promised where there is no path."
            )
        return (
            f"Any output is at most {factor} times likelier under the tail of an edge 1 long than under its head "
            f"(epsilon {cost}), and under any true answer than under another by that factor for every 1 of the "
            f"shortest path from the one to the other; nothing is promised of the way back, which an output may rule "
            f"out, or where there is no path."
        )

    def local_promise(self, query: "RangeQuery", epsilon: Fraction) -> str:
        along = f"e^({float(epsilon):.6g}·d)"
        if self.is_undirected:
            apart = f"values with a path of length d between them within a ratio of {along}"
        else:
            apart = (
                "where a path of length d leads from one value to another, any output at most "
                f"{along} times as likely under the one as under the other, and nothing of the way back"
            )
        return f"{apart}: epsilon·d privacy with epsilon {float(epsilon):.6g} for every 1 of length"

    def claim(self, query: "RangeQuery") -> str:
        if query.is_ordered:
            return "one person can only move its answer along the edges declared"
        return "the edges say how well two answers must be protected from each other"

    def __str__(self) -> str:
        count = len(self.edges) // 2 if self.is_undirected else len(self.edges)
        return f"{count} {'edges' if self.is_undirected else 'one-way edges'}, epsilon for every 1 of length"


def _shortest_paths(ways: dict[int, list[tuple[int, Fraction]]], start: int) -> dict[int, Fraction]:
    """Return the length of the shortest path from `start` to every answer that it leads to (Dijkstra), exactly."""
    settled: dict[int, Fraction] = {}
    open_ends = [(Fraction(0), start)]
    while open_ends:
        distance, j = heappop(open_ends)
        if j in settled:
            continue
        settled[j] = distance
        for head, length in ways.get(j, ()):
            if head not in settled:
                heappush(open_ends, (distance + length, head))
    return dict(sorted(settled.items()))


def _is_plain(edge: Edge) -> bool:
    """Test for exact types: a subclass could show the checker other values than the reader."""
    return type(edge) is Edge and [*map(type, edge)] == [int, int, Fraction]


RELATIONS: tuple[type[Neighbours], ...] = (Reach, AllPairs, Metric, Graph)
"""Every relation that the checkers know."""


def _factor(epsilon: Fraction) -> str:
    return f"{math.exp(float(epsilon)):.4g}"


def _promise_within(query: "RangeQuery", epsilon: Fraction) -> str:
    """Return the guarantee between neighbours at distance 1: of one record, or of answers within the sensitivity."""
    cost = f"(epsilon {format_decimal(epsilon)})"
    if not query.covers_one_record:
        return (
            f"Any output is at most {_factor(epsilon)} times likelier under one true answer than under another at most "
            f"{format_decimal(query.sensitivity)} away {cost}. This protects a person whose record cannot move the "
            f"answer further, and nothing says so of the kind {query.kind!r}."
        )
    return (
        f"Whatever one person's record is, any output is at most {_factor(epsilon)} times likelier than it would be "
        f"with another record in its place {cost}."
    )


def _caveat_of_cuts(query: "RangeQuery") -> str:
    """Return a caveat if the answers have gaps that no person can cross, else an empty text."""
    if not query.cuts:
        return ""
    if len(query.cuts) > 1:
        parts = f"the answers fall into {len(query.cuts) + 1} parts"
        return f" This holds if nobody can move the answer across a hole: {parts}, and an output may tell which."
    (j,) = query.cuts
    sides = f"between {format_decimal(query.answers[j])} and {format_decimal(query.answers[j + 1])}"
    return f" This holds if nobody can move the answer across the hole {sides}; an output may tell the side."


def _caveat_of_arithmetic(query: "RangeQuery") -> str:
    """Return a caveat if real answers are rounded without an allowance, else an empty text."""
    if not query.rounds or query.allowance:
        return ""
    return (
        " This holds for true answers that were computed exactly; the mechanism makes no allowance for the rounding "
        f"of sums in floating point, which may put two answers {format_decimal(query.sensitivity)} apart one "
        f"cell further."
    )
