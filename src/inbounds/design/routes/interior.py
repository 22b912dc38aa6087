"""An interior-point method for windows of neighbours, with one banded system for each output.

Where the best mechanism has fewer rays than answers, duals v are far from unique: column generation soon has the
optimum and then takes long to prove it. An interior point does not care. With slack t = A x of the ratio limits
(`bands`) and multipliers z the conditions are, for every output i,

    sum_i x_i = 1,   A x_i = t_i,   A' z_i = r_i,   t z = 0,   r_ij = weight_j loss_ij - v_j.

Newton steps (Mehrotra's predictor and corrector, and Gondzio's centrality corrections) eliminate every output by its
band, and leave n equations for v (worst answer: 2n for v and the weights).
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_solve

from inbounds.design.problem import Floats, Ints
from inbounds.design.solver.bands import Factors, Windows, factored, windows
from inbounds.design.solver.definite import definite_root
from inbounds.design.solver.pricing import Cone

#: relative gap from which points are handed out, and to stop at; steps stay this far inside; steps at most
NEAR, GAP, INSIDE, STEPS = 1e-10, 3e-12, 0.995, 100
#: added to the diagonal so that a flat optimum can be factored: the first that will do; what it costs is refined away
RIDGES, REFINEMENTS = (1e-14, 1e-12, 1e-10), 2
#: of the mean of all products, what a step aims at, at most
AIM = 0.1
#: the fewest answers that it is made for, and the log of the largest ratio between two neighbours
FEWEST, LARGEST_STEP = 64, 30.0
#: steps that it usually takes, and passes over the limits of an output in each
USUAL, VECTORS = 30, 60
#: Gondzio's corrections: how many at most, how much longer a step they aim at, the share of it that makes one worth
#: it, and the range around the mean that products should lie in
CORRECTIONS, LONGER, WORTH, AROUND = 3, 0.3, 0.1, 0.1


@dataclass(frozen=True, eq=False)
class BandForm:
    """r = base + sum_b tables[b] * y[b], arrays of (answers, outputs): average: tables = -1; worst: -1 and the loss.

    mirrored: only the first half of the outputs is there; the others are their mirror images, so that what is asked
    of an answer is asked of it and its mirror image together.
    """

    limits: Windows
    base: Floats
    tables: tuple[Floats, ...]
    mirrored: bool

    @property
    def worst(self) -> bool:
        return len(self.tables) > 1

    @property
    def half(self) -> int:
        n = len(self.base)
        return (n + 1) // 2 if self.mirrored else n

    def fold(self, x: Floats) -> Floats:
        """Sums over pairs of mirrored answers, along the last axis; the middle one stands alone."""
        if not self.mirrored:
            return x
        n = x.shape[-1]
        return np.concatenate([(x + x[..., ::-1])[..., : n // 2], x[..., n // 2 : (n + 1) // 2]], axis=-1)

    def unfold(self, y: Floats) -> Floats:
        """The same number for both answers of a pair: the transpose of `fold`."""
        n = len(self.base)
        return np.concatenate([y, y[..., : n // 2][..., ::-1]], axis=-1) if self.mirrored else y

    @property
    def total(self) -> Floats:
        """What the outputs of an answer (and its mirror image) sum to."""
        ones = self.fold(np.ones(len(self.base)))
        return ones / 2 if self.mirrored else ones

    def turned(self, y: Floats) -> Floats:
        """sum_b tables[b] * y[b], for y of the folded answers."""
        r: Floats = -np.repeat(self.unfold(y[0])[:, None], self.base.shape[1], axis=1)
        return r + self.tables[1] * self.unfold(y[1])[:, None] if self.worst else r

    def sums(self, x: Floats) -> Floats:
        """sum over outputs of tables[b] * x, folded, for every b."""
        return np.array([self.fold((table * x).sum(axis=1)) for table in self.tables])


@dataclass(frozen=True, eq=False)
class BandPoint:
    """x, t, z: per answer or limit, and output; y: duals per folded answer, v and (worst) the weights; top, slack:
    the worst loss and each answer's distance from it. Directions have the same parts."""

    x: Floats
    t: Floats
    z: Floats
    y: Floats
    top: float
    slack: Floats

    @property
    def gap(self) -> float:
        return float(np.vdot(self.t, self.z) + (self.slack * self.y[1:]).sum())

    def moved(self, d: "BandPoint", primal: float, dual: float) -> "BandPoint":
        return BandPoint(
            self.x + primal * d.x,
            self.t + primal * d.t,
            self.z + dual * d.z,
            self.y + dual * d.y,
            self.top + primal * d.top,
            self.slack + primal * d.slack,
        )

    def gap_after(self, d: "BandPoint", primal: float, dual: float) -> float:
        """The gap of `moved`."""
        first = primal * np.vdot(d.t, self.z) + dual * np.vdot(self.t, d.z) + primal * dual * np.vdot(d.t, d.z)
        others = ((self.slack + primal * d.slack) * (self.y[1:] + dual * d.y[1:])).sum()
        return float(np.vdot(self.t, self.z) + first + others)

    def room(self, d: "BandPoint", inside: float = 1.0) -> tuple[float, float]:
        """The longest primal and dual steps along d, at most one, that keep t, slack, z and the weights positive;
        `inside` of the way to zero."""
        primal = max(_fall(self.t, d.t), _fall(self.slack, d.slack))
        dual = max(_fall(self.z, d.z), _fall(self.y[1:], d.y[1:]))
        return min(1.0, inside / max(primal, 1e-300)), min(1.0, inside / max(dual, 1e-300))


