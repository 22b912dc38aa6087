"""Newton steps to the best distribution: a primal-dual interior-point method on the simplex.

Minimizes phi(P p) over p >= 0, sum p = 1, for a convex phi that is a sum over the outputs. With g = P^T phi'(P p)
the optimum has g + lambda = s, s >= 0, p·s = 0; each step solves the linearized conditions with p·s = mu and lowers
mu (Mehrotra's predictor and corrector). Some ten to forty steps, each as cheap as `LinearChannel.system`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from inbounds.exact import Floats
from inbounds.local.reconstruct.channel import LinearChannel
from inbounds.local.reconstruct.systems import System, dot

Watch = Callable[[int, float], None]
"""Called after every step with the number of steps and the residual so far."""

BACK_OFF = 0.995
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
    point = SimplexPoint.from_start(channel, objective, start)
    best, path = point.to_solution(), [objective.value(channel.forward(start))]
    for step in range(1, STEPS + 1):
        if best.residual <= tolerance:
            break
        try:
            point = point.step(channel, objective)
        except np.linalg.LinAlgError:
            break
        if not np.isfinite(point.p).all():
            break
        now = point.to_solution()
        path.append(objective.value(channel.forward(now.p)))
        best = now if now.residual <= best.residual else best
        watch(step, now.residual)
    return InteriorSolution(best.p, tuple(path), best.residual)


@dataclass(frozen=True, eq=False)
class SimplexPoint:
    """Where the method stands: p and s positive, the gradient g at P p, the multiplier of sum p = 1."""

    p: Floats
    s: Floats
    multiplier: float
    g: Floats

    @classmethod
    def from_start(cls, channel: LinearChannel, objective: Objective, start: Floats) -> "SimplexPoint":
        """Start away from the boundary: tiny entries are lifted, s is at least a hundredth of the gradient's size."""
        p = np.maximum(start, 1e-3 / len(start))
        p = p / p.sum()
        g = _gradient(channel, objective, p)
        multiplier = -dot(p, g)
        return cls(p, np.maximum(g + multiplier, 1e-2 * np.abs(g).max()), multiplier, g)

    def to_solution(self) -> InteriorSolution:
        return InteriorSolution(self.p, (), dot(self.p, self.g) - float(self.g.min()))

    def step(self, channel: LinearChannel, objective: Objective) -> "SimplexPoint":
        """Return one predictor-corrector step."""
        p, s = self.p, self.s
        system = channel.system(objective.curvature(channel.forward(p)), s / p)
        border = system.solve(np.ones_like(p))
        mu = dot(p, s) / len(p)
        dp, ds, _ = self._direction(system, border, np.zeros_like(p))
        ahead = dot(p + _stride(p, dp) * dp, s + _stride(s, ds) * ds) / len(p)
        dp, ds, dm = self._direction(system, border, (ahead / mu) ** 3 * mu - dp * ds)
        along_p, along_s = _stride(p, dp), _stride(s, ds)
        q = p + along_p * dp
        q = q / q.sum()  # what rounding took from the constraint
        return SimplexPoint(q, s + along_s * ds, self.multiplier + along_s * dm, _gradient(channel, objective, q))

    def _direction(self, system: System, border: Floats, target: Floats) -> tuple[Floats, Floats, float]:
        """Solve (A dp + dm = -g - multiplier + target / p, sum dp = 1 - sum p), and the ds that makes p·s the
        target.
        """
        p, s = self.p, self.s
        free = system.solve(target / p - self.g - self.multiplier)
        dm = float((free.sum() - (1 - p.sum())) / border.sum())
        dp = free - dm * border
        return dp, (target - p * s - s * dp) / p, dm


def _gradient(channel: LinearChannel, objective: Objective, p: Floats) -> Floats:
    return channel.backward(objective.slope(channel.forward(p)))


def _stride(x: Floats, dx: Floats) -> float:
    """Return how far x + t·dx stays safely positive, at most 1."""
    falling = dx < 0
    return float(min(1.0, BACK_OFF * (-x[falling] / dx[falling]).min(initial=np.inf)))
