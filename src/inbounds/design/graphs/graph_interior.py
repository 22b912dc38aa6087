"""The optimum on a graph by an interior-point method, for nearly flat rows, where raising closed sets takes too long.

min sum_i c_i · x_i with sum_i x_i = 1 and B x_i = s_i >= 0 over the edges, multipliers f_i >= 0:

    sum_i x_i = 1,   B x_i = s_i,   B'f_i = c_i - v,   s_i f_i = 0.

The steps are those of `interior_point`, which asks for Newton's direction towards products s f = a. It eliminates

1. multipliers: f ds + s df = a - s f gives  df = a / s - f - (f / s) ds;
2. outputs: B'(f + df) = c - v - dv and ds = B dx give  A_i dx_i = B'(a / s - f) - (c - v - B'f) + dv
   with A_i = B' diag(f / s) B;
3. sums: sum_i (x_i + dx_i) = 1 leaves n equations for dv with the matrix sum_i A_i^-1 (`factors`).

The f of every iterate gives a valid bound (`bound`).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array

from inbounds.design.graphs import symmetry
from inbounds.design.graphs.factors import DenseFactors, EdgePairs, make_factors
from inbounds.design.graphs.graph_columns import GraphComponent
from inbounds.design.problem import Floats
from inbounds.design.solver.interior_point import Pairs, Targets, interior_points

#: relative gap to stop at, most steps, how far steps stay inside, what is added to diagonals, rounds of refinement
GAP, STEPS, INSIDE, RIDGE, REFINED = 1e-9, 150, 0.97, 1e-14, 2
#: share of the right-hand side that a direction may be off without another round
EXACT = 1e-9
#: a gap below which steps that do not lessen it by this factor are not waited for longer than so many
STALLED, FASTER, PATIENCE = 1e-6, 0.7, 4
#: columns that sum to one up to this are a mechanism
SOUND = 1e-7
#: share of its length that the first point uses at an edge, found by so many halvings
ROOM, HALVINGS = 0.9, 30


@dataclass(frozen=True, eq=False)
class GraphPoint:
    """An iterate, or a direction: rows x, slacks s, multipliers f and duals v."""

    x: Floats
    s: Floats
    f: Floats
    v: Floats

    @property
    def pairs(self) -> Pairs:
        return ((self.s, self.f),)

    def move(self, direction: "GraphPoint", primal: float, dual: float) -> "GraphPoint":
        """Move along a direction by the primal and dual step lengths."""
        d = direction
        return GraphPoint(self.x + primal * d.x, self.s + primal * d.s, self.f + dual * d.f, self.v + dual * d.v)


class GraphSystem:
    """The system at one iterate: factors of every output, scaled to a unit diagonal, and of their sum."""

    def __init__(self, form: "EdgeProgram", at: GraphPoint) -> None:
        self.form, self.at = form, at
        self.w = at.f / at.s
        diagonal = self.w @ form.squares
        beside = -(self.w * form.ratios) @ form.in_pairs
        self.scale = np.sqrt(diagonal)
        pairs = form.pairs
        beside = beside / (self.scale[:, pairs.first] * self.scale[:, pairs.second])
        self.factors = make_factors(pairs, np.full_like(diagonal, 1 + RIDGE), beside)
        means = form.symmetry.means
        self.spread = None
        if isinstance(self.factors, DenseFactors) and len(means) < len(form.symmetry.orbit):
            self.spread = self.factors.spread(1 / self.scale, means)
            self.total = means @ self.spread.sum(axis=0)
        else:
            self.total = form.symmetry.fold(form.symmetry.fold(self.factors.inverses(1 / self.scale)).T)
        size = np.sqrt(np.diag(self.total))
        self.size, self.root = size, cho_factor(self.total / size / size[:, None] + 1e-15 * np.eye(len(size)))

    def solve(self, right: Floats) -> Floats:
        """Solve A_i y_i = right_i for all outputs i."""
        return np.asarray(self.factors.solve(right / self.scale) / self.scale)

    def direction(self, targets: Targets) -> GraphPoint:
        """Compute Newton's direction towards s f = targets[0]."""
        form, at = self.form, self.at
        dual = form.cost - form.symmetry.unfold(at.v) - form.apply_transpose(at.f)
        primal = 1 - form.sums(at.x)
        change = targets[0] / at.s - at.f
        right = form.apply_transpose(change) - dual
        dx, dv = self._solve_bordered(right, primal)
        for _ in range(REFINED):
            residual = right + form.symmetry.unfold(dv) - form.apply_transpose(self.w * form.along(dx))
            if np.abs(residual).max() <= EXACT * np.abs(right).max():
                break
            dx_more, dv_more = self._solve_bordered(residual, primal - form.sums(dx))
            dx, dv = dx + dx_more, dv + dv_more
        ds = form.along(dx)
        return GraphPoint(dx, ds, change - self.w * ds, dv)

    def _solve_bordered(self, right: Floats, sums: Floats) -> tuple[Floats, Floats]:
        """Solve A_i dx_i = right_i + dv with sum_i dx_i = sums, up to symmetry."""
        y = self.solve(right)
        b = sums - self.form.sums(y)
        dv = cho_solve(self.root, b / self.size) / self.size
        dv += cho_solve(self.root, (b - self.total @ dv) / self.size) / self.size
        if self.spread is not None:
            return y + self.spread @ dv, dv
        return y + self.solve(np.broadcast_to(self.form.symmetry.unfold(dv), right.shape)), dv