def _fall(x: Floats, d: Floats) -> float:
    return -float((d / x).min()) if x.size else 0.0


def points(
    loss: Floats, prior: Floats, worst: bool, cone: Cone, mirrored: bool, outputs: Ints, deadline: float = np.inf
) -> Iterator[tuple[Floats, Floats, Floats]]:
    """P, v and answer weights, ever nearer to the optimum among mechanisms that use only `outputs`.

    From a relative gap of NEAR on, and the last point in any case; the last steps can break down in rounding, so
    whoever asks keeps the best P and the best v. mirrored: loss, prior and cone read the same from both ends.
    Cost: some 20 to 40 steps of O(outputs * answers² * window), half as many outputs if mirrored.
    """
    m = len(loss)
    kept = np.unique(np.minimum(outputs, m - 1 - outputs)) if mirrored else np.unique(outputs)
    table = np.ascontiguousarray(loss[kept].T)
    scale = float(table.mean() if worst else (prior[:, None] * table).sum() / len(kept))
    table = table / scale
    minus = -np.ones_like(table)
    base = np.zeros_like(table) if worst else prior[:, None] * table
    form = BandForm(windows(cone), base, (minus, table) if worst else (minus,), mirrored)
    with np.errstate(all="ignore"):
        for point in _late(form, _steps(form, deadline)):
            P = np.zeros((m, cone.size))
            P[kept] = point.x.T
            v, weights = form.unfold(point.y[0]), form.unfold(point.y[1]) if worst else prior
            yield P + P[::-1, ::-1] if mirrored else P, scale * v, weights


def applies(cone: Cone) -> bool:
    """Enough answers to pay, and floats that hold the squares of the largest ratios between neighbours."""
    return cone.size >= FEWEST and float(cone.step.max()) <= LARGEST_STEP


def work(cone: Cone, outputs: int) -> float:
    """About how many numbers are touched: a usual count of steps, each with inverses, limits and their solutions."""
    n, width = cone.size, int((np.arange(cone.size) - cone.reach).max())
    return USUAL * outputs * n * (n * (width + 1) / 2 + VECTORS * width)


def _value(form: BandForm, point: BandPoint) -> float:
    return point.top if form.worst else float((form.base * point.x).sum())


def _late(form: BandForm, reached: Iterator[BandPoint]) -> Iterator[BandPoint]:
    last = None
    for point in reached:
        last = point
        if point.gap <= NEAR * _value(form, point):
            yield point
            last = None
    if last is not None:
        yield last


def _start(form: BandForm) -> BandPoint:
    """All outputs alike, all multipliers of an output alike."""
    n, m = form.base.shape
    x = np.full((n, m), (0.5 if form.mirrored else 1.0) / m)
    y = np.zeros((len(form.tables), form.half))
    y[1:] = 1 / form.total.sum()
    least = (form.base + form.turned(y)).min(axis=1)
    y[0] = (np.minimum(least, least[::-1]) if form.mirrored else least)[: form.half] - 1 / n
    t = form.limits.limits @ x
    lengths = form.limits.transpose @ np.ones_like(t)
    z = np.repeat(((form.base + form.turned(y)).sum(axis=0) / lengths.sum(axis=0))[None], len(t), axis=0)
    losses = form.sums(x)[1:]
    top = float((losses / form.total).max()) + 1.0 if form.worst else 0.0
    return BandPoint(x, t, z, y, top, top * form.total - losses)


def _steps(form: BandForm, deadline: float) -> Iterator[BandPoint]:
    point = _start(form)
    for _ in range(STEPS):
        yield point
        if point.gap <= GAP * _value(form, point) or time.monotonic() > deadline:
            return
        try:
            point = _step(form, point)
        except (LinAlgError, ValueError):
            return
        if not np.isfinite(point.gap):
            return


