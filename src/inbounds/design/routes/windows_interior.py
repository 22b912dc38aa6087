"""An interior-point method for windows of neighbours, with one banded system for each output.

If the best mechanism has fewer rays than answers, the duals v are far from unique: column generation soon has the
optimum and then takes long to prove it. An interior point does not have this problem. With slack t = A x of the ratio
limits (`bands`) and multipliers z the conditions are, for every output i,

    sum_i x_i = 1,   A x_i = t_i,   A' z_i = r_i,   t z = 0,   r_ij = weight_j loss_ij - v_j,

with more terms of r for other losses that have limits (`band_form`). Newton steps (Mehrotra's predictor and corrector)
eliminate every output by its band, and leave n equations for v (worst answer, or a limit for every answer: n more for
its weights; a limit on average: one more).
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, cho_solve

from inbounds.design.problem import Floats, Ints, LinearLimit
from inbounds.design.routes.band_form import BandForm, band_form
from inbounds.design.solver.bands import Factors
from inbounds.design.solver.linalg import definite_root
from inbounds.design.solver.pricing import Cone
from inbounds.design.solver.stars import Arrows

#: relative gap from which points are handed out, and to stop at; steps stay this far inside; steps at most
NEAR, GAP, INSIDE, STEPS = 1e-9, 3e-12, 0.995, 200
#: added to the diagonal so that a flat optimum can be factored: the first that will do; what it costs is refined away
RIDGES, REFINEMENTS = (1e-14, 1e-12, 1e-10), 2
#: relative gap at which steps that leave this share of it are not worth their time
GOOD, CRAWL = 3e-7, 0.5
#: probability or loss that sums may miss; and with how much of it a matrix is as good as one that misses nothing
TRUE, SOUND = 1e-10, 1e-9
#: of the mean of all products, what a step aims at, at most; what multipliers and room of limits begin with
AIM, BEGUN = 0.1, 0.1
#: the fewest answers that it is made for, and the log of the largest ratio between two neighbours
FEWEST, LARGEST_STEP = 64, 30.0
#: steps that it usually takes, and passes over the limits of an output in each
USUAL, VECTORS = 30, 60


@dataclass(frozen=True, eq=False)
class WindowPoint:
    """An iterate, or a direction.

    x, t, z: per answer or ratio limit, and output. y: duals, v and then those of capped losses. top: the worst loss.
    slack: how far capped losses are below their caps.
    """

    x: Floats
    t: Floats
    z: Floats
    y: Floats
    top: float
    slack: Floats

    @property
    def multipliers(self) -> Floats:
        """The duals of capped losses."""
        return self.y[len(self.y) - len(self.slack) :]

    @property
    def gap(self) -> float:
        return float(np.vdot(self.t, self.z) + self.slack @ self.multipliers)

    def step_along(self, d: "WindowPoint", primal: float, dual: float) -> "WindowPoint":
        """Move along d by the primal and dual step lengths."""
        return WindowPoint(
            self.x + primal * d.x,
            self.t + primal * d.t,
            self.z + dual * d.z,
            self.y + dual * d.y,
            self.top + primal * d.top,
            self.slack + primal * d.slack,
        )

    def gap_after(self, d: "WindowPoint", primal: float, dual: float) -> float:
        """Compute the gap after `step_along`."""
        first = primal * np.vdot(d.t, self.z) + dual * np.vdot(self.t, d.z) + primal * dual * np.vdot(d.t, d.z)
        others = (self.slack + primal * d.slack) @ (self.multipliers + dual * d.multipliers)
        return float(np.vdot(self.t, self.z) + first + others)

    def room(self, d: "WindowPoint", inside: float = 1.0) -> tuple[float, float]:
        """Return `inside` times the longest primal and dual steps along d that keep t, slack, z and multipliers
        positive, at most one."""
        primal = max(_fall(self.t, d.t), _fall(self.slack, d.slack))
        dual = max(_fall(self.z, d.z), _fall(self.multipliers, d.multipliers))
        return min(1.0, inside / max(primal, 1e-300)), min(1.0, inside / max(dual, 1e-300))


def _fall(x: Floats, d: Floats) -> float:
    """Return the largest relative decrease of x along d."""
    return -float((d / x).min()) if x.size else 0.0


@dataclass(frozen=True, eq=False)
class WindowSolution:
    """A near-optimal P with duals: v, the weights of the answers' losses, and the multipliers of each limit, one for
    every answer or one."""

    matrix: Floats
    v: Floats
    weights: Floats
    multipliers: tuple[Floats, ...] = ()


def points(
    loss: Floats,
    prior: Floats,
    worst: bool,
    cone: Cone,
    mirrored: bool,
    outputs: Ints,
    deadline: float = np.inf,
    limits: Sequence[LinearLimit] = (),
) -> Iterator[WindowSolution]:
    """Yield solutions ever nearer to the optimum among mechanisms that use only `outputs` and keep the limits.

    From a relative gap of NEAR on, and the last point in any case. The last steps can fail by rounding, so the caller
    keeps the best P and the best v. mirrored: loss, prior, cone and limits equal their mirror images.
    Cost: some 20 to 40 steps of O(outputs * answers² * window), half as many outputs if mirrored.
    """
    m = len(loss)
    stored = np.unique(np.minimum(outputs, m - 1 - outputs)) if mirrored else np.unique(outputs)
    form, units = band_form(loss, prior, worst, cone, mirrored, stored, limits)
    with np.errstate(all="ignore"):
        for point in _near_optimal(form, _steps(form, deadline)):
            P = np.zeros((m, cone.size))
            P[stored] = point.x[: cone.size].T
            table_duals, whole_duals = form.parts(units[0] * point.y)
            answer_duals, average = iter(form.unfold(table_duals)[:, : cone.size]), iter(whole_duals[:, None])
            v, weights = next(answer_duals), next(answer_duals) / units[0] if worst else prior
            multipliers = tuple(
                next(answer_duals if limit.per_answer else average) / unit
                for limit, unit in zip(limits, units[1:], strict=True)
            )
            yield WindowSolution(P + P[::-1, ::-1] if mirrored else P, v, weights, multipliers)


def is_applicable(cone: Cone) -> bool:
    """Return whether there are enough answers, and floats can hold the squares of the largest ratios."""
    return cone.size >= FEWEST and float(cone.step.max()) <= LARGEST_STEP


def work(cone: Cone, outputs: int) -> float:
    """Estimate how many numbers are processed in the usual number of steps."""
    n, width = cone.size, 1 if cone.everyone else int((np.arange(cone.size) - cone.reach).max())
    return USUAL * outputs * n * (n * (width + 1) / 2 + VECTORS * width)


def _value(form: BandForm, point: WindowPoint) -> float:
    """Return the objective of a point."""
    return point.top if form.worst else float((form.base * point.x).sum())


def _near_optimal(form: BandForm, reached: Iterator[WindowPoint]) -> Iterator[WindowPoint]:
    """Yield points within NEAR of the optimum, the last one, and the last with accurate sums if theirs are not."""
    late, last, sound = False, None, None
    for point in reached:
        last, late = point, point.gap <= NEAR * _value(form, point)
        sound = point if np.abs(form.sums(point.x)[: form.half] + form.total).max() < SOUND else sound
        if late:
            yield point
    for remaining in (None if late else last, None if sound is last else sound):
        if remaining is not None:
            yield remaining


def _start(form: BandForm) -> WindowPoint:
    """Return the first point: all outputs alike, all multipliers of an output alike."""
    n, m = form.answers, form.base.shape[1]
    x = form.limits.initial_point(np.full((n, m), (0.5 if form.mirrored else 1.0) / m))
    y, h = np.zeros(form.rows), form.half
    y[h:] = BEGUN * form.spread_to_rows([1 / form.total.sum()] * (len(form.tables) - 1), [1.0] * len(form.wholes))
    if form.worst:
        y[h : 2 * h] = 1 / form.total.sum()
    least = (form.base + form.apply_duals(y))[:n].min(axis=1)
    y[:h] = (np.minimum(least, least[::-1]) if form.mirrored else least)[:h] - 1 / n
    t = form.limits.limits @ x
    lengths = form.limits.transpose @ np.ones_like(t)
    z = np.repeat(((form.base + form.apply_duals(y)).sum(axis=0) / lengths.sum(axis=0))[None], len(t), axis=0)
    losses = form.sums(x)[h:]
    top = float((losses[:h] / form.total).max()) + 1.0 if form.worst else 0.0
    room = form.spread_to_rows([BEGUN] * (len(form.tables) - 1), [BEGUN] * len(form.wholes))
    return WindowPoint(x, t, z, y, top, np.maximum(form.caps + top * form.tops - losses, room))


def _steps(form: BandForm, deadline: float) -> Iterator[WindowPoint]:
    """Yield all iterates until the gap closes, progress stops, the deadline passes or a step fails."""
    point, before = _start(form), np.inf
    for _ in range(STEPS):
        yield point
        value = _value(form, point)
        if value == 0:
            return  # no loss is negative, so this is optimal
        share = point.gap / value
        crawls = share <= GOOD and share > CRAWL * before
        if share <= GAP or crawls or time.monotonic() > deadline:
            return
        before = share
        try:
            point = _step(form, point)
        except (LinAlgError, ValueError):
            return
        if not np.isfinite(point.gap):
            return


@dataclass(frozen=True, eq=False)
class WindowSystem:
    """The linear system at a point: the bands of the outputs, and the factored equations of the duals."""

    form: BandForm
    point: WindowPoint
    ratio: Floats
    bands: Factors | Arrows
    K: Floats
    root: tuple[Floats, bool]
    border: Floats

    @cached_property
    def residuals(self) -> tuple[Floats, Floats]:
        """Residuals of the equations at the point."""
        return _residuals(self.form, self.point)

    def duals(self, right: Floats) -> Floats:
        """Solve K y = right, with refinement, because the factors are those of K with a ridge."""
        y: Floats = cho_solve(self.root, right)
        for _ in range(REFINEMENTS):
            y += cho_solve(self.root, right - self.K @ y)
        return y

    def _solve_bordered(self, right: Floats, off: float) -> tuple[Floats, float]:
        """Solve K y + top * tops = right with tops . y = off; without a worst loss there is no top."""
        form, y = self.form, self.duals(right)
        if not form.worst:
            return y, 0.0
        top = float((form.tops @ y[form.half :] - off) / (form.tops @ self.border[form.half :]))
        return y - top * self.border, top

    def direction(self, products: Floats, others: Floats) -> WindowPoint:
        """Compute the Newton direction towards given changes of the products.

        products: of t * z, already divided by t. others: of slack * multipliers. It also removes the residuals of the
        equations.
        """
        form, p = self.form, self.point
        dual_residual, sums = self.residuals
        free = self.bands.solve(form.limits.transpose @ products - dual_residual)
        right = form.sums(free) - sums
        right[form.half :] += others / p.multipliers
        dy, top = self._solve_bordered(right, float(1 - form.tops @ p.multipliers))
        return self._along(free - self.bands.solve(form.apply_duals(dy)), products, dy, top, others)

    def correct_sums(self, d: WindowPoint, products: Floats, others: Floats) -> WindowPoint:
        """Correct the sums of a direction: rounding errors in K, which are large near flat optima, are measured by
        multiplication and solved for once more."""
        form = self.form
        missed = form.sums(d.x) - self.residuals[1]
        missed[form.half :] += d.slack - d.top * form.tops
        if np.abs(missed).max() < TRUE:
            return d
        dy, top = self._solve_bordered(missed, 0.0)
        return self._along(d.x - self.bands.solve(form.apply_duals(dy)), products, d.y + dy, d.top + top, others)

    def _along(self, dx: Floats, products: Floats, dy: Floats, top: float, others: Floats) -> WindowPoint:
        """Complete the direction of x and y to all parts."""
        p, dt = self.point, self.form.limits.limits @ dx
        dz = self.ratio * dt
        np.subtract(products, dz, out=dz)
        return WindowPoint(dx, dt, dz, dy, top, (others - p.slack * dy[self.form.half :]) / p.multipliers)


def _residuals(form: BandForm, p: WindowPoint) -> tuple[Floats, Floats]:
    """Compute r - A' z, and the residuals of the sums over outputs: of probability (negated) and of loss."""
    target = np.concatenate([-form.total, form.caps + p.top * form.tops - p.slack])
    dual_residual = form.base + form.apply_duals(p.y) - form.limits.transpose @ p.z
    return dual_residual, target - form.sums(p.x)


