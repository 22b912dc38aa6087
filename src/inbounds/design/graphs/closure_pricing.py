"""Which private row improves a mix most, on any graph: minimum cuts, for all outputs at once.

A private row x lies in the cone x_tail <= exp(d) x_head. From a row x one may raise any set S of answers that is
closed under its tight edges (a tail in S has its head in S); to first order that changes r · x by the sum of r_j x_j
over S. The closed set of least sum is a minimum cut (Picard 1976). Raise it until the next edge is tight, and again.
When no closed set has a negative sum, no direction of the tangent cone improves x: it is a minimum, for any lengths,
and the flow on the tight edges is the multiplier that proves it. The largest -r · x / w · x is the root of
min (r + gain w) · x = 0 (Dinkelbach 1967).
"""

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from inbounds.design.graphs.network import Flags, Network
from inbounds.design.problem import Floats, Ints

TIGHT = 1e-9
"""Slack of log x below which an edge is tight."""

WHOLE = 1 << 30
"""Capacities of one output sum to about this: flows are found in whole numbers of 32 bits."""

GAIN = 1e-11
"""Share of the sum of |r_j x_j| that a closed set must win."""

PASSES = 3
"""Flows found one after the other, each in finer units for what the last one left."""


def price_closures(
    network: Network, r: Floats, w: Floats, potentials: Floats, most: int
) -> tuple[Floats, Floats, bool]:
    """Rows of log x, one for each row of r, raised at most `most` times, their -r · x / w · x, and whether that is
    the largest there is."""
    h = potentials - potentials.max(axis=1, keepdims=True)
    gain = closure_gains(r, w, np.exp(h))
    live = np.arange(len(r))
    for _ in range(most):
        better, now, found = _raise_set(network, r[live], w, h[live], gain[live])
        live = live[better]
        if not len(live):
            break
        h[live], gain[live] = now[better], found[better]
    return h, gain, not len(live)


def closure_gains(r: Floats, w: Floats, x: Floats) -> Floats:
    return np.asarray(-(r * x).sum(axis=1) / (x @ w))


def _raise_set(network: Network, r: Floats, w: Floats, h: Floats, gain: Floats) -> tuple[Flags, Floats, Floats]:
    """One closed set raised for every output: whether it helped, log x and gain after it."""
    value = (r + gain[:, None] * w) * np.exp(h)
    slack = network.slack(h)
    tight = _Tight(network, slack <= TIGHT)
    closed = tight.source_side(tight.flow(value))
    won = -(value * closed).sum(axis=1)
    leaving = closed[:, network.tails] & ~closed[:, network.heads]
    step = np.where(leaving, slack, np.inf).min(axis=1)
    fine = (won > GAIN * np.abs(value).sum(axis=1)) & np.isfinite(step)
    raised = h + np.where(fine, step, 0.0)[:, None] * closed
    raised -= raised.max(axis=1, keepdims=True)
    found = closure_gains(r, w, np.exp(raised))
    return fine & (found > gain), raised, found


def multipliers(network: Network, r: Floats, potentials: Floats) -> Floats:
    """f[i, edge] >= 0 with r_i - f_i · (exp(d) x_head - x_tail) as little below zero as flows on tight edges allow.

    At a minimum of r · x over the cone nothing is left below zero.
    """
    x = np.exp(potentials - potentials.max(axis=1, keepdims=True))
    tight = _Tight(network, network.slack(potentials) <= TIGHT)
    value, found = r * x, np.zeros(len(tight.outputs))
    for _ in range(PASSES):
        more = tight.flow(value, found)
        pushed = more.sizes[tight.outputs] * more.along
        found += pushed
        np.add.at(value, (tight.outputs, network.tails[tight.edges]), pushed)
        np.add.at(value, (tight.outputs, network.heads[tight.edges]), -pushed)
    f = np.zeros((len(r), len(network.tails)))
    with np.errstate(divide="ignore", over="ignore"):
        f[tight.outputs, tight.edges] = np.maximum(found, 0.0) / x[tight.outputs, network.tails[tight.edges]]
    return np.where(np.isfinite(f), f, 0.0)


class _Flow:
    """A maximum flow over copies of the graph, one for each output: along each tight edge, in units of `sizes`."""

    def __init__(self, joined: csr_array, flow: csr_array, along: Floats, sizes: Floats) -> None:
        self.joined, self.flow, self.along, self.sizes = joined, flow, along, sizes


class _Tight:
    """The tight edges of every output's row, as one graph of (output, answer) with a source and a sink."""

    def __init__(self, network: Network, tight: Flags) -> None:
        self.shape = len(tight), network.size
        self.outputs, self.edges = np.nonzero(tight)
        self.tails = self.outputs * network.size + network.tails[self.edges]
        self.heads = self.outputs * network.size + network.heads[self.edges]

    def flow(self, value: Floats, back: Floats | None = None) -> _Flow:
        """As much as can be from negative values to positive ones; `back`: what may be taken back along each edge."""
        source = value.size
        lacking = np.maximum(-value, 0.0)
        total = np.minimum(lacking.sum(axis=1), np.maximum(value, 0.0).sum(axis=1))
        unit = np.where(total > 0, total, 1.0) / WHOLE
        room = np.floor(np.minimum(np.abs(value), total[:, None]) / unit[:, None]).astype(np.int32).ravel()
        giving, taking = (np.flatnonzero((side.ravel() > 0) & (room > 0)) for side in (lacking, value))
        rows: list[Ints] = [np.full(len(giving), source), taking, self.tails]
        columns: list[Ints] = [giving, np.full(len(taking), source + 1), self.heads]
        data = [room[giving], room[taking], np.full(len(self.tails), 2**31 - 1)]
        if back is not None:
            used = np.flatnonzero(back > 0)
            rows, columns = [*rows, self.heads[used]], [*columns, self.tails[used]]
            data.append(np.floor(np.minimum(back[used] / unit[self.outputs[used]], WHOLE)))
        ends = np.concatenate(rows).astype(np.int32), np.concatenate(columns).astype(np.int32)
        joined = csr_array((np.concatenate(data).astype(np.int32), ends), shape=(source + 2, source + 2))
        flow = maximum_flow(joined, source, source + 1, method="dinic").flow
        along = np.empty(0) if back is None else np.asarray(flow[self.tails, self.heads], dtype=np.float64)
        return _Flow(joined, flow, along, unit)

    def source_side(self, found: _Flow) -> Flags:
        """The answers of every output on the source's side of a minimum cut."""
        left = found.joined - found.flow
        left.data[:] = left.data > 0
        left.eliminate_zeros()
        reached = np.zeros(left.shape[0], dtype=np.bool_)
        reached[breadth_first_order(left, left.shape[0] - 2, return_predecessors=False)] = True
        return reached[:-2].reshape(self.shape)
