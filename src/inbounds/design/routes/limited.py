"""The route with limits on other losses, such as: off by more than 2 in at most 5 of 100 cases, for every answer.

As in `column_generation` a mechanism is a mix of extreme rays, each used for one output, and a small program chooses
among the rays found so far. A limit is one more row of the program (one for every answer, or one for the average), and
its multiplier is one more cost in the pricing: with multipliers q >= 0 of rows g . P <= b every private P within them
has

    loss . P >= (loss + q g) . P - q . b >= sum_j v_j - q . b,

if `loss + q g - v` is non-negative on the cone, which `bound` decides with every rounding counted. A column that buys
excess over the limits at a high price keeps the program feasible. If the optimum buys some, no mechanism keeps the
limits. If the proof takes longer than an interior point would, that is tried, as in `column_generation`, unless one of
the limits cannot be kept even alone.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import highspy
import numpy as np
from scipy.sparse import csc_array

from inbounds.design.bounds import bound
from inbounds.design.problem import (
    Floats,
    Ints,
    LinearLimit,
    Problem,
    Proposal,
    fold_mirror,
    symmetrize,
    unfold_mirror,
)
from inbounds.design.routes import column_generation, geometric, windows_interior
from inbounds.design.routes.column_generation import ENOUGH, PRICING, SOUND, STAIRS_SHARE
from inbounds.design.routes.staircases import stairs
from inbounds.design.solver import highs, pricing
from inbounds.design.solver.pricing import Cone

name = "cone rays with limits"
#: relative gap at which the search ends; a gain below this share of the value is rounding
CLOSED, WORTH = 1e-10, 1e-13
#: prices of excess, in units of the largest losses: the next where it is still bought; less of it is rounding
PRICES, BOUGHT = (1e2, 1e5, 1e8), 1e-9
ROUNDS = 2000
#: the most limits that an interior point is tried with: each is a table of its own
FEW = 8


@dataclass(frozen=True, eq=False)
class LimitedProgram:
    """The fixed data of the search: costs (least value zero, unit `scale`), limits, and the cone of all answers.

    fold: everything equals its mirror image, so a ray and its mirror image are one column.
    """

    problem: Problem
    cost: Floats
    scale: float
    cone: Cone
    fold: bool

    @property
    def size(self) -> int:
        n = self.problem.shape[1]
        return (n + 1) // 2 if self.fold else n

    @property
    def groups(self) -> list[tuple[Floats, LinearLimit | None]]:
        """Tables that have rows beside the sums: the loss itself for the worst answer, then the limits."""
        worst: list[tuple[Floats, LinearLimit | None]] = [(self.cost, None)] if self.problem.worst else []
        return worst + [(limit.table, limit) for limit in self.problem.limits]

    def value(self, P: Floats) -> float:
        """Return the objective of P, in units of `scale`."""
        losses = (self.cost * P).sum(axis=0)
        return float(losses.max() if self.problem.worst else losses @ self.problem.prior)

    def fold_rays(self, x: Floats) -> Floats:
        """Fold rays with their mirror images, if the program is folded."""
        return fold_mirror(x, self.size) if self.fold else x

    def unfold_duals(self, y: Floats) -> Floats:
        """Expand duals to all answers, if the program is folded."""
        return unfold_mirror(y, self.problem.shape[1]) if self.fold else y


@dataclass(frozen=True, eq=False)
class LimitDuals:
    """Duals of the program.

    v: of the sums. weights: of the answers' losses (the prior, or those of the worst-case aim). limits: the weight that
    each limit's multiplier puts on each answer. limit_cost: the sum q . b over the limits.
    """

    v: Floats
    weights: Floats
    limits: tuple[Floats, ...]
    limit_cost: float

    def towards(self, other: "LimitDuals") -> "LimitDuals":
        """Return the duals halfway to `other`."""
        return LimitDuals(
            (self.v + other.v) / 2,
            (self.weights + other.weights) / 2,
            tuple((a + b) / 2 for a, b in zip(self.limits, other.limits, strict=True)),
            (self.limit_cost + other.limit_cost) / 2,
        )

    def costs(self, s: LimitedProgram) -> Floats:
        """Return the costs for the pricing: the loss plus the limits' tables times their multipliers."""
        table = self.weights * s.cost
        for weights, limit in zip(self.limits, s.problem.limits, strict=True):
            table = table + weights * limit.table
        return table


def accepts(problem: Problem) -> bool:
    """Return whether this route applies: limits, no properties, windows that `pricing` is exact for, one component."""
    if not problem.limits or problem.properties or problem.edges is not None:
        return False
    return pricing.is_regular(problem) and len(list(pricing.split_components(problem))) == 1


