"""The optimum on a graph as a mix of private rows: column generation with a proof at the end.

A private matrix is a sum of rows from the cone, each reported as one output. A small linear program mixes the rows
found so far so that they sum to one at every answer; its duals v price all others (`closure_pricing`,
`tree_pricing`). They are
smoothed (Wentges 1997) as long as many rows still come, and so long only outputs that gained are priced again. For the
worst answer its weights are priced with them.
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
#: seconds that the first program gets even when no time is left
MOMENT = 1.0


@dataclass(frozen=True, eq=False)
class GraphComponent:
    """A connected part of the answers: loss with least value zero, prior weights, aim, and its graph."""

    loss: Floats
    prior: Floats
    worst: bool
    network: Network

    @property
    def weights(self) -> Floats:
        """Of the answers, before any are found for the worst one."""
        return np.full(self.network.size, 1.0 / self.network.size) if self.worst else self.prior

    @property
    def constant(self) -> Floats:
        """What is best without looking; an answer alone in its part has its own best report."""
        P = np.zeros(self.loss.shape)
        P[(self.loss.max(axis=1) if self.worst else self.loss @ self.prior).argmin()] = 1.0
        return P

    def value(self, P: Floats) -> float:
        losses = (self.loss * P).sum(axis=0)
        return float(losses.max() if self.worst else self.prior @ losses)

    def lower(self, duals: "ComponentDuals", lacking: float) -> tuple[float, "ComponentDuals"]:
        """What duals prove that are too large by `lacking`, spread over all answers, and they without it."""
        v = duals.v - lacking / self.network.size
        return float(v.sum()) / (float(duals.weights.sum()) if self.worst else 1.0), ComponentDuals(v, duals.weights)

    def bound(self, weights: Floats, f: Floats, symmetry: Symmetry | None = None) -> float:
        """The worst answer loses at least the average under any weights."""
        low = lower_bound(self.network, weights * self.loss, f, symmetry)
        if self.worst:
            low = low / float(weights.sum()) * (1 - 2.0**-50 * len(weights)) if weights.sum() > 0 else 0.0
        return max(0.0, low)  # losses are not negative


@dataclass(frozen=True, eq=False)
class ComponentDuals:
    """v for the sums of the columns, and the weights of the answers."""

    v: Floats
    weights: Floats

    def mix(self, other: "ComponentDuals", share: float) -> "ComponentDuals":
        return ComponentDuals(
            share * other.v + (1 - share) * self.v, share * other.weights + (1 - share) * self.weights
        )


class Pricing(NamedTuple):
    """How rows that improve are found, and the multipliers that prove that none is left."""

    improved: Callable[[Network, Floats, Floats, Floats, int], tuple[Floats, Floats, bool]]
    multipliers: Callable[[Network, Floats, Floats], Floats]


BY_CUTS = Pricing(closure_pricing.price_closures, closure_pricing.multipliers)
ON_TREES = Pricing(tree_pricing.price_tree_rows, tree_pricing.multipliers)


def generate(part: GraphComponent, deadline: float) -> tuple[Floats, float]:
    """The best mix of rows found until the deadline, and a bound that holds whatever was found."""
    pricing = ON_TREES if part.network.is_tree else BY_CUTS
    master, rows = _start(part)
    every = np.arange(len(part.loss))
    live, smooth, most, fine = every, SMOOTH, RAISES, False
    last = best = ComponentDuals(np.zeros(part.network.size), part.weights)  # the loss is not negative
    proved, P = 0.0, part.constant
    while (mix := master.solve(max(deadline - time.monotonic(), MOMENT))) is not None:
        P = master.matrix(mix.weights)
        last = ComponentDuals(mix.v, mix.mu).mix(last, smooth if last.v.any() else 0.0)
        gain, sure = _raise(part, pricing, last, rows, live, most)
        better = live[gain > LEAST * mix.value]
        came = master.add(rows[better].T, _cheapest(part, last.weights, rows[better]))
        if len(live) == len(every):
            low, lowered = part.lower(last, max(float(gain.max()), 0.0))
            proved, best = max((proved, best), (low, lowered), key=lambda pair: pair[0])
        if time.monotonic() > deadline or (sure and mix.value - proved <= CLOSED * mix.value):
            break
        if not came and len(live) == len(every) and sure and not smooth:
            if fine:
                break
            fine = True
            master.refine()
        settled = came <= len(every) / FEW
        smooth, most = (0.0, RAISES if came else ALL) if settled else (smooth, RAISES)
        live = every if settled else better
    return P, _prove_bound(part, pricing, best, rows)


def _raise(
    part: GraphComponent, pricing: Pricing, duals: ComponentDuals, rows: Floats, live: Ints, most: int
) -> tuple[Floats, bool]:
    """Raise the rows of the outputs `live` in place: what each gains, and whether no more can be gained."""
    n = part.network.size
    r = (duals.weights * part.loss - duals.v)[live]
    rows[live], gain, sure = pricing.improved(part.network, r, np.full(n, 1.0 / n), rows[live], most)
    return gain, sure


def _start(part: GraphComponent) -> tuple[MasterProgram, Floats]:
    """The constant row and rows around each answer, exp(-min(distance, radius)); those without a radius."""
    n, far = part.network.size, part.network.distances
    shortest = float(part.network.lengths.min())
    logs = [np.zeros((1, n)), -far, *(-np.minimum(far, radius * shortest) for radius in RADII)]
    scale = float((part.weights * part.loss).mean(axis=0).sum())
    master = MasterProgram(part.loss, part.prior, part.worst, mirrored=False, scale=scale)
    rows = np.vstack(logs)
    master.add(rows.T, _cheapest(part, part.weights, rows))
    master.begin()
    return master, np.resize(-far, (len(part.loss), n))


def _cheapest(part: GraphComponent, weights: Floats, rows: Floats) -> Ints:
    """For every row the output that it is reported as at the least cost."""
    x = np.exp(rows - rows.max(axis=1, keepdims=True))
    return np.asarray((x @ (weights * part.loss).T).argmin(axis=1))


def _prove_bound(part: GraphComponent, pricing: Pricing, best: ComponentDuals, rows: Floats) -> float:
    """The bound of the best duals: every row that improves is found, and what v is too large by is taken off."""
    n = part.network.size
    w = np.full(n, 1.0 / n)
    r = best.weights * part.loss - best.v
    h, gain, _ = pricing.improved(part.network, r, w, rows, ALL)
    r = r + np.maximum(gain, 0.0)[:, None] * w
    return part.bound(best.weights, pricing.multipliers(part.network, r, h))
