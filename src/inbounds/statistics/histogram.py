"""The number of records with each label.

    cell: min(records with the label, n)       answers 0..n
    one record added or removed: one cell moves by 1; one record changed: two cells move by 1

n is the group's size, public or at most. With sum_to_size and a public size, cells sum to it and records short of n are
in the cell `other` (`adjust.histograms.fill_to_size`); with a maximum, cells sum to at most the maximum.
"""

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from inbounds.adjust.histograms import fill_to_size
from inbounds.exact import Ints
from inbounds.query import RangeQuery, count
from inbounds.schema.errors import PlanError
from inbounds.schema.types import Flag
from inbounds.sources.groups import Groups
from inbounds.sources.open import Source
from inbounds.statistics._labels import LabelStatistic
from inbounds.statistics.base import GroupAggregates, StatisticContext


class Histogram(LabelStatistic):
    """The number of records with each label of a column."""

    kind: Literal["histogram"] = "histogram"
    sum_to_size: Flag = Field(False, description="Make the cells sum to the group's size.")

    in_cells: ClassVar[bool] = True
    by_unit: ClassVar[bool] = True
    over_groups: ClassVar[bool] = True

    @property
    def default_name(self) -> str:
        return self.column

    @property
    def sums_to_size(self) -> bool:
        return self.sum_to_size

    def check(self, context: StatisticContext, groups: Groups) -> None:
        if self.sum_to_size and groups.public and not self.label_column(context).other:
            raise PlanError(
                "can be made to sum to the size only when every record is in a cell; give those without an answer a "
                f'label of their own under [columns.{self.column}]: add "no answer" to labels, and other = "no answer"'
            )
        self.label_column(context)

    def query(self, context: StatisticContext, size: int) -> RangeQuery:
        return count(size)

    def positions(self, context: StatisticContext, aggregates: GroupAggregates) -> list[Ints]:
        cells, sizes = self.counts(context, aggregates), aggregates.sizes
        if self.sum_to_size and context.public:
            return list(fill_to_size(cells, self.label_column(context).rest, sizes))
        return list(np.minimum(cells, sizes))

    def cells(self, context: StatisticContext) -> list[str]:
        return [f"{self.name}: {label}" for label in self.label_column(context).labels]

    @staticmethod
    def describe_handling(members: Sequence["Histogram"], context: StatisticContext, source: Source) -> list[str]:
        name, other = members[0].column, members[0].label_column(context).other
        full = any(one.sum_to_size for one in members)
        most = "" if context.public else " to at most the maximum"
        drawn = f"; the expected error is that of cells as drawn, before they are made to add up{most}" if full else ""
        if other is None:
            return [f"{name}: a record with any other value than a label, or none, is in no cell{drawn}"]
        short = " and where cells add up each record short of the size," if full and context.public else ""
        any_other = "a record with any other value than a label, or none,"
        return [f"{name}: {any_other}{short} counts as {other} (other){drawn}"]
