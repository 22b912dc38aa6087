"""Crowded graphs: most edges say hardly more than paths of shorter ones do, and are left out until the end.

Without the long edges the least loss is a bound. The solution breaks the long ones by little: every row x is raised to
max_k x_k exp(-(1 - c) d(j, k)) for the metric d of all edges, and columns are divided by their sums. Along an edge of
length L that is private where the logs of the sums differ by at most c L.
"""

import time
from dataclasses import replace

import numpy as np

from inbounds.design.graphs import graph_interior, symmetry
from inbounds.design.graphs.graph_columns import GraphComponent
from inbounds.design.graphs.network import Network
from inbounds.design.problem import Floats

#: edges per answer that are kept, in turn; where rows are nearly flat (epsilon · diameter below that) long edges matter
KEPT, FLAT = (40.0, 120.0), 14.0
#: the same for more outputs than that, where no symmetry spares any
KEPT_BY_ALL, MANY_OUTPUTS = (7.0, 14.0), 128
#: the gap at which no more edges are tried, and that of each search
ENOUGH, SEARCHED = 2e-3, 4e-4
#: how many times the time that was taken must be left for more edges
TIME = 6.0
#: times that c is raised, and by how much
RAISED, FACTOR = 40, 1.25


def solve(part: GraphComponent, deadline: float) -> tuple[Floats, float]:
    """For average losses: the best matrix that the kept edges lead to, and the best bound."""
    best, low = part.constant, 0.0
    outputs = len(symmetry.find_symmetry(part.loss, part.prior, part.network).outputs)
    all_kept = KEPT if outputs <= MANY_OUTPUTS else KEPT_BY_ALL
    for kept in all_kept if part.network.diameter >= FLAT else all_kept[1:]:
        start = time.monotonic()
        x, proved = graph_interior.solve(replace(part, network=_thin(part.network, kept)), deadline, SEARCHED)
        low, best = max(low, proved), min(best, close_ratios(x, part.network), key=part.value)
        left = deadline - time.monotonic()
        if part.value(best) - low <= ENOUGH * part.value(best) or left < TIME * (time.monotonic() - start):
            break
    return best, low


def _thin(network: Network, kept: float) -> Network:
    """The shortest edges, so many per answer, and all that are as long as one of them."""
    rank = min(int(kept * network.size), len(network.lengths) - 1)
    near = network.lengths <= np.partition(network.lengths, rank)[rank] * (1 + 1e-9)
    found = Network(network.size, network.tails[near], network.heads[near], network.lengths[near], network.real[near])
    return found if np.isfinite(found.diameter) else network


def close_ratios(P: Floats, network: Network) -> Floats:
    """The rows raised until they keep every edge, columns summing to one."""
    share, tails, heads = 0.0, network.tails, network.heads
    for _ in range(RAISED):
        near = np.exp(-(1 - share) * network.distances)  # near[j, k]: x_j >= x_k · near
        raised = np.array([(near * row).max(axis=1) for row in np.maximum(P, 0.0)])
        sums = raised.sum(axis=0)
        needed = float((np.log(sums[heads] / sums[tails]) / network.lengths).max())
        if needed <= share:
            break
        share = min(max(needed, share) * FACTOR, 1.0)
    return np.asarray(raised / sums)