class LimitedMaster:
    """The program over the rays found so far; columns 0.. are t (worst aim) and the excess, then rays."""

    def __init__(self, s: LimitedProgram) -> None:
        self.setting, self.worst = s, s.problem.worst
        self.rays: Floats = np.empty((s.problem.shape[1], 0))
        self.outputs: Ints = np.empty(0, np.int64)
        self.seen: set[bytes] = set()
        self.value, self.mix = math.inf, np.zeros(1 + self.worst)  # of the last program that was solved
        self.work = 0.0  # about how many numbers were touched
        self.solver = highs.solver(
            presolve="off", simplex_strategy=highs.PRIMAL_SIMPLEX, primal_feasibility_tolerance=1e-10,
            dual_feasibility_tolerance=1e-10,
        )  # fmt: skip
        self._add_rows()

    def _add_rows(self) -> None:
        """Add the equations, the worst loss and the limits, and the columns t and excess."""
        s, free = self.setting, -highspy.kHighsInf
        for _ in range(s.size):
            self.solver.addRow(1.0, 1.0, 0, np.empty(0, np.int32), np.empty(0))
        first: Floats = np.zeros(s.size)
        t, excess = first, first
        for _, limit in s.groups:
            count = s.size if limit is None or limit.per_answer else 1
            top = 0.0 if limit is None else limit.inside
            for _ in range(count):
                self.solver.addRow(free, top, 0, np.empty(0, np.int32), np.empty(0))
            t = np.append(t, np.full(count, -1.0 if limit is None else 0.0))
            excess = np.append(excess, np.full(count, 0.0 if limit is None else -1.0))
        if self.worst:
            highs.add_columns(self.solver, np.ones(1), csc_array(t[:, None]))
        highs.add_columns(self.solver, np.array([PRICES[0]]), csc_array(excess[:, None]))

    def price(self, excess: float) -> None:
        """Set the price of excess over the limits."""
        self.solver.changeColCost(int(self.worst), excess)

    def add(self, log_x: Floats, outputs: Ints) -> int:
        """Add rays for outputs; return how many were new."""
        s, fresh = self.setting, []
        for c, (x, i) in enumerate(zip(log_x.T, outputs, strict=True)):
            key = np.append(np.round(x - x.max(), 9) + 0.0, i).tobytes()
            if key not in self.seen:
                self.seen.add(key)
                fresh.append(c)
        if not fresh:
            return 0
        outputs, x = outputs[fresh], np.exp(log_x[:, fresh] - log_x[:, fresh].max(axis=0))
        x /= x.mean(axis=0)
        blocks = [s.fold_rays(x)]
        for table, limit in s.groups:
            losses = table[outputs].T * x
            blocks.append(
                s.fold_rays(losses)
                if limit is None or limit.per_answer
                else (limit.prior(s.problem.prior) @ losses)[None, :]
            )
        cost = np.zeros(len(fresh)) if self.worst else s.problem.prior @ (s.cost[outputs].T * x)
        highs.add_columns(self.solver, cost, csc_array(np.vstack(blocks)))
        self.rays, self.outputs = np.hstack([self.rays, x]), np.append(self.outputs, outputs)
        return len(fresh)

    def solve(self, deadline: float) -> LimitDuals | None:
        """Solve; return the duals of the best mix, or None if the time runs out."""
        solved = highs.run(self.solver, deadline)
        self.work += float(self.rays.size) * self.solver.getInfo().simplex_iteration_count
        if not solved:
            return None
        s, y = self.setting, highs.duals(self.solver)
        self.value = float(self.solver.getInfo().objective_function_value)
        self.mix = np.maximum(self.solver.getSolution().col_value, 0.0)
        v, y = s.unfold_duals(y[: s.size]), y[s.size :]
        weights, limits, limit_cost = s.problem.prior, [], 0.0
        for _, limit in s.groups:
            count = s.size if limit is None or limit.per_answer else 1
            multiplier, y = np.maximum(-y[:count], 0.0), y[count:]
            unfolded = s.unfold_duals(multiplier) if limit is None or limit.per_answer else multiplier
            if limit is None:
                weights = unfolded
            else:
                limits.append(limit.weights(s.problem.prior, unfolded))
                limit_cost += limit.bound * math.fsum(multiplier)
        return LimitDuals(v, weights, tuple(limits), limit_cost)

    @property
    def excess(self) -> float:
        return float(self.mix[int(self.worst)])

    def matrix(self) -> Floats:
        """Return the matrix of the last mix."""
        weights = self.mix[1 + self.worst :]
        P = np.zeros(self.setting.problem.shape)
        np.add.at(P, self.outputs[: len(weights)], (self.rays[:, : len(weights)] * weights).T)
        return (P + P[::-1, ::-1]) / 2 if self.setting.fold else P


@dataclass(frozen=True, eq=False)
class LimitedSolution:
    """The best matrix that keeps the limits, or None, and a proved bound on any that does; see `Proposal`."""

    matrix: Floats | None
    bound: float
    least_excess: float


