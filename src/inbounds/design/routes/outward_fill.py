"""The route for fair mechanisms on counts, without a solver: the outward fill.

For Variant 2 of 000 (fair, row and column monotone, symmetric) on consecutive answers, and for every other set of
properties that has fairness. Let y be the largest common truth any fair mechanism can have (003, Lemma 4): then
the middle column is forced, and with it every cell between the middle and the diagonal, P[i, j] = y alpha^|i-j|.
From the middle outwards, in column j of the left half, each cell below the diagonal lies between alpha times and
`high` times the cell beside it in the column just done (high = 1 in monotone rows, 1/alpha otherwise; with honesty
no cell passes y). Raise them from their lower bounds, nearest to the diagonal first, until the column sums to
one; the right half is the mirror image.

For this y the fill minimizes every tail sum P[k, j] + P[k+1, j] + ... at once (proved for monotone rows and for
fairness alone), so it is best for every prior and every loss that grows with the error
(docs/theory/outward-fill.md). Whether the largest y is best depends on loss and epsilon; the multipliers below
decide it, and their bound is valid in any case.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from inbounds.design.bounds.duality import Duals, lower_bound
from inbounds.design.comparisons import (
    CellInequalities,
    classes,
    is_foldable,
    property_comparisons,
    requested_properties,
)
from inbounds.design.problem import Floats, Ints, Problem, Proposal
from inbounds.design.routes.chains import chain, complete_duals, is_chain

Bools = NDArray[np.bool_]

name = "outward fill"
TIE = 1e-12  # cap and upper limit closer than this count as the upper limit
HONEST = frozenset({"row_honest", "column_honest", "column_monotone"})


def max_fair_diagonal(size: int, alpha: float) -> float:
    """Return the largest diagonal of a fair mechanism: 1 / (sum of alpha^distance to the middle). 003, (15)."""
    j = (size - 1) // 2
    y: float = 1.0 / np.sum(alpha ** np.abs(np.arange(size) - j))
    return float(y)


@dataclass(frozen=True)
class FillBounds:
    """Limits of a cell, given the cell beside it: alpha to `high` times it, and at most `cap` times the diagonal."""

    alpha: float
    high: float = 1.0
    cap: float = np.inf


def fill_bounds(problem: Problem) -> FillBounds:
    """Return the limits: monotone rows do not rise outwards; honest rows or columns stay below the diagonal."""
    alpha, properties = float(np.exp(-problem.epsilon * problem.cliques[0][2])), requested_properties(problem)
    if "row_monotone" in properties:
        return FillBounds(alpha)
    return FillBounds(alpha, 1.0 / alpha, 1.0 if properties & HONEST else np.inf)


@dataclass(frozen=True, eq=False)
class FillResult:
    """The filled matrix; for each column of the left half the row where filling stopped; which cells are capped."""

    matrix: Floats
    stops: Ints
    capped: Bools


def fill_outward(size: int, limits: FillBounds) -> FillResult:
    """Fill from the middle outwards. O(size^2)."""
    i, alpha = np.arange(size), limits.alpha
    y, middle = max_fair_diagonal(size, alpha), (size - 1) // 2
    P = y * alpha ** np.abs(i[:, None] - i).astype(float)
    stops, capped = np.full(middle, size - 1), np.zeros((size, size), dtype=bool)
    for j in range(middle - 1, -1, -1):
        beside = P[j + 1 :, j + 1]
        low, high = alpha * beside, np.minimum(limits.high * beside, limits.cap * y)
        capped[j + 1 :, j] = high < limits.high * beside * (1 - TIE)
        before = np.cumsum(high - low) - (high - low)
        missing = 1.0 - P[: j + 1, j].sum() - low.sum()
        P[j + 1 :, j] = low + np.clip(missing - before, 0.0, high - low)
        stops[j] = j + 1 + max(0, np.searchsorted(before, missing) - 1)
    P[:, size - size // 2 :] = P[::-1, : size // 2][:, ::-1]
    return FillResult(P, stops, capped)


def accepts(problem: Problem) -> bool:
    """Return whether this route applies: fair, one output per answer, even consecutive neighbours, symmetric average
    loss.

    With monotone rows the fill has all seven properties; otherwise those that fairness or honesty imply.
    """
    m, n = problem.shape
    properties = requested_properties(problem)
    return (
        m == n >= 2
        and not problem.limits
        and not problem.worst
        and np.array_equal(problem.home, np.arange(n))
        and is_chain(problem)
        and all(d == problem.cliques[0][2] for _, _, d in problem.cliques)
        and "fair" in properties
        and not any(name.startswith("column_ratio") for name in properties)
        and is_foldable(problem)
    )


def solve(problem: Problem, deadline: float = np.inf) -> Proposal:
    """Compute the fill with its proved bound, for a problem that `accepts`, at once. O(size^2)."""
    limits = fill_bounds(problem)
    fill = fill_outward(problem.shape[1], limits)
    P = fill.matrix / fill.matrix.sum(axis=0)
    return Proposal(P, _bound(problem, limits, fill), name)


def _bound(problem: Problem, limits: FillBounds, fill: FillResult) -> float:
    """Prove a bound by weak duality with multipliers read off the fill.

    The cell where column j's filling stopped touches no limit, so nothing may be carried past it: that gives
    v_j, outermost first. The middle v makes the common truth cost nothing in total.
    """
    relaxed_properties = frozenset({"fair", "symmetric"} | (requested_properties(problem) & {"row_monotone"}))
    relaxed = replace(problem, properties=relaxed_properties)
    links, cells = chain(relaxed), classes(relaxed, property_comparisons(relaxed, frozenset({"fair"})), folded=True)
    duals = _multipliers(relaxed, limits, fill)
    n = problem.shape[1]
    middle = np.abs(np.arange(n) - (n - 1) / 2) < 1
    for _ in range(50):
        whole, passed = complete_duals(relaxed, links, duals, folded=True)
        excess = passed.value.sum()
        if abs(excess) <= 1e-15 * np.abs(passed.value).sum():
            break
        step = np.where(middle, excess * max_fair_diagonal(n, limits.alpha) / middle.sum(), 0.0)
        duals = replace(duals, columns=duals.columns + step)
    return lower_bound(relaxed, whole, cells)


def _multipliers(problem: Problem, limits: FillBounds, fill: FillResult) -> Duals:
    """Compute v_j of the outer columns, and multipliers of the caps.

    v_j is the cost at the stop plus what its row carries in from further out. Cells nearer than the stop are at
    their upper limit, `high` times the cell beside them or the cap; cells further out are alpha times.
    """
    cost = problem.loss * problem.prior
    cost = (cost + cost[::-1, ::-1]) / 2
    size = len(cost)
    i, v, carried, caps = np.arange(size), np.zeros(size), np.zeros(size), np.zeros((size, size))
    for j, k in enumerate(fill.stops):
        v[j] = v[size - 1 - j] = cost[k, j] + carried[k]
        carried = cost[:, j] - v[j] + carried
        full = (i > j) & (i < k) & fill.capped[:, j]
        caps[full, j] = -carried[full]
        carried = np.where(i > k, limits.alpha, np.where(full, 0.0, limits.high)) * carried
        carried[k] = carried[: j + 2] = 0.0
    at = np.flatnonzero(caps)
    truth = (at % size) * (size + 1)
    # twice: a cap represents its mirror image too
    return Duals(CellInequalities(truth, at, np.ones(len(at))), 2 * caps.ravel()[at], columns=v)
