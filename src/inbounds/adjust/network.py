"""The whole numbers of least cost in two-way tables whose cells add up to both margins.

Rows to columns is a network: one arc for each step of each cell, row and column, at the slope of its cost. The matrix
of a network is totally unimodular, so a vertex of the linear program is whole, and HiGHS's simplex ends at a vertex.
What comes back is checked in integers.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_matrix

from inbounds.adjust.costs import NodeCost
from inbounds.errors import ConvergenceError
from inbounds.exact import Floats, Ints

ARCS = 200_000
"""Arcs of one linear program; more tables are solved one portion after another."""

WHOLE = 1e-6
"""What floats may leave of a whole number."""

GRID = 1e-7
"""Slopes are multiples of it, so that equal ones are one arc."""


@dataclass(frozen=True, eq=False)
class TableBatch:
    """Tables of `rows` × `columns` cells, one after another; the largest values of cells, rows, columns and tables.

    Each kind of node is numbered through all tables, cells row by row. known: a table's cells sum to its size.
    """

    rows: int
    columns: int
    cell_sizes: Ints
    row_sizes: Ints
    column_sizes: Ints
    sizes: Ints
    known: bool


@dataclass(frozen=True, eq=False)
class _FlowArcs:
    """Bundles of steps: whose, how many, at which slope. A node's bundles stand in rising order of slopes."""

    node: Ints
    many: Ints
    slope: Floats

    @classmethod
    def from_cost(cls, cost: NodeCost, nodes: Ints, sizes: Ints) -> "_FlowArcs":
        owner = np.repeat(nodes, sizes)
        step = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        slope = np.round(cost.slopes(owner, step) / GRID)
        new = np.ones(len(owner), bool)
        new[1:] = (owner[1:] != owner[:-1]) | (slope[1:] != slope[:-1])
        first = np.flatnonzero(new)
        return cls(owner[first], np.diff(np.append(first, len(owner))), slope[first] * GRID)


def best_table(tables: TableBatch, cells: NodeCost, rows: NodeCost, columns: NodeCost) -> tuple[Ints, Ints, Ints]:
    """Cells (tables × rows × columns), row sums and column sums of least total cost."""
    R, C, many = tables.rows, tables.columns, len(tables.sizes)
    most = max(ARCS // (int(tables.cell_sizes.max()) * R * C), 1)
    parts = [range(start, min(start + most, many)) for start in range(0, many, most)]
    found = np.concatenate([_solve_portion(tables, part, (cells, rows, columns)) for part in parts]).reshape(-1, R, C)
    totals = found.sum(axis=(1, 2))
    if (totals > tables.sizes).any() or (tables.known and (totals != tables.sizes).any()):
        raise ConvergenceError("the linear program's table does not add up")
    return found, found.sum(axis=2), found.sum(axis=1)


def _solve_portion(tables: TableBatch, part: range, costs: tuple[NodeCost, NodeCost, NodeCost]) -> Ints:
    """The cells of a portion of the tables.

    Equations: a row's cells are its value, a column's cells are its value, and the rows are at most the total.
    """
    R, C = tables.rows, tables.columns
    cell, row, column = (np.arange(part.start * many, part.stop * many) for many in (R * C, R, C))
    x = _FlowArcs.from_cost(costs[0], cell, tables.cell_sizes[cell])
    r = _FlowArcs.from_cost(costs[1], row, tables.row_sizes[row])
    c = _FlowArcs.from_cost(costs[2], column, tables.column_sizes[column])
    at, table = x.node - cell[0], r.node // R - part.start
    first_column, first_total = len(row), len(row) + len(column)
    ends = [
        (at // C, np.arange(len(at)), 1.0),
        (r.node - row[0], len(at) + np.arange(len(r.node)), -1.0),
        (first_column + at // (R * C) * C + at % C, np.arange(len(at)), 1.0),
        (first_column + c.node - column[0], len(at) + len(r.node) + np.arange(len(c.node)), -1.0),
        (first_total + table, len(at) + np.arange(len(r.node)), 1.0),
    ]
    most = np.zeros(first_total + len(part))
    most[first_total:] = tables.sizes[part]
    least = most if tables.known else np.where(np.arange(len(most)) < first_total, 0.0, -np.inf)
    flow = _vertex(ends, (x, r, c), least, most)[: len(at)]
    return np.bincount(at, flow, minlength=len(cell)).astype(np.int64)


def _vertex(ends: list[tuple[Ints, Ints, float]], arcs: tuple[_FlowArcs, ...], least: Floats, most: Floats) -> Floats:
    """Whole flows of least cost; least, most: of each equation."""
    equation, variable = (np.concatenate([end[k] for end in ends]) for k in (0, 1))
    sign = np.concatenate([np.full(len(end[0]), end[2]) for end in ends])
    cost, many = (np.concatenate([getattr(own, name) for own in arcs]) for name in ("slope", "many"))
    incidence = csr_matrix((sign, (equation, variable)), shape=(len(least), len(cost)))
    equal = least == most
    found = linprog(
        cost,
        A_eq=incidence[equal],
        b_eq=most[equal],
        A_ub=incidence[~equal],
        b_ub=most[~equal],
        bounds=np.stack([np.zeros(len(many)), many], axis=1),
        method="highs-ds",
    )
    if found.status != 0 or np.abs(found.x - np.rint(found.x)).max() > WHOLE:
        raise ConvergenceError("the linear program of a two-way table did not end at a whole vertex")
    return np.asarray(np.rint(found.x))
