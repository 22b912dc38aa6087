"""The most frequent label of a column; the earlier label among equally frequent ones.

One record may move it from any label to any other, so every label is a neighbour of every other:

    k labels       one answer per label      moves anywhere

Drawn at epsilon, the true label is reported with probability e^epsilon / (e^epsilon + k - 1), whether its lead is one
record or a thousand: no mechanism that sees only the label does better. A histogram of the same column sees the lead,
so with a clear lead its largest cell is right more often. A group without any label is answered with `other`, or with
the first label if there is no `other`.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from inbounds.exact import Ints
from inbounds.query import category
from inbounds.schema.columns import LabelColumn
from inbounds.schema.errors import PlanError
from inbounds.sources.open import Source
from inbounds.statistics.base import GroupAggregates, StatisticContext, StatisticKind
from inbounds.statistics.designs import DesignOptions
from inbounds.statistics.histogram import LABELS, label_cells, records_by_label


def _positions(subject: StatisticContext[LabelColumn], aggregates: GroupAggregates) -> list[Ints]:
    """Find the first of the fullest cells."""
    cells = label_cells(subject, aggregates)
    fullest = np.argmax(cells, axis=0).astype(np.int64)
    return [np.where(cells.max(axis=0) > 0, fullest, max(subject.declared.rest, 0))]


def _use_zero_one_loss(options: DesignOptions) -> DesignOptions:
    """Use the zero-one loss, because labels have no distance; raise PlanError for another loss or prior."""
    if options.loss not in ("absolute", "zero-one"):
        raise PlanError('must be zero-one for a mode: labels have no distance; give it loss = "zero-one"', ("loss",))
    if options.prior not in (None, ("uniform",)):
        raise PlanError('must be uniform for a mode: labels are no numbers; give it prior = "uniform"', ("prior",))
    return replace(options, loss="zero-one")


def _words(
    members: Sequence[tuple[StatisticKind[LabelColumn], StatisticContext[LabelColumn]]], source: Source
) -> list[str]:
    _, subject = members[0]
    column, names = subject.declared, ", ".join(context.name for _, context in members)
    rest = "has none" if column.other is None else f"counts as {column.other} (other)"
    return [
        f"{subject.of}: for {names}, a record with any other value than a label, or none, {rest}, and a group without "
        f"any label is {column.labels[max(column.rest, 0)]}; the error is the probability of a wrong label, the same "
        "however clear the lead is: with a clear one, the largest cell of a histogram is right more often"
    ]


MODE = StatisticKind(
    word="mode",
    domain=LABELS,
    query=lambda subject, size: category(subject.declared.labels),
    measures=records_by_label,
    positions=_positions,
    words=_words,
    adjust_options=_use_zero_one_loss,
    error="zero-one",
    has_order=False,
)
