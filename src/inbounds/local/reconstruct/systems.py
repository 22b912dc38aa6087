"""Solvers of A x = b for A = P^T diag(w) P + diag(theta): the linear algebra of one Newton step.

w >= 0 is the curvature of the objective at P p, theta > 0 comes from the barrier. `of` factors once, `solve` is
cheap.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from inbounds.exact import Floats

Bands = tuple[Floats, Floats]
"""A symmetric tridiagonal matrix: its diagonal and the one beside it."""

Flags = NDArray[np.bool_]

RIDGE = 1e-14
"""Added to the scaled diagonal of a dense system, whose own entries are about one: keeps it positive definite."""


def dot(x: Floats, y: Floats) -> float:
    """Return the sum of x·y without starting a library's threads."""
    return float(np.einsum("i,i->", x, y))


class System(Protocol):
    def solve(self, b: Floats) -> Floats: ...


@dataclass(frozen=True, eq=False)
class CholeskySystem:
    """Any matrix: O(outputs · answers² + answers³) to factor."""

    factor: Any
    scale: Floats

    @classmethod
    def from_channel(cls, matrix: Floats, w: Floats, theta: Floats) -> "CholeskySystem":
        """Factor after scaling to a unit diagonal: theta spans many orders of magnitude near a solution."""
        from scipy.linalg import cho_factor

        seen = matrix[w > 0] * np.sqrt(w[w > 0])[:, None]
        scale = 1 / np.sqrt(np.einsum("ij,ij->j", seen, seen) + theta)
        seen *= scale
        gram = seen.T @ seen
        gram[np.diag_indices_from(gram)] += theta * scale**2 + RIDGE
        return cls(cho_factor(gram, overwrite_a=True, check_finite=False), scale)

    def solve(self, b: Floats) -> Floats:
        from scipy.linalg import cho_solve

        return np.asarray(self.scale * cho_solve(self.factor, self.scale * b, check_finite=False))


@dataclass(frozen=True, eq=False)
class LowRankSystem:
    """P = base 1^T + diag(lift): diagonal plus rank two, by Woodbury's identity. O(answers)."""

    diagonal: Floats
    columns: Floats
    core: Floats

    @classmethod
    def from_channel(cls, base: Floats, lift: Floats, w: Floats, theta: Floats) -> "LowRankSystem":
        """Factor P^T W P = diag(lift² w) + U C U^T with U = [1, lift·w·base] and C = [[base^T W base, 1], [1, 0]]."""
        diagonal = lift**2 * w + theta
        columns = np.stack([np.ones_like(base), lift * w * base], axis=1)
        inverse_of_c = np.array([[0.0, 1.0], [1.0, -dot(base, w * base)]])
        return cls(diagonal, columns, inverse_of_c + np.einsum("ik,il->kl", columns, columns / diagonal[:, None]))

    def solve(self, b: Floats) -> Floats:
        x = b / self.diagonal
        inner = np.linalg.solve(self.core, np.einsum("ik,i->k", self.columns, x))
        return np.asarray(x - (self.columns[:, 0] * inner[0] + self.columns[:, 1] * inner[1]) / self.diagonal)


@dataclass(frozen=True, eq=False)
class BandedSystem:
    """P = rows K columns with K^-1 = T tridiagonal: one banded solve of twice the size. O(answers).

    Put z = K columns x. Then A x = b reads K w' z + theta' T z = b', where w' = rows² w, theta' = theta / columns²
    and b' = b / columns. With v = K w' z both lines are tridiagonal,

        T z + v / theta' = b' / theta',      T v - w' z = 0,

    and interleaving z and v gives three bands a side. K is never formed and T never squared, which keeps the digits
    that the normal equations lose when the noise is wide (decay near one).
    """

    bands: Bands
    columns: Floats
    theta: Floats
    factor: Any
    pivots: Any
    unknowns: int
    """How many unknowns each answer has in the banded system, z first and v second."""

    @classmethod
    def from_channel(cls, bands: Bands, rows: Floats, columns: Floats, w: Floats, theta: Floats) -> "BandedSystem":
        scaled = theta / columns**2
        store = _tridiagonal_pairs(bands, 2, half=3)  # LAPACK: A[r, c] at store[2 · half + r - c, c]
        store[5, 1::2] = 1 / scaled
        store[7, 0::2] = -(rows**2) * w
        return cls(bands, columns, scaled, *_factor(store, 3), 2)

    @classmethod
    def group(
        cls, bands: Bands, rows: Floats, columns: Floats, w: Floats, theta: Floats, last: Flags
    ) -> "BandedSystem":
        """Return the same when runs of outputs are put together; `last` marks the end of each run, w is given per row.

        Then w' z becomes rows·d, where d is the same throughout a run: w times the sum of rows·z over it. Two more
        unknowns an answer keep that local: c sums along the run, d carries the result back.
        """
        scaled = theta / columns**2
        store = _tridiagonal_pairs(bands, 4, half=4)
        store[7, 1::4] = 1 / scaled  # T z + v / theta' = b' / theta'
        store[6, 3::4] = -rows  # T v - rows·d = 0
        store[8, 2::4] = store[8, 3::4] = 1.0
        store[10, 0::4] = -rows  # c - (c before, in the same run) - rows·z = 0
        store[12, 2:-2:4] = np.where(last[:-1], 0.0, -1.0)
        store[9, 2::4] = np.where(last, -w, 0.0)  # d - w·c = 0 at the end of a run
        store[4, 7::4] = np.where(last[:-1], 0.0, -1.0)  # d - (d after) = 0 before it
        return cls(bands, columns, scaled, *_factor(store, 4), 4)

    def solve(self, b: Floats) -> Floats:
        """Return x from z where the barrier is weak and from v where it is strong, whichever loses fewer digits."""
        from scipy.linalg.lapack import dgbtrs

        right, half = np.zeros(self.unknowns * len(b)), 3 if self.unknowns == 2 else 4
        scaled_b = b / self.columns
        right[0 :: self.unknowns] = scaled_b / self.theta
        both, _ = dgbtrs(self.factor, half, half, right, self.pivots)
        z, v = both[0 :: self.unknowns], both[1 :: self.unknowns]
        strong = (scaled_b - v) / self.theta
        x = np.where(self.theta * self.bands[0] * np.abs(z).max() > np.abs(v), strong, tridiagonal(self.bands, z))
        return np.asarray(x / self.columns)


def tridiagonal(bands: Bands, x: Floats) -> Floats:
    """Return the symmetric tridiagonal matrix (diagonal, off-diagonal) times x."""
    diagonal, off = bands
    y = diagonal * x
    y[1:] += off * x[:-1]
    y[:-1] += off * x[1:]
    return np.asarray(y)


def _tridiagonal_pairs(bands: Bands, unknowns: int, half: int) -> Floats:
    """Return band storage with the tridiagonal matrix in the rows and columns of the first two unknowns of every
    answer.
    """
    diagonal, off = bands
    store = np.zeros((3 * half + 1, unknowns * len(diagonal)))
    for k in (0, 1):
        store[2 * half, k::unknowns] = diagonal
        store[2 * half - unknowns, k + unknowns :: unknowns] = off
        store[2 * half + unknowns, k:-unknowns:unknowns] = off
    return store


def _factor(store: Floats, half: int) -> tuple[Any, Any]:
    from scipy.linalg.lapack import dgbtrf

    factor, pivots, failed = dgbtrf(store, half, half, overwrite_ab=True)
    if failed:
        raise np.linalg.LinAlgError("the banded system is singular")
    return factor, pivots
