"""The master program of column generation: a small linear program over the rays found so far.

Columns are (ray, output) pairs, rows are answers. The final basis is solved again by dense linear algebra, so that
weights and duals are accurate to float precision, not only to the solver's tolerance.
"""

import time
from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
from scipy.sparse import csc_array

from inbounds.design.problem import Floats, Ints, fold_mirror, unfold_mirror
from inbounds.design.solver import highs
from inbounds.design.solver.kink_basis import Kinks
from inbounds.design.solver.simplex import Program, finish

#: the solver's tolerances while rays are collected and at the end; from MANY_ROWS rows on the end tolerance is larger
COARSE, FINE, MANY_ROWS = 1e-7, 1e-10, 150
#: steps of the simplex method for each row after which it stalls, and another method is tried from scratch
PATIENCE = 6
#: largest infeasibility of a solution that is still worth solving again exactly
LOOSE = 1e-6


@dataclass(frozen=True, eq=False)
class MasterSolution:
    """A solution: weights of the columns, duals v of the column sums, weights mu of the answers, and the value."""

    weights: Floats
    v: Floats
    mu: Floats
    value: float


class MasterProgram:
    """Minimize the cost of a mix of rays that sums to one at every answer; `worst`: the largest loss t of any answer.

    prior: weights of the answers (ignored when `worst`); loss[i, j] >= 0. mirrored: everything equals its
    mirror image, so half of the rows suffice. Values inside are divided by `scale`, which should be near the optimum,
    because solvers have absolute tolerances. kinks: combinations of the sums in which rays are sparse, or None.
    work: number of entries that the solver has processed so far, the same on every machine.
    """

    def __init__(
        self, loss: Floats, prior: Floats, worst: bool, mirrored: bool, scale: float = 1.0, kinks: Kinks | None = None
    ) -> None:
        self.loss, self.prior, self.worst, self.mirrored, self.scale = loss, prior, worst, mirrored, scale
        self.kinks = kinks
        self.mass = 1.0 if kinks is None else highs.MASS  # sum of the weights in the solver
        n = (loss.shape[1] + 1) // 2 if mirrored else loss.shape[1]
        self.size, self.rows = n, 2 * n if worst else n
        self.rays: Floats = np.empty((loss.shape[1], 0))
        self.outputs: Ints = np.empty(0, np.int64)
        self.columns: Floats = np.empty((self.rows, 0))
        self.costs: Floats = np.empty(0)
        self.seen: set[bytes] = set()
        self.work, self.entries = 0.0, 0
        self.solver = _solver(self.mass * self._sums(np.zeros((loss.shape[1], 1)))[:, 0], self.rows)
        if worst:
            top = np.concatenate([np.zeros(n), -np.ones(n)])[:, None]
            self._append(top, top, np.ones(1))

    def add(self, log_x: Floats, outputs: Ints) -> int:
        """Add rays (as logs, one per column) for `outputs`, without duplicates; return how many were new."""
        fresh = []
        for c, (x, i) in enumerate(zip(log_x.T, outputs, strict=True)):
            key = np.append(np.round(x - x.max(), 9) + 0.0, i).tobytes()
            if key not in self.seen:
                self.seen.add(key)
                fresh.append(c)
        if not fresh:
            return 0
        log_x, outputs = log_x[:, fresh], outputs[fresh]
        log_x = log_x - log_x.max(axis=0)
        log_x -= np.log(np.exp(log_x).mean(axis=0))  # equal sizes: the solver would ignore narrow rays
        x = np.exp(log_x)
        self.rays, self.outputs = np.hstack([self.rays, x]), np.append(self.outputs, outputs)
        losses = self.loss[outputs].T * x / self.scale
        rest = self._fold(losses)[: self.rows - self.size]
        costs = np.zeros(len(outputs)) if self.worst else self.prior @ losses
        self._append(np.vstack([self._fold(x), rest]), np.vstack([self._sums(log_x), rest]), costs)
        return len(fresh)

    def _sums(self, log_x: Floats) -> Floats:
        """Return the coefficients of rays in the equations."""
        return self._fold(np.exp(log_x)) if self.kinks is None else self.kinks.combine(log_x)

    def _fold(self, x: Floats) -> Floats:
        """Fold rays with their mirror images, if mirrored."""
        return fold_mirror(x, self.size) if self.mirrored else x

    def _unfold(self, y: Floats) -> Floats:
        """Expand duals to all answers, if mirrored."""
        return unfold_mirror(y, self.loss.shape[1]) if self.mirrored else y

    def _append(self, columns: Floats, combined: Floats, costs: Floats) -> None:
        """Add columns to the program and to the solver."""
        self.columns, self.costs = np.hstack([self.columns, columns]), np.append(self.costs, costs)
        entries = csc_array(combined)
        self.entries += entries.nnz
        highs.add_columns(self.solver, costs, entries)

    def begin(self) -> None:
        """Start from the first ray alone. It must be constant, which is feasible, so no first phase is needed."""
        first, n, state = int(self.worst), self.size, highspy.HighsBasisStatus
        rows = [state.kBasic] * self.rows
        rows[0] = state.kLower
        if self.worst:
            rows[n + int(self.columns[n:, 1].argmax())] = state.kUpper
        basis = highspy.HighsBasis()
        basis.col_status = [state.kBasic] * (first + 1) + [state.kLower] * (len(self.costs) - first - 1)
        basis.row_status, basis.valid = rows, True
        self.solver.setBasis(basis)

    def refine(self) -> None:
        """Switch to the fine tolerance."""
        tolerance = FINE if self.rows <= MANY_ROWS else 10 * FINE
        self.solver.setOptionValue("primal_feasibility_tolerance", tolerance)
        self.solver.setOptionValue("dual_feasibility_tolerance", tolerance)

    def solve(self, seconds: float, pivots: int | None = None) -> MasterSolution | None:
        """Find the best mix; return None if the time ran out or the solver failed.

        With `pivots` the solver's last basis is solved again in full precision, followed by at most so many pivots.
        """
        end = time.monotonic() + seconds
        if not self._run(end) and time.monotonic() < end:
            # primal simplex broke down on rays that are almost parallel: another method, from scratch
            self.solver.clearSolver()
            self.solver.setOptionValue("solver", "ipm")
            self._run(end)
            self.solver.setOptionValue("solver", "simplex")
        if not self._is_usable():
            return None
        solution = self.solver.getSolution()
        weights, y = np.maximum(solution.col_value, 0.0) / self.mass, self._duals(np.array(solution.row_dual))
        if pivots is not None and self.solver.getBasis().valid:
            index = np.asarray(self.solver.getBasicVariables()[1], np.int64)
            slacks = None if self.kinks is None else self.kinks.inverse
            program = Program(self.columns, self.costs, self.size, slacks)
            weights, y = finish(program, index, pivots) or (weights, y)
        n, first = self.size, int(self.worst)
        mu = self._unfold(np.maximum(-y[n:], 0.0)) if self.worst else self.prior
        value = self.scale * float(self.costs @ weights)
        return MasterSolution(weights[first:], self.scale * self._unfold(y[:n]), mu, value)

    def _duals(self, y: Floats) -> Floats:
        """Convert the duals of the solver's rows to those of the sums and losses."""
        n = self.size
        return y if self.kinks is None else np.append(self.kinks.matrix.T @ y[:n], y[n:])

    def _run(self, end: float) -> bool:
        """Run the solver until `end`; return whether the solution is usable."""
        self.solver.setOptionValue("time_limit", self.solver.getRunTime() + max(end - time.monotonic(), 0.0))
        self.solver.run()
        self.work += float(self.entries) * self.solver.getInfo().simplex_iteration_count
        return self._is_usable()

    def _is_usable(self) -> bool:
        """Return whether the solution is optimal, or misses the tolerance by little, as with almost parallel rays."""
        status, info = self.solver.getModelStatus(), self.solver.getInfo()
        if status == highspy.HighsModelStatus.kUnknown:
            return bool(max(info.max_primal_infeasibility, info.max_dual_infeasibility) < LOOSE)
        return bool(status == highspy.HighsModelStatus.kOptimal)

    def matrix(self, weights: Floats) -> Floats:
        """Return the matrix of a mix: weighted rays in the rows of their outputs; if mirrored, with the mirror
        image.
        """
        P, count = np.zeros(self.loss.shape), len(weights)
        np.add.at(P, self.outputs[:count], (self.rays[:, :count] * weights).T)
        return (P + P[::-1, ::-1]) / 2 if self.mirrored else P


def _solver(sums: Floats, rows: int) -> Any:
    """Make a solver with one equation for each sum; the other rows are at most zero."""
    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    options: dict[str, bool | int | float | str] = {
        "output_flag": False,
        "threads": 1,
        "presolve": "off",
        "simplex_strategy": 4,  # primal: new columns leave the old basis feasible
        "primal_feasibility_tolerance": COARSE,
        "dual_feasibility_tolerance": COARSE,
        "small_matrix_value": 1e-12,
        "simplex_iteration_limit": PATIENCE * rows,
    }
    if rows > len(sums):
        options["simplex_scale_strategy"] = 0  # columns are of one size already: half the time for the worst answer
    for name, value in options.items():
        solver.setOptionValue(name, value)
    for total in sums:
        solver.addRow(total, total, 0, np.empty(0, np.int32), np.empty(0))
    for _ in range(rows - len(sums)):
        solver.addRow(-highspy.kHighsInf, 0.0, 0, np.empty(0, np.int32), np.empty(0))
    return solver
