"""The interface to Clarabel, an interior-point solver. Other modules use its names and settings only through this one.

One thread and a fixed factorization: the same program gives the same numbers on every run.
"""

import time
from dataclasses import dataclass

import clarabel
import numpy as np
from scipy.sparse import csc_array, csc_matrix, csr_array, eye_array, vstack

from inbounds.design.problem import Floats

TOLERANCE = 1e-12
"""Absolute and relative gap and residuals at which it stops; where it gets stuck before, its best point is returned."""

MOST_STEPS = 200
"""Largest number of steps: it needs some thirty, or gets stuck."""


@dataclass(frozen=True, eq=False)
class LinearSolution:
    """A nearly optimal point, the duals of the rows, and the number of steps to it."""

    values: Floats
    duals: Floats
    steps: int


def solve_linear_program(
    cost: Floats,
    least: Floats,
    rows: csr_array,
    lower: Floats,
    upper: Floats,
    deadline: float,
    most_steps: int = MOST_STEPS,
) -> LinearSolution | None:
    """Minimize cost . z subject to lower <= rows z <= upper, z >= least, until the deadline (monotonic clock).

    Every row is an equation or has one limit. Returns None if there is no point to return.
    """
    equal, above = lower == upper, np.isfinite(lower) & (lower != upper)
    parts = [np.flatnonzero(equal), np.flatnonzero(above), np.flatnonzero(~equal & ~above)]
    bounded = np.flatnonzero(np.isfinite(least))
    signs = (1.0, -1.0, 1.0)
    matrix = vstack(
        [*(sign * rows[k] for sign, k in zip(signs, parts, strict=True)), -eye_array(len(cost)).tocsr()[bounded]]
    )
    right = np.concatenate([lower[parts[0]], -lower[parts[1]], upper[parts[2]], -least[bounded]])
    cones = [clarabel.ZeroConeT(len(parts[0])), clarabel.NonnegativeConeT(len(right) - len(parts[0]))]
    quadratic, program = csc_matrix((len(cost), len(cost))), csc_matrix(csc_array(matrix))
    solution = clarabel.DefaultSolver(quadratic, cost, program, right, cones, _settings(deadline, most_steps)).solve()
    values, multipliers = np.array(solution.x), np.array(solution.z)
    if not (np.isfinite(values).all() and np.isfinite(multipliers).all()):
        return None
    duals = np.zeros(len(lower))
    for sign, k, y in zip(signs, parts, np.split(multipliers, np.cumsum([len(k) for k in parts]))[:3], strict=True):
        duals[k] = -sign * y
    return LinearSolution(values, duals, solution.iterations)


def _settings(deadline: float, most_steps: int) -> clarabel.DefaultSettings:
    """Return the settings, with the time and the steps that are left."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.max_iter = most_steps
    settings.direct_solve_method = "qdldl"
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = TOLERANCE
    settings.time_limit = max(deadline - time.monotonic(), 0.0)
    return settings
