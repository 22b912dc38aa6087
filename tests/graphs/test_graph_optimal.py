"""The optimum on graphs: as good as the full linear program, never below what is possible, certified for all pairs."""

from dataclasses import replace
from fractions import Fraction

import highspy
import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_array, eye, hstack, kron, vstack

import inbounds as ib
from graphs.cases import keeps_all_pairs, random_graph, random_tree
from inbounds.design.goal import build_problem
from inbounds.design.graphs import (
    closure_pricing,
    graph_columns,
    graph_interior,
    graph_remap,
    graph_route,
    tree_pricing,
)
from inbounds.design.graphs.bound import lower_bound
from inbounds.design.graphs.factors import BandFactors, DenseFactors, EdgePairs, TimeIsUp, TreeFactors, make_factors
from inbounds.design.graphs.network import find_components
from inbounds.design.problem import EdgeArrays
from inbounds.design.run import run_routes
from inbounds.losses import to_loss
from raising import rejects

EQUAL = 1e-7
TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def full_program(query, epsilon, loss, prior, worst=False):
    """The textbook program over all cells, by HiGHS."""
    n = len(query.answers)
    tails, heads, lengths = zip(*query.edges, strict=True)
    e, k = np.exp(epsilon * np.array([*map(float, lengths)])), np.arange(len(tails))
    private = coo_array(
        (np.r_[np.ones(len(k)), -e], (np.r_[k, k], np.r_[tails, heads])), shape=(len(k), n)
    )  # x_tail - e x_head <= 0
    rows = kron(eye(n), private).tocsr()
    sums = kron(np.ones((1, n)), eye(n)).tocsr()
    if not worst:
        found = linprog(
            (loss * prior).ravel(), rows, np.zeros(rows.shape[0]), sums, np.ones(n), method="highs-ds", options=TIGHT
        )
        assert found.status == 0
        return found.fun
    losses = coo_array((loss.ravel(), (np.tile(np.arange(n), n), np.arange(n * n))), shape=(n, n * n)).tocsr()
    rows = coo_array(vstack([rows, losses]))
    column = coo_array(np.r_[np.zeros(rows.shape[0] - n), -np.ones(n)][:, None])
    found = linprog(
        np.r_[np.zeros(n * n), 1.0],
        hstack([rows, column]).tocsr(),
        np.zeros(rows.shape[0]),
        hstack([sums, coo_array((n, 1))]).tocsr(),
        np.ones(n),
        method="highs-ds",
        options=TIGHT,
    )
    assert found.status == 0
    return found.fun


def case(seed):
    """A random query, epsilon, loss and prior; maps, trees, graphs with real lengths, some with one-way edges."""
    rng = np.random.default_rng(seed)
    kind = seed % 5
    if kind == 0:
        query = ib.grid(
            int(rng.integers(2, 5)),
            int(rng.integers(2, 5)),
            metric="manhattan",
            step=repr(round(float(rng.uniform(0.3, 1.5)), 3)),
        )
    elif kind == 1:
        query = ib.grid(int(rng.integers(2, 4)), int(rng.integers(2, 4)), stretch=[1, 1.03, 1.1][seed % 3])
    elif kind == 2:
        query = random_tree(rng, int(rng.integers(2, 13)))
    else:
        query = random_graph(rng, int(rng.integers(3, 11)), more=float(rng.uniform(0, 1.5)), one_way=int(kind == 4) * 2)
    n = len(query.answers)
    both = query.distances(directed=False)
    loss = [both, both**2, 1.0 - np.eye(n), rng.uniform(0, 3, (n, n))][int(rng.integers(0, 4))]
    prior = [np.full(n, 1 / n), rng.dirichlet(np.ones(n)), rng.dirichlet(np.full(n, 0.2))][int(rng.integers(0, 3))]
    return query, Fraction(int(rng.integers(2, 31)), 10), loss, prior


