"""Answers on a graph: what may be asked, who is whose neighbour, and how answers come in and reports go out."""

import copy
import math
import pickle
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import inbounds as ib
from graphs.cases import half, shortest_paths
from inbounds.mechanism.laws import Matrix
from inbounds.mechanism.origin import Origin
from inbounds.query import OutputCells, RangeQuery, Scale
from inbounds.query.neighbours import Graph
from inbounds.report.wording import format_guarantee
from inbounds.trusted.bounds import TOTAL, Edge
from inbounds.trusted.limits import MOST_EDGES
from raising import rejects


def test_edges_hold_both_ways_and_one_way_edges_only_one():
    query = ib.graph(["a", "b", "c"], [("a", "b", "1/2")], one_way=[("b", "c")])
    assert query.edges == (Edge(0, 1, Fraction(1, 2)), Edge(1, 0, Fraction(1, 2)), Edge(1, 2, Fraction(1)))
    assert query.labels == ("a", "b", "c")
    assert not query.neighbours.is_undirected


def test_a_graph_refuses_what_promises_nothing_or_something_else(golden):
    beside_one = Fraction(10**20 + 1, 10**20)

    def graph(answers, edges):
        ib.graph(answers, edges)

    golden.errors(
        "wrong_graphs",
        [
            lambda: graph("abc", [("a", "b")]),
            lambda: graph(["a", "a"], [("a", "a")]),
            lambda: graph(["a", 1], [("a", 1)]),
            lambda: graph(["a", "b"], [("a", "b", 0)]),
            lambda: graph(["a", "b"], [("a", "b", -1)]),
            lambda: graph(["a", "b"], [("a", "b", math.nan)]),
            lambda: graph(["a", "b"], [("a", "b", math.inf)]),
            lambda: graph(["a", "b"], [("a", "b", True)]),
            lambda: graph(["a", "b"], [("a", "b"), ("b", "a")]),
            lambda: graph(["a", "b"], [("a", "a")]),
            lambda: graph(["a", "b"], [("a", "x")]),
            lambda: graph(["a", "b"], ["ab"]),
            lambda: graph(["a", "b"], []),
            lambda: graph(["a"], []),
            lambda: graph([(0, 1), (0,)], [((0, 1), (0,))]),
            lambda: graph([(0, 2**60), (0, 1)], [((0, 2**60), (0, 1))]),
            lambda: graph([("1", 0), (beside_one, 0)], [(("1", 0), (beside_one, 0))]),
        ],
    )
    ib.graph([(0, "1e-30"), (0, "2e-30")], [((0, "1e-30"), (0, "2e-30"))])


def test_a_huge_list_of_edges_is_refused_before_any_is_read():
    class Long(list):
        def __len__(self):
            return MOST_EDGES + 1

        def __iter__(self):
            raise AssertionError("an edge was read")

    with rejects(ValueError, "edges"):
        ib.graph(["a", "b"], Long())


def test_lookalikes_of_edges_are_refused():
    class Liar(Fraction):
        pass

    for edges in ([Edge(0, 1, Fraction(1))], ((0, 1, Fraction(1)),), (Edge(0, 1, 1.0),), (Edge(0, True, Fraction(1)),)):
        with pytest.raises(TypeError):
            Graph(edges)
    with pytest.raises(TypeError):
        Graph((Edge(0, 1, Liar(1)),))
    with rejects(ValueError, about="different"):
        Graph((Edge(-1, 1, Fraction(1)),))


def test_a_query_refuses_edges_beyond_its_answers_and_answers_that_are_no_labels():
    scale = Scale(Fraction(0), Fraction(1), range(2))
    for kind, labels, edge, subject in [
        ("graph", ("a", "b"), Edge(0, 2, Fraction(1)), "edges"),
        ("map", None, Edge(0, 1, Fraction(1)), "the answers of a map"),
        ("category", None, Edge(0, 1, Fraction(1)), "the answers of a category"),
        ("graph", ("a", "a"), Edge(0, 1, Fraction(1)), "labels"),
        ("graph", ("a",), Edge(0, 1, Fraction(1)), "labels"),
    ]:
        with rejects(ValueError, subject):
            RangeQuery(kind, scale, OutputCells.one_per_answer(scale), Graph((edge,)), labels=labels)
    with rejects(ValueError, "places"):
        RangeQuery(
            "category",
            scale,
            OutputCells.one_per_answer(scale),
            ib.AllPairs(),
            labels=("0", "1"),
            places=((Fraction(0),), (Fraction(1),)),
        )


