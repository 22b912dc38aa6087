"""Noise on a map as a channel: a convolution with row and column factors, by fast Fourier transforms.

P[i, j] = rows[i] · kernel[i - j] · columns[j] for cells i, j of a map: the metric's own geometric mechanism, and planar
noise inside the map. Outputs that do not follow it (the edge of the map, where noise from beyond is gathered) are kept
as they are. The transforms err by a share of the largest number, not of each: the slack of every row accounts for it.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from inbounds.errors import TooLarge
from inbounds.exact import Floats, Ints
from inbounds.local.reconstruct.channel import Slack, singular
from inbounds.local.reconstruct.systems import System
from inbounds.mechanism.laws.plane import PlaneNoise
from inbounds.trusted.bounds import TOTAL

SMALLEST = 1024
"""Answers from which transforms are faster than the matrix, which has Newton steps of its own below."""

TRANSFORM = 4e-15
"""Per doubling of its length, the share of a vector's norm that two transforms and their kernel's may lose: 3 · 7 units
of 2^-53 by Higham, Accuracy and Stability of Numerical Algorithms, 2002, Theorem 24.2, and as much again for room."""

Misses = Callable[[Floats, Callable[[slice], Floats]], Slack | None]


@dataclass(frozen=True, eq=False)
class ConvolutionChannel:
    """rows[i] · kernel[i - j] · columns[j] but for the outputs `others`, whose rows of the matrix are `block`.

    kernel[a, b] belongs to the step (a - height + 1, b - width + 1). least: the smallest entry of the matrix.
    """

    size: tuple[int, int]
    rows: Floats
    kernel: Floats
    columns: Floats
    others: Ints
    block: Floats
    slack: Slack
    least: float
    solvable = False

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), len(self.columns)

    @cached_property
    def _spectrum(self) -> tuple[tuple[int, int], NDArray[np.complex128]]:
        from scipy.fft import next_fast_len, rfft2

        lengths = next_fast_len(self.kernel.shape[0], real=True), next_fast_len(self.kernel.shape[1], real=True)
        around = np.zeros(lengths)
        steps = [np.arange(1 - side, side) for side in self.size]
        around[np.ix_(*steps)] = self.kernel  # steps back stand at the end
        return lengths, rfft2(around)

    def _convolve(self, x: Floats, *, transposed: bool = False) -> Floats:
        from scipy.fft import irfft2, rfft2

        lengths, spectrum = self._spectrum
        product = rfft2(x.reshape(self.size), lengths) * (spectrum.conj() if transposed else spectrum)
        return np.asarray(irfft2(product, lengths)[: self.size[0], : self.size[1]].ravel())

    def forward(self, p: Floats) -> Floats:
        """Return P p, each entry at least what the smallest entry of P makes it."""
        y = self.rows * self._convolve(self.columns * p)
        y[self.others] = self.block @ p
        return np.asarray(np.maximum(y, self.least * p.sum()))

    def backward(self, x: Floats) -> Floats:
        y = self.columns * self._convolve(self.rows * x, transposed=True) + x[self.others] @ self.block
        return np.asarray(np.maximum(y, self.least * x.sum()))

    def invert(self, q: Floats) -> Floats:
        raise singular()

    def system(self, curvature: Floats, theta: Floats) -> System:
        raise TooLarge("noise on a large map has no fast Newton step; use acceleration='squarem'")


def channel_from_plane(law: PlaneNoise) -> ConvolutionChannel:
    """Build the channel of noise on a map that is too large for a matrix: its table inside the map, separate rows on
    its sides.
    """
    if law.remap is not None:
        raise TooLarge("reports of a map of this size must not be remapped; use metric_geometric or planar_laplace")
    cells = np.arange(law.size[0] * law.size[1]).reshape(law.size)
    shaped = cells[1:-1, 1:-1].ravel()
    others = np.setdiff1d(cells, shaped)
    rows, columns = np.zeros(cells.size), np.ones(cells.size)
    rows[shaped] = 1.0
    kernel = (law.table + law.anywhere) / TOTAL
    block = np.array([law.row(i).ravel() / TOTAL for i in others.tolist()])
    slack = _with_transforms(Slack.none(len(shaped)), shaped, rows, kernel, columns)
    return ConvolutionChannel(law.size, rows, kernel, columns, others, block, slack, law.anywhere / TOTAL)


def convolve(matrix: Floats, size: tuple[int, int], misses: Misses) -> ConvolutionChannel | None:
    """Return a matrix over the cells of a map, in reading order, as a convolution; None if it has another shape.

    misses: how far some rows of the matrix are off the shape, None if too far.
    """
    if not (matrix > 0).all():
        return None
    return _read(matrix, size, 0, misses) or _read(matrix, size, 1, misses)


def _read(matrix: Floats, size: tuple[int, int], inset: int, misses: Misses) -> ConvolutionChannel | None:
    """Read factors and kernel from the entries beside the diagonal, then compare all rows at least `inset` inside.

    With P = rows · K · columns and K even, P[i, j] / P[j, i] = u_i / u_j for u = rows / columns, from cell to cell; and
    P[i, i] = rows_i · columns_i, kernel[0] being one.
    """
    height, width = size
    if min(size) < 2 * inset + 2:
        return None
    cells = np.arange(height * width).reshape(size)
    inner = cells[inset : height - inset, inset : width - inset]
    rows, columns = np.zeros(len(matrix)), np.zeros(len(matrix))
    u, diagonal = np.exp(_log_u(matrix, inner)), matrix[inner, inner]
    rows[inner], columns[inner] = np.sqrt(diagonal * u), np.sqrt(diagonal / u)
    for edge, beside, like, alike in _edges(cells, inner, inset):  # P[beside, edge] has the kernel of P[like, alike]
        kernel_there = matrix[like, alike] / (rows[like] * columns[alike])
        columns[edge] = matrix[beside, edge] / (rows[beside] * kernel_there)
    kernel, shaped = _kernel(matrix, cells, rows, columns, inset), inner.ravel()
    y, x = np.divmod(np.arange(len(matrix)), width)

    def entries(block: slice) -> Floats:
        i = shaped[block, None]
        return np.asarray(rows[i] * kernel[y[i] - y + height - 1, x[i] - x + width - 1] * columns)

    missed = misses(matrix[shaped], entries)
    if missed is None:
        return None
    others = np.setdiff1d(cells, shaped)
    slack = _with_transforms(missed, shaped, rows, kernel, columns)
    return ConvolutionChannel(size, rows, kernel, columns, others, matrix[others], slack, float(matrix.min()))


def _log_u(matrix: Floats, inner: Ints) -> Floats:
    """Return log(rows / columns) from the first cell down its column, then along every row."""

    def steps(here: Ints, target: Ints) -> Floats:
        return np.asarray(np.log(matrix[target, here]) - np.log(matrix[here, target]))

    sums = np.zeros(inner.shape)
    sums[1:, 0] = np.cumsum(steps(inner[:-1, 0], inner[1:, 0]))
    sums[:, 1:] = sums[:, :1] + np.cumsum(steps(inner[:, :-1], inner[:, 1:]), axis=1)
    return sums


def _edges(cells: Ints, inner: Ints, inset: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield every cell outside `inner`, the nearest one inside, and two cells inside with the same step between
    them.
    """
    near = np.pad(inner, inset, mode="edge")
    for y, x in np.argwhere(near != cells).tolist():
        beside = divmod(int(near[y, x]), cells.shape[1])
        a, b = y - beside[0], x - beside[1]
        yield int(cells[y, x]), int(near[y, x]), int(inner[max(0, -a), max(0, -b)]), int(inner[max(0, a), max(0, b)])


