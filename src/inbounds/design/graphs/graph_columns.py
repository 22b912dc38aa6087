"""The optimum on a graph as a mix of private rows: column generation with a proved bound.

A private matrix is a sum of rows from the cone, each used for one output. A small linear program mixes the rows
found so far so that they sum to one at every answer; its duals v price all others (`closure_pricing`,
`tree_pricing`). While many new rows are added, the duals are smoothed (Wentges 1997) and only outputs that gained are
priced again. For the worst-case aim the weights of the answers are part of the duals.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from inbounds.design.graphs import closure_pricing, tree_pricing
from inbounds.design.graphs.bound import lower_bound
from inbounds.design.graphs.network import Network
from inbounds.design.graphs.symmetry import Symmetry
from inbounds.design.problem import Floats, Ints
from inbounds.design.solver.master import MasterProgram

#: relative gap at which the search ends, and share of the value that a row must gain to be taken
CLOSED, LEAST = 1e-10, 1e-12
#: share of the old duals in new ones, and only outputs that gained are priced, while more than outputs / FEW rows come
SMOOTH, FEW = 0.5, 100
#: closed sets raised for an output in one round: few, as the duals still move; all that improve when none comes
RAISES, ALL = 4, 1000
#: radii, in shortest edges, of the rows that the search starts from
RADII = (1.0, 2.0, 3.0)
#: share of the unit below which a value needs a smaller one: the solver's tolerances are absolute
UNLIKE = 0.1
#: seconds that the first program gets even when no time is left
MOMENT = 1.0
#: share of the time that is left for the bound
PROVING = 0.2


@dataclass(frozen=True, eq=False)
class GraphComponent:
    """A connected component of the graph: loss with least value zero, prior weights, aim, and its network."""

    loss: Floats
    prior: Floats
    worst: bool
    network: Network

    @property
    def weights(self) -> Floats:
        """Initial weights of the answers: the prior, or uniform for the worst-case aim."""
        return np.full(self.network.size, 1.0 / self.network.size) if self.worst else self.prior

    @property
    def constant(self) -> Floats:
        """The best matrix that reports the same for every answer: always one output, or for the worst answer any."""
        P = np.zeros(self.loss.shape)
        P[(self.loss.max(axis=1) if self.worst else self.loss @ self.prior).argmin()] = 1.0
        even = np.full(self.loss.shape, 1.0 / len(self.loss))
        return even if self.worst and self.value(even) < self.value(P) else P

    def value(self, P: Floats) -> float:
        """Return the objective of P."""
        losses = (self.loss * P).sum(axis=0)
        return float(losses.max() if self.worst else self.prior @ losses)

    def lower(self, duals: "ComponentDuals", excess: float) -> tuple[float, "ComponentDuals"]:
        """Lower duals by `excess`, spread over all answers; return the bound that they prove, and the duals."""
        v = duals.v - excess / self.network.size
        return float(v.sum()) / (float(duals.weights.sum()) if self.worst else 1.0), ComponentDuals(v, duals.weights)

    def bound(self, weights: Floats, f: Floats, symmetry: Symmetry | None = None) -> float:
        """Prove a bound from multipliers f. The worst answer loses at least the average under any weights."""
        low = lower_bound(self.network, weights * self.loss, f, symmetry)
        if self.worst:
            low = low / float(weights.sum()) * (1 - 2.0**-50 * len(weights)) if weights.sum() > 0 else 0.0
        return max(0.0, low)  # losses are not negative


@dataclass(frozen=True, eq=False)
class ComponentDuals:
    """Duals: v of the column sums, and the weights of the answers."""

    v: Floats
    weights: Floats

    def mix(self, other: "ComponentDuals", share: float) -> "ComponentDuals":
        """Return share * other + (1 - share) * self."""
        return ComponentDuals(
            share * other.v + (1 - share) * self.v, share * other.weights + (1 - share) * self.weights
        )


class Pricing(NamedTuple):
    """A pricing method: a function that improves rows, and one for the multipliers that prove a bound."""

    improved: Callable[[Network, Floats, Floats, Floats, int, float], tuple[Floats, Floats, bool]]
    multipliers: Callable[[Network, Floats, Floats], Floats]


BY_CUTS = Pricing(closure_pricing.price_closures, closure_pricing.multipliers)
ON_TREES = Pricing(tree_pricing.price_tree_rows, tree_pricing.multipliers)


def generate(part: GraphComponent, deadline: float) -> tuple[Floats, float]:
    """Find the best mix of rows until the deadline, and a valid bound."""
    pricing = ON_TREES if part.network.is_tree else BY_CUTS
    end, deadline = deadline, deadline - PROVING * max(deadline - time.monotonic(), 0.0)
    master, rows = _start(part)
    all_outputs = np.arange(len(part.loss))
    live, smooth, most, fine = all_outputs, SMOOTH, RAISES, False
    last = best = ComponentDuals(np.zeros(part.network.size), part.weights)  # the loss is not negative
    sound, proved, P = False, 0.0, part.constant
    while (mix := master.solve(max(deadline - time.monotonic(), MOMENT))) is not None:
        P = master.matrix(mix.weights)
        last = ComponentDuals(mix.v, mix.mu).mix(last, smooth if last.v.any() else 0.0)
        gain, sure = _improve_rows(part, pricing, last, rows, live, most, end)
        better = live[gain > LEAST * mix.value]
        added = master.add(rows[better].T, _cheapest(part, last.weights, rows[better]))
        if len(live) == len(all_outputs):
            low, lowered = part.lower(last, max(float(gain.max()), 0.0))  # a bound only if the gains are the largest
            sound, proved, best = max((sound, proved, best), (sure, low, lowered), key=lambda one: one[:2])
        closed = sound and mix.value - proved <= CLOSED * mix.value
        exact = fine or part.value(P) - mix.value <= CLOSED * mix.value  # the sums are met up to a tolerance
        if time.monotonic() > deadline or (closed and exact):
            break
        if closed or (not added and len(live) == len(all_outputs) and sure and not smooth):
            if fine:
                break
            fine = True
            master.refine()
        few_added = added <= len(all_outputs) / FEW
        smooth, most = (0.0, RAISES if added else ALL) if few_added else (smooth, RAISES)
        live = all_outputs if few_added else better
    return P, _prove_bound(part, pricing, best, rows, end)


def _improve_rows(
    part: GraphComponent, pricing: Pricing, duals: ComponentDuals, rows: Floats, live: Ints, most: int, end: float
) -> tuple[Floats, bool]:
    """Improve the rows of the outputs `live` in place; return what each gains, and whether that is the most."""
    n = part.network.size
    r = (duals.weights * part.loss - duals.v)[live]
    rows[live], gain, sure = pricing.improved(part.network, r, np.full(n, 1.0 / n), rows[live], most, end)
    return gain, sure


def _start(part: GraphComponent) -> tuple[MasterProgram, Floats]:
    """Start the program with the constant row and rows exp(-min(distance, radius)) around each answer, in units near
    its value.

    Also returns one row per output to improve, exp(-distance).
    """
    n, far = part.network.size, part.network.distances
    shortest = float(part.network.lengths.min())
    logs = [np.zeros((1, n)), -far, *(-np.minimum(far, radius * shortest) for radius in RADII)]
    rows = np.vstack(logs)
    outputs, scale = _cheapest(part, part.weights, rows), float((part.weights * part.loss).mean(axis=0).sum())
    master = _initial_master(part, rows, outputs, scale)
    mix = master.solve(MOMENT)
    if mix is not None and 0 < mix.value < UNLIKE * scale:
        master = _initial_master(part, rows, outputs, mix.value)
    return master, np.resize(-far, (len(part.loss), n))


def _initial_master(part: GraphComponent, rows: Floats, outputs: Ints, scale: float) -> MasterProgram:
    """Build the first master program, in units of `scale`."""
    master = MasterProgram(part.loss, part.prior, part.worst, mirrored=False, scale=scale)
    master.add(rows.T, outputs)
    master.begin()
    return master


def _cheapest(part: GraphComponent, weights: Floats, rows: Floats) -> Ints:
    """Return for every row the output with the least cost."""
    x = np.exp(rows - rows.max(axis=1, keepdims=True))
    return np.asarray((x @ (weights * part.loss).T).argmin(axis=1))


def _prove_bound(part: GraphComponent, pricing: Pricing, best: ComponentDuals, rows: Floats, end: float) -> float:
    """Prove the bound of the best duals: improve all rows fully, or until `end`, and lower v by what they gain."""
    n = part.network.size
    w = np.full(n, 1.0 / n)
    r = best.weights * part.loss - best.v
    h, gain, _ = pricing.improved(part.network, r, w, rows, ALL, end)
    r = r + np.maximum(gain, 0.0)[:, None] * w
    return part.bound(best.weights, pricing.multipliers(part.network, r, h))
