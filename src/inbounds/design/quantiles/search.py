"""Search for the best score table of a quantile over a declared objective, before any record is read.

Two parameters of a *sided* table are searched. The *pace* of each side of the answer: beyond a maximum there is no
record and every value is one record away, so a steep pace is useless there, and weights may fall faster among the
records. The *spread*: how many values beside the answer are nearly as likely outputs as it. It adds half its width
to the error and takes probability from all others. A *plain* table is alike on both sides and has one parameter, its
steepness.

The objective is the geometric mean, over a family of groups, of the expected error relative to plain permute-and-flip,
among the tables that on no group of the family err more than `guard` times as much as it. A geometric mean weighs all
scales alike, and the table that has the least is the best relative to any other mechanism too.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from inbounds.design.quantiles.family import Family, RecordFamily
from inbounds.design.quantiles.permute_flip import REFERENCE, SLACKS, design_permute_flip, round_table_up
from inbounds.design.quantiles.score_errors import ScoreWeights, split_groups
from inbounds.errors import InboundsError, InfeasibleDesign
from inbounds.exact import Floats, Number, to_epsilon
from inbounds.mechanism import Mechanism, QuantileMechanism
from inbounds.mechanism.laws import PermuteAndFlip, SidedPermuteAndFlip
from inbounds.mechanism.origin import Origin
from inbounds.query import QuantileQuery, check_quantile
from inbounds.trusted.scale import Scale
from inbounds.trusted.sided_scores import Side

LEVELS = 40
"""Number of levels that sum to epsilon: paces are multiples of epsilon/40."""


@dataclass(frozen=True)
class ScoreGrid:
    """The score tables that a search tries. A finer grid takes longer in proportion.

    steepness: of plain tables, from 0 (the step of the exponential mechanism) to 1 (the steepest step that is private).
    paces: for each sided table, how many fortieths of epsilon a record below the answer costs; one above it costs the
    rest. spreads: the number of values divided by each of these is tried as a spread below the answer, above it, and on
    both sides. levels: of the values within the spread, in parts of the pace of their side; 0 is as good as the answer.
    """

    steepness: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
    paces: tuple[int, ...] = (12, 14, 16, 18, 19, 20, 21, 22, 24, 26, 28)
    spreads: tuple[int, ...] = (64, 32, 16)
    levels: tuple[float, ...] = (0.0, 0.5)

    def __post_init__(self) -> None:
        if not all(0 <= steepness <= 1 for steepness in self.steepness):
            raise ValueError("steepness must be between 0 and 1")
        if not all(type(pace) is int and 1 <= pace < LEVELS for pace in self.paces):
            raise ValueError(f"paces must be whole numbers from 1 to {LEVELS - 1}")
        if not all(type(part) is int and part >= 1 for part in self.spreads):
            raise ValueError("spreads must be whole numbers of at least 1")
        if not all(0 <= level <= 1 for level in self.levels):
            raise ValueError("levels must be between 0 and 1")

    def sides(self, values: int) -> Iterator[tuple[Side, Side]]:
        """Yield the sides below and above of every sided table for a number of values."""
        widths = sorted({values // part for part in self.spreads} - {0})
        pairs = [(0, 0), *((w, 0) for w in widths), *((0, w) for w in widths), *((w, w) for w in widths)]
        for pace in self.paces:
            for pair in pairs:
                for level in self.levels if any(pair) else self.levels[:1]:
                    yield _side(pace, pair[0], level), _side(LEVELS - pace, pair[1], level)


def _side(pace: int, spread: int, level: float) -> Side:
    return pace, pace, spread, int(level * pace) if spread else 0


@dataclass(frozen=True)
class QuantileSearch:
    """The declared objective of a quantile's design: which groups, which tables, and what is not allowed.

    family: the groups that tables are judged on; see `RecordFamily`. grid: the tables. guard: on no group may a table
    err more than this times as much as plain permute-and-flip; 1.02 means never noticeably worse. negligible: an error,
    in steps of the range, that is as good as none; errors are compared with this much added to each.

    size_bits: sizes that agree in so many leading binary digits, after rounding, share one search. With 4 bits it is
    made for a size at most 1/16 from their own, at most 8 times for each doubling of the sizes; secret sizes share one
    with the nearest power of two. max_columns: a law over
    the answer alone or over central records is considered up to this many columns; the linear program of 350 takes half
    a second. prior_groups: the number of groups drawn from a prior, about as many as the family has.
    """

    family: Family = field(default_factory=RecordFamily)
    grid: ScoreGrid = field(default_factory=ScoreGrid)
    guard: float = 1.02
    negligible: float = 1e-3
    size_bits: int = 4
    max_columns: int = 350
    prior_groups: int = 320

    def __post_init__(self) -> None:
        if not self.guard >= 1:
            raise ValueError("guard must be at least 1: plain permute-and-flip keeps it then")
        if not self.negligible > 0:
            raise ValueError("negligible must be positive")
        if not (type(self.size_bits) is int and self.size_bits >= 1):
            raise ValueError("size_bits must be a whole number of at least 1")

    def limits(self, plain: Floats) -> Floats:
        """Return the largest error that is allowed on every group, from the errors of plain permute-and-flip."""
        return self.guard * plain + self.negligible

    def relative_error(self, errors: Floats, plain: Floats) -> float:
        """Return the objective: the geometric mean over the groups of errors relative to plain permute-and-flip."""
        return float(np.exp(np.log((errors + self.negligible) / (plain + self.negligible)).mean()))

    def representative(self, query: QuantileQuery) -> QuantileQuery:
        """Return the query that is searched instead: its values numbered from 0, its size rounded.

        Where the size is public, no record of a group of the family is missing, so it does not matter where it counts.
        """
        bits = self.size_bits if query.public_size else 1  # a secret size is any up to the maximum
        spare = max(0, query.size.bit_length() - bits)
        size = max(1, (query.size + (1 << spare >> 1)) >> spare << spare)
        values = Scale(Fraction(0), Fraction(1), range(len(query.values)))
        return replace(query, values=values, size=size, missing=0 if query.public_size else query.missing)


DEFAULT_SEARCH = QuantileSearch()
"""The objective of `design_quantile`, unless it is given another."""


@dataclass(frozen=True)
class PlainScores:
    """A plain table of a grid; by default the one that others are compared with."""

    steepness: float = 0.5

    def design(self, query: QuantileQuery, epsilon: Fraction) -> QuantileMechanism:
        """Build the table for a query and certify it."""
        return design_permute_flip(query, epsilon, steepness=self.steepness)


@dataclass(frozen=True)
class SidedScores:
    """A sided table of a grid."""

    below: Side
    above: Side

    @property
    def deeper(self) -> int:
        """The levels that the depth of a group adds: as many as a private table may."""
        return min(self.below[1], self.above[1])

    def design(self, query: QuantileQuery, epsilon: Fraction) -> QuantileMechanism:
        """Build the table for a query and certify it."""
        for slack in SLACKS:
            table = sided_table(query, epsilon, slack)
            try:
                law = SidedPermuteAndFlip(table, self.below, self.above, self.deeper)
                return Mechanism(query, epsilon, law, Origin("sided_scores", {}, REFERENCE))
            except InboundsError:
                continue
        raise InfeasibleDesign("no score table is private at this epsilon: whole numbers cannot tell the lengths apart")


def sided_table(query: QuantileQuery, epsilon: Fraction, slack: float) -> tuple[int, ...]:
    """Build the weights of all sided tables of a query: forty levels fall by epsilon, less the slack for rounding."""
    level = float(epsilon) * (1 - slack) / LEVELS
    return round_table_up(level, level, LEVELS * query.max_length * 2)


ScoreTable = PlainScores | SidedScores
"""A table of a grid; only `design` makes it a mechanism."""


def can_be_sided(query: QuantileQuery) -> bool:
    """Return whether sided tables are private for a query: a public size and one record a person."""
    return query.public_size and query.records == 1


def design_sided(
    query: QuantileQuery, epsilon: Number, *, search: QuantileSearch = DEFAULT_SEARCH
) -> QuantileMechanism:
    """Design permute-and-flip over path lengths with a pace and a spread for each side of the answer.

    The table is the best sided table of the grid by the objective of the search; the best of all of them if none keeps
    its guard.

    >>> from inbounds import quantile
    >>> design_sided(quantile(1, 0, 100, size=30), 1)
    <Mechanism sided_scores for <maximum of 30 records in 0..100 (101 values)>, epsilon=1>
    """
    check_quantile(query)
    bound = to_epsilon(epsilon)
    if not can_be_sided(query):
        raise ValueError("sided scores need a public size and one record a person; use permute_and_flip otherwise")
    errors = ScoreErrors(search.representative(query), bound, search.family, search.grid)
    plain = errors.of(PlainScores())
    limits = search.limits(plain)
    tables = [SidedScores(*sides) for sides in search.grid.sides(len(query.values))]
    found = {table: errors.of(table) for table in tables}
    kept = [table for table in tables if (found[table] <= limits).all()]
    return min(kept or tables, key=lambda table: search.relative_error(found[table], plain)).design(query, bound)


class ScoreErrors:
    """The expected errors of score tables on the groups of a family."""

    def __init__(self, query: QuantileQuery, epsilon: Fraction, family: Family, grid: ScoreGrid) -> None:
        self.query, self.epsilon = query, epsilon
        self.groups = np.asarray(family(query), dtype=np.int64)
        if self.groups.ndim != 2 or self.groups.shape[1] != len(query.values) or not len(self.groups):
            raise ValueError(f"a family must return histograms, groups × {len(query.values)} values")
        flattest = min([*grid.paces, *(LEVELS - pace for pace in grid.paces), LEVELS // 2 - 1]) / LEVELS
        self.blocks = split_groups(query, self.groups, flattest * float(epsilon))
        self.weights = ScoreWeights(sided_table(query, epsilon, SLACKS[0]))

    def of(self, table: ScoreTable) -> Floats:
        """Compute the expected error of a table on every group."""
        return self._gathered(list(self._by_block(table)))

    def within(self, table: ScoreTable, limits: Floats) -> Floats | None:
        """Compute the errors of a table; None as soon as it is above the limits on some group."""
        parts = []
        for (place, _), errors in zip(self.blocks, self._by_block(table), strict=True):
            if (errors > limits[place]).any():
                return None
            parts.append(errors)
        return self._gathered(parts)

    def _by_block(self, table: ScoreTable) -> Iterator[Floats]:
        if isinstance(table, SidedScores):
            for _, runs in self.blocks:
                yield runs.sided(table.below, table.above, table.deeper, self.weights)
            return
        law = table.design(self.query, self.epsilon).law
        assert isinstance(law, PermuteAndFlip)
        weights = ScoreWeights(law.table)
        for _, runs in self.blocks:
            yield runs.plain(law, weights)

    def _gathered(self, parts: list[Floats]) -> Floats:
        errors = np.empty(len(self.groups))
        for (place, _), part in zip(self.blocks, parts, strict=True):
            errors[place] = part
        return errors
