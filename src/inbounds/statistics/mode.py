"""The most frequent label of a column; the earlier label among equally frequent ones.

One record may move it from any label to any other, so every label is a neighbour of every other:

    k labels       one answer per label      moves anywhere

Drawn at epsilon, the true label is reported with probability e^epsilon / (e^epsilon + k - 1), whether its lead is one
record or a thousand: no mechanism that sees only the label does better. A histogram of the same column sees the lead,
so with a clear lead its largest cell is right more often. A group without any label is answered with `other`, or with
the first label if there is no `other`.
"""

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np

from inbounds.exact import Ints
from inbounds.query import RangeQuery, category
from inbounds.schema.errors import PlanError
from inbounds.sources.groups import Groups
from inbounds.sources.open import Source
from inbounds.statistics._labels import LabelStatistic
from inbounds.statistics.base import GroupAggregates, StatisticContext
from inbounds.statistics.designs import DesignOptions


class Mode(LabelStatistic):
    """The most frequent label of a column."""

    kind: Literal["mode"] = "mode"

    loss: ClassVar[str] = "zero-one"
    has_order: ClassVar[bool] = False
    of_levels: ClassVar[bool] = True
    sees_size: ClassVar[bool] = False

    def check(self, context: StatisticContext, groups: Groups) -> None:
        self.label_column(context)

    def query(self, context: StatisticContext, size: int) -> RangeQuery:
        return category(self.label_column(context).labels)

    def positions(self, context: StatisticContext, aggregates: GroupAggregates) -> list[Ints]:
        """Find the first of the fullest cells."""
        cells = self.counts(context, aggregates)
        fullest = np.argmax(cells, axis=0).astype(np.int64)
        return [np.where(cells.max(axis=0) > 0, fullest, max(self.label_column(context).rest, 0))]

    def adjust_options(self, options: DesignOptions) -> DesignOptions:
        """Use the zero-one loss, because labels have no distance; raise PlanError for another loss or prior."""
        if options.loss not in ("absolute", "zero-one"):
            raise PlanError(
                'must be zero-one for a mode: labels have no distance; give it loss = "zero-one"', ("loss",)
            )
        if options.prior not in (None, ("uniform",)):
            raise PlanError('must be uniform for a mode: labels are no numbers; give it prior = "uniform"', ("prior",))
        return options.replace(loss="zero-one")

    @staticmethod
    def describe_handling(members: Sequence["Mode"], context: StatisticContext, source: Source) -> list[str]:
        column, names = members[0].label_column(context), ", ".join(one.name for one in members)
        rest = "has none" if column.other is None else f"counts as {column.other} (other)"
        return [
            f"{members[0].column}: for {names}, a record with any other value than a label, or none, {rest}, and a "
            f"group without any label is {column.labels[max(column.rest, 0)]}; the error is the probability of a wrong "
            "label, the same however clear the lead is: with a clear one, the largest cell of a histogram is right "
            "more often"
        ]
