"""The route for properties on a chain of answers: column generation, row by row.

When only consecutive answers are neighbours, a row of the mechanism is a non-negative mix of rays that `chains`
prices exactly, so privacy and row monotonicity hold by construction, in the farthest tail too. What couples
rows stays in a small master program: columns sum to one, floors, the worst answer, and those comparisons across
rows that turn out violated. The bound is the master's multipliers completed along the chains. Fairness ties all
rows together and makes the search stall, so fair requests use `outward_fill` and the full program.
"""

import time
from dataclasses import dataclass, field

import highspy
import numpy as np
from scipy.sparse import coo_array, csc_array, csr_array, vstack

from inbounds.design.bounds.duality import Duals, lower_bound, trivial_bound
from inbounds.design.closed.fair import fair_matrix
from inbounds.design.comparisons import (
    NOTHING,
    CellInequalities,
    classes,
    drop_duplicates,
    first_violated,
    floors,
    is_foldable,
    layout,
    property_comparisons,
    property_stages,
    requested_properties,
)
from inbounds.design.problem import Floats, Ints, Problem, Proposal
from inbounds.design.routes.chains import Chain, ForwardPass, chain, chain_rays, complete_duals, is_chain
from inbounds.design.routes.program_work import round_work, row_work_limit
from inbounds.design.routes.units import solve_in_units
from inbounds.design.solver import highs
from inbounds.design.solver.polish import normalize_columns

name = "row by row"
CLOSED = 1e-10  # relative gap at which the search ends
NEAR = 1e-3  # relative gap from which violated column comparisons join
GAIN = 1e-13  # a ray that improves by less is rounding
SPREAD = 5.0  # log-ratio between the ends from which it is tried: nearly flat rows need too many rays
FEWEST = 40  # answers from which it is tried
ROUNDS = 80  # it closes in a few rounds or not soon


@dataclass(frozen=True, eq=False)
class RowRules:
    """The constraints lower <= matrix . cells (+ extra variables) <= upper."""

    matrix: csr_array
    lower: Floats
    upper: Floats


