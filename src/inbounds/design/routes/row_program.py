"""Row by row: properties on a chain of answers by column generation.

When only consecutive answers are neighbours, a row of the mechanism is a non-negative mix of rays that `chains`
prices exactly, so privacy and row monotonicity hold by construction, in the farthest tail too. What couples
rows stays in a small master program: columns sum to one, floors, the worst answer, and those comparisons across
rows that turn out violated. The bound is the master's multipliers completed along the chains. Fairness ties all
rows together and makes the search stall; fair requests belong to `fill` and to the full program.
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
    names,
    property_comparisons,
    property_stages,
)
from inbounds.design.problem import Floats, Ints, Problem, Proposal
from inbounds.design.routes.baseline import baseline_matrix
from inbounds.design.routes.chains import Chain, ForwardPass, chain, chain_rays, complete_duals, is_chain
from inbounds.design.solver import highs
from inbounds.design.solver.polish import normalize_columns

CLOSED = 1e-10  # relative gap at which the search ends
NEAR = 1e-3  # relative gap from which violated column comparisons join
GAIN = 1e-13  # a ray that improves by less is rounding


@dataclass(frozen=True, eq=False)
class RowRules:
    """lower <= matrix . cells (+ extra variables) <= upper."""

    matrix: csr_array
    lower: Floats
    upper: Floats


@dataclass(frozen=True, eq=False)
class RowProgram:
    """What does not change during the search.

    cells: classes of equal cells; kept: how many columns are said (half, when folded); truths: cells P[home[j], j]
    that are tied to y or to a floor.
    """

    problem: Problem
    folded: bool
    links: Chain
    cells: Ints
    kept: int
    truths: Ints
    rules: RowRules
    cost: Floats

    @property
    def outputs(self) -> Ints:
        m = self.problem.shape[0]
        return np.arange((m + 1) // 2 if self.folded else m)


def build_row_program(problem: Problem) -> RowProgram:
    n, asked, folded = problem.shape[1], names(problem), is_foldable(problem)
    kept = (n + 1) // 2 if folded else n
    truths = layout(problem).homes[: kept if "weakly_honest" in asked else 0]
    equal = property_comparisons(problem, asked & {"row_monotone"})
    cost = problem.loss * (0.0 if problem.worst else problem.prior)
    return RowProgram(
        problem, folded, chain(problem), classes(problem, equal, folded=folded), kept, truths,
        _rules(problem, kept, truths), cost,
    )  # fmt: skip


def _rules(problem: Problem, kept: int, truths: Ints) -> RowRules:
    """Columns sum to MASS, truths are above their floor, t minus each expected loss is above zero."""
    m, n = problem.shape
    cell, far = np.arange(m * n), np.inf
    j = cell % n
    parts = [_block(np.where(j < kept, 1.0, 0.0), j, kept, cell)]
    lower, upper = [np.full(kept, highs.MASS)], [np.full(kept, highs.MASS)]
    if truths.size:
        parts.append(_block(np.ones(kept), np.arange(kept), kept, truths, m * n))
        lower.append(highs.MASS * floors(problem).ravel()[truths])
        upper.append(np.full(kept, far))
    if problem.worst:
        parts.append(_block(-problem.loss.ravel(), j, n, cell))
        lower.append(np.zeros(n))
        upper.append(np.full(n, far))
    return RowRules(csr_array(vstack(parts)), np.concatenate(lower), np.concatenate(upper))


def _block(values: Floats, rows: Ints, height: int, cells: Ints, width: int | None = None) -> csr_array:
    inside = rows < height
    place = (rows[inside], cells[inside])
    return coo_array((values[inside], place), shape=(height, width or len(cells))).tocsr()


def _comparison_rules(problem: Problem, compared: CellInequalities) -> RowRules:
    k, size = np.arange(len(compared)), len(compared)
    place = (np.concatenate((k, k)), np.concatenate((compared.greater, compared.lesser)))
    values = np.concatenate((compared.factor, -np.ones(size)))
    matrix = coo_array((values, place), shape=(size, problem.loss.size)).tocsr()
    return RowRules(matrix, np.zeros(size), np.full(size, np.inf))


# --- the master program, as it grows --------------------------------------------------------------------


@dataclass(eq=False)
class RowMaster:
    """Rays found so far (output and shape of each), comparisons that joined, and the solver that holds both."""

    setting: RowProgram
    solver: highspy.Highs
    extras: int = 0  # t comes before the rays
    output: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    shape: list[Floats] = field(default_factory=list)
    joined: CellInequalities = NOTHING

    def matrix(self) -> Floats:
        """The mechanism of the last solution: rays times weights."""
        weights = np.maximum(highs.values(self.solver)[self.extras :], 0.0)
        P = np.zeros(self.setting.problem.shape)
        np.add.at(P, self.output, weights[:, None] * np.concatenate(self.shape))
        return P + P[::-1, ::-1] if self.setting.folded else P

    def add(self, output: Ints, shape: Floats) -> None:
        """Take up rays."""
        s = self.setting
        cells = _cells(s, output, shape)
        parts = [s.rules.matrix @ cells, _comparison_rules(s.problem, self.joined).matrix @ cells]
        highs.add_columns(self.solver, s.cost.ravel() @ cells, csc_array(vstack(parts)))
        self.output = np.concatenate((self.output, output))
        self.shape.append(shape)

    def join(self, compared: CellInequalities) -> None:
        """Take up comparisons."""
        rules = _comparison_rules(self.setting.problem, compared)
        A = csr_array(rules.matrix @ _cells(self.setting, self.output, np.concatenate(self.shape)))
        A.indices += self.extras
        highs.add_rows(self.solver, A, rules.lower, rules.upper)
        self.joined = self.joined + compared

    def duals(self) -> Duals:
        """The master's multipliers, without those of the chains."""
        s, y = self.setting, highs.duals(self.solver)
        n, first = s.problem.shape[1], s.kept + len(s.truths)
        answers = y[first : first + n] if s.problem.worst else y[:0]
        return Duals(self.joined, y[len(s.rules.lower) :], (), unfold_rows(y[: s.kept], n), answers)

    def floor_multipliers(self) -> Floats:
        """Multipliers of the floors, cell by cell: for the pricing only, the bound sees floors itself."""
        s, y = self.setting, highs.duals(self.solver)
        tied = np.zeros(s.problem.loss.size)
        tied[s.truths] = y[s.kept : s.kept + len(s.truths)]
        return tied.reshape(s.problem.shape)


