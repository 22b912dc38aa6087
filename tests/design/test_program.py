"""The scaled, folded program against the papers' linear program written out cell by cell."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import lil_array

from inbounds.design.bounds.duality import Duals, lower_bound
from inbounds.design.problem import Problem
from inbounds.design.routes import linear_program, row_program
from inbounds.design.run import run_routes
from inbounds.properties import NAMES, MatrixLayout, measure_violation
from raising import rejects

SUBSETS = [frozenset(c) for size in range(8) for c in combinations(NAMES, size)]
VARIANT_2 = frozenset({"row_monotone", "column_monotone", "symmetric", "fair"})
TOTAL = 2**62
UNITS = 2**22  # 2^-40 of the total


def papers_program(problem: Problem) -> float:
    """The optimum as 000 and 003 write it: every cell a variable, every constraint a row, nothing scaled."""
    m, n = problem.shape
    at_most, equal = [], []

    def cell(i, j):
        return i * n + j

    for i in range(m):
        for a, b, d in problem.cliques:
            for j in range(a, b):
                for k in range(a, b):
                    if j != k:
                        at_most.append({cell(i, j): 1.0, cell(i, k): -np.exp(problem.epsilon * d)})
    home = [int(h) for h in problem.home]
    for name in problem.properties:
        for j in range(n):
            truth = cell(home[j], j)
            if name == "row_honest":
                at_most += [{cell(home[j], k): 1.0, truth: -1.0} for k in range(n) if k != j]
            if name == "column_honest":
                at_most += [{cell(i, j): 1.0, truth: -1.0} for i in range(m) if i != home[j]]
            if name == "column_monotone":
                at_most += [{cell(i, j): 1.0, cell(i + 1, j): -1.0} for i in range(home[j])]
                at_most += [{cell(i + 1, j): 1.0, cell(i, j): -1.0} for i in range(home[j], m - 1)]
            if name == "fair" and j:
                equal.append({truth: 1.0, cell(home[0], 0): -1.0})
            if name == "symmetric":
                equal += [
                    {cell(i, j): 1.0, cell(m - 1 - i, n - 1 - j): -1.0}
                    for i in range(m) if (i, j) < (m - 1 - i, n - 1 - j)
                ]  # fmt: skip
        if name == "row_monotone":
            for i in range(m):
                at_most += [{cell(i, j): 1.0, cell(i, j + 1): -1.0} for j in range(problem.below[i] - 1)]
                at_most += [{cell(i, j + 1): 1.0, cell(i, j): -1.0} for j in range(problem.above[i], n - 1)]
        if name.startswith("column_ratio"):
            r = eval(name[13:-1])
            for i in range(m - 1):
                for j in range(n):
                    at_most.append({cell(i, j): 1.0, cell(i + 1, j): -r})
                    at_most.append({cell(i + 1, j): 1.0, cell(i, j): -r})
    low = np.zeros(m * n + 1)
    if "weakly_honest" in problem.properties:
        low[[cell(home[j], j) for j in range(n)]] = 1 / m
    cost = np.append((problem.loss * problem.prior).ravel(), 0.0)
    low[-1] = -np.inf
    if problem.worst:
        cost = np.append(np.zeros(m * n), 1.0)
        at_most += [{**{cell(i, j): problem.loss[i, j] for i in range(m)}, m * n: -1.0} for j in range(n)]
    else:
        equal.append({m * n: 1.0})
    rhs = np.zeros(len(equal) + n)
    for j in range(n):
        equal.append({cell(i, j): 1.0 for i in range(m)})
    rhs[len(equal) - n :] = 1.0

    def rows(dicts):
        A = lil_array((max(len(dicts), 1), m * n + 1))
        for r, entries in enumerate(dicts):
            for c, value in entries.items():
                A[r, c] = value
        return A.tocsr()

    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    A = rows(at_most)
    bounds = np.column_stack((low, np.full(m * n + 1, np.inf)))
    answer = linprog(cost, A, np.zeros(A.shape[0]), rows(equal), rhs, bounds, "highs", options=tight)
    assert answer.status == 0
    return float(answer.fun)


def loss_of(problem, P):
    per_answer = (problem.loss * P).sum(axis=0)
    return per_answer.max() if problem.worst else float(per_answer @ problem.prior)


def cliques(n, reach):
    return tuple((j, j + reach + 1, 1.0) for j in range(n - reach)) if reach < n else ((0, n, 1.0),)


def square(n, epsilon, loss, reach=1, **more):
    i, j = np.indices((n, n))
    table = {"absolute": abs(i - j), "squared": (i - j) ** 2, "zero-one": i != j}[loss].astype(float)
    k = np.arange(n)
    more.setdefault("prior", np.full(n, 1 / n))
    return Problem(epsilon, cliques(n, reach), table, home=k, below=k + 1, above=k, **more)


def random_request(rng):
    """Any neighbourhood, coarser or finer cells, losses with ties, priors with zeros, any properties."""
    n = int(rng.integers(2, 13))
    edges = np.arange(n)
    kind = rng.integers(4)
    if kind == 0:  # coarser cells: merge neighbouring answers
        cut = np.sort(rng.choice(np.arange(1, n), int(rng.integers(0, n)), replace=False))
        home = np.searchsorted(cut, np.arange(n), side="right")
        m = int(home[-1]) + 1
    elif kind == 1:  # finer or wider cells: some without an answer
        m = n + int(rng.integers(1, 4))
        home = np.sort(rng.choice(m, n, replace=False))
    else:
        m, home = n, edges
    below = np.searchsorted(home, np.arange(m), side="right")
    above = np.searchsorted(home, np.arange(m), side="left")
    values = np.array([home[j] for j in range(n)], dtype=float)
    apart = np.abs(np.arange(m)[:, None] - values)
    loss = [apart, apart**2, (apart > 0.5) * 1.0, (apart > 1.5) * 1.0, rng.integers(0, 4, (m, n)) * 1.0,
            np.sqrt(apart)][rng.integers(6)]  # fmt: skip
    prior = [np.ones(n), rng.random(n), rng.integers(0, 3, n) * 1.0][rng.integers(3)]
    prior = np.ones(n) / n if prior.sum() == 0 else prior / prior.sum()
    epsilon = float(rng.choice([0.01, 0.1, 0.5, 1.0, 2.0, 5.0]))
    if rng.random() < 0.2:
        chain = tuple((j, j + 2, float(rng.choice([0.5, 1.0, 2.0]))) for j in range(n - 1))
    else:
        chain = cliques(n, int(rng.choice([1, 1, 2, 3, 4, 99])))
    asked = {name for name in NAMES if rng.random() < 0.35}
    if not MatrixLayout(m, home, below, above).mirrors or any((n - b, n - a, d) not in chain for a, b, d in chain):
        asked.discard("symmetric")
    if rng.random() < 0.1:
        asked.add("column_ratio(3/2)")
    return Problem(epsilon, chain, loss, prior, home, below, above, bool(rng.random() < 0.4), frozenset(asked))


def check(problem, found):
    """Private and with the properties, up to rounding; the bound below the loss by less than 1e-7 of it."""
    P, value = found.matrix, loss_of(problem, found.matrix)
    assert np.allclose(P.sum(axis=0), 1, rtol=0, atol=1e-14)
    for a, b, d in problem.cliques:
        block = P[:, a:b]
        assert (block.max(axis=1) <= np.exp(problem.epsilon * d) * block.min(axis=1) * (1 + 1e-9)).all()
    shape = MatrixLayout(problem.shape[0], problem.home, problem.below, problem.above)
    weights = np.round(P * TOTAL).astype(np.int64)
    for name in problem.properties:
        assert measure_violation(name, weights, shape, TOTAL) <= UNITS, name
    assert found.bound <= value + 1e-12
    assert value - found.bound <= 1e-7 * max(abs(value), 1e-3)
    return value


@pytest.mark.parametrize("seed", [*range(50), *(pytest.param(k, marks=pytest.mark.slow) for k in range(50, 300))])
def test_random_requests_equal_the_papers_linear_program(seed):
    problem = random_request(np.random.default_rng(seed))
    found = linear_program.solve(problem)
    value, best = check(problem, found), papers_program(problem)
    assert value == pytest.approx(best, rel=1e-7, abs=1e-8)
    assert found.bound <= best + 1e-8


@pytest.mark.parametrize("seed", range(30))
def test_row_by_row_and_the_full_program_agree_on_chains(seed):
    rng = np.random.default_rng(1000 + seed)
    n = int(rng.integers(2, 16))
    prior = rng.random(n) if rng.random() < 0.5 else np.ones(n)
    asked = frozenset(name for name in NAMES if name != "fair" and rng.random() < 0.35)
    problem = square(
        n, float(rng.choice([0.1, 0.5, 2.0])), str(rng.choice(["absolute", "squared", "zero-one"])),
        prior=prior / prior.sum(), worst=bool(rng.random() < 0.3), properties=asked,
    )  # fmt: skip
    assert row_program.fits(problem)
    one, other = row_program.solve(problem), linear_program.solve_full_program(problem, deadline=np.inf)
    assert check(problem, one) == pytest.approx(check(problem, other), rel=1e-9, abs=1e-10)


QUICK = [("absolute", 1), ("zero-one", 3)]
MORE = [*product(("absolute", "squared", "zero-one"), (1, 2, 3, 4, 99))]


@pytest.mark.long
@pytest.mark.parametrize(
    ("loss", "reach"), [*QUICK, *(pytest.param(*each, marks=pytest.mark.slow) for each in MORE if each not in QUICK)]
)
def test_every_property_set_is_solved_and_costs_no_less_than_its_subsets(loss, reach):
    value = {}
    for asked in SUBSETS:
        problem = square(6, 0.4, loss, reach, properties=asked)
        value[asked] = check(problem, linear_program.solve(problem))
    for asked in SUBSETS:
        for name in asked:
            assert value[asked] >= value[asked - {name}] * (1 - 1e-9)


@pytest.mark.parametrize(
    ("reach", "loss", "best"),
    [
        (1, "absolute", 1.016907118), (1, "squared", 1.960174205), (1, "zero-one", 0.660881325),
        (99, "absolute", 1.373370414), (99, "squared", 3.178143888), (99, "zero-one", 0.708124867),
    ],
)  # fmt: skip
def test_variant_2_has_the_reference_losses(reach, loss, best):
    problem = square(5, 0.5, loss, reach, properties=VARIANT_2)
    assert loss_of(problem, linear_program.solve(problem).matrix) == pytest.approx(best, abs=5e-10)


@pytest.mark.parametrize(
    ("reach", "loss", "best"),
    [
        (1, "absolute", 1.008977142), (1, "squared", 2.348642862), (1, "zero-one", 0.660881325),
        (99, "absolute", 1.579319550), (99, "squared", 4.0), (99, "zero-one", 0.708124867),
    ],
)  # fmt: skip
def test_the_worst_answer_has_the_reference_losses(reach, loss, best):
    problem = square(5, 0.5, loss, reach, worst=True)
    assert loss_of(problem, linear_program.solve(problem).matrix) == pytest.approx(best, abs=5e-10)


def test_papers_tables_are_reproduced():
    """000: Table 2 (five values, all neighbours, epsilon 1) and Table 4 (count 0..5, epsilon 0.5), total losses."""
    table_2 = square(5, 1.0, "absolute", 99, properties=VARIANT_2)
    table_4 = square(6, 0.5, "absolute", 1, properties=VARIANT_2)
    assert 5 * loss_of(table_2, linear_program.solve(table_2).matrix) == pytest.approx(5.759621, abs=5e-7)
    assert 6 * loss_of(table_4, linear_program.solve(table_4).matrix) == pytest.approx(6.828620, abs=5e-7)


@pytest.mark.parametrize("asked", [{"column_monotone"}, {"fair", "row_honest"}, {"row_monotone", "weakly_honest"}])
def test_long_chains_are_private_in_the_farthest_tail(asked):
    problem = square(60, 1.0, "squared", properties=frozenset(asked))
    check(problem, run_routes(problem, np.inf))


def test_the_same_request_gives_the_same_matrix():
    problem = square(9, 0.3, "absolute", 2, worst=True, properties=frozenset({"column_honest"}))
    assert np.array_equal(linear_program.solve(problem).matrix, linear_program.solve(problem).matrix)


@pytest.mark.parametrize("reach", [1, 3, 99])
@pytest.mark.parametrize("worst", [False, True])
def test_a_symmetric_request_has_a_symmetric_answer(reach, worst):
    problem = square(8, 0.7, "absolute", reach, worst=worst, properties=frozenset({"weakly_honest"}))
    P = linear_program.solve(problem).matrix
    assert np.allclose(P, P[::-1, ::-1], rtol=0, atol=1e-14)


def test_symmetry_asked_under_a_lopsided_prior_is_kept_and_paid_for():
    prior = np.arange(1.0, 8) / 28
    free = square(7, 0.5, "absolute", prior=prior)
    bound = square(7, 0.5, "absolute", prior=prior, properties=frozenset({"symmetric"}))
    assert check(bound, linear_program.solve(bound)) > check(free, linear_program.solve(free)) + 1e-4


def test_ties_go_to_the_least_squared_error():
    """With zero loss everywhere every mechanism is optimal; the one chosen is the best for squared error."""
    problem = square(7, 0.5, "squared")
    indifferent = replace(problem, loss=np.zeros((7, 7)))
    best = loss_of(problem, linear_program.solve(problem).matrix)
    assert loss_of(problem, linear_program.solve(indifferent).matrix) == pytest.approx(best, rel=1e-9)


def test_without_time_there_is_still_a_mechanism_and_a_true_bound():
    problem = square(40, 0.1, "absolute", 3, properties=frozenset({"column_monotone"}))
    best = loss_of(problem, linear_program.solve(problem).matrix)
    hasty = run_routes(problem, -np.inf)
    value = loss_of(problem, hasty.matrix)
    assert hasty.bound <= best <= value
    assert (hasty.matrix.max(axis=1) <= np.exp(0.1 * 13) * hasty.matrix.min(axis=1) * (1 + 1e-12)).all()


def test_symmetric_neighbourhoods_are_needed_for_symmetric_mechanisms():
    problem = replace(square(3, 0.5, "absolute"), cliques=((0, 2, 1.0), (1, 3, 2.0)))
    with rejects(ValueError, "symmetric", about="mirror"):
        linear_program.solve(replace(problem, properties=frozenset({"symmetric"})))


def test_the_bound_survives_wrong_multipliers():
    """Any dual vector gives a true bound: random ones never pass the optimum."""
    rng = np.random.default_rng(7)
    problem = square(6, 0.5, "absolute", 2, properties=frozenset({"fair", "column_monotone"}))
    built = linear_program.fold_program(problem)
    best = loss_of(problem, linear_program.solve(problem).matrix)
    for _ in range(200):
        size = len(built.compared)
        duals = Duals(built.compared, rng.normal(0, 0.1, size), columns=rng.normal(0.2, 0.2, 6))
        assert lower_bound(problem, duals, built.cells) <= best
