"""Pricing on any graph: the private row that improves a mix most, by minimum cuts, for all outputs at once.

A private row x lies in the cone x_tail <= exp(d) x_head. From a row x one may raise any set S of answers that is
closed under its tight edges (a tail in S has its head in S); to first order that changes r · x by the sum of r_j x_j
over S. The closed set of least sum is a minimum cut (Picard 1976). Raise it until the next edge is tight, and again.
When no closed set has a negative sum, no direction of the tangent cone improves x: it is a minimum, for any lengths,
and the flow on the tight edges is the multiplier that proves it. The largest -r · x / w · x is the root of
min (r + gain w) · x = 0 (Dinkelbach 1967).
"""

import time

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from inbounds.design.graphs.network import Flags, Network
from inbounds.design.problem import Floats, Ints

TIGHT = 1e-9
"""An edge is tight if its slack in log x is below this."""

WHOLE = 1 << 30
"""Sum of the capacities of one output, approximately: flows are 32-bit integers."""

GAIN = 1e-11
"""Least gain of a closed set, as a share of the sum of |r_j x_j|."""

PASSES = 3
"""Number of successive flows, each in finer units for the remainder of the last one."""


def price_closures(
    network: Network, r: Floats, w: Floats, potentials: Floats, most: int, deadline: float = np.inf
) -> tuple[Floats, Floats, bool]:
    """Improve the rows `potentials` (log x), one for each row of r, by raising closed sets at most `most` times.

    Nothing is raised after the deadline (monotonic clock).

    Returns the rows, their gains -r · x / w · x, and whether these are the largest possible.
    """
    h = potentials - potentials.max(axis=1, keepdims=True)
    gain = closure_gains(r, w, np.exp(h))
    live = np.arange(len(r))
    for _ in range(most):
        better, new_rows, new_gain = _raise_set(network, r[live], w, h[live], gain[live])
        live = live[better]
        if not len(live) or time.monotonic() > deadline:
            break
        h[live], gain[live] = new_rows[better], new_gain[better]
    return h, gain, not len(live)


def closure_gains(r: Floats, w: Floats, x: Floats) -> Floats:
    """Compute -r · x / w · x of every row."""
    return np.asarray(-(r * x).sum(axis=1) / (x @ w))


def _raise_set(network: Network, r: Floats, w: Floats, h: Floats, gain: Floats) -> tuple[Flags, Floats, Floats]:
    """Raise one closed set for every output; return whether it helped, and log x and gain after it."""
    value = (r + gain[:, None] * w) * np.exp(h)
    slack = network.slack(h)
    tight = _TightEdges(network, slack <= TIGHT)
    closed = tight.source_side(tight.flow(value))
    won = -(value * closed).sum(axis=1)
    leaving = closed[:, network.tails] & ~closed[:, network.heads]
    step = np.where(leaving, slack, np.inf).min(axis=1)
    fine = (won > GAIN * np.abs(value).sum(axis=1)) & np.isfinite(step)
    raised = h + np.where(fine, step, 0.0)[:, None] * closed
    raised -= raised.max(axis=1, keepdims=True)
    new_gain = closure_gains(r, w, np.exp(raised))
    return fine & (new_gain > gain), raised, new_gain


def multipliers(network: Network, r: Floats, potentials: Floats) -> Floats:
    """Compute f[i, edge] >= 0 with r_i - f_i · (exp(d) x_head - x_tail) as little below zero as tight edges allow.

    At a minimum of r · x over the cone nothing remains below zero.
    """
    x = np.exp(potentials - potentials.max(axis=1, keepdims=True))
    tight = _TightEdges(network, network.slack(potentials) <= TIGHT)
    value, flow = r * x, np.zeros(len(tight.outputs))
    for _ in range(PASSES):
        increment = tight.flow(value, flow)
        pushed = increment.sizes[tight.outputs] * increment.along
        flow += pushed
        np.add.at(value, (tight.outputs, network.tails[tight.edges]), pushed)
        np.add.at(value, (tight.outputs, network.heads[tight.edges]), -pushed)
    f = np.zeros((len(r), len(network.tails)))
    with np.errstate(divide="ignore", over="ignore"):
        f[tight.outputs, tight.edges] = np.maximum(flow, 0.0) / x[tight.outputs, network.tails[tight.edges]]
    return np.where(np.isfinite(f), f, 0.0)


class _Flow:
    """A maximum flow over copies of the graph, one for each output: along each tight edge, in units of `sizes`."""

    def __init__(self, joined: csr_array, flow: csr_array, along: Floats, sizes: Floats) -> None:
        self.joined, self.flow, self.along, self.sizes = joined, flow, along, sizes


class _TightEdges:
    """The tight edges of the rows of all outputs, as one graph of (output, answer) with a source and a sink."""

    def __init__(self, network: Network, tight: Flags) -> None:
        self.shape = len(tight), network.size
        self.outputs, self.edges = np.nonzero(tight)
        self.tails = self.outputs * network.size + network.tails[self.edges]
        self.heads = self.outputs * network.size + network.heads[self.edges]

    def flow(self, value: Floats, back: Floats | None = None) -> _Flow:
        """Compute a maximum flow from negative values to positive ones; `back`: flow that may be undone on each
        edge.
        """
        source = value.size
        lacking = np.maximum(-value, 0.0)
        total = np.minimum(lacking.sum(axis=1), np.maximum(value, 0.0).sum(axis=1))
        unit = np.where(total > 0, total, 1.0) / WHOLE
        capacity = np.floor(np.minimum(np.abs(value), total[:, None]) / unit[:, None]).astype(np.int32).ravel()
        giving, taking = (np.flatnonzero((side.ravel() > 0) & (capacity > 0)) for side in (lacking, value))
        rows: list[Ints] = [np.full(len(giving), source), taking, self.tails]
        columns: list[Ints] = [giving, np.full(len(taking), source + 1), self.heads]
        data = [capacity[giving], capacity[taking], np.full(len(self.tails), 2**31 - 1)]
        if back is not None:
            reversible = np.flatnonzero(back > 0)
            rows, columns = [*rows, self.heads[reversible]], [*columns, self.tails[reversible]]
            data.append(np.floor(np.minimum(back[reversible] / unit[self.outputs[reversible]], WHOLE)))
        ends = np.concatenate(rows).astype(np.int32), np.concatenate(columns).astype(np.int32)
        joined = csr_array((np.concatenate(data).astype(np.int32), ends), shape=(source + 2, source + 2))
        flow = maximum_flow(joined, source, source + 1, method="dinic").flow
        along = np.empty(0) if back is None else np.asarray(flow[self.tails, self.heads], dtype=np.float64)
        return _Flow(joined, flow, along, unit)

    def source_side(self, maximum: _Flow) -> Flags:
        """Return which answers of every output are on the source side of a minimum cut."""
        residual = maximum.joined - maximum.flow
        residual.data[:] = residual.data > 0
        residual.eliminate_zeros()
        reached = np.zeros(residual.shape[0], dtype=np.bool_)
        reached[breadth_first_order(residual, residual.shape[0] - 2, return_predecessors=False)] = True
        return reached[:-2].reshape(self.shape)
