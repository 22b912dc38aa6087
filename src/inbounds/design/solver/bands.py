"""Ratio limits between answers of one window, and the banded systems that an interior point makes of them.

A row x of a private matrix satisfies A x >= 0, two rows of A for each pair of answers j < k in one window: growth x_k -
x_j and growth x_j - x_k. A' diag(w) A is a band as wide as the windows, one matrix for each output. All are factored at
once, along the answers. Their off-diagonal entries are negative, so the factors and the inverse are sums of positive
terms. Only pivots would cancel; they are computed from A' diag(w) A x = A' z, which is known.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array, csr_array

from inbounds.design.problem import Floats
from inbounds.design.solver.pricing import Cone

CHUNK = 24
"""Number of rows of an inverse that are summed over the outputs at once."""

Fold = Callable[[Floats], Floats]
"""Sums over answers that share a constraint, along the last axis."""


@dataclass(frozen=True, eq=False)
class Windows:
    """The matrix A, its transpose, and the band of A' diag(w) A as a linear map of w.

    width: the largest distance between neighbours. The variables of an output are its row.
    """

    limits: csr_array
    transpose: csr_array
    band: csr_array
    width: int

    def initial_point(self, rows: Floats) -> Floats:
        """Return constant rows, which leave room in all ratios."""
        return rows

    def initial_multipliers(self, r: Floats) -> Floats:
        """Return multipliers z that are alike for all limits of an output, with the sum of A' z that r has."""
        count = self.limits.shape[0]
        return np.repeat((r.sum(axis=0) / (self.transpose @ np.ones(count)).sum())[None], count, axis=0)

    def apply(self, x: Floats) -> Floats:
        """Return A x, the slacks of rows x."""
        return np.asarray(self.limits @ x)

    def missed(self, _x: Floats, _t: Floats) -> float:
        """Return zero for A x - t: slacks are known more accurately than the differences A x."""
        return 0.0

    def apply_transpose(self, z: Floats) -> Floats:
        """Return A' z."""
        return np.asarray(self.transpose @ z)

    def rows(self, x: Floats) -> Floats:
        """Return the rows of a point."""
        return x

    def rows_transpose(self, r: Floats) -> Floats:
        """Return the transpose of `rows`."""
        return r

    def factor(self, w: Floats, x: Floats, z: Floats) -> "Factors":
        """Factor A' diag(w) A; x > 0 and A' diag(w) A x = A' z, for z = w * (A x), give pivots without cancellation."""
        n, m, width = len(x), x.shape[1], self.width
        band = np.concatenate([(self.band @ w).reshape(n, width + 1, m), np.zeros((width, width + 1, m))])
        x, remainder = (np.concatenate([table, np.zeros((width, m))]) for table in (x, self.apply_transpose(z)))
        for j in range(n):
            row = band[j]
            row[0] = (remainder[j] - (row[1:] * x[j + 1 : j + 1 + width]).sum(axis=0)) / x[j]
            lower = row[1:] / row[0]
            remainder[j + 1 : j + 1 + width] -= lower * remainder[j]
            for d in range(width):
                band[j + 1 + d, : width - d] -= lower[d] * row[1 + d :]
            row[1:] = lower
        if not band[:n, 0].min() > 0:
            raise np.linalg.LinAlgError("a pivot is not positive")
        return Factors(band[:n, 1:].copy(), band[:n, 0].copy())


def windows(cone: Cone) -> Windows:
    """Build the limits of a cone: windows of one step, or a chain of any steps."""
    n = cone.size
    k = np.repeat(np.arange(n), np.arange(n) - cone.reach)
    j = np.concatenate([np.arange(first, last) for last, first in enumerate(cone.reach)])
    p, width = len(j), int((k - j).max())
    growth = np.exp(cone.step[j])
    row = np.tile(np.arange(2 * p), 2)
    entry = np.concatenate([-np.ones(p), growth, growth, -np.ones(p)])
    limits = coo_array((entry, (row, np.concatenate([j, j, k, k]))), shape=(2 * p, n)).tocsr()
    squares = np.concatenate([np.ones(p), growth**2, growth**2, np.ones(p), -growth, -growth])
    place = np.concatenate([j, j, k, k]) * (width + 1)
    place = np.concatenate([place, np.tile(j * (width + 1) + k - j, 2)])
    band = coo_array((squares, (place, np.tile(np.arange(2 * p), 3))), shape=(n * (width + 1), 2 * p))
    return Windows(limits, csr_array(limits.T), band.tocsr(), width)


