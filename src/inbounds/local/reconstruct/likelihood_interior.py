"""Newton steps to the best distribution: a primal-dual interior-point method on the simplex.

Minimizes phi(P p) over p >= 0, sum p = 1, for a convex phi that is a sum over the outputs. With g = P^T phi'(P p) and
the multiplier m of sum p = 1 the optimum has

    g + m = s,   sum p = 1,   p, s >= 0,   p s = 0.

The steps are those of `interior_point`, which asks for Newton's direction towards products p s = c. It eliminates

1. slacks: p ds + s dp = c - p s gives  ds = c / p - s - (s / p) dp;
2. probabilities: g changes by P^T phi'' P dp, so g + dg + m + dm = s + ds gives
       A dp = c / p - g - m - dm,   A = P^T phi'' P + diag(s / p)   (`LinearChannel.system`);
3. the sum: sum (p + dp) = 1 leaves one equation for dm.

Some ten to forty steps, each as cheap as `LinearChannel.system`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from inbounds.design.solver.interior_point import Pairs, Targets, interior_points
from inbounds.exact import Floats
from inbounds.local.reconstruct.channel import LinearChannel
from inbounds.local.reconstruct.systems import dot

Watch = Callable[[int, float], None]
"""Called after every step with the number of steps and the residual so far."""

INSIDE = 0.995
"""Share of the way to the boundary that a step may go."""

STEPS = 150
"""Newton steps before giving up; what does not converge in forty rarely converges at all."""


class Objective(Protocol):
    def value(self, y: Floats) -> float: ...
    def slope(self, y: Floats) -> Floats: ...
    def curvature(self, y: Floats) -> Floats: ...


@dataclass(frozen=True, eq=False)
class LikelihoodObjective:
    """-sum_i q_i log y_i: the negative log-likelihood per report of frequencies q."""

    q: Floats

    def value(self, y: Floats) -> float:
        seen = self.q > 0
        return -dot(self.q[seen], np.log(y[seen]))

    def slope(self, y: Floats) -> Floats:
        return -np.divide(self.q, y, out=np.zeros_like(y), where=self.q > 0)

    def curvature(self, y: Floats) -> Floats:
        return np.divide(self.q, y * y, out=np.zeros_like(y), where=self.q > 0)


@dataclass(frozen=True, eq=False)
class SquaredObjective:
    """sum_i (y_i - q_i)² / (2 |q|²): half the squared error, relative to the data."""

    q: Floats

    def value(self, y: Floats) -> float:
        return dot(y - self.q, y - self.q) / (2 * dot(self.q, self.q))

    def slope(self, y: Floats) -> Floats:
        return (y - self.q) / dot(self.q, self.q)

    def curvature(self, y: Floats) -> Floats:
        return np.full(len(y), 1 / dot(self.q, self.q))


@dataclass(frozen=True, eq=False)
class InteriorSolution:
    """A distribution, the objective along the way, and the last residual: max_j sum_k p_k g_k - g_j, which bounds
    how much lower the objective can be."""

    p: Floats
    path: tuple[float, ...]
    residual: float


def minimize(
    channel: LinearChannel, objective: Objective, start: Floats, tolerance: float, watch: Watch
) -> InteriorSolution:
    """Return the best distribution, to a residual of `tolerance`, or the best so far when steps stop helping."""
    program = SimplexProgram(channel, objective, start)
    best, path = InteriorSolution(start, (), np.inf), [objective.value(channel.forward(start))]
    for step, point in enumerate(interior_points(program, inside=INSIDE, steps=STEPS + 1)):
        now = point.to_solution()
        if step > 0:
            path.append(objective.value(channel.forward(now.p)))
            watch(step, now.residual)
        best = now if now.residual <= best.residual else best
        if best.residual <= tolerance:
            break
    return InteriorSolution(best.p, tuple(path), best.residual)


@dataclass(frozen=True, eq=False)
class SimplexProgram:
    """The program as the driver sees it; the first point is near `first`."""

    channel: LinearChannel
    objective: Objective
    first: Floats

    def gradient(self, p: Floats) -> Floats:
        """Return the gradient of the objective in p."""
        return self.channel.backward(self.objective.slope(self.channel.forward(p)))

    def start(self) -> "SimplexPoint":
        """Start away from the boundary: tiny entries are lifted, s is at least a hundredth of the gradient's size."""
        p = np.maximum(self.first, 1e-3 / len(self.first))
        p = p / p.sum()
        g = self.gradient(p)
        multiplier = -dot(p, g)
        return SimplexPoint(self, p, np.maximum(g + multiplier, 1e-2 * np.abs(g).max()), multiplier)

    def factor(self, point: "SimplexPoint") -> Callable[[Targets], "SimplexPoint"]:
        """Factor A at a point, and solve for the multiplier's column."""
        p, s = point.p, point.s
        system = self.channel.system(self.objective.curvature(self.channel.forward(p)), s / p)
        border = system.solve(np.ones_like(p))

        def direction(targets: Targets) -> SimplexPoint:
            aim = targets[0] / p
            free = system.solve(aim - point.gradient - point.multiplier)
            dm = float((free.sum() - (1 - p.sum())) / border.sum())
            dp = free - dm * border
            return SimplexPoint(self, dp, aim - s - s * dp / p, dm)

        return direction


@dataclass(frozen=True, eq=False)
class SimplexPoint:
    """A point, or a direction: p, s, and the multiplier of sum p = 1."""

    program: SimplexProgram
    p: Floats
    s: Floats
    multiplier: float

    @cached_property
    def gradient(self) -> Floats:
        return self.program.gradient(self.p)

    @property
    def pairs(self) -> Pairs:
        return ((self.p, self.s),)

    def move(self, direction: "SimplexPoint", primal: float, dual: float) -> "SimplexPoint":
        """Move along a direction, and give the sum back what rounding took."""
        p = self.p + primal * direction.p
        s, multiplier = self.s + dual * direction.s, self.multiplier + dual * direction.multiplier
        return SimplexPoint(self.program, p / p.sum(), s, multiplier)

    def to_solution(self) -> InteriorSolution:
        return InteriorSolution(self.p, (), dot(self.p, self.gradient) - float(self.gradient.min()))
