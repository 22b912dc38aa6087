"""Designs with a delta on paths: against the whole linear program, the pure optimum, and the exact check."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array

import inbounds as ib
from inbounds.design.delta_path import prove_bound, solve_path
from raising import rejects


def whole_program(cost, epsilon, delta):
    """The same program written out: a variable for each cell, and one for each excess."""
    outputs, n = cost.shape
    pairs = [(j, k) for j in range(n) for k in (j - 1, j + 1) if 0 <= k < n]
    cells, ratio = outputs * n, np.exp(epsilon)
    rows, columns, values, most = [], [], [], []
    for q, (j, k) in enumerate(pairs):
        for i in range(outputs):
            rows += [len(most)] * 3
            columns += [i * n + j, i * n + k, cells + q * outputs + i]
            values += [1.0, -ratio, -1.0]
            most.append(0.0)
        rows += [len(most)] * outputs
        columns += range(cells + q * outputs, cells + (q + 1) * outputs)
        values += [1.0] * outputs
        most.append(delta)
    size = cells + len(pairs) * outputs
    limits = csr_array((values, (rows, columns)), shape=(len(most), size))
    sums = csr_array((np.ones(cells), (np.tile(np.arange(n), outputs), np.arange(cells))), shape=(n, size))
    options = {"primal_feasibility_tolerance": 1e-10}
    objective = np.append(cost.ravel(), np.zeros(size - cells))
    return linprog(objective, limits, most, sums, np.ones(n), method="highs", options=options).fun


@pytest.mark.parametrize(("n", "epsilon", "delta"), [(6, 0.5, 0.05), (8, 1.0, 0.01), (9, 0.2, 0.2), (7, 2.0, 1e-4)])
def test_rays_find_the_optimum_of_the_whole_program_and_prove_it(n, epsilon, delta, subtests):
    rng, at = np.random.default_rng(n), np.arange(n)
    prior = rng.random(n)
    losses = {"absolute": abs(at[:, None] - at), "squared": (at[:, None] - at) ** 2, "random": rng.random((n, n))}
    for name, loss in losses.items():
        cost = loss * prior / prior.sum()
        found, bound = solve_path(cost, Fraction(str(epsilon)), Fraction(str(delta)), 30)
        exact = whole_program(cost, epsilon, delta)
        with subtests.test(name):
            assert bound <= exact + 1e-9
            assert (cost * found).sum() == pytest.approx(exact, rel=1e-7, abs=1e-9)
            assert bound == pytest.approx(exact, rel=1e-7, abs=1e-9)


def test_any_duals_prove_a_bound_below_the_optimum():
    rng, n = np.random.default_rng(2), 6
    at = np.arange(n)
    cost = abs(at[:, None] - at) / n
    exact = whole_program(cost, 0.5, 0.05)
    for _ in range(20):
        duals = rng.normal(size=n), rng.random(n - 1), rng.random(n - 1)
        assert prove_bound(cost, duals, Fraction(1, 2), Fraction(1, 20)) <= exact + 1e-12


def test_a_design_with_a_delta_is_certified_and_hardly_better_than_the_pure_one():
    query = ib.count(12)
    pure, made = ib.optimal(query, "1/2"), ib.optimal(query, "1/2", delta="1e-6")
    assert (made.delta, made.epsilon) == (Fraction(1, 10**6), Fraction(1, 2))
    assert made.optimality.gap <= 1e-9 * made.optimality.value
    gain = 1 - made.optimality.value / pure.optimality.value
    assert 0 < gain < 4e-5
    much = ib.optimal(query, "1/2", delta="1/20")
    assert much.optimality.value < 0.8 * pure.optimality.value
    assert ib.audit(much.matrix, query).delta("1/2") <= 1 / 20 + 1e-12
    skewed = ib.optimal(query, "1/2", "squared", prior=np.arange(1, 14), delta="1/100")
    assert skewed.optimality.gap <= 1e-9 * skewed.optimality.value


@pytest.mark.parametrize(
    "asked",
    [
        {"query": ib.extreme(0, 4)},
        {"query": ib.total(3, 0, 2)},
        {"query": ib.ordinal(0, 4)},
        {"query": ib.quantile(0.5, 0, 10, size=9)},
        {"properties": ["fair"]},
        {"aim": "worst"},
        {"then": ["squared"]},
        {"delta": 1},
    ],
)
def test_a_delta_is_refused_where_there_is_no_such_design(asked):
    with rejects(ValueError, "delta"):
        ib.optimal(**{"query": ib.count(4), "epsilon": 1, "delta": "1/100", **asked})
