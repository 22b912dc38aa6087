"""The interior point for windows: bands against dense algebra, optima against column generation."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import inbounds as ib
from inbounds.design.goal import build_problem
from inbounds.design.problem import Floats, Problem
from inbounds.design.routes import column_generation, windows_interior
from inbounds.design.solver.bands import CHUNK, Factors, windows
from inbounds.design.solver.pricing import Cone
from inbounds.design.solver.stars import star
from inbounds.losses import to_loss

REGULAR = Cone(np.maximum(np.arange(2 * CHUNK + 5) - 4, 0), np.full(2 * CHUNK + 4, 0.3))
RAGGED = Cone(np.maximum(np.arange(CHUNK + 7) - np.arange(CHUNK + 7) % 3 - 1, 0), np.full(CHUNK + 6, 0.2))
CHAIN = Cone(np.maximum(np.arange(9) - 1, 0), np.linspace(0.1, 0.9, 8))


def banded(cone: Cone, outputs: int = 3) -> tuple[Factors, list[Floats]]:
    """The factors of random bands, and the same matrices in full."""
    rng, limits = np.random.default_rng(1), windows(cone)
    A, w = limits.limits.toarray(), rng.random((limits.limits.shape[0], outputs))
    x = 1 + 0.1 * rng.random((cone.size, outputs))
    full = [A.T @ np.diag(w[:, i]) @ A for i in range(outputs)]
    return limits.factor(w, x, w * limits.apply(x)), full


def fold_mirrored(x: Floats) -> Floats:
    """Sums over pairs of mirrored answers along the last axis, the middle one alone."""
    n = x.shape[-1]
    pairs = x[..., : n // 2] + x[..., ::-1][..., : n // 2]
    return np.concatenate([pairs, x[..., n // 2 : (n + 1) // 2]], axis=-1)


@pytest.mark.parametrize("cone", [REGULAR, RAGGED, CHAIN])
def test_limits_hold_exactly_for_private_rows(cone: Cone) -> None:
    A = windows(cone).limits.toarray()
    neighbours = [(j, k) for k in range(cone.size) for j in range(cone.reach[k], k)]
    assert len(A) == 2 * len(neighbours)
    for (j, k), one, other in zip(neighbours, A[: len(neighbours)], A[len(neighbours) :], strict=True):
        growth = np.exp(cone.step[j])
        assert np.flatnonzero(one).tolist() == np.flatnonzero(other).tolist() == [j, k]
        assert (one[j], one[k], other[j], other[k]) == (-1, growth, growth, -1)


@pytest.mark.parametrize("cone", [REGULAR, RAGGED, CHAIN])
def test_bands_are_solved_and_inverted_like_full_matrices(cone: Cone) -> None:
    factors, full = banded(cone)
    rng = np.random.default_rng(2)
    right, tables = rng.normal(size=(cone.size, 3)), tuple(rng.normal(size=(2, cone.size, 3)))
    solved = np.array([np.linalg.solve(H, right[:, i]) for i, H in enumerate(full)]).T
    assert factors.solve(right) == pytest.approx(solved, rel=1e-9, abs=1e-9)
    for fold in (np.asarray, fold_mirrored):
        sums = factors.inverse_sums(tables, fold)
        for a, b in np.ndindex(2, 2):
            parts = [tables[a][:, i, None] * np.linalg.inv(H) * tables[b][:, i] for i, H in enumerate(full)]
            assert sums[a, b] == pytest.approx(fold(fold(sum(parts)).T).T, rel=1e-9, abs=1e-9)


def test_arrows_are_solved_and_inverted_like_full_matrices() -> None:
    everyone = Cone(np.zeros(7, np.int64), np.full(6, 0.4))
    rng, limits = np.random.default_rng(3), star(everyone)
    A, w = limits.apply(np.eye(8)), rng.random((14, 3))
    assert limits.apply_transpose(np.eye(14)) == pytest.approx(A.T)
    rows = limits.rows(np.eye(8))
    assert limits.rows_transpose(np.eye(7)) == pytest.approx(rows.T)
    x = rng.random((8, 3))
    private = np.concatenate([limits.rows(x) - x[-1], np.exp(0.4) * x[-1] - limits.rows(x)])
    assert limits.apply(x) == pytest.approx(private)
    factors, full = limits.factor(w, w, w), [A.T @ np.diag(w[:, i]) @ A for i in range(3)]
    right, tables = rng.normal(size=(8, 3)), tuple(rng.normal(size=(2, 7, 3)))
    solved = np.array([np.linalg.solve(H, right[:, i]) for i, H in enumerate(full)]).T
    assert factors.solve(right) == pytest.approx(solved, rel=1e-9, abs=1e-9)
    for fold in (np.asarray, fold_mirrored):
        sums = factors.inverse_sums(tables, fold)
        for a, b in np.ndindex(2, 2):
            between = [rows @ np.linalg.inv(H) @ rows.T for H in full]
            parts = [tables[a][:, i, None] * Z * tables[b][:, i] for i, Z in enumerate(between)]
            assert sums[a, b] == pytest.approx(fold(fold(sum(parts)).T).T, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("epsilon", [0.05, 3.0, 20.0])
def test_multipliers_of_a_star_begin_with_feasible_duals(epsilon: float) -> None:
    """A' z = r with z > 0, for r > 0: so steps need not first find their way to the duals, however steep rows are."""
    limits, r = star(Cone(np.zeros(5, np.int64), np.full(4, epsilon))), np.random.default_rng(5).random((5, 3))
    r = limits.rows_transpose(r)
    z = limits.initial_multipliers(r)
    assert (z > 0).all()
    assert limits.apply_transpose(z) == pytest.approx(r, rel=1e-12, abs=1e-7)


