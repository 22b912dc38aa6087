"""Two-way tables whose cells add up to their margins, and to public sizes.

With both margins the posterior of cells, rows and columns is computed exactly where tables are small (`grids`), else
from two trees that agree (`crossed_posterior`); the whole numbers of least expected error come from a network
(`network`). With one margin a table is a tree.
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
"""Points of grids up to which the posterior of both margins is exact: some seconds."""


@dataclass(frozen=True, eq=False)
class TwoWay:
    """Reports about tables of `rows` × `columns` cells, one table after another, cells row by row.

    sizes: the largest value of every node of a table; where `known`, its cells sum to it. row_sums, column_sums: None
    for a margin that was not asked for.
    """

    rows: int
    columns: int
    sizes: Ints
    known: bool
    cells: GeometricReports
    row_sums: GeometricReports | None
    column_sums: GeometricReports | None

    @property
    def rotate(self) -> Ints:
        """Where each cell of the transposed tables stands here."""
        shape = len(self.sizes), self.rows, self.columns
        return np.arange(len(self.cells.y)).reshape(shape).transpose(0, 2, 1).ravel()

    @property
    def transpose(self) -> "TwoWay":
        cells = replace(self.cells, y=self.cells.y[self.rotate])
        return TwoWay(self.columns, self.rows, self.sizes, self.known, cells, self.column_sums, self.row_sums)

    @property
    def side(self) -> Side:
        """Cells under their rows, and under the total, which is public or at most the size."""
        margin = [] if self.row_sums is None else [self.row_sums]
        counts = [self.rows * self.columns, *([] if self.row_sums is None else [self.rows]), 1]
        sizes = [np.repeat(self.sizes, many) for many in counts]
        parents = [np.repeat(np.arange(len(self.sizes) * b), a // b) for a, b in pairwise(counts)]
        total = KnownTotals(self.sizes) if self.known else NoReports(self.sizes)
        return Side(Tree(tuple(sizes), tuple(parents)), [self.cells, *margin, total])

    def prior(self, tree: Tree) -> LabelRates:
        """Each of a table's cells has a rate, the same in all tables."""
        label = np.tile(np.arange(self.rows * self.columns), len(self.sizes))
        return fit_label_rates(tree.sizes[0], label, len(tree.sizes[1]), self.cells)


@dataclass(frozen=True, eq=False)
class AdjustedTables:
    """Cells, row sums and column sums, all tables one after another, and how they were found."""

    cells: TreeLevelResult
    row_sums: TreeLevelResult | None
    column_sums: TreeLevelResult | None
    by: str

    def transpose(self, turned: Ints) -> "AdjustedTables":
        back = np.argsort(turned)
        own = self.cells
        cells = TreeLevelResult(own.values[back], own.low[back], own.high[back], own.errors[back])
        return AdjustedTables(cells, self.column_sums, self.row_sums, self.by)


def adjust_two_way(asked: TwoWay, weights: Sequence[float], interval: float) -> AdjustedTables:
    """Cells that add up to the margins asked for, and to public sizes. weights: of cells, rows and columns.

    Where the posterior of both margins would be too large, cells are adjusted to the rows alone by least squares, the
    columns are their sums, and `by` says so.
    """
    if (asked.row_sums is None and asked.column_sums is not None) or _better_turned(asked):
        turned = adjust_two_way(asked.transpose, [weights[k] for k in (0, 2, 1)], interval)
        return turned.transpose(asked.rotate)
    side = asked.side
    if asked.column_sums is None:
        own = [*weights[: side.tree.depth - 1], 0.0]
        found = adjust_tree(side.tree, side.reports, own, interval, lambda: asked.prior(side.tree))
        return AdjustedTables(found.levels[0], found.levels[1] if asked.row_sums else None, None, found.by)
    if is_feasible(side.tree, side.reports):
        try:
            return _adjust_crossed(asked, weights, interval)
        except (OutOfWindow, ConvergenceError):
            pass
    return _adjust_sums(asked, side, interval)


def _better_turned(asked: TwoWay) -> bool:
    """Two-way tables are cheapest with few rows."""
    return asked.row_sums is not None and asked.column_sums is not None and asked.rows > asked.columns


def has_both_margins(asked: TwoWay) -> list[Marginals]:
    """The posterior of cells, rows and columns: exact where that is not too much work."""
    side, values = asked.side, int(asked.sizes.max()) + 1
    if len(asked.sizes) * asked.columns * (2 * values) ** asked.rows <= MOST_POINTS:
        with suppress(OutOfWindow):
            return exact_tables(_grids(asked, side, values))
    turned = asked.transpose.side
    columns_alone = Side(Tree(turned.tree.sizes[:2], turned.tree.parents[:1]), turned.reports[:2])
    rows, columns = crossed_posterior(side, columns_alone, asked.rotate, asked.prior(side.tree))
    return [rows[0], rows[1], columns[1]]


def _grids(asked: TwoWay, side: Side, values: int) -> Grids:
    """Likelihood times prior of every node on 0..values - 1, nothing beyond its table's size."""

    def likelihood(reports: LevelReports, shape: tuple[int, ...]) -> Floats:
        many = int(np.prod(shape))
        log = reports.log_likelihood(slice(None), np.zeros(many, np.int64), values)
        inside = np.arange(values) <= np.repeat(asked.sizes, many // len(asked.sizes))[:, None]
        return np.where(inside, np.exp(log - log.max(axis=1, keepdims=True)), 0.0).reshape(*shape, values)

    tables, R, C = len(asked.sizes), asked.rows, asked.columns
    assert asked.row_sums is not None
    assert asked.column_sums is not None
    prior = np.exp(asked.prior(side.tree).log_mass(slice(None), np.zeros(tables * R * C, np.int64), values)[:, 0])
    return Grids(
        likelihood(asked.cells, (tables, R, C)) * prior.reshape(tables, R, C, values),
        likelihood(asked.row_sums, (tables, R)),
        likelihood(asked.column_sums, (tables, C)),
        likelihood(side.reports[-1], (tables,)),
    )


def _adjust_crossed(asked: TwoWay, weights: Sequence[float], interval: float) -> AdjustedTables:
    found = has_both_margins(asked)
    cell, row, column = (np.repeat(asked.sizes, len(own.low) // len(asked.sizes)) for own in found)
    costs = expected_errors(found, weights)
    tables = TableBatch(asked.rows, asked.columns, cell, row, column, asked.sizes, asked.known)
    values = best_table(tables, costs[0], costs[1], costs[2])
    cells, row_sums, column_sums = tree_level_results(found, [value.ravel() for value in values], interval)
    return AdjustedTables(cells, row_sums, column_sums, POSTERIOR)


def _adjust_sums(asked: TwoWay, side: Side, interval: float) -> AdjustedTables:
    found = round_least_squares(side.tree, side.reports, interval)
    cells, shape = found.levels[0], (len(asked.sizes), asked.rows, asked.columns)
    values, low, high, errors = (
        own.reshape(shape).sum(axis=1).ravel() for own in (cells.values, cells.low, cells.high, cells.errors)
    )
    most = np.repeat(asked.sizes, asked.columns)
    return AdjustedTables(
        cells, found.levels[1], TreeLevelResult(values, low, np.minimum(high, most), errors), found.by
    )
