"""The route for any properties, neighbourhood, loss, prior and aim: the papers' linear program, scaled and folded.

`folding` makes the textbook form (000, section 4.3; 003, section III) smaller and more accurate. The lower bound
comes from the duals of the same basis in unscaled form, by weak duality (`duality`), completed along chains.
"""

import time
from dataclasses import replace

import highspy
import numpy as np

from inbounds.design.bounds.duality import Duals, EqualityGroup, lower_bound, trivial_bound
from inbounds.design.comparisons import CellInequalities, floors, requested_properties
from inbounds.design.graphs import graph_route
from inbounds.design.problem import Floats, Problem, Proposal
from inbounds.design.routes import column_generation, limited
from inbounds.design.routes.chains import chain, complete_duals, is_chain
from inbounds.design.routes.folding import FoldedProgram, costs, fold_program, program_rows
from inbounds.design.routes.program_work import VERTEX_UP_TO
from inbounds.design.routes.row_program import unfold_rows
from inbounds.design.routes.units import solve_in_units
from inbounds.design.solver import clarabel, highs
from inbounds.design.solver.polish import normalize_columns, raise_to_ratios

name = "full linear program"
TIGHT = 1e-9  # a multiplier above this marks what every optimum keeps tight
ROUNDING = 1e-12  # columns that sum to one up to this need no suspicion
LOOSE = 1e-6  # columns that miss a sum of one by more are no solution, whatever the solver says
NO_ROW = 1e-14  # an output less likely than this under every answer is left out
MAX_SWEEPS = 100
MOST_AFTER_GRAPHS = 1 << 17  # outputs times edges, one row of the program each: it is built in about 0.1 s
SAME = 1e-10  # what breaking ties may cost, relative to the loss
ACCURATE = 1e-9  # the same for an interior point, which is no more accurate
TIE_STEPS = 2  # times the steps of the plain program, for breaking its ties
SHARE = clarabel.TOLERANCE**0.5  # of the squared distance in the cost: as far below the loss as above the tolerance


def _costs_and_floors(model: FoldedProgram, scale: Floats) -> tuple[Floats, Floats]:
    """Return the costs and the lower bounds of the variables of the program in P = scale * z."""
    problem, least = model.problem, np.zeros(model.variables)
    np.maximum.at(least, model.cells, highs.MASS * floors(problem).ravel() / scale[model.cells])
    cost = costs(model, problem.loss * (0.0 if problem.worst else problem.prior), scale)
    if problem.worst:
        least[-1], cost[-1] = -np.inf, 1.0
    return cost, least


def _load_solver(model: FoldedProgram, scale: Floats, *, presolve: bool) -> highspy.Highs:
    """Load the program in P = scale * z into the simplex solver."""
    (cost, least), built = _costs_and_floors(model, scale), program_rows(model, scale)
    solver = highs.solver(presolve="choose" if presolve else "off")
    highs.load(solver, cost, least, built.matrix, built.lower, built.upper)
    return solver


def _duals(model: FoldedProgram, y: Floats, scale: Floats) -> Duals:
    """Read the multipliers of a program in P = scale * z, block by block in the order of `program_rows`."""
    m, n = model.problem.shape
    columns = (n + 1) // 2 if model.folded else n
    v, y = unfold_rows(y[:columns], n), y[columns:]
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
    """Return the better of two bounds: with the multipliers as they are, and recomputed along the chains, if any."""
    problem, duals = model.problem, _duals(model, y, scale)
    bound = max(trivial_bound(problem), lower_bound(problem, duals, model.cells))
    if is_chain(problem):
        unlinked = np.arange(model.linked, len(model.compared))
        rest = replace(duals, comparisons=model.compared[unlinked], values=np.maximum(duals.values[unlinked], 0.0))
        whole, _ = complete_duals(problem, chain(problem), rest, folded=model.folded)
        bound = max(bound, lower_bound(problem, whole, model.cells))
    return bound


