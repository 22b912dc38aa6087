"""Snapping of any noise to the range (000 Definition 4)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from inbounds.catalog._grid import boundaries, catchments, dense, numeric
from inbounds.catalog.laplace import RANGE
from inbounds.exact import Number, to_epsilon
from inbounds.mechanism import Mechanism, Origin, certify_formula
from inbounds.query import RangeQuery, check_query


def snapped_noise(query: RangeQuery, epsilon: Number, cdf: Callable[[Any], Any], name: str = "noise") -> Mechanism:
    """Add noise of any distribution and return the nearest output; mass beyond the range goes to its ends (000 (16)).

    cdf: Pr[noise <= x] for an array of x, in units of the answers, such as `scipy.stats.laplace(scale=2).cdf`. name:
    what the passport calls the noise. *Guarantee:* the matrix is certified, so noise that is not private for the query
    raises `PrivacyViolation`. Probabilities below 1e-16 above the answer are as exact as 1 - cdf allows; whole
    weights then keep the ratios.

    >>> import inbounds as ib
    >>> from scipy.stats import laplace
    >>> made = ib.catalog.snapped_noise(ib.extreme(1, 5), 1, laplace(scale=4).cdf, "laplace")
    >>> made.matrix[0].round(3).tolist()
    [0.559, 0.441, 0.344, 0.268, 0.208]
    """
    check_query(query)
    dense(numeric(query, "snapped_noise"))
    bound = to_epsilon(epsilon)
    if not callable(cdf):
        raise TypeError(f"cdf must be a function of an array, got {type(cdf).__name__}")
    edges = catchments(query, np.array([float(edge) for edge in boundaries(query)]))
    below = np.asarray(cdf(edges), dtype=np.float64)
    if below.shape != edges.shape or not ((below >= 0) & (below <= 1)).all() or (np.diff(below, axis=0) < 0).any():
        raise ValueError("cdf must return one probability for each x, and must not fall as x grows")
    matrix = np.diff(below, axis=0, prepend=0.0, append=1.0)
    return certify_formula(matrix, query, bound, Origin("snapped_noise", {"noise": name}, RANGE))