class EdgeProgram:
    """The program of one component in units of its cost, with one output for each orbit of its symmetry."""

    def __init__(self, part: GraphComponent) -> None:
        network = part.network
        self.part, self.ratios = part, network.ratios
        self.symmetry = symmetry.find_symmetry(part.loss, part.prior, network)
        cost = (part.prior * part.loss)[self.symmetry.outputs]
        self.unit = float(cost.mean(axis=0).sum())
        self.cost = cost / self.unit
        count, n = len(network.tails), network.size
        edges = np.arange(count)
        ends = np.r_[edges, edges], np.r_[network.heads, network.tails]
        self.B = csr_array((np.r_[network.ratios, -np.ones(count)], ends), shape=(count, n))
        self.squares = csr_array((np.r_[network.ratios**2, np.ones(count)], ends), shape=(count, n))
        self.pairs = EdgePairs.among(network)
        self.in_pairs = csr_array(
            (np.ones(count), (edges, self.pairs.pair_of_edge)), shape=(count, len(self.pairs.first))
        )
        self.BT = self.B.T.tocsr()

    def sums(self, x: Floats) -> Floats:
        """Return the column sums as means over the orbits of the answers."""
        return self.symmetry.fold(x.sum(axis=0))

    def along(self, x: Floats) -> Floats:
        """Return B x of every output."""
        return np.asarray((self.B @ x.T).T)

    def apply_transpose(self, f: Floats) -> Floats:
        """Return B' f of every output."""
        return np.asarray((self.BT @ f.T).T)

    def factor(self, point: GraphPoint) -> Callable[[Targets], GraphPoint]:
        """Factor the systems of all outputs, and that of v."""
        return GraphSystem(self, point).direction

    def start(self) -> GraphPoint:
        """Start from normalized columns of exp(-c · distance), with the largest c that leaves room at every edge."""
        network = self.part.network
        far = np.minimum(network.distances, 600.0)
        low, high = 0.0, 1.0
        for _ in range(HALVINGS):
            c = (low + high) / 2
            sums = np.exp(-c * far).sum(axis=0)
            private = c * network.lengths + np.log(sums[network.heads] / sums[network.tails]) <= ROOM * network.lengths
            low, high = (c, high) if private.all() else (low, c)
        near = np.exp(-low * far)
        x = self.symmetry.sizes[:, None] * (near / near.sum(axis=0))[self.symmetry.outputs]
        s = self.along(x)
        return GraphPoint(x, s, (self.cost * x).sum() / s.size / s, np.zeros(len(self.cost)))


def solve(part: GraphComponent, deadline: float, enough: float = GAP) -> tuple[Floats, float]:
    """Return the best matrix and the best bound of all iterates, up to a relative gap of `enough`; for average
    losses.
    """
    form, best, low = EdgeProgram(part), part.constant, 0.0
    stalled, last = 0, np.inf
    for at in interior_points(form, inside=INSIDE, steps=STEPS, deadline=deadline):
        low = max(low, part.bound(part.prior, form.unit * at.f, form.symmetry))
        if np.abs(form.sums(at.x) - 1).max() < SOUND:
            P = form.symmetry.mechanism(at.x)
            best = min(best, P / P.sum(axis=0), key=part.value)
        gap = 1 - low / part.value(best)
        stalled, last = (0, gap) if gap < last * FASTER else (stalled + 1, last)
        if gap <= enough or (gap < STALLED and stalled > PATIENCE):
            break
    return best, low
