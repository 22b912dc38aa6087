"""Symmetries, long edges left out, and sums of inverses: the same optimum as without, and bounds that hold."""

from fractions import Fraction

import numpy as np
import pytest

import inbounds as ib
from graphs.cases import random_tree
from graphs.test_graph_optimal import full_program
from inbounds.design.goal import build_problem
from inbounds.design.graphs import factors, graph_interior, sparsify, symmetry
from inbounds.design.graphs.graph_route import _parts

LATER = 1e12


def part_of(query, epsilon, loss="distance", prior=None):
    table = ib.losses.parse_loss(loss)
    problem = build_problem(query, Fraction(epsilon), table, prior, frozenset(), "average")
    return next(_parts(problem))[1]


def solved(part, way, *more):
    with np.errstate(all="ignore"):
        return way(part, LATER, *more)


@pytest.mark.parametrize(
    ("query", "prior", "size", "orbits"),
    [
        (ib.grid(4, 4), None, 8, 3),
        (ib.grid(5, 5, metric="manhattan"), None, 8, 6),
        (ib.grid(3, 4), None, 4, 4),
        (ib.grid(1, 5), None, 2, 3),
        (ib.grid(4, 4), np.arange(16) + 1.0, 1, 16),
        (ib.tree({"b": "a", "c": "b", "d": "c", "e": "b"}), None, 1, 5),
    ],
)
def test_symmetries_of_maps_are_found(query, prior, size, orbits):
    part = part_of(query, 1, prior=prior)
    found = symmetry.find_symmetry(part.loss, part.prior, part.network)
    assert len(found.group) == size
    assert len(found.outputs) == orbits == len(found.sizes)
    for g in found.group:
        assert np.array_equal(np.sort(g), np.arange(part.network.size))
        assert part.loss[np.ix_(g, g)] == pytest.approx(part.loss)


def test_what_is_folded_is_a_transpose_of_what_is_unfolded():
    part, rng = part_of(ib.grid(4, 3), 1), np.random.default_rng(0)
    found = symmetry.find_symmetry(part.loss, part.prior, part.network)
    x, v = rng.normal(size=12), rng.normal(size=len(found.outputs))
    assert found.fold(x) @ v == pytest.approx(x @ found.unfold(v))


@pytest.mark.parametrize("metric", ["manhattan", "euclidean"])
@pytest.mark.parametrize("epsilon", ["3/10", "1", "2"])
def test_the_optimum_by_symmetry_is_that_of_the_full_program(metric, epsilon):
    query = ib.grid(4, 4, metric=metric)
    part = part_of(query, epsilon)
    P, low = solved(part, graph_interior.solve)
    true = full_program(query, float(Fraction(epsilon)), ib.losses.distance.table(query), np.full(16, 1 / 16))
    assert part.value(P) == pytest.approx(true, abs=1e-7)
    assert true - 1e-7 < low <= true + 1e-9
    assert P.sum(axis=0) == pytest.approx(np.ones(16))


def test_a_prior_without_symmetry_has_the_same_way():
    query, prior = ib.grid(4, 4), np.random.default_rng(4).dirichlet(np.ones(16))
    part = part_of(query, 1, prior=prior)
    P, low = solved(part, graph_interior.solve)
    true = full_program(query, 1.0, ib.losses.distance.table(query), prior)
    assert part.value(P) == pytest.approx(true, abs=1e-7)
    assert true - 1e-7 < low <= true + 1e-9


@pytest.mark.parametrize("epsilon", ["3/10", "1"])
def test_leaving_out_long_edges_gives_a_private_matrix_and_a_bound(monkeypatch, epsilon):
    monkeypatch.setattr(sparsify, "KEPT", (8.0, 14.0))
    query = ib.grid(5, 5)
    part = part_of(query, epsilon)
    P, low = solved(part, sparsify.solve)
    true = full_program(query, float(Fraction(epsilon)), ib.losses.distance.table(query), np.full(25, 1 / 25))
    network = part.network
    assert (P[:, network.tails] <= network.ratios * P[:, network.heads] * (1 + 1e-9)).all()
    assert P.sum(axis=0) == pytest.approx(np.ones(25))
    assert low <= true + 1e-9
    assert true - 1e-9 <= part.value(P) <= 1.1 * true


def test_closing_leaves_a_private_matrix_as_it_is():
    part = part_of(ib.grid(4, 4), 1)
    P, _ = solved(part, graph_interior.solve)
    assert sparsify.close_ratios(P, part.network) == pytest.approx(P, abs=1e-6)


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        (random_tree(np.random.default_rng(2), 17), factors.TreeFactors),
        (ib.tree({f"n{j}": f"n{j - 1}" for j in range(1, 12)}), factors.TreeFactors),
        (ib.grid(4, 5, metric="manhattan"), factors.BandFactors),
        (ib.grid(8, 8), factors.DenseFactors),
    ],
)
def test_factors_solve_and_sum_up_inverses_as_full_matrices_do(query, kind):
    network, rng = part_of(query, 1).network, np.random.default_rng(1)
    pairs, n = factors.EdgePairs.among(network), network.size
    beside = -rng.uniform(0, 1, (3, len(pairs.first)))
    full = np.zeros((3, n, n))
    full[:, pairs.first, pairs.second] = full[:, pairs.second, pairs.first] = beside
    diagonal = 1 + np.abs(full).sum(axis=2)
    full[:, np.arange(n), np.arange(n)] = diagonal
    found = factors.make_factors(pairs, diagonal, beside)
    assert isinstance(found, kind)
    right, scale = rng.normal(size=(3, n)), rng.uniform(0.5, 2, (3, n))
    assert found.solve(right) == pytest.approx(np.linalg.solve(full, right[:, :, None])[:, :, 0])
    inverse = np.linalg.inv(full)
    assert found.inverses([scale]) == pytest.approx(np.einsum("ijk,ij,ik->jk", inverse, scale, scale))
