"""`StatisticKind`: all that the plan, the engine, the table and the record need to know about a kind of statistic.

To add a kind, write a value of `StatisticKind` in its own file and add it to the registry in `statistics`.
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
"""The declaration of a statistic's subject: a condition, a `NumberColumn` or a `LabelColumn`."""

Sum = Callable[[str], str]
"""From SQL of a whole number of every record to SQL of its sum."""


@dataclass(frozen=True)
class Domain(Generic[D]):
    """The subject of a statistic: a condition, a column of numbers, or columns of labels.

    declared: the plan's declaration of the subject, or an error. reads: the columns it needs.
    number: SQL for the whole number that a record contributes; never missing, always in its range.
    condition: the parsed condition, None for a column.
    options: the command-line options about the column. column_from: builds the column from them, or raises.
    compares_labels: whether it compares a column with its labels.
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

    name: its column in the output. of: the condition or column as written. declared: the plan's declaration of it.
    public: whether group sizes are public. sum_to_size: whether its cells are made to sum to the size. at: which
    quantile.
    """

    name: str
    of: str
    declared: D
    public: bool
    sum_to_size: bool = False
    at: Fraction | None = None


@dataclass(frozen=True)
class ValueCounts:
    """The number of records of each group with each value: a sparse matrix, groups × values."""

    rows: Any = field(repr=False)

    @classmethod
    def from_entries(cls, groups: Ints, values: Ints, counts: Ints, shape: tuple[int, int]) -> "ValueCounts":
        """Build from one entry for every group and value that occurs, in any order."""
        from scipy.sparse import coo_array

        return cls(coo_array((counts, (groups, values)), shape=shape).tocsr())

    def histograms(self, members: Ints) -> Ints:
        """Return the histograms of these groups, members × values."""
        return np.asarray(self.rows[members].toarray(), dtype=np.int64)


@dataclass(frozen=True)
class GroupAggregates:
    """The result of the aggregation, per declared group: records, declared size, and measures by their suffix.

    values: how many records have each value, for statistics that need it.
    """

    rows: Ints = field(repr=False)
    sizes: Ints = field(repr=False)
    measures: Mapping[str, Ints] = field(repr=False)
    values: ValueCounts | None = field(default=None, repr=False)

    @property
    def by_value(self) -> ValueCounts:
        """Return the counted values."""
        assert self.values is not None
        return self.values

    @property
    def measure(self) -> Ints:
        """Return the only measure."""
        return self.measures[""]


NO_BETTER = 0.95
"""A number is no better than a constant if its error is at least this share of the constant's error."""


class ExpectedError(NamedTuple):
    """The expected error of a number, and that of the best constant."""

    error: float
    constant: float

    @property
    def no_better(self) -> bool:
        """Return whether the constant would do as well."""
        return not self.error < NO_BETTER * self.constant


@dataclass(frozen=True)
class DerivedValue:
    """A published number that is computed from drawn ones, all drawn by one mechanism.

    parts: the columns of the drawn numbers, after the statistic's name. value: the published number, from drawn
    positions.
    expected: its expected error, from the mechanism and a prior of the number itself. errors: the same given the draws,
    from mechanism, expectation and drawn positions. interval: the ends of its credible interval, from mechanism, drawn
    positions, level and prior. query: the query whose answers the prior is about. words: how it is computed.
    """

    parts: tuple[str, ...]
    value: Callable[[Sequence[Ints]], Floats]
    expected: Callable[[Mechanism, Floats | None], ExpectedError]
    errors: Callable[[Mechanism, ExpectedError, Sequence[Ints]], Floats]
    interval: Callable[[Mechanism, Sequence[Ints], Fraction, Floats | None], tuple[Floats, Floats]]
    query: RangeQuery
    words: str


def one_name(subject: StatisticContext[Any]) -> list[str]:
    """Return one column, named like the statistic."""
    return [subject.name]


def accept_all(options: DesignOptions) -> DesignOptions:
    """Accept any loss and prior."""
    return options


def check_nothing(subject: StatisticContext[Any], groups: Groups) -> None:
    """Check nothing beyond the domain."""


@dataclass(frozen=True)
class StatisticKind(Generic[D]):
    """One kind of statistic.

    word: its name in plans. domain: its subject. query: the query that answers it in a group of a size, public or at
    most.
    measures: SQL of what the engine sums per group, by suffix. positions: from the aggregates to positions in the
    query's answers, one row per cell, always within the range; or to value counts (counts_values), if the answer is
    drawn from those.

    words: sentences about values outside bounds or labels and about missing ones, for all statistics of one column that
    share these sentences. named: its column unless the plan names one. cells: the columns of its answers. check: raises
    unless its needs beyond the domain are met. adds_up: whether cells can be made to sum to the public size.

    in_cells: whether it has several numbers per group with each record in one of them, so a changed record moves two
    and any other change one; otherwise it has one number. error: the loss that the error column states. has_order:
    whether answers are ordered, so that it can have intervals. adjust_options: from the design options of the
    plan to those of its mechanism.
    short: with public sizes, a record short of the size counts as `missing`. empty: a group without records counts as
    `missing`. derived: how its number is computed, if others are drawn. by_unit: with a maximum size, records of one
    person may touch different numbers, so each number costs its own part. over_groups: its numbers of several groups
    sum to that of their union. over_cells: its cells sum to margins, which `margins` names, and whose output columns
    `margin` names.
    """

    word: str
    domain: Domain[D]
    query: Callable[[StatisticContext[D], int], RangeQuery | QuantileQuery]
    positions: Callable[[StatisticContext[D], GroupAggregates], Sequence[Ints | ValueCounts]]
    words: Callable[[Sequence[tuple["StatisticKind[D]", StatisticContext[D]]], Source], list[str]]
    measures: Callable[[StatisticContext[D], str, Sum], dict[str, str]] = lambda subject, number, total: {}
    named: Callable[[str], str] | None = None
    cells: Callable[[StatisticContext[D]], list[str]] = one_name
    check: Callable[[StatisticContext[D], Groups], None] = check_nothing
    adjust_options: Callable[[DesignOptions], DesignOptions] = accept_all
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
        """Return its column in the output, unless the plan names one."""
        return f"{of}_{self.word}" if self.named is None else self.named(of)


# --- what several of them share ---------------------------------------------------------------------------


def find_column(of: str, columns: Mapping[str, Declared]) -> Declared:
    """Return the declared column; raise PlanError if there is none of this name."""
    if of not in columns:
        raise PlanError(f"must name a declared column, got {of!r}; add [columns.{of}]")
    return columns[of]
