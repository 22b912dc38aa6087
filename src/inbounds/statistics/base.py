"""`Statistic`: the one declaration of a statistic. Every surface derives from it.

Plans, requests, options, forms, records and the reference page read the fields of these models; the engine, the budget
and the table call their methods. To add a statistic, write a subclass in a file of its own and add it to the list in
`statistics`. The checkers keep rules of their own: until each of them has one, a release is not verifiable yet.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from pydantic import Field, model_validator

from inbounds.exact import Floats, Ints
from inbounds.mechanism import Mechanism
from inbounds.query import JointQuantileQuery, QuantileQuery, RangeQuery
from inbounds.schema.columns import Declared
from inbounds.schema.condition.tree import Condition
from inbounds.schema.errors import PlanError
from inbounds.schema.types import PositiveExact, Schema, Text
from inbounds.sources.expressions import RecordWriter
from inbounds.sources.groups import Groups
from inbounds.sources.open import Source
from inbounds.statistics.designs import DesignOptions
from inbounds.statistics.sizes import SizeBeliefs

Sum = Callable[[str], str]
"""From SQL of a whole number of every record to SQL of its sum."""


@dataclass(frozen=True)
class StatisticContext:
    """What a plan declares about its statistics.

    columns: by name. public: whether group sizes are. persons: whether one person may have several records.
    """

    columns: Mapping[str, Declared]
    public: bool
    persons: bool = False

    def column(self, name: str) -> Declared:
        """Return a declared column; raise PlanError if there is none of this name."""
        if name not in self.columns:
            raise PlanError(f"must name a declared column, got {name!r}; add [columns.{name}]")
        return self.columns[name]


@dataclass(frozen=True)
class ValueCounts:
    """The number of records of each group with each value: a sparse matrix, groups × values."""

    rows: Any = field(repr=False)

    @classmethod
    def from_entries(cls, groups: Ints, values: Ints, counts: Ints, shape: tuple[int, int]) -> "ValueCounts":
        """Build from one entry for every group and value that occurs, in any order."""
        from scipy.sparse import coo_array

        return cls(coo_array((counts, (groups, values)), shape=shape).tocsr())

    def join(self, nodes: Ints, count: int) -> "ValueCounts":
        """Return the counts of larger groups. nodes: for every group the one it is part of."""
        entries = self.rows.tocoo()
        return ValueCounts.from_entries(nodes[entries.row], entries.col, entries.data, (count, entries.shape[1]))

    def select(self, groups: Ints) -> "ValueCounts":
        """Return the counts of these groups, by their places."""
        return ValueCounts(self.rows[groups])

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

    def join(self, nodes: Ints, sizes: Ints) -> "GroupAggregates":
        """Return the aggregates of larger groups. nodes: for every group the one it is part of. sizes: theirs."""

        def add(numbers: Ints) -> Ints:
            joined = np.zeros(len(sizes), dtype=numbers.dtype)
            np.add.at(joined, nodes, numbers)
            return joined

        measures = {suffix: add(numbers) for suffix, numbers in self.measures.items()}
        values = None if self.values is None else self.values.join(nodes, len(sizes))
        return GroupAggregates(add(self.rows), sizes, measures, values)

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
"""A number is no better than a yardstick if its error is at least this share of the yardstick's error."""


class ExpectedError(NamedTuple):
    """The expected error of a number, and of two answers that need less: the yardsticks.

    constant: of the best constant. parent: of the average of the published parent, for a number that adds up with
    others to a parent. deviation: the standard error of `error`, if it was simulated.
    """

    error: float
    constant: float
    parent: float | None = None
    deviation: float = 0.0

    @property
    def yardstick(self) -> float:
        """Return the smaller error of the yardsticks."""
        return self.constant if self.parent is None else min(self.constant, self.parent)

    @property
    def no_better(self) -> bool:
        """Return whether a yardstick would do as well."""
        return not self.error < NO_BETTER * self.yardstick


