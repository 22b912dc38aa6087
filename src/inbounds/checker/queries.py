"""Derive the query of each statistic: its possible answers, and how far one protected change may move them.

n is the public or maximum size of a group; a column has the values low, low + step, …, high, and w steps. r is the
number of one person's records that a single number must cover; r is 1 if the plan names no persons.

    count, and each cell    0..n, step 1                          r records move it by min(r, n)
    sum, public             n·low..n·high, the column's step      one changed record moves it by w steps
    sum, at most            min(0, n·low)..max(0, n·high)         r records move it by r·max(|low|, |high|)
    mean, public            low..high, step/n                     one changed record moves it by w steps
    mean, at most           two sums, each 0..n·w steps           distance high - low costs one epsilon
    percentage, public      0..100, 100/n                         one changed record moves it by 1 step
    percentage, at most     two counts, each 0..n                 distance 1 costs one epsilon
    variance, public        0..floor(n^2/4)*w^2 in steps of q     one changed record moves it by (n-1)*w^2, q being
                                                                  that over 16, rounded down, and at least 1
    variance, at most       three sums, each 0..n*w^2 in steps    a record adds w^2 to the three together, rounded to q
                            of q                                  each: w^2/q + 2 steps cost one epsilon, q being w^2
                                                                  over 128, rounded down, and at least 1
    standard deviation      that of the variance
    mode                    the labels                            one record moves it anywhere
    min, median, max, …     the values of the column              a quantile of the records themselves, or several
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from inbounds.checker.fields import LARGEST, Json, insist
from inbounds.checker.plan import QUANTILES, SPREADS, StatedColumn, StatedPlan, StatedStatistic


@dataclass(frozen=True)
class AnswerGrid:
    """Possible answers start, start + unit, …, start + last·unit."""

    start: Fraction
    unit: Fraction
    last: int

    @property
    def is_whole(self) -> bool:
        return self.start.denominator == self.unit.denominator == 1

    def value(self, position: int) -> Fraction:
        return self.start + self.unit * position

    def to_json(self) -> Json:
        return {"start": str(self.start), "unit": str(self.unit), "size": self.last + 1}


@dataclass(frozen=True)
class RequiredQuery:
    """The query that a mechanism must answer, as a record's line and a passport hold it.

    steps: how many steps neighbours are apart; 0 for neighbours that are not defined by steps. apart: how many steps
    cost one epsilon, for numbers that share the cost of a record.
    """

    content: Json
    grid: AnswerGrid
    steps: int = 0
    apart: int = 0

    @property
    def is_quantile(self) -> bool:
        """Return whether the query is about quantiles, which are drawn from the records of a group."""
        return self.content["kind"] in ("quantile", "quantiles")


def required_query(statistic: StatedStatistic, plan: StatedPlan, size: int, records: int = 1) -> RequiredQuery:
    """Return the query of each number of a statistic in a group of this size. records: r in the table above."""
    kind = statistic.kind
    if kind in QUANTILES:
        return _quantile(statistic, plan, size, records)
    if kind == "mode":
        labels = plan.column(statistic).labels
        grid = AnswerGrid(Fraction(0), Fraction(1), len(labels) - 1)
        return RequiredQuery(_query("category", grid, {"everyone": True}, list(labels)), grid)
    if kind == "percentage" and not plan.public:
        grid = AnswerGrid(Fraction(0), Fraction(1), size)
        return RequiredQuery(_query("count", grid, {"metric": "1"}), grid, apart=1)
    if kind in SPREADS and not plan.public:
        return _three_sums(plan.column(statistic), size)
    if kind == "mean" and not plan.public:
        column = plan.column(statistic)
        grid = AnswerGrid(Fraction(0), column.step, size * column.width)
        return RequiredQuery(_query("total", grid, {"metric": str(column.high - column.low)}), grid, apart=column.width)
    word, grid, steps = _step_query(statistic, plan, size)
    insist(grid.last < LARGEST, "a query must have at most 2^53 answers")
    reach = steps if records == 1 else min(records * steps, grid.last)
    return RequiredQuery(_query(word, grid, {"reach": reach}), grid, reach)


def _step_query(statistic: StatedStatistic, plan: StatedPlan, size: int) -> tuple[str, AnswerGrid, int]:
    """Return the kind of the query, its answers, and how many steps one record moves the answer."""
    if statistic.kind in ("count", "count_distinct", "histogram", "crosstab"):
        return "count", AnswerGrid(Fraction(0), Fraction(1), size), 1
    column = plan.column(statistic)
    if statistic.kind in ("mean", "percentage"):
        return "mean", AnswerGrid(column.low, column.step / size, size * column.width), column.width
    if statistic.kind in SPREADS:
        return _variance(column, size)
    if plan.public:
        return "total", AnswerGrid(size * column.low, column.step, size * column.width), column.width
    unit = _common_unit(column)
    low, high = int(column.low / unit), int(column.high / unit)
    first, last = min(0, size * low), max(0, size * high)
    return "total", AnswerGrid(first * unit, unit, last - first), max(abs(low), abs(high))


def _variance(column: StatedColumn, size: int) -> tuple[str, AnswerGrid, int]:
    """Return the query of n times the sum of squares less the square of the sum, over n squared, in units of q."""
    moved = (size - 1) * column.width**2
    unit = max(1, moved // 16)
    last = (size * size // 4 * column.width**2 + unit // 2) // unit
    return "total", AnswerGrid(Fraction(0), unit * column.step**2 / size**2, last), math.ceil(Fraction(moved, unit))


def _three_sums(column: StatedColumn, size: int) -> RequiredQuery:
    """Return the query of the sums of v^2, 2v(w - v) and (w - v)^2, in units of q."""
    square = column.width**2
    unit = max(1, square // 128)
    apart = square if unit == 1 else math.ceil(Fraction(square, unit)) + 2
    worth = unit * column.step**2
    grid = AnswerGrid(Fraction(0), worth, (size * square + unit // 2) // unit)
    insist(grid.last < LARGEST, "a query must have at most 2^53 answers")
    return RequiredQuery(_query("total", grid, {"metric": str(apart * worth)}), grid, apart=apart)


def _common_unit(column: StatedColumn) -> Fraction:
    """Return the largest number of which every value of the column is a multiple."""
    common = math.lcm(column.low.denominator, column.step.denominator)
    return Fraction(math.gcd(int(column.low * common), int(column.step * common)), common)


def _query(kind: str, grid: AnswerGrid, neighbours: Json, labels: list[str] | None = None) -> Json:
    return {
        "kind": kind,
        "answers": grid.to_json(),
        "outputs": None,
        "neighbours": neighbours,
        "rounds": False,
        "labels": labels,
    }


def _quantile(statistic: StatedStatistic, plan: StatedPlan, size: int, records: int) -> RequiredQuery:
    column = plan.column(statistic)
    grid = AnswerGrid(column.low, column.step, column.width)
    content = {
        "kind": "quantile" if len(statistic.at) == 1 else "quantiles",
        "values": grid.to_json(),
        "at": " ".join(map(str, statistic.at)),
        "size": str(size),
        "public": plan.public,
        "missing": str(int((column.missing - column.low) / column.step)),
        "records": str(records),
    }
    return RequiredQuery(content, grid)
