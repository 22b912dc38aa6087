"""counted_scores: path scores that also count the records at a value, for few values with some records each.

Where many records lie evenly on few values, a value wins its neighbours by chance: the quantile lies near the edge of
its value because that value happens to have few records, and the one beside it many. A score that falls short for
values of many records evens this out. It costs up to `most` records' worth where a value of few records lies beside the
quantile, so that it counts only around the records of an even share.
"""

from inbounds.design.quantiles.table import REFERENCE, SLACKS, rounded_up
from inbounds.errors import InboundsError, Infeasible
from inbounds.mechanism.origin import Origin
from inbounds.mechanism.quantiles import CountedTable, QuantileMechanism
from inbounds.numbers import Number, as_epsilon
from inbounds.query import Quantile

SMALL_EPSILON, MOST_VALUES = 0.5, 15
"""Up to which counting helps: beyond, steeper tables of lengths are better, and chance decides less."""

SOME, MANY = 3.5, 20.0
"""Records of an even share, times epsilon: between these the edge of a value is neither everywhere nor nowhere."""


def counted_scores(query: Quantile, epsilon: Number) -> QuantileMechanism:
    """Permute-and-flip over path lengths and how many records are at a value.

    >>> from inbounds import median
    >>> counted_scores(median(0, 4, size=300), "0.2")
    <QuantileMechanism counted_scores for <median of 300 records in 0..4 (5 values)>, epsilon=0.2>
    """
    bound = as_epsilon(epsilon)
    if not (query.public and query.records == 1):
        raise ValueError("counted scores need a public size and one record a person; use permute_and_flip otherwise")
    low, most = counts_of(query, float(bound))
    for slack in SLACKS:
        level = float(bound) * (1 - slack) / 2
        table = rounded_up(level, level, 2 * query.longest + most)
        try:
            law = CountedTable(table, low, most)
            return QuantileMechanism(query, bound, law, Origin("counted_scores", {}, REFERENCE))
        except InboundsError:
            continue
    raise Infeasible("no score table is private at this epsilon: whole numbers cannot tell the scores apart")


def counts_of(query: Quantile, epsilon: float) -> tuple[int, int]:
    """From how many records on they count, and how many at most.

    Near the middle from 0.9 of an even share on, 2 to 4 records over epsilon; near an end only values that have two
    shares or more, such as the one below a 90 % quantile of records that mostly have the least value. The numbers were
    chosen on the shapes of docs/benchmarks/quantiles.md, and tried on others there.
    """
    share = query.size / len(query.values)
    if _is_central(query):
        most = min(4.0, 1 + share * epsilon / 4) * min(1.0, 0.25 / epsilon)
        return int(0.9 * share), max(1, round(most / epsilon))
    return int(2 * share), max(1, round(min(2.0, share * epsilon / 3) / epsilon))


def counting_helps(query: Quantile, epsilon: float) -> bool:
    """Whether the table that counts is chosen, by size, range, epsilon and rank alone.

    The quantile of even shares must lie well inside its value: at an edge nothing tells the two values apart. Near an
    end there must be some records beyond it.
    """
    values = len(query.values)
    if not (query.public and query.records == 1 and epsilon <= SMALL_EPSILON and values <= MOST_VALUES):
        return False
    beyond = min(query.rank, query.size - query.rank + 1) * epsilon
    inside = 0.25 <= float(query.at * values % 1) <= 0.75
    return SOME <= query.size / values * epsilon <= MANY and beyond >= 3 and inside


def _is_central(query: Quantile) -> bool:
    return 4 * min(query.rank, query.size - query.rank + 1) > query.size
