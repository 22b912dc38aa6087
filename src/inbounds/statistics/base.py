"""What a kind of statistic is: all that the plan, the engine, the table and the record need to know about it.

A new one is a value of `StatisticKind` in a file of its own, and its name in the registry.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from inbounds.exact import Floats, Ints
from inbounds.mechanism import Mechanism
from inbounds.query import QuantileQuery, RangeQuery
from inbounds.schema.columns import Declared
from inbounds.schema.condition.tree import Condition
from inbounds.schema.errors import PlanError
from inbounds.sources.expressions import RecordWriter
from inbounds.sources.groups import Groups
from inbounds.sources.open import Source
from inbounds.statistics.designs import DesignOptions

D = TypeVar("D")
"""What is declared about the subject of a statistic: a condition, a `NumberColumn` or a `LabelColumn`."""

Sum = Callable[[str], str]
"""The sum of a whole number of every record, both as SQL."""


@dataclass(frozen=True)
class Domain(Generic[D]):
    """What a statistic is computed of: a condition, a column of numbers, or a column of labels.

    declared: what the plan says about it, or an error. reads: the columns it needs. number: the whole number that a
    record contributes, as SQL; never missing, always in its range. condition: the parsed condition, None for a column.
    options: what the command line takes about the column, and an error with their names unless it was enough.
    """

    declared: Callable[[str, Mapping[str, Declared]], D]
    reads: Callable[[str], list[str]]
    number: Callable[[str, D, RecordWriter], str]
    condition: Callable[[str], Condition | None] = lambda of: None
    options: tuple[str, ...] = ()
    column_from: Callable[[str, Mapping[str, Any]], dict[str, Any]] = lambda word, options: {}
    compares_labels: bool = False


@dataclass(frozen=True)
class StatisticContext(Generic[D]):
    """One statistic of a plan with the public facts it may use.

    name: its column in the output. of: the condition or column as written. declared: what the plan says about that.
    public: whether group sizes are public. sum_to_size: whether its cells are made to add up. at: which quantile.
    """

    name: str
    of: str
    declared: D
    public: bool
    sum_to_size: bool = False
    at: Fraction | None = None


@dataclass(frozen=True)
class ValueCounts:
    """How many records of each group have each value: a sparse matrix, groups × values."""

    rows: Any = field(repr=False)

    @classmethod
    def from_entries(cls, groups: Ints, values: Ints, counts: Ints, shape: tuple[int, int]) -> "ValueCounts":
        """From one entry for every group and value that occurs, in any order."""
        from scipy.sparse import coo_array

        return cls(coo_array((counts, (groups, values)), shape=shape).tocsr())

    def histograms(self, members: Ints) -> Ints:
        """Members × values."""
        return np.asarray(self.rows[members].toarray(), dtype=np.int64)


@dataclass(frozen=True)
class GroupAggregates:
    """What the engine found: per declared group, the records, the declared size, and the measures by their suffix.

    values: how many records have each value, where the statistic asks for that.
    """

    rows: Ints = field(repr=False)
    sizes: Ints = field(repr=False)
    measures: Mapping[str, Ints] = field(repr=False)
    values: ValueCounts | None = field(default=None, repr=False)

    @property
    def by_value(self) -> ValueCounts:
        assert self.values is not None
        return self.values

    @property
    def measure(self) -> Ints:
        """The only measure."""
        return self.measures[""]


NO_BETTER = 0.95
"""From this share of the constant's error on, a number is no better than the constant."""


class ExpectedError(NamedTuple):
    """The expected error of a number, and that of the best constant in its place."""

    error: float
    constant: float

    @property
    def no_better(self) -> bool:
        """Whether the constant would do as well."""
        return not self.error < NO_BETTER * self.constant