def _newton(form: BandForm, p: WindowPoint) -> WindowSystem:
    """Build and factor the linear system at a point."""
    ratio = p.z / p.t
    bands = form.limits.factor(ratio, p.x, form.limits.transpose @ p.z)
    K, h = form.inverse(bands), form.half
    K[h:, h:][np.diag_indices(form.rows - h)] += p.slack / p.multipliers
    newton = WindowSystem(form, p, ratio, bands, K, definite_root(K, RIDGES), np.empty(0))
    ones = np.concatenate([np.zeros(h), form.tops])
    return replace(newton, border=newton.duals(ones)) if form.worst else newton


def _step(form: BandForm, p: WindowPoint) -> WindowPoint:
    """Make one step of Mehrotra's predictor and corrector."""
    newton = _newton(form, p)
    others, mean = p.slack * p.multipliers, p.gap / (p.t.size + p.slack.size)
    guess = newton.direction(-p.z, -others)
    aim = mean * min((max(p.gap_after(guess, *p.room(guess)), 0.0) / p.gap) ** 3, AIM)
    bent = guess.t * guess.z
    np.subtract(aim, bent, out=bent)
    bent /= p.t
    bent -= p.z
    others = aim - others - guess.slack * guess.multipliers
    d = newton.correct_sums(newton.direction(bent, others), bent, others)
    return p.step_along(d, *p.room(d, INSIDE))
