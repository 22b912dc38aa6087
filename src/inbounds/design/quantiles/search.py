"""Design of `sided_scores`: path scores for few records in a wide range, where the exact answer is rarely hit.

Two parameters are chosen before any record is read. The *pace* of each side of the answer: beyond a maximum there is no
record and every value is one record away, so a steep pace is useless there, and weights may fall faster among the
records. The *spread*: how many values beside the answer are reported as often as it, or nearly. It adds half its width
to the error and takes probability from all others.
"""

import math
from fractions import Fraction

from inbounds.design.quantiles.permute_flip import REFERENCE, SLACKS, design_permute_flip, round_table_up
from inbounds.errors import InboundsError, InfeasibleDesign
from inbounds.exact import Number, to_epsilon
from inbounds.mechanism import Mechanism, QuantileMechanism
from inbounds.mechanism.laws import SidedPermuteAndFlip
from inbounds.mechanism.origin import Origin
from inbounds.query import QuantileQuery, check_quantile
from inbounds.trusted.sided_scores import Side

LEVELS = 40
"""Number of levels that sum to epsilon: paces are multiples of epsilon/40."""

FEW, DENSE = 7.0, 12.0
"""Least weight of the other outputs relative to the answer for which the steepest table is not the best near an end:
with more values than records, and otherwise."""

STEEP = 1.5
"""Least weight of the other outputs one epsilon away. Below it the steepest table is the best, because its first step
is nearly as long. In the middle: 1 for each value of the spread."""

WIDEST, WIDEST_NEAR_AN_END = 64, 16
"""The spread on a side is at most the number of values divided by this: in the middle, and near an end."""

SHARE = 2 / 3
"""Largest spread relative to the loss of the exponential mechanism when all records agree."""

NEARLY, NEAREST = 1.8, 3.2
"""Weight of a value beyond an extreme within the spread, relative to exp(-epsilon/2), the weight one record away: with
as many values as records, and at most."""


def design_sided(query: QuantileQuery, epsilon: Number) -> QuantileMechanism:
    """Design permute-and-flip over path lengths with a pace and a spread for each side of the answer.

    >>> from inbounds import quantile
    >>> design_sided(quantile(1, 0, 100, size=30), 1)
    <Mechanism sided_scores for <maximum of 30 records in 0..100 (101 values)>, epsilon=1>
    """
    check_quantile(query)
    bound = to_epsilon(epsilon)
    if not (query.public_size and query.records == 1):
        raise ValueError("sided scores need a public size and one record a person; use permute_and_flip otherwise")
    below, above = choose_sides(query, bound)
    for slack in SLACKS:
        level = float(bound) * (1 - slack) / LEVELS
        table = round_table_up(level, level, LEVELS * query.max_length * 2)
        try:
            law = SidedPermuteAndFlip(table, below, above, min(below[1], above[1]))
            return Mechanism(query, bound, law, Origin("sided_scores", {}, REFERENCE))
        except InboundsError:
            continue
    raise InfeasibleDesign("no score table is private at this epsilon: whole numbers cannot tell the lengths apart")


