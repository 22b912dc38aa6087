"""Named mechanisms on graphs: their formulas once more, and what is known of them."""

import math

import numpy as np
import pytest

import inbounds as ib
from graphs.cases import random_graph
from inbounds.design.closed.metric import geometric_matrix
from raising import rejects


def test_on_a_manhattan_map_the_metric_geometric_is_a_truncated_geometric_each_way():
    query = ib.grid(4, 3, metric="manhattan")
    one = [ib.catalog.truncated_geometric(ib.count(size - 1), "0.8").matrix for size in (4, 3)]
    assert ib.catalog.metric_geometric(query, "0.8").matrix == pytest.approx(np.kron(*one), rel=1e-9, abs=1e-15)


def test_the_metric_geometric_uses_up_every_edge_where_its_weights_are_positive():
    query = ib.tree(
        {"b": ("a", "0.5"), "c": ("b", "1.2"), "d": ("c", "0.3"), "e": ("c", "2"), "f": ("e", 1), "g": ("f", 2)}
    )
    mechanism, far = ib.catalog.metric_geometric(query, 1), query.distances()
    w = np.linalg.solve(np.exp(-far), np.ones(7))
    assert w.min() > 0
    assert mechanism.matrix == pytest.approx(w[:, None] * np.exp(-far), rel=1e-9)
    for tail, head, length in query.edges:
        ratio = mechanism.matrix[:, tail] / mechanism.matrix[:, head]
        assert max(ratio.max(), 1 / ratio.min()) == pytest.approx(math.exp(length), rel=1e-9)


def test_where_weights_would_be_negative_the_metric_geometric_is_normalized_at_the_least_rate():
    """A star of eight arms, whose centre would get a negative weight: c is the largest private one."""
    query = ib.graph(["m", *"abcdefgh"], [("m", arm) for arm in "abcdefgh"])
    far = 1.5 * query.distances()
    assert np.linalg.solve(np.exp(-far), np.ones(9)).min() < 0
    mechanism = ib.catalog.metric_geometric(query, "1.5")
    assert mechanism.tight_epsilon() == pytest.approx(1.5, rel=1e-6)
    tails, heads, lengths = zip(*query.edges, strict=True)
    P = geometric_matrix(far, np.array(tails), np.array(heads), 1.5 * np.array([*map(float, lengths)]))
    assert mechanism.matrix == pytest.approx(P, rel=1e-9)
    log = np.log(P)
    c = (log[1, 1] - log[2, 1]) / 3
    assert 0.5 <= c <= 1


def test_planar_laplace_is_noise_on_the_plane_moved_to_the_nearest_cell():
    rows, columns, rate, reach = 4, 3, 0.9, 60
    P = np.zeros((rows * columns, rows * columns))
    a = np.arange(-reach, reach + 1)
    noise = np.exp(-rate * np.hypot(a[:, None], a))
    noise /= noise.sum()
    for r in range(rows):
        for c in range(columns):
            i = np.clip(r + a, 0, rows - 1)[:, None] * columns + np.clip(c + a, 0, columns - 1)
            np.add.at(P[:, r * columns + c], i.ravel(), noise.ravel())
    for query in (ib.grid(4, 3), ib.grid(4, 3, metric="manhattan")):
        assert ib.catalog.planar_laplace(query, "0.9").matrix == pytest.approx(P, rel=1e-9, abs=1e-13)
    half = ib.catalog.planar_laplace(ib.grid(4, 3, step="0.5"), "1.8").matrix
    assert half == pytest.approx(P, rel=1e-9, abs=1e-13)


def test_a_map_of_one_row_is_served():
    for query in (ib.grid(1, 4), ib.grid(4, 1)):
        assert ib.catalog.planar_laplace(query, 1).matrix.shape == (4, 4)
        assert ib.catalog.metric_geometric(query, 1).matrix == pytest.approx(
            ib.catalog.truncated_geometric(ib.count(3), 1).matrix, rel=1e-9
        )


@pytest.mark.parametrize("seed", range(4))
def test_exponential_and_randomized_response_serve_any_graph(seed):
    rng = np.random.default_rng(seed)
    query = random_graph(rng, 6, one_way=seed)
    far = query.distances(directed=False)
    P = np.exp(-0.5 * far)
    assert ib.catalog.exponential(query, 1).matrix == pytest.approx(P / P.sum(axis=0), rel=1e-9)
    shortest = float(min(edge.length for edge in query.edges))
    response = ib.catalog.randomized_response(query, 1)
    assert response.truth_probability() == pytest.approx(math.exp(shortest) / (5 + math.exp(shortest)), rel=1e-9)
    for name in ("metric_geometric", "exponential", "randomized_response", "uniform"):
        assert getattr(ib.catalog, name)(query, 1).tight_epsilon() <= 1


def test_what_needs_a_map_or_a_graph_says_so():
    with rejects(ValueError, "metric_geometric", about="answers"):
        ib.catalog.metric_geometric(ib.count(3), 1)
    with rejects(ValueError, "planar_laplace", about="square"):
        ib.catalog.planar_laplace(ib.tree({"b": "a"}), 1)
    with rejects(ValueError, "planar_laplace", about="square"):
        ib.catalog.planar_laplace(ib.graph([(0, 0), (0, 1), (1, 0)], [((0, 0), (0, 1)), ((0, 0), (1, 0))]), 1)
    with rejects(ValueError, "snapped_laplace", about="numeric"):
        ib.catalog.snapped_laplace(ib.grid(2, 2), 1)


def test_compare_ranks_what_serves_a_map():
    found = ib.compare(ib.grid(3, 3), 1)
    assert {row.name for row in found.rows} >= {"variant_1", "metric_geometric", "planar_laplace", "exponential"}
    lost = {row.name: row.values["distance"] for row in found.rows}
    assert lost["optimal"] == pytest.approx(min(lost.values()), rel=1e-9)
    assert lost["optimal"] < 0.95 * lost["planar_laplace"]
