"""Two-way tables whose cells add up to their margins, and to public sizes.

With both margins, the posterior of cells, rows and columns is exact for small tables (`grids`) and otherwise comes from
two trees (`crossed_posterior`). The whole numbers of least expected error come from a network (`network`). With one
margin a table is a tree (`tree_adjust`).
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from inbounds.adjust.crossed_posterior import Side, crossed_posterior
from inbounds.adjust.grids import Grids, exact_tables
from inbounds.adjust.likelihoods import GeometricReports, KnownTotals, LevelReports, NoReports
from inbounds.adjust.network import TableBatch, best_table
from inbounds.adjust.posterior import Marginals, OutOfWindow
from inbounds.adjust.prior import LabelRates
from inbounds.adjust.prior_fit import fit_label_rates
from inbounds.adjust.tree import Tree
from inbounds.adjust.tree_adjust import (
    TreeLevelResult,
    adjust_tree,
    expected_errors,
    is_feasible,
    round_least_squares,
    tree_level_results,
)
from inbounds.errors import ConvergenceError
from inbounds.exact import Floats, Ints
from inbounds.schema.report_types import POSTERIOR

MOST_POINTS = 10**8
"""Largest number of grid points for which the posterior of both margins is exact: some seconds."""


@dataclass(frozen=True, eq=False)
class TwoWay:
    """Outputs about tables of `rows` × `columns` cells, one table after another, cells row by row.

    sizes: the largest value of every node of a table. known_totals: the cells of a table sum to its size; otherwise to
    at most that. row_sums, column_sums: None for a margin that is not requested.
    """

    rows: int
    columns: int
    sizes: Ints
    known_totals: bool
    cells: GeometricReports
    row_sums: GeometricReports | None
    column_sums: GeometricReports | None

    @property
    def transposed_order(self) -> Ints:
        """The place here of each cell of the transposed tables."""
        shape = len(self.sizes), self.rows, self.columns
        return np.arange(len(self.cells.y)).reshape(shape).transpose(0, 2, 1).ravel()

    @property
    def transpose(self) -> "TwoWay":
        """The same tables with rows and columns exchanged."""
        cells = replace(self.cells, y=self.cells.y[self.transposed_order])
        return TwoWay(self.columns, self.rows, self.sizes, self.known_totals, cells, self.column_sums, self.row_sums)

    @property
    def side(self) -> Side:
        """The tree of cells under their rows (if requested) and the total, which is public or at most the size."""
        margin = [] if self.row_sums is None else [self.row_sums]
        counts = [self.rows * self.columns, *([] if self.row_sums is None else [self.rows]), 1]
        sizes = [np.repeat(self.sizes, count) for count in counts]
        parents = [np.repeat(np.arange(len(self.sizes) * b), a // b) for a, b in pairwise(counts)]
        total = KnownTotals(self.sizes) if self.known_totals else NoReports(self.sizes)
        return Side(Tree(tuple(sizes), tuple(parents)), [self.cells, *margin, total])

    def prior(self, tree: Tree) -> LabelRates:
        """Fit the prior: each cell position has a rate, the same in all tables."""
        label = np.tile(np.arange(self.rows * self.columns), len(self.sizes))
        return fit_label_rates(tree.sizes[0], label, len(tree.sizes[1]), self.cells)


@dataclass(frozen=True, eq=False)
class AdjustedTables:
    """Results for cells, row sums and column sums, all tables one after another, and the method."""

    cells: TreeLevelResult
    row_sums: TreeLevelResult | None
    column_sums: TreeLevelResult | None
    method: str

    def transpose(self, order: Ints) -> "AdjustedTables":
        """Exchange rows and columns; `order` is `transposed_order` of the target tables."""
        inverse_order = np.argsort(order)
        result = self.cells
        cells = TreeLevelResult(
            result.values[inverse_order],
            result.low[inverse_order],
            result.high[inverse_order],
            result.errors[inverse_order],
        )
        return AdjustedTables(cells, self.column_sums, self.row_sums, self.method)


def adjust_two_way(tables: TwoWay, weights: Sequence[float], interval: float) -> AdjustedTables:
    """Adjust cells so that they add up to the requested margins and to public sizes.

    weights: of the mean errors of cells, rows and columns. If the posterior of both margins would be too large, cells
    are adjusted to the rows alone by least squares, the columns are their sums, and `method` says so.
    """
    if (tables.row_sums is None and tables.column_sums is not None) or _is_cheaper_transposed(tables):
        transposed = adjust_two_way(tables.transpose, [weights[k] for k in (0, 2, 1)], interval)
        return transposed.transpose(tables.transposed_order)
    side = tables.side
    if tables.column_sums is None:
        level_weights = [*weights[: side.tree.depth - 1], 0.0]
        tree = adjust_tree(side.tree, side.reports, level_weights, interval, lambda: tables.prior(side.tree))
        return AdjustedTables(tree.levels[0], tree.levels[1] if tables.row_sums else None, None, tree.method)
    if is_feasible(side.tree, side.reports):
        try:
            return _adjust_crossed(tables, weights, interval)
        except (OutOfWindow, ConvergenceError):
            pass
    return _adjust_sums(tables, side, interval)


def _is_cheaper_transposed(tables: TwoWay) -> bool:
    """Return whether both margins are requested and there are more rows than columns: few rows are cheapest."""
    return tables.row_sums is not None and tables.column_sums is not None and tables.rows > tables.columns


def both_margins_posterior(tables: TwoWay) -> list[Marginals]:
    """Compute the posterior of cells, rows and columns; exact if that needs at most MOST_POINTS grid points."""
    side, values = tables.side, int(tables.sizes.max()) + 1
    if len(tables.sizes) * tables.columns * (2 * values) ** tables.rows <= MOST_POINTS:
        with suppress(OutOfWindow):
            return exact_tables(_grids(tables, side, values))
    transposed = tables.transpose.side
    columns_alone = Side(Tree(transposed.tree.sizes[:2], transposed.tree.parents[:1]), transposed.reports[:2])
    rows, columns = crossed_posterior(side, columns_alone, tables.transposed_order, tables.prior(side.tree))
    return [rows[0], rows[1], columns[1]]


def _grids(batch: TwoWay, side: Side, values: int) -> Grids:
    """Compute likelihood (times prior for cells) of every node on 0..values - 1; zero beyond its table's size."""

    def likelihood(reports: LevelReports, shape: tuple[int, ...]) -> Floats:
        count = int(np.prod(shape))
        log = reports.log_likelihood(slice(None), np.zeros(count, np.int64), values)
        inside = np.arange(values) <= np.repeat(batch.sizes, count // len(batch.sizes))[:, None]
        return np.where(inside, np.exp(log - log.max(axis=1, keepdims=True)), 0.0).reshape(*shape, values)

    tables, R, C = len(batch.sizes), batch.rows, batch.columns
    assert batch.row_sums is not None
    assert batch.column_sums is not None
    prior = np.exp(batch.prior(side.tree).log_mass(slice(None), np.zeros(tables * R * C, np.int64), values)[:, 0])
    return Grids(
        likelihood(batch.cells, (tables, R, C)) * prior.reshape(tables, R, C, values),
        likelihood(batch.row_sums, (tables, R)),
        likelihood(batch.column_sums, (tables, C)),
        likelihood(side.reports[-1], (tables,)),
    )


def _adjust_crossed(batch: TwoWay, weights: Sequence[float], interval: float) -> AdjustedTables:
    """Adjust to both margins by the posterior."""
    marginals = both_margins_posterior(batch)
    cell, row, column = (np.repeat(batch.sizes, len(level.low) // len(batch.sizes)) for level in marginals)
    costs = expected_errors(marginals, weights)
    tables = TableBatch(batch.rows, batch.columns, cell, row, column, batch.sizes, batch.known_totals)
    values = best_table(tables, costs[0], costs[1], costs[2])
    cells, row_sums, column_sums = tree_level_results(marginals, [value.ravel() for value in values], interval)
    return AdjustedTables(cells, row_sums, column_sums, POSTERIOR)


def _adjust_sums(batch: TwoWay, side: Side, interval: float) -> AdjustedTables:
    """Adjust to the rows by least squares; the columns are sums of cells."""
    tree = round_least_squares(side.tree, side.reports, interval)
    cells, shape = tree.levels[0], (len(batch.sizes), batch.rows, batch.columns)
    values, low, high, errors = (
        column.reshape(shape).sum(axis=1).ravel() for column in (cells.values, cells.low, cells.high, cells.errors)
    )
    most = np.repeat(batch.sizes, batch.columns)
    return AdjustedTables(
        cells, tree.levels[1], TreeLevelResult(values, low, np.minimum(high, most), errors), tree.method
    )
