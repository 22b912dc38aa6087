"""Whole numbers of least cost in two-way tables whose cells add up to both margins.

The table is a network from rows to columns: one arc for each step of each cell, row and column, with the slope as its
cost. The matrix of a network is totally unimodular, so every vertex of the linear program is whole, and the simplex
method of HiGHS ends at a vertex. The result is checked in integers.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from inbounds.adjust.costs import NodeCost
from inbounds.errors import ConvergenceError
from inbounds.exact import Floats, Ints

ARCS = 200_000
"""Largest number of arcs of one linear program; more tables are solved one portion after another."""

WHOLE = 1e-6
"""Largest distance of a solution from whole numbers that counts as rounding."""

GRID = 1e-7
"""Slopes are rounded to multiples of this, so that equal slopes share one arc."""


@dataclass(frozen=True, eq=False)
class TableBatch:
    """Tables of `rows` × `columns` cells, one after another, with the largest value of every node.

    Each kind of node is numbered through all tables, cells row by row. known_totals: the cells of a table sum to its
    size; otherwise to at most that.
    """

    rows: int
    columns: int
    cell_sizes: Ints
    row_sizes: Ints
    column_sizes: Ints
    sizes: Ints
    known_totals: bool


@dataclass(frozen=True, eq=False)
class _FlowArcs:
    """Arcs of the network: the node of each arc, its capacity and its slope, in rising order of slopes for each
    node.
    """

    node: Ints
    capacity: Ints
    slope: Floats

    @classmethod
    def from_cost(cls, cost: NodeCost, nodes: Ints, sizes: Ints) -> "_FlowArcs":
        """Bundle the unit steps of every node by slope."""
        owner = np.repeat(nodes, sizes)
        step = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        slope = np.round(cost.slopes(owner, step) / GRID)
        new = np.ones(len(owner), bool)
        new[1:] = (owner[1:] != owner[:-1]) | (slope[1:] != slope[:-1])
        first = np.flatnonzero(new)
        return cls(owner[first], np.diff(np.append(first, len(owner))), slope[first] * GRID)


def best_table(tables: TableBatch, cells: NodeCost, rows: NodeCost, columns: NodeCost) -> tuple[Ints, Ints, Ints]:
    """Find the cells (tables × rows × columns), row sums and column sums of least total cost.

    Raises `ConvergenceError` if the solver does not end at whole numbers that add up.
    """
    R, C, table_count = tables.rows, tables.columns, len(tables.sizes)
    per_program = max(ARCS // (int(tables.cell_sizes.max()) * R * C), 1)
    portions = [range(start, min(start + per_program, table_count)) for start in range(0, table_count, per_program)]
    values = np.concatenate([_solve_portion(tables, portion, (cells, rows, columns)) for portion in portions]).reshape(
        -1, R, C
    )
    totals = values.sum(axis=(1, 2))
    if (totals > tables.sizes).any() or (tables.known_totals and (totals != tables.sizes).any()):
        raise ConvergenceError("the linear program's table does not add up")
    return values, values.sum(axis=2), values.sum(axis=1)


def _solve_portion(tables: TableBatch, portion: range, costs: tuple[NodeCost, NodeCost, NodeCost]) -> Ints:
    """Find the cells of a portion of the tables.

    Equations: the cells of a row sum to its value, the cells of a column sum to its value, and the rows sum to at most
    the total.
    """
    R, C = tables.rows, tables.columns
    cell, row, column = (np.arange(portion.start * per_table, portion.stop * per_table) for per_table in (R * C, R, C))
    x = _FlowArcs.from_cost(costs[0], cell, tables.cell_sizes[cell])
    r = _FlowArcs.from_cost(costs[1], row, tables.row_sizes[row])
    c = _FlowArcs.from_cost(costs[2], column, tables.column_sizes[column])
    at, table = x.node - cell[0], r.node // R - portion.start
    first_column, first_total = len(row), len(row) + len(column)
    ends = [
        (at // C, np.arange(len(at)), 1.0),
        (r.node - row[0], len(at) + np.arange(len(r.node)), -1.0),
        (first_column + at // (R * C) * C + at % C, np.arange(len(at)), 1.0),
        (first_column + c.node - column[0], len(at) + len(r.node) + np.arange(len(c.node)), -1.0),
        (first_total + table, len(at) + np.arange(len(r.node)), 1.0),
    ]
    most = np.zeros(first_total + len(portion))
    most[first_total:] = tables.sizes[portion]
    least = most if tables.known_totals else np.where(np.arange(len(most)) < first_total, 0.0, -np.inf)
    flow = _solve_flow(ends, (x, r, c), least, most)[: len(at)]
    return np.bincount(at, flow, minlength=len(cell)).astype(np.int64)


def _solve_flow(
    ends: list[tuple[Ints, Ints, float]], arcs: tuple[_FlowArcs, ...], least: Floats, most: Floats
) -> Floats:
    """Find whole flows of least cost, with every equation between `least` and `most`."""
    from scipy.optimize import linprog  # slow to import, and only two-way tables need it

    equation, variable = (np.concatenate([end[k] for end in ends]) for k in (0, 1))
    sign = np.concatenate([np.full(len(end[0]), end[2]) for end in ends])
    cost, capacity = (np.concatenate([getattr(kind, name) for kind in arcs]) for name in ("slope", "capacity"))
    incidence = csr_matrix((sign, (equation, variable)), shape=(len(least), len(cost)))
    equal = least == most
    solution = linprog(
        cost,
        A_eq=incidence[equal],
        b_eq=most[equal],
        A_ub=incidence[~equal],
        b_ub=most[~equal],
        bounds=np.stack([np.zeros(len(capacity)), capacity], axis=1),
        method="highs-ds",
    )
    if solution.status != 0 or np.abs(solution.x - np.rint(solution.x)).max() > WHOLE:
        raise ConvergenceError("the linear program of a two-way table did not end at a whole vertex")
    return np.asarray(np.rint(solution.x))
