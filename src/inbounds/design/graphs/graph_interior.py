"""The optimum on a graph by an interior-point method, for both aims.

Where rows are nearly flat, raising closed sets takes too long; for the worst answer it always does.

min sum_i c_i · x_i with sum_i x_i = 1 and B x_i = s_i >= 0 over the edges, multipliers f_i >= 0:

    sum_i x_i = 1,   B x_i = s_i,   B'f_i = c_i - v,   s_i f_i = 0.

For the worst answer the objective is t, with one row more for each answer j, sum_i loss_ij x_ij + q_j = t with q >= 0.
Its multipliers are weights w >= 0 of the answers:

    c_i = w loss_i,   sum_j w_j = 1,   q_j w_j = 0.

Both kinds of rows are G_i x_i summed over i; z = (v, -w) are their duals.

The steps are those of `interior_point`, which asks for Newton's direction towards products s f = a and q w = b. It
eliminates

1. multipliers: f ds + s df = a - s f gives  df = a / s - f - (f / s) ds, and likewise dq = b / w - q - (q / w) dw;
2. outputs: B'(f + df) = c - G'(z + dz) and ds = B dx give  A_i dx_i = B'(a / s - f) - (c - G'z - B'f) + G_i'dz
   with A_i = B' diag(f / s) B;
3. rows: what they lack leaves one equation for each dz, with the matrix sum_i G_i A_i^-1 G_i' + diag(0, q / w)
   (`factors`), bordered by one for dt.

The f and w of every iterate give a valid bound (`bound`).
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
#: what is added to the unit diagonal of the sum over all outputs, the least that makes it positive definite
RIDGES = (1e-15, 1e-13, 1e-11, 1e-9)
#: share of the right-hand side that a direction may be off without another round
EXACT = 1e-9
#: a gap below which steps that do not lessen it by this factor are not waited for longer than so many
STALLED, FASTER, PATIENCE = 1e-6, 0.7, 4
#: columns that sum to one up to this are a mechanism
SOUND = 1e-7
#: share of its length that the first point uses at an edge, found by so many halvings
ROOM, HALVINGS = 0.9, 30
#: share of the uniform mechanism in the first point for the worst answer: where rows are tiny, multipliers start huge,
#: and weights that must stay positive let them fall only slowly
EVEN = 0.1
#: the first t, as a multiple of the largest loss at the first point
ABOVE = 1.5


@dataclass(frozen=True, eq=False)
class GraphPoint:
    """An iterate, or a direction: rows x, slacks s, multipliers f, duals v.

    For the worst answer also t, the room q below it, and the weights of the answers; else q and weights are empty.
    """

    x: Floats
    s: Floats
    f: Floats
    v: Floats
    q: Floats
    weights: Floats
    t: float

    @property
    def pairs(self) -> Pairs:
        return ((self.s, self.f), (self.q, self.weights))

    @property
    def duals(self) -> Floats:
        """The duals of all rows."""
        return np.append(self.v, -self.weights)

    def move(self, direction: "GraphPoint", primal: float, dual: float) -> "GraphPoint":
        """Move along a direction by the primal and dual step lengths."""
        d = direction
        return GraphPoint(
            self.x + primal * d.x,
            self.s + primal * d.s,
            self.f + dual * d.f,
            self.v + dual * d.v,
            self.q + primal * d.q,
            self.weights + dual * d.weights,
            self.t + primal * d.t,
        )


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
        self.factors = make_factors(pairs, np.full_like(diagonal, 1 + RIDGE), beside, form.deadline)
        means = form.symmetry.means
        self.spread = None
        if isinstance(self.factors, DenseFactors) and len(means) < len(form.symmetry.orbit) and not form.worst:
            self.spread = self.factors.spread(1 / self.scale, means)
            self.total = means @ self.spread.sum(axis=0)
        else:
            weights = [weight / self.scale for weight in form.row_weights]
            self.total = form.fold_both(self.factors.inverses(weights, form.deadline))
        self.room = np.append(np.zeros(len(at.v)), at.q / at.weights)
        self.total[np.diag_indices_from(self.total)] += self.room
        self.size = np.sqrt(np.diag(self.total))
        self.root = _factor(self.total / self.size / self.size[:, None])
        self.border = np.append(np.zeros(len(at.v)), np.ones(len(at.weights)))
        self.along_border = self._solve_total(self.border) if form.worst else self.border

    def solve(self, right: Floats) -> Floats:
        """Solve A_i y_i = right_i for all outputs i."""
        return np.asarray(self.factors.solve(right / self.scale) / self.scale)

    def direction(self, targets: Targets) -> GraphPoint:
        """Compute Newton's direction towards s f = targets[0] and q weights = targets[1]."""
        form, at = self.form, self.at
        dual = form.cost - form.spread_rows(at.duals) - form.apply_transpose(at.f)
        change, room = targets[0] / at.s - at.f, targets[1] / at.weights - at.q
        right = form.apply_transpose(change) - dual
        lacking = form.lacking(at) - np.append(np.zeros(len(at.v)), room)
        missing = 1 - float(at.weights.sum())
        dx, dz, dt = self._solve_bordered(right, lacking, missing)
        for _ in range(REFINED):
            residual = right + form.spread_rows(dz) - form.apply_transpose(self.w * form.along(dx))
            if np.abs(residual).max() <= EXACT * np.abs(right).max():
                break
            unmet = lacking - (form.rows(dx) + self.room * dz - dt * self.border)
            dx_more, dz_more, dt_more = self._solve_bordered(residual, unmet, missing + float(self.border @ dz))
            dx, dz, dt = dx + dx_more, dz + dz_more, dt + dt_more
        ds, dv, dw = form.along(dx), dz[: len(at.v)], -dz[len(at.v) :]
        return GraphPoint(dx, ds, change - self.w * ds, dv, room - at.q / at.weights * dw, dw, dt)

    def _solve_bordered(self, right: Floats, sums: Floats, missing: float) -> tuple[Floats, Floats, float]:
        """Solve A_i dx_i = right_i + G_i'dz with sum_i G_i dx_i + room dz - dt border = sums, and dw adding up to
        `missing`.
        """
        y = self.solve(right)
        dz = self._solve_total(sums - self.form.rows(y))
        dt = 0.0
        if self.form.worst:
            dt = -(missing + float(self.border @ dz)) / float(self.border @ self.along_border)
            dz = dz + dt * self.along_border
        if self.spread is not None:
            return y + self.spread @ dz, dz, dt
        return y + self.solve(np.broadcast_to(self.form.spread_rows(dz), right.shape)), dz, dt

    def _solve_total(self, b: Floats) -> Floats:
        """Solve with the matrix of the rows."""
        dz = cho_solve(self.root, b / self.size) / self.size
        dz += cho_solve(self.root, (b - self.total @ dz) / self.size) / self.size
        return np.asarray(dz)


