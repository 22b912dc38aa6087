"""The optimum on a graph by an interior-point method, for nearly flat rows, where raising closed sets takes too long.

min sum_i c_i · x_i with sum_i x_i = 1 and B x_i = s_i >= 0 over the edges, multipliers f_i >= 0:

    c_i - v - B'f_i = 0,   s_i f_i = mu.

Newton's step (Mehrotra's predictor and corrector) eliminates each output, A_i = B' diag(f_i / s_i) B, and leaves n
equations for v with the matrix sum_i A_i^-1 (`factors`). The f of every iterate gives a valid bound (`bound`).
"""

import time
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse import csr_array

from inbounds.design.graphs import symmetry
from inbounds.design.graphs.factors import DenseFactors, EdgePairs, make_factors
from inbounds.design.graphs.graph_columns import GraphComponent
from inbounds.design.problem import Floats

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

    def direction(self, target: Floats) -> GraphPoint:
        """Compute the Newton direction towards s f = target."""
        form, at = self.form, self.at
        dual = form.cost - form.symmetry.unfold(at.v) - form.apply_transpose(at.f)
        primal = 1 - form.sums(at.x)
        q = target / at.s - at.f
        right = form.apply_transpose(q) - dual
        dx, dv = self._solve_bordered(right, primal)
        for _ in range(REFINED):
            residual = right + form.symmetry.unfold(dv) - form.apply_transpose(self.w * form.along(dx))
            if np.abs(residual).max() <= EXACT * np.abs(right).max():
                break
            dx_more, dv_more = self._solve_bordered(residual, primal - form.sums(dx))
            dx, dv = dx + dx_more, dv + dv_more
        ds = form.along(dx)
        return GraphPoint(dx, ds, q - self.w * ds, dv)

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
    form = EdgeProgram(part)
    at, best, low = form.start(), part.constant, 0.0
    stalled, last = 0, np.inf
    for _ in range(STEPS):
        low = max(low, part.bound(part.prior, form.unit * at.f, form.symmetry))
        if np.abs(form.sums(at.x) - 1).max() < SOUND:
            P = form.symmetry.mechanism(at.x)
            best = min(best, P / P.sum(axis=0), key=part.value)
        gap = 1 - low / part.value(best)
        stalled, last = (0, gap) if gap < last * FASTER else (stalled + 1, last)
        if gap <= enough or (gap < STALLED and stalled > PATIENCE) or time.monotonic() > deadline:
            break
        try:
            at = _step(form, at)
        except (LinAlgError, ValueError):
            break
        if not np.isfinite(at.x).all():
            break
    return best, low


def _step(form: EdgeProgram, at: GraphPoint) -> GraphPoint:
    """Make one step of Mehrotra's predictor and corrector."""
    newton = GraphSystem(form, at)
    gap = float((at.s * at.f).sum())
    guess = newton.direction(np.zeros_like(at.s))
    primal, dual = _longest_step(at.s, guess.s), _longest_step(at.f, guess.f)
    reached = float(((at.s + primal * guess.s) * (at.f + dual * guess.f)).sum())
    aim = gap / at.s.size * (reached / gap) ** 3
    move = newton.direction(aim - guess.s * guess.f)
    primal, dual = _longest_step(at.s, move.s), _longest_step(at.f, move.f)
    x = at.x + primal * move.x
    return GraphPoint(x, at.s + primal * move.s, at.f + dual * move.f, at.v + dual * move.v)


def _longest_step(at: Floats, move: Floats) -> float:
    """Return INSIDE times the longest step that stays positive, at most one."""
    return min(1.0, INSIDE / max(-float((move / at).min()), 1e-300))