def unfold_rows(v: Floats, n: int) -> Floats:
    """A folded column stands for itself and its mirror image, except the middle one."""
    if len(v) == n:
        return v
    j = np.arange(n)
    whole: Floats = np.concatenate((v, v[: n - len(v)][::-1])) / np.where(j == n - 1 - j, 1.0, 2.0)
    return whole


def _cells(s: RowProgram, output: Ints, shape: Floats) -> csr_array:
    """Cells (rows) of each ray (columns), with its mirror image when folded."""
    m, n = s.problem.shape
    cell = output[:, None] * n + np.arange(n)
    k = np.broadcast_to(np.arange(len(output))[:, None], cell.shape)
    if s.folded:
        cell, k, shape = np.hstack((cell, m * n - 1 - cell)), np.hstack((k, k)), np.hstack((shape, shape))
    return coo_array((shape.ravel(), (cell.ravel(), k.ravel())), shape=(m * n, len(output))).tocsr()


def _begin(s: RowProgram) -> RowMaster:
    """Uniform rows, with which every request is feasible, geometric ones, and those of explicit fair."""
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
    """The proved bound of the master's multipliers, and what each row could gain."""
    s, duals = master.setting, master.duals()
    whole, passed = complete_duals(s.problem, s.links, duals, tied=master.floor_multipliers(), folded=s.folded)
    return lower_bound(s.problem, whole, s.cells), passed


def _stages(s: RowProgram) -> tuple[CellInequalities, ...]:
    """What may join: honesty of rows and columns first, then the rest."""
    asked = names(s.problem)
    first, *later = property_stages(asked)
    kinds = (first | (asked & {"row_honest"}), *later)
    return tuple(drop_duplicates(property_comparisons(s.problem, kind), s.cells) for kind in kinds)


def accepts(problem: Problem) -> bool:
    """One output per answer, consecutive answers neighbours, not fair, no column ratio: the search's home.

    (Coarser cells force whole stretches of columns to be equal, and the search stalls on that.)
    """
    asked = names(problem)
    return (
        np.array_equal(problem.home, np.arange(problem.shape[0]))
        and is_chain(problem)
        and "fair" not in asked
        and not any(name.startswith("column_ratio") for name in asked)
    )


def solve(problem: Problem, max_seconds: float = 60.0, max_rounds: int = 1000) -> Proposal:
    """The best private mechanism on a chain of answers with properties other than fairness, and a proved bound.

    Each round prices all rows in O(outputs * answers) and solves a program with about one row per answer. If the
    gap does not close in `max_rounds` or `max_seconds`, a mechanism at hand is returned with the bound reached.
    """
    deadline, s = time.monotonic() + max_seconds, build_row_program(problem)
    waiting = _stages(s)
    master, best = _begin(s), trivial_bound(problem)
    for _ in range(max_rounds):
        if not highs.run(master.solver, deadline):
            break
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
                return Proposal(normalize_columns(P), best, "row by row")
        elif not rows.size:
            break
        master.add(rows, chain_rays(passed, rows))
    return Proposal(baseline_matrix(problem), best, "a mechanism at hand")
