"""An interior point for windows of neighbours, with one banded system for each output.

If the best mechanism has fewer rays than answers, the duals v are far from unique: column generation soon has the
optimum and then takes long to prove it. An interior point does not have this problem. With slack t = A x of the ratio
limits (`bands`, or `stars` where all answers are neighbours) and multipliers z the conditions are, for every output i,

    sum_i x_i = 1,   A x_i = t_i,   A' z_i = r_i,   t z = 0,   r_ij = weight_j loss_ij - v_j,

with more terms of r for other losses that have limits (`band_form`). The steps are those of `interior_point`, which
asks for Newton's direction towards products t z = c. It eliminates in three steps; B dy is the change of r.

1. Multipliers: t dz + z dt = c - t z gives  dz = c / t - z - (z / t) dt.
2. Outputs: A' (z + dz) = r + B dy and dt = A dx give one band for each output,
       A' diag(z / t) A dx = A' (c / t) - r - B dy.
3. Sums over the outputs, of probability and of losses that have limits, are linear in dx. They leave n equations for v
   (worst answer, or a limit for every answer: n more for its weights; a limit on average: one more).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_solve

from inbounds.design.problem import Floats, Ints, LinearLimit
from inbounds.design.routes.band_form import BandForm, band_form
from inbounds.design.solver.bands import Factors
from inbounds.design.solver.interior_point import Pairs, Targets, gap, interior_points
from inbounds.design.solver.linalg import definite_root
from inbounds.design.solver.pricing import Cone
from inbounds.design.solver.stars import Arrows

#: relative gap from which points are handed out, and to stop at; steps stay this far inside, and aim at this share of
#: the mean product at most; points at most
NEAR, GAP, INSIDE, MOST, STEPS = 1e-9, 3e-12, 0.995, 0.1, 200
#: added to the diagonal so that a flat optimum can be factored: the first that will do; what it costs is refined away
RIDGES, REFINEMENTS = (1e-14, 1e-12, 1e-10), 2
#: relative gap from which steps that leave this share of it are not worth their time
GOOD, CRAWL = 3e-7, 0.5
#: the same gap where all answers are neighbours and steps are cheap
STAR_GOOD = 1e-9
#: probability or loss that sums may miss; and with how much of it a matrix is as good as one that misses nothing
TRUE, SOUND = 1e-10, 1e-9
#: what multipliers and room of limits begin with, where a mean loss and the sum of probability are one
BEGUN = 0.1
#: the fewest answers that it is made for, and the log of the largest ratio between two neighbours
FEWEST, LARGEST_STEP = 64, 30.0
#: steps that it usually takes, and passes over the limits of an output in each
USUAL, VECTORS = 30, 60


@dataclass(frozen=True, eq=False)
class WindowPoint:
    """An iterate, or a direction.

    x, t, z: per variable or ratio limit, and output. y: duals, v and then those of capped losses. top: the worst loss.
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
    def pairs(self) -> Pairs:
        return (self.t, self.z), (self.slack, self.multipliers)

    def move(self, direction: "WindowPoint", primal: float, dual: float) -> "WindowPoint":
        """Move along a direction by the primal and dual step lengths."""
        d = direction
        return WindowPoint(
            self.x + primal * d.x,
            self.t + primal * d.t,
            self.z + dual * d.z,
            self.y + dual * d.y,
            self.top + primal * d.top,
            self.slack + primal * d.slack,
        )


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
    good = STAR_GOOD if cone.everyone else GOOD
    for point in _near_optimal(form, _until_closed(form, deadline, good)):
        P = np.zeros((m, cone.size))
        P[stored] = form.limits.rows(point.x).T
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
    return point.top if form.worst else float((form.base * form.limits.rows(point.x)).sum())


def _near_optimal(form: BandForm, reached: Iterator[WindowPoint]) -> Iterator[WindowPoint]:
    """Yield points within NEAR of the optimum, the last one, and the last with accurate sums if theirs are not."""
    late, last, sound = False, None, None
    for point in reached:
        last, late = point, gap(point) <= NEAR * _value(form, point)
        sound = point if np.abs(form.sums(point.x)[: form.half] + form.total).max() < SOUND else sound
        if late:
            yield point
    for remaining in (None if late else last, None if sound is last else sound):
        if remaining is not None:
            yield remaining


def _until_closed(form: BandForm, deadline: float, good: float) -> Iterator[WindowPoint]:
    """Yield all iterates until the gap closes or steps are no longer worth their time."""
    before = np.inf
    program = WindowProgram(form)
    for point in interior_points(program, inside=INSIDE, steps=STEPS, most=MOST, deadline=deadline):
        yield point
        value = _value(form, point)
        if value == 0:
            return  # no loss is negative, so this is optimal
        share = gap(point) / value
        if share <= GAP or (share <= good and share > CRAWL * before):
            return
        before = share


