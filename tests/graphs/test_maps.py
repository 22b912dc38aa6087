"""Reading, collecting and reconstructing on a map, against brute force on small ones."""

import math

import numpy as np
import pytest

import inbounds as ib
from inbounds.local.reconstruct.channel import DenseChannel
from inbounds.local.reconstruct.convolution_channel import ConvolutionChannel, convolve
from inbounds.local.reconstruct.ibu import iterate
from inbounds.local.reconstruct.problem import ReconstructionProblem
from inbounds.local.reconstruct.structure import _misses, channel_for_law
from inbounds.report import html
from inbounds.report.result_pages import distribution_page
from raising import rejects

TOWN = ib.grid(3, 4, metric="manhattan")
MECHANISM = ib.catalog.metric_geometric(TOWN, 1)
SEED = 20261116

NOISE = [
    (ib.grid(5, 6, metric="manhattan"), "metric_geometric", 1),
    (ib.grid(6, 5), "metric_geometric", "0.3"),
    (ib.grid(6, 7), "planar_laplace", 1),
    (ib.grid(6, 7), "planar_laplace", 5),
    (ib.pair_of_counts(4, 5), "metric_geometric", 2),
]


def transformed(mechanism: ib.Mechanism, size: tuple[int, int]) -> ConvolutionChannel | None:
    return convolve(mechanism.matrix, size, _misses)


def sides(query: ib.RangeQuery) -> tuple[int, int]:
    found = ib.snap_to_map(query, np.zeros(len(query.answers))).shape
    return found[0], found[1]


# --- reading ----------------------------------------------------------------------------------------------


def test_the_posterior_of_a_place_is_bayes_rule_by_hand():
    prior = np.arange(1.0, 13) / 78
    output = TOWN.labels.index("1,2")
    joint = [prior[j] * int(MECHANISM.weights[output, j]) for j in range(12)]
    assert MECHANISM.posterior((1, 2), prior) == pytest.approx([v / sum(joint) for v in joint], rel=1e-12)
    assert (MECHANISM.posterior((1, 2), prior) == MECHANISM.posterior("1,2", prior)).all()


def test_the_best_guess_loses_least_among_all_places():
    prior = np.array([1, 1, 1, 1, 1, 1, 1, 1, 9, 1, 1, 1]) / 20
    after, at = MECHANISM.posterior((1, 1), prior), TOWN.coordinates
    costs = [sum(after[j] * np.abs(at[g] - at[j]).sum() for j in range(12)) for g in range(12)]
    guess = MECHANISM.best_guess((1, 1), "distance", prior)
    assert costs[TOWN.encode(guess)] == pytest.approx(min(costs))
    assert MECHANISM.best_guess("1,1", "distance", prior) == ",".join(map(str, guess))


def test_a_credible_set_of_places_is_named_as_the_output_was():
    held = MECHANISM.credible_set((1, 2), 0.5)
    assert (1, 2) in held.answers
    assert {",".join(map(str, a)) for a in held.answers} == set(MECHANISM.credible_set("1,2", 0.5).answers)


def test_a_place_that_is_not_on_the_map_is_no_output():
    with rejects(ValueError, about="places"):
        MECHANISM.posterior((7, 7))


# --- collecting -------------------------------------------------------------------------------------------


def test_coordinates_and_labels_are_counted_alike():
    places = np.array([[1, 2], [0, 0], [1, 2]])
    by_label = ib.Collector(MECHANISM).add(["1,2", "0,0", "1,2"])
    assert ib.Collector(MECHANISM).add(places) == by_label
    assert by_label.counts[TOWN.labels.index("1,2")] == 2


def test_a_randomizer_answers_coordinates_by_coordinates():
    client = ib.local.make_randomizer(MECHANISM)
    assert client((1, 2)) in {tuple(map(int, place)) for place in TOWN.places}
    assert client([(1, 2), (0, 3)]).shape == (2, 2)
    assert client("1,2") in TOWN.labels
    with rejects(ValueError, about="places"):
        client((1, 9))