def agrees(seed, worst):
    query, epsilon, loss, prior = case(seed)
    mechanism = ib.optimal(query, epsilon, loss, prior, aim="worst" if worst else "average")
    loss = loss * prior if worst else loss
    best, true = mechanism.optimality, full_program(query, float(epsilon), loss, prior, worst)
    size = max(1.0, float(loss.max()))
    assert best.value == pytest.approx(true, abs=EQUAL * size), (seed, worst)
    assert best.bound <= true + 1e-9 * size, (seed, worst)
    return best.gap / size


@pytest.mark.parametrize("seed", range(20))
def test_the_optimum_is_that_of_the_full_program(seed):
    agrees(seed, worst=seed % 4 == 3)


@pytest.mark.slow
@pytest.mark.parametrize("worst", [False, True])
def test_the_optimum_is_that_of_the_full_program_on_hundreds_of_graphs(worst):
    gaps = [agrees(seed, worst) for seed in range(20, 270)]
    assert np.mean(np.array(gaps) < 1e-6) > 0.95


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4])
def test_every_certified_optimum_keeps_all_pairs_by_shortest_paths(seed):
    query, epsilon, loss, prior = case(seed)
    assert keeps_all_pairs(ib.optimal(query, epsilon, loss, prior))


@pytest.mark.slow
def test_every_certified_optimum_keeps_all_pairs_by_shortest_paths_on_many_graphs():
    for seed in range(5, 60):
        query, epsilon, loss, prior = case(seed)
        assert keeps_all_pairs(ib.optimal(query, epsilon, loss, prior)), seed