def _kernel(matrix: Floats, cells: Ints, rows: Floats, columns: Floats, inset: int) -> Floats:
    """Return kernel[step] from two cells so far apart, around the middle of the map; zero for steps that no row has."""
    ends = []
    for side in cells.shape:
        steps = np.arange(1 - side, side)
        target = np.clip((side - 1 + steps) // 2, inset, side - 1 - inset)
        ends.append((target, target - steps))
    (y, from_y), (x, from_x) = ends
    held = [(start >= 0) & (start < side) for start, side in zip((from_y, from_x), cells.shape, strict=True)]
    kernel = np.zeros((len(y), len(x)))
    i = cells[np.ix_(y[held[0]], x[held[1]])]
    j = cells[np.ix_(from_y[held[0]], from_x[held[1]])]
    kernel[np.ix_(*held)] = matrix[i, j] / (rows[i] * columns[j])
    return kernel


def _with_transforms(missed: Slack, shaped: Ints, rows: Floats, kernel: Floats, columns: Floats) -> Slack:
    """Return the slack of the rows, and what transforms lose of P p and P^T x: see `TRANSFORM`.

    A convolution loses a share of sum(kernel) · |x|, the norm of x at most its sum.
    """
    share = TRANSFORM * math.log2(kernel.size * 4)
    lost = share * kernel.sum() * columns.max() * rows
    above, below = lost.copy(), lost.copy()
    above[shaped] += missed.above
    below[shaped] += missed.below
    return Slack(above, below)