@dataclass(frozen=True)
class DerivedValue:
    """A published number that is computed from drawn ones, all drawn by one mechanism.

    parts: the columns of the drawn numbers, after the statistic's name. value: the published number, from the drawn
    positions. expected: how far off it is, from the mechanism and a prior of the number itself. errors: the same given
    what was drawn, from mechanism, expectation and drawn positions. interval: where the true number lies, from
    mechanism, drawn positions, level and prior. query: whose answers the prior is about. words: how it is computed.
    """

    parts: tuple[str, ...]
    value: Callable[[Sequence[Ints]], Floats]
    expected: Callable[[Mechanism, Floats | None], ExpectedError]
    errors: Callable[[Mechanism, ExpectedError, Sequence[Ints]], Floats]
    interval: Callable[[Mechanism, Sequence[Ints], Fraction, Floats | None], tuple[Floats, Floats]]
    query: RangeQuery
    words: str


def one_name(subject: StatisticContext[Any]) -> list[str]:
    """One column, of the statistic's name."""
    return [subject.name]


def as_wished(wishes: DesignOptions) -> DesignOptions:
    """Numbers take any loss and prior."""
    return wishes


def nothing_more(subject: StatisticContext[Any], groups: Groups) -> None:
    """What the domain asks for is enough."""


@dataclass(frozen=True)
class StatisticKind(Generic[D]):
    """One kind of statistic.

    word: its name in plans. domain: what it is computed of. query: the query that answers it in a group of a size,
    public or at most. measures: what the engine sums per group of the records' numbers, as SQL by suffix. positions:
    from what the engine found to positions in the query's answers, one row per cell, always within the range; or to how
    many records have each value (counts_values), where the answer is drawn from that.

    words: what becomes of values outside bounds or labels and of none at all, for one column and all statistics of it
    that share these words. named: its column unless the plan names one. cells: the columns of its answers. check:
    what it needs beyond its domain. adds_up: whether cells can be made to sum to the public size.

    in_cells: whether it has several numbers per group, and a record is in one of them, so that a changed record moves
    two and any other change one; otherwise it has one number. error: the loss that the error column states.
    has_order: whether answers lie between others, so that an interval means something. wishes: how its mechanism is
    chosen, from what the plan wishes. short: with public sizes, a record short of the size counts as `missing`.
    empty: a group without records counts as `missing`. derived: how its number is computed, where others are drawn.
    by_unit: with a maximum, records of one person may touch different numbers, so that each costs its own. over_groups:
    its numbers of several groups sum to that of all of them together. over_cells: its cells sum to margins, which
    `margins` names from what it is computed of, and whose output columns `margin` names.
    """

    word: str
    domain: Domain[D]
    query: Callable[[StatisticContext[D], int], RangeQuery | QuantileQuery]
    positions: Callable[[StatisticContext[D], GroupAggregates], Sequence[Ints | ValueCounts]]
    words: Callable[[Sequence[tuple["StatisticKind[D]", StatisticContext[D]]], Source], list[str]]
    measures: Callable[[StatisticContext[D], str, Sum], dict[str, str]] = lambda subject, own, total: {}
    named: Callable[[str], str] | None = None
    cells: Callable[[StatisticContext[D]], list[str]] = one_name
    check: Callable[[StatisticContext[D], Groups], None] = nothing_more
    wishes: Callable[[DesignOptions], DesignOptions] = as_wished
    in_cells: bool = False
    error: str = "absolute"
    has_order: bool = True
    adds_up: bool = False
    short: bool = False
    empty: bool = False
    derived: Callable[[StatisticContext[D]], DerivedValue | None] = lambda subject: None
    by_unit: bool = False
    over_groups: bool = False
    over_cells: bool = False
    margins: Callable[[str], Sequence[str]] = lambda of: ()
    margin: Callable[[StatisticContext[D], str], list[str]] = lambda subject, margin: []
    counts_values: bool = False

    def name(self, of: str) -> str:
        """Its column in the output, unless the plan names one."""
        return f"{of}_{self.word}" if self.named is None else self.named(of)


# --- what several of them share ---------------------------------------------------------------------------


def find_column(of: str, columns: Mapping[str, Declared]) -> Declared:
    if of not in columns:
        raise PlanError(f"must name a declared column, got {of!r}; add [columns.{of}]")
    return columns[of]
