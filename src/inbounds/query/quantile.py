"""Quantile queries: a quantile of a group's records, computed from the records themselves.

A `RangeQuery` has one true answer and must assume that one record moves a median anywhere. A `QuantileQuery` uses how
many records must change until the quantile is another value.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from inbounds.errors import check_kind
from inbounds.exact import Ints, Number, format_decimal, to_fraction, to_int
from inbounds.query.neighbours import AllPairs
from inbounds.query.outputs import OutputCells, parse_bounds
from inbounds.query.query import RangeQuery
from inbounds.trusted.inputs import read_records
from inbounds.trusted.limits import MOST_CELLS
from inbounds.trusted.path_lengths import (
    MOST_PARTS,
    group_by_person,
    pad_histograms,
    path_lengths_added,
    path_lengths_changed,
    quantile_rank,
)
from inbounds.trusted.positions import RoundingEncoder
from inbounds.trusted.scale import Scale

MOST_RECORDS = 1 << 40
"""The largest size that a quantile may declare."""


@dataclass(frozen=True)
class QuantileQuery:
    """The value that a share `at` of a group's records do not exceed: 0 the minimum, 1/2 the median, 1 the maximum.

    values: the possible values, evenly spaced. size: the number of records; if `public_size`, it is exact and public,
    and neighbours differ in changed records; otherwise it is a maximum, and neighbours differ in added or removed
    records. missing: the position that counts for a record without a value, for a record short of a public size, and
    for a group without records. records: how many of a group's records may belong to one person.
    """

    values: Scale
    at: Fraction
    size: int
    public_size: bool
    missing: int = 0
    records: int = 1

    def __post_init__(self) -> None:
        start, unit = self.values.start, self.values.unit
        if type(self.values) is not Scale or not (type(start) is type(unit) is type(self.at) is Fraction):
            raise TypeError("a quantile is made of a Scale of plain Fractions, and a Fraction")
        if type(self.public_size) is not bool:
            raise TypeError("public must be true or false")
        if not all(type(number) is int for number in (self.size, self.missing, self.records)):
            raise TypeError("size, missing and records must be whole numbers")
        if not (self.values.is_regular and 2 <= len(self.values) <= MOST_CELLS):
            raise ValueError(f"values must be at least 2 and at most {MOST_CELLS}, evenly spaced; use a larger step")
        if not (0 <= self.at <= 1 and self.at.denominator <= MOST_PARTS):
            raise ValueError(f"at must be between 0 and 1, with at most six digits after the point, got {self.at}")
        if not 1 <= self.size <= MOST_RECORDS:
            raise ValueError(f"size must be at least 1 and at most {MOST_RECORDS}, got {self.size}")
        if not 0 <= self.missing < len(self.values):
            raise ValueError("missing must be one of the values")
        if not 1 <= self.records <= MOST_RECORDS:  # a group may hold more than its declared maximum
            raise ValueError(f"records must be at least 1 and at most {MOST_RECORDS}, got {self.records}")

    def __reduce__(self) -> tuple[type["QuantileQuery"], tuple[Any, ...]]:
        fields = (self.values, self.at, self.size, self.public_size, self.missing, self.records)
        return QuantileQuery, fields  # copies and pickles are validated again

    @property
    def width(self) -> int:
        """The number of values less one: positions are 0..width."""
        return len(self.values) - 1

    @property
    def rank(self) -> int:
        """The rank of the quantile among `size` ordered records, from 1."""
        return quantile_rank(self.at, self.size)

    @property
    def neighbours(self) -> str:
        """How neighbouring groups differ, in words."""
        how = "changed" if self.public_size else "added or removed"
        return f"one record {how}" if self.records == 1 else f"up to {self.records} records {how}"

    def is_same_question(self, other: object) -> bool:
        """Return whether another query asks for the same quantile of the same groups."""
        return self == other

    def describe(self) -> str:
        """Return what is asked, in words."""
        size = f"{'' if self.public_size else 'at most '}{self.size} records"
        values = f"{len(self.values)} possible values from {self.values[0]} to {self.values[-1]}"
        return f"{self.name} of {size}, with {values}"

    def describe_neighbours(self) -> str:
        """Return which groups are neighbours, in words."""
        return f"neighbours are groups with {self.neighbours}"

    def promise(self, epsilon: Fraction) -> str:
        """Return the guarantee of an epsilon-private output, in sentences without formulas."""
        records = "one person's record is" if self.records == 1 else f"one person's up to {self.records} records are"
        if_replaced = "with another in its place" if self.records == 1 else "with others in their place"
        if_removed = "without it" if self.records == 1 else "without them"
        return (
            f"Whatever {records}, any output is at most {math.exp(float(epsilon)):.4g} times likelier than it would be "
            f"{if_replaced if self.public_size else if_removed}, and at most so many times less likely "
            f"(epsilon {format_decimal(epsilon)})."
        )

    def claim(self) -> str:
        """Return what no checker can know about the query, as a part of a sentence that begins with 'that'."""
        return f"the question is a {self.name}, and that one person has at most {self.records} of the records"

    @property
    def max_length(self) -> int:
        """The largest path length that a group of the declared size can have."""
        changed = max(self.rank, self.size - self.rank + 1) if self.public_size else self.size + 1
        return -(-changed // self.records)

    @cached_property
    def as_range_query(self) -> RangeQuery:
        """The same question as a query with one answer, which one record may move anywhere."""
        return RangeQuery("extreme", self.values, OutputCells.one_per_answer(self.values), AllPairs())

    @cached_property
    def encoder(self) -> RoundingEncoder:
        """The encoder of records: the nearest value; the nearer end for records beyond the range."""
        return RoundingEncoder(self.values, self.values.unit, Fraction(0))

    def encode(self, values: Any, *, clip: bool = False) -> Ints:
        """Return how many of a group's records have each value.

        Every record is encoded by itself and none is refused: a number is moved to the nearest value; anything else
        (None, nan, a gap in a column or masked array, a text) counts as missing. Only a container type that holds no
        numbers is refused. clip makes no difference: records beyond the range always count as its nearer end.
        """
        places = self.encoder.positions(read_records(values), clip=True).ravel()
        return np.bincount(np.where(places < 0, self.missing, places), minlength=len(self.values)).astype(np.int64)

    def check_histograms(self, histograms: Any) -> Ints:
        """Return the histograms of many groups as int64. Raises `ValueError` unless they are groups × counts."""
        counts = np.asarray(histograms)
        if counts.dtype.kind not in "iu" or counts.ndim != 2 or counts.shape[1] != self.width + 1:
            raise ValueError(f"histograms must be whole numbers, groups × {self.width + 1} values")
        if (counts < 0).any():
            raise ValueError("histograms must not be negative")
        most = min(int(np.iinfo(counts.dtype).max), 1 << 62)  # more records than any group has, and within int64
        return np.asarray(np.minimum(counts, counts.dtype.type(most)), dtype=np.int64)

    def path_lengths(self, histograms: Ints) -> Ints:
        """Return for every group and value how many persons must change until the quantile is that value."""
        if self.public_size:
            lengths = path_lengths_changed(histograms, self.at, self.size, self.missing)
        else:
            lengths = path_lengths_added(histograms, self.at, self.missing)
        return group_by_person(lengths, self.records)

    def pad(self, histograms: Ints) -> Ints:
        """Return the histograms with the records that are short of a public size added."""
        return pad_histograms(histograms, self.size, self.missing) if self.public_size else histograms

    def true_positions(self, histograms: Ints) -> Ints:
        """Return the position of the true quantile of every group."""
        return np.asarray(self.path_lengths(histograms).argmin(axis=1))

    def __repr__(self) -> str:
        sizes = f"{'' if self.public_size else 'at most '}{self.size} records"
        persons = f", up to {self.records} of them one person's" if self.records > 1 else ""
        return f"<{self.name} of {sizes} in {self.values!r}{persons}>"

    @property
    def name(self) -> str:
        """The common name, such as "median"."""
        names = {Fraction(0): "minimum", Fraction(1, 2): "median", Fraction(1): "maximum"}
        return names.get(self.at, f"{self.at}-quantile")


def check_quantile(query: object) -> None:
    """Raise `TypeError` unless this is a quantile query."""
    check_kind(query, QuantileQuery, "query", "a quantile such as ib.median(1, 5, size=25)")


def quantile(
    at: Number,
    low: Number,
    high: Number,
    *,
    size: int | None = None,
    maximum: int | None = None,
    step: Number = 1,
    missing: Number | None = None,
    records: int = 1,
) -> QuantileQuery:
    """Return the query for the value in low, low + step, …, high that a share `at` of a group's records do not exceed.

    size: the number of records, if it is public; neighbours are groups in which one record was changed.
    maximum: otherwise, about the largest number of records; neighbours are groups with one record added or removed.
    missing: the value that counts for a record without a value and for a group without records; low by default.
    records: how many records of the group may belong to one person; neighbours then differ in one person.

    >>> quantile(0.9, 0, 100, size=30)
    <9/10-quantile of 30 records in 0..100 (101 values)>
    """
    lower, upper = parse_bounds(low, high)
    unit = to_fraction(step, "step")
    if not unit > 0 or (upper - lower) % unit:
        raise ValueError(f"step must be positive and divide high - low, got {step}")
    if (size is None) == (maximum is None):
        raise ValueError("give size where the number of records is public, or else maximum")
    default = lower if missing is None else to_fraction(missing, "missing")
    if not lower <= default <= upper or (default - lower) % unit:
        raise ValueError(f"missing must be one of the values, got {missing}")
    steps = (upper - lower) / unit
    if steps >= MOST_CELLS:
        raise ValueError(
            f"step must make at most {MOST_CELLS} values between low and high, got {step}; use a larger one"
        )
    return QuantileQuery(
        Scale(lower, unit, range(int(steps) + 1)),
        to_fraction(at, "at"),
        to_int(size if maximum is None else maximum, "size" if maximum is None else "maximum", 1),  # type: ignore[arg-type]
        maximum is None,
        int((default - lower) / unit),
        to_int(records, "records", 1),
    )


def median(low: Number, high: Number, **arguments: Any) -> QuantileQuery:
    """Return the query for the lower median: `quantile` at 1/2, with the same keyword arguments.

    >>> median(1, 5, size=25)
    <median of 25 records in 1..5 (5 values)>
    """
    return quantile(Fraction(1, 2), low, high, **arguments)
