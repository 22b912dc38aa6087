"""sided_scores: path scores for few records in a wide range, where the answer alone is too small a target.

Two things are settled before any record is read. The *pace* of each side: beyond a maximum there is no record, every
value is one record away, and a steep pace is lost on it; among the records weights may then fall faster. The *spread*:
how many values beside the answer are reported as readily as it, or nearly, which costs half of that and takes from all
others.
"""

import math
from fractions import Fraction

from inbounds.design.quantiles.counted import counted_scores, counting_helps
from inbounds.design.quantiles.permute_flip import REFERENCE, SLACKS, design_permute_flip, round_table_up
from inbounds.errors import InboundsError, InfeasibleDesign
from inbounds.exact import Number, to_epsilon
from inbounds.mechanism.origin import Origin
from inbounds.mechanism.quantiles import QuantileMechanism, SidedPermuteAndFlip
from inbounds.query import QuantileQuery, check_quantile
from inbounds.trusted.sided_scores import Side

LEVELS = 40
"""Levels of a table that make epsilon together, so that paces are fortieths of it."""

FEW, DENSE = 7.0, 12.0
"""What the other outputs weigh beside the answer, from which on a table as steep as can be is not the best near an end:
where there are more values than records, and where there are not."""

STEEP = 1.5
"""What they weigh a whole epsilon away, at least: with less the steepest table is the best, whose first step is then
nearly as long. In the middle, 1 for each value of the spread."""

WIDEST, WIDEST_NEAR_AN_END = 64, 16
"""One of so many values at most is the spread on a side: in the middle, and near an end."""

SHARE = 2 / 3
"""The spread at most, of what the exponential mechanism loses even where all records agree."""

NEARLY, NEAREST = 1.8, 3.2
"""What a value beyond an extreme weighs within the spread, of the weight exp(-epsilon/2) one record away: where there
are as many values as records, and at most."""


def design_sided(query: QuantileQuery, epsilon: Number) -> QuantileMechanism:
    """Permute-and-flip over path lengths with a pace and a spread for each side of the answer.

    >>> from inbounds import quantile
    >>> design_sided(quantile(1, 0, 100, size=30), 1)
    <QuantileMechanism sided_scores for <maximum of 30 records in 0..100 (101 values)>, epsilon=1>
    """
    check_quantile(query)
    bound = to_epsilon(epsilon)
    if not (query.public_size and query.records == 1):
        raise ValueError("sided scores need a public size and one record a person; use permute_and_flip otherwise")
    below, above = sides_of(query, bound)
    for slack in SLACKS:
        level = float(bound) * (1 - slack) / LEVELS
        table = round_table_up(level, level, LEVELS * query.max_length * 2)
        try:
            law = SidedPermuteAndFlip(table, below, above, min(below[1], above[1]))
            return QuantileMechanism(query, bound, law, Origin("sided_scores", {}, REFERENCE))
        except InboundsError:
            continue
    raise InfeasibleDesign("no score table is private at this epsilon: whole numbers cannot tell the lengths apart")


