"""Which blocks hold which labels, as a linear map: A c counts the reports that hold each label, A^T p sums shares.

A[label, block] is 1 where the block holds the label. It is never written out: affine families are windows of running
sums, projective spaces are a Fourier transform over their field (for order 2 the Walsh-Hadamard transform), and only
subsets, which are few, are listed.
"""

from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inbounds.exact import Floats, Ints
from inbounds.trusted.block_designs import Affine, BlockDesign, Flags, Planes, Subsets


@singledispatch
def labels_held(design: BlockDesign, counts: Floats) -> Floats:
    """Return A c: for every label the sum of `counts` over the blocks that hold it."""
    raise TypeError(f"design must be Subsets, Affine or Planes, got {type(design).__name__}")


@singledispatch
def blocks_holding(design: BlockDesign, shares: Floats) -> Floats:
    """Return A^T p: for every block the sum of `shares` over the labels that it holds."""
    raise TypeError(f"design must be Subsets, Affine or Planes, got {type(design).__name__}")


# --- subsets ----------------------------------------------------------------------------------------------


@labels_held.register
def _(design: Subsets, counts: Floats) -> Floats:
    blocks = np.arange(design.blocks)
    return np.array([counts[design.holds(blocks, np.array(j))].sum() for j in range(design.labels)])


@blocks_holding.register
def _(design: Subsets, shares: Floats) -> Floats:
    blocks = np.arange(design.blocks)
    return np.asarray(sum(share * design.holds(blocks, np.array(j)) for j, share in enumerate(shares.tolist())))


# --- affine families: block (a, b) holds x where (a·x + b) mod m < size, so b is one of `size` in a row --------------


@labels_held.register
def _(design: Affine, counts: Floats) -> Floats:
    """For each a the sum over the `size` places b from -a·x on. O(modulus²)."""
    m, table = design.modulus, counts.reshape(design.modulus - 1, design.modulus)
    windows = _windows(table, design.size)  # windows[a, b]: sum of counts at b, b + 1, … b + size - 1
    result, labels = np.zeros(design.labels), np.arange(design.labels)
    for a in range(1, m):
        result += windows[a - 1].take(-a * labels % m)
    return result


@blocks_holding.register
def _(design: Affine, shares: Floats) -> Floats:
    """For each a the shares moved to -a·x, then summed over the `size` places up to b. O(modulus²)."""
    m, labels = design.modulus, np.arange(design.labels)
    moved = np.zeros((m - 1, m))
    for a in range(1, m):
        moved[a - 1, -a * labels % m] = shares
    return _windows(moved[:, ::-1], design.size)[:, ::-1].ravel()


def _windows(table: Floats, size: int) -> Floats:
    """Return sums of `size` entries in a row, from each one on, round the end."""
    sums = np.cumsum(np.concatenate([np.zeros((len(table), 1)), table, table[:, : size - 1]], axis=1), axis=1)
    return np.asarray(sums[:, size:] - sums[:, : table.shape[1]])


# --- projective spaces ------------------------------------------------------------------------------------


@labels_held.register
def _(design: Planes, counts: Floats) -> Floats:
    return _orthogonal(design.order, design.dimension, counts, design.labels)


@blocks_holding.register
def _(design: Planes, shares: Floats) -> Floats:
    """Points and planes change places: <a, x> = <x, a>."""
    padded = np.zeros(design.blocks)
    padded[: design.labels] = shares
    return _orthogonal(design.order, design.dimension, padded, design.blocks)


def _orthogonal(q: int, dimension: int, values: Floats, points: int) -> Floats:
    """Return, for each of the first points x, the sum of `values` over all points a with <a, x> = 0 modulo q.

    Points whose highest digit is 0 are a space of one dimension less, and come first; the others are (1, a') with any
    a'. With F(z) = sum of values · w^<a', z> over the latter, w a q-th root of unity, those with t + <a', x'> = 0 add
    up to sum_s w^(s·t) F(s·x') / q for x = (t, x'). O(q^(dimension - 1) · dimension + points · q · dimension).
    """
    if dimension == 1:
        return np.zeros(points)
    space = Planes(2, q, dimension)
    below = min(space.holding, points)  # points with t = 0
    lower = _orthogonal(q, dimension - 1, values[: space.holding], below)
    vectors = np.concatenate([space.vectors(np.arange(below))[1], np.arange(points - below)])
    sums = _hyperplanes(q, dimension - 1, values[space.holding :], vectors, np.arange(points) >= below)
    sums[:below] += lower
    if points > below:
        sums[below] += values[: space.holding].sum()  # x' = 0 is orthogonal to all
        sums[below + 1 :] += lower.take(space.point_number(vectors[below + 1 :]))
    return sums


def _hyperplanes(q: int, dimension: int, values: Floats, vectors: Ints, top: Flags) -> Floats:
    """Return the sums of `values` over the a' with t + <a', x'> = 0, for x' and t = 0 or 1."""
    transformed = _transform(values, q, dimension)
    if q == 2:
        return np.asarray((transformed[0] + np.where(top, -1, 1) * transformed.take(vectors)) / 2)
    powers = q ** np.arange(dimension)
    digits, sums = vectors // powers[:, None] % q, np.full(len(vectors), transformed[0].real)
    for factor in range(1, (q + 1) // 2):  # factors s and q - s are conjugates
        turn = np.where(top, np.exp(-2j * np.pi * factor / q), 1.0)
        sums += 2 * (turn * transformed.take(powers @ (digits * factor % q))).real
    return np.asarray(sums / q)


def _transform(values: Floats, q: int, dimension: int) -> NDArray[Any]:
    """Return the Fourier transform over vectors of digits modulo q; of order 2 by sums and differences."""
    if q > 2:
        from scipy.fft import fftn

        return np.asarray(fftn(values.reshape((q,) * dimension)).ravel())
    transformed = values.astype(np.float64)
    for place in range(dimension):
        pairs = transformed.reshape(-1, 2, 1 << place)
        transformed = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).ravel()
    return transformed
