"""The ways to the optimum on a graph: each by itself, where the route would take another."""

import time
from fractions import Fraction

import numpy as np
import pytest

import inbounds as ib
from graphs.cases import random_graph, random_tree
from graphs.test_graph_optimal import full_program
from inbounds.design.goal import build_problem
from inbounds.design.graphs import graph_interior, graph_route
from inbounds.design.graphs.factors import BandFactors, EdgePairs, TreeFactors
from inbounds.design.graphs.graph_columns import GraphComponent, generate
from inbounds.design.graphs.network import FAR, find_components
from inbounds.design.problem import EdgeArrays
from inbounds.losses import to_loss


def edges_of(query):
    tails, heads, lengths = zip(*query.edges, strict=True)
    return EdgeArrays(np.array(tails), np.array(heads), np.array([*map(float, lengths)]))


def part_of(query, epsilon, loss, prior, *, worst=False):
    ((_, network),) = find_components(edges_of(query), epsilon, len(query.answers))
    return GraphComponent(loss, prior, worst, network)


def systems(rng, network, count):
    """Random systems with the graph's pattern: B' diag(w) B for random w."""
    pairs, n = EdgePairs.among(network), network.size
    w = rng.uniform(0.1, 2, (count, len(network.tails)))
    A = np.zeros((count, n, n))
    for k, (t, h, e) in enumerate(zip(network.tails, network.heads, network.ratios, strict=True)):
        row = np.zeros(n)
        row[h], row[t] = e, -1
        A += w[:, k, None, None] * np.outer(row, row)
    diagonal = np.array([np.diag(a) for a in A])
    return A, pairs, diagonal, A[:, pairs.first, pairs.second]


@pytest.mark.parametrize("seed", range(4))
def test_factors_solve_every_system_and_sum_up_their_inverses(seed):
    rng = np.random.default_rng(seed)
    query = [random_tree(rng, 9), ib.grid(3, 4, metric="manhattan"), random_graph(rng, 8), ib.grid(2, 5)][seed]
    ((_, network),) = find_components(edges_of(query), 0.8, len(query.answers))
    A, pairs, diagonal, beside = systems(rng, network, 5)
    right, scale = rng.normal(size=diagonal.shape), rng.uniform(0.5, 2, diagonal.shape)
    expected = np.array([np.linalg.solve(a, b) for a, b in zip(A, right, strict=True)])
    inverses = sum(np.linalg.inv(a) * np.outer(s, s) for a, s in zip(A, scale, strict=True))
    for kind in (TreeFactors, BandFactors) if network.is_tree else (BandFactors,):
        factors = kind.from_pairs(pairs, diagonal, beside, np.inf)
        assert factors.solve(right) == pytest.approx(expected, rel=1e-8, abs=1e-10)
        assert factors.inverses([scale]) == pytest.approx(inverses, rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0])
def test_an_interior_point_and_a_mix_of_rows_find_the_same(epsilon):
    rng = np.random.default_rng(5)
    for query in (ib.grid(4, 4, metric="manhattan"), random_tree(rng, 14), ib.grid(3, 3)):
        n = len(query.answers)
        loss, prior = query.distances(), rng.dirichlet(np.ones(n))
        part = part_of(query, epsilon, loss, prior)
        found = [solve(part, time.monotonic() + 20) for solve in (graph_interior.solve, generate)]
        (first, low), (second, lower) = ((part.value(P), bound) for P, bound in found)
        assert first == pytest.approx(second, rel=1e-7)
        assert low <= second + 1e-12
        assert lower <= first + 1e-12
        assert first - low <= 1e-7 * first


def test_the_remap_of_a_large_graph_is_private_and_its_bound_holds(monkeypatch):
    query = ib.grid(5, 5, metric="manhattan")
    prior = np.random.default_rng(1).dirichlet(np.ones(25))
    loss = query.distances()
    true = full_program(query, 1.0, loss, prior)
    monkeypatch.setattr(graph_route, "LARGE", 20)
    monkeypatch.setattr(graph_route, "QUICK", 10)
    monkeypatch.setattr("inbounds.design.graphs.graph_remap.TILES", (7,))
    problem = build_problem(query, Fraction(1), to_loss("distance"), prior, frozenset(), "average")
    made = graph_route.solve(problem)
    assert made.route == "metric geometric remap"
    value = problem.value(made.matrix)
    assert 0.2 * true < made.bound <= true <= value + 1e-9
    assert ib.certify(made.matrix, query, 1).epsilon == 1
    geometric = ib.catalog.metric_geometric(query, 1)
    assert value == pytest.approx(geometric.bayes_loss("distance", prior), rel=1e-9)


def test_a_search_that_is_stopped_returns_a_mechanism_and_a_bound():
    query = ib.grid(7, 7, metric="manhattan")
    made = ib.optimal(query, 1, "distance", max_seconds=1e-3)
    done = ib.optimal(query, 1, "distance")
    assert made.optimality.bound <= done.optimality.value + 1e-9
    assert made.optimality.value >= done.optimality.bound - 1e-9


def test_no_bound_relies_on_long_edges_or_on_the_way_back_of_one_way_edges():
    query = ib.graph(["a", "b", "c"], [("a", "b", 100)], one_way=[("b", "c")])
    ((_, network),) = find_components(edges_of(query), 1.0, 3)
    real = {(t, h) for t, h, ok in zip(network.tails.tolist(), network.heads.tolist(), network.real, strict=True) if ok}
    assert real == {(1, 2)}
    assert network.lengths.max() == FAR
    loss = 1 - np.eye(3)
    found = ib.optimal(query, 1, loss).optimality
    without = ib.graph(["a", "b", "c"], one_way=[("b", "c")])  # a ratio of e^100 asks for nothing
    assert found.value == pytest.approx(full_program(without, 1.0, loss, np.full(3, 1 / 3)), abs=1e-9)
    assert found.gap < 1e-9
