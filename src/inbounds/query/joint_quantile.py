"""Several quantiles of a group's records as one question, whose answer is a vector that rises."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from inbounds.errors import check_kind
from inbounds.exact import Ints, Number
from inbounds.query.quantile import QuantileQuery, quantile
from inbounds.query.query import RangeQuery
from inbounds.trusted.scale import Scale

MOST_QUANTILES = 100
"""The largest number of quantiles of one question: all percentiles."""


@dataclass(frozen=True)
class JointQuantileQuery:
    """The quantiles `at` of one group, drawn together. The other fields are those of `QuantileQuery`.

    at: the shares of the records that the quantiles do not exceed, rising. With few records two of them may be the same
    record; the output then has the same value for both.
    """

    values: Scale
    at: tuple[Fraction, ...]
    size: int
    public_size: bool
    missing: int = 0
    records: int = 1

    def __post_init__(self) -> None:
        if type(self.at) is not tuple or not 2 <= len(self.at) <= MOST_QUANTILES:
            raise ValueError(f"at must have 2 to {MOST_QUANTILES} quantiles")
        for at in self.at:  # validates every field
            self._make_single(at)
        if not all(low < high for low, high in pairwise(self.at)):
            raise ValueError("at must rise: every quantile once, the smallest first")

    def __reduce__(self) -> tuple[type["JointQuantileQuery"], tuple[Any, ...]]:
        fields = (self.values, self.at, self.size, self.public_size, self.missing, self.records)
        return JointQuantileQuery, fields  # copies and pickles are validated again

    def _make_single(self, at: Fraction) -> QuantileQuery:
        return QuantileQuery(self.values, at, self.size, self.public_size, self.missing, self.records)

    @property
    def singles(self) -> tuple[QuantileQuery, ...]:
        """Every quantile as a question of its own."""
        return tuple(map(self._make_single, self.at))

    @property
    def width(self) -> int:
        """The number of values less one: positions are 0..width."""
        return len(self.values) - 1

    @property
    def ranks(self) -> tuple[int, ...]:
        """The rank of every quantile among `size` ordered records, from 1; equal for quantiles of the same record."""
        return tuple(single.rank for single in self.singles)

    @property
    def neighbours(self) -> str:
        """How neighbouring groups differ, in words."""
        return self.singles[0].neighbours

    def is_same_question(self, other: object) -> bool:
        """Return whether another query asks for the same quantiles of the same groups."""
        return self == other

    def describe(self) -> str:
        """Return what is asked, in words."""
        return f"{self.name} of {self.singles[0].describe().partition(' of ')[2]}"

    def describe_neighbours(self) -> str:
        """Return which groups are neighbours, in words."""
        return self.singles[0].describe_neighbours()

    def promise(self, epsilon: Fraction) -> str:
        """Return the guarantee of an epsilon-private output, in sentences without formulas."""
        return self.singles[0].promise(epsilon)

    def claim(self) -> str:
        """Return what no checker can know about the query, as a part of a sentence that begins with 'that'."""
        return f"the question is the {self.name}, and that one person has at most {self.records} of the records"

    @property
    def as_range_query(self) -> RangeQuery:
        """The possible values of each quantile, as a query with one answer."""
        return self.singles[0].as_range_query

    def encode(self, values: Any, *, clip: bool = False) -> Ints:
        """Return how many of a group's records have each value, as `QuantileQuery.encode`."""
        return self.singles[0].encode(values, clip=clip)

    def check_histograms(self, histograms: Any) -> Ints:
        """Return the histograms of many groups as int64. Raises `ValueError` unless they are groups × counts."""
        return self.singles[0].check_histograms(histograms)

    def pad(self, histograms: Ints) -> Ints:
        """Return the histograms with the records that are short of a public size added."""
        return self.singles[0].pad(histograms)

    def __repr__(self) -> str:
        return f"<{self.name} of {repr(self.singles[0]).partition(' of ')[2]}"

    @property
    def name(self) -> str:
        """The names of the quantiles, such as "minimum, median and maximum"."""
        *names, last = (single.name for single in self.singles)
        return f"{', '.join(names)} and {last}"


def check_joint_quantile(query: object) -> None:
    """Raise `TypeError` unless this is a query for several quantiles."""
    check_kind(query, JointQuantileQuery, "query", "several quantiles such as ib.quantiles([0, 0.5, 1], 1, 5, size=25)")


def quantiles(at: Iterable[Number], low: Number, high: Number, **arguments: Any) -> JointQuantileQuery:
    """Return the query for several quantiles of one group, drawn together and in order.

    at: the quantiles, each as in `quantile`; the other arguments are those of `quantile`. One draw of all of them errs
    less than a draw for each with a part of epsilon.

    >>> quantiles([0.25, 0.5, 0.75], 0, 100, size=30)
    <1/4-quantile, median and 3/4-quantile of 30 records in 0..100 (101 values)>
    """
    singles = sorted((quantile(share, low, high, **arguments) for share in at), key=lambda single: single.at)
    if len(singles) < 2:
        raise ValueError("at must have at least two quantiles; for one use ib.quantile")
    first = singles[0]
    shares = tuple(single.at for single in singles)
    return JointQuantileQuery(first.values, shares, first.size, first.public_size, first.missing, first.records)