def test_a_collector_refuses_places_that_are_not_on_the_map():
    with rejects(ValueError, about="places"):
        ib.Collector(MECHANISM).add([[1, 9]])


def test_the_statement_of_a_map_has_the_ratio_of_every_pair_within_a_radius():
    weights, far = MECHANISM.weights, TOWN.distances()
    for radius in (1, 2, 5):
        pairs = [(j, k) for j in range(12) for k in range(12) if far[j, k] <= radius]
        worst = max(float((weights[:, j] / weights[:, k]).max()) for j, k in pairs)
        assert ib.local.local_guarantee(MECHANISM).ratio(radius) == pytest.approx(worst)
        assert ib.local.local_guarantee(MECHANISM).ratio(radius) <= math.exp(radius) * (1 + 1e-12)


def test_a_duckdb_function_reports_places():
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        ib.local.register(connection, "private_place", MECHANISM)
        connection.execute(
            "create table r as select private_place(id, p) as p from (values (1, '1,2'), (2, '0,0')) as t(id, p)"
        )
        assert ib.local.collect(connection.table("r"), "p", MECHANISM).total == 2


# --- reconstructing ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("query", "name", "epsilon"), NOISE)
def test_transforms_multiply_as_the_matrix_does(query, name, epsilon):
    mechanism = getattr(ib.catalog, name)(query, epsilon)
    channel, matrix = transformed(mechanism, sides(query)), mechanism.matrix
    assert channel is not None
    rng = np.random.default_rng(SEED)
    p, x = rng.dirichlet(np.ones(len(matrix))), rng.random(len(matrix))
    assert channel.forward(p) == pytest.approx(matrix @ p, abs=1e-13)
    assert channel.backward(x) == pytest.approx(x @ matrix, abs=1e-12)
    slack = channel.slack
    assert (
        np.abs(channel.forward(p) - matrix @ p) <= np.maximum(slack.above, slack.below) + 1e-11 * (matrix @ p)
    ).all()


def test_a_matrix_without_the_shape_is_not_taken_for_a_convolution():
    matrix = ib.catalog.metric_geometric(ib.grid(5, 5, metric="manhattan"), 1).matrix.copy()
    matrix[12, [3, 7]] *= 1.001, 0.999
    assert convolve(matrix, (5, 5), _misses) is None


@pytest.mark.parametrize(("query", "name", "epsilon"), NOISE[:3])
def test_updates_by_transforms_are_those_of_the_matrix(query, name, epsilon):
    mechanism = getattr(ib.catalog, name)(query, epsilon)
    size = len(query.answers)
    rng = np.random.default_rng(SEED)
    counts = rng.multinomial(5000, mechanism.matrix @ rng.dirichlet(np.ones(size))).astype(float)
    start, found = np.full(size, 1 / size), []
    for channel in (transformed(mechanism, sides(query)), DenseChannel(mechanism.matrix)):
        updates = iterate(channel, counts / counts.sum(), start)
        found.append([next(updates) for _ in range(40)][-1].p)
    assert found[0] == pytest.approx(found[1], rel=1e-8, abs=1e-13)


def test_the_residual_by_transforms_is_not_below_that_of_the_matrix():
    query, name, epsilon = NOISE[2]
    mechanism = getattr(ib.catalog, name)(query, epsilon)
    rng = np.random.default_rng(SEED)
    counts = rng.multinomial(5000, mechanism.matrix @ rng.dirichlet(np.ones(42))).astype(float)
    p = rng.dirichlet(np.ones(42))
    fast, slow = (
        ReconstructionProblem.from_channel(channel, counts, p, query).residual(p)
        for channel in (transformed(mechanism, sides(query)), DenseChannel(mechanism.matrix))
    )
    assert slow <= fast <= slow * (1 + 1e-8) + 1e-8


