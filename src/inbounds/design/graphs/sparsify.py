"""Designs for graphs with very many edges: long edges are dropped and repaired at the end.

Most long edges add little to paths of shorter ones. Without them the least loss is a bound. The solution breaks the
long edges by little. To repair it, every row x is raised to max_k x_k exp(-(1 - c) d(j, k)) for the metric d of all
edges, and columns are divided by their sums. Along an edge of length L that is private where the logs of the sums
differ by at most c L.
"""

import time
from dataclasses import replace

import numpy as np

from inbounds.design.graphs import graph_interior, symmetry
from inbounds.design.graphs.factors import MANY_PAIRS
from inbounds.design.graphs.graph_columns import GraphComponent
from inbounds.design.graphs.network import Network
from inbounds.design.problem import Floats

#: edges per answer that are kept, in turn; where rows are nearly flat (epsilon · diameter below that) long edges matter
KEPT, FLAT = (40.0, 120.0), 14.0
#: the same where full factors of all outputs would take more multiplications than that
KEPT_BY_ALL, MOST_WORK = (7.0, 14.0, 24.0), 1e10
#: the most entries of the factors of all outputs
MOST_ENTRIES = 1 << 27
#: the gap at which no more edges are tried, and that of each search
ENOUGH, SEARCHED = 2e-3, 4e-4
#: how many times the time that was taken must be left for more edges
TIME = 6.0
#: times that c is raised, and by how much
RAISED, FACTOR = 40, 1.25


def solve(part: GraphComponent, deadline: float) -> tuple[Floats, float]:
    """Return the best matrix that the short edges lead to, and the best bound."""
    best, low = part.constant, 0.0
    outputs, n = len(symmetry.find_symmetry(part.loss, part.weights, part.network).outputs), part.network.size
    choices = KEPT if outputs * n**3 <= MOST_WORK else KEPT_BY_ALL
    for edges_per_answer in choices if part.network.diameter >= FLAT else choices[1:]:
        if edges_per_answer >= 2 * MANY_PAIRS and outputs * n**2 > MOST_ENTRIES:
            break
        start = time.monotonic()
        x, proved = graph_interior.solve(
            replace(part, network=_keep_short_edges(part.network, edges_per_answer)), deadline, SEARCHED
        )
        low, best = max(low, proved), min(best, close_ratios(x, part.network), key=part.value)
        remaining = deadline - time.monotonic()
        if part.value(best) - low <= ENOUGH * part.value(best) or remaining < TIME * (time.monotonic() - start):
            break
    return best, low


def _keep_short_edges(network: Network, edges_per_answer: float) -> Network:
    """Keep the shortest edges, `edges_per_answer` on average, and ties; all edges if the graph would fall apart."""
    rank = min(int(edges_per_answer * network.size), len(network.lengths) - 1)
    is_short = network.lengths <= np.partition(network.lengths, rank)[rank] * (1 + 1e-9)
    short = Network(
        network.size,
        network.tails[is_short],
        network.heads[is_short],
        network.lengths[is_short],
        network.real[is_short],
    )
    return short if np.isfinite(short.diameter) else network


def close_ratios(P: Floats, network: Network) -> Floats:
    """Raise the rows until they keep every edge, with columns summing to one."""
    share, tails, heads = 0.0, network.tails, network.heads
    for _ in range(RAISED):
        near = np.exp(-(1 - share) * network.distances)  # near[j, k]: x_j >= x_k · near
        raised = np.array([(near * row).max(axis=1) for row in np.maximum(P, 0.0)])
        sums = raised.sum(axis=0)
        least_share = float((np.log(sums[heads] / sums[tails]) / network.lengths).max())
        if least_share <= share:
            break
        share = min(max(least_share, share) * FACTOR, 1.0)
    return np.asarray(raised / sums)
