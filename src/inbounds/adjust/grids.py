"""The exact posterior of two-way tables with few rows, or few people: all row sums at once.

A column of a table is a point (x_1, …, x_R) of a grid; columns add up to the row sums, so their distributions are
convolved in R dimensions, and the reports about rows and total weigh the sums. What the other columns say of one column
is the convolution of those before and those after it. Tables of more columns than rows cost least.

NodeCost: tables · columns · (2·size)^R · log, so it serves two or three rows; see `crossed` for more.
"""

from dataclasses import dataclass

import numpy as np
from scipy.fft import irfftn, next_fast_len, rfftn

from inbounds.adjust.posterior import Marginals, OutOfWindow
from inbounds.exact import Floats

FAINTEST = 1e-9
"""Least part of the largest product of messages that the posterior may be: below, transforms are noise."""


@dataclass(frozen=True, eq=False)
class Grids:
    """Likelihoods, those of cells times priors: cells[t, r, c, x], rows[t, r, x], columns[t, c, x], totals[t, x]."""

    cells: Floats
    rows: Floats
    columns: Floats
    totals: Floats


def exact_tables(grids: Grids) -> list[Marginals]:
    """The marginals of cells, rows and columns, each numbered through all tables, cells row by row."""
    found = [_one(*each) for each in zip(grids.cells, grids.rows, grids.columns, grids.totals, strict=True)]
    return [_marginals(np.stack(own)) for own in zip(*found, strict=True)]


def _marginals(mass: Floats) -> Marginals:
    flat = mass.reshape(-1, mass.shape[-1])
    return Marginals(np.zeros(len(flat), np.int64), flat / flat.sum(axis=1, keepdims=True))


def _one(cells: Floats, rows: Floats, columns: Floats, total: Floats) -> tuple[Floats, Floats, Floats]:
    R, C, values = cells.shape
    grid = (values,) * R
    sums = np.indices(grid).sum(axis=0)
    inside = sums < values
    at = np.where(inside, sums, 0)
    weigh = _outer(rows) * np.where(inside, total[at], 0.0)
    own = [_largest_one(_outer(cells[:, c]) * np.where(inside, columns[c][at], 0.0)) for c in range(C)]
    nothing = np.zeros(grid)
    nothing[(0,) * R] = 1.0
    before, after = [nothing], [nothing]
    for c in range(C):
        before.append(_convolve(before[-1], own[c]))
        after.append(_convolve(after[-1], own[C - 1 - c]))
    joint = before[C] * weigh
    cell_mass, column_mass = np.empty(cells.shape), np.empty((C, values))
    for c in range(C):
        rest = _convolve(before[c], after[C - 1 - c])
        mass = own[c] * _largest_one(_correlate(weigh, rest))
        if not mass.sum() > FAINTEST:
            raise OutOfWindow
        column_mass[c] = np.bincount(at[inside], mass[inside], minlength=values)
        for r in range(R):
            cell_mass[r, c] = _along(mass, r)
    return cell_mass, np.stack([_along(joint, r) for r in range(R)]), column_mass


def _outer(factors: Floats) -> Floats:
    """The product of one function of each coordinate."""
    product = np.ones(())
    for factor in factors:
        product = product[..., None] * factor
    return product


def _along(mass: Floats, axis: int) -> Floats:
    return np.asarray(mass.sum(axis=tuple(k for k in range(mass.ndim) if k != axis)))


def _largest_one(mass: Floats) -> Floats:
    return np.asarray(np.maximum(mass, 0.0) / max(float(mass.max()), 1e-300))


def _convolve(one: Floats, other: Floats) -> Floats:
    """Sums within the grid."""
    values = one.shape[0]
    size = [next_fast_len(2 * values - 1, real=True)] * one.ndim
    both = irfftn(rfftn(one, size) * rfftn(other, size), size)
    return _largest_one(both[(slice(values),) * one.ndim])


def _correlate(weigh: Floats, rest: Floats) -> Floats:
    """Σ_q rest[q]·weigh[q + x]."""
    values = weigh.shape[0]
    size = [next_fast_len(2 * values - 1, real=True)] * weigh.ndim
    return np.asarray(irfftn(rfftn(weigh, size) * np.conj(rfftn(rest, size)), size)[(slice(values),) * weigh.ndim])