def _repair_solution(model: FoldedProgram, x: Floats) -> Floats:
    """Turn a solution (a value per class of cells) into a matrix that keeps every comparison and hub."""
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


def _choose_best(problem: Problem, matrices: list[Floats]) -> Floats:
    """Choose the first matrix of least loss, up to SAME of it, among those whose columns sum to one best."""
    errors = [_column_error(P) for P in matrices]
    sound = [normalize_columns(P) for P, o in zip(matrices, errors, strict=True) if o <= max(ROUNDING, 2 * min(errors))]
    least = min(map(problem.value, sound))
    return next(P for P in sound if problem.value(P) <= least + SAME * abs(least))


def _column_error(P: Floats) -> float:
    """Return the largest error of a column sum."""
    return float(np.abs(P.sum(axis=0) - 1.0).max())


def _break_ties(model: FoldedProgram, solver: highspy.Highs, plain: highspy.Highs, deadline: float) -> bool:
    """Find, among all optima, one with the least squared distance to the truth, with equal weights of the answers.

    Exactly the constraints with a multiplier are tight in every optimum, so fixing them leaves the set of optima.
    Returns whether the solver succeeded.
    """
    cost = costs(model, _squared_distances(model.problem), model.scale)
    solution, lp = plain.getSolution(), solver.getLp()
    locked = np.flatnonzero(np.abs(solution.col_dual) > TIGHT)
    least = np.array(lp.col_lower_)
    solver.changeColsBounds(len(locked), locked.astype(np.int32), least[locked], least[locked])
    for row in np.flatnonzero(np.abs(solution.row_dual) > TIGHT):
        solver.changeRowBounds(int(row), lp.row_lower_[row], lp.row_lower_[row])
    solver.changeColsCost(len(cost), np.arange(len(cost), dtype=np.int32), cost)
    solver.setOptionValue("simplex_strategy", highs.PRIMAL_SIMPLEX)
    return highs.run(solver, deadline)


def _squared_distances(problem: Problem) -> Floats:
    """Return the squared distance of every output from the one that holds the answer, in positions."""
    return np.square(np.arange(problem.shape[0], dtype=np.float64)[:, None] - problem.home)


def may_tie(problem: Problem) -> bool:
    """Return whether some answer does not tell outputs apart although one is farther from it.

    Then many designs may be optimal: for the worst answer, whose loss the others need not share, for answers without
    weight, and for losses with steps.
    """
    if problem.worst or not (problem.prior > 0).all():
        return True
    far, order = _squared_distances(problem), np.arange(problem.shape[0])[:, None] < problem.home
    for side in (order, ~order):
        first, second = side[:-1] & side[1:], np.diff(problem.loss, axis=0) == 0
        if (first & second & (np.diff(far, axis=0) != 0)).any():
            return True
    return False


def accepts(problem: Problem) -> bool:
    """Return whether no other route is better suited.

    Cone rays solve everything that they accept. The routes of graphs may leave a gap: their flows are in 32-bit
    integers, and the probabilities of a row may differ by more than that. Then the program follows, if it is small.
    """
    if problem.edges is not None and graph_route.accepts(problem):
        return problem.shape[0] * len(problem.edges.tails) <= MOST_AFTER_GRAPHS
    return not (column_generation.accepts(problem) or limited.accepts(problem))


def solve(problem: Problem, deadline: float = np.inf) -> Proposal:
    """Find the best private mechanism with the requested properties and within the limits, and a proved bound.

    Within the deadline an optimum, after that only a valid, weaker bound. Deterministic unless time runs out. The
    program has about outputs * answers / 2 variables when it folds.
    """
    return solve_in_units(problem, deadline, solve_full_program)


def solve_full_program(problem: Problem, deadline: float) -> Proposal:
    """Solve the full program until the deadline (monotonic clock): all but small ones by an interior point, if that
    closes."""
    built = fold_program(problem)
    if time.monotonic() > deadline:
        return Proposal(None, trivial_bound(problem), name)
    if built.variables <= VERTEX_UP_TO:
        return _solve_by_simplex(built, deadline)
    proposal = _solve_by_interior_point(built, deadline)
    if time.monotonic() > deadline or proposal.is_closed(problem):
        return proposal
    return proposal.improve(problem, _solve_by_simplex(built, deadline))