@dataclass(frozen=True, eq=False)
class BandSystem:
    """The linear system at a point: the bands of the outputs, and the factored equations of the duals."""

    form: BandForm
    point: BandPoint
    ratio: Floats
    bands: Factors
    K: Floats
    root: tuple[Floats, bool]
    border: Floats

    def duals(self, right: Floats) -> Floats:
        """K y = right; refined, because the factors are those of K with a ridge."""
        y: Floats = cho_solve(self.root, right)
        for _ in range(REFINEMENTS):
            y += cho_solve(self.root, right - self.K @ y)
        return y

    def direction(self, products: Floats, others: Floats, residual: bool = True) -> BandPoint:
        """The step that changes z by `products` / t less what t changes, slack * weights by `others`, and, with
        `residual`, mends what the equations lack; `products` are divided by t already."""
        form, p = self.form, self.point
        lack, sums = _lacks(form, p) if residual else (0.0, np.zeros_like(p.y))
        free = self.bands.solve(form.limits.transpose @ products - lack)
        right = form.sums(free) - sums
        right[1:] += others / p.y[1:]
        dy, top = self.duals(right.ravel()), 0.0
        if form.worst:
            off = 1 - form.total @ p.y[1] if residual else 0.0
            ones = np.concatenate([np.zeros(form.half), form.total])
            top = float((ones @ dy - off) / (ones @ self.border))
            dy = dy - top * self.border
        dy = dy.reshape(p.y.shape)
        dx = free - self.bands.solve(form.turned(dy))
        dt = form.limits.limits @ dx
        dz = self.ratio * dt
        np.subtract(products, dz, out=dz)
        return BandPoint(dx, dt, dz, dy, top, (others - p.slack * dy[1:]) / p.y[1:])


def _lacks(form: BandForm, p: BandPoint) -> tuple[Floats, Floats]:
    """r - A' z, and what is missing in the sums over outputs: those of probability (negated) and of loss."""
    wanted = np.zeros_like(p.y)
    wanted[0], wanted[1:] = -form.total, p.top * form.total - p.slack
    lack = form.base + form.turned(p.y) - form.limits.transpose @ p.z
    return lack, wanted - form.sums(p.x)


def _newton(form: BandForm, p: BandPoint) -> BandSystem:
    ratio = p.z / p.t
    bands = factored(form.limits, ratio, p.x, form.limits.transpose @ p.z)
    S, h = bands.inverse_sums(form.tables), form.half
    K = np.block([[form.fold(form.fold(block).T).T for block in row] for row in S])
    if form.worst:
        K[h:, h:][np.diag_indices(h)] += p.slack[0] / p.y[1]
    newton = BandSystem(form, p, ratio, bands, K, definite_root(K, RIDGES), np.empty(0))
    ones = np.concatenate([np.zeros(h), form.total])
    return BandSystem(form, p, ratio, bands, K, newton.root, newton.duals(ones)) if form.worst else newton


def _step(form: BandForm, p: BandPoint) -> BandPoint:
    newton = _newton(form, p)
    others, mean = p.slack * p.y[1:], p.gap / (p.t.size + p.slack.size)
    guess = newton.direction(-p.z, -others)
    aim = mean * min((max(p.gap_after(guess, *p.room(guess)), 0.0) / p.gap) ** 3, AIM)
    bent = guess.t * guess.z
    np.subtract(aim, bent, out=bent)
    bent /= p.t
    bent -= p.z
    d = newton.direction(bent, aim - others - guess.slack * guess.y[1:])
    d = _centred(newton, d, aim)
    return p.moved(d, *p.room(d, INSIDE))


def _centred(newton: BandSystem, d: BandPoint, aim: float) -> BandPoint:
    """The direction with corrections that bring stray products back, as long as they lengthen the step (Gondzio
    1996)."""
    p = newton.point
    for _ in range(CORRECTIONS):
        steps = p.room(d)
        if min(steps) > 1 - WORTH:
            return d
        primal, dual = (min(1.0, step + LONGER) for step in steps)
        stray = _stray((p.t + primal * d.t) * (p.z + dual * d.z), aim)
        stray /= p.t
        others = _stray((p.slack + primal * d.slack) * (p.y[1:] + dual * d.y[1:]), aim)
        better = d.moved(newton.direction(stray, others, residual=False), 1.0, 1.0)
        if sum(p.room(better)) < sum(steps) + WORTH * LONGER:
            return d
        d = better
    return d


def _stray(products: Floats, aim: float) -> Floats:
    """What brings products into the range around the aim; large ones by no more than its upper end."""
    change = np.clip(products, AROUND * aim, aim / AROUND)
    change -= products
    return np.maximum(change, -aim / AROUND, out=change)
