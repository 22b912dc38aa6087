"""The rows and columns of a table that adds up: every level of the hierarchy from the top down, the groups last."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inbounds.exact import Ints
from inbounds.plan.hierarchy import level_keys
from inbounds.plan.plan import LEVEL, Plan
from inbounds.releases.budget import BudgetLine
from inbounds.releases.layers import layer_query
from inbounds.schema.report_types import (
    DEFAULT_LEVEL,
    KNOWN,
    MOST,
    AdditiveRecord,
    LayerRecord,
    ReportsRecord,
    pad_above,
)
from inbounds.statistics import Crosstab, Statistic


@dataclass(frozen=True)
class OutputColumn:
    """One released column: a name and one value per row."""

    name: str
    values: NDArray[Any] = field(repr=False)


def level_columns(plan: Plan) -> list[OutputColumn]:
    """Build the columns that name the rows of a hierarchy, and the size of each node; all of it public.

    Keys of lower levels are missing in rows of higher ones.
    """
    columns = [OutputColumn(name, np.array(values, dtype=object)) for name, values in _levels_and_keys(plan)]
    sizes = np.concatenate([*plan.group_tree.tree.sizes[:0:-1], plan.groups.sizes])
    return [*columns, OutputColumn(plan.size_column, sizes)]


def _levels_and_keys(plan: Plan) -> list[tuple[str, list[Any]]]:
    assert plan.hierarchy is not None
    levels, nest = plan.hierarchy.levels, plan.group_tree
    above = [key for nodes in nest.keys[:0:-1] for key in nodes]
    rows = [*above, *level_keys(plan.groups, levels)]
    columns: list[tuple[str, list[Any]]] = [(LEVEL, [levels[len(key) - 1] for key in rows])]
    for name in plan.groups.by:
        k = levels.index(name)
        columns.append((name, [key[k] if k < len(key) else None for key in rows]))
    return columns


def rows_above(plan: Plan) -> int:
    """Return how many rows stand before those of the groups."""
    return 0 if plan.hierarchy is None else sum(len(sizes) for sizes in plan.group_tree.tree.sizes[1:])


def extend_to_levels(plan: Plan, column: OutputColumn, above: NDArray[Any] | None = None) -> OutputColumn:
    """Extend a column of the groups to a table with rows for every level; without values for those they are missing."""
    if above is not None:
        return OutputColumn(column.name, np.concatenate([above, column.values]))
    return OutputColumn(column.name, pad_above(rows_above(plan), column.values))


def build_reports_record(
    plan: Plan, entries: Sequence[BudgetLine], layered: Mapping[int, list[list[Ints]]]
) -> ReportsRecord:
    """Build what a record keeps of the statistics that add up: rows of draws for each layer."""
    parents: list[list[int]] = []
    if plan.hierarchy is not None:
        nest = plan.group_tree
        parents = [nest.tree.parents[0][np.argsort(nest.order)].tolist()]
        parents += [parent.tolist() for parent in nest.tree.parents[1:]]
    return {
        "sizes": plan.groups.sizes.tolist(),
        "parents": parents,
        "credible_level": str(DEFAULT_LEVEL if plan.credible_level is None else plan.credible_level),
        "published": plan.credible_level is not None,
        "statistics": [_build_additive_record(plan, entries[k], rows) for k, rows in layered.items()],
    }


def _build_additive_record(plan: Plan, entry: BudgetLine, rows: list[list[Ints]]) -> AdditiveRecord:
    assert entry.layered is not None
    statistic, query = entry.statistic, layer_query(entry.statistic, plan.context, 1)
    crossed = statistic.label_pair(plan.context) if isinstance(statistic, Crosstab) else None
    layered, shares, weights = entry.layered, entry.layered.shares, entry.layered.weights
    columns = [plan.cells(entry.statistic), *(list(layer.columns) for layer in layered.sums)]
    layers: list[LayerRecord] = [
        {
            "name": name,
            "columns": names,
            "rate": str(entry.drawn_at * share / query.steps),
            "weight": str(weight),
            "reports": [row.tolist() for row in reports],
        }
        for (name, share), names, weight, reports in zip(shares, columns, weights, rows, strict=True)
    ]
    return {
        "statistic": entry.statistic.name,
        "shape": [] if crossed is None else list(crossed.shape),
        "sums": statistic_sums(plan, entry.statistic),
        "start": str(query.answers.start),
        "step": str(query.answers.unit),
        "positions": len(query.answers) - 1,
        "averages": entry.statistic.averages,
        "layers": layers,
    }


def statistic_sums(plan: Plan, statistic: Statistic) -> str:
    """Return how a statistic's cells sum: to public sizes if every record is in a cell, or to at most the sizes."""
    if isinstance(statistic, Crosstab):
        return KNOWN if plan.groups.public and statistic.label_pair(plan.context).full else MOST
    return "" if not statistic.sums_to_size else KNOWN if plan.groups.public else MOST