@dataclass(frozen=True)
class DerivedValue:
    """A published number that is computed from drawn ones, all drawn by one mechanism.

    parts: the columns of the drawn numbers, after the statistic's name. value: the published number, from drawn
    positions and drawn values. expected: its expected error, from the mechanism, a prior of the number itself and one
    of the group's size. errors: the same given the draws, for groups in columns. interval: the ends of its credible
    interval; both from mechanism, drawn positions, prior, and what is believed about the size of each group. query: the
    query whose answers the prior is about. coverage: the probability that the interval holds the number in groups of
    one size, if each of the given beliefs about the size is equally likely. words: how it is computed. pooled: of
    groups together, its value, expected error and the ends of its interval, from sums of readings of the drawn numbers,
    the variance of each sum, and the probability of the interval. read: unbiased readings of drawn positions in groups
    of one maximum, and the variance of one. Both are None for what is drawn of every level by itself.
    """

    parts: tuple[str, ...]
    value: Callable[[Sequence[Ints], Sequence[Any]], Floats]
    expected: Callable[[Mechanism, Floats | None, SizeBeliefs], ExpectedError]
    errors: Callable[[Mechanism, Sequence[Ints], Floats | None, SizeBeliefs], Floats]
    interval: Callable[[Mechanism, Sequence[Ints], Fraction, Floats | None, SizeBeliefs], tuple[Floats, Floats]]
    coverage: Callable[[Mechanism, int, Fraction, Floats | None, SizeBeliefs], float]
    query: RangeQuery
    words: str
    pooled: Callable[[Sequence[Floats], Floats, Fraction], tuple[Floats, Floats, Floats, Floats]] | None = None
    read: Callable[[Mechanism, Ints], tuple[Floats, float]] | None = None


