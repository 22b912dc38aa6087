"""Quantiles of a column of numbers: minimum, median, maximum, and any other.

    the least step that a share `at` of the group's records do not exceed       0 the minimum, 1/2 the lower median

Drawn from the records themselves (`QuantileQuery`), by how many of them must change, or be added or removed, until the
quantile is another. With public sizes a record short of the size counts as `missing`; with a maximum, a group without
records does.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from inbounds.exact import format_decimal
from inbounds.query import QuantileQuery, Scale
from inbounds.schema.errors import PlanError, error_path
from inbounds.schema.text import to_list
from inbounds.schema.types import Exact
from inbounds.sources.groups import Groups
from inbounds.statistics._numbers import NumberStatistic
from inbounds.statistics.base import GroupAggregates, StatisticContext, ValueCounts
from inbounds.trusted.path_lengths import MOST_PARTS

MOST_VALUES = 1 << 11
"""Most values of a column with quantiles: expected errors are computed for each value beforehand."""


class OrderStatistic(NumberStatistic):
    """A statistic that is one of the group's values: the quantile `share`."""

    counts_values: ClassVar[bool] = True
    pads: ClassVar[bool] = True
    fills_empty: ClassVar[bool] = True

    @property
    def share(self) -> Fraction:
        """Return the share of the records that do not exceed it."""
        raise NotImplementedError

    def check(self, context: StatisticContext, groups: Groups) -> None:
        if self.number_column(context).width >= MOST_VALUES:
            raise PlanError(f"has more than {MOST_VALUES} possible values; give the column a larger step")

    def query(self, context: StatisticContext, size: int) -> QuantileQuery:
        column = self.number_column(context)
        scale = Scale(column.low, column.step, range(column.width + 1))
        return QuantileQuery(scale, self.share, size, context.public, column.default)

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


class Quantile(OrderStatistic):
    """Any quantile of a column of numbers."""

    kind: Literal["quantile"] = "quantile"
    at: Exact = Field(
        description="The share of records at or below it, from 0 to 1; a list declares several.", examples=["0.9"]
    )

    metavar: ClassVar[str] = "COLUMN@SHARE"

    @field_validator("at")
    @classmethod
    def _check_at(cls, at: Fraction) -> Fraction:
        if not (0 <= at <= 1 and at.denominator <= MOST_PARTS):
            raise PlanError("must be between 0 and 1, with at most six digits after the point")
        return at

    @property
    def share(self) -> Fraction:
        return self.at

    @property
    def rank(self) -> Fraction:
        return self.at

    @property
    def default_name(self) -> str:
        """Return the column and the percentage.

        >>> [Quantile(column="score", at=at).name for at in ("0.9", "1/3")]
        ['score_q90', 'score_q1/3']
        """
        percent = 100 * self.at
        return f"{self.column}_q{percent if percent.denominator == 1 else self.at}"

    def to_entry(self) -> dict[str, Any]:
        return {**super().to_entry(), "at": format_decimal(self.at)}

    @classmethod
    def expand(cls, fields: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return one statistic for each share in a list; they share its epsilon equally."""
        shares = to_list(fields.get("at"))
        if not isinstance(shares, list | tuple):
            return [dict(fields)]
        if not shares or (len(shares) > 1 and fields.get("name")):
            raise PlanError("must have at least one share, and no name where it has several", ("at",))
        with error_path("at"):
            exact = sorted(cls(column="x", at=share).at for share in shares)
        if len(set(exact)) < len(exact):
            raise PlanError("must have every share once", ("at",))
        parts = {
            name: cls(column="x", at=0, **{name: fields[name]}).part / len(exact)
            for name in ("epsilon", "budget_share")
            if fields.get(name) is not None
        }
        return [{**fields, **parts, "at": share} for share in exact]

    @property
    def part(self) -> Fraction:
        """Return its part of epsilon, absolute or as a share."""
        return self.epsilon or self.budget_share or Fraction(0)

    @classmethod
    def from_option(cls, text: str) -> dict[str, Any]:
        column, _, shares = text.rpartition("@")
        if not column:
            raise ValueError(
                f"--quantile must be a column and the shares to report, such as score@0.5,0.9, got {text!r}"
            )
        first, *more = (share.strip() for share in shares.split(","))
        return {"quantile": column, "at": [first, *more] if more else first}
