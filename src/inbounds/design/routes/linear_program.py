"""The papers' linear program, for any properties, neighbourhood, loss, prior and aim: scaled and folded.

The textbook form (000, section 4.3; 003, section III) is made smaller and sounder by `folded`. The lower bound
comes from the duals of the same basis in unscaled form, by weak duality (`duality`), completed along chains.
"""

import math
import time
from dataclasses import replace

import highspy
import numpy as np

from inbounds.design.bounds.duality import Duals, EqualityGroup, lower_bound, trivial_bound
from inbounds.design.comparisons import CellInequalities, floors
from inbounds.design.problem import Floats, Problem, Proposal
from inbounds.design.routes import row_program
from inbounds.design.routes.baseline import baseline_matrix
from inbounds.design.routes.chains import chain, complete_duals, is_chain
from inbounds.design.routes.folding import FoldedProgram, costs, model, program_rows
from inbounds.design.solver import highs
from inbounds.design.solver.polish import normalize_columns, raise_to_ratios

TIGHT = 1e-9  # a multiplier above this marks what every optimum keeps tight
ROUNDING = 1e-12  # columns that sum to one up to this need no suspicion
NOTHING = 1e-15  # of the largest loss: less is rounding, and no unit to solve in
LOOSE = 1e-6  # columns that miss a sum of one by more are no solution, whatever the solver says
NO_ROW = 1e-14  # an output less likely than this under every answer is never reported
MAX_SWEEPS = 100
SAME = 1e-10  # what breaking ties may cost, relative to the loss
TIES_UP_TO = 4000  # variables up to which ties are broken
ROWS_FROM = 40  # answers from which a chain is first tried row by row
SPREAD = 5.0  # and log-ratio between the ends from which: nearly flat rows need too many rays
ROUNDS = 80  # of that trial; it closes in a few rounds or not soon
PROVED = 1e-9  # relative gap that counts as closed
CLOSED = 1e-8  # and for a large program by an interior point
INTERIOR_POINT: dict[str, str | float] = {"solver": "ipm", "run_crossover": "off", "ipm_optimality_tolerance": 1e-10}
SMALL = 0.1  # a loss below this share of the unit is solved again in a smaller unit


def _start(model: FoldedProgram, scale: Floats, *, presolve: bool) -> highspy.Highs:
    problem, built = model.problem, program_rows(model, scale)
    least = np.zeros(model.variables)
    np.maximum.at(least, model.cells, highs.MASS * floors(problem).ravel() / scale[model.cells])
    cost = costs(model, problem.loss * (0.0 if problem.worst else problem.prior), scale)
    if problem.worst:
        least[-1], cost[-1] = -np.inf, 1.0
    solver = highs.solver(presolve="choose" if presolve else "off")
    highs.load(solver, cost, least, built.matrix, built.lower, built.upper)
    return solver


def _duals(model: FoldedProgram, y: Floats, scale: Floats) -> Duals:
    """The multipliers of a program in P = scale * z, block by block in the order of `program_rows`."""
    m, n = model.problem.shape
    kept = (n + 1) // 2 if model.folded else n
    v, y = row_program.unfold_rows(y[:kept], n), y[kept:]
    answers, y = (y[:n], y[n:]) if model.problem.worst else (y[:0], y)
    limits = []
    for limit in model.problem.limits:
        count = n if limit.per_answer else 1
        limits.append(-y[:count])
        y = y[count:]
    holds = []
    for hub in model.hubs:
        shape = (len(hub.outputs), hub.stop - hub.start)
        rise, fall = np.zeros((m, shape[1])), np.zeros((m, shape[1]))
        size = shape[0] * shape[1]
        rise[hub.outputs] = y[:size].reshape(shape) / hub.factor
        fall[hub.outputs] = y[size : 2 * size].reshape(shape)
        holds.append(EqualityGroup(hub.start, hub.stop, hub.factor, rise, fall))
        y = y[2 * size :]
    compared = model.compared
    greater, lesser = scale[model.cells[compared.greater]], scale[model.cells[compared.lesser]]
    return Duals(compared, y / np.maximum(compared.factor * greater, lesser), tuple(holds), v, answers, tuple(limits))