@dataclass(frozen=True, eq=False)
class Factors:
    """Factors L D L' of the bands of all outputs: lower[j, d - 1] is L[j + d, j], shape (answers, width, outputs)."""

    lower: Floats
    pivots: Floats

    def solve(self, right: Floats) -> Floats:
        """Solve for right-hand sides of shape (answers, outputs)."""
        n, width, m = self.lower.shape
        x = np.concatenate([right, np.zeros((width, m))])
        for j in range(n - 1):
            x[j + 1 : j + 1 + width] -= self.lower[j] * x[j]
        x[:n] /= self.pivots
        x[n:] = 0.0
        for j in range(n - 2, -1, -1):
            x[j] -= (self.lower[j] * x[j + 1 : j + 1 + width]).sum(axis=0)
        return x[:n]

    def inverse_sums(self, tables: tuple[Floats, ...], fold: Fold) -> Floats:
        """Sum diag(a) inverse diag(b) between folded answers over outputs, for any two tables a, b, as [a, b, :, :].

        Rows of an inverse are combinations of the next `width` rows, so a chunk of rows needs those after it only,
        and its part of the sums is a product of two matrices.
        """
        n, width, m = self.lower.shape
        S = np.zeros((len(tables), len(tables), n, n))
        stop, after = n, np.zeros((width, 0, m))  # the rows after the chunk, from column `stop` on
        while stop > 0:
            start = max(stop - max(CHUNK, width), 0)
            rows, here = slice(start, stop), self._block(start, stop, after)
            carried = self._carry(start, stop)
            left = np.concatenate([(carried * table[rows, None]).reshape(-1, width * m) for table in tables])
            in_chunk = np.stack([table[rows] for table in tables], axis=2)
            for b, table in enumerate(tables):
                right = (after * table[stop:]).transpose(1, 0, 2).reshape(-1, width * m)
                S[:, b, rows, stop:] = (left @ right.T).reshape(len(tables), stop - start, n - stop)
                S[:, b, rows, rows] = ((here * table[rows]) @ in_chunk).transpose(2, 0, 1)
            first = carried[:width]
            beyond = sum(first[:, s, None] * after[s] for s in range(width))
            stop, after = start, np.concatenate([here[:width], beyond], axis=1)
        upper = np.triu(np.ones((n, n), bool))
        return fold(fold(np.where(upper, S, S.transpose(1, 0, 3, 2))).swapaxes(2, 3)).swapaxes(2, 3)

    def _carry(self, start: int, stop: int) -> Floats:
        """Compute the coefficients of row j in the rows from `stop` on, for columns from `stop` on: (rows, width,
        outputs).
        """
        (_, width, m), count = self.lower.shape, stop - start
        carried = np.zeros((count + width, width, m))
        carried[count:] = np.eye(width)[:, :, None]
        for j in range(count - 1, -1, -1):
            carried[j] = -(self.lower[start + j, :, None] * carried[j + 1 : j + 1 + width]).sum(axis=0)
        return carried[:count]

    def _block(self, start: int, stop: int, after: Floats) -> Floats:
        """Compute the inverse between the answers start..stop-1: (rows, columns, outputs)."""
        (_, width, m), count = self.lower.shape, stop - start
        Z = np.zeros((count + width, count + width, m))
        overlap = min(width, after.shape[1])
        Z[count : count + overlap, count : count + overlap] = after[:overlap, :overlap]
        for j in range(count - 1, -1, -1):
            lower, near = self.lower[start + j], slice(j + 1, j + 1 + width)
            Z[j, j + 1 :] = -(lower[:, None] * Z[near, j + 1 :]).sum(axis=0)
            Z[j, j] = 1 / self.pivots[start + j] - (lower * Z[j, near]).sum(axis=0)
            Z[j + 1 :, j] = Z[j, j + 1 :]
        return Z[:count, :count]
