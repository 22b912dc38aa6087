"""Quantiles of a column of numbers: minimum, median, maximum, and any other.

    the least step that a share `at` of the group's records do not exceed       0 the minimum, 1/2 the lower median

Drawn from the records themselves (`QuantileQuery`), by how many of them must change, or be added or removed, until the
quantile is another. With public sizes a record short of the size counts as `missing`; with a maximum, a group without
records does.
"""

from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema, field_validator

from inbounds.exact import format_decimal
from inbounds.query import JointQuantileQuery, QuantileQuery, Scale
from inbounds.query.joint_quantile import MOST_QUANTILES
from inbounds.schema.errors import PlanError
from inbounds.schema.text import to_list
from inbounds.schema.types import Exact, to_exact
from inbounds.sources.groups import Groups
from inbounds.statistics._numbers import NumberStatistic
from inbounds.statistics.base import GroupAggregates, Statistic, StatisticContext, ValueCounts
from inbounds.statistics.designs import DEFAULT_OPTIONS, DesignOptions
from inbounds.trusted.joint_quantiles import fits_joint
from inbounds.trusted.path_lengths import MOST_PARTS

MOST_VALUES = 1 << 11
"""Most values of a column with quantiles: expected errors are computed for each value beforehand."""


MOST_STEPS = 1 << 20
"""Most steps of one draw of several quantiles where the size is secret: about eight milliseconds."""


class OrderStatistic(NumberStatistic):
    """A statistic that is one of the group's values: the quantile `share`."""

    counts_values: ClassVar[bool] = True
    of_levels: ClassVar[bool] = True
    pads: ClassVar[bool] = True
    fills_empty: ClassVar[bool] = True

    @property
    def share(self) -> Fraction:
        """Return the share of the records that do not exceed it."""
        raise NotImplementedError

    def check(self, context: StatisticContext, groups: Groups) -> None:
        if self.number_column(context).width >= MOST_VALUES:
            raise PlanError(f"has more than {MOST_VALUES} possible values; give the column a larger step")

    def query(self, context: StatisticContext, size: int) -> QuantileQuery | JointQuantileQuery:
        column = self.number_column(context)
        scale = Scale(column.low, column.step, range(column.width + 1))
        return QuantileQuery(scale, self.share, size, context.public, column.default)

    def moves_twice(self, context: StatisticContext) -> bool:
        return True

    def positions(self, context: StatisticContext, aggregates: GroupAggregates) -> list[ValueCounts]:
        return [aggregates.by_value]


class Min(OrderStatistic):
    """The least value of a column of numbers."""

    kind: Literal["min"] = "min"

    @property
    def share(self) -> Fraction:
        return Fraction(0)


class Max(OrderStatistic):
    """The largest value of a column of numbers."""

    kind: Literal["max"] = "max"

    @property
    def share(self) -> Fraction:
        return Fraction(1)


class Median(OrderStatistic):
    """The lower median of a column of numbers."""

    kind: Literal["median"] = "median"

    @property
    def share(self) -> Fraction:
        return Fraction(1, 2)


NAMED_SHARES = {"min": Fraction(0), "median": Fraction(1, 2), "max": Fraction(1)}
"""Shares that have a name."""


def _parse_shares(value: Any) -> tuple[Fraction, ...]:
    """Parse one share, or a list of several in any order."""
    listed = to_list(value)
    parts = listed if isinstance(listed, list | tuple) else [listed]
    return tuple(sorted(map(_parse_share, parts)))


def _parse_share(value: Any) -> Fraction:
    return NAMED_SHARES[value] if isinstance(value, str) and value in NAMED_SHARES else to_exact(value)


def _write_shares(shares: tuple[Fraction, ...]) -> str | list[str]:
    return str(shares[0]) if len(shares) == 1 else [str(share) for share in shares]


SHARE_SCHEMA = {"type": ["string", "number"], "description": "A decimal, a fraction, or min, median, max."}

Shares = Annotated[
    tuple[Exact, ...],
    BeforeValidator(_parse_shares),
    PlainSerializer(_write_shares),
    WithJsonSchema({"anyOf": [SHARE_SCHEMA, {"type": "array", "items": SHARE_SCHEMA}]}),
]
"""One share or several, rising. The JSON form of one is a text."""


