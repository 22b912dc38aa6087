"""Design of `counted_scores`: path scores that also count the records at a value, for values with some records each.

If the quantile lies near the edge of its value by chance, that value happens to have few records and its neighbour
many. A score that favours values with many records corrects this. It costs up to `most` records if a value with few
records is next to the quantile. So records count only where chance matters: around an even share, or where the edges of
a value are a few standard deviations of the rank apart.
"""

import math

from inbounds.design.quantiles.permute_flip import REFERENCE, SLACKS, round_table_up
from inbounds.errors import InboundsError, InfeasibleDesign
from inbounds.exact import Number, to_epsilon
from inbounds.mechanism.origin import Origin
from inbounds.mechanism.quantiles import CountedTable, QuantileMechanism
from inbounds.query import QuantileQuery, check_quantile

SMALL_EPSILON, MOST_VALUES = 0.5, 15
"""Largest epsilon for which counting helps, and largest number of values for which even shares are considered. Beyond
them, steeper tables of lengths are better and chance matters less."""

SOME, MANY = 3.5, 20.0
"""Range of epsilon times the records of an even share in which counting helps: fewer records put an edge everywhere,
more put it nowhere."""


FIRST, LAST = 4.0, 8.0
"""Range of records at a value in which they count near the middle, in standard deviations of the rank. With fewer
records the edges of a value are everywhere, with more hardly ever near."""

MOST_RARE = 8
"""At least one of so many records counts; a smaller share would carry no information."""


def counted_scores(query: QuantileQuery, epsilon: Number) -> QuantileMechanism:
    """Design permute-and-flip over path lengths and the number of records at a value.

    >>> from inbounds import median
    >>> counted_scores(median(0, 4, size=300), "0.2")
    <QuantileMechanism counted_scores for <median of 300 records in 0..4 (5 values)>, epsilon=0.2>
    """
    check_quantile(query)
    bound = to_epsilon(epsilon)
    if not (query.public_size and query.records == 1):
        raise ValueError("counted scores need a public size and one record a person; use permute_and_flip otherwise")
    low, most, one_in = choose_counting(query, float(bound))
    for slack in SLACKS:
        level = float(bound) * (1 - slack) / 2
        table = round_table_up(level, level, 2 * query.max_length + most)
        try:
            law = CountedTable(table, low, most, one_in)
            return QuantileMechanism(query, bound, law, Origin("counted_scores", {}, REFERENCE))
        except InboundsError:
            continue
    raise InfeasibleDesign("no score table is private at this epsilon: whole numbers cannot tell the scores apart")


def choose_counting(query: QuantileQuery, epsilon: float) -> tuple[int, int, int]:
    """Choose from how many records on they count, how many at most, and one of how many does.

    Near the middle of few values from 0.9 of an even share on, 2 to 4 records over epsilon; of many values from 4
    standard deviations of the rank to 8 of them, or to 1.25 shares. Near an end only values that have two shares or
    more, such as the one below a 90 % quantile of records that mostly have the least value. The numbers were chosen on
    the shapes of docs/benchmarks/quantiles.md, and tried on others there.
    """
    share, deviation = query.size / len(query.values), _rank_deviation(query)
    if not _is_central(query):
        return int(2 * share), max(1, round(min(2.0, share * epsilon / 3) / epsilon)), 1
    if _even_shares_matter(query, epsilon):
        most = min(4.0, 1 + share * epsilon / 4) * min(1.0, 0.25 / epsilon)
        return int(0.9 * share), max(1, round(most / epsilon)), 1
    low, most = int(FIRST * deviation), max(1, round(2.5 / epsilon))
    return low, most, min(MOST_RARE, max(1, round((max(LAST * deviation, 1.25 * share) - low) / most)))


def counting_helps(query: QuantileQuery, epsilon: float) -> bool:
    """Return whether the counting table is chosen, from size, range, epsilon and rank alone.

    Near the middle of many values the rank must vary by more than 1 over epsilon. Few values must lie evenly, with some
    records beyond the quantile.
    """
    if not (query.public_size and query.records == 1 and epsilon <= SMALL_EPSILON):
        return False
    if _is_central(query) and len(query.values) > MOST_VALUES:
        return _rank_deviation(query) * epsilon >= 1
    return min(query.rank, query.size - query.rank + 1) * epsilon >= 3 and _even_shares_matter(query, epsilon)


def _even_shares_matter(query: QuantileQuery, epsilon: float) -> bool:
    """Return whether even shares matter: few values with some records each, and the quantile of even shares well
    inside one value. At an edge the two values cannot be told apart.
    """
    values = len(query.values)
    inside = 0.25 <= float(query.at * values % 1) <= 0.75
    return values <= MOST_VALUES and SOME <= query.size / values * epsilon <= MANY and inside


def _rank_deviation(query: QuantileQuery) -> float:
    """Return the standard deviation of the number of records below the quantile, sqrt(n q (1 - q))."""
    return math.sqrt(query.rank * (query.size - query.rank + 1) / query.size)


def _is_central(query: QuantileQuery) -> bool:
    """Return whether the quantile lies in the middle half of the ranks."""
    return 4 * min(query.rank, query.size - query.rank + 1) > query.size
