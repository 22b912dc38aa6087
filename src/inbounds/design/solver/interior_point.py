"""An interior-point driver for convex programs: Mehrotra's predictor and corrector (Mehrotra 1992).

**Conditions.** A program minimizes a convex function under linear equations and inequalities. Every inequality has a
slack s and a multiplier z, arrays of the same shape, which are a complementary pair. A point is optimal if

    the equations hold (of the program and of its dual),   s >= 0,   z >= 0,   s z = 0 in every entry.

A point of this driver keeps s > 0 and z > 0. Where all functions are linear and the equations hold, the sum of all s z
is the distance between the value and the dual's value.

**Elimination contract.** Newton's direction for target products c solves the equations, linearized at the point,
together with

    z ds + s dz = c - s z   for every pair.

`InteriorProgram.factor` prepares this system once at a point, and returns the function that solves it for any targets.
How it eliminates unknowns is the program's own affair: only the equations that remain at the end are factored. The
direction also removes what the equations miss at the point, so a start need not satisfy them.

**A step.** The predictor aims at c = 0. How far it gets before some s or z is zero tells how hard the way is:
with the gap sum s z it leaves, relative to the gap before, the corrector aims at the same product for all entries,

    c = mean(s z) * min((gap ahead / gap)³, most) - ds dz,

where the predictor's ds dz is the second-order term that linearization leaves out. The point moves along the corrector
by `inside` times the longest primal step (s) and the longest dual step (z) that keep it positive, at most one.

**Stopping rule.** The points are handed out one by one, the start first, and the caller stops when one is good enough
by its own proof. The driver ends by itself after `steps` points, at the first point past the deadline, or when rounding
has made the system singular or the gap infinite.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Pairs = Sequence[tuple[Floats, Floats]]
"""Complementary pairs: slacks and multipliers, or their changes."""
Targets = Sequence[Floats | float]
"""What the products of every pair shall be."""


class InteriorPoint(Protocol):
    """A point, or a direction: complementary pairs, and whatever else the program needs."""

    @property
    def pairs(self) -> Pairs: ...

    def move(self, direction: Self, primal: float, dual: float) -> Self:
        """Move slacks and free unknowns by `primal` times the direction, multipliers and free duals by `dual` times."""
        ...


P = TypeVar("P", bound=InteriorPoint)


class InteriorProgram(Protocol[P]):
    def start(self) -> P:
        """Return a point with positive pairs."""
        ...

    def factor(self, point: P) -> Callable[[Targets], P]:
        """Return the function from targets to Newton's direction at a point.

        Both may raise `LinAlgError`, or `ValueError` for infinite entries, if rounding has made the system singular.
        """
        ...


def interior_points(
    program: InteriorProgram[P], *, inside: float, steps: int, most: float = 1.0, deadline: float = np.inf
) -> Iterator[P]:
    """Yield points ever nearer to the optimum, at most `steps`, until a step fails or the deadline has passed."""
    with np.errstate(all="ignore"):
        point = program.start()
    for _ in range(steps):
        yield point
        if time.monotonic() > deadline:
            return
        try:
            with np.errstate(all="ignore"):
                point = _step(program, point, inside, most)
        except (np.linalg.LinAlgError, ValueError):
            return
        if not np.isfinite(gap(point)):
            return


def gap(point: InteriorPoint) -> float:
    """Return the sum of the products of all pairs."""
    return float(sum(np.vdot(s, z) for s, z in point.pairs))


def _step(program: InteriorProgram[P], point: P, inside: float, most: float) -> P:
    """Make one step: predictor, then corrector."""
    newton, before = program.factor(point), gap(point)
    guess = newton([0.0] * len(point.pairs))
    ahead = _gap_after(point, guess, *_step_lengths(point, guess, inside))
    aim = before / sum(s.size for s, _ in point.pairs) * min((max(ahead, 0.0) / before) ** 3, most)
    bent = [ds * dz for ds, dz in guess.pairs]
    direction = newton([np.subtract(aim, product, out=product) for product in bent])
    return point.move(direction, *_step_lengths(point, direction, inside))


def _gap_after(point: P, d: P, primal: float, dual: float) -> float:
    """Compute the gap after a move, without making it."""
    terms = (
        np.vdot(s, z) + primal * np.vdot(ds, z) + dual * np.vdot(s, dz) + primal * dual * np.vdot(ds, dz)
        for (s, z), (ds, dz) in zip(point.pairs, d.pairs, strict=True)
    )
    return float(sum(terms))


def _step_lengths(point: P, d: P, inside: float) -> tuple[float, float]:
    """Return `inside` times the longest primal and dual steps that keep all pairs non-negative, at most one."""
    both = list(zip(point.pairs, d.pairs, strict=True))
    falls = (max(_fall(s, ds) for (s, _), (ds, _) in both), max(_fall(z, dz) for (_, z), (_, dz) in both))
    primal, dual = (min(1.0, inside / max(fall, 1e-300)) for fall in falls)
    return primal, dual


def _fall(x: Floats, d: Floats) -> float:
    """Return the largest relative decrease of x along d."""
    return -float((d / x).min(initial=0.0))
