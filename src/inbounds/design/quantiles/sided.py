"""sided_scores: path scores for few records in a wide range, where the answer alone is too small a target.

Two things are settled before any record is read. The *pace* of each side: beyond a maximum there is no record, every
value is one record away, and a steep pace is lost on it; among the records weights may then fall faster. The *spread*:
how many values beside the answer are reported as readily as it, or nearly, which costs half of that and takes from all
others.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from inbounds.design.quantiles.counted import counted_scores, counting_helps
from inbounds.design.quantiles.table import REFERENCE, SLACKS, permute_and_flip, rounded_up
from inbounds.errors import InboundsError, Infeasible
from inbounds.mechanism.origin import Origin
from inbounds.mechanism.quantiles import QuantileMechanism, SidedTable
from inbounds.numbers import Number, as_epsilon
from inbounds.query import Quantile
from inbounds.trusted.sides import Side

LEVELS = 40
"""Levels of a table that make epsilon together, so that paces are fortieths of it."""

SMALL_EPSILON, MIDDLE_EPSILON = 1.0, 2.5
"""Up to which the pace of an end is lowered wherever the answer weighs little; up to which, by less, of an extreme."""

WIDE, NARROW, HUGE = 30.0, 8.0, 60.0
"""Outputs of weight exp(-epsilon/2) beside the answer's one: from which on it is little, noticeable, and nothing."""

WIDEST_SPREAD = 64
"""One of so many values at most is the spread on a side."""

SHARE = 2 / 3
"""The spread at most, of what the exponential mechanism loses even where all records agree."""

DENSER = 8
"""How many times as dense as evenly spread records those near the end of a range are taken to be."""

NEARLY = 3.7
"""What a value of the spread weighs where records may be dense, of the weight exp(-epsilon/2) one record away."""


@dataclass(frozen=True)
class Pace:
    """Of a quantile near an end: the fortieths of epsilon that a record beyond it costs, and those of the first record
    on the other side; every further one there costs what the end leaves.
    """

    beyond: int
    first: int


def sided_scores(query: Quantile, epsilon: Number) -> QuantileMechanism:
    """Permute-and-flip over path lengths with a pace and a spread for each side of the answer.

    >>> from inbounds import quantile
    >>> sided_scores(quantile(1, 0, 100, size=30), 1)
    <QuantileMechanism sided_scores for <maximum of 30 records in 0..100 (101 values)>, epsilon=1>
    """
    bound = as_epsilon(epsilon)
    if not (query.public and query.records == 1):
        raise ValueError("sided scores need a public size and one record a person; use permute_and_flip otherwise")
    below, above = sides_of(query, bound)
    for slack in SLACKS:
        level = float(bound) * (1 - slack) / LEVELS
        table = rounded_up(level, level, LEVELS * query.longest * 2)
        try:
            law = SidedTable(table, below, above, min(below[1], above[1]))
            return QuantileMechanism(query, bound, law, Origin("sided_scores", {}, REFERENCE))
        except InboundsError:
            continue
    raise Infeasible("no score table is private at this epsilon: whole numbers cannot tell the lengths apart")


def path_scores(query: Quantile, epsilon: Fraction) -> QuantileMechanism:
    """Permute-and-flip over path lengths: sided or counted where that is worth while, as steep as can be otherwise."""
    alike = (LEVELS // 2, LEVELS // 2, 0, 0)
    if query.public and query.records == 1 and sides_of(query, epsilon) != (alike, alike):
        return sided_scores(query, epsilon)
    return (counted_scores if counting_helps(query, float(epsilon)) else permute_and_flip)(query, epsilon)


def sides_of(query: Quantile, epsilon: Fraction) -> tuple[Side, Side]:
    """The levels of both sides. The numbers were chosen on the shapes of docs/benchmarks/quantiles.md, and tried on
    others there.
    """
    pace = _pace(query, float(epsilon))
    end, rest = (pace.beyond, pace.beyond), (pace.first, LEVELS - pace.beyond)
    low, high = (end, rest) if 2 * query.rank <= query.size else (rest, end)
    ranks = query.rank, query.size - query.rank + 1
    below, above = (_spread(query, float(epsilon), records) for records in ranks)
    return (*low, *below), (*high, *above)


def _from_the_end(query: Quantile) -> int:
    """Which rank from the nearer end the quantile is, from 1."""
    return min(query.rank, query.size - query.rank + 1)


def _pace(query: Quantile, epsilon: float) -> Pace:
    """0.375 epsilon beyond an extreme and 0.4 beyond the next record, where the answer weighs little, or alike."""
    place, others = _from_the_end(query), len(query.values) * math.exp(-epsilon / 2)
    alike = Pace(LEVELS // 2, LEVELS // 2)
    if 4 * place > query.size or place > 2:
        return alike
    if epsilon <= SMALL_EPSILON and others >= WIDE:
        return Pace(15, 16) if place == 1 else Pace(16, 14)
    if place > 1:
        return alike
    if epsilon <= SMALL_EPSILON and others >= NARROW:
        return Pace(17, 23)
    if _is_sparse(query, epsilon):
        return Pace(16, 24)
    if SMALL_EPSILON < epsilon <= MIDDLE_EPSILON and others >= WIDE:
        return Pace(16, 15)
    return Pace(18, 22) if _is_sparse(query, epsilon, DENSER // 2) else alike


def _is_sparse(query: Quantile, epsilon: float, times: int = DENSER) -> bool:
    """Whether the answer weighs nothing beside the values, at a large epsilon, and records are few beside them."""
    values = len(query.values)
    return epsilon > SMALL_EPSILON and values * math.exp(-epsilon / 2) >= HUGE and times * query.size <= values


def _spread(query: Quantile, epsilon: float, records: int) -> tuple[int, int]:
    """How many values of a side are nearly as good as the answer, if that many records are on it, and their level.

    S = m exp(-epsilon · records / 2) is what the others weigh for the exponential mechanism where all records agree,
    and m/4 · S / (1 + S) about what it then loses. Near an end records may be dense, and no loss so large.
    """
    values, place = len(query.values), _from_the_end(query)
    others = values * math.exp(-epsilon / 2 * records)
    most = min(values // WIDEST_SPREAD, int(SHARE * values / 4 * others / (1 + others)))
    if 4 * place > query.size:
        return most, 0
    if place > 1:
        return min(most, int(values / (DENSER * query.size) * min(1.0, 1.5 / epsilon))), 0
    if records > 1 or not _is_sparse(query, epsilon, DENSER // 2):
        return 0, 0
    if _is_sparse(query, epsilon):
        return min(most, int(values / (5 * query.size))), 0
    return min(most, int(3 * values / (5 * query.size))), _near(epsilon)


def _near(epsilon: float) -> int:
    """The level of the weight NEARLY · exp(-epsilon/2)."""
    return max(0, round(LEVELS / 2 - LEVELS * math.log(NEARLY) / epsilon))