@pytest.mark.parametrize("stretch", [1, 1.01, 1.03, 1.1])
@pytest.mark.parametrize("step", [1, "0.25"])
def test_a_euclidean_map_never_promises_less_than_the_straight_line(stretch, step):
    query = ib.grid(5, 4, step=step, stretch=stretch)
    far = shortest_paths(query)
    for j, k in product(range(20), repeat=2):
        square = sum((a - b) ** 2 for a, b in zip(query.places[j], query.places[k], strict=True))
        assert far[j][k] ** 2 <= square <= (far[j][k] * Fraction(stretch) * (1 + Fraction(1, 10**11))) ** 2


def test_a_manhattan_map_keeps_the_distance_along_its_streets():
    query = ib.grid(3, 4, step=2, metric="manhattan")
    far = shortest_paths(query)
    for j, k in product(range(12), repeat=2):
        assert far[j][k] == sum(abs(a - b) for a, b in zip(query.places[j], query.places[k], strict=True))


def test_a_large_euclidean_map_is_refused_before_its_edges_are_made():
    with rejects(ValueError, about="stretch"):
        ib.grid(100, 100, stretch=1)
    assert len(ib.grid(30, 30, stretch=1.09).edges) < 7500


@pytest.mark.parametrize(
    ("parents", "fine"),
    [
        ({"b": "a", "c": ("a", 2)}, True),
        ({"b": "a", "c": "d"}, False),
        ({"b": "a", "c": "d", "d": "c"}, False),
        ({"a": "b", "b": "a"}, False),
    ],
)
def test_a_tree_has_one_root_and_no_circle(parents, fine):
    if fine:
        assert len(ib.tree(parents).edges) == 2 * len(parents)
        return
    with rejects(ValueError, "parents", about="root"):
        ib.tree(parents)


def counts_of(people):
    return tuple(sum(person) for person in zip(*people, strict=True))


@pytest.mark.parametrize("exclusive", [False, True])
def test_a_pair_of_counts_joins_exactly_what_one_person_can_change(exclusive):
    kinds = [(0, 0), (0, 1), (1, 0)] + ([] if exclusive else [(1, 1)])
    found = set()
    for people in product(kinds, repeat=3):
        for other in kinds:
            a, b = counts_of(people), counts_of((other, *people[1:]))
            if a != b:
                found.add((a, b))
    query = ib.pair_of_counts(3, 3, exclusive=exclusive)
    at = [tuple(map(int, place)) for place in query.places]
    edges = {(at[tail], at[head]) for tail, head, _ in query.edges}
    assert found <= edges
    assert all(max(abs(x - y) for x, y in zip(a, b, strict=True)) == 1 for a, b in edges)


def test_a_histogram_joins_exactly_what_replacing_one_person_can_change():
    found = set()
    for people in product(range(3), repeat=4):
        for other in range(3):
            a, b = (tuple(np.bincount(p, minlength=3).tolist()) for p in (people, (other, *people[1:])))
            if a != b:
                found.add((a, b))
    query = ib.histogram_query(4, 3)
    at = [tuple(map(int, place)) for place in query.places]
    assert {(at[tail], at[head]) for tail, head, _ in query.edges} == found
    assert len(at) == math.comb(6, 2)