class Statistic(Schema):
    """One number, or one row of cells, for every group of a plan.

    A subclass has `kind` as a literal, the field that `subject` names (what people write after the kind, such as the
    column in `mean = "age"`), and further fields of its own. Class variables say how it behaves:

    in_cells: it has several numbers per group with each record in one of them, so a changed record moves two.
    by_unit: with a maximum size, records of one person may touch different numbers, so each costs its own part.
    once: one person moves each of its numbers by one record at most, however many records the person has.
    counts_values: it is drawn from the number of records with each value, not from sums.
    over_groups: its numbers of several groups sum to that of their union. over_cells: its cells sum to margins.
    averages: with public sizes it is a sum divided by the size, so that its numbers add up weighted with the sizes.
    of_levels: its numbers do not add up, and it is drawn of the groups of each level, unless `is_drawn_of_levels` says
    otherwise; what is read of groups adds up.
    sees_size: its error is smaller in larger groups.
    loss: the loss that the error column states. has_order: answers are ordered, so there can be intervals.
    compares_labels: it compares a column with its labels. column_options: the options of a command that declare its
    column, of which needed_options must be given. metavar: how its own option is written.
    """

    kind: str
    name: Text = Field("", description="Its column in the table; made from column and kind if left out.")
    epsilon: PositiveExact | None = Field(None, description="Its part of epsilon.", examples=["0.5"])
    budget_share: PositiveExact | None = Field(
        None, description="Its part of epsilon, as a share of the whole.", examples=["0.5"]
    )
    design: DesignOptions | None = Field(None, description="How its mechanism is designed; else as the plan says.")

    subject: ClassVar[str] = "column"
    in_cells: ClassVar[bool] = False
    by_unit: ClassVar[bool] = False
    once: ClassVar[bool] = False
    counts_values: ClassVar[bool] = False
    over_groups: ClassVar[bool] = False
    averages: ClassVar[bool] = False
    of_levels: ClassVar[bool] = False
    sees_size: ClassVar[bool] = True
    over_cells: ClassVar[bool] = False
    loss: ClassVar[str] = "absolute"
    has_order: ClassVar[bool] = True
    compares_labels: ClassVar[bool] = False
    column_options: ClassVar[tuple[str, ...]] = ()
    needed_options: ClassVar[tuple[str, ...]] = ()
    metavar: ClassVar[str] = "COLUMN"

    @model_validator(mode="after")
    def _complete(self) -> "Statistic":
        if self.epsilon is not None and self.budget_share is not None:
            raise PlanError("and epsilon must not both be given", ("budget_share",))
        if not self.name:
            self.__dict__["name"] = self.default_name
        return self

    # --- how it is written --------------------------------------------------------------------------------

    @classmethod
    def summary(cls) -> str:
        """Return what it is in one line: the first line of its docstring."""
        return (cls.__doc__ or "").strip().partition("\n")[0]

    @classmethod
    def from_option(cls, text: str) -> dict[str, Any]:
        """Return the fields that an option of the command line declares, as a plan writes them."""
        return {cls.model_fields["kind"].default: text}

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values for the record: its kind, its name, and the fields that are set."""
        values = {"kind": self.kind, **super().to_json()}
        return values if self.design is None else {**values, "design": self.design.to_json()}

    def to_entry(self) -> dict[str, Any]:
        """Return the statistic as a plan or a question writes it, without name, budget and design."""
        plain = self.model_dump(
            mode="json", exclude_defaults=True, exclude={"kind", "name", "epsilon", "budget_share", "design"}
        )
        return {self.kind: plain.pop(self.subject), **plain}

    @property
    def subject_text(self) -> str:
        """Return the condition or column as text."""
        return str(getattr(self, self.subject))

    @property
    def default_name(self) -> str:
        """Return its column in the table, unless the plan names one."""
        return f"{self.subject_text}_{self.kind}"

    def to_canonical(self) -> "Statistic":
        """Return the same statistic in the one form that all its spellings have, without a name."""
        return self if self.name == self.default_name else self.replace(name="")

    def with_condition(self, condition: str) -> "Statistic | None":
        """Return the same statistic of the records that meet a condition too; None if its fields cannot say that."""
        return None

    # --- what it reads ------------------------------------------------------------------------------------

    @property
    def columns_read(self) -> tuple[str, ...]:
        """Return the columns that it reads."""
        return (self.subject_text,)

    @cached_property
    def where(self) -> Condition | None:
        """Return the parsed condition of a count; None for a statistic of a column."""
        return None

    def check(self, context: StatisticContext, groups: Groups) -> None:
        """Raise PlanError unless the plan declares what it needs."""
        raise NotImplementedError

    def number(self, context: StatisticContext, writer: RecordWriter) -> str:
        """Write SQL for the whole number that a record contributes: never missing, always in its range."""
        raise NotImplementedError

    def measures(self, context: StatisticContext, number: str, total: Sum) -> dict[str, str]:
        """Write SQL of what the engine sums per group, by suffix."""
        return {}

    # --- what it answers ----------------------------------------------------------------------------------

    def moves_twice(self, context: StatisticContext) -> bool:
        """Return whether changing a record may move one of its numbers farther than adding or removing one.

        Then a changed record that stays in its group costs one number what it else costs the numbers of two groups.
        """
        return False

    def divide(
        self, context: StatisticContext, groups: Groups, options: DesignOptions, epsilon: Fraction
    ) -> tuple["Statistic", ...]:
        """Return the statistics that are drawn for it: itself, unless it can be drawn in parts only.

        epsilon: the least that one record may cost in one of its numbers.

        Parts share the epsilon that it has of its own equally; without one, each of them counts as a statistic.
        """
        return (self,)

    def query(self, context: StatisticContext, size: int) -> RangeQuery | QuantileQuery | JointQuantileQuery:
        """Build the query that answers it in a group of a size, public or at most.

        The answers of a `JointQuantileQuery` are all cells of the statistic, and drawn together.
        """
        raise NotImplementedError

    def answer_prior(self, context: StatisticContext, size: int, beliefs: SizeBeliefs) -> Floats | None:
        """Return the prior of the query's answers that follows from the prior of the group's size.

        None if none does: all answers are then equally likely. beliefs: one distribution over sizes up to `size`.
        """
        return None

    def positions(self, context: StatisticContext, aggregates: GroupAggregates) -> Sequence[Ints | ValueCounts]:
        """Compute positions in the query's answers, one row per cell, always within the range."""
        raise NotImplementedError

    def adjust_options(self, options: DesignOptions) -> DesignOptions:
        """Return the design options of its mechanism, from those of the plan."""
        return options

    # --- what is published --------------------------------------------------------------------------------

    def cells(self, context: StatisticContext) -> list[str]:
        """Return the columns of its answers."""
        return [self.name]

    def margin_cells(self, context: StatisticContext) -> list[str]:
        """Return the columns of its margins."""
        return []

    def error_cells(self, context: StatisticContext) -> list[str]:
        """Return what has an expected error of its own: the statistic, or each of its cells."""
        return [self.name]

    def derive(self, context: StatisticContext) -> DerivedValue | None:
        """Return how its number is computed, if others are drawn."""
        return None

    @classmethod
    def has_levels(cls) -> bool:
        """Return whether it has numbers of every level of a hierarchy, whether group sizes are public or not."""
        return cls.over_groups or cls.averages or cls.of_levels

    def adds_over_groups(self, context: StatisticContext) -> bool:
        """Return whether its numbers of several groups determine that of their union."""
        return self.over_groups or (self.averages and context.public)

    def is_drawn_of_levels(self, context: StatisticContext) -> bool:
        """Return whether it is drawn of the groups of each level by itself; else its levels follow from the groups."""
        return self.of_levels

    @property
    def sums_to_size(self) -> bool:
        """Return whether its cells are made to sum to the group's size."""
        return False

    @property
    def rank(self) -> Fraction | None:
        """Return its rank among statistics of one column that are published in order; None without such an order."""
        return None

    @staticmethod
    def describe_handling(members: Sequence[Any], context: StatisticContext, source: Source) -> list[str]:
        """Describe how values outside bounds or labels, and missing ones, count. members: all of one column."""
        return []
