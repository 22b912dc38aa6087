"""counted_scores: path scores that also count the records at a value, for values with some records each.

Where chance decides whether the quantile lies near the edge of its value, it is there because that value happens to
have few records, and the one beside it many. A score that falls short for values of many records evens this out. It
costs up to `most` records' worth where a value of few records lies beside the quantile, so that it counts only where
chance decides: around an even share, or where the edges of a value are a few standard deviations of the rank apart.
"""

import math

from inbounds.design.quantiles.permute_flip import REFERENCE, SLACKS, round_table_up
from inbounds.errors import InboundsError, InfeasibleDesign
from inbounds.exact import Number, to_epsilon
from inbounds.mechanism.origin import Origin
from inbounds.mechanism.quantiles import CountedTable, QuantileMechanism
from inbounds.query import QuantileQuery, check_quantile

SMALL_EPSILON, MOST_VALUES = 0.5, 15
"""Up to which counting helps, and even shares are worth a thought: beyond, steeper tables of lengths are better, and
chance decides less."""

SOME, MANY = 3.5, 20.0
"""Records of an even share, times epsilon: between these the edge of a value is neither everywhere nor nowhere."""


FIRST, LAST = 4.0, 8.0
"""Records at a value between which they count near the middle, in standard deviations of the rank: the edges of a value
of fewer are everywhere, those of one with more hardly ever near."""

MOST_RARE = 8
"""One of so many records counts at least: one of ever more would tell nothing."""


def counted_scores(query: QuantileQuery, epsilon: Number) -> QuantileMechanism:
    """Permute-and-flip over path lengths and how many records are at a value.

    >>> from inbounds import median
    >>> counted_scores(median(0, 4, size=300), "0.2")
    <QuantileMechanism counted_scores for <median of 300 records in 0..4 (5 values)>, epsilon=0.2>
    """
    check_quantile(query)
    bound = to_epsilon(epsilon)
    if not (query.public_size and query.records == 1):
        raise ValueError("counted scores need a public size and one record a person; use permute_and_flip otherwise")
    low, most, every = counts_of(query, float(bound))
    for slack in SLACKS:
        level = float(bound) * (1 - slack) / 2
        table = round_table_up(level, level, 2 * query.max_length + most)
        try:
            law = CountedTable(table, low, most, every)
            return QuantileMechanism(query, bound, law, Origin("counted_scores", {}, REFERENCE))
        except InboundsError:
            continue
    raise InfeasibleDesign("no score table is private at this epsilon: whole numbers cannot tell the scores apart")


def counts_of(query: QuantileQuery, epsilon: float) -> tuple[int, int, int]:
    """From how many records on they count, how many at most, and one of how many does.

    Near the middle of few values from 0.9 of an even share on, 2 to 4 records over epsilon; of many values from 4
    standard deviations of the rank to 8 of them, or to 1.25 shares. Near an end only values that have two shares or
    more, such as the one below a 90 % quantile of records that mostly have the least value. The numbers were chosen on
    the shapes of docs/benchmarks/quantiles.md, and tried on others there.
    """
    share, deviation = query.size / len(query.values), _deviation(query)
    if not _is_central(query):
        return int(2 * share), max(1, round(min(2.0, share * epsilon / 3) / epsilon)), 1
    if _may_be_even(query, epsilon):
        most = min(4.0, 1 + share * epsilon / 4) * min(1.0, 0.25 / epsilon)
        return int(0.9 * share), max(1, round(most / epsilon)), 1
    low, most = int(FIRST * deviation), max(1, round(2.5 / epsilon))
    return low, most, min(MOST_RARE, max(1, round((max(LAST * deviation, 1.25 * share) - low) / most)))


def counting_helps(query: QuantileQuery, epsilon: float) -> bool:
    """Whether the table that counts is chosen, by size, range, epsilon and rank alone.

    Near the middle of many values the rank must vary by more than 1 over epsilon. Few values must lie evenly, with some
    records beyond the quantile.
    """
    if not (query.public_size and query.records == 1 and epsilon <= SMALL_EPSILON):
        return False
    if _is_central(query) and len(query.values) > MOST_VALUES:
        return _deviation(query) * epsilon >= 1
    return min(query.rank, query.size - query.rank + 1) * epsilon >= 3 and _may_be_even(query, epsilon)


def _may_be_even(query: QuantileQuery, epsilon: float) -> bool:
    """Whether it matters if records lie evenly, few values with some each, the quantile of even shares well inside one:
    at an edge nothing tells the two values apart.
    """
    values = len(query.values)
    inside = 0.25 <= float(query.at * values % 1) <= 0.75
    return values <= MOST_VALUES and SOME <= query.size / values * epsilon <= MANY and inside


def _deviation(query: QuantileQuery) -> float:
    """Of how many of the records of a fixed distribution are below its quantile of this rank: sqrt(n q (1 - q))."""
    return math.sqrt(query.rank * (query.size - query.rank + 1) / query.size)


def _is_central(query: QuantileQuery) -> bool:
    return 4 * min(query.rank, query.size - query.rank + 1) > query.size
