"""Mechanisms as linear maps: P p and P^T x, in O(domain) where the matrix has a shape that allows it.

The shape is read off the numbers of the matrix, never off a name, so a mechanism from anywhere gets the fast path.
`Slack` bounds how far the entries are from the shape that stands for them; certificates account for it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from inbounds.errors import TooLarge
from inbounds.exact import Floats, Ints
from inbounds.local.reconstruct.systems import (
    BandedSystem,
    Bands,
    CholeskySystem,
    LowRankSystem,
    System,
    dot,
    tridiagonal,
)

SINGULAR = 1e-12
"""A matrix whose reciprocal condition number is below this has no usable inverse."""

FADED = 1e-150
"""Added to what a recursion starts from, so that a long decay, and the product of two, ends above the denormal
numbers, which are slow. Nothing depends on it."""


RELATIVE = 1e-11
"""Share of itself by which an entry of a shape may be off before it counts as slack: rounding of a long product."""


@dataclass(frozen=True, eq=False)
class Slack:
    """Every entry of row i lies between (1 - RELATIVE)·shape - below[i] and (1 + RELATIVE)·shape + above[i]."""

    above: Floats
    below: Floats

    @classmethod
    def between(cls, entries: Floats, shape: Floats) -> "Slack":
        """Build the slack from rows of a matrix and of the shape."""
        excess, allowed = entries - shape, RELATIVE * shape
        above, below = (excess - allowed).max(axis=-1), (-excess - allowed).max(axis=-1)
        return cls(np.maximum(above, 0.0), np.maximum(below, 0.0))

    @classmethod
    def none(cls, outputs: int) -> "Slack":
        return cls(np.zeros(outputs), np.zeros(outputs))


class LinearChannel(Protocol):
    """A matrix P[output, answer] that can be applied, and inverted where that is possible."""

    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def slack(self) -> Slack: ...
    @property
    def solvable(self) -> bool:
        """Whether `system` is offered."""
        ...

    def forward(self, p: Floats) -> Floats:
        """Return P p: how likely each output is when the answers follow p."""
        ...

    def backward(self, x: Floats) -> Floats:
        """Return P^T x."""
        ...

    def invert(self, q: Floats) -> Floats:
        """Return the solution of P p = q. Raises `ValueError` if there is not exactly one."""
        ...

    def system(self, curvature: Floats, theta: Floats) -> System:
        """Return a solver of (P^T diag(curvature) P + diag(theta)) x = b."""
        ...


@dataclass(frozen=True, eq=False)
class DenseChannel:
    """A matrix without a known shape: O(outputs · answers) per step."""

    matrix: Floats
    solvable = True

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.shape[0], self.matrix.shape[1]

    @property
    def slack(self) -> Slack:
        return Slack.none(len(self.matrix))

    def forward(self, p: Floats) -> Floats:
        return np.asarray(self.matrix @ p)

    def backward(self, x: Floats) -> Floats:
        return np.asarray(x @ self.matrix)

    def invert(self, q: Floats) -> Floats:
        outputs, answers = self.shape
        if outputs != answers:
            raise ValueError(
                f"matrix must have as many outputs as answers to be inverted, got {outputs} × {answers}; "
                "use method='ibu' or 'least-squares'"
            )
        factor, pivots = self._lu_factors
        return np.asarray(lapack().dgetrs(factor, pivots, q)[0])

    @cached_property
    def _lu_factors(self) -> tuple[Floats, Ints]:
        """The LU factors; refused when LAPACK's estimate of the reciprocal condition number is too small."""
        factor, pivots, failed = lapack().dgetrf(self.matrix)
        if failed or not lapack().dgecon(factor, np.abs(self.matrix).sum(axis=0).max())[0] > SINGULAR:
            raise singular()
        return factor, pivots

    def system(self, curvature: Floats, theta: Floats) -> System:
        return CholeskySystem.from_channel(self.matrix, curvature, theta)


