"""sided_scores: path scores for quantiles near an end, steep where many records are and flat where few can be."""

import math
from dataclasses import dataclass
from fractions import Fraction

from inbounds.design.quantiles.table import REFERENCE, SLACKS, permute_and_flip, rounded_up
from inbounds.errors import InboundsError, Infeasible
from inbounds.mechanism.origin import Origin
from inbounds.mechanism.quantiles import QuantileMechanism, SidedTable
from inbounds.numbers import Number, as_epsilon
from inbounds.query import Quantile

LEVELS = 40
"""Levels of a table that make epsilon together, so that paces are fortieths of it."""

FARTHEST = 4
"""Ranks from an end, itself included, at which sides are worth telling apart."""

WIDE, SPARSE = 30.0, 8.0
"""Outputs, each of weight exp(-epsilon/2), from which the answer's own weight is little beside them, and noticeable."""

STEEP, CROWDED = 1.0, 60.0
"""Above this epsilon sides are told apart only beyond so many, and only if records are few beside the values."""


@dataclass(frozen=True)
class Pace:
    """How fast weights fall away from the end, in fortieths of epsilon: of a record beyond the answer, towards the end;
    of the first record on the other side; every further one there costs what is left of epsilon.
    """

    beyond: int
    first: int


def sided_scores(query: Quantile, epsilon: Number, pace: Pace | None = None) -> QuantileMechanism:
    """Permute-and-flip over path lengths with a pace for each side of the answer, both together epsilon.

    Beyond a maximum there is no record, and every value there is one record away: a steep pace is lost on it. Between
    the records weights may then fall faster. pace: by default what `pace_of` finds, or as for a maximum in a wide range.

    >>> from inbounds import quantile
    >>> sided_scores(quantile(1, 0, 100, size=30), 1)
    <QuantileMechanism sided_scores(beyond=12/40, first=6/40) for <maximum of 30 records in 0..100 (101 values)>, epsilon=1>
    """
    bound = as_epsilon(epsilon)
    chosen = pace or pace_of(query, bound) or Pace(12, 6)
    towards, away = (chosen.beyond, chosen.beyond), (chosen.first, LEVELS - chosen.beyond)
    below, above = (towards, away) if _is_low(query) else (away, towards)
    deeper = min(below[1], above[1])
    parameters = {"beyond": f"{chosen.beyond}/{LEVELS}", "first": f"{chosen.first}/{LEVELS}"}
    for slack in SLACKS:
        level = float(bound) * (1 - slack) / LEVELS
        table = rounded_up(level, level, LEVELS * query.longest * 2)
        try:
            law = SidedTable(table, below, above, deeper)
            return QuantileMechanism(query, bound, law, Origin("sided_scores", parameters, REFERENCE))
        except InboundsError:
            continue
    raise Infeasible("no score table is private at this epsilon: whole numbers cannot tell the lengths apart")


def path_scores(query: Quantile, epsilon: Fraction) -> QuantileMechanism:
    """Permute-and-flip over path lengths, with a pace for each side where that is worth while."""
    pace = pace_of(query, epsilon)
    return permute_and_flip(query, epsilon) if pace is None else sided_scores(query, epsilon, pace)


def pace_of(query: Quantile, epsilon: Fraction) -> Pace | None:
    """The paces for a quantile near an end of many values; None where both sides are better treated alike.

    What matters is how much the answer itself weighs beside all other outputs, about exp(epsilon/2) to one. Where it is
    little, what remains is how values beyond the answer compare with those among the records: the pace of the end is
    0.3 epsilon for an extreme, and half as far from epsilon/2 for every rank further in. The numbers were chosen on the
    shapes of docs/benchmarks/quantiles.md, and tried on others there.
    """
    place = min(query.rank, query.size - query.rank + 1)
    if not (query.public and query.records == 1 and 4 * place <= query.size and place <= FARTHEST):
        return None
    many = len(query.values) * math.exp(-float(epsilon) / 2)
    if epsilon <= STEEP and many >= WIDE:
        half = 1 << (place - 1)
        beyond = LEVELS // 2 - 8 // half
        return Pace(beyond, round((LEVELS - beyond) * (1 - 0.8 / half)))
    if place == 1 and (epsilon <= STEEP and many >= SPARSE or many >= CROWDED and 4 * query.size <= len(query.values)):
        return Pace(16, 24)
    return None


def _is_low(query: Quantile) -> bool:
    """Whether the nearer end is the low one."""
    return 2 * query.rank <= query.size
