"""Which query answers a statistic of a group, at which epsilon, and what all of them cost together.

One record is one person. Write v in 0..w for a record's value in steps from low, d for the step that a record
without a value counts as, n for the group's size, public or at most.

With public sizes, a table is n records per group, an absent one counting as d. One record is changed within its
group:

    count           min(rows that meet the condition, n)       answers 0..n         moves by 1
    histogram cell  min(rows with the label, n)                 answers 0..n         two cells move by 1
      (consistent: rows short of n are in the cell `other`; see `consistent.filled`)
    sum, mean       n·d + sum of (v - d), clamped to 0..n·w      n·w + 1 answers      moves by w
    min, max, median                                             w + 1 answers        moves anywhere

Adding or removing a record is covered as well: it moves every answer no further than changing a record does. A
record that moves to another group changes two groups: twice the epsilon.

With a maximum, one record is added or removed:

    count, histogram cell   as above; one cell moves by 1
    sum     clamped to the range of at most n values             moves by max(|low|, |high|)
    mean    rounded to the steps of the column                   moves anywhere
    min, max, median                                             moves anywhere

Changing a record, also to another group, is one removed and one added: a plan that promises this with a maximum
answers everything at half its epsilon.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from inbounds.query import Cells, Everyone, Neighbours, Query, Reach, Scale, count
from inbounds.tables.facts import Column
from inbounds.tables.plan import CHANGE, Plan, Statistic


@dataclass(frozen=True)
class Entry:
    """One line of the account: a statistic, what it spends, and at which epsilon each number of it is drawn."""

    statistic: Statistic
    spent: Fraction
    drawn_at: Fraction
    reason: str


def account(plan: Plan) -> list[Entry]:
    """What every statistic spends; groups are disjoint and compose in parallel, statistics add up."""
    return [Entry(s, spent, *_drawn(plan, s, spent)) for s, spent in zip(plan.statistics, plan.epsilons, strict=True)]


def _drawn(plan: Plan, statistic: Statistic, spent: Fraction) -> tuple[Fraction, str]:
    if plan.neighbours == CHANGE and not plan.groups.public:
        return spent / 2, "half, because a changed record may leave one group and enter another"
    if plan.neighbours == CHANGE and statistic.kind == "histogram":
        return spent / 2, "half, because a changed record leaves one cell and enters another"
    return spent, "all of it, because one record touches one number of one group"


def query_of(plan: Plan, statistic: Statistic, size: int) -> Query:
    """The query that answers a statistic in a group of `size` records, public or at most."""
    if statistic.kind in ("count", "histogram"):
        return count(size)
    column = plan.columns[statistic.of]
    if statistic.kind == "sum":
        return _sum(column, size) if plan.groups.public else _open_sum(column, size)
    if statistic.kind == "mean" and plan.groups.public:
        assert column.low is not None
        scale = Scale(column.low, column.step / size, range(size * column.width + 1))
        return _asked("mean", scale, Reach(column.width))
    assert column.low is not None
    kind = "mean" if statistic.kind == "mean" else "extreme"  # as `ib.extreme`, so that readers can ask for the same
    return _asked(kind, Scale(column.low, column.step, range(column.width + 1)), Everyone())


def _sum(column: Column, size: int) -> Query:
    assert column.low is not None
    return _asked("total", Scale(size * column.low, column.step, range(size * column.width + 1)), Reach(column.width))


def _open_sum(column: Column, size: int) -> Query:
    """Sums of at most `size` values: from min(0, n·low) to max(0, n·high) on the grid that holds low and step."""
    grid = open_grid(column)
    first, last = min(0, size * grid.low), max(0, size * grid.high)
    scale = Scale(first * grid.unit, grid.unit, range(last - first + 1))
    return _asked("total", scale, Reach(max(abs(grid.low), abs(grid.high))))


@dataclass(frozen=True)
class Grid:
    """A column's bounds and step as whole multiples of `unit`."""

    unit: Fraction
    low: int
    high: int
    step: int


def open_grid(column: Column) -> Grid:
    """The coarsest grid through zero that holds every value of the column."""
    assert column.low is not None
    assert column.high is not None
    common = math.lcm(column.low.denominator, column.step.denominator)
    unit = Fraction(math.gcd(int(column.low * common), int(column.step * common)), common)
    return Grid(unit, int(column.low / unit), int(column.high / unit), int(column.step / unit))


def _asked(kind: str, answers: Scale, neighbours: Neighbours) -> Query:
    return Query(kind, answers, Cells.around(answers), neighbours)