def exact_optimum(query, epsilon, loss, prior):
    """The least loss at 40 digits: the vertex that HiGHS found, its basis solved again with mpmath."""
    from mpmath import mp, mpf

    n = len(query.answers)
    m, edges = n, query.edges
    h = highspy.Highs()
    h.setOptionValue("output_flag", False)
    columns, rows = m * n, []
    for j in range(n):
        rows.append(({i * n + j: None for i in range(m)}, 1))
    for i in range(m):
        for tail, head, length in edges:
            rows.append(({i * n + tail: -1, i * n + head: length}, 0))
    for c in range(columns):
        h.addVar(0.0, highspy.kHighsInf)
        h.changeColCost(c, float(loss[c // n, c % n] * prior[c % n]))
    with mp.workdps(60):

        def entry(value):
            if value is None:
                return mpf(1)
            if value == -1 and not isinstance(value, Fraction):
                return mpf(-1)
            e = epsilon * value
            return mp.exp(mpf(e.numerator) / e.denominator)

        exact = [({c: entry(v) for c, v in row.items()}, b) for row, b in rows]
        for row, b in exact:
            h.addRow(
                float(b),
                float(b) if b else highspy.kHighsInf,
                len(row),
                np.array([*row], np.int32),
                np.array([float(v) for v in row.values()]),
            )
        h.run()
        basis = h.getBasis()
        basic = [c for c, s in enumerate(basis.col_status) if s == highspy.HighsBasisStatus.kBasic]
        tight = [r for r, s in enumerate(basis.row_status) if s != highspy.HighsBasisStatus.kBasic]
        A = mp.matrix(len(tight), len(basic))
        for a, r in enumerate(tight):
            for b, c in enumerate(basic):
                A[a, b] = exact[r][0].get(c, mpf(0))
        right = mp.matrix([mpf(exact[r][1]) for r in tight])
        x = mp.lu_solve(A, right)
        cost = [mpf(float(loss[c // n, c % n])) * mpf(float(prior[c % n])) for c in basic]
        y = mp.lu_solve(A.T, mp.matrix(cost))
        primal = sum(q * x[b] for b, q in enumerate(cost))
        dual = sum(y[a] * exact[r][1] for a, r in enumerate(tight))
        assert abs(primal - dual) < mpf(10) ** -45
        # the vertex is optimal: x >= 0, row slacks >= 0, reduced costs >= 0 and multipliers of privacy rows >= 0
        value = {c: x[b] for b, c in enumerate(basic)}
        assert all(v > -(mpf(10) ** -40) for v in value.values())
        multiplier = {r: y[a] for a, r in enumerate(tight)}
        for row, b in exact:
            slack = sum(v * value.get(c, 0) for c, v in row.items()) - b
            assert slack > -(mpf(10) ** -40)
        for c in range(columns):
            own = mpf(float(loss[c // n, c % n])) * mpf(float(prior[c % n]))
            assert own - sum(multiplier[r] * exact[r][0].get(c, 0) for r in multiplier) > -(mpf(10) ** -40)
        assert all(q > -(mpf(10) ** -40) for r, q in multiplier.items() if r >= n)
        return primal


@pytest.mark.parametrize("seed", range(6))
def test_a_bound_is_never_above_the_optimum_at_forty_digits(seed):
    rng = np.random.default_rng(100 + seed)
    query = [random_tree(rng, 4), random_graph(rng, 4), ib.grid(2, 2)][seed % 3]
    n = len(query.answers)
    loss, prior = np.round(rng.uniform(0, 2, (n, n)), 3), np.full(n, 1 / n)
    epsilon = Fraction(int(rng.integers(3, 20)), 10)
    best = ib.optimal(query, epsilon, loss).optimality
    true = exact_optimum(query, epsilon, loss, prior)
    assert best.bound <= true
    assert float(true) - best.bound <= 1e-9 * float(true) + 1e-9


@pytest.mark.parametrize("seed", range(8))
def test_any_multipliers_give_a_bound_that_is_not_above_the_optimum(seed):
    query, epsilon, loss, prior = case(seed)
    tails, heads, lengths = zip(*query.edges, strict=True)
    edges = EdgeArrays(np.array(tails), np.array(heads), np.array([*map(float, lengths)]))
    true, rng = full_program(query, float(epsilon), loss, prior), np.random.default_rng(seed)
    ((_, network),) = find_components(edges, float(epsilon), len(query.answers))
    for size in (0.0, 1e-3, 1e-1, 10.0):
        f = size * rng.exponential(1, (len(loss), len(network.tails)))
        assert lower_bound(network, prior * loss, f) <= true + 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_both_ways_of_pricing_agree_on_trees(seed):
    rng = np.random.default_rng(seed)
    query = random_tree(rng, 9)
    tails, heads, lengths = zip(*query.edges, strict=True)
    edges = EdgeArrays(np.array(tails), np.array(heads), np.array([*map(float, lengths)]))
    ((_, network),) = find_components(edges, 0.7, 9)
    r, w = rng.normal(0.3, 1, (5, 9)), np.full(9, 1 / 9)
    start = -network.distances[:5]
    _, by_cuts, sure = closure_pricing.price_closures(network, r, w, start, 1000)
    _, by_sums, also = tree_pricing.price_tree_rows(network, r, w, start, 1000)
    assert sure
    assert also
    assert by_cuts == pytest.approx(by_sums, rel=1e-9, abs=1e-12)


def test_separate_parts_are_solved_apart():
    query = ib.graph(["a", "b", "c", "d", "e"], [("a", "b"), ("c", "d", "0.5")])
    loss = 1 - np.eye(5)
    found = ib.optimal(query, 1, loss).optimality
    assert found.value == pytest.approx(full_program(query, 1.0, loss, np.full(5, 0.2)), abs=1e-9)
    assert found.gap < 1e-9


def _table_beside_lone_answers(seed):
    """A random table on a graph with two answers that have no neighbours: more outputs than answers to mix."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 14))
    pairs = [(j, k) for j in range(n - 2) for k in range(j) if rng.random() < 2.5 / n or k == j - 1]
    query = ib.graph(
        [*map(str, range(n))], [(str(j), str(k), Fraction(int(rng.integers(5, 25)), 10)) for j, k in pairs]
    )
    loss = rng.random((n, n))
    return build_problem(query, Fraction(2), to_loss(loss.tolist()), rng.random(n), frozenset(), "average")


def test_rows_are_mixed_until_the_best_of_all_outputs_gains_nothing():
    problems = [_table_beside_lone_answers(seed) for seed in range(20)]
    assert all(graph_route.solve(problem, np.inf).is_closed(problem) for problem in problems)


def test_a_small_value_is_as_exact_as_a_large_one():
    query = ib.histogram_query(3, 3)
    problem = build_problem(query, Fraction("9.595"), to_loss("zero-one"), None, frozenset(), "worst")
    proposal = graph_route.solve(problem, np.inf)
    assert proposal.is_closed(problem, 1e-9)
    assert problem.value(proposal.matrix) < 1e-3


def test_an_interior_point_closes_a_gap_that_flows_in_integers_leave():
    rng = np.random.default_rng(24)
    query = random_graph(rng, int(rng.integers(4, 18)), more=rng.uniform(0, 2))
    loss = 1 - np.eye(len(query.answers))
    problem = build_problem(query, Fraction("8.14"), to_loss(loss.tolist()), None, frozenset(), "worst")
    ((_, part, _),) = graph_route._parts(problem)
    mix, low = graph_columns.generate(part, np.inf)
    assert part.value(mix) - low > 1e-9 * low
    best = run_routes(problem, np.inf)
    assert best.is_closed(problem)
    assert problem.value(best.matrix) == pytest.approx(full_program(query, 8.14, loss, None, worst=True), abs=EQUAL)


@pytest.mark.long
@pytest.mark.parametrize("metric", ["manhattan", "euclidean"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_worst_answer_of_a_map_loses_as_little_as_in_the_full_program(metric, weighted):
    query = ib.grid(5, 5, metric=metric)
    prior = np.random.default_rng(4).dirichlet(np.ones(25)) if weighted else None
    loss = ib.losses.distance.table(query)
    found = ib.optimal(query, 1, "distance", prior, aim="worst")
    true = full_program(query, 1.0, loss * prior if weighted else loss, None, worst=True)
    assert found.optimality.value == pytest.approx(true, rel=1e-5)
    assert found.optimality.bound <= true * (1 + 1e-9)


def test_the_worst_answer_of_a_map_is_closed_without_columns():
    query = ib.grid(9, 9, metric="manhattan")
    found = ib.optimal(query, 1, "distance", aim="worst", max_seconds=1000)
    assert found.optimality.gap < 1e-5 * found.optimality.value
    average = ib.optimal(query, 1, "distance", max_seconds=1000)
    assert average.optimality.bound <= found.optimality.value <= average.worst_loss("distance")


@pytest.mark.parametrize("aim", ["average", "worst"])
def test_without_time_no_design_loses_more_than_equal_reports_and_bounds_hold(aim):
    rng = np.random.default_rng(6)
    for query in (ib.grid(4, 4), random_tree(rng, 14), random_graph(rng, 12), ib.histogram_query(3, 3)):
        loss = ib.losses.distance.table(query)
        prior = rng.dirichlet(np.ones(len(loss)))
        found = ib.optimal(query, 1, "distance", prior if aim == "average" else None, aim=aim, max_seconds=1e-9)
        even = loss.mean(axis=0)
        assert found.optimality.value <= (even @ prior if aim == "average" else even.max()) * (1 + 1e-9)
        true = full_program(query, 1.0, loss, prior, worst=aim == "worst")
        assert found.optimality.bound <= true + 1e-9


@pytest.mark.parametrize("aim", ["average", "worst"])
def test_a_design_without_time_for_a_search_is_the_remapped_mechanism_of_the_metric(monkeypatch, aim):
    monkeypatch.setattr(graph_route, "QUICK", 10)
    monkeypatch.setattr(graph_route, "LARGE", 18)
    monkeypatch.setattr(graph_remap, "TILES", (9, 16))
    query = ib.grid(4, 5, metric="manhattan")
    loss, prior = ib.losses.distance.table(query), np.random.default_rng(1).dirichlet(np.ones(20))
    problem = build_problem(query, Fraction(1), ib.losses.distance, prior, frozenset(), aim)
    found = graph_route.solve(problem)
    assert found.route == "metric geometric remap"
    value, true = problem.value(found.matrix), full_program(query, 1.0, loss, prior, worst=aim == "worst")
    assert 0.5 * true < found.bound <= true * (1 + 1e-9) <= value * (1 + 1e-8)
    geometric = ib.catalog.metric_geometric(query, 1)
    most = geometric.worst_loss("distance") if aim == "worst" else geometric.bayes_loss("distance", prior)
    assert value <= most + 1e-9


def test_a_search_whose_time_is_up_stops_within_a_step():
    query = ib.grid(5, 5)
    problem = build_problem(query, Fraction(1), ib.losses.distance, None, frozenset(), "average")
    ((_, part, _),) = graph_route._parts(problem)
    form = graph_interior.EdgeProgram(part, -np.inf)
    with pytest.raises(TimeIsUp):
        form.factor(form.start())
    assert replace(part.network).find_distances(-np.inf) is not None  # many edges among few answers: one step
    line = ib.tree({f"n{j}": f"n{j - 1}" for j in range(1, 60)})
    long = build_problem(line, Fraction(1), ib.losses.distance, None, frozenset(), "average")
    ((_, chain, _),) = graph_route._parts(long)
    assert chain.network.find_distances(-np.inf) is None


@pytest.mark.parametrize("kind", ["tree", "map", "crowded map"])
def test_weighted_inverses_are_those_of_the_written_out_matrices(kind):
    rng = np.random.default_rng(3)
    query = {"tree": random_tree(rng, 9), "map": ib.grid(3, 4, metric="manhattan"), "crowded map": ib.grid(8, 8)}[kind]
    problem = build_problem(query, Fraction(1), to_loss("distance"), None, frozenset(), "average")
    ((_, part, _),) = graph_route._parts(problem)
    pairs, n, m = EdgePairs.among(part.network), part.network.size, 3
    beside = rng.uniform(-1, 0, (m, len(pairs.first)))
    A = np.zeros((m, n, n))
    A[:, pairs.first, pairs.second] = A[:, pairs.second, pairs.first] = beside
    diagonal = 1 - A.sum(axis=2)
    A[:, np.arange(n), np.arange(n)] = diagonal
    weights = [rng.uniform(1, 2, (m, n)) for _ in range(2)]
    found = make_factors(pairs, diagonal, beside).inverses(weights)
    kinds = {"tree": TreeFactors, "map": BandFactors, "crowded map": DenseFactors}
    assert isinstance(make_factors(pairs, diagonal, beside), kinds[kind])
    inverse = np.linalg.inv(A)
    true = np.block([[(a[:, :, None] * inverse * b[:, None, :]).sum(axis=0) for b in weights] for a in weights])
    assert found == pytest.approx(true, rel=1e-9)


def test_properties_and_limits_on_a_small_graph():
    query = ib.grid(3, 3, metric="manhattan")
    fair = ib.optimal(query, 1, "distance", properties=["fair"])
    assert fair.properties()["fair"]
    free = ib.optimal(query, 1, "distance")
    assert free.optimality.value <= fair.optimality.value
    often = float(free.loss_per_answer("zero-one").max())
    kept = ib.optimal(query, 1, "distance", subject_to=ib.limit_loss("zero-one", round(often - 0.01, 3)))
    assert kept.worst_loss("zero-one") <= round(often - 0.01, 3)
    with rejects(ib.TooLarge, about="outputs"):
        ib.optimal(ib.grid(8, 8), 1, "distance", properties=["fair"])
