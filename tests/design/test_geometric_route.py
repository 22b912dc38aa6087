"""The solver-free route for chains against the cone rays, and the array form against the matrix form."""

import numpy as np
import pytest

from inbounds.design.problem import Floats, Problem
from inbounds.design.routes import column_generation, count_remap, geometric
from raising import rejects


def chain(epsilon: float, loss: Floats, prior: Floats, steps: Floats | None = None) -> Problem:
    m, n = loss.shape
    steps = np.ones(n - 1) if steps is None else steps
    cliques = tuple((j, j + 2, float(d)) for j, d in enumerate(steps) if np.isfinite(d))
    home = np.linspace(0, m - 1, n).round().astype(int)
    return Problem(epsilon, cliques, loss, prior / prior.sum(), home, np.arange(1, m + 1), np.arange(m))


def loss_of(p: Problem, P: Floats) -> float:
    return float((P * p.loss).sum(axis=0) @ p.prior)


def random_chain(rng: np.random.Generator) -> Problem:
    n, m = (int(x) for x in rng.integers(2, 14, 2))
    answers, outputs = np.sort(rng.random(n)) * n, np.sort(rng.random(m)) * n
    if rng.random() < 0.5:
        answers, outputs, m = np.arange(n), np.arange(n), n
    d = np.abs(outputs[:, None] - answers)
    powers = rng.random(n) * 2
    loss = [d, d**2, d > 0.01, d > 1.5, d**0.5, d**powers * rng.random(n)][rng.integers(6)].astype(float)
    zeros = rng.integers(0, 2, n) + (np.arange(n) == 0)
    prior = [np.ones(n), rng.random(n) ** 4, zeros][rng.integers(3)].astype(float)
    steps = [np.ones(n - 1), rng.random(n - 1) * 3, rng.choice([1.0, np.inf], n - 1)][rng.integers(3)]
    return chain(float(rng.choice([0.01, 0.1, 0.5, 1.0, 3.0])), loss, prior, steps)


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(k, marks=pytest.mark.slow) for k in range(3, 8))])
def test_the_remapped_geometric_mechanism_equals_the_optimum_over_all_rays(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(40):
        p = random_chain(rng)
        assert geometric.accepts(p)
        found = geometric.solve(p)
        value, best = loss_of(p, found.matrix), loss_of(p, column_generation.solve(p).matrix)
        np.testing.assert_allclose(found.matrix.sum(axis=0), 1.0, rtol=1e-13)
        assert value == pytest.approx(best, rel=1e-9, abs=1e-13)
        assert found.bound <= min(value, best * (1 + 1e-14))
        assert value <= found.bound * (1 + 1e-9) + 1e-15


def test_a_loss_without_ordered_differences_is_refused_for_a_reason() -> None:
    """A twin that must fail: for this loss the best remap of the geometric mechanism is not optimal."""
    loss = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])  # output 0 means "an end", output 1 means "the middle"
    p = chain(1.0, loss, np.ones(3))
    assert not geometric.accepts(p)
    found = geometric.solve(p)
    best = loss_of(p, column_generation.solve(p).matrix)
    assert loss_of(p, found.matrix) > best * 1.01
    assert found.bound <= best


@pytest.mark.parametrize("seed", range(4))
def test_losses_that_grow_with_the_distance_have_ordered_differences(seed: int) -> None:
    rng = np.random.default_rng(seed)
    outputs, answers = np.sort(rng.random(9)), np.sort(rng.random(7))
    d = np.abs(outputs[:, None] - answers)
    assert geometric.has_ordered_differences(d ** (rng.random(7) * 3) * rng.random(7))
    assert geometric.has_ordered_differences((d > rng.random(7)).astype(float))
    assert not geometric.has_ordered_differences(-d)


def test_worst_case_properties_and_windows_are_left_to_other_routes() -> None:
    loss = np.abs(np.arange(4)[:, None] - np.arange(4)).astype(float)
    p = chain(0.5, loss, np.ones(4))
    fields = {name: getattr(p, name) for name in ("epsilon", "loss", "prior", "home", "below", "above")}
    assert geometric.accepts(p)
    assert not geometric.accepts(Problem(**fields, cliques=p.cliques, worst=True))
    assert not geometric.accepts(Problem(**fields, cliques=p.cliques, properties=frozenset({"fair"})))
    assert not geometric.accepts(Problem(**fields, cliques=((0, 3, 1.0), (1, 4, 1.0))))


