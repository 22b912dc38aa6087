"""Cholesky factors of nearly singular matrices."""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor

from inbounds.design.problem import Floats


def definite_root(K: Floats, ridges: tuple[float, ...]) -> tuple[Floats, bool]:
    """Factor K plus the first of the shares `ridges` of its diagonal that makes it positive definite.

    Raises `LinAlgError` if none does.
    """
    for ridge in ridges:
        try:
            root: tuple[Floats, bool] = cho_factor(K + np.diag(ridge * np.diag(K)))
        except LinAlgError:
            continue
        return root
    raise LinAlgError("not even a ridge makes the system definite")
