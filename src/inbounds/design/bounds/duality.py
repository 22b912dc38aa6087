"""A lower bound on the best possible loss from any multipliers, by weak duality, with rounding errors subtracted.

For multipliers y >= 0 of comparisons factor * P[g] >= P[x], every allowed P satisfies

    loss . P  >=  sum_ij R[i, j] P[i, j],     R = loss - sum_k y_k (factor_k e_g(k) - e_x(k)),

and, because columns sum to one, that sum is sum_j v_j + sum_ij (R[i, j] - v_j) P[i, j] for any v. Lower v until
no class of equal cells has a negative total of R - v: then sum_j v_j is a bound that does not depend on the tolerance
of a solver. Rounding errors are bounded along the way and subtracted.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from inbounds.design.comparisons import NOTHING, CellInequalities, floors
from inbounds.design.problem import Floats, Ints, Problem

UNIT = 2.0**-52  # twice the rounding error of one operation; covers exp(epsilon) rounded either way


def _nothing() -> Floats:
    return np.empty(0)


@dataclass(frozen=True, eq=False)
class EqualityGroup:
    """Multipliers of mu <= P[i, j] <= factor mu over one clique: `rise` of the right inequality, `fall` of the left."""

    start: int
    stop: int
    factor: float
    rise: Floats
    fall: Floats


@dataclass(frozen=True, eq=False)
class Duals:
    """Multipliers of a problem; those left out count as zero.

    values: of the comparisons. holds: of cliques expressed by their least cell. columns: of the column sums. answers:
    weights of the answers when the aim is the worst answer. limits: of the limits on other losses.
    """

    comparisons: CellInequalities = NOTHING
    values: Floats = field(default_factory=_nothing)
    holds: tuple[EqualityGroup, ...] = ()
    columns: Floats = field(default_factory=_nothing)
    answers: Floats = field(default_factory=_nothing)
    limits: tuple[Floats, ...] = ()


def lower_bound(problem: Problem, duals: Duals, cells: Ints) -> float:
    """Compute a lower bound on the loss of every private mechanism with the requested properties.

    Valid for every `duals` (negative multipliers are cut to zero). cells: cells with equal numbers are equal in
    some optimum (`comparisons.classes`). O(outputs * answers + comparisons).
    """
    R, error = reduced_costs(problem, duals)
    v = duals.columns if duals.columns.size else R.min(axis=0)
    least = np.zeros(int(cells.max()) + 1)
    np.maximum.at(least, cells, floors(problem).ravel() * (1 - 4 * UNIT))
    v = v - _lowering(_totals(R, error, v, cells) / np.bincount(cells), cells, R.shape)
    rest = _totals(R, error, v, cells)
    # a class total that is still negative is a rounding error; P <= 1 then limits what it can cost
    parts = np.where(rest > 0, rest * least, rest)
    terms: list[float] = [*v.tolist(), *parts.tolist(), *_limit_cost(problem, duals)]
    size = math.fsum(map(abs, terms))
    # fsum is exact up to the last bit; the weights of the answers sum to one up to `answers` roundings
    return math.fsum(terms) - UNIT * (2 * size + problem.shape[1] * abs(math.fsum(terms)))


def _limit_cost(problem: Problem, duals: Duals) -> list[float]:
    """Return the terms that limits subtract from the bound, multiplier times bound of each limit, rounded up."""
    pairs = zip(problem.limits, duals.limits, strict=False)
    return [-limit.bound * q * (1 + 4 * UNIT) for limit, y in pairs for q in np.maximum(y, 0.0).tolist()]


def trivial_bound(problem: Problem) -> float:
    """Compute the bound without multipliers: every answer at its least loss."""
    return lower_bound(problem, Duals(), np.arange(problem.loss.size))


def _totals(R: Floats, error: Floats, v: Floats, cells: Ints) -> Floats:
    """Sum R - v over each class, rounded down."""
    count = np.bincount(cells)
    sure = R - v - error - UNIT * (np.abs(R) + np.abs(v)) * count[cells].reshape(R.shape)
    totals: Floats = np.bincount(cells, sure.ravel()).astype(np.float64)
    return totals


def _lowering(mean: Floats, cells: Ints, shape: tuple[int, int]) -> Floats:
    """Compute how much to lower each column's v so that every class total becomes non-negative."""
    need = np.maximum(0.0, -mean)[cells].reshape(shape)
    lowering: Floats = need.max(axis=0)
    return lowering


def _weights(problem: Problem, duals: Duals) -> Floats:
    """Return weights of the answers. The worst answer loses at least the average under any weights that sum to one."""
    if not problem.worst:
        return problem.prior
    n = problem.shape[1]
    q = np.maximum(duals.answers, 0.0) if duals.answers.size else np.ones(n)
    return q / q.sum() if q.sum() > 0 else np.full(n, 1.0 / n)


def reduced_costs(problem: Problem, duals: Duals) -> tuple[Floats, Floats]:
    """Compute R and a bound on its rounding error."""
    R: Floats = problem.loss * _weights(problem, duals)
    for limit, q in zip(problem.limits, duals.limits, strict=False):
        R = R + limit.table * limit.weights(problem.prior, np.maximum(q, 0.0)) * (1 - 4 * UNIT)
    c, y, count = duals.comparisons, np.maximum(duals.values, 0.0), R.size
    down = np.bincount(c.greater, c.factor * y, count).reshape(R.shape)
    up = np.bincount(c.lesser, y, count).reshape(R.shape)
    terms = (
        4 + 4 * len(problem.limits) + np.bincount(c.greater, minlength=count) + np.bincount(c.lesser, minlength=count)
    )
    size = (np.abs(R) + up + down) * terms.reshape(R.shape)
    R = R + up - down
    for hold in duals.holds:
        rise, fall = _balance(hold)
        R[:, hold.start : hold.stop] += rise - fall
        size[:, hold.start : hold.stop] += 4 * (rise + fall)
    return R, UNIT * (size + len(duals.holds) * np.abs(R))


def _balance(hold: EqualityGroup) -> tuple[Floats, Floats]:
    """Return rise and fall, with `rise` shrunk until mu itself has a multiplier of the right sign."""
    rise, fall = np.maximum(hold.rise, 0.0), np.maximum(hold.fall, 0.0)
    room = 1.0 - (hold.stop - hold.start + 4) * UNIT
    need, have = hold.factor * rise.sum(axis=1), fall.sum(axis=1) * room
    shrink = np.where(need > have, have / np.where(need > 0, need, 1.0), 1.0)
    return rise * shrink[:, None] * room, fall
