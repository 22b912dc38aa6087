"""Cone rays against the papers' linear program, built here a second time over the full matrix."""

from collections.abc import Iterator

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_array, vstack

from inbounds.design.bounds import bound
from inbounds.design.problem import Floats, Problem
from inbounds.design.routes import column_generation, windows_interior
from inbounds.design.routes.staircases import stairs
from inbounds.design.solver import pricing

Cliques = list[tuple[int, int, float]]


def reach(n: int, k: int) -> Cliques:
    return [(j, min(j + k + 1, n), 1.0) for j in range(max(1, n - k))]


def gapped(values: np.ndarray, k: int) -> Cliques:
    """Windows of answers at most k apart on a grid with holes."""
    ends = np.searchsorted(values, values + k, side="right")
    return [(j, int(b), 1.0) for j, b in enumerate(ends) if b - j > 1]


def problem(epsilon: float, cliques: Cliques, loss: Floats, prior: Floats, worst: bool = False) -> Problem:
    m, n = loss.shape
    home = np.linspace(0, m - 1, n).round().astype(int)
    return Problem(epsilon, tuple(cliques), loss, prior, home, np.arange(1, m + 1), np.arange(m), worst)


def distances(m: int, n: int) -> Floats:
    return np.abs(np.linspace(0, n - 1, m)[:, None] - np.arange(n))


def random_problem(rng: np.random.Generator) -> Problem:
    n = int(rng.integers(2, 13))
    m = n if rng.random() < 0.6 else int(rng.integers(1, 15))
    k = int(rng.integers(1, 6))
    cliques = [
        reach(n, k),
        [(0, n, 1.0)],
        [(j, j + 2, float(rng.choice([0.5, 1.0, 1.7]))) for j in range(n - 1)],
        gapped(np.cumsum(rng.integers(1, k + 2, n)), k),
    ][rng.integers(4)]
    d = distances(m, n)
    losses = [d, d**2, d > 0.01, d > 1.01, d**0.5, rng.random((m, n)), rng.integers(0, 4, (m, n))]
    zeros = rng.integers(0, 3, n) + (np.arange(n) == 0)
    prior = [np.ones(n), rng.random(n), rng.random(n) ** 6, zeros][rng.integers(4)].astype(float)
    epsilon = float(rng.choice([0.05, 0.1, 0.5, 1.0, 2.0]))
    loss = losses[rng.integers(len(losses))].astype(float)
    return problem(epsilon, cliques, loss, prior / prior.sum(), bool(rng.integers(2)))


def papers_program(p: Problem) -> float:
    """min loss over full matrices, one inequality per output and ordered pair of neighbours."""
    m, n = p.shape
    ratio: dict[tuple[int, int], float] = {}
    for a, b, d in p.cliques:
        for j in range(a, b):
            for k in range(a, b):
                if j != k:
                    ratio[j, k] = min(ratio.get((j, k), np.inf), np.exp(p.epsilon * d))
    N = m * n
    rows = [(i * n + j, i * n + k, r) for (j, k), r in ratio.items() for i in range(m)]
    at, cols = np.arange(len(rows)), np.array(rows).reshape(-1, 3)
    values = np.concatenate([np.ones(len(rows)), -cols[:, 2]])
    index = (np.tile(at, 2), cols[:, :2].T.ravel().astype(int))
    A = coo_array((values, index), shape=(len(rows), N + 1))
    sums = coo_array((np.ones(N), (np.tile(np.arange(n), m), np.arange(N))), shape=(n, N + 1))
    cost = np.append((p.loss * p.prior).ravel() * (not p.worst), float(p.worst))
    if p.worst:
        entries = np.append(p.loss.ravel(), -np.ones(n))
        where = (np.append(np.tile(np.arange(n), m), np.arange(n)), np.append(np.arange(N), np.full(n, N)))
        A = vstack([A, coo_array((entries, where), shape=(n, N + 1))])
    limits = [(0, None)] * N + [(None, None) if p.worst else (0, 0)]
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(cost, A, np.zeros(A.shape[0]), sums, np.ones(n), limits, options=tight)
    assert found.status == 0
    return float(found.fun)


def loss_of(p: Problem, P: Floats) -> float:
    losses = (P * p.loss).sum(axis=0)
    return float(losses.max() if p.worst else losses @ p.prior)


