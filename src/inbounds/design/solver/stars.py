"""Ratio limits where all answers are neighbours: each answer is compared only with the least value of its row.

A row x of a private matrix with a <= x_j <= growth * a for some a satisfies A (x, a) >= 0, two rows of A for each
answer: x_j - a and growth a - x_j. A' diag(w) A is an arrow for every output: diagonal but for the last row and column.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, eye_array, hstack, vstack

from inbounds.design.problem import Floats
from inbounds.design.solver.pricing import Cone


@dataclass(frozen=True, eq=False)
class Star:
    """The matrix A and its transpose; the last variable of an output is a, which is not an answer."""

    limits: csr_array
    transpose: csr_array
    growth: float
    hubs: int = 1

    def initial_point(self, x: Floats) -> Floats:
        """Return constant rows, with an a that leaves room on both sides."""
        return np.concatenate([x, 2 / (1 + self.growth) * x[:1]])

    def factor(self, w: Floats, x: Floats, product: Floats) -> "Arrows":
        """Factor A' diag(w) A; x and product = A' diag(w) A x are not needed, because nothing cancels."""
        above, below = np.split(w, 2)
        diagonal = above + below
        last: Floats = (self.growth - 1) ** 2 * (above * below / diagonal).sum(axis=0)
        if not (diagonal.min() > 0 and last.min() > 0):
            raise np.linalg.LinAlgError("a pivot is not positive")
        return Arrows(diagonal, (above + self.growth * below) / diagonal, last)


def star(cone: Cone) -> Star:
    """Build the limits of a cone in which all answers are neighbours."""
    n, growth = cone.size, float(np.exp(cone.step[0]))
    a = np.ones((n, 1))
    limits = csr_array(vstack([hstack([eye_array(n), -a]), hstack([-eye_array(n), growth * a])]))
    return Star(limits, csr_array(limits.T), growth)


@dataclass(frozen=True, eq=False)
class Arrows:
    """The arrow matrices of all outputs.

    diagonal: (answers, outputs); beside it -diagonal * side; last: the corner after elimination of the answers.
    """

    diagonal: Floats
    side: Floats
    last: Floats

    def solve(self, right: Floats) -> Floats:
        """Solve for right-hand sides of shape (answers + 1, outputs)."""
        a = (right[-1] + (self.side * right[:-1]).sum(axis=0)) / self.last
        return np.concatenate([right[:-1] / self.diagonal + self.side * a, a[None]])

    def inverse_sums(self, tables: tuple[Floats, ...]) -> Floats:
        """Sum diag(a) inverse diag(b) between answers over outputs, for any two tables a, b, as [a, b, :, :]."""
        n = len(self.diagonal)
        sides = [table[:n] * self.side / np.sqrt(self.last) for table in tables]
        S = np.array([[left @ right.T for right in sides] for left in sides])
        for a, left in enumerate(tables):
            for b, right in enumerate(tables):
                S[a, b][np.diag_indices(n)] += (left[:n] * right[:n] / self.diagonal).sum(axis=1)
        return S
