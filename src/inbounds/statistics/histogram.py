"""The number of records with each label.

    cell: min(records with the label, n)       answers 0..n
    one record added or removed: one cell moves by 1; one record changed: two cells move by 1

n is the group's size, public or at most. With sum_to_size and a public size, cells sum to it and records short of n are
in the cell `other` (`adjust.histograms.fill_to_size`); with a maximum, cells sum to at most the maximum.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from inbounds.adjust.histograms import fill_to_size
from inbounds.exact import Ints
from inbounds.query import count
from inbounds.schema.columns import Declared, LabelColumn
from inbounds.schema.errors import PlanError
from inbounds.sources.groups import Groups
from inbounds.sources.open import Source
from inbounds.statistics.base import Domain, GroupAggregates, StatisticContext, StatisticKind, Sum, find_column


def _label_column(of: str, columns: Mapping[str, Declared]) -> LabelColumn:
    """Return the declared column; raise PlanError if it has no labels."""
    column = find_column(of, columns)
    if not isinstance(column, LabelColumn):
        raise PlanError(f"needs the labels of the column {of!r}")
    return column


def _labels_given(word: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the column that the options of the command line declare; raise ValueError without labels."""
    if "labels" not in options:
        raise ValueError(f"--{word} needs --labels, separated by commas")
    return {"labels": [label.strip() for label in options["labels"].split(",")]}


LABELS = Domain(
    declared=_label_column,
    reads=lambda of: [of],
    number=lambda of, column, writer: writer.layout.label(of),
    options=("labels",),
    column_from=_labels_given,
    compares_labels=True,
)


def records_by_label(subject: StatisticContext[LabelColumn], number: str, total: Sum) -> dict[str, str]:
    """Write SQL for the number of records with each label."""
    return counts_of_places(number, len(subject.declared.labels), total)


def counts_of_places(number: str, places: int, total: Sum) -> dict[str, str]:
    """Write SQL for the number of records with each of the whole numbers 0, 1, … places - 1."""
    return {f"_{i}": total(f"CASE WHEN {number} = {i} THEN 1 ELSE 0 END") for i in range(places)}


def label_cells(subject: StatisticContext[LabelColumn], aggregates: GroupAggregates) -> Ints:
    """Return the counts, labels × groups."""
    return np.array([aggregates.measures[f"_{i}"] for i in range(len(subject.declared.labels))])


def _positions(subject: StatisticContext[LabelColumn], aggregates: GroupAggregates) -> list[Ints]:
    cells, sizes = label_cells(subject, aggregates), aggregates.sizes
    if subject.sum_to_size and subject.public:
        return list(fill_to_size(cells, subject.declared.rest, sizes))
    return list(np.minimum(cells, sizes))


def _check(subject: StatisticContext[LabelColumn], groups: Groups) -> None:
    if subject.sum_to_size and groups.public and not subject.declared.other:
        raise PlanError(
            "can be made to sum to the size only when every record is in a cell; give those without an answer a label "
            f'of their own under [columns.{subject.of}]: add "no answer" to labels, and other = "no answer"'
        )


def _words(
    members: Sequence[tuple[StatisticKind[LabelColumn], StatisticContext[LabelColumn]]], source: Source
) -> list[str]:
    _, subject = members[0]
    other, full = subject.declared.other, any(context.sum_to_size for _, context in members)
    most = "" if subject.public else " to at most the maximum"
    drawn = f"; the expected error is that of cells as drawn, before they are made to add up{most}" if full else ""
    if other is None:
        return [f"{subject.of}: a record with any other value than a label, or none, is in no cell{drawn}"]
    short = " and where cells add up each record short of the size," if full and subject.public else ""
    any_other = "a record with any other value than a label, or none,"
    return [f"{subject.of}: {any_other}{short} counts as {other} (other){drawn}"]


HISTOGRAM = StatisticKind(
    word="histogram",
    domain=LABELS,
    query=lambda subject, size: count(size),
    measures=records_by_label,
    positions=_positions,
    words=_words,
    named=lambda of: of,
    cells=lambda subject: [f"{subject.name}: {label}" for label in subject.declared.labels],
    check=_check,
    in_cells=True,
    by_unit=True,
    adds_up=True,
    over_groups=True,
)
