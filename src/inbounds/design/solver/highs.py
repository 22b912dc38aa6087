"""The interface to HiGHS. Other modules use its names and options only through this one and `master`."""

import time

import highspy
import numpy as np
from scipy.sparse import csc_array, csr_array

from inbounds.design.problem import Floats

# One thread and a fixed seed: the same request gives the same matrix on every run.
OPTIONS: dict[str, bool | int | float | str] = {
    "output_flag": False,
    "threads": 1,
    "random_seed": 0,
    "solver": "simplex",
    "small_matrix_value": 1e-12,
    "primal_feasibility_tolerance": 1e-10,
    "dual_feasibility_tolerance": 1e-10,
}
DUAL_SIMPLEX, PRIMAL_SIMPLEX = 1, 4
MASS = 256.0  # sum of a column inside the solver, so that its absolute tolerance is 4e-13 of one


def solver(**options: bool | int | float | str) -> highspy.Highs:
    """Make a solver with OPTIONS, overridden by `options`."""
    highs: highspy.Highs = highspy.Highs()  # type: ignore[no-untyped-call]
    for option, value in {**OPTIONS, **options}.items():
        highs.setOptionValue(option, value)
    return highs


def load(highs: highspy.Highs, cost: Floats, least: Floats, rows: csr_array, lower: Floats, upper: Floats) -> None:
    """Load the program: minimize cost . z subject to lower <= rows z <= upper, z >= least."""
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = rows.shape
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = cost, least, np.full(len(cost), np.inf)
    lp.row_lower_, lp.row_upper_ = lower, upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = rows.indptr, rows.indices, rows.data
    highs.passModel(lp)


def add_rows(highs: highspy.Highs, rows: csr_array, lower: Floats, upper: Floats) -> None:
    """Add the constraints lower <= rows z <= upper."""
    highs.addRows(len(lower), lower, upper, rows.nnz, rows.indptr[:-1], rows.indices, rows.data)


def add_columns(highs: highspy.Highs, cost: Floats, columns: csc_array) -> None:
    """Add non-negative variables with these costs and coefficients in the rows."""
    k = len(cost)
    none, any_size = np.zeros(k), np.full(k, np.inf)
    highs.addCols(k, cost, none, any_size, columns.nnz, columns.indptr[:-1], columns.indices, columns.data)


def run(highs: highspy.Highs, deadline: float) -> bool:
    """Solve until the deadline (monotonic clock); return whether an optimum was reached.

    Every program here has an optimum, so any other status is numerical trouble. Then the program is solved once more
    from scratch, without presolve and by the dual simplex method.
    """
    status = highspy.HighsModelStatus
    if _attempt(highs, deadline) not in (status.kOptimal, status.kTimeLimit):
        _, strategy = highs.getOptionValue("simplex_strategy")
        highs.clearSolver()
        highs.setOptionValue("presolve", "off")
        highs.setOptionValue("simplex_strategy", DUAL_SIMPLEX)
        _attempt(highs, deadline)
        highs.setOptionValue("simplex_strategy", strategy)
    return bool(highs.getModelStatus() == status.kOptimal)


def _attempt(highs: highspy.Highs, deadline: float) -> highspy.HighsModelStatus:
    """Run the solver once until the deadline and return its status."""
    seconds = max(0.01, deadline - time.monotonic())
    highs.setOptionValue("time_limit", highs.getRunTime() + seconds)
    highs.run()
    return highs.getModelStatus()


def values(highs: highspy.Highs) -> Floats:
    """Return the solution, divided by MASS."""
    return np.array(highs.getSolution().col_value) / MASS


def duals(highs: highspy.Highs) -> Floats:
    """Return the duals of the rows."""
    return np.array(highs.getSolution().row_dual)


def pivots(highs: highspy.Highs) -> int:
    """Return the number of pivots of the last run."""
    return max(int(highs.getInfo().simplex_iteration_count), 0)
