"""The geometric mechanism for any metric on the answers."""

import numpy as np

from inbounds.exact import Floats, Ints


def geometric_matrix(distances: Floats, tails: Ints, heads: Ints, lengths: Floats) -> Floats:
    """Compute w_i · exp(-d(i, j)) with columns summing to one; if a w is negative, normalized columns of exp(-c d).

    distances: epsilon · distance of any two answers; lengths: epsilon · length of each edge. c is the largest rate that
    is private: along an edge the ratio is at most exp(c length) · sums[head] / sums[tail], reached by the output
    `tail`.
    """
    kernel = np.exp(-distances)
    try:
        w = np.linalg.solve(kernel, np.ones(len(distances)))
    except np.linalg.LinAlgError:
        w = np.full(len(distances), -1.0)
    if w.min() >= 0:
        P = w[:, None] * kernel
        return np.asarray(P / P.sum(axis=0))
    low, high = 0.5, 1.0
    while high - low > 1e-12:
        c = (low + high) / 2
        sums = np.exp(-c * distances).sum(axis=0)
        private = (c * lengths + np.log(sums[heads] / sums[tails]) <= lengths).all()
        low, high = (c, high) if private else (low, c)
    P = np.exp(-low * distances)
    return np.asarray(P / P.sum(axis=0))
