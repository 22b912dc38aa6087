"""A discrete Fourier transform whose error is proved here, not taken from a library's habits.

Radix two in four steps, N = n1·n2 (Bailey 1990): transforms of length n1 down the columns of a matrix, twiddle factors,
transforms of length n2 down the columns of its transpose. Every operation is an elementwise sum or product of
complex floats, so the error in the Euclidean norm follows from theirs; the roots of unity are checked by squaring
them, so nothing rests on the accuracy of a sine (docs/theory/tilted-convolution.md).
"""

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inbounds.accounting.directed_rounding import ROUNDOFF

Complexes = NDArray[np.complex128]

PRODUCT = math.sqrt(8) * ROUNDOFF * (1 + 1e-9)
"""A product of two complex floats is wrong by at most this share (Higham 2002, Lemma 3.5), fused or not."""


def fourier(values: NDArray[Any]) -> Complexes:
    """sum_j values[j] · exp(-2 pi i j k / N) for k < N, N a power of two."""
    size = len(values)
    rows = 1 << (size.bit_length() - 1) // 2
    roots = roots_of_unity(size)
    first = _down(values.astype(np.complex128).reshape(rows, size // rows), roots)
    turned = first * roots[np.outer(np.arange(rows), np.arange(size // rows))]
    return _down(np.ascontiguousarray(turned.T), roots).ravel()


def fourier_back(values: Complexes) -> Complexes:
    """Return the inverse: the conjugate of the transform of the conjugate, over N, which is a power of two."""
    return fourier(values.conj()).conj() / len(values)


@lru_cache(maxsize=8)
def relative_error(size: int) -> float:
    """Return what `fourier` and `fourier_back` are wrong by at most, as a share of the Euclidean norm of the result.

    A stage maps (a, b) to a + w·b, a - w·b: in the norm a factor sqrt(2), exactly. Computed, b carries the
    errors of root and product, and the sum one rounding.
    """
    turned = (_root_error(size) + PRODUCT) * (1 + 1e-9)
    stage = (turned + ROUNDOFF) * (1 + 1e-9)
    return math.expm1((size.bit_length() - 1) * stage + turned) * (1 + 1e-9)


@lru_cache(maxsize=8)
def roots_of_unity(size: int) -> Complexes:
    """exp(-2 pi i k / N) for k < N: an eighth of the circle from sine and cosine, the rest by symmetry."""
    angles = np.arange(size // 8 + 1) * (2 * np.pi / size)
    eighth = np.cos(angles) - 1j * np.sin(angles)
    quarter = np.concatenate([eighth, (-1j * eighth[-2 if size >= 8 else -1 : 0 : -1].conj())])[: max(size // 4, 1)]
    return np.concatenate([quarter, -1j * quarter, -quarter, 1j * quarter])[:: 1 if size >= 4 else 4 // size]


def _root_error(size: int) -> float:
    """Return a bound of |w_k - exp(-2 pi i k / N)|, measured by w_k^2 = w_2k and w_0 = 1.

    A root in the right quadrant is at least sqrt(2) from the wrong square root, so its error is at most
    (residual + error of w_2k) / sqrt(2), hence everywhere at most 2.42 residuals; being that small it is at most
    (residual + error) / (2 - error), hence one residual. The other quadrants are exact copies.
    """
    if size <= 4:
        return 0.0
    roots = roots_of_unity(size)
    inner = np.arange(1, size // 4)
    if roots[0] != 1 or roots[size // 4] != -1j or not ((roots.real[inner] > 0) & (roots.imag[inner] < 0)).all():
        raise ArithmeticError("the roots of unity of this machine are not where they should be")
    residual = float(np.abs(roots[inner] * roots[inner] - roots[2 * inner]).max()) + 4 * ROUNDOFF
    return residual * (1 + 1e-9)


def _down(values: Complexes, roots: Complexes) -> Complexes:
    """Transforms of every column: the halves of a stage are the sums over even and over odd rows."""
    rows, columns = values.shape
    at: Complexes = values.reshape(rows, 1, columns)
    while len(at) > 1:
        half, done = len(at) // 2, at.shape[1]
        turned = at[half:] * roots[: len(roots) // 2 : len(roots) // (2 * done)][:, None]
        at = np.concatenate([at[:half] + turned, at[:half] - turned], axis=1)
    return np.asarray(at[0])
