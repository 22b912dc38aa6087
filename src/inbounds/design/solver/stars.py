"""Ratio limits where all answers are neighbours: each is tied to the least of its row, and to no other answer.

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
    """A and its transpose; the last of the variables of an output is a, which is no answer."""

    limits: csr_array
    transpose: csr_array
    growth: float
    hubs: int = 1

    def initial_point(self, x: Floats) -> Floats:
        """Rows that are constant, with an a that leaves room on both sides."""
        return np.concatenate([x, 2 / (1 + self.growth) * x[:1]])

    def factor(self, w: Floats, x: Floats, product: Floats) -> "Arrows":
        """Factors of A' diag(w) A; x and product = A' diag(w) A x are not needed: nothing cancels."""
        above, below = np.split(w, 2)
        own = above + below
        last: Floats = (self.growth - 1) ** 2 * (above * below / own).sum(axis=0)
        if not (own.min() > 0 and last.min() > 0):
            raise np.linalg.LinAlgError("a pivot is not positive")
        return Arrows(own, (above + self.growth * below) / own, last)


def star(cone: Cone) -> Star:
    """The limits of a cone in which all answers are neighbours."""
    n, growth = cone.size, float(np.exp(cone.step[0]))
    a = np.ones((n, 1))
    limits = csr_array(vstack([hstack([eye_array(n), -a]), hstack([-eye_array(n), growth * a])]))
    return Star(limits, csr_array(limits.T), growth)


@dataclass(frozen=True, eq=False)
class Arrows:
    """The arrows of all outputs: own (answers, outputs) on the diagonal, -own * side beside it, and `last`, what the
    corner keeps when the answers are eliminated."""

    own: Floats
    side: Floats
    last: Floats

    def solve(self, right: Floats) -> Floats:
        """The solutions for right-hand sides of shape (answers + 1, outputs)."""
        a = (right[-1] + (self.side * right[:-1]).sum(axis=0)) / self.last
        return np.concatenate([right[:-1] / self.own + self.side * a, a[None]])

    def inverse_sums(self, tables: tuple[Floats, ...]) -> Floats:
        """sum over outputs of diag(a) inverse diag(b) between answers, for any two tables a, b, as [a, b, :, :]."""
        n = len(self.own)
        sides = [table[:n] * self.side / np.sqrt(self.last) for table in tables]
        S = np.array([[left @ right.T for right in sides] for left in sides])
        for a, left in enumerate(tables):
            for b, right in enumerate(tables):
                S[a, b][np.diag_indices(n)] += (left[:n] * right[:n] / self.own).sum(axis=1)
        return S