def design_scores(query: QuantileQuery, epsilon: Fraction) -> QuantileMechanism:
    """Permute-and-flip over path lengths: sided or counted where that is worth while, as steep as can be otherwise."""
    alike = (LEVELS // 2, LEVELS // 2, 0, 0)
    if query.public_size and query.records == 1 and sides_of(query, epsilon) != (alike, alike):
        return design_sided(query, epsilon)
    return (counted_scores if counting_helps(query, float(epsilon)) else design_permute_flip)(query, epsilon)


def sides_of(query: QuantileQuery, epsilon: Fraction) -> tuple[Side, Side]:
    """The levels of both sides. The numbers were chosen on the shapes of docs/benchmarks/quantiles.md, and tried on
    others there.
    """
    beyond = _beyond(query, float(epsilon))
    end, rest = (beyond, beyond), (LEVELS - beyond, LEVELS - beyond)
    low, high = (end, rest) if 2 * query.rank <= query.size else (rest, end)
    below, above = _spreads(query, float(epsilon))
    return _side(low, *below), _side(high, *above)


def _side(levels: tuple[int, int], spread: int, near: int) -> Side:
    return (*levels, spread, min(near, levels[0]))


def _from_the_end(query: QuantileQuery) -> int:
    """Which rank from the nearer end the quantile is, from 1."""
    return min(query.rank, query.size - query.rank + 1)


def _beyond(query: QuantileQuery, epsilon: float) -> int:
    """The levels of a record beyond a quantile near an end; one on the other side costs what they leave of epsilon.

    Of an extreme, the fewer the more values there are for each record, and the less the answer weighs.
    """
    place, apart = _from_the_end(query), _apart(query)
    if 4 * place > query.size or not _is_sided(query, epsilon):
        return LEVELS // 2
    if place > 1:
        return 19 if place <= 3 and epsilon <= 1.5 else LEVELS // 2
    return 19 if apart < 1 else round(18.9 - 0.55 * math.log(apart) - 0.35 * math.log(_others(query, epsilon) / 50))


def _others(query: QuantileQuery, epsilon: float) -> float:
    """κ = m exp(-epsilon/2): what all outputs weigh beside the answer's 1, if they are one record away."""
    return len(query.values) * math.exp(-epsilon / 2)


def _apart(query: QuantileQuery) -> float:
    """How many values there are for each record."""
    return len(query.values) / query.size


def _is_sided(query: QuantileQuery, epsilon: float) -> bool:
    """Whether an answer near an end weighs so little that a pace and a spread gain more than the steepest table."""
    few = FEW if _apart(query) >= 1 else DENSE
    return _others(query, epsilon) >= few and _others(query, 2 * epsilon) >= STEEP


def _spreads(query: QuantileQuery, epsilon: float) -> tuple[tuple[int, int], tuple[int, int]]:
    """How many values of each side are nearly as good as the answer, and their level."""
    below, above = query.rank, query.size - query.rank + 1
    if 4 * _from_the_end(query) <= query.size:
        return _near_an_end(query, epsilon, below), _near_an_end(query, epsilon, above)
    low, high = _in_the_middle(query, epsilon, below), _in_the_middle(query, epsilon, above)
    return ((low, 0), (high, 0)) if (low + high) * _others(query, 2 * epsilon) >= 1 else ((0, 0), (0, 0))


def _in_the_middle(query: QuantileQuery, epsilon: float, records: int) -> int:
    """The spread of a side with so many records.

    Off the median the others on the side with fewer records weigh most, and records that agree may lie near its end: a
    quarter of the range from it, that side makes a tenth of the loss. The nearer the quantile is to that end, the
    denser records may lie beside it, and the narrower is the widest spread.
    """
    values, more = len(query.values), max(records, query.size - records)
    others = 0.1 * _others(query, epsilon * records) + 0.9 * _others(query, epsilon * more)
    widest = values / WIDEST * min(1.0, 2 * records / query.size) ** 2
    return int(min(widest, _max_spread(query, others)))


def _max_spread(query: QuantileQuery, others: float) -> float:
    """The widest spread that costs less than the exponential mechanism loses where all records agree.

    S = m exp(-epsilon · records / 2) is what the others then weigh, and m/4 · S / (1 + S) about what it loses.
    """
    return SHARE * len(query.values) / 4 * others / (1 + others)


def _near_an_end(query: QuantileQuery, epsilon: float, records: int) -> tuple[int, int]:
    """The spread of a side with so many records, and its level, where records may be dense.

    A part of how far apart even records are, if that costs less than the exponential mechanism loses where all agree;
    and beyond an extreme all of it, but it weighs less than the answer.
    """
    values, place, apart = len(query.values), _from_the_end(query), _apart(query)
    if not _is_sided(query, epsilon):
        return 0, 0
    widest = values // WIDEST_NEAR_AN_END
    if place > 1:
        part = (1 / 2 if records == place else 1 / 4) * (2 / place) ** 0.4 * min(1.0, 0.85 / epsilon) ** 1.3
        return int(min(widest, part * apart, _max_spread(query, _others(query, epsilon * records)))), 0
    return (min(widest, int(apart)), _near(query, epsilon)) if records == 1 else (0, 0)


def _near(query: QuantileQuery, epsilon: float) -> int:
    """The level of the weight w exp(-epsilon/2), where w grows with the values for each record."""
    weight = min(NEAREST, NEARLY * _apart(query) ** 0.4)
    return max(0, round(LEVELS / 2 - LEVELS * math.log(weight) / epsilon)) if _apart(query) >= 1 else 0