@dataclass(frozen=True, eq=False)
class RowProgram:
    """The fixed data of the search.

    cells: classes of equal cells. columns: number of columns with an equation (half, when folded). truths: cells
    P[home[j], j] with a floor.
    """

    problem: Problem
    folded: bool
    links: Chain
    cells: Ints
    columns: int
    truths: Ints
    rules: RowRules
    cost: Floats

    @property
    def outputs(self) -> Ints:
        m = self.problem.shape[0]
        return np.arange((m + 1) // 2 if self.folded else m)

    @property
    def variables(self) -> int:
        """The number of variables of the folded program."""
        return int(self.cells.max()) + 1 + self.problem.worst


def build_row_program(problem: Problem) -> RowProgram:
    """Collect the fixed data of a problem."""
    n, properties, folded = problem.shape[1], requested_properties(problem), is_foldable(problem)
    columns = (n + 1) // 2 if folded else n
    truths = layout(problem).homes[: columns if "weakly_honest" in properties else 0]
    equal = property_comparisons(problem, properties & {"row_monotone"})
    cost = problem.loss * (0.0 if problem.worst else problem.prior)
    return RowProgram(
        problem, folded, chain(problem), classes(problem, equal, folded=folded), columns, truths,
        _rules(problem, columns, truths), cost,
    )  # fmt: skip


def _rules(problem: Problem, columns: int, truths: Ints) -> RowRules:
    """Build the rules: columns sum to MASS, truths are above their floor, t minus each expected loss is above zero."""
    m, n = problem.shape
    cell, far = np.arange(m * n), np.inf
    j = cell % n
    parts = [_block(np.where(j < columns, 1.0, 0.0), j, columns, cell)]
    lower, upper = [np.full(columns, highs.MASS)], [np.full(columns, highs.MASS)]
    if truths.size:
        parts.append(_block(np.ones(columns), np.arange(columns), columns, truths, m * n))
        lower.append(highs.MASS * floors(problem).ravel()[truths])
        upper.append(np.full(columns, far))
    if problem.worst:
        parts.append(_block(-problem.loss.ravel(), j, n, cell))
        lower.append(np.zeros(n))
        upper.append(np.full(n, far))
    return RowRules(csr_array(vstack(parts)), np.concatenate(lower), np.concatenate(upper))


def _block(values: Floats, rows: Ints, height: int, cells: Ints, width: int | None = None) -> csr_array:
    """Build a sparse block with these values; rows from `height` on are dropped."""
    inside = rows < height
    place = (rows[inside], cells[inside])
    return coo_array((values[inside], place), shape=(height, width or len(cells))).tocsr()


def _comparison_rules(problem: Problem, compared: CellInequalities) -> RowRules:
    """Build the rules of comparisons."""
    k, size = np.arange(len(compared)), len(compared)
    place = (np.concatenate((k, k)), np.concatenate((compared.greater, compared.lesser)))
    values = np.concatenate((compared.factor, -np.ones(size)))
    matrix = coo_array((values, place), shape=(size, problem.loss.size)).tocsr()
    return RowRules(matrix, np.zeros(size), np.full(size, np.inf))


# --- the master program, as it grows --------------------------------------------------------------------


@dataclass(eq=False)
class RowMaster:
    """The master program: rays found so far (output and shape of each), comparisons added so far, and the solver."""

    setting: RowProgram
    solver: highspy.Highs
    extras: int = 0  # t comes before the rays
    output: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    shape: list[Floats] = field(default_factory=list)
    joined: CellInequalities = NOTHING

    def matrix(self) -> Floats:
        """Return the matrix of the last solution: rays times weights."""
        weights = np.maximum(highs.values(self.solver)[self.extras :], 0.0)
        P = np.zeros(self.setting.problem.shape)
        np.add.at(P, self.output, weights[:, None] * np.concatenate(self.shape))
        return P + P[::-1, ::-1] if self.setting.folded else P

    def add(self, output: Ints, shape: Floats) -> None:
        """Add rays."""
        s = self.setting
        cells = _cells(s, output, shape)
        parts = [s.rules.matrix @ cells, _comparison_rules(s.problem, self.joined).matrix @ cells]
        highs.add_columns(self.solver, s.cost.ravel() @ cells, csc_array(vstack(parts)))
        self.output = np.concatenate((self.output, output))
        self.shape.append(shape)

    def join(self, compared: CellInequalities) -> None:
        """Add comparisons."""
        rules = _comparison_rules(self.setting.problem, compared)
        A = csr_array(rules.matrix @ _cells(self.setting, self.output, np.concatenate(self.shape)))
        A.indices += self.extras
        highs.add_rows(self.solver, A, rules.lower, rules.upper)
        self.joined = self.joined + compared

    def duals(self) -> Duals:
        """Return the multipliers of the master program, without those of the chains."""
        s, y = self.setting, highs.duals(self.solver)
        n, first = s.problem.shape[1], s.columns + len(s.truths)
        answers = y[first : first + n] if s.problem.worst else y[:0]
        return Duals(self.joined, y[len(s.rules.lower) :], (), unfold_rows(y[: s.columns], n), answers)

    def floor_multipliers(self) -> Floats:
        """Return the multipliers of the floors, cell by cell. Only the pricing needs them; the bound handles floors
        itself.
        """
        s, y = self.setting, highs.duals(self.solver)
        tied = np.zeros(s.problem.loss.size)
        tied[s.truths] = y[s.columns : s.columns + len(s.truths)]
        return tied.reshape(s.problem.shape)


def unfold_rows(v: Floats, n: int) -> Floats:
    """Divide the duals of folded columns between each column and its mirror image; the middle one has none."""
    if len(v) == n:
        return v
    j = np.arange(n)
    whole: Floats = np.concatenate((v, v[: n - len(v)][::-1])) / np.where(j == n - 1 - j, 1.0, 2.0)
    return whole


def _cells(s: RowProgram, output: Ints, shape: Floats) -> csr_array:
    """Return the cells (rows) of each ray (columns), with its mirror image when folded."""
    m, n = s.problem.shape
    cell = output[:, None] * n + np.arange(n)
    k = np.broadcast_to(np.arange(len(output))[:, None], cell.shape)
    if s.folded:
        cell, k, shape = np.hstack((cell, m * n - 1 - cell)), np.hstack((k, k)), np.hstack((shape, shape))
    return coo_array((shape.ravel(), (cell.ravel(), k.ravel())), shape=(m * n, len(output))).tocsr()


def _start_master(s: RowProgram) -> RowMaster:
    """Start with uniform rows, which make every request feasible, geometric rows, and those of explicit fair."""
    rules, n = s.rules, s.problem.shape[1]
    solver = highs.solver(presolve="off", simplex_strategy=highs.PRIMAL_SIMPLEX)
    nothing = csr_array((len(rules.lower), 0))
    highs.load(solver, np.empty(0), np.empty(0), nothing, rules.lower, rules.upper)
    master = RowMaster(s, solver)
    if s.problem.worst:
        k = np.arange(len(rules.lower) - n, len(rules.lower), dtype=np.int32)
        solver.addCol(1.0, -np.inf, np.inf, n, k, np.ones(n))
        master.extras += 1
    master.add(s.outputs, np.ones((len(s.outputs), n)))
    master.add(s.outputs, chain_rays(ForwardPass(np.ones(s.problem.shape), s.links), s.outputs))
    if s.problem.shape[0] == n > 1:
        P = fair_matrix(n, s.problem.epsilon * min(d for _, _, d in s.problem.cliques))
        master.add(s.outputs, (P / P.max(axis=1, keepdims=True))[s.outputs])
    return master


# --- the search -----------------------------------------------------------------------------------------


def _price_rows(master: RowMaster) -> tuple[float, ForwardPass]:
    """Return the proved bound of the master's multipliers, and the possible gain of each row."""
    s, duals = master.setting, master.duals()
    whole, passed = complete_duals(s.problem, s.links, duals, tied=master.floor_multipliers(), folded=s.folded)
    return lower_bound(s.problem, whole, s.cells), passed


def _stages(s: RowProgram) -> tuple[CellInequalities, ...]:
    """List the comparisons that may be added: honesty of rows and columns first, then the rest."""
    properties = requested_properties(s.problem)
    first, *later = property_stages(properties)
    kinds = (first | (properties & {"row_honest"}), *later)
    return tuple(drop_duplicates(property_comparisons(s.problem, kind), s.cells) for kind in kinds)


def accepts(problem: Problem) -> bool:
    """Return whether this route is worth trying: a long chain that is not nearly flat, properties that fit."""
    spread = problem.epsilon * sum(d for _, _, d in problem.cliques)
    return bool(problem.properties) and fits(problem) and problem.shape[1] >= FEWEST and spread >= SPREAD


def fits(problem: Problem) -> bool:
    """Return whether this route applies: one output per answer, consecutive neighbours, not fair, no column ratio.

    Coarser cells force many columns to be equal, which makes the search stall.
    """
    properties = requested_properties(problem)
    return (
        np.array_equal(problem.home, np.arange(problem.shape[0]))
        and is_chain(problem)
        and not problem.limits
        and "fair" not in properties
        and not any(asked.startswith("column_ratio") for asked in properties)
    )


def solve(problem: Problem, deadline: float = np.inf) -> Proposal:
    """Find the best private mechanism on a chain of answers with properties other than fairness, and a proved bound.

    Each round prices all rows in O(outputs * answers) and solves a program with about one row per answer. If the
    gap does not close in ROUNDS, in the work of the solver that would follow (`program_work`), or in half of the time,
    there is only the bound so far.
    """
    now = time.monotonic()
    return solve_in_units(problem, now + max(deadline - now, 0.0) / 2, generate_rows)


def generate_rows(problem: Problem, deadline: float) -> Proposal:
    """Run column generation, in losses of about one."""
    s = build_row_program(problem)
    waiting = _stages(s)
    master, best = _start_master(s), trivial_bound(problem)
    work, most = 0.0, row_work_limit(s.variables)
    for _ in range(ROUNDS):
        if work > most or not highs.run(master.solver, deadline):
            break
        work += round_work(highs.pivots(master.solver), master.solver.getNumNz(), problem.loss.size)
        P = master.matrix()
        bound, passed = _price_rows(master)
        best, value = max(best, bound), problem.value(P)
        rows = s.outputs[passed.value[s.outputs] < -GAIN]
        if value - best <= NEAR * abs(value):
            joining = first_violated(waiting, P)
            if len(joining):
                master.join(joining)
                continue
            if value - best <= CLOSED * abs(value) or not rows.size:
                return Proposal(normalize_columns(P), best, name)
        elif not rows.size:
            break
        master.add(rows, chain_rays(passed, rows))
    return Proposal(None, best, name)
