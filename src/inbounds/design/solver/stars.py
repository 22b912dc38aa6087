"""Ratio limits where all answers are neighbours: each answer is compared only with the least value of its row.

A row x of a private matrix is x_j = u_j + a with 0 <= u_j <= k a, k = growth - 1. Its variables are the u_j and a, and
A has two rows for each answer, u_j and k a - u_j. The u_j are variables of their own, because as differences x_j - a
they would be lost by rounding at large growth. A' diag(w) A is an arrow for every output: diagonal but for the last row
and column.
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
    """The matrix A for so many answers; the last variable of an output is a. k: growth - 1."""

    answers: int
    k: float

    def initial_point(self, rows: Floats) -> Floats:
        """Return the variables of constant rows, with an a that leaves equal room on both sides."""
        a = rows[:1] / (1 + self.k / 2)
        return np.concatenate([self.k / 2 * np.repeat(a, self.answers, axis=0), a])

    def initial_multipliers(self, r: Floats) -> Floats:
        """Return z = (r_j + b, b) for the two rows of each answer, with the b for which A' z = r."""
        r = r[:-1]
        b = np.broadcast_to(r.sum(axis=0) / (self.k * self.answers), r.shape)
        return np.concatenate([r + b, b])

    def rows(self, x: Floats) -> Floats:
        """Return the rows of a point."""
        return np.asarray(x[:-1] + x[-1])

    def rows_transpose(self, r: Floats) -> Floats:
        """Return the transpose of `rows`: a counts for every answer."""
        return np.concatenate([r, r.sum(axis=0)[None]])

    def apply(self, x: Floats) -> Floats:
        """Return A x."""
        return np.concatenate([x[:-1], self.k * x[-1] - x[:-1]])

    def missed(self, x: Floats, t: Floats) -> Floats:
        """Return A x - t: what a t that is as large as growth leaves behind when it falls."""
        return self.apply(x) - t

    def apply_transpose(self, z: Floats) -> Floats:
        """Return A' z."""
        above, below = z[: self.answers], z[self.answers :]
        return np.concatenate([above - below, self.k * below.sum(axis=0)[None]])

    def factor(self, w: Floats, _x: Floats, _z: Floats) -> "Arrows":
        """Factor A' diag(w) A, the answers first. A point and its multipliers are not needed: nothing cancels.

        Answer j has the pivot w_1 + w_2 and -k w_2 beside it. What is left for a is
        sum_j k² w_2 - k² w_2² / (w_1 + w_2) = k² sum_j w_1 w_2 / (w_1 + w_2).
        """
        above, below = w[: self.answers], w[self.answers :]
        diagonal = above + below
        last: Floats = self.k**2 * (above * below / diagonal).sum(axis=0)
        if not (diagonal.min() > 0 and last.min() > 0):
            raise np.linalg.LinAlgError("a pivot is not positive")
        return Arrows(diagonal, self.k * below / diagonal, last)


def star(cone: Cone) -> Star:
    """Build the limits of a cone in which all answers are neighbours."""
    return Star(cone.size, float(np.expm1(cone.step[0])))


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
        """Sum diag(a) rows inverse rows' diag(b) between folded answers over outputs, for any two tables a, b, as
        [a, b, :, :].

        By blocks this is diag(1 / diagonal) + (side + 1) (side + 1)' / last.
        """
        sides = [fold((table * (self.side + 1) / np.sqrt(self.last)).T) for table in tables]
        S = np.array([[left.T @ right for right in sides] for left in sides])
        for a, left in enumerate(tables):
            for b, right in enumerate(tables):
                S[a, b][np.diag_indices(S.shape[2])] += fold((left * right / self.diagonal).sum(axis=1))
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