def test_small_maps_keep_their_matrix():
    assert isinstance(channel_for_law(MECHANISM), DenseChannel)


def test_a_map_is_reconstructed_from_its_reports():
    rng = np.random.default_rng(SEED)
    truth = rng.dirichlet(np.ones(12))
    counts = rng.multinomial(200_000, MECHANISM.matrix @ truth)
    found = ib.reconstruct(counts, MECHANISM, given="counts")
    raw = ib.distance.kantorovich(counts, truth, TOWN)
    assert ib.distance.kantorovich(found.distribution, truth, TOWN) < raw / 3


# --- the Kantorovich distance -----------------------------------------------------------------------------


def transported(p, q, cost):
    """The transport program itself: one variable for each pair."""
    from scipy.optimize import linprog

    n = len(p)
    leaves, enters = np.kron(np.eye(n), np.ones(n)), np.kron(np.ones(n), np.eye(n))
    found = linprog(cost.ravel(), A_eq=np.vstack([leaves, enters]), b_eq=np.concatenate([p, q]), method="highs")
    return found.fun


@pytest.mark.parametrize(
    "query",
    [
        ib.grid(3, 3, metric="manhattan"),
        ib.grid(2, 4),
        ib.tree({"b": "a", "c": ("a", 3), "d": ("c", "1/2")}),
        ib.graph(["a", "b", "c"], [("a", "b", 2)], one_way=[("b", "c", 5), ("c", "a")]),
    ],
)
def test_kantorovich_on_a_graph_is_the_transport_program_over_shortest_paths(query):
    rng, n = np.random.default_rng(SEED), len(query.answers)
    far = query.distances(directed=False)
    for _ in range(3):
        p, q = rng.dirichlet(np.ones(n)), rng.dirichlet(np.full(n, 0.3))
        assert ib.distance.kantorovich(p, q, query) == pytest.approx(transported(p, q, far), abs=1e-9)


def test_kantorovich_between_parts_without_a_path_is_refused():
    query = ib.graph(["a", "b", "c", "d"], [("a", "b"), ("c", "d")])
    with rejects(ValueError, about="path"):
        ib.distance.kantorovich([1, 0, 0, 0], [0, 0, 0, 1], query)


# --- planning and pages -----------------------------------------------------------------------------------


def test_a_plan_for_a_map_keeps_the_same_ratio_for_both_laws():
    found = ib.local.plan_collection(TOWN, ratio=3, radius=2, reports=2000, runs=2)
    assert {option.mechanism for option in found.options} == {"metric_geometric", "randomized_response"}
    geometric = found.mechanism("metric_geometric")
    assert ib.local.local_guarantee(geometric).ratio(2) <= 3 * (1 + 1e-9)
    assert math.exp(ib.local.local_guarantee(found.mechanism("randomized_response")).ldp) <= 3 * (1 + 1e-9)


def test_a_plan_over_the_whole_map_keeps_any_two_places_within_the_ratio():
    found = ib.local.plan_collection(TOWN, ratio=20, reports=2000, runs=2)
    assert ib.local.local_guarantee(found.mechanism("metric_geometric")).worst_ratio() <= 20 * (1 + 1e-9)


def test_numbers_are_laid_out_as_the_places_are():
    table = ib.snap_to_map(TOWN, range(12))
    assert all(table[int(r), int(c)] == j for j, (r, c) in enumerate(TOWN.places))
    with rejects(ValueError, "query", about="cells"):
        ib.snap_to_map(ib.tree({"b": "a"}), [1, 2])
    with rejects(ValueError, "values", about="12"):
        ib.snap_to_map(TOWN, range(11))


def test_a_page_about_a_map_draws_it():
    page = html.mechanism_page(MECHANISM)
    assert "outputs when" in page
    assert "framed cells" in page
    assert "distance from the truth" in page
    assert "share of people" in distribution_page(TOWN.labels, np.full(12, 1 / 12), "t", [], TOWN)
