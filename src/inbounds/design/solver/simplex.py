"""The last pivots of a linear program, in dense algebra and with relative tolerances.

A solver stops when reduced costs are within an absolute tolerance. A column whose entries span many orders of
magnitude can hide a real improvement below it. From the solver's basis a few pivots with full precision
finish the work.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lstsq

from inbounds.design.problem import Floats, Ints

#: a reduced cost below this share of its terms, a pivot below this share of its column, a negative weight:
#: all noise
NOISE, PIVOT, NEGATIVE = 1e-13, 1e-10, 1e-9
#: columns tried per pivot
CANDIDATES = 64
#: the size of the shift against ties, spread evenly over one to two times this
SHIFT, GOLDEN = 1e-10, (5**0.5 - 1) / 2

Booleans = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Program:
    """min costs.w, columns @ w = 1 in the first `equal` rows and <= 0 in the others, w >= 0.

    slacks: what each slack of an equation has of the equations, if the solver knows combinations of them.
    """

    columns: Floats
    costs: Floats
    equal: int
    slacks: Floats | None = None

    @property
    def right(self) -> Floats:
        return (np.arange(len(self.columns)) < self.equal).astype(float)

    def basis(self, index: Ints) -> tuple[Floats, Floats]:
        """The square matrix of a basis and its costs; index -1 - row stands for the slack of that row."""
        inside = index >= 0
        B = np.zeros((len(index), len(index)))
        B[:, inside] = self.columns[:, index[inside]]
        B[-1 - index[~inside], np.flatnonzero(~inside)] = 1.0
        fixed = (index < 0) & (-1 - index < self.equal)
        if self.slacks is not None:
            B[: self.equal, fixed] = self.slacks[:, -1 - index[fixed]]
        return B, np.where(inside, self.costs[np.maximum(index, 0)], 0.0)


def finish(program: Program, index: Ints, limit: int) -> tuple[Floats, Floats] | None:
    """Weights and duals after at most `limit` pivots from the basis `index`; None if that basis is not feasible.

    Ties in the ratio test are broken by a tiny shift of the right-hand side, by which every basic weight starts
    positive; so each pivot makes progress and none repeats. The weights returned are those without the shift.
    """
    index, shifted = index.copy(), program.right
    found: tuple[Floats, Floats] | None = None
    for count in range(limit + 1):
        B, c = program.basis(index)
        try:
            w, y = _solve(B, program.right), _solve(B.T, c)
        except np.linalg.LinAlgError:
            return found
        if not _feasible(program, index, w):
            return found
        found = _weights(program, index, w), y
        if count == 0:
            spread = SHIFT * (1 + GOLDEN * np.arange(len(w)) % 1)
            shifted = shifted + B @ np.where(_fix_slacks(program, index), 0.0, spread)
        pivot = _pivot(program, index, B, _solve(B, shifted), y) if limit else None
        if pivot is None:
            return found
        index[pivot[0]] = pivot[1]
    return found


def _solve(A: Floats, b: Floats) -> Floats:
    x = np.linalg.solve(A, b)
    return np.asarray(x + np.linalg.solve(A, b - A @ x), np.float64)


def _fix_slacks(program: Program, index: Ints) -> Booleans:
    """Slacks of equations: zero, whatever happens."""
    return (index < 0) & (-1 - index < program.equal)


def _feasible(program: Program, index: Ints, w: Floats) -> bool:
    low = -NEGATIVE * max(1.0, float(np.abs(w).max()))
    off = np.abs(w[_fix_slacks(program, index)]).max(initial=0.0)
    return bool(np.all(np.isfinite(w)) and w.min() >= low and off <= -low)


def _weights(program: Program, index: Ints, w: Floats) -> Floats:
    """Weights of all columns; if some are negative by noise, the others are fitted again without them."""
    weights = np.zeros(len(program.costs))
    weights[index[index >= 0]] = np.maximum(w[index >= 0], 0.0)
    used = np.flatnonzero(weights)
    if w[index >= 0].min(initial=0.0) < 0:
        head = slice(0, program.equal)
        left_over = program.right[head] - program.columns[head] @ weights
        fit = lstsq(program.columns[head, used], left_over, lapack_driver="gelsy")[0]
        weights[used] = np.maximum(weights[used] + fit, 0.0)
    return weights


def _pivot(program: Program, index: Ints, B: Floats, w: Floats, y: Floats) -> tuple[int, int] | None:
    """The exchange (place, column) that improves most among the best candidates; without progress the first
    (Bland)."""
    A = np.hstack([program.columns, np.eye(len(y))[:, program.equal :]])
    cost = np.append(program.costs, np.zeros(len(y) - program.equal))
    gain = y @ A - cost
    share = gain / np.maximum(np.abs(cost) + np.abs(y) @ np.abs(A), 1e-300)
    few = np.sort(np.argsort(-share, kind="stable")[:CANDIDATES])
    few = few[share[few] > NOISE]
    if not len(few):
        return None
    direction = _solve(B, A[:, few])
    step, place = _longest(_fix_slacks(program, index), w, direction)
    progress = np.where(np.isfinite(step), gain[few] * step, 0.0)
    best = int(progress.argmax()) if progress.max() > 0 else int(np.isfinite(step).argmax())
    if not np.isfinite(step[best]):
        return None
    column, count = int(few[best]), program.columns.shape[1]
    return int(place[best]), column if column < count else -1 - (program.equal + column - count)


def _longest(fixed: Booleans, w: Floats, direction: Floats) -> tuple[Floats, Ints]:
    """The ratio test for many columns: how far each can enter, and whose place it takes (near ties: largest
    pivot)."""
    pivot = np.where(fixed[:, None], np.abs(direction), direction)
    usable = pivot > PIVOT * np.abs(direction).max(axis=0)
    room = np.where(fixed, 0.0, np.maximum(w, 0.0))[:, None]
    ratio = np.where(usable, room / np.where(usable, pivot, 1.0), np.inf)
    step: Floats = ratio.min(axis=0)
    near = usable & (ratio <= step * (1 + 1e-9) + 1e-300)
    place: Ints = np.where(near, pivot, -np.inf).argmax(axis=0)
    return step, place