@dataclass(frozen=True, eq=False)
class GeometricChannel:
    """P[i, j] = rows[i] · (product of decay between i and j) · columns[j], decay below one at every step.

    The truncated geometric mechanism on a regular grid, the exponential mechanism on any, and every product of such
    a kernel with row and column factors. The kernel K is the inverse of a tridiagonal matrix, K = (L D L^T)^-1
    with L unit lower bidiagonal, so K x is two linear recursions, one up and one down: O(domain), all terms
    positive, hence accurate in every component.
    """

    rows: Floats
    decay: Floats
    columns: Floats
    slack: Slack
    solvable = True

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), len(self.rows)

    @cached_property
    def kernel(self) -> Callable[[Floats], Floats]:
        """K x, for one vector or for the columns of an array."""
        diagonal = np.append(1 / _one_less_square(self.decay), 1.0)
        below, solve = -self.decay, lapack().dpttrs
        return lambda x: solve(diagonal, below, x + FADED)[0]

    def forward(self, p: Floats) -> Floats:
        return self.rows * self.kernel(self.columns * p)

    def backward(self, x: Floats) -> Floats:
        return self.columns * self.kernel(self.rows * x)

    @cached_property
    def bands(self) -> Bands:
        """Diagonal and off-diagonal of K^-1."""
        inner = 1 / _one_less_square(self.decay)
        diagonal = np.concatenate([[1.0], inner]) + np.concatenate([inner, [1.0]]) - 1
        return diagonal, -self.decay * inner

    def invert(self, q: Floats) -> Floats:
        return tridiagonal(self.bands, q / self.rows) / self.columns

    def system(self, curvature: Floats, theta: Floats) -> System:
        return BandedSystem.from_channel(self.bands, self.rows, self.columns, curvature, theta)


@dataclass(frozen=True, eq=False)
class ResponseChannel:
    """P[i, j] = base[i], plus lift[j] where i = j: k-ary randomized response and its kin, O(domain) per step."""

    base: Floats
    lift: Floats
    slack: Slack
    solvable = True

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.base), len(self.base)

    def forward(self, p: Floats) -> Floats:
        return np.asarray(self.base * p.sum() + self.lift * p)

    def backward(self, x: Floats) -> Floats:
        return np.asarray(dot(self.base, x) + self.lift * x)

    def invert(self, q: Floats) -> Floats:
        """Solve P p = q by Sherman and Morrison: p = (q - base·S) / lift, where S = sum p solves S = sum (q - base·S) /
        lift.
        """
        smallest = np.abs(self.lift).min()
        if not smallest > SINGULAR * (np.abs(self.lift).max() + self.base.max()):
            raise singular()
        total = (q / self.lift).sum() / (1 + (self.base / self.lift).sum())
        return np.asarray((q - self.base * total) / self.lift)

    def system(self, curvature: Floats, theta: Floats) -> System:
        return LowRankSystem.from_channel(self.base, self.lift, curvature, theta)


@dataclass(frozen=True, eq=False)
class MergedChannel:
    """A channel whose outputs are renamed, several to one, as a remap does with a noise table."""

    inner: GeometricChannel
    renamed: Ints
    outputs: int

    @cached_property
    def solvable(self) -> bool:
        """Newton steps need runs: equal names side by side, as a remap that keeps the order has them."""
        return bool((np.diff(self.renamed) >= 0).all())

    @property
    def shape(self) -> tuple[int, int]:
        return self.outputs, self.inner.shape[1]

    @cached_property
    def slack(self) -> Slack:
        return Slack(self._gather(self.inner.slack.above), self._gather(self.inner.slack.below))

    def _gather(self, y: Floats) -> Floats:
        return np.asarray(np.bincount(self.renamed, weights=y, minlength=self.outputs), dtype=np.float64)

    def forward(self, p: Floats) -> Floats:
        return self._gather(self.inner.forward(p))

    def backward(self, x: Floats) -> Floats:
        return self.inner.backward(x[self.renamed])

    def invert(self, q: Floats) -> Floats:
        raise singular()

    def system(self, curvature: Floats, theta: Floats) -> System:
        if not self.solvable:
            raise TooLarge("a renaming that breaks the order has no fast Newton step; use acceleration='squarem'")
        inner, last = self.inner, np.append(np.diff(self.renamed) > 0, True)
        return BandedSystem.group(inner.bands, inner.rows, inner.columns, curvature[self.renamed], theta, last)


def lapack() -> Any:
    """Return scipy's LAPACK, imported when a channel is first applied."""
    from scipy.linalg import lapack

    return lapack


def singular() -> ValueError:
    return ValueError("matrix must be invertible, and this one is nearly singular; use method='ibu' or 'least-squares'")


def _one_less_square(decay: Floats) -> Floats:
    return (1 - decay) * (1 + decay)
