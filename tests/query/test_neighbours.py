"""Neighbour relations: what each answers for itself, and relations that are given as pairs of answers."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

import inbounds as ib
from inbounds.mechanism.codec import query_from_json, query_to_json
from inbounds.query import Neighbours, OutputCells, RangeQuery, Scale, neighbours, pairs, with_outputs
from inbounds.query.neighbours import RELATIONS
from inbounds.trusted.bounds import Edge
from raising import rejects

PAIRS = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (3, 5)]
EXAMPLES = {
    "reach": ib.total(4, 0, 3),
    "everyone": ib.extreme(1, 6),
    "metric": ib.ordinal(0, 7, unit="3/2"),
    "graph": ib.ordinal(0, 5, neighbours=PAIRS),
}


def definition(query):
    """The distance of any two answers by the definition of each relation; None where nothing is promised."""
    n, relation, values = len(query.answers), query.neighbours, list(query.answers)
    match relation:
        case ib.Reach(steps):
            far = [[Fraction(math.ceil(abs(j - k) / steps)) for k in range(n)] for j in range(n)]
        case ib.AllPairs():
            far = [[Fraction(j != k) for k in range(n)] for j in range(n)]
        case ib.Metric(unit):
            far = [[abs(a - b) / unit for b in values] for a in values]
        case ib.Graph(edges):
            far = [[Fraction(0) if j == k else None for k in range(n)] for j in range(n)]
            for tail, head, length in edges:
                far[tail][head] = length
            for via in range(n):
                for j in range(n):
                    for k in range(n):
                        if None not in (far[j][via], far[via][k]):
                            way = far[j][via] + far[via][k]
                            far[j][k] = way if far[j][k] is None else min(far[j][k], way)
    return far


def test_there_is_an_example_of_every_relation_and_its_name_in_files_is_its_own():
    assert [relation.key for relation in RELATIONS] == [*EXAMPLES]
    assert all(EXAMPLES[relation.key].neighbours.__class__ is relation for relation in RELATIONS)


@pytest.mark.parametrize("key", EXAMPLES)
def test_distances_are_those_of_the_definition(key):
    query, far = EXAMPLES[key], definition(EXAMPLES[key])
    assert np.allclose(query.distances(), [[float(d) for d in row] for row in far], rtol=1e-15, atol=0)
    assert query.neighbours.is_connected(query.answers)
    assert query.least_distance == min(d for row in far for d in row if d)


@pytest.mark.parametrize("key", EXAMPLES)
def test_the_pairs_of_a_relation_are_the_answers_at_most_one_apart(key):
    query, far = EXAMPLES[key], definition(EXAMPLES[key])
    n = len(query.answers)
    assert query.neighbours.pairs(query.answers) == [
        (j, k) for j in range(n) for k in range(n) if j != k and far[j][k] <= 1
    ]


@pytest.mark.parametrize("key", EXAMPLES)
def test_no_noise_of_the_scale_of_the_sensitivity_loses_more_than_the_distance(key):
    query, far = EXAMPLES[key], definition(EXAMPLES[key])
    values = list(query.answers)
    ratios = [abs(values[j] - values[k]) / far[j][k] for j in range(len(values)) for k in range(len(values)) if j != k]
    assert max(ratios) == query.sensitivity


@pytest.mark.parametrize("key", ["reach", "everyone", "metric"])
def test_the_edges_of_a_line_promise_what_its_cliques_do(key):
    query = EXAMPLES[key]
    as_graph = ib.with_neighbours(query, ib.Graph(query.neighbours.list_edges(query.answers)))
    assert np.allclose(as_graph.distances(), query.distances(), rtol=1e-12)
    rng = np.random.default_rng(7)
    matrix = rng.dirichlet(np.ones(len(query.outputs)), len(query.answers)).T
    assert ib.audit(matrix, as_graph).epsilon == pytest.approx(ib.audit(matrix, query).epsilon, rel=1e-12)


@pytest.mark.parametrize("key", EXAMPLES)
def test_a_relation_survives_files_and_pickles(key):
    query = EXAMPLES[key]
    assert query_from_json(query_to_json(query)) == query
    assert [*query_to_json(query)["neighbours"]] == [key]
    assert pickle.loads(pickle.dumps(query)) == query


def test_only_a_reach_grows_with_the_records_of_a_person():
    for key, query in EXAMPLES.items():
        grown = query.neighbours.with_records(3, query.answers)
        assert grown == (ib.Reach(9) if key == "reach" else query.neighbours)
    assert ib.Reach(5).with_records(4, ib.count(12).answers) == ib.Reach(12)


@pytest.mark.parametrize("key", EXAMPLES)
def test_every_relation_says_in_words_what_it_promises(key):
    query = EXAMPLES[key]
    relation = query.neighbours
    texts = [relation.describe(query), relation.promise(query, Fraction(1)), relation.local_promise(query, Fraction(1))]
    assert all(texts)
    assert "2.718" in relation.promise(query, Fraction(1))
    assert relation.claim(query)


def test_a_relation_of_another_class_is_refused():
    class Nobody(ib.AllPairs):
        def cliques(self, answers):
            return iter(())

    with rejects(TypeError, "neighbours"):
        ib.with_neighbours(ib.count(3), Nobody())
    with rejects(TypeError, about="abstract"):
        Neighbours()


# --- neighbours given as pairs ----------------------------------------------------------------------------


def test_pairs_of_answers_are_edges_both_ways():
    query = ib.ordinal(0, 5, neighbours=[*PAIRS[:-1], (3, 5, "1/2")])
    one_way = {(j, j + 1, 1) for j in range(5)} | {(3, 5, Fraction(1, 2))}
    assert set(query.edges) == one_way | {(head, tail, length) for tail, head, length in one_way}
    assert list(query.answers) == [*range(6)]
    assert query.is_ordered
    assert query.labels is None
    assert query.sensitivity == 4  # 3 and 5 are 2 apart for a length of 1/2


@pytest.mark.parametrize(
    ("query", "given"),
    [
        (ib.count(3), [(0, 1), (1, 3)]),
        (ib.total(2, -1, 1), [(-2, 0), (0, 2, 3)]),
        (ib.mean(3, 0, 1), [(0, "1/3"), (Fraction(1, 3), 1)]),
        (ib.mean(10, 0, 1), [(0.1, 0.2), (0, 1)]),
        (ib.extreme(5, 9), [(5, 6), (8, 9)]),
        (ib.ordinal(2, 4), [(2, 3)]),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_every_numeric_query_takes_pairs_of_its_own_answers(query, given):
    made = ib.with_neighbours(query, given)
    assert (made.kind, made.answers, made.outputs) == (query.kind, query.answers, query.outputs)
    values = list(query.answers)
    ends = {frozenset((values[edge.tail], values[edge.head])) for edge in made.edges}
    assert ends == {frozenset(Fraction(str(a)) for a in pair[:2]) for pair in given}
    assert query_from_json(query_to_json(made)) == made
    assert query_to_json(made)["labels"] is None


def test_the_argument_of_each_constructor_is_that_of_with_neighbours():
    for make in (
        lambda **also: ib.count(4, **also),
        lambda **also: ib.total(2, 0, 2, **also),
        lambda **also: ib.mean(1, 0, 4, **also),
        lambda **also: ib.extreme(0, 4, **also),
        lambda **also: ib.ordinal(0, 4, **also),
    ):
        given = [(0, 1), (1, 4, 2)]
        assert make(neighbours=given) == ib.with_neighbours(make(), given)
        assert make(neighbours=iter(given)) == make(neighbours=given)
        assert make(neighbours=ib.AllPairs()).neighbours == ib.AllPairs()
        assert make(outputs=2, neighbours=given) == with_outputs(make(neighbours=given), 2)


def test_a_graph_of_numbers_is_a_query_about_numbers():
    query = ib.graph([5, 0, 1.5], [(0, 1.5), (1.5, 5, 2)], one_way=[(5, 0, 7)])
    assert list(query.answers) == [0, Fraction(3, 2), 5]
    assert query.is_ordered
    assert query.output_values.tolist() == [0, 1.5, 5]
    assert query.encode([5, 0, 1.5]).tolist() == [2, 0, 1]
    assert Edge(2, 0, Fraction(7)) in query.edges
    assert Edge(0, 2, Fraction(7)) not in query.edges


def test_labels_and_places_take_pairs_too():
    labels = ib.with_neighbours(ib.category(["a", "b", "c"]), [("a", "b"), ("b", "c", 2)])
    assert not labels.is_ordered
    assert labels.sensitivity == 1
    town = ib.with_neighbours(ib.grid(1, 3), [((0, 0), (0, 2))])
    assert [edge[:2] for edge in town.edges] == [(0, 2), (2, 0)]


def test_what_is_no_pair_of_answers_is_refused(golden):
    golden.errors(
        "wrong_pairs",
        [
            lambda: ib.count(3, neighbours="0:1"),
            lambda: ib.count(3, neighbours=1),
            lambda: ib.count(3, neighbours=[]),
            lambda: ib.count(3, neighbours=[(0, 4)]),
            lambda: ib.count(3, neighbours=[(0, -1)]),
            lambda: ib.count(3, neighbours=[(0, 0.5)]),
            lambda: ib.graph([0, 2, 3], [(0, 1)]),
            lambda: ib.mean(3, 0, 1, neighbours=[(0, 0.333)]),
            lambda: ib.count(3, neighbours=[(0, "x")]),
            lambda: ib.count(3, neighbours=[(0, True)]),
            lambda: ib.count(3, neighbours=[(1, 1)]),
            lambda: ib.count(3, neighbours=[(0, 1), (1, 0)]),
            lambda: ib.count(3, neighbours=[(0, 1, 0)]),
            lambda: ib.count(3, neighbours=[(0, 1, 2, 3)]),
            lambda: ib.count(3, neighbours=[3]),
            lambda: ib.count(3, neighbours=["01"]),
            lambda: ib.ordinal(0, 3, unit=2, neighbours=[(0, 1)]),
            lambda: ib.with_neighbours(ib.interval(0, 1, "0.1", 10), [("0.05", "0.15")]),
            lambda: ib.with_neighbours(ib.category(4), [(0, 1)]),
            lambda: ib.graph([0, 0, 1], [(0, 1)]),
            lambda: ib.graph([0, "a"], [(0, "a")]),
            lambda: ib.graph([0, True], [(0, 1)]),
        ],
    )


def test_pairs_without_end_are_refused_and_not_cut_short(monkeypatch):
    for module in (neighbours, pairs):
        monkeypatch.setattr(module, "MOST_EDGES", 100)
    read = []

    def endless():
        while True:
            read.append(1)
            yield (0, 1)

    with rejects(ValueError, about="edges"):
        ib.count(3, neighbours=endless())
    assert len(read) == 101


def test_numbers_beyond_the_range_of_declared_neighbours_are_not_clipped():
    query = ib.ordinal(0, 5, neighbours=PAIRS)
    with rejects(ValueError, about="clipped"):
        query.encode([3], clip=True)  # whether or not a number lies beyond
    assert ib.ordinal(0, 5).encode([9], clip=True).tolist() == [5]


def test_kinds_that_are_labels_must_have_them_on_a_graph():
    scale = Scale(Fraction(0), Fraction(1), range(2))
    edge = ib.Graph((Edge(0, 1, Fraction(1)),))
    for kind in ("map", "tree", "histogram", "pair of counts", "category", "interval"):
        with rejects(ValueError, about="labels"):
            RangeQuery(kind, scale, OutputCells.one_per_answer(scale), edge)
