"""The linear program over rays of `design.delta_path`: columns are added as they are found, by HiGHS."""

import highspy
import numpy as np
from numpy.typing import NDArray

from inbounds.design.solver.highs import PRIMAL_SIMPLEX, solver
from inbounds.errors import ConvergenceError
from inbounds.exact import Floats, Ints

INFINITE = highspy.kHighsInf

TINY = 1e-14
"""Entries below this are left out of the program; the matrix has them."""

FULL_DIGITS = 1e-9
"""Weights of a basis that is solved again may be this much below 0; below that the solver's own are used."""

Duals = tuple[Floats, Floats, Floats]
"""Of the sums of all answers, and of the excesses between an answer and the next: upwards and downwards."""


class RayProgram:
    """The program over the rays found so far.

    is_mirrored: the cost reads the same from both ends, so half of the sums and excesses suffice.
    """

    def __init__(self, cost: Floats, delta: float) -> None:
        self.cost, self.delta, self.answers = cost, delta, cost.shape[1]
        n = self.answers
        self.is_mirrored = bool(np.allclose(cost, cost[::-1, ::-1], rtol=1e-12, atol=0))
        self.sums = (n + 1) // 2 if self.is_mirrored else n
        self.limits = n - 1 if self.is_mirrored else 2 * (n - 1)
        self.rays: list[Floats] = []
        self.outputs: list[int] = []
        self._seen: set[tuple[bytes, int]] = set()
        self._highs = solver(simplex_strategy=PRIMAL_SIMPLEX)
        for row in range(self.sums + self.limits):
            least = 1.0 if row < self.sums else -INFINITE
            self._highs.addRow(least, 1.0, 0, np.empty(0, np.int32), np.empty(0))

    def add(self, log_ray: Floats, output: int) -> bool:
        """Add a ray, as logarithms with -inf outside its run, as a part of an output's row; False if it is there."""
        log_ray = log_ray - log_ray.max()
        inside = np.flatnonzero(np.isfinite(log_ray))
        key = np.round(np.where(np.isfinite(log_ray), log_ray, 1e3), 9).tobytes(), int(output)
        if key in self._seen:
            return False
        self._seen.add(key)
        ray = np.exp(log_ray)
        entries = self._entries(ray, int(inside[0]), int(inside[-1]))
        size = max(1.0, float(entries[self.sums :].max(initial=0.0))) ** 0.5  # between what sums and deltas would like
        entries, ray = entries / size, ray / size
        entries[np.abs(entries) < TINY] = 0.0
        self.rays.append(ray)
        self.outputs.append(int(output))
        index = np.flatnonzero(entries).astype(np.int32)
        cost = float(self.cost[output][inside] @ ray[inside])
        self._highs.addCol(cost, 0.0, INFINITE, len(index), index, entries[index])
        return True

    def _entries(self, ray: Floats, first: int, last: int) -> Floats:
        """Return what a ray adds to the sums and, over delta, to the excesses upwards and then downwards."""
        n, excess = self.answers, np.zeros(2 * (self.answers - 1))
        if first > 0:
            excess[first - 1] = ray[first] / self.delta
        if last < n - 1:
            excess[n - 1 + last] = ray[last] / self.delta
        if self.is_mirrored:
            ray = (ray + ray[::-1])[: self.sums] / 2
            excess = (excess[: n - 1] + excess[n - 1 :][::-1]) / 2
        return np.append(ray, excess)

    def solve(self) -> tuple[Floats, Duals, float]:
        """Return the weights of the rays, the duals, and the value."""
        highs = self._highs
        highs.run()
        if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:  # another method, from scratch
            highs.clearSolver()
            highs.setOptionValue("solver", "ipm")
            highs.run()
            highs.setOptionValue("solver", "simplex")
            if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
                raise ConvergenceError(f"the program with a delta was not solved: {highs.getModelStatus()}")
        solution, n = highs.getSolution(), self.answers
        duals = np.array(solution.row_dual)
        y, excess = duals[: self.sums], np.maximum(-duals[self.sums :], 0.0) / self.delta
        if self.is_mirrored:
            full = np.zeros(n)
            full[: self.sums] = y / 2
            y, up, down = full + full[::-1], excess / 2, excess[::-1] / 2
        else:
            up, down = excess[: n - 1], excess[n - 1 :]
        value = float(highs.getInfo().objective_function_value)
        return np.maximum(solution.col_value, 0.0), (y, up, down), value

    def matrix(self, weights: Floats) -> Floats:
        """Return the matrix of the weights, with its mirror image mixed in if the program was halved."""
        matrix = np.zeros(self.cost.shape)
        for output, ray, weight in zip(self.outputs, self.rays, self._refine(weights), strict=False):
            if weight > 0:
                matrix[output] += weight * ray
        return (matrix + matrix[::-1, ::-1]) / 2 if self.is_mirrored else matrix

    def _refine(self, weights: Floats) -> Floats:
        """Return the weights of the solver's last basis, solved again to full precision."""
        index: Ints = np.asarray(self._highs.getBasicVariables()[1], np.int64)  # type: ignore[attr-defined]
        rows = self.sums + self.limits
        basis: NDArray[np.float64] = np.zeros((rows, rows))
        for column, i in enumerate(index.tolist()):
            if i < 0:
                basis[-i - 1, column] = 1.0
            else:
                inside = np.flatnonzero(self.rays[i])
                basis[:, column] = self._entries(self.rays[i], int(inside[0]), int(inside[-1]))
        try:
            solved = np.linalg.solve(basis, np.ones(rows))
            solved += np.linalg.solve(basis, np.ones(rows) - basis @ solved)
        except np.linalg.LinAlgError:
            return weights
        refined = np.zeros(len(self.rays))
        refined[index[index >= 0]] = solved[index >= 0]
        return np.maximum(refined, 0.0) if refined.min() > -FULL_DIGITS else weights