def design_scores(query: QuantileQuery, epsilon: Fraction) -> QuantileMechanism:
    """Design permute-and-flip over path lengths: sided where that helps, else the steepest table."""
    even_side = (LEVELS // 2, LEVELS // 2, 0, 0)
    if query.public_size and query.records == 1 and choose_sides(query, epsilon) != (even_side, even_side):
        return design_sided(query, epsilon)
    return design_permute_flip(query, epsilon)


def choose_sides(query: QuantileQuery, epsilon: Fraction) -> tuple[Side, Side]:
    """Choose the levels of both sides.

    The numbers were chosen on the shapes of docs/benchmarks/quantiles.md, and tested on others there.
    """
    beyond = _levels_beyond(query, float(epsilon))
    end, rest = (beyond, beyond), (LEVELS - beyond, LEVELS - beyond)
    low, high = (end, rest) if 2 * query.rank <= query.size else (rest, end)
    below, above = _spreads(query, float(epsilon))
    return _side(low, *below), _side(high, *above)


def _side(levels: tuple[int, int], spread: int, near: int) -> Side:
    """Combine the levels of a side with its spread and the level of the spread."""
    return (*levels, spread, min(near, levels[0]))


def _rank_from_end(query: QuantileQuery) -> int:
    """Return the rank of the quantile counted from the nearer end, starting at 1."""
    return min(query.rank, query.size - query.rank + 1)


def _levels_beyond(query: QuantileQuery, epsilon: float) -> int:
    """Return the levels of a record beyond a quantile near an end; one on the other side gets the rest of epsilon.

    For an extreme: fewer levels with more values per record and with less weight of the answer.
    """
    place, apart = _rank_from_end(query), _values_per_record(query)
    if 4 * place > query.size or not _is_sided(query, epsilon):
        return LEVELS // 2
    if place > 1:
        return 19 if place <= 3 and epsilon <= 1.5 else LEVELS // 2
    return (
        19
        if apart < 1
        else round(18.9 - 0.55 * math.log(apart) - 0.35 * math.log(_weight_of_others(query, epsilon) / 50))
    )


def _weight_of_others(query: QuantileQuery, epsilon: float) -> float:
    """Return κ = m exp(-epsilon/2): the weight of all outputs one record away, relative to the answer."""
    return len(query.values) * math.exp(-epsilon / 2)


def _values_per_record(query: QuantileQuery) -> float:
    """Return the number of values per record."""
    return len(query.values) / query.size


def _is_sided(query: QuantileQuery, epsilon: float) -> bool:
    """Return whether an answer near an end has so little weight that pace and spread beat the steepest table."""
    few = FEW if _values_per_record(query) >= 1 else DENSE
    return _weight_of_others(query, epsilon) >= few and _weight_of_others(query, 2 * epsilon) >= STEEP


def _spreads(query: QuantileQuery, epsilon: float) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the spread of each side and its level."""
    below, above = query.rank, query.size - query.rank + 1
    if 4 * _rank_from_end(query) <= query.size:
        return _spread_near_an_end(query, epsilon, below), _spread_near_an_end(query, epsilon, above)
    low, high = _spread_in_the_middle(query, epsilon, below), _spread_in_the_middle(query, epsilon, above)
    return ((low, 0), (high, 0)) if (low + high) * _weight_of_others(query, 2 * epsilon) >= 1 else ((0, 0), (0, 0))


def _spread_in_the_middle(query: QuantileQuery, epsilon: float, records: int) -> int:
    """Return the spread of a side with `records` records.

    Off the median, the outputs on the side with fewer records weigh most, and equal records may lie near its end. If
    they lie a quarter of the range from it, that side causes a tenth of the loss. The nearer the quantile is to that
    end, the denser records may lie beside it, and the smaller is the largest spread.
    """
    values, more = len(query.values), max(records, query.size - records)
    others = 0.1 * _weight_of_others(query, epsilon * records) + 0.9 * _weight_of_others(query, epsilon * more)
    widest = values / WIDEST * min(1.0, 2 * records / query.size) ** 2
    return int(min(widest, _max_spread(query, others)))


def _max_spread(query: QuantileQuery, others: float) -> float:
    """Return the widest spread that costs less than the exponential mechanism loses when all records agree.

    S = m exp(-epsilon · records / 2) is then the weight of the others, and m/4 · S / (1 + S) about the loss.
    """
    return SHARE * len(query.values) / 4 * others / (1 + others)


def _spread_near_an_end(query: QuantileQuery, epsilon: float, records: int) -> tuple[int, int]:
    """Return the spread of a side with `records` records, and its level, where records may be dense.

    It is a part of the distance between evenly spaced records, if that costs less than the exponential mechanism loses
    when all agree. Beyond an extreme it is the whole distance, with less weight than the answer.
    """
    values, place, apart = len(query.values), _rank_from_end(query), _values_per_record(query)
    if not _is_sided(query, epsilon):
        return 0, 0
    widest = values // WIDEST_NEAR_AN_END
    if place > 1:
        part = (1 / 2 if records == place else 1 / 4) * (2 / place) ** 0.4 * min(1.0, 0.85 / epsilon) ** 1.3
        return int(min(widest, part * apart, _max_spread(query, _weight_of_others(query, epsilon * records)))), 0
    return (min(widest, int(apart)), _spread_level(query, epsilon)) if records == 1 else (0, 0)


def _spread_level(query: QuantileQuery, epsilon: float) -> int:
    """Return the level of the weight w exp(-epsilon/2), where w grows with the values per record."""
    weight = min(NEAREST, NEARLY * _values_per_record(query) ** 0.4)
    return max(0, round(LEVELS / 2 - LEVELS * math.log(weight) / epsilon)) if _values_per_record(query) >= 1 else 0
