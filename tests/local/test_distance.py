"""Distances between distributions: against brute force, each other, and a transport solver."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linprog

import inbounds as ib
from inbounds.local.distance import kantorovich, kl, total_variation, transport
from raising import rejects

weights = st.integers(2, 7).flatmap(
    lambda n: st.tuples(*[arrays(np.float64, n, elements=st.floats(0, 10, width=32)) for _ in range(3)])
)


def by_linear_program(p: np.ndarray, q: np.ndarray, cost: np.ndarray) -> float:
    """Definition: the cheapest joint distribution with marginals p and q."""
    n = len(p)
    rows = np.zeros((2 * n, n, n))
    for k in range(n):
        rows[k, k, :] = rows[n + k, :, k] = 1
    # the last marginal follows from the others; stated twice, rounding could contradict it
    kept, right = rows.reshape(2 * n, n * n)[:-1], np.concatenate([p, q])[:-1]
    solved = linprog(cost.ravel(), A_eq=kept, b_eq=right, method="highs")
    return float(solved.fun)


@given(weights)
def test_kantorovich_is_the_cheapest_way_to_move_the_mass(triple):
    p, q, gaps = triple
    assume(p.sum() > 0.1 and q.sum() > 0.1)
    places = np.cumsum(gaps + 0.1)
    p, q = p / p.sum(), q / q.sum()
    cost = np.abs(places[:, None] - places)
    assert math.isclose(kantorovich(p, q, at=places), by_linear_program(p, q, cost), rel_tol=1e-6, abs_tol=1e-6)


@given(weights)
def test_distances_are_metrics_on_three_distributions(triple):
    assume(all(w.sum() > 0.1 for w in triple))
    for distance in (kantorovich, total_variation):
        p, q, r = triple
        assert distance(p, p) == 0
        assert math.isclose(distance(p, q), distance(q, p), abs_tol=1e-12)
        assert distance(p, r) <= distance(p, q) + distance(q, r) + 1e-9


@given(weights)
def test_total_variation_is_transport_where_every_move_costs_one_and_pinsker_holds(triple):
    p, q, _ = triple
    assume(p.sum() > 0.1 and q.sum() > 0.1)
    p, q = p / p.sum(), q / q.sum()
    moved = by_linear_program(p, q, 1 - np.eye(len(p)))
    assert math.isclose(total_variation(p, q), moved, abs_tol=1e-6)
    assert total_variation(p, q) <= math.sqrt(kl(p, q) / 2) + 1e-6


def test_kantorovich_counts_distance_where_total_variation_does_not():
    near, far = [0, 1, 0, 0], [0, 0, 0, 1]
    start = [1, 0, 0, 0]
    assert total_variation(start, near) == total_variation(start, far) == 1
    assert (kantorovich(start, near), kantorovich(start, far)) == (1, 3)


def test_kantorovich_takes_its_places_from_a_query():
    query = ib.mean(10, 1, 5)
    ends = np.zeros((2, 41))
    ends[0, 0] = ends[1, -1] = 1
    assert kantorovich(*ends, at=query) == 4.0
    with rejects(ValueError, "labels"):
        kantorovich([1, 0], [0, 1], at=ib.category(["a", "b"]))


def test_counts_are_scaled_to_distributions():
    assert kantorovich([10, 30], [1, 3]) == 0
    assert total_variation([2, 2], [50, 50]) == 0


def test_kl_is_infinite_only_where_the_second_lacks_mass():
    assert kl([0, 1], [1, 1]) == pytest.approx(math.log(2))
    assert kl([1, 1], [0, 1]) == math.inf
    assert kl([3, 1, 0], [3, 1, 0]) == 0


def test_transport_equals_kantorovich_on_the_line_and_takes_any_ground_distance():
    pytest.importorskip("ot")
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(30)), rng.dirichlet(np.ones(30))
    places = np.cumsum(rng.random(30) + 0.1)
    line = np.abs(places[:, None] - places)
    assert transport(p, q, line) == pytest.approx(kantorovich(p, q, at=places), rel=1e-9)
    circle = np.minimum(
        np.abs(np.subtract.outer(range(30), range(30))), 30 - np.abs(np.subtract.outer(range(30), range(30)))
    )
    assert transport(p, q, circle) == pytest.approx(by_linear_program(p, q, circle.astype(float)), rel=1e-6)
    assert transport(p, q, circle) <= kantorovich(p, q)


def test_what_is_not_a_pair_of_distributions_is_refused(golden):
    def measure(p, q, options):
        kantorovich(p, q, **options)

    golden.errors(
        "wrong_distributions",
        [
            lambda: measure([1, 2], [1, 2, 3], {}),
            lambda: measure([1, -1], [1, 1], {}),
            lambda: measure([1, 1], [0, 0], {}),
            lambda: measure([1, math.nan], [1, 1], {}),
            lambda: measure([[1, 1]], [1, 1], {}),
            lambda: measure([1, 1], [1, 1], {"at": [0, 1, 2]}),
            lambda: measure([1, 1], [1, 1], {"at": [1, 1]}),
            lambda: measure([1, 1], [1, 1], {"at": [0, math.inf]}),
        ],
    )


def test_transport_refuses_costs_that_do_not_fit():
    pytest.importorskip("ot")
    with rejects(ValueError, "cost"):
        transport([1, 1], [1, 1], [[0, 1]])
    with rejects(ValueError, "cost"):
        transport([1, 1], [1, 1], [[0, -1], [1, 0]])


def test_a_missing_library_is_named_with_its_extra(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "ot", None)
    with rejects(ImportError, "ot"):
        transport([1, 1], [1, 1], [[0, 1], [1, 0]])
