"""A lower bound on the best possible loss on a graph, from any multipliers: weak duality with every rounding error
subtracted.

For f >= 0 every private P has, with B x = (exp(d) x_head - x_tail) over the edges,

    sum_i c_i · P_i  =  sum_i (c_i - B'f_i) · P_i + f_i · B P_i  >=  sum_j min_i (c_i - B'f_i)_j,

because B P_i >= 0, P >= 0, and the columns of P sum to one. The bound does not depend on the tolerance of a solver.
"""

import math

import numpy as np
from scipy.sparse import csr_array

from inbounds.design.graphs.network import Network
from inbounds.design.graphs.symmetry import Symmetry
from inbounds.design.problem import Floats

UNIT = 2.0**-52


def lower_bound(network: Network, cost: Floats, f: Floats, symmetry: Symmetry | None = None) -> float:
    """Compute the bound. cost[i, j] = weight_j loss_ij, each factor correct up to one rounding; f: outputs × edges.

    With a symmetry, f has one output of each orbit: those of the others are its images.
    """
    f = np.where(network.real, np.maximum(f, 0.0), 0.0)
    # lengths are rounded twice and exp once: a ratio that is surely no smaller than the true one
    ratios = network.ratios * (1 + (4 + 4 * network.lengths) * UNIT)
    edges, n = np.arange(len(network.tails)), network.size
    ones, shape = np.ones(len(edges)), (len(edges), n)
    at_tail, at_head = (csr_array((ones, (edges, ends)), shape=shape) for ends in (network.tails, network.heads))
    up, down = f @ at_tail, (f * ratios) @ at_head
    if symmetry is not None:
        up, down = symmetry.everywhere(up), symmetry.everywhere(down)
    terms = 10 + np.bincount(network.tails, minlength=n) + np.bincount(network.heads, minlength=n)
    rest = cost + up - down - UNIT * terms * (np.abs(cost) + up + down)
    least = rest.min(axis=0)
    return math.fsum(least) - UNIT * math.fsum(np.abs(least))
