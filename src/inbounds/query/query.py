"""The class `RangeQuery`: possible true answers, reportable outputs and neighbours of a query with one answer."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inbounds.errors import check_kind
from inbounds.exact import Floats, Ints, freeze
from inbounds.query.neighbours import RELATIONS, AllPairs, Metric, Neighbours, Reach
from inbounds.query.outputs import OutputCells, to_common_integers
from inbounds.query.places import check_places
from inbounds.trusted.bounds import Clique, Edge
from inbounds.trusted.limits import MOST_ANSWERS
from inbounds.trusted.positions import Encoder, GridEncoder, LabelEncoder, PlaceEncoder, RoundingEncoder
from inbounds.trusted.scale import Scale, check_list_size

WIDEST = 1 << 10
"""An allowance is at most the sensitivity divided by this, so that cells keep almost their declared width."""

EVEN = frozenset({"count", "total", "mean", "extreme", "ordinal", "category"})
"""Kinds whose answers are evenly spaced; only an interval can have holes."""

NUMERIC = frozenset({"count", "total", "mean", "extreme", "ordinal", "graph"})
"""Kinds whose answers may be numbers that are joined by edges."""

KINDS = EVEN | {"interval", "graph", "map", "tree", "pair of counts", "histogram"}
"""Every kind that a constructor makes; a passport with another kind is refused."""


@dataclass(frozen=True)
class RangeQuery:
    """A query with one true answer: its possible answers, its output cells, and its neighbours.

    kind: what the query is called, one of KINDS. rounds: real answers are first rounded down into the cells of the
    answers. labels: the names of answers without order. allowance: what the caller's arithmetic may add to the distance
    of two real answers without moving them past the reach. places: coordinates of the answers of a graph; the labels
    are then `format_place` of them. The answers of a graph are labels, or numbers without labels.
    """

    kind: str
    answers: Scale
    outputs: OutputCells
    neighbours: Neighbours
    rounds: bool = False
    labels: tuple[str, ...] | None = None
    allowance: Fraction = Fraction(0)
    places: tuple[tuple[Fraction, ...], ...] | None = None

    def __post_init__(self) -> None:
        self._refuse_lookalikes()
        if len(self.answers) < 2:
            raise ValueError("a query must have at least two possible answers")
        if len(self.answers) > MOST_ANSWERS:
            raise ValueError(
                f"a query must have at most 2**53 possible answers, got {len(self.answers)}; use coarser ones"
            )
        if len(self.cuts) == len(self.answers) - 1:
            raise ValueError("no two answers are neighbours, so nothing would be promised")
        if self.labels is not None and self.neighbours.is_line and not self.neighbours.is_complete:
            raise ValueError("labels have no distance: all of them must be neighbours")
        if self.labels is not None and not len(self.answers) == len(self.labels) == len(set(self.labels)):
            raise ValueError("labels must be all different, and one for each answer")
        self._check_graph()
        if self.kind in EVEN and not self.answers.is_regular:
            raise ValueError(f"the answers of a {self.kind} must be evenly spaced")
        if self.kind == "count" and (self.answers.start != 0 or self.answers.unit != 1):
            raise ValueError("the answers of a count must be 0, 1, 2, …")
        if not 0 <= self.allowance * WIDEST <= self._real_reach:
            raise ValueError(
                f"allowance must be between 0 and 1/{WIDEST} of the sensitivity, and only real answers with a reach "
                "have one; declare a larger sensitivity instead"
            )
        if not self.one_output_per_answer:
            self.home_cell  # noqa: B018 - refuses outputs that do not cover the answers

    def _check_graph(self) -> None:
        if self.neighbours.is_line:
            if self.places is not None:
                raise ValueError("places must be those of answers on a graph")
            return
        n = len(self.answers)
        if self.rounds or self.allowance:
            raise ValueError("answers on a graph must not be rounded: real answers have neighbours within a reach")
        if self.labels is None and self.kind not in NUMERIC:
            raise ValueError(f"the answers of a {self.kind} must have labels to be joined by edges")
        numbered = self.answers == Scale(Fraction(0), Fraction(1), range(n)) and self.one_output_per_answer
        if self.labels is not None and not numbered:
            raise ValueError("labels on a graph must be numbered 0, 1, 2, …, with one output for each")
        if max(max(edge.tail, edge.head) for edge in self.edges) >= n:
            raise ValueError(f"edges must join two of the {n} answers")
        if self.places is not None:
            check_places(self.places, self.labels or ())

    def _refuse_lookalikes(self) -> None:
        """Raise unless all types are exact: a subclass could show the checker other values than the sampler or the
        reader.
        """
        if type(self.neighbours) not in RELATIONS:
            raise TypeError("neighbours must be Reach, AllPairs, Metric or Graph: the checker knows no others")
        if type(self.outputs) is not OutputCells:
            raise TypeError(f"outputs must be OutputCells, got {type(self.outputs).__name__}")
        for scale in (self.answers, self.outputs.lowers, self.outputs.uppers, self.outputs.values):
            numbers = type(scale) is Scale and type(scale.start) is type(scale.unit) is Fraction
            if not numbers or not (type(scale.ticks) is range or all(type(tick) is int for tick in scale.ticks)):
                raise TypeError("answers and outputs must be a Scale of plain Fractions and ints")
        if type(self.rounds) is not bool or type(self.kind) is not str or type(self.allowance) is not Fraction:
            raise TypeError("kind must be a text, rounds true or false, and allowance a Fraction")
        if self.labels is not None and not (
            type(self.labels) is tuple and all(type(name) is str for name in self.labels)
        ):
            raise TypeError("labels must be a tuple of texts")

    def __reduce__(self) -> tuple[type["RangeQuery"], tuple[Any, ...]]:
        fields = (self.kind, self.answers, self.outputs, self.neighbours, self.rounds, self.labels, self.allowance)
        return RangeQuery, (
            *fields,
            self.places,
        )  # copies and pickles are validated again, and contain no writable array

    @property
    def as_range_query(self) -> "RangeQuery":
        """The query itself: it has one answer already."""
        return self

    def is_same_question(self, other: object) -> bool:
        """Return whether another query has the same answers, labels and neighbours; the output cells may differ."""
        return isinstance(other, RangeQuery) and (other.answers, other.neighbours, other.labels) == (
            self.answers,
            self.neighbours,
            self.labels,
        )

    def describe(self) -> str:
        """Return what is asked, in words."""
        if not self.is_ordered:
            return f"one of {len(self.answers)} {'labels' if self.places is None else 'places'}"
        return f"{self.kind} with {len(self.answers)} possible answers from {self.answers[0]} to {self.answers[-1]}"

    def describe_neighbours(self) -> str:
        """Return which true answers are neighbours, in words."""
        return self.neighbours.describe(self)

    def promise(self, epsilon: Fraction) -> str:
        """Return the guarantee of an epsilon-private output, in sentences without formulas."""
        return self.neighbours.promise(self, epsilon)

    def claim(self) -> str:
        """Return what no checker can know about the query, as a part of a sentence that begins with 'that'."""
        return f"the question is a {self.kind}, and that {self.neighbours.claim(self)}"

    @property
    def shape(self) -> tuple[int, int]:
        """(outputs, answers): the shape of every matrix for this query."""
        return len(self.outputs), len(self.answers)

    @property
    def is_ordered(self) -> bool:
        """Whether answers are numbers; labels have no order, even if they are numbered."""
        return self.labels is None and not (self.kind == "category" and self.neighbours.is_complete)

    @cached_property
    def one_output_per_answer(self) -> bool:
        return self.outputs == OutputCells.one_per_answer(self.answers)

    @property
    def sensitivity(self) -> Fraction:
        """How far one person can move the answer: the distance that costs epsilon. 1 for labels on a graph."""
        if not (self.neighbours.is_line or self.is_ordered):
            return Fraction(1)
        return self.neighbours.sensitivity(self.answers)

    @property
    def steps(self) -> Fraction:
        """The sensitivity in grid steps."""
        return self.sensitivity / self.answers.unit

    @property
    def covers_one_record(self) -> bool:
        """Whether any change of one record gives a neighbouring answer, for an answer of this kind.

        One record can move a maximum anywhere; one person's value is the whole answer; the range of a mean of n values
        is n times what one value can move; for a total or an interval the caller declares it. False for other kinds.
        """
        match self.kind, self.neighbours:
            case _, AllPairs():
                return True
            case "count" | "total" | "interval", Reach():
                return True
            case "mean", Reach(steps):
                return self.answers.ticks[-1] % min(steps, self.answers.ticks[-1]) == 0
            case "ordinal", Metric():
                return True
            case _, Reach(steps):
                return steps >= self.answers.ticks[-1]
        return False

    def cliques(self) -> Iterator[Clique]:
        """Return all neighbour constraints, as runs of answers that are neighbours of each other."""
        return self.neighbours.cliques(self.answers)

    @property
    def edges(self) -> tuple[Edge, ...]:
        """All neighbour constraints of a query on a graph; empty for other queries, which have cliques."""
        return () if self.neighbours.is_line else self.neighbours.list_edges(self.answers)

    @property
    def pays_by_distance(self) -> bool:
        """Whether far answers cost more (metric privacy), so that no single change is what epsilon pays for.

        Numbers whose declared neighbours are all 1 apart have such a change: from one neighbour to another.
        """
        plain = self.is_ordered and self.edges and all(edge.length == 1 for edge in self.edges)
        return self.neighbours.has_distances and not plain

    def compared_pairs(self) -> list[tuple[int, int, Fraction]]:
        """Return every ordered pair of answers that (epsilon, delta) is about, with the distance that epsilon pays for.

        A delta does not follow from shorter ways between two answers as a ratio does. So all neighbours are listed, and
        where epsilon is paid by distance all answers with a way between them. O(answers²) for most relations.
        """
        if self.pays_by_distance:
            return self.neighbours.all_distances(self.answers)
        if self.neighbours.is_line:
            return [(j, k, Fraction(1)) for j, k in self.neighbours.pairs(self.answers)]
        return [(tail, head, length) for tail, head, length in self.edges]

    @property
    def least_distance(self) -> Fraction:
        """The distance of the two closest answers that are neighbours."""
        return self.neighbours.least_distance(self.answers)

    def distances(self, *, directed: bool = True) -> Floats:
        """Return distances[j, k], the length of the shortest path from answer j to k; inf if there is none.

        Pr[i | j] <= exp(epsilon·distances[j, k]) · Pr[i | k]. directed=False: edges are used in both directions.
        """
        return self.neighbours.distances(self.answers, directed=directed)

    @property
    def cuts(self) -> tuple[int, ...]:
        """Every j that is no neighbour of j + 1: an output may reveal on which side of the gap the answer is."""
        return self.neighbours.cuts(self.answers)

    @cached_property
    def is_symmetric(self) -> bool:
        """Whether the query equals its mirror image: answers, values, and the cell of each answer."""
        if self.answers.is_regular and self.one_output_per_answer:
            return True
        return (
            np.array_equal(self.home_cell[::-1], len(self.outputs) - 1 - self.home_cell)
            and np.array_equal(self.below[::-1], len(self.answers) - self.above)
            and self.answers.is_symmetric
            and self.outputs.values.is_symmetric
            and self.answers[0] + self.answers[-1] == self.outputs.values[0] + self.outputs.values[-1]
        )

    @cached_property
    def has_mirrored_neighbours(self) -> bool:
        """Whether the mirror images of any two neighbours are neighbours at the same distance."""
        last, edges = len(self.answers) - 1, self.edges
        return {(last - j, last - k, length) for j, k, length in edges} == set(edges)

    @cached_property
    def home_cell(self) -> Ints:
        """home_cell[j]: the output whose cell holds answer j (lower <= answer < upper, or the closed end of a run)."""
        if self.one_output_per_answer:
            return self._positions
        answers, lowers, uppers = self._wholes
        homes = [max(bisect_right(lowers, answer) - 1, 0) for answer in answers]
        for j, i in enumerate(homes):
            if not lowers[i] <= answers[j] <= uppers[i]:
                raise ValueError(f"outputs must cover every answer; no cell holds {self.answers[j]}")
        return freeze(np.array(homes, dtype=np.int64))

    @cached_property
    def below(self) -> Ints:
        """below[i]: how many answers are at or below the upper edge of output i (000 (12))."""
        if self.one_output_per_answer:
            return freeze(self._positions + 1)
        answers, _, uppers = self._wholes
        return freeze(np.array([bisect_right(answers, high) for high in uppers], dtype=np.int64))

    @cached_property
    def above(self) -> Ints:
        """above[i]: the first answer at or above the lower edge of output i (000 (13))."""
        if self.one_output_per_answer:
            return self._positions
        answers, lowers, _ = self._wholes
        return freeze(np.array([bisect_left(answers, low) for low in lowers], dtype=np.int64))

    @property
    def _positions(self) -> Ints:
        check_list_size(len(self.answers))
        return freeze(np.arange(len(self.answers), dtype=np.int64))

    @property
    def _wholes(self) -> list[list[int]]:
        """Answers, lower edges and upper edges, as integers of one unit."""
        return to_common_integers(self.answers, self.outputs.lowers, self.outputs.uppers)

    @property
    def output_values(self) -> NDArray[Any]:
        """The published value of each output: labels; ints if all values are whole; else floats.

        Arrays of numbers are read-only; an array of objects is new each time.
        """
        if self.labels is not None:
            return np.array(self.labels, dtype=object)
        return self.outputs.values.numbers() if self._numbers is None else self._numbers

    @cached_property
    def _numbers(self) -> NDArray[Any] | None:
        """The outputs as a read-only array of numbers; None for integers beyond 64 bits."""
        values = self.outputs.values.numbers()
        return None if values.dtype == object else freeze(values)

    @cached_property
    def coordinates(self) -> NDArray[np.float64] | None:
        """coordinates[j]: the place of answer j, as floats; None for answers without places."""
        return None if self.places is None else freeze(np.array([[*map(float, place)] for place in self.places]))

    def decode(self, outputs: Ints) -> NDArray[Any]:
        """Return the published values of these outputs, as `output_values` has them, without writing all of them
        out.
        """
        if self.labels is not None:
            return np.array(self.labels, dtype=object)[outputs]
        return self.outputs.values.numbers_at(outputs)

    def output_index(self, output: Any) -> int:
        """Return the position of a released value among the outputs. A place may be a label or coordinates.

        Raises `ValueError` if it is no output.
        """
        if self.places is not None and not isinstance(output, str):
            return int(self.encode(output))
        reported = self.output_values
        if self.labels:
            matches = reported == output
        else:
            matches = np.isclose(reported.astype(float), float(output), rtol=1e-9, atol=0)
        positions = np.flatnonzero(matches)
        if len(positions) != 1:
            raise ValueError("output must be one of the mechanism's outputs")
        return int(positions[0])

    @property
    def _real_reach(self) -> Fraction:
        """How far apart real answers may be that land within the reach; 0 if there is no reach."""
        if not (self.rounds and isinstance(self.neighbours, Reach)):
            return Fraction(0)
        return self.neighbours.steps * self.answers.unit

    @property
    def cell(self) -> Fraction:
        """The width of the cells that real answers are rounded into: slightly more than the unit of the answers.

        reach · cell = sensitivity + allowance, so that answers no further apart land at most `reach` cells apart.
        """
        return self.answers.unit * (1 + self.allowance / self._real_reach if self.allowance else 1)

    def steps_within(self, distance: Fraction) -> int:
        """Return how many grid steps apart two true answers can land that are `distance` apart.

        On a grid, as many as fit; if real answers are rounded, one more than fit, unless they fit exactly.
        """
        if not self.rounds:
            return math.floor(distance / self.answers.unit)
        if not self.cuts:
            return math.ceil(distance / self.cell)
        return math.floor((distance + self._moved_at_cuts) / self.answers.unit) + 1

    def distance_within(self, steps: int) -> Fraction:
        """Return how far apart two true answers may be that always land at most `steps` grid steps apart."""
        if not self.rounds:
            return steps * self.answers.unit
        if not self.cuts:
            return steps * self.cell
        return max(Fraction(0), steps * self.answers.unit - self._moved_at_cuts - self.allowance)

    @property
    def _moved_at_cuts(self) -> Fraction:
        """By how much two answers on two sides of a cut may be closer than the cells between them suggest."""
        ticks = self.answers.ticks
        starts = [0, *(ticks[j + 1] for j in self.cuts)]
        ends = [*(ticks[j] for j in self.cuts), ticks[-1]]
        longest = max(end - start + 1 for start, end in zip(starts, ends, strict=True))
        return self.allowance + max(self.allowance, longest * (self.cell - self.answers.unit))

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder from true answers to positions."""
        if self.labels is not None:
            return LabelEncoder(self.labels) if self.places is None else PlaceEncoder(self.labels, self.places)
        if self.rounds:
            return RoundingEncoder(self.answers, self.cell, self.allowance, self.cuts)
        return GridEncoder(self.answers)

    def encode(self, answers: Any, *, clip: bool = False) -> Ints:
        """Return the positions of true answers, in their shape. The error for an invalid answer does not repeat it.

        clip: numbers beyond the range count as its nearer end. Clipping brings no two numbers further apart, so the
        promise is the same. Refused for numbers on a graph, where the ends may have other neighbours.
        """
        if clip and self.is_ordered and not self.neighbours.is_line:
            raise ValueError("numbers beyond the range cannot be clipped: their neighbours are not declared")
        positions = self.encoder.positions(answers, clip=clip)
        if (positions < 0).any():
            raise ValueError(f"true answers must be {self._allowed_values()}; at least one is not")
        return positions

    def encode_int(self, answer: int, *, clip: bool = False) -> int | None:
        """Return the position of one int, as `encode` does; None if the query has another way of placing it."""
        encoder = self.encoder
        if not isinstance(encoder, GridEncoder | RoundingEncoder) or not self.neighbours.is_line:
            return None
        position = encoder.position(answer, clip=clip)
        if position < 0:
            raise ValueError(f"true answers must be {self._allowed_values()}; at least one is not")
        return position

    def _allowed_values(self) -> str:
        if not self.is_ordered:
            return "among the declared labels" if self.places is None else "among the declared places"
        if self.rounds:
            half = self.answers.unit / 2
            return f"numbers from {self.answers[0] - half} to {self.answers[-1] + half} outside any hole"
        return f"on the grid {self.answers!r}"

    def __repr__(self) -> str:
        noun = "labels" if self.places is None else "places"
        answers = f"{len(self.labels)} {noun}" if self.labels is not None else repr(self.answers)
        extra = "" if self.one_output_per_answer else f", published in {self.outputs!r}"
        return f"<{self.kind}: {answers}{extra}; neighbours: {self.neighbours}>"


def check_query(query: object) -> None:
    """Raise `TypeError` unless this is a `RangeQuery`."""
    check_kind(query, RangeQuery, "query", "a query with one true answer, such as ib.count(20) or ib.mean(10, 1, 5)")
