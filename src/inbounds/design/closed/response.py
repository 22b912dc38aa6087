"""Randomized response."""

import numpy as np

from inbounds.exact import Floats, Ints


def response_matrix(home: Ints, outputs: int, rate: float) -> Floats:
    """Compute randomized response: the true output home[j] with probability e^rate / (m - 1 + e^rate) (001 (3)).

    The m - 1 other outputs are equally likely. Scaled by e^-rate, so that no rate overflows.
    """
    others = np.exp(-rate)
    matrix = np.full((outputs, len(home)), others)
    matrix[home, np.arange(len(home))] = 1.0
    return np.asarray(matrix / (1.0 + (outputs - 1) * others))
