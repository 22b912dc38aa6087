"""Two-sided geometric noise on a grid, returned into the range: snapped to the nearest output, or folded at the
ends.
"""

import numpy as np

from inbounds.design.closed.noise import snap_to_cells
from inbounds.exact import Floats


def snapped_geometric(edges: Floats, rate: float) -> Floats:
    """Compute the masses of geometric noise between half-integers: Pr[noise >= m] = b^m / (1 + b) for m >= 1, b =
    exp(-rate).

    edges[i, j]: the boundary between outputs i and i + 1 seen from answer j, in steps.
    """
    return snap_to_cells(lambda x: -rate * (x + 0.5) - np.log1p(np.exp(-rate)), edges)


def truncated_matrix(size: int, rate: float) -> Floats:
    """Compute GM (003 Definition 4) for answers and outputs 0..size-1 and a privacy loss of `rate` per step."""
    places = np.arange(size)
    return snapped_geometric(np.subtract.outer(places[1:], places) - 0.5, rate)


def folded_matrix(size: int, rate: float) -> Floats:
    """Compute geometric noise reflected at -1/2 and size - 1/2.

    The masses are (b^x + b^(2N-x)) / (1 - b^(2N)), up to a factor, summed over both images x.
    """
    i, j = np.arange(size)[:, None], np.arange(size)[None, :]
    images = [np.abs(i - j), i + j + 1]
    series = sum(np.exp(-rate * x) + np.exp(-rate * (2 * size - x)) for x in images)
    return np.asarray(np.tanh(rate / 2) * series / -np.expm1(-2 * size * rate))