def build_limited_program(problem: Problem) -> tuple[LimitedProgram, Floats]:
    """Build the fixed data, and return the floor that was subtracted from the losses of each answer."""
    floor = np.full(problem.shape[1], problem.loss.min()) if problem.worst else problem.loss.min(axis=0)
    rest = problem.loss - floor
    scale = float(rest.max()) or 1.0
    cone = pricing.cone(problem, slice(0, problem.shape[1]))
    same = problem.worst or np.array_equal(problem.prior, problem.prior[::-1])
    tables = [rest, *(limit.table for limit in problem.limits)]
    same = same and (
        all(limit.per_answer for limit in problem.limits) or np.array_equal(problem.prior, problem.prior[::-1])
    )
    fold = cone.is_mirrored and same and all(np.array_equal(t, t[::-1, ::-1]) for t in tables)
    even = replace(problem, limits=tuple(_scale_limit(limit) for limit in problem.limits))
    return LimitedProgram(even, rest / scale, scale, cone, bool(fold)), floor


def _scale_limit(limit: LinearLimit) -> LinearLimit:
    """Scale a limit by a power of two, so that its largest loss is about one and nothing is rounded."""
    unit = math.ldexp(1.0, math.frexp(float(limit.table.max()) or 1.0)[1])
    return replace(limit, table=limit.table / unit, bound=limit.bound / unit)


def solve(problem: Problem, deadline: float = np.inf) -> Proposal:
    """Find the best private mechanism that keeps the limits, for a problem that `accepts`."""
    s, floor = build_limited_program(problem)
    solution = _search(s, deadline)
    off = float(floor[0] if problem.worst else problem.prior @ floor)
    rounding = 2.0**-50 * len(floor) * float(np.abs(floor).max() + abs(off))
    return Proposal(solution.matrix, solution.bound * s.scale + off - rounding, name, solution.least_excess)


def _search(s: LimitedProgram, deadline: float) -> LimitedSolution:
    """Try rays for a small part of the work of an interior point, then that, and rays again if it fails."""
    master = LimitedMaster(s)
    _begin(s, master)
    best = LimitedSolution(None, -math.inf, 0.0)
    try_interior = windows_interior.is_applicable(s.cone) and len(s.problem.limits) <= FEW
    work_limit = STAIRS_SHARE * windows_interior.work(s.cone, s.size) if try_interior else math.inf
    best = _better(s, best, _generate_columns(s, master, PRICES[:1], work_limit, deadline))
    if _is_closed(s, best) or time.monotonic() > deadline:
        return best
    if best.matrix is None and not _can_keep_each(s.problem, deadline):
        return best
    if try_interior:
        best = _better(s, best, _interior(s, deadline))
    if _is_closed(s, best) or time.monotonic() > deadline:
        return best
    return _better(s, best, _generate_columns(s, master, PRICES, math.inf, deadline))


def _can_keep_each(problem: Problem, deadline: float) -> bool:
    """Return whether no bound proves that one of the limits cannot be kept, even alone."""
    for limit in problem.limits:
        prior = limit.prior(problem.prior)
        alone = replace(problem, loss=limit.table, prior=prior, worst=limit.per_answer, limits=())
        route = geometric if geometric.accepts(alone) else column_generation
        if limit.is_out_of_reach(route.solve(alone, deadline).bound):
            return False
    return True


def _better(s: LimitedProgram, one: LimitedSolution, other: LimitedSolution) -> LimitedSolution:
    """Combine the better matrix, bound and least excess of two solutions."""
    matrices = [solution.matrix for solution in (one, other) if solution.matrix is not None]
    return LimitedSolution(
        min(matrices, key=s.value, default=None), max(one.bound, other.bound), max(one.least_excess, other.least_excess)
    )


def _is_closed(s: LimitedProgram, solution: LimitedSolution) -> bool:
    """Return whether the gap is at most ENOUGH."""
    return solution.matrix is not None and s.value(solution.matrix) - solution.bound <= ENOUGH * abs(solution.bound)


def _generate_columns(
    s: LimitedProgram, master: LimitedMaster, prices: Sequence[float], share: float, deadline: float
) -> LimitedSolution:
    """Run column generation at rising prices of excess until none is bought, each for a `share` of work."""
    low, least_excess = -math.inf, 0.0
    for price in prices:
        master.price(price)
        low = max(low, _generate(s, master, master.work + share, deadline))
        # no loss is above one, so the rest of the bound is the price of excess
        least_excess = max(least_excess, (low - 1) / price)
        if master.excess <= BOUGHT or time.monotonic() > deadline:
            break
    P = master.matrix()
    sums = P.sum(axis=0)
    sound = master.excess <= BOUGHT and (sums > 0).all()
    return LimitedSolution(symmetrize_if(s, P / sums) if sound else None, low, least_excess)