class Quantile(OrderStatistic):
    """One quantile of a column of numbers, or several that are drawn together.

    Several quantiles are one draw, whose numbers rise. Where that cannot be, or takes too long, they are divided into
    statistics of one quantile each.
    """

    kind: Literal["quantile"] = "quantile"
    at: Shares = Field(
        description="The share of records at or below it, from 0 to 1; or a list: min, median, max are shares too.",
        examples=["0.9"],
    )

    metavar: ClassVar[str] = "COLUMN@SHARE"

    @field_validator("at")
    @classmethod
    def _check_at(cls, at: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
        if not at:
            raise PlanError("must have at least one share")
        if len(set(at)) < len(at):
            raise PlanError("must have every share once")
        for share in at:
            if not (0 <= share <= 1 and share.denominator <= MOST_PARTS):
                raise PlanError("must be between 0 and 1, with at most six digits after the point")
        return at

    @property
    def share(self) -> Fraction:
        (share,) = self.at
        return share

    @property
    def rank(self) -> Fraction | None:
        return self.share if len(self.at) == 1 else None

    @property
    def default_name(self) -> str:
        """Return the column, and for one quantile its name.

        >>> [Quantile(column="score", at=at).name for at in ("0.9", "1/3", 1, [0, 1])]
        ['score_q90', 'score_q1/3', 'score_max', 'score']
        """
        return f"{self.column}_{name_share(self.share)}" if len(self.at) == 1 else self.column

    def to_entry(self) -> dict[str, Any]:
        shares = [format_decimal(share) for share in self.at]
        return {**super().to_entry(), "at": shares[0] if len(shares) == 1 else shares}

    def query(self, context: StatisticContext, size: int) -> QuantileQuery | JointQuantileQuery:
        if len(self.at) == 1:
            return super().query(context, size)
        column = self.number_column(context)
        scale = Scale(column.low, column.step, range(column.width + 1))
        return JointQuantileQuery(scale, self.at, size, context.public, column.default)

    def positions(self, context: StatisticContext, aggregates: GroupAggregates) -> list[ValueCounts]:
        return [aggregates.by_value] * len(self.at)

    def cells(self, context: StatisticContext) -> list[str]:
        return [self.name] if len(self.at) == 1 else [f"{self.name}_{name_share(share)}" for share in self.at]

    def error_cells(self, context: StatisticContext) -> list[str]:
        return self.cells(context)

    def divide(
        self, context: StatisticContext, groups: Groups, options: DesignOptions, epsilon: Fraction
    ) -> tuple[Statistic, ...]:
        if len(self.at) == 1 or self._can_be_one_draw(context, groups, options, epsilon):
            return (self,)
        own = {name: part for name in ("epsilon", "budget_share") if (part := getattr(self, name)) is not None}
        parts = {name: part / len(self.at) for name, part in own.items()}
        named = zip(self.at, self.cells(context), strict=True)
        return tuple(self.replace(at=share, name=name, **parts) for share, name in named)

    def _can_be_one_draw(
        self, context: StatisticContext, groups: Groups, options: DesignOptions, epsilon: Fraction
    ) -> bool:
        values, largest = self.number_column(context).width + 1, groups.distinct_sizes[-1]
        if options.replace(prior=None) != DEFAULT_OPTIONS or len(self.at) > MOST_QUANTILES:
            return False
        if context.public:
            return fits_joint(values, len(self.at), largest)
        from inbounds.design.quantiles.joint import count_steps_over_sizes

        steps = count_steps_over_sizes(values, len(self.at), largest, epsilon) if epsilon else None
        return steps is not None and steps <= MOST_STEPS

    @classmethod
    def from_option(cls, text: str) -> dict[str, Any]:
        column, _, shares = text.rpartition("@")
        if not column:
            raise ValueError(
                f"--quantile must be a column and the shares to report, such as score@0.5,0.9, got {text!r}"
            )
        first, *more = (share.strip() for share in shares.split(","))
        return {"quantile": column, "at": [first, *more] if more else first}


def name_share(share: Fraction) -> str:
    """Return the name of a quantile: min, median, max, or its percentage."""
    named = next((name for name, named_share in NAMED_SHARES.items() if named_share == share), "")
    return named or f"q{100 * share if (100 * share).denominator == 1 else share}"
