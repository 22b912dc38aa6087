"""The number of records with each pair of labels of two columns, and the sums over either column.

    cell: min(records with the pair, n)       sums: min(sum of cells, n)       answers 0..n
    one record added or removed: one cell, and one sum of each column, moves by 1; one record changed: two of each

n is the group's size, public or at most. If sizes are public and both columns have a label for any `other` value,
every record is in a cell, records short of n are in the cell of both `other` (`adjust.histograms.fill_to_size`), and
the cells sum to n. `adjust.two_way` makes cells and sums agree.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from inbounds.adjust.histograms import fill_to_size
from inbounds.exact import Ints
from inbounds.query import count
from inbounds.schema.columns import Declared, LabelColumn
from inbounds.schema.errors import PlanError
from inbounds.sources.expressions import RecordWriter
from inbounds.sources.groups import Groups
from inbounds.sources.open import Source
from inbounds.statistics.base import Domain, GroupAggregates, StatisticContext, StatisticKind, Sum
from inbounds.statistics.histogram import LABELS, counts_of_places

CROSS = " × "
"""The separator of the names of the two columns."""

ALL = "all"
"""The name of the sum over all labels."""


@dataclass(frozen=True)
class LabelPair:
    """Two columns of labels."""

    names: tuple[str, str]
    rows: LabelColumn
    columns: LabelColumn

    @property
    def full(self) -> bool:
        """Return whether every record is in a cell."""
        return bool(self.rows.other and self.columns.other)

    @property
    def shape(self) -> tuple[int, int]:
        """Return the numbers of labels of rows and columns."""
        return len(self.rows.labels), len(self.columns.labels)


def crossed_columns(of: str) -> list[str]:
    """Return the names of the two columns."""
    return of.split(CROSS)


def _label_columns(of: str, columns: Mapping[str, Declared]) -> LabelPair:
    """Return the two declared columns; raise PlanError unless both have labels."""
    names = crossed_columns(of)
    if len(names) != 2 or names[0] == names[1]:
        raise PlanError("must name two different columns of labels")
    first, second = (LABELS.declared(name, columns) for name in names)
    return LabelPair((names[0], names[1]), first, second)


def _pair_number(of: str, declared: LabelPair, writer: RecordWriter) -> str:
    """Write SQL for the position of the pair, row by row; -1 if either label has no cell."""
    row, column = (writer.layout.label(name) for name in declared.names)
    return f"CASE WHEN {row} < 0 OR {column} < 0 THEN -1 ELSE {row} * {declared.shape[1]} + {column} END"


CROSSES = Domain(declared=_label_columns, reads=crossed_columns, number=_pair_number, compares_labels=True)


def _records_by_pair(subject: StatisticContext[LabelPair], number: str, total: Sum) -> dict[str, str]:
    return counts_of_places(number, math.prod(subject.declared.shape), total)


def _positions(subject: StatisticContext[LabelPair], aggregates: GroupAggregates) -> list[Ints]:
    declared = subject.declared
    cells = np.array([aggregates.measures[f"_{i}"] for i in range(np.prod(declared.shape))])
    if subject.public and declared.full:
        return list(
            fill_to_size(cells, declared.rows.rest * declared.shape[1] + declared.columns.rest, aggregates.sizes)
        )
    return list(np.minimum(cells, aggregates.sizes))


def cell_names(subject: StatisticContext[LabelPair]) -> list[str]:
    """Return the columns of the cells, row by row."""
    pairs = product(subject.declared.rows.labels, subject.declared.columns.labels)
    return [f"{subject.name}: {row}, {column}" for row, column in pairs]


def sum_names(subject: StatisticContext[LabelPair], margin: str) -> list[str]:
    """Return the columns of the sums that belong to a margin."""
    if margin == subject.declared.names[0]:
        return [f"{subject.name}: {label}, {ALL}" for label in subject.declared.rows.labels]
    return [f"{subject.name}: {ALL}, {label}" for label in subject.declared.columns.labels]


def _check(subject: StatisticContext[LabelPair], groups: Groups) -> None:
    for name in subject.declared.names:
        if CROSS in name:
            raise PlanError(f"must name columns without {CROSS!r}, got {name!r}")


def _words(
    members: Sequence[tuple[StatisticKind[LabelPair], StatisticContext[LabelPair]]], source: Source
) -> list[str]:
    _, subject = members[0]
    if not subject.declared.full:
        return [
            f"{subject.of}: a record with any other value than the labels, or none, in either column may be in no cell"
        ]
    short = ", and each record short of the size," if subject.public else ""
    both = f"{subject.declared.rows.other}, {subject.declared.columns.other}"
    return [f"{subject.of}: any other value than a label, or none, counts as other{short}: {both}"]


CROSSTAB = StatisticKind(
    word="crosstab",
    domain=CROSSES,
    query=lambda subject, size: count(size),
    measures=_records_by_pair,
    positions=_positions,
    words=_words,
    named=lambda of: of,
    cells=cell_names,
    check=_check,
    in_cells=True,
    by_unit=True,
    over_cells=True,
    margins=crossed_columns,
    margin=sum_names,
)