@pytest.mark.parametrize("size", [20, 32, 64])
def test_stars_keep_their_accuracy_where_losses_are_far_below_the_table(size: int) -> None:
    """At epsilon 20 the best worst loss is 1e-9 of the largest: rows whose entries differ by that much less keep it."""
    loss = np.random.default_rng(size).integers(0, 2, (size, size)).astype(float)
    cone, even = Cone(np.zeros(size, np.int64), np.full(size - 1, 20.0)), np.full(size, 1 / size)
    away = (np.arange(size)[:, None] - np.arange(size)).astype(float) ** 2
    part = column_generation.Component(loss, even, away, worst=True, cone=cone)
    P, low = column_generation._among_outputs(part, np.arange(size), np.inf)
    assert 0 < low <= (loss * P).sum(axis=0).max() <= low * (1 + windows_interior.STAR_GOOD)
    assert (P.max(axis=1) <= np.exp(20.0) * P.min(axis=1) * (1 + windows_interior.STAR_GOOD)).all()


def test_pivots_survive_weights_of_very_different_sizes() -> None:
    """Two of three answers tied by a weight of 1e17 to a ratio that x keeps: what is left is not lost beside it."""
    limits = windows(Cone(np.array([0, 0, 1]), np.full(2, np.log(2.0))))
    w, x = np.array([[1e17], [1.0], [1.0], [1.0]]), np.array([[2.0], [1.0], [1.0]])
    z = w * limits.apply(x)
    solved = limits.factor(w, x, z).solve(limits.apply_transpose(z))
    assert solved == pytest.approx(x, rel=1e-12)


def asked(query: ib.RangeQuery, epsilon: str, prior: Floats | None = None, worst: bool = False) -> Problem:
    aim = "worst" if worst else "average"
    return build_problem(query, Fraction(epsilon), to_loss("absolute"), prior, frozenset(), aim)  # type: ignore[arg-type]


CASES = [
    asked(ib.mean(10, 0, 4), "0.5"),
    asked(ib.mean(10, 0, 4), "0.2", worst=True),
    asked(ib.mean(10, 0, 4), "0.2", prior=np.exp(-0.2 * np.arange(41))),
    asked(ib.interval(0, 40, 3, 40, holes=[(13, 15)]), "0.3"),
    asked(ib.interval(0, 40, 3, 40, holes=[(13, 15)]), "0.3", worst=True),
    asked(ib.count(30), "0.7", worst=True),
    asked(ib.extreme(0, 40), "0.7"),
    asked(ib.extreme(0, 40), "0.2", prior=np.exp(-0.2 * np.arange(41)), worst=True),
]


@pytest.mark.parametrize("problem", CASES)
def test_interior_points_meet_the_optimum_of_rays(problem: Problem) -> None:
    best = column_generation.solve(problem)
    (part, _), *others = column_generation._parts(problem)
    assert not others
    everything = np.arange(len(part.loss))
    found = list(windows_interior.points(part.loss, part.prior, part.worst, part.cone, part.is_mirrored, everything))
    P, v, weights = found[-1].matrix, found[-1].v, found[-1].weights
    assert np.abs(P.sum(axis=0) - 1).max() < 1e-8
    assert problem.value(P / P.sum(axis=0)) == pytest.approx(problem.value(best.matrix), rel=1e-7)
    assert column_generation._bound(part, v, weights) == pytest.approx(best.bound, rel=1e-7)


@pytest.mark.long
@pytest.mark.parametrize("worst", [False, True])
def test_a_design_that_is_slow_to_prove_is_closed_by_an_interior_point(
    worst: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = asked(ib.mean(24, 0, 4), "0.17", prior=np.exp(-10 * np.arange(97) / 97), worst=worst)
    patient = column_generation.solve(problem)
    points, tried = windows_interior.points, Counter[str]()

    def counted(*given: Any) -> Iterator[windows_interior.WindowSolution]:
        tried["interior"] += 1
        return points(*given)

    monkeypatch.setattr(windows_interior, "points", counted)
    monkeypatch.setattr(column_generation, "STAIRS_SHARE", 0.0)
    monkeypatch.setattr(column_generation, "RAYS_SHARE", 0.0)
    monkeypatch.setattr(column_generation, "MATCHED", 0)
    hasty = column_generation.solve(problem)
    assert tried
    assert problem.value(hasty.matrix) == pytest.approx(problem.value(patient.matrix), rel=1e-7)
    assert hasty.bound == pytest.approx(patient.bound, rel=1e-7)


def test_no_interior_point_where_squares_of_ratios_overflow() -> None:
    size = 2 * windows_interior.FEWEST
    steep = Cone(np.maximum(np.arange(size) - 2, 0), np.full(size - 1, 400.0))
    assert not windows_interior.is_applicable(steep)
    assert windows_interior.is_applicable(replace(steep, step=np.full(size - 1, 2.0)))


def test_a_deadline_ends_the_steps() -> None:
    (part, _), *_ = column_generation._parts(CASES[0])
    found = list(
        windows_interior.points(
            part.loss, part.prior, False, part.cone, part.is_mirrored, np.arange(len(part.loss)), -np.inf
        )
    )
    assert len(found) == 1


@pytest.mark.parametrize("aim", ["average", "worst"])
def test_a_loss_that_a_constant_avoids_is_zero(aim: Any) -> None:
    best = ib.optimal(ib.mean(24, 0, 4), "0.1", loss=ib.threshold_loss("10/3"), aim=aim).optimality
    assert best is not None
    assert best.value == best.bound == 0
