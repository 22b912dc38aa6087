"""A discrete Fourier transform with a proved error bound.

Radix two in four steps, N = n1·n2 (Bailey 1990): transforms of length n1 down the columns of a matrix, twiddle factors,
transforms of length n2 down the columns of its transpose. Every operation is an elementwise sum or product of
complex floats, so their error bounds give one for the Euclidean norm. The roots of unity are checked by squaring them,
so the bound does not depend on the accuracy of sine and cosine. `convolve_powers` raises laws on a grid to convolution
powers with it (docs/theory/tilted-convolution.md).
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inbounds.directed_rounding import ROUNDOFF, TINY
from inbounds.exact import Floats

Complexes = NDArray[np.complex128]

PRODUCT = math.sqrt(8) * ROUNDOFF * (1 + 1e-9)
"""The largest relative error of a product of two complex floats (Higham 2002, Lemma 3.5), fused or not."""


def fourier(values: NDArray[Any]) -> Complexes:
    """Return sum_j values[j] · exp(-2 pi i j k / N) for k < N, N a power of two."""
    size = len(values)
    rows = 1 << (size.bit_length() - 1) // 2
    roots = roots_of_unity(size)
    first = _down(values.astype(np.complex128).reshape(rows, size // rows), roots)
    twiddled = first * roots[np.outer(np.arange(rows), np.arange(size // rows))]
    return _down(np.ascontiguousarray(twiddled.T), roots).ravel()


def fourier_back(values: Complexes) -> Complexes:
    """Return the inverse: the conjugate of the transform of the conjugate, divided by N, a power of two."""
    return fourier(values.conj()).conj() / len(values)


def convolve_powers(laws: Sequence[tuple[Floats, int, int]], size: int) -> tuple[Floats, float]:
    """Return the cyclic convolution of powers of laws on a grid, and a bound of its error in the Euclidean norm.

    laws: weights that are not negative, the grid point of the last one, and the power. size: a power of two; what lies
    this many points apart is added, so no entry is below the true convolution but for the error. The error is infinite
    for too high powers.
    """
    phi = relative_error(size)
    product, linear, log_radius = None, 0.0, 0.0
    for w, last, k in laws:
        cyclic = np.bincount(grid_points(w, last) % size, w, size) * (1 + 2 * ROUNDOFF * (1 + len(w) // size))
        error = phi * math.sqrt(size) * euclidean_norm(cyclic) * (1 + size * ROUNDOFF)
        radius = float(cyclic.sum()) * (1 + size * ROUNDOFF) + error
        linear, log_radius = linear + k * error / radius, log_radius + k * (math.log(radius) + 8 * ROUNDOFF)
        power = _power(fourier(cyclic), k)
        product = power if product is None else product * power
    assert product is not None
    norm = euclidean_norm(product) * (1 + 2 * size * ROUNDOFF)
    rounded = math.expm1(sum(k for *_, k in laws) * PRODUCT)
    if not rounded < 0.5:
        return np.zeros(size), math.inf
    error = linear * math.exp(log_radius) + (rounded / (1 - rounded) + phi) * norm
    return np.maximum(fourier_back(product).real, 0.0), error * (1 + 1e-9) / math.sqrt(size) + TINY


def grid_points(law: Floats, last: int) -> NDArray[np.int64]:
    """Return the grid points of a law that ends at `last`."""
    return np.arange(last + 1 - len(law), last + 1)


def euclidean_norm(values: NDArray[Any]) -> float:
    """Return the Euclidean norm, with at most as many roundings as there are values."""
    return math.sqrt(float((values.real**2 + values.imag**2).sum()))


@lru_cache(maxsize=8)
def relative_error(size: int) -> float:
    """Return the largest error of `fourier` and `fourier_back`, as a share of the Euclidean norm of the result.

    A stage maps (a, b) to a + w·b, a - w·b, which multiplies the norm by exactly sqrt(2). In floats, w·b has the errors
    of root and product, and the sum has one rounding.
    """
    twiddle = (_root_error(size) + PRODUCT) * (1 + 1e-9)
    stage = (twiddle + ROUNDOFF) * (1 + 1e-9)
    return math.expm1((size.bit_length() - 1) * stage + twiddle) * (1 + 1e-9)


@lru_cache(maxsize=8)
def roots_of_unity(size: int) -> Complexes:
    """Return exp(-2 pi i k / N) for k < N: an eighth of the circle from sine and cosine, the rest by symmetry."""
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
    """Transform every column: the halves of a stage are the sums over even and over odd rows."""
    rows, columns = values.shape
    stage: Complexes = values.reshape(rows, 1, columns)
    while len(stage) > 1:
        half, length = len(stage) // 2, stage.shape[1]
        twiddled = stage[half:] * roots[: len(roots) // 2 : len(roots) // (2 * length)][:, None]
        stage = np.concatenate([stage[:half] + twiddled, stage[:half] - twiddled], axis=1)
    return np.asarray(stage[0])


def _power(values: Complexes, k: int) -> Complexes:
    """Return values**k by squaring: k - 1 products in total, so the relative error is at most (1 + PRODUCT)^(k - 1)
    - 1.
    """
    result = None
    while True:
        if k & 1:
            result = values if result is None else result * values
        k >>= 1
        if not k:
            assert result is not None
            return result
        values = values * values
