"""The exact posterior of two-way tables with few rows or few people, for all row sums at once.

A column of a table is a point (x_1, …, x_R) of a grid. Columns add up to the row sums, so their distributions are
convolved in R dimensions. The outputs about rows and total multiply the distribution of the sums. The message of all
other columns to one column is the convolution of those before and those after it. Tables with more columns than rows
cost least.

Cost: tables · columns · (2·size)^R · log, so it suits two or three rows. `crossed_posterior` serves larger tables.
"""

from dataclasses import dataclass

import numpy as np
from scipy.fft import irfftn, next_fast_len, rfftn

from inbounds.adjust.posterior import Marginals, OutOfWindow
from inbounds.exact import Floats

FAINTEST = 1e-9
"""Least mass of the posterior relative to the largest product of messages. Below it the transforms are rounding errors.
"""


@dataclass(frozen=True, eq=False)
class Grids:
    """Likelihoods of the values x of every node of every table t; those of cells include the prior.

    Shapes: cells[t, r, c, x], rows[t, r, x], columns[t, c, x], totals[t, x].
    """

    cells: Floats
    rows: Floats
    columns: Floats
    totals: Floats


def exact_tables(grids: Grids) -> list[Marginals]:
    """Compute the marginals of cells, rows and columns, each numbered through all tables, cells row by row."""
    tables = [_table_masses(*table) for table in zip(grids.cells, grids.rows, grids.columns, grids.totals, strict=True)]
    return [_marginals(np.stack(masses)) for masses in zip(*tables, strict=True)]


def _marginals(mass: Floats) -> Marginals:
    """Assign one sequence of numbers to the nodes of all tables and normalize their masses."""
    flat = mass.reshape(-1, mass.shape[-1])
    return Marginals(np.zeros(len(flat), np.int64), flat / flat.sum(axis=1, keepdims=True))


def _table_masses(cells: Floats, rows: Floats, columns: Floats, total: Floats) -> tuple[Floats, Floats, Floats]:
    """Compute the unnormalized posterior of the cells, rows and columns of one table."""
    R, C, values = cells.shape
    grid = (values,) * R
    sums = np.indices(grid).sum(axis=0)
    inside = sums < values
    total_index = np.where(inside, sums, 0)
    sum_weights = _outer(rows) * np.where(inside, total[total_index], 0.0)
    column_grids = [
        _largest_one(_outer(cells[:, c]) * np.where(inside, columns[c][total_index], 0.0)) for c in range(C)
    ]
    zero_sum = np.zeros(grid)
    zero_sum[(0,) * R] = 1.0
    before, after = [zero_sum], [zero_sum]
    for c in range(C):
        before.append(_convolve(before[-1], column_grids[c]))
        after.append(_convolve(after[-1], column_grids[C - 1 - c]))
    joint = before[C] * sum_weights
    cell_mass, column_mass = np.empty(cells.shape), np.empty((C, values))
    for c in range(C):
        other_columns = _convolve(before[c], after[C - 1 - c])
        mass = column_grids[c] * _largest_one(_correlate(sum_weights, other_columns))
        if not mass.sum() > FAINTEST:
            raise OutOfWindow
        column_mass[c] = np.bincount(total_index[inside], mass[inside], minlength=values)
        for r in range(R):
            cell_mass[r, c] = _along(mass, r)
    return cell_mass, np.stack([_along(joint, r) for r in range(R)]), column_mass


def _outer(factors: Floats) -> Floats:
    """Multiply one function of each coordinate into a function on the grid."""
    product = np.ones(())
    for factor in factors:
        product = product[..., None] * factor
    return product


def _along(mass: Floats, axis: int) -> Floats:
    """Sum over all axes but one."""
    return np.asarray(mass.sum(axis=tuple(k for k in range(mass.ndim) if k != axis)))


def _largest_one(mass: Floats) -> Floats:
    """Scale the largest entry to one, without negative rounding errors."""
    return np.asarray(np.maximum(mass, 0.0) / max(float(mass.max()), 1e-300))


def _convolve(one: Floats, other: Floats) -> Floats:
    """Convolve two distributions; sums beyond the grid are dropped."""
    values = one.shape[0]
    size = [next_fast_len(2 * values - 1, real=True)] * one.ndim
    both = irfftn(rfftn(one, size) * rfftn(other, size), size)
    return _largest_one(both[(slice(values),) * one.ndim])


def _correlate(weights: Floats, rest: Floats) -> Floats:
    """Compute Σ_q rest[q]·weights[q + x] for every x."""
    values = weights.shape[0]
    size = [next_fast_len(2 * values - 1, real=True)] * weights.ndim
    return np.asarray(irfftn(rfftn(weights, size) * np.conj(rfftn(rest, size)), size)[(slice(values),) * weights.ndim])
