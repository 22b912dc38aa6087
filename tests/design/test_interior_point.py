"""The interior-point driver on small linear programs, against HiGHS."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import linprog

from inbounds.design.problem import Floats
from inbounds.design.solver.interior_point import Pairs, Targets, gap, interior_points


@dataclass(frozen=True, eq=False)
class Point:
    x: Floats
    s: Floats
    y: Floats

    @property
    def pairs(self) -> Pairs:
        return ((self.x, self.s),)

    def move(self, direction: "Point", primal: float, dual: float) -> "Point":
        d = direction
        return Point(self.x + primal * d.x, self.s + dual * d.s, self.y + dual * d.y)


@dataclass(frozen=True, eq=False)
class Program:
    """min cost x with A x = b, x >= 0; its system breaks down at the given call."""

    A: Floats
    b: Floats
    cost: Floats
    breaks_at: float = np.inf

    def start(self) -> Point:
        n = len(self.cost)
        return Point(np.ones(n), np.ones(n), np.zeros(len(self.b)))

    def factor(self, point: Point) -> Callable[[Targets], Point]:
        """Eliminate ds = c / x - s - (s / x) dx, then dx = (x / s)(c / x - cost + A'(y + dy))."""
        calls.append(point)
        if len(calls) > self.breaks_at:
            raise np.linalg.LinAlgError("singular")
        share = point.x / point.s

        def direction(targets: Targets) -> Point:
            aim = targets[0] / point.x
            free = share * (aim - self.cost + self.A.T @ point.y)
            dy = np.linalg.solve((self.A * share) @ self.A.T, self.b - self.A @ (point.x + free))
            dx = free + share * (self.A.T @ dy)
            return Point(dx, aim - point.s - dx / share, dy)

        return direction


calls: list[Point] = []


def random_program(seed: int, breaks_at: float = np.inf) -> Program:
    """A program with an optimum: there is an x > 0, and the costs are positive."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(4, 9))
    calls.clear()
    return Program(A, A @ rng.uniform(0.5, 2, 9), rng.uniform(0.1, 1, 9), breaks_at)


@pytest.mark.parametrize("most", [1.0, 0.1])
@pytest.mark.parametrize("seed", range(5))
def test_points_reach_the_optimum_from_a_start_that_misses_the_equations(seed: int, most: float) -> None:
    program = random_program(seed)
    points = []
    for point in interior_points(program, inside=0.995, steps=40, most=most):
        points.append(point)
        if gap(point) < 1e-9:
            break
    best = linprog(program.cost, A_eq=program.A, b_eq=program.b).fun
    last = points[-1]
    assert program.cost @ last.x == pytest.approx(best, rel=1e-8)
    assert program.b @ last.y == pytest.approx(best, rel=1e-8)
    assert gap(last) < 1e-9 < gap(points[0])
    assert all(x.min() > 0 and s.min() > 0 for point in points for x, s in point.pairs)


def test_the_gap_is_the_distance_of_both_values_where_the_equations_hold() -> None:
    program = random_program(7)
    for point in interior_points(program, inside=0.9, steps=12):
        missed = program.cost - program.A.T @ point.y - point.s
        apart = program.cost @ point.x - program.b @ point.y
        correction = missed @ point.x + point.y @ (program.A @ point.x - program.b)
        assert gap(point) == pytest.approx(apart - correction, abs=1e-9)


def test_points_end_with_their_number_the_deadline_or_a_system_that_breaks_down() -> None:
    assert len(list(interior_points(random_program(0), inside=0.9, steps=4))) == 4
    assert len(list(interior_points(random_program(0), inside=0.9, steps=9, deadline=-np.inf))) == 1
    assert len(list(interior_points(random_program(0, breaks_at=3), inside=0.9, steps=9))) == 4
