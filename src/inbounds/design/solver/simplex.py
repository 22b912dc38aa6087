"""The last pivots of a linear program, in dense algebra and with relative tolerances.

A solver stops when reduced costs are within an absolute tolerance. If the entries of a column span many orders of
magnitude, a real improvement can be smaller than that. A few pivots in full precision from the solver's basis complete
the optimization.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lstsq

from inbounds.design.problem import Floats, Ints

#: rounding errors: a reduced cost below this share of its terms, a pivot below this share of its column, a negative
#: weight above this share of the largest
NOISE, PIVOT, NEGATIVE = 1e-13, 1e-10, 1e-9
#: columns tried per pivot
CANDIDATES = 64
#: the size of the shift against ties, spread evenly over one to two times this
SHIFT, GOLDEN = 1e-10, (5**0.5 - 1) / 2

Booleans = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Program:
    """The program min costs.w, columns @ w = 1 in the first `equal` rows and <= 0 in the others, w >= 0.

    slacks: coefficients of each slack in the equations, if the solver uses combinations of the equations.
    """

    columns: Floats
    costs: Floats
    equal: int
    slacks: Floats | None = None

    @property
    def right(self) -> Floats:
        return (np.arange(len(self.columns)) < self.equal).astype(float)

    def basis(self, index: Ints) -> tuple[Floats, Floats]:
        """Return the square matrix of a basis and its costs; index -1 - row is the slack of that row."""
        inside = index >= 0
        B = np.zeros((len(index), len(index)))
        B[:, inside] = self.columns[:, index[inside]]
        B[-1 - index[~inside], np.flatnonzero(~inside)] = 1.0
        fixed = (index < 0) & (-1 - index < self.equal)
        if self.slacks is not None:
            B[: self.equal, fixed] = self.slacks[:, -1 - index[fixed]]
        return B, np.where(inside, self.costs[np.maximum(index, 0)], 0.0)


def finish(program: Program, index: Ints, limit: int) -> tuple[Floats, Floats] | None:
    """Return weights and duals after at most `limit` pivots from the basis `index`; None if that is not feasible.

    Ties in the ratio test are broken by a tiny shift of the right-hand side that makes every basic weight positive at
    the start. So each pivot makes progress and no basis repeats. The returned weights are those without the shift.
    """
    index, shifted = index.copy(), program.right
    solution: tuple[Floats, Floats] | None = None
    for count in range(limit + 1):
        B, c = program.basis(index)
        try:
            w, y = _solve(B, program.right), _solve(B.T, c)
        except np.linalg.LinAlgError:
            return solution
        if not _is_feasible(program, index, w):
            return solution
        solution = _weights(program, index, w), y
        if count == 0:
            spread = SHIFT * (1 + GOLDEN * np.arange(len(w)) % 1)
            shifted = shifted + B @ np.where(_is_fixed_slack(program, index), 0.0, spread)
        pivot = _pivot(program, index, B, _solve(B, shifted), y) if limit else None
        if pivot is None:
            return solution
        index[pivot[0]] = pivot[1]
    return solution


def _solve(A: Floats, b: Floats) -> Floats:
    """Solve A x = b with one step of iterative refinement."""
    x = np.linalg.solve(A, b)
    return np.asarray(x + np.linalg.solve(A, b - A @ x), np.float64)


def _is_fixed_slack(program: Program, index: Ints) -> Booleans:
    """Return which basic variables are slacks of equations: they must be zero."""
    return (index < 0) & (-1 - index < program.equal)


def _is_feasible(program: Program, index: Ints, w: Floats) -> bool:
    """Return whether basic weights are non-negative, and slacks of equations zero, up to rounding."""
    low = -NEGATIVE * max(1.0, float(np.abs(w).max()))
    off = np.abs(w[_is_fixed_slack(program, index)]).max(initial=0.0)
    return bool(np.all(np.isfinite(w)) and w.min() >= low and off <= -low)


def _weights(program: Program, index: Ints, w: Floats) -> Floats:
    """Return the weights of all columns; if some are negative by rounding, fit the others again without them."""
    weights = np.zeros(len(program.costs))
    weights[index[index >= 0]] = np.maximum(w[index >= 0], 0.0)
    positive = np.flatnonzero(weights)
    if w[index >= 0].min(initial=0.0) < 0:
        head = slice(0, program.equal)
        left_over = program.right[head] - program.columns[head] @ weights
        fit = lstsq(program.columns[head, positive], left_over, lapack_driver="gelsy")[0]
        weights[positive] = np.maximum(weights[positive] + fit, 0.0)
    return weights


def _pivot(program: Program, index: Ints, B: Floats, w: Floats, y: Floats) -> tuple[int, int] | None:
    """Choose the exchange (place, column) that improves most among the best candidates; without progress the first."""
    A = np.hstack([program.columns, np.eye(len(y))[:, program.equal :]])
    cost = np.append(program.costs, np.zeros(len(y) - program.equal))
    gain = y @ A - cost
    share = gain / np.maximum(np.abs(cost) + np.abs(y) @ np.abs(A), 1e-300)
    few = np.sort(np.argsort(-share, kind="stable")[:CANDIDATES])
    few = few[share[few] > NOISE]
    if not len(few):
        return None
    direction = _solve(B, A[:, few])
    step, place = _ratio_test(_is_fixed_slack(program, index), w, direction)
    progress = np.where(np.isfinite(step), gain[few] * step, 0.0)
    best = int(progress.argmax()) if progress.max() > 0 else int(np.isfinite(step).argmax())
    if not np.isfinite(step[best]):
        return None
    column, count = int(few[best]), program.columns.shape[1]
    return int(place[best]), column if column < count else -1 - (program.equal + column - count)


def _ratio_test(fixed: Booleans, w: Floats, direction: Floats) -> tuple[Floats, Ints]:
    """Compute for many columns how far each can enter, and whose place it takes (near ties: largest pivot)."""
    pivot = np.where(fixed[:, None], np.abs(direction), direction)
    usable = pivot > PIVOT * np.abs(direction).max(axis=0)
    room = np.where(fixed, 0.0, np.maximum(w, 0.0))[:, None]
    ratio = np.where(usable, room / np.where(usable, pivot, 1.0), np.inf)
    step: Floats = ratio.min(axis=0)
    near = usable & (ratio <= step * (1 + 1e-9) + 1e-300)
    place: Ints = np.where(near, pivot, -np.inf).argmax(axis=0)
    return step, place