@dataclass(frozen=True, eq=False)
class WindowProgram:
    """The program as the driver sees it."""

    form: BandForm

    def start(self) -> WindowPoint:
        """Return the first point: all outputs alike."""
        form = self.form
        n, m, h = form.answers, form.base.shape[1], form.half
        x = form.limits.initial_point(np.full((n, m), (0.5 if form.mirrored else 1.0) / m))
        y = np.zeros(form.rows)
        y[h:] = BEGUN * form.spread_to_rows([1 / form.total.sum()] * (len(form.tables) - 1), [1.0] * len(form.wholes))
        if form.worst:
            y[h : 2 * h] = 1 / form.total.sum()
        least = form.reduced(y)[:n].min(axis=1)
        y[:h] = (np.minimum(least, least[::-1]) if form.mirrored else least)[:h] - 1 / n
        z = form.limits.initial_multipliers(form.reduced(y))
        losses = form.sums(x)[h:]
        top = float((losses[:h] / form.total).max()) + 1.0 if form.worst else 0.0
        room = form.spread_to_rows([BEGUN] * (len(form.tables) - 1), [BEGUN] * len(form.wholes))
        slack = np.maximum(form.caps + top * form.tops - losses, room)
        return WindowPoint(x, form.limits.apply(x), z, y, top, slack)

    def factor(self, point: WindowPoint) -> Callable[[Targets], WindowPoint]:
        """Factor the bands of all outputs, and the equations of the duals that remain."""
        form, p, h = self.form, point, self.form.half
        ratio = p.z / p.t
        bands = form.limits.factor(ratio, p.x, p.z)
        K = form.inverse(bands)
        K[h:, h:][np.diag_indices(form.rows - h)] += p.slack / p.multipliers
        r = form.reduced(p.y)
        sums = np.concatenate([-form.total, form.caps + p.top * form.tops - p.slack]) - form.sums(p.x)
        room = form.limits.missed(p.x, p.t)
        return WindowSystem(form, p, ratio, bands, K, definite_root(K, RIDGES), r, sums, room).direction


@dataclass(frozen=True, eq=False)
class WindowSystem:
    """The linear system at a point: ratios z / t, the bands of the outputs, the factored equations of the duals, r, and
    what the sums over the outputs (`sums`) and the slacks (`room`) miss."""

    form: BandForm
    point: WindowPoint
    ratio: Floats
    bands: Factors | Arrows
    K: Floats
    root: tuple[Floats, bool]
    r: Floats
    sums: Floats
    room: Floats | float

    def direction(self, targets: Targets) -> WindowPoint:
        """Compute Newton's direction towards t z = targets[0] and slack * multipliers = targets[1].

        Rounding errors in K, which are large near flat optima, are measured by multiplication and solved for once more.
        """
        form, p = self.form, self.point
        aim, limit_aim = targets[0] / p.t, targets[1] / p.multipliers
        dx = self.bands.solve(form.limits.apply_transpose(aim - self.ratio * self.room) - self.r)
        dy, top, slack = np.zeros(form.rows), 0.0, limit_aim - p.slack
        for _ in range(2):
            missed = form.sums(dx) - self.sums
            missed[form.half :] += slack - top * form.tops
            if np.abs(missed).max() < TRUE:
                break
            more, more_top = self._solve_bordered(missed, float(1 - form.tops @ (p.y + dy)[form.half :]))
            dx, dy, top = dx - self.bands.solve(form.apply_duals(more)), dy + more, top + more_top
            slack = limit_aim - p.slack * (1 + dy[form.half :] / p.multipliers)
        dt = form.limits.apply(dx) + self.room
        dz = self.ratio * dt
        np.subtract(aim, dz, out=dz)
        dz -= p.z
        return WindowPoint(dx, dt, dz, dy, top, slack)

    def _solve_bordered(self, right: Floats, off: float) -> tuple[Floats, float]:
        """Solve K y + top * tops = right with tops . y = off; without a worst loss there is no top."""
        form, y = self.form, self._duals(right)
        if not form.worst:
            return y, 0.0
        top = float((form.tops @ y[form.half :] - off) / (form.tops @ self.border[form.half :]))
        return y - top * self.border, top

    @cached_property
    def border(self) -> Floats:
        """The solution of K y = tops."""
        return self._duals(np.concatenate([np.zeros(self.form.half), self.form.tops]))

    def _duals(self, right: Floats) -> Floats:
        """Solve K y = right, with refinement, because the factors are those of K with a ridge."""
        y: Floats = cho_solve(self.root, right)
        for _ in range(REFINEMENTS):
            y += cho_solve(self.root, right - self.K @ y)
        return y
