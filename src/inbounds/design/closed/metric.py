"""The geometric mechanism of any metric."""

import numpy as np

from inbounds.exact import Floats, Ints


def geometric_matrix(far: Floats, tails: Ints, heads: Ints, lengths: Floats) -> Floats:
    """w_i · exp(-d(i, j)), columns summing to one; where a w is negative, exp(-c d) with columns divided by their sums.

    far: epsilon · distance of any two answers; lengths: epsilon · length of each edge. c is the largest rate that is
    private: along an edge the ratio is at most exp(c length) · sums[head] / sums[tail], reached by the report `tail`.
    """
    kernel = np.exp(-far)
    try:
        w = np.linalg.solve(kernel, np.ones(len(far)))
    except np.linalg.LinAlgError:
        w = np.full(len(far), -1.0)
    if w.min() >= 0:
        P = w[:, None] * kernel
        return np.asarray(P / P.sum(axis=0))
    low, high = 0.5, 1.0
    while high - low > 1e-12:
        c = (low + high) / 2
        sums = np.exp(-c * far).sum(axis=0)
        private = (c * lengths + np.log(sums[heads] / sums[tails]) <= lengths).all()
        low, high = (c, high) if private else (low, c)
    P = np.exp(-low * far)
    return np.asarray(P / P.sum(axis=0))