def _bound(model: FoldedProgram, y: Floats, scale: Floats) -> float:
    """The better of two bounds: multipliers as they are, and recomputed along the chains if there are any."""
    problem, duals = model.problem, _duals(model, y, scale)
    bound = max(trivial_bound(problem), lower_bound(problem, duals, model.cells))
    if is_chain(problem):
        own = np.arange(model.linked, len(model.compared))
        rest = replace(duals, comparisons=model.compared[own], values=np.maximum(duals.values[own], 0.0))
        whole, _ = complete_duals(problem, chain(problem), rest, folded=model.folded)
        bound = max(bound, lower_bound(problem, whole, model.cells))
    return bound


def _proposal(model: FoldedProgram, x: Floats) -> Floats:
    """The matrix of a solution (a value per class of cells), made to keep every comparison and hub."""
    greater, lesser = model.cells[model.compared.greater], model.cells[model.compared.lesser]
    classwise = CellInequalities(greater, lesser, model.compared.factor)
    P = np.maximum(x, 0.0)[model.cells].reshape(model.problem.shape)
    x = np.where(P.max(axis=1, keepdims=True) > NO_ROW, P, 0.0).ravel()
    for _ in range(MAX_SWEEPS):
        least = np.zeros(model.size)
        np.maximum.at(least, model.cells, x)
        P = raise_to_ratios(least, classwise)[model.cells].reshape(model.problem.shape)
        for hub in model.hubs:
            block = P[hub.outputs, hub.start : hub.stop]
            P[hub.outputs, hub.start : hub.stop] = np.maximum(block, block.max(axis=1, keepdims=True) / hub.factor)
        if not model.hubs or np.array_equal(P.ravel(), x):
            break
        x = P.ravel()
    return P


def _best(problem: Problem, found: list[Floats]) -> Floats:
    """The first of those whose columns sum to one most nearly and whose loss is least, up to SAME of it."""
    off = [_off(P) for P in found]
    sound = [normalize_columns(P) for P, o in zip(found, off, strict=True) if o <= max(ROUNDING, 2 * min(off))]
    least = min(map(problem.value, sound))
    return next(P for P in sound if problem.value(P) <= least + SAME * abs(least))


def _off(P: Floats) -> float:
    """By how much the columns miss a sum of one."""
    return float(np.abs(P.sum(axis=0) - 1.0).max())


def _without_ties(model: FoldedProgram, solver: highspy.Highs, plain: highspy.Highs, deadline: float) -> bool:
    """Among all optima, find one with the least squared distance to the truth, all answers counted alike.

    What has a multiplier is tight in every optimum and nothing else is, so locking it leaves the optima. Whether
    the solver managed.
    """
    far = np.square(np.arange(model.problem.shape[0], dtype=np.float64)[:, None] - model.problem.home)
    cost = costs(model, far, model.scale)
    solution, lp = plain.getSolution(), solver.getLp()
    locked = np.flatnonzero(np.abs(solution.col_dual) > TIGHT)
    least = np.array(lp.col_lower_)
    solver.changeColsBounds(len(locked), locked.astype(np.int32), least[locked], least[locked])
    for row in np.flatnonzero(np.abs(solution.row_dual) > TIGHT):
        solver.changeRowBounds(int(row), lp.row_lower_[row], lp.row_lower_[row])
    solver.changeColsCost(len(cost), np.arange(len(cost), dtype=np.int32), cost)
    solver.setOptionValue("simplex_strategy", highs.PRIMAL_SIMPLEX)
    return highs.run(solver, deadline)


def solve(problem: Problem, max_seconds: float = 60.0) -> Proposal:
    """The best private mechanism with the properties asked for, and a proved bound.

    Within `max_seconds` an optimum (on long chains row by row, if that closes; else by the full program); beyond,
    the best mechanism at hand with its valid, weaker bound. Deterministic unless time runs out. The full program
    has about outputs * answers / 2 variables when it folds.

    Solvers have absolute tolerances, so the least loss of every answer is taken off, and the rest is divided by the
    loss of what is at hand; again by what was found, if that is much smaller.
    """
    deadline = time.monotonic() + max_seconds
    floor = np.full(problem.shape[1], problem.loss.min()) if problem.worst else problem.loss.min(axis=0)
    rest = replace(problem, loss=problem.loss - floor)
    first = rest.value(baseline_matrix(replace(rest, limits=())))
    found = _solve_scaled(rest, first, deadline)
    value = rest.value(found.matrix)
    if 0 < value < SMALL * first and value - found.bound > PROVED * value:
        again = _solve_scaled(rest, value, deadline)
        closest = min(found, again, key=lambda each: rest.value(each.matrix))
        found = replace(closest, bound=max(found.bound, again.bound))
    terms = floor[:1] if problem.worst else problem.prior * floor
    off = 2.0**-50 * (abs(found.bound) + len(terms) * float(np.abs(terms).sum()))
    return replace(found, bound=found.bound + float(terms.sum()) - off)