def _solve_by_interior_point(built: FoldedProgram, deadline: float) -> Proposal:
    """Solve by an interior point, and again with ties broken if there may be any.

    The program is in P itself, where the multipliers do not suffer from scaling. What a small absolute error does to
    the tails is repaired at no cost: a cell that is too small is raised to what its neighbours require.

    An interior point ends in the middle of all optima. A small share of the squared distance in the cost selects the
    nearest one; the multipliers of the plain cost prove the bound.
    """
    problem, plain = built.problem, np.ones(built.size)
    rows = program_rows(built, plain)
    cost, least = _costs_and_floors(built, plain)
    solution = clarabel.solve_linear_program(cost, least, rows.matrix, rows.lower, rows.upper, deadline)
    if solution is None:
        return Proposal(None, trivial_bound(problem), name)
    bound, matrices = _bound(built, solution.duals, plain), [_sound_matrix(built, solution)]
    if may_tie(problem) and time.monotonic() < deadline:
        far = costs(built, _squared_distances(problem), plain)
        cost = cost + (SHARE / far.max()) * far
        steps = min(TIE_STEPS * solution.steps, clarabel.MOST_STEPS)
        solution = clarabel.solve_linear_program(cost, least, rows.matrix, rows.lower, rows.upper, deadline, steps)
        matrices.insert(0, None if solution is None else _sound_matrix(built, solution))
    sound = [P for P in matrices if P is not None]
    most = min(map(problem.value, sound), default=0.0) * (1 + ACCURATE)
    nearest = next((P for P in sound if problem.value(P) <= most), None)
    return Proposal(nearest, bound, f"{name}, interior point")


def _sound_matrix(built: FoldedProgram, solution: clarabel.LinearSolution) -> Floats | None:
    """Repair the matrix of an interior point; None if its columns are far from a sum of one."""
    P = _repair_solution(built, solution.values[: built.size] / highs.MASS)
    return _normalize(built.problem, P) if _column_error(P) <= LOOSE else None


def _normalize(problem: Problem, P: Floats) -> Floats:
    """Scale columns to sum to one. The common truth of a fair mechanism is left as it is: columns differ by more than a
    property may be missed."""
    fair = "fair" in requested_properties(problem)
    return normalize_columns(P, np.arange(len(P))[:, None] == problem.home if fair else None)


def _solve_by_simplex(built: FoldedProgram, deadline: float) -> Proposal:
    """Solve the program by the simplex method, with ties broken if it is small."""
    problem = built.problem
    solver, matrices = _load_solver(built, built.scale, presolve=True), []
    if highs.run(solver, deadline):
        matrices.append(_repair_solution(built, built.scale * highs.values(solver)[: built.size]))
    elif time.monotonic() > deadline:
        return Proposal(None, trivial_bound(problem), name)
    # the same basis in P itself, where multipliers do not suffer from the scaling
    plain = _load_solver(built, np.ones(built.size), presolve=False)
    plain.setBasis(solver.getBasis())
    if highs.run(plain, deadline):
        matrices.append(_repair_solution(built, highs.values(plain)[: built.size]))
    bound = _bound(built, highs.duals(plain), np.ones(built.size))
    matrices = [P for P in matrices if _column_error(P) <= LOOSE]
    if not matrices:
        return Proposal(None, bound, name)
    if built.variables <= VERTEX_UP_TO and _break_ties(built, solver, plain, deadline):
        tie_free = _repair_solution(built, built.scale * highs.values(solver)[: built.size])
        matrices = [tie_free, *matrices] if _column_error(tie_free) <= LOOSE else matrices
    return Proposal(_choose_best(problem, matrices), bound, f"{name}, scaled and folded")