def assert_private(p: Problem, P: Floats) -> None:
    assert np.abs(P.sum(axis=0) - 1).max() < 1e-10
    assert P.min() >= 0
    for a, b, d in p.cliques:
        window = P[:, a:b]
        assert np.all(window.max(axis=1) <= np.exp(p.epsilon * d) * window.min(axis=1) * (1 + 1e-9))


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(k, marks=pytest.mark.slow) for k in range(4, 10))])
def test_rays_equal_the_papers_linear_program(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(15):
        p = random_problem(rng)
        found, best = column_generation.solve(p), papers_program(p)
        value = loss_of(p, found.matrix)
        assert_private(p, found.matrix)
        assert value == pytest.approx(best, rel=1e-7, abs=1e-9)
        assert found.bound <= value <= found.bound + 1e-9 * value
        assert found.bound <= best + 1e-7 * abs(best) + 1e-9


ABSOLUTE, SQUARED, ZERO_ONE = distances(5, 5), distances(5, 5) ** 2, np.sign(distances(5, 5))


@pytest.mark.parametrize(
    ("loss", "k", "average", "worst"),
    [
        (ABSOLUTE, 1, 0.940780308, 1.008977142),
        (SQUARED, 1, 1.528777291, 2.348642862),
        (ZERO_ONE, 1, 0.604065070, 0.660881325),
        (ABSOLUTE, 4, 1.167392133, 1.579319550),
        (SQUARED, 4, 2.0, 4.0),
        (ZERO_ONE, 4, 0.708124867, 0.708124867),
    ],
)
def test_rays_reach_the_reference_values(loss: Floats, k: int, average: float, worst: float) -> None:
    for aim, value in ((False, average), (True, worst)):
        p = problem(0.5, reach(5, k), loss, np.full(5, 0.2), aim)
        assert loss_of(p, column_generation.solve(p).matrix) == pytest.approx(value, abs=1e-9)


def test_the_bound_is_below_the_loss_of_every_private_matrix_even_from_a_random_dual() -> None:
    rng = np.random.default_rng(5)
    for _ in range(80):
        p = random_problem(rng)
        spans = list(pricing.split_components(p))
        if len(spans) > 1:
            continue
        cone, v = pricing.cone(p, spans[0]), rng.normal(size=p.shape[1])
        value = loss_of(p, column_generation.solve(p).matrix)
        low = bound.worst(v, rng.random(len(v)), p.loss, cone) if p.worst else bound.average(v, p.loss * p.prior, cone)
        assert low <= value


def test_the_bound_sees_a_violation_hidden_in_one_valley() -> None:
    # r is positive on both single-peaked rows and on the constant one, negative only on the row high, low, high
    p = problem(1.0, reach(3, 1), np.zeros((1, 3)), np.ones(3) / 3)
    cone = pricing.cone(p, slice(0, 3))
    r = np.array([[-1.0], [4.0], [-1.0]])
    assert pricing.min_over_cone(r, cone)[0] < 0
    np.testing.assert_allclose(pricing.best_rays(r, cone)[:, 0], [0, -1, 0])


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
def test_pricing_finds_the_least_row_of_the_cone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(60):
        n, k = int(rng.integers(2, 10)), int(rng.integers(1, 6))
        steps = [(j, j + 2, float(rng.choice([0.5, 1.0, 1.7]))) for j in range(n - 1)]
        kinds = [reach(n, k), steps, gapped(np.cumsum(rng.integers(1, k + 1, n)), k)]
        p = problem(float(rng.choice([0.1, 0.5, 1.0])), kinds[rng.integers(3)], np.zeros((1, n)), np.ones(n) / n)
        cone, r = pricing.cone(p, slice(0, n)), rng.normal(size=(n, 1)) + rng.random()
        x = np.exp(pricing.best_rays(r, cone))
        assert_private(p, (x / x).T)
        if not cone.everyone:
            assert (r * x).sum() == pytest.approx(pricing.min_over_cone(r, cone)[0])
        lowest = _least_by_program(p, r[:, 0], np.eye(n)[0])
        scale = np.exp(pricing.best_rays(r, cone)[0, 0]) if cone.everyone else 1.0
        assert (r * x).sum() / scale == pytest.approx(lowest, rel=1e-7, abs=1e-7) or cone.everyone
        assert (pricing.min_over_cone(r, cone)[0] >= 0) == (lowest >= 0) or abs(lowest) < 1e-6


def _least_by_program(p: Problem, r: Floats, unit: Floats) -> float:
    n = len(r)
    A = [
        np.eye(n)[j] - np.exp(p.epsilon * d) * np.eye(n)[k]
        for a, b, d in p.cliques
        for j in range(a, b)
        for k in range(a, b)
        if j != k
    ]
    found = linprog(r, np.array(A), np.zeros(len(A)), unit[None], [1.0])
    assert found.status == 0
    return float(found.fun)


def test_rounding_down_never_raises_the_least_value() -> None:
    rng = np.random.default_rng(2)
    for n, k in ((6, 1), (9, 3), (7, 7)):
        p = problem(0.3, reach(n, k), np.zeros((1, n)), np.ones(n) / n)
        cone, r = pricing.cone(p, slice(0, n)), rng.normal(size=(n, 50))
        plain, low = pricing.min_over_cone(r, cone), pricing.min_over_cone(r, cone, pricing.rounding(cone))
        assert np.all(low < plain)
        np.testing.assert_allclose(low, plain, atol=1e-12)


def test_staircases_are_private_rows_and_their_sums_agree_with_them() -> None:
    rng = np.random.default_rng(3)
    for cliques in (reach(9, 1), reach(9, 3), gapped(np.array([0, 1, 3, 4, 5, 8, 9, 10, 12]), 3)):
        p = problem(0.7, cliques, np.zeros((1, 9)), np.ones(9) / 9)
        tails = stairs(pricing.cone(p, slice(0, 9)))
        first, last = np.triu_indices(9)
        x = np.exp(tails.log_rays(first, last))
        for a, b, _ in cliques:
            assert np.all(x[a:b].max(axis=0) <= np.exp(0.7) * x[a:b].min(axis=0) * (1 + 1e-12))
        c = rng.normal(size=9)
        np.testing.assert_allclose(tails.sums(c)[first, last], c @ x)


def interior_points(
    p: Problem, *, mirrored: bool, deadline: float = np.inf
) -> Iterator[windows_interior.WindowSolution]:
    """The interior points of a problem with one component, among all outputs."""
    cone, outputs = pricing.cone(p, slice(0, p.shape[1])), np.arange(p.shape[0])
    return windows_interior.points(p.loss, p.prior, p.worst, cone, mirrored, outputs, deadline)


@pytest.mark.parametrize("worst", [False, True])
def test_the_interior_point_agrees_with_the_rays_when_all_are_neighbours(worst: bool) -> None:
    rng = np.random.default_rng(4)
    for n, epsilon in ((6, 0.5), (9, 2.0), (12, 0.1)):
        loss, prior = distances(n, n) + rng.random((n, n)), rng.random(n)
        p = problem(epsilon, [(0, n, 1.0)], loss, prior / prior.sum(), worst)
        *_, last = interior_points(p, mirrored=False)
        cone = pricing.cone(p, slice(0, n))
        low = (
            bound.worst(last.v, last.weights, p.loss, cone) if worst else bound.average(last.v, p.loss * p.prior, cone)
        )
        best = column_generation.solve(p)
        assert best.bound == pytest.approx(low, rel=1e-9)
        assert loss_of(p, best.matrix) == pytest.approx(loss_of(p, last.matrix), rel=1e-7)


@pytest.mark.parametrize("worst", [False, True])
def test_folding_a_mirrored_problem_leaves_its_optimum(worst: bool) -> None:
    for m, n, epsilon in ((8, 8, 0.5), (9, 9, 1.0), (7, 12, 0.3), (6, 11, 2.0)):
        loss, prior = distances(m, n), np.full(n, 1.0 / n)
        complete = problem(epsilon, [(0, n, 1.0)], loss, prior, worst)
        *_, whole = interior_points(complete, mirrored=False)
        *_, folded = interior_points(complete, mirrored=True)
        low, folded_low = (point.v.sum() / point.weights.sum() for point in (whole, folded))
        assert low == pytest.approx(folded_low, rel=1e-9)
        np.testing.assert_allclose(folded.matrix, folded.matrix[::-1, ::-1], atol=1e-15)
        p = problem(epsilon, reach(n, 2), loss, prior, worst)
        skewed = problem(epsilon, reach(n, 2), loss, prior * (1 + 1e-12 * np.arange(n)), worst)
        loss_apart = loss_of(p, column_generation.solve(skewed).matrix)
        assert loss_of(p, column_generation.solve(p).matrix) == pytest.approx(loss_apart, rel=1e-9)


def test_many_answers_that_are_all_neighbours_are_solved_to_the_proved_gap() -> None:
    for loss in (distances(40, 40), distances(40, 40) ** 2, np.sign(distances(40, 40)), distances(25, 40)):
        p = problem(1.0, [(0, 40, 1.0)], loss, np.full(40, 1 / 40))
        found = column_generation.solve(p)
        assert_private(p, found.matrix)
        assert found.bound <= loss_of(p, found.matrix) <= found.bound * (1 + 1e-9)


@pytest.mark.parametrize("worst", [False, True])
def test_a_point_that_breaks_down_in_rounding_keeps_what_was_reached(worst: bool) -> None:
    loss = np.random.default_rng(3).random((60, 60))  # without any order: more than 60 steps, and a flat end
    p = problem(1.0, [(0, 60, 1.0)], loss, np.full(60, 1 / 60), worst)
    found = column_generation.solve(p)
    assert_private(p, found.matrix)
    assert found.bound <= loss_of(p, found.matrix) <= found.bound * (1 + 1e-8)


def test_one_point_is_handed_out_even_when_no_time_is_left() -> None:
    p = problem(1.0, [(0, 20, 1.0)], distances(20, 20), np.full(20, 0.05))
    (point,) = interior_points(p, mirrored=False, deadline=-np.inf)
    low = bound.average(point.v, p.loss / 20, pricing.cone(p, slice(0, 20)))
    assert 0 <= low <= loss_of(p, point.matrix)


def test_the_same_problem_gives_the_same_matrix() -> None:
    rng = np.random.default_rng(6)
    for _ in range(10):
        p = random_problem(rng)
        np.testing.assert_array_equal(column_generation.solve(p).matrix, column_generation.solve(p).matrix)


@pytest.mark.parametrize("worst", [False, True])
def test_a_mirrored_problem_gets_a_mirrored_matrix(worst: bool) -> None:
    for k in (1, 2, 9):
        p = problem(0.4, reach(10, k), distances(10, 10), np.full(10, 0.1), worst)
        P = column_generation.solve(p).matrix
        np.testing.assert_array_equal(P, P[::-1, ::-1])


def test_no_time_still_gives_a_private_matrix_and_a_valid_bound() -> None:
    for worst in (False, True):
        p = problem(0.3, reach(30, 3), distances(30, 30) ** 0.5, np.arange(1, 31) / 465, worst)
        hurried, patient = column_generation.solve(p, deadline=-np.inf), column_generation.solve(p)
        assert_private(p, hurried.matrix)
        assert hurried.bound <= loss_of(p, patient.matrix) <= loss_of(p, hurried.matrix) + 1e-12


def test_answers_without_common_neighbours_are_solved_apart() -> None:
    loss = distances(6, 6)
    p = problem(0.5, [(0, 3, 1.0), (3, 6, 1.0)], loss, np.full(6, 1 / 6))
    P = column_generation.solve(p).matrix
    halves = [problem(0.5, [(0, 3, 1.0)], loss[:, s], np.full(3, 1 / 3)) for s in (slice(0, 3), slice(3, 6))]
    apart = np.mean([loss_of(h, column_generation.solve(h).matrix) for h in halves])
    assert loss_of(p, P) == pytest.approx(apart)


def test_negative_losses_are_only_a_shift() -> None:
    rng = np.random.default_rng(8)
    for worst in (False, True):
        loss = rng.normal(size=(5, 7))
        p = problem(0.8, reach(7, 2), loss, np.full(7, 1 / 7), worst)
        lifted = problem(0.8, reach(7, 2), loss + 3.0, np.full(7, 1 / 7), worst)
        low, high = column_generation.solve(p), column_generation.solve(lifted)
        assert loss_of(p, low.matrix) + 3 == pytest.approx(loss_of(lifted, high.matrix))
        assert low.bound + 3 == pytest.approx(high.bound)


def test_a_tiny_loss_is_proved_to_the_same_relative_gap() -> None:
    p = problem(12.0, reach(8, 2), np.sign(distances(8, 8)), np.full(8, 1 / 8))
    found = column_generation.solve(p)
    value = loss_of(p, found.matrix)
    assert 0 < value < 1e-4
    assert found.bound <= value <= found.bound * (1 + 1e-9)


def test_mixed_windows_are_left_to_another_route() -> None:
    p = problem(0.5, [(0, 3, 1.0), (2, 4, 2.0)], np.zeros((4, 4)), np.full(4, 0.25))
    assert not column_generation.accepts(p)
    assert column_generation.accepts(problem(0.5, reach(4, 2), np.zeros((4, 4)), np.full(4, 0.25)))


def test_a_loss_without_order_on_windows_is_solved_to_the_proved_gap() -> None:
    """Many rays are as good as each other there, and the program's own duals wander."""
    for seed, worst in ((0, False), (1, True)):
        loss = np.random.default_rng(seed).random((30, 30))
        p = problem(0.5, reach(30, 4), loss, np.full(30, 1 / 30), worst)
        found = column_generation.solve(p)
        assert_private(p, found.matrix)
        assert found.bound <= loss_of(p, found.matrix) <= found.bound * (1 + 1e-9)