def _interior(s: LimitedProgram, deadline: float) -> LimitedSolution:
    """Find a near-optimal matrix by `windows_interior` with all outputs, and its bound."""
    problem, best = s.problem, LimitedSolution(None, -math.inf, 0.0)
    arguments = s.cost, problem.prior, problem.worst, s.cone, s.fold, np.arange(len(s.cost)), deadline, problem.limits
    for point in windows_interior.points(*arguments):
        best = _better(
            s, best, LimitedSolution(_project_columns(s, point.matrix), _bound(s, _extract_duals(s, point)), 0.0)
        )
    return best


def _extract_duals(s: LimitedProgram, point: windows_interior.WindowSolution) -> LimitDuals:
    """Convert the duals of an interior point."""
    limits, limit_cost = [], 0.0
    for limit, multiplier in zip(s.problem.limits, point.multipliers, strict=True):
        multiplier = np.maximum(multiplier, 0.0)
        limits.append(limit.weights(s.problem.prior, multiplier))
        limit_cost += limit.bound * math.fsum(multiplier)
    return LimitDuals(point.v, np.maximum(point.weights, 0.0), tuple(limits), limit_cost)


def _project_columns(s: LimitedProgram, P: Floats) -> Floats | None:
    """Scale the columns of P to sum to one; None if they are far from it or P does not keep the limits."""
    sums = P.sum(axis=0)
    if not np.abs(sums - 1).max() < SOUND:
        return None
    P = symmetrize_if(s, P / sums)
    return P if all((x.values(P, s.problem.prior) <= x.inside).all() for x in s.problem.limits) else None


def symmetrize_if(s: LimitedProgram, P: Floats) -> Floats:
    """Average P with its mirror image, if the program is folded."""
    return symmetrize(s.problem, P) if s.fold else P


def _begin(s: LimitedProgram, master: LimitedMaster) -> None:
    """Add the constant row and the narrowest staircases, with the cheapest outputs of each table."""
    n, tails = s.problem.shape[1], stairs(s.cone)
    peaks = np.arange(n)
    log_x = np.hstack([np.zeros((n, 1)), tails.log_rays(peaks, peaks)])
    x = np.exp(log_x)
    for table in [s.cost, *(limit.table for limit in s.problem.limits)]:
        master.add(log_x, (table @ x).argmin(axis=0))
        master.add(log_x, (s.problem.prior * table @ x).argmin(axis=0))


def _generate(s: LimitedProgram, master: LimitedMaster, work_limit: float, deadline: float) -> float:
    """Run column generation, priced halfway between the program's duals and the best so far; return the proved bound.

    work_limit: work after which it ends.
    """
    best, low = None, -math.inf
    for _ in range(ROUNDS):
        duals = master.solve(deadline)
        if duals is None:
            break
        fresh = 0
        for candidate in (duals,) if best is None else (best.towards(duals), duals):
            priced = _price_rays(s, candidate, master.value)
            if priced.bound > low:
                best, low = priced.lowered, priced.bound
            fresh = master.add(priced.log_rays, priced.outputs)
            master.work += PRICING * s.cost.size
            if fresh:
                break
        over = master.work > work_limit or time.monotonic() > deadline
        if not fresh or over or master.value - low <= CLOSED * abs(master.value):
            break
    return -math.inf if best is None else _bound(s, best)


@dataclass(frozen=True, eq=False)
class PricedRays:
    """Improving rays, as logs, with the outputs to use them for; duals lowered until no ray improves, and the bound
    that they prove up to rounding."""

    log_rays: Floats
    outputs: Ints
    lowered: LimitDuals
    bound: float


def _price_rays(s: LimitedProgram, duals: LimitDuals, value: float) -> PricedRays:
    """Find the most improving ray of every output where one improves."""
    table = duals.costs(s)
    r = (table[: (len(table) + 1) // 2] if s.fold else table).T - duals.v[:, None]
    log_x, outputs, most = pricing.most_improving(r, s.cone, WORTH * abs(value))
    lowered = replace(duals, v=duals.v - most / s.cone.size)
    total = float(duals.weights.sum()) if s.problem.worst else 1.0
    proved = (float(duals.v.sum()) - most - duals.limit_cost) / total if total > 0 else -math.inf
    return PricedRays(log_x, outputs, lowered, proved)


def _bound(s: LimitedProgram, duals: LimitDuals) -> float:
    """Prove the bound of the duals, with every rounding error subtracted."""
    proved = bound.average(duals.v, duals.costs(s) * (1 - 2.0**-50), s.cone) - duals.limit_cost * (1 + 2.0**-50)
    if not s.problem.worst:
        return proved
    total = math.fsum(duals.weights)
    return proved / total - 2.0**-50 * abs(proved) / total if total > 0 else 0.0
