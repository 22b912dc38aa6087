"""The rows and columns of a table that adds up: every level of the hierarchy from the top down, the groups last."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inbounds.numbers import Ints
from inbounds.query import Reach
from inbounds.tables.account import AccountLine
from inbounds.tables.adding.form import KNOWN, MOST, USUAL_INTERVAL, AddingForm, LayerForm, ReportsForm, below
from inbounds.tables.layers import adding_query
from inbounds.tables.plan import LEVEL, Plan, Statistic
from inbounds.tables.statistics.crosstab import Crossed


@dataclass(frozen=True)
class Released:
    """One released column: a name and one value per row."""

    name: str
    values: NDArray[Any] = field(repr=False)


def levels_and_sizes(plan: Plan) -> list[Released]:
    """What names the rows of a hierarchy, and how large each node is; all of it public.

    Keys of lower levels are missing in rows of higher ones.
    """
    columns = [Released(name, np.array(values, dtype=object)) for name, values in _levels_and_keys(plan)]
    sizes = np.concatenate([*plan.nested.tree.sizes[:0:-1], plan.groups.sizes])
    return [*columns, Released(plan.size_column, sizes)]


def _levels_and_keys(plan: Plan) -> list[tuple[str, list[Any]]]:
    assert plan.hierarchy is not None
    levels, nest = plan.hierarchy.levels, plan.nested
    above = [key for nodes in nest.keys[:0:-1] for key in nodes]
    own = [tuple(key[plan.groups.by.index(level)] for level in levels) for key in plan.groups.keys]
    rows = [*above, *own]
    columns: list[tuple[str, list[Any]]] = [(LEVEL, [levels[len(key) - 1] for key in rows])]
    for name in plan.groups.by:
        k = levels.index(name)
        columns.append((name, [key[k] if k < len(key) else None for key in rows]))
    return columns


def rows_above(plan: Plan) -> int:
    """How many rows stand before those of the groups."""
    return 0 if plan.hierarchy is None else sum(len(sizes) for sizes in plan.nested.tree.sizes[1:])


def of_groups(plan: Plan, column: Released) -> Released:
    """A column that is known for the groups alone, in a table with rows for every level."""
    return Released(column.name, below(rows_above(plan), column.values))


def reports_form(plan: Plan, entries: Sequence[AccountLine], layered: Mapping[int, list[list[Ints]]]) -> ReportsForm:
    """What a record keeps of the statistics that add up: rows of reports for each of their layers."""
    parents: list[list[int]] = []
    if plan.hierarchy is not None:
        nest = plan.nested
        parents = [nest.tree.parents[0][np.argsort(nest.order)].tolist()]
        parents += [parent.tolist() for parent in nest.tree.parents[1:]]
    return {
        "sizes": plan.groups.sizes.tolist(),
        "parents": parents,
        "interval": str(USUAL_INTERVAL if plan.interval is None else plan.interval),
        "published": plan.interval is not None,
        "statistics": [_adding(plan, entries[k], rows) for k, rows in layered.items()],
    }


def _adding(plan: Plan, entry: AccountLine, rows: list[list[Ints]]) -> AddingForm:
    assert entry.layered is not None
    subject = plan.subject(entry.statistic)
    query = adding_query(entry.statistic, subject, 1)
    reach = query.neighbours.steps if isinstance(query.neighbours, Reach) else 1
    crossed = subject.declared if isinstance(subject.declared, Crossed) else None
    own, shares, weights = entry.layered, entry.layered.shares, entry.layered.weights
    columns = [plan.cells(entry.statistic), *(list(layer.columns) for layer in own.layers)]
    layers: list[LayerForm] = [
        {
            "name": name,
            "columns": names,
            "rate": str(entry.drawn_at * share / reach),
            "weight": str(weight),
            "reports": [row.tolist() for row in reports],
        }
        for (name, share), names, weight, reports in zip(shares, columns, weights, rows, strict=True)
    ]
    return {
        "statistic": entry.statistic.name,
        "shape": [] if crossed is None else list(crossed.shape),
        "sums": _sums(plan, entry.statistic, crossed),
        "start": str(query.answers.start),
        "step": str(query.answers.unit),
        "positions": len(query.answers) - 1,
        "layers": layers,
    }


def _sums(plan: Plan, statistic: Statistic, crossed: Crossed | None) -> str:
    """How a statistic's cells sum: to public sizes where every record is in one, to no more where that was asked."""
    if crossed is not None:
        return KNOWN if plan.groups.public and crossed.full else MOST
    return "" if not statistic.consistent else KNOWN if plan.groups.public else MOST


def layer_error(plan: Plan, entry: AccountLine, share: Fraction) -> float:
    """The mean absolute error of a sum as drawn, far from the ends, to six digits: 2α/(1 - α²) steps."""
    query = adding_query(entry.statistic, plan.subject(entry.statistic), 1)
    reach = query.neighbours.steps if isinstance(query.neighbours, Reach) else 1
    falls = float(np.exp(-float(entry.drawn_at * share / reach)))
    return float(f"{2 * falls / (1 - falls**2) * float(query.answers.unit):.6g}")
