"""Ratio limits where all answers are neighbours: each answer is compared only with the least value of its row.

A row x of a private matrix with a <= x_j <= growth * a for some a satisfies A (x, a) >= 0, two rows of A for each
answer: x_j - a and growth a - x_j. A' diag(w) A is an arrow for every output: diagonal but for the last row and column.
"""

from dataclasses import dataclass

import numpy as np

from inbounds.design.problem import Floats
from inbounds.design.solver.bands import Fold
from inbounds.design.solver.pricing import Cone

DUST = 1e-9
"""Row minima below this share of the largest are zero."""


@dataclass(frozen=True, eq=False)
class Star:
    """The matrix A for so many answers; the last variable of an output is a, which is not an answer."""

    answers: int
    growth: float
    hubs: int = 1

    def initial_point(self, x: Floats) -> Floats:
        """Return constant rows, with an a that leaves equal room on both sides."""
        return np.concatenate([x, 2 / (1 + self.growth) * x[:1]])

    def initial_multipliers(self, r: Floats) -> Floats:
        """Return z = (r_j + b, b) for the two rows of each answer, with the b for which A' z = r.

        For the answers z_1 - z_2 = r_j; for a, growth n b - sum_j (r_j + b) = 0.
        """
        r = r[: self.answers]
        b = np.broadcast_to(r.sum(axis=0) / ((self.growth - 1) * self.answers), r.shape)
        return np.concatenate([r + b, b])

    def apply(self, x: Floats) -> Floats:
        """Return A x, the slacks of rows x."""
        return np.concatenate([x[:-1] - x[-1], self.growth * x[-1] - x[:-1]])

    def apply_transpose(self, z: Floats) -> Floats:
        """Return A' z."""
        above, below = z[: self.answers], z[self.answers :]
        return np.concatenate([above - below, (self.growth * below.sum(axis=0) - above.sum(axis=0))[None]])

    def rows(self, x: Floats, t: Floats) -> Floats:
        """Return the rows of a point as a + t: positive, and what is nearly a keeps its distance from a."""
        return np.asarray(x[-1] + t[: self.answers])

    def factor(self, w: Floats, _x: Floats, _z: Floats) -> "Arrows":
        """Factor A' diag(w) A, the answers first. A point and its multipliers are not needed: nothing cancels.

        Answer j has the pivot w_1 + w_2 and -(w_1 + growth w_2) beside it. What is left for a is
        sum_j w_1 + growth² w_2 - (w_1 + growth w_2)² / (w_1 + w_2) = (growth - 1)² sum_j w_1 w_2 / (w_1 + w_2).
        """
        above, below = w[: self.answers], w[self.answers :]
        diagonal = above + below
        last: Floats = (self.growth - 1) ** 2 * (above * below / diagonal).sum(axis=0)
        if not (diagonal.min() > 0 and last.min() > 0):
            raise np.linalg.LinAlgError("a pivot is not positive")
        return Arrows(diagonal, (above + self.growth * below) / diagonal, last)


def star(cone: Cone) -> Star:
    """Build the limits of a cone in which all answers are neighbours."""
    return Star(cone.size, float(np.exp(cone.step[0])))


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

    def inverse_sums(self, tables: tuple[Floats, ...], fold: Fold) -> Floats:
        """Sum diag(a) inverse diag(b) between folded answers over outputs, for any two tables a, b, as [a, b, :, :].

        By blocks the inverse between answers is diag(1 / diagonal) + side side' / last.
        """
        n = len(self.diagonal)
        sides = [fold((table[:n] * self.side / np.sqrt(self.last)).T) for table in tables]
        S = np.array([[left.T @ right for right in sides] for left in sides])
        for a, left in enumerate(tables):
            for b, right in enumerate(tables):
                S[a, b][np.diag_indices(S.shape[2])] += fold((left[:n] * right[:n] / self.diagonal).sum(axis=1))
        return S


def fill_from_minima(a: Floats, cost: Floats, away: Floats, k: float) -> Floats:
    """Build the cheapest matrix with row minima a: each answer adds to its cheapest outputs, at most k a_i each.

    Ties go to the output nearest in position. Minima that are rounding errors are dropped; the others are scaled if
    necessary so that columns can sum to one. Private by construction.
    """
    a = np.where(a > DUST * a.max(), a, 0.0)
    a = a / min(max(1.0, float(a.sum())), (1 + k) * float(a.sum()))
    order = np.lexsort((away, cost), axis=0)
    most = k * a[order]
    take = np.clip(1 - a.sum() - (np.cumsum(most, axis=0) - most), 0.0, most)
    P = np.empty_like(cost)
    np.put_along_axis(P, order, take, axis=0)
    return P + a[:, None]