def test_places_come_in_as_coordinates_or_labels_and_reports_go_out_the_same_way():
    query = ib.grid(3, 3, step="0.1", metric="manhattan")
    assert query.encode((0.1, 0.2)) == 5
    assert query.encode("1/10,1/5") == 5
    assert query.encode([(0, 0), (0.2, 0.1)]).tolist() == [0, 7]
    assert query.encode(np.zeros((2, 5, 2))).shape == (2, 5)
    for bad in [(0.15, 0.1), (math.nan, 0), (2**60, 0)]:
        with rejects(ValueError, about="declared"):
            query.encode(bad)
    for bad in [3, (1, 2, 3), [[1], [2]]]:
        with rejects(ValueError, "true answers", about="2 coordinates"):
            query.encode(bad)
    sure = np.zeros((9, 9))
    sure[5] = 1
    mechanism = ib.certify(sure, query, 1)
    assert mechanism.sample((0, 0)) == (0.1, 0.2)
    assert mechanism.sample("0,0") == "1/10,1/5"
    assert mechanism.sample([(0, 0), (0.2, 0.2)]).tolist() == [[0.1, 0.2], [0.1, 0.2]]
    assert mechanism.sample(["0,0"]).tolist() == ["1/10,1/5"]
    whole = ib.certify(sure, ib.grid(3, 3), 1)
    assert whole.sample((2, 2)) == (1, 2)
    assert all(type(c) is int for c in whole.sample((2, 2)))


def test_copies_and_pickles_are_the_same_query():
    for query in (ib.grid(2, 3), ib.graph(["a", "b"], [("a", "b", 2)])):
        assert copy.deepcopy(query) == query == pickle.loads(pickle.dumps(query))


def test_losses_between_answers():
    query = ib.grid(2, 3, metric="manhattan")
    mechanism = ib.certify(half(query), query, 1)
    by_hand = {"distance": 0.0, "euclidean": 0.0}
    for i, j in product(range(6), repeat=2):
        a, b = query.places[i], query.places[j]
        by_hand["distance"] += mechanism.matrix[i, j] * float(abs(a[0] - b[0]) + abs(a[1] - b[1])) / 6
        by_hand["euclidean"] += mechanism.matrix[i, j] * math.dist(a, b) / 6
    for name, value in by_hand.items():
        assert mechanism.loss(name) == pytest.approx(value, rel=1e-12)
    assert mechanism.loss(math.dist) == pytest.approx(by_hand["euclidean"], rel=1e-12)
    assert mechanism.loss(np.ones((6, 6))) == pytest.approx(1)
    with rejects(ValueError, about="distance"):
        mechanism.loss("absolute")
    with rejects(ValueError, about="answers"):
        ib.catalog.uniform(ib.count(3), 1).loss("distance")
    with rejects(ValueError, about="coordinates"):
        ib.certify(np.full((2, 2), 0.5), ib.graph(["a", "b"], [("a", "b")]), 1).loss("euclidean")
    apart = ib.graph(["a", "b", "c"], [("a", "b")])
    with rejects(ValueError, about="between"):
        ib.certify(np.full((3, 3), 1 / 3), apart, 1).loss("distance")


def test_what_needs_a_line_is_refused_in_words():
    query = ib.grid(2, 2)
    mechanism = ib.certify(np.full((4, 4), 0.25), query, 1)
    assert set(mechanism.properties()) == {"row_honest", "column_honest", "fair", "weakly_honest"}
    for use in (mechanism.bias, mechanism.variance, mechanism.end_probability):
        with rejects(ValueError, about="numeric"):
            use()
    with rejects(ValueError, about="neighbours"):
        query.cliques()
    with rejects(ValueError, "property", about="order"):
        ib.optimal(query, 1, "distance", properties=["row_monotone"])


def test_one_way_edges_promise_one_way_in_every_sentence(tmp_path):
    """A report that only the head gives is within the promise of a one-way edge, and rules the tail out."""
    weights = np.array([[0, TOTAL // 2], [TOTAL, TOTAL // 2]])
    one_way = ib.Mechanism(ib.graph(["a", "b"], one_way=[("a", "b")]), 1, Matrix(weights), Origin("by hand"))
    one_way.save(tmp_path / "m.json")
    promised = ib.verify(tmp_path / "m.json").to_json()["promise"]
    assert "times likelier under the tail" in promised
    assert "nothing is promised of the way back" in promised
    assert "nothing of the way back" in str(ib.local.local_guarantee(one_way))
    both = ib.catalog.metric_geometric(ib.graph(["a", "b"], [("a", "b")]), 1)
    assert "differ by a factor" in format_guarantee(both)
    assert "between them within a ratio" in str(ib.local.local_guarantee(both))


def test_lengths_that_no_float_holds_are_refused_where_distances_are_measured():
    with rejects(ValueError, "length"):
        ib.catalog.metric_geometric(ib.graph(["a", "b"], [("a", "b", "1e400")]), 1)