def _solve_scaled(problem: Problem, size: float, deadline: float) -> Proposal:
    """Solve in units of about `size`: a power of two, so that nothing is rounded."""
    size = max(size, NOTHING * float(problem.loss.max()))
    unit = math.ldexp(1.0, math.frexp(size)[1]) if size > 0 else 1.0
    found = _by_rows_or_whole(replace(problem, loss=problem.loss / unit), deadline)
    return replace(found, bound=found.bound * unit)


def _by_rows_or_whole(problem: Problem, deadline: float) -> Proposal:
    if problem.limits or not (
        problem.shape[1] >= ROWS_FROM and row_program.accepts(problem) and _spread(problem) >= SPREAD
    ):
        return full(problem, deadline)
    quick = row_program.solve(problem, (deadline - time.monotonic()) / 2, ROUNDS)
    if problem.value(quick.matrix) - quick.bound <= PROVED * abs(quick.bound):
        return quick
    found = full(problem, deadline)
    return replace(found, bound=max(found.bound, quick.bound))


def _spread(problem: Problem) -> float:
    return problem.epsilon * sum(d for _, _, d in problem.cliques)


def full(problem: Problem, deadline: float) -> Proposal:
    """The full program, up to a moment of the monotonic clock: a large one by an interior point, if that closes."""
    built = model(problem)
    if time.monotonic() > deadline:
        return Proposal(baseline_matrix(problem), trivial_bound(problem), "a mechanism at hand")
    if built.variables <= TIES_UP_TO:
        return _by_simplex(built, deadline)
    inner = _by_interior_point(built, deadline)
    if time.monotonic() > deadline or problem.value(inner.matrix) - inner.bound <= CLOSED * abs(inner.bound):
        return inner
    found = _by_simplex(built, deadline)
    return replace(found, bound=max(found.bound, inner.bound))


def _by_interior_point(built: FoldedProgram, deadline: float) -> Proposal:
    """Without crossover: among many optima a vertex takes longest to find, and nobody asked for one.

    The multipliers need no second solve: they are as good in the scaled program.
    """
    problem = built.problem
    solver = _start(built, built.scale, presolve=True)
    for option, value in INTERIOR_POINT.items():
        solver.setOptionValue(option, value)
    solved = highs.run_once(solver, deadline)
    bound = _bound(built, highs.duals(solver), built.scale) if solved else trivial_bound(problem)
    P = _proposal(built, built.scale * highs.values(solver)[: built.size]) if solved else np.zeros(problem.shape)
    if not solved or _off(P) > LOOSE:
        return Proposal(baseline_matrix(problem), bound, "a mechanism at hand")
    return Proposal(normalize_columns(P), bound, "full linear program, interior point")


def _by_simplex(built: FoldedProgram, deadline: float) -> Proposal:
    problem = built.problem
    solver, found = _start(built, built.scale, presolve=True), []
    if highs.run(solver, deadline):
        found.append(_proposal(built, built.scale * highs.values(solver)[: built.size]))
    elif time.monotonic() > deadline:
        return Proposal(baseline_matrix(problem), trivial_bound(problem), "a mechanism at hand")
    # the same basis in P itself, where multipliers do not suffer from the scaling
    plain = _start(built, np.ones(built.size), presolve=False)
    plain.setBasis(solver.getBasis())
    if highs.run(plain, deadline):
        found.append(_proposal(built, highs.values(plain)[: built.size]))
    bound = _bound(built, highs.duals(plain), np.ones(built.size))
    found = [P for P in found if _off(P) <= LOOSE]
    if not found:
        return Proposal(baseline_matrix(problem), bound, "a mechanism at hand")
    if built.variables <= TIES_UP_TO and _without_ties(built, solver, plain, deadline):
        settled = _proposal(built, built.scale * highs.values(solver)[: built.size])
        found = [settled, *found] if _off(settled) <= LOOSE else found
    return Proposal(_best(problem, found), bound, "full linear program, scaled and folded")