def test_the_duals_make_every_single_peaked_row_cost_exactly_its_share() -> None:
    rng = np.random.default_rng(1)
    c, step = rng.random((5, 8)), rng.random(7) + 0.1
    C = geometric.peak_costs(c, step)
    x = np.cumsum(np.append(0.0, step))
    T = np.exp(-np.abs(x[:, None] - x))
    np.testing.assert_allclose(C, c @ T)
    y = C.argmin(axis=0)
    np.testing.assert_allclose(T @ geometric.peak_duals(c, C, y, step), C.min(axis=0))
    np.testing.assert_allclose(geometric.peak_weights(step) @ T, 1.0)


def test_a_mirrored_count_gets_a_mirrored_matrix() -> None:
    for n in (4, 7, 30):
        P = geometric.solve(chain(0.3, np.abs(np.arange(n)[:, None] - np.arange(n)) * 1.0, np.ones(n))).matrix
        np.testing.assert_array_equal(P, P[::-1, ::-1])


LOSSES = {
    "absolute": lambda e: e,
    "squared": lambda e: e**2,
    "zero-one": np.sign,
    "off by more than two": lambda e: e > 2,
    "square root": np.sqrt,
    "cubic": lambda e: e**3,
    "capped, never free": lambda e: np.minimum(e, 3) + 1,
}


@pytest.mark.parametrize("name", LOSSES)
def test_the_array_form_equals_the_matrix_form(name: str) -> None:
    rng = np.random.default_rng(len(name))
    for n, epsilon in ((2, 0.5), (9, 0.01), (30, 0.1), (61, 0.7), (50, 8.0)):
        f = LOSSES[name](np.arange(n).astype(float)).astype(float)
        loss = f[np.abs(np.arange(n)[:, None] - np.arange(n))]
        zeros = rng.integers(0, 2, n) + (np.arange(n) == 0)
        for prior in (None, rng.random(n) ** 6, zeros.astype(float)):
            p = chain(epsilon, loss, np.ones(n) if prior is None else prior)
            found, best = count_remap.remap(epsilon, f, None if prior is None else p.prior), geometric.solve(p)
            assert found.loss == pytest.approx(loss_of(p, best.matrix), rel=1e-12, abs=1e-15)
            assert found.bound <= loss_of(p, best.matrix) * (1 + 1e-15)
            assert found.loss <= found.bound * (1 + 1e-9)
            assert np.all(np.diff(found.outputs) >= 0)


def test_the_ends_of_a_long_uniform_count_are_those_of_a_short_one() -> None:
    n, epsilon = 400, 1.0
    f = np.arange(n) ** 1.5
    found = count_remap.remap(epsilon, f)
    p = chain(epsilon, f[np.abs(np.arange(n)[:, None] - np.arange(n))], np.ones(n))
    assert found.loss == pytest.approx(loss_of(p, geometric.solve(p).matrix), rel=1e-12)
    np.testing.assert_array_equal(found.outputs[::-1], n - 1 - found.outputs)
    np.testing.assert_array_equal(found.outputs[10:-10], np.arange(10, n - 10))


def test_a_hundred_thousand_answers_lose_what_an_unbounded_count_loses_away_from_the_ends() -> None:
    """Geometric noise loses 2a / (1 - a^2) on average; the ends change that by a share of about 1 / (epsilon n)."""
    n, epsilon = 100_001, 0.5
    a = np.exp(-epsilon)
    found = count_remap.remap(epsilon, np.arange(n).astype(float))
    assert found.loss == pytest.approx(2 * a / (1 - a * a), rel=1e-3)
    assert found.bound <= found.loss <= found.bound * (1 + 1e-9)


def test_a_unit_that_rounds_does_not_change_the_remap() -> None:
    for power in (1, 2):
        plain = count_remap.remap(0.2, np.arange(3000.0) ** power)
        thirds = count_remap.remap(0.2, (np.arange(3000) / 3) ** power, np.full(3000, 1 / 3000))
        np.testing.assert_array_equal(plain.outputs, thirds.outputs)
        assert plain.loss == pytest.approx(thirds.loss * 3**power, rel=1e-12)


def test_a_loss_that_falls_is_refused_by_the_array_form() -> None:
    with rejects(ValueError, "loss", about="fall"):
        count_remap.remap(0.5, np.array([0.0, 2.0, 1.0]))
