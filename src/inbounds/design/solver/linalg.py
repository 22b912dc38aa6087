"""Cholesky factors of matrices that rounding makes nearly singular."""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor

from inbounds.design.problem import Floats


def definite_root(K: Floats, ridges: tuple[float, ...]) -> tuple[Floats, bool]:
    """The factor of K with the first of these shares of its diagonal added that makes it definite."""
    for ridge in ridges:
        try:
            root: tuple[Floats, bool] = cho_factor(K + np.diag(ridge * np.diag(K)))
        except LinAlgError:
            continue
        return root
    raise LinAlgError("not even a ridge makes the system definite")