def _factor(total: Floats) -> tuple[Floats, bool]:
    """Factor a matrix with a unit diagonal, which rounding may have made singular."""
    for ridge in RIDGES:
        try:
            root, is_lower = cho_factor(total + ridge * np.eye(len(total)))
        except np.linalg.LinAlgError:
            continue
        return root, is_lower
    raise np.linalg.LinAlgError("the sum over all outputs is not positive definite")


class EdgeProgram:
    """The program of one component in units of its cost, with one output for each orbit of its symmetry."""

    def __init__(self, part: GraphComponent, deadline: float = np.inf) -> None:
        network, self.deadline = part.network, deadline
        self.part, self.ratios = part, network.ratios
        self.symmetry, self.worst = symmetry.find_symmetry(part.loss, part.weights, network), part.worst
        cost = (part.weights * part.loss)[self.symmetry.outputs]
        self.unit = float(cost.mean(axis=0).sum())
        self.cost = np.zeros_like(cost) if part.worst else cost / self.unit
        self.loss = part.loss[self.symmetry.outputs] / self.unit
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

    @property
    def row_weights(self) -> list[Floats]:
        """How G_i weighs the answers, for every output: one for the sums, and the losses for those of the answers."""
        ones = np.ones_like(self.loss)
        return [ones, self.loss] if self.worst else [ones]

    def sums(self, x: Floats) -> Floats:
        """Return the column sums as means over the orbits of the answers."""
        return self.symmetry.fold(x.sum(axis=0))

    def losses(self, x: Floats) -> Floats:
        """Return the losses of the answers, as `sums`; nothing for average losses."""
        return self.symmetry.fold((self.loss * x).sum(axis=0)) if self.worst else np.empty(0)

    def rows(self, x: Floats) -> Floats:
        """Return sum_i G_i x_i."""
        return np.append(self.sums(x), self.losses(x))

    def lacking(self, at: GraphPoint) -> Floats:
        """Return what the rows lack at a point."""
        return np.append(1 - self.sums(at.x), at.t - at.q - self.losses(at.x))

    def spread_rows(self, z: Floats) -> Floats:
        """Return G_i'z: for every output, or for all outputs alike."""
        orbits = len(self.symmetry.outputs)
        v = self.symmetry.unfold(z[:orbits])
        return v + self.loss * self.symmetry.unfold(z[orbits:]) if self.worst else v

    def fold_both(self, total: Floats) -> Floats:
        """Fold a matrix over the answers, in blocks for each kind of row."""
        n, fold = self.part.network.size, self.symmetry.fold
        kinds = range(0, len(total), n)
        return np.block([[fold(fold(total[a : a + n, b : b + n]).T).T for b in kinds] for a in kinds])

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
        even = EVEN if self.worst else 0.0
        private = (1 - even) * near / near.sum(axis=0) + even / network.size
        x = self.symmetry.sizes[:, None] * private[self.symmetry.outputs]
        s, zeros = self.along(x), np.zeros(len(self.cost))
        if not self.worst:
            return GraphPoint(x, s, (self.cost * x).sum() / s.size / s, zeros, np.empty(0), np.empty(0), 0.0)
        losses, weights = self.losses(x), self.symmetry.sizes / network.size
        t = float(losses.max()) * ABOVE
        q = t - losses
        return GraphPoint(x, s, float(q @ weights) / s.size / s, zeros, q, weights, t)


def solve(part: GraphComponent, deadline: float, enough: float = GAP) -> tuple[Floats, float]:
    """Return the best matrix and the best bound of all iterates, up to a relative gap of `enough`."""
    form, best, low = EdgeProgram(part, deadline), part.constant, 0.0
    stalled, last = 0, np.inf
    for at in interior_points(form, inside=INSIDE, steps=STEPS, deadline=deadline):
        weights = form.symmetry.unfold(at.weights) if part.worst else part.prior
        low = max(low, part.bound(weights, form.unit * at.f, form.symmetry))
        if np.abs(form.sums(at.x) - 1).max() < SOUND:
            P = form.symmetry.mechanism(at.x)
            best = min(best, P / P.sum(axis=0), key=part.value)
        gap = 1 - low / part.value(best)
        stalled, last = (0, gap) if gap < last * FASTER else (stalled + 1, last)
        if gap <= enough or (gap < STALLED and stalled > PATIENCE):
            break
    return best, low
