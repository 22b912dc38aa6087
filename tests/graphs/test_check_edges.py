"""The checker over edges: by the definition over all pairs of answers, and against those who would fool it."""

import json
from fractions import Fraction

import numpy as np
import pytest

import inbounds as ib
from graphs.cases import half, keeps_all_pairs, random_graph, random_tree
from inbounds.errors import InvalidDistribution, PassportError, PrivacyViolation
from inbounds.files import MECHANISM, Document
from inbounds.mechanism import Mechanism, Origin
from inbounds.mechanism.laws.response import make_tight_response
from inbounds.mechanism.load import load
from inbounds.mechanism.passport import to_passport
from inbounds.mechanism.rounding import round_on_graph
from inbounds.trusted import certify
from inbounds.trusted.bounds import EXP_BITS, TOTAL, Edge, exp_lower_bound
from inbounds.trusted.certify import check_edges, edges_by_length
from raising import rejects


def private(weights, edges, epsilon):
    """By the definition, edge by edge and output by output, in Fractions."""
    for tail, head, length in edges:
        p = exp_lower_bound(min(epsilon * length, Fraction(64)))
        if any((int(a) << EXP_BITS) > p * int(b) for a, b in zip(weights[:, tail], weights[:, head], strict=True)):
            return False
    return True


@pytest.mark.parametrize("seed", range(12))
def test_the_checker_agrees_with_the_definition_near_the_border(seed, monkeypatch):
    monkeypatch.setattr(certify, "PAIRS_AT_A_TIME", [1, 7, 1 << 14][seed % 3])
    rng = np.random.default_rng(seed)
    query = random_graph(rng, int(rng.integers(2, 7)), one_way=seed % 3)
    epsilon = Fraction(int(rng.integers(1, 40)), 10)
    weights = round_on_graph(half(query, 2.2 * float(epsilon)), query.edges, epsilon)
    assert private(weights, query.edges, epsilon)
    check_edges(weights, query.edges, epsilon)
    verdicts = set()
    for _ in range(60):
        moved = weights.copy()
        i, k = rng.choice(len(weights), 2, replace=False)
        j, units = int(rng.integers(0, weights.shape[1])), int(rng.integers(1, 1 << int(rng.integers(1, 60))))
        moved[i, j] -= min(units, int(moved[i, j]))
        moved[k, j] += TOTAL - int(moved[:, j].sum(dtype=object))
        fine = private(moved, query.edges, epsilon)
        verdicts.add(fine)
        if fine:
            check_edges(moved, query.edges, epsilon)
        else:
            with pytest.raises(PrivacyViolation):
                check_edges(moved, query.edges, epsilon)
    assert False in verdicts


@pytest.mark.parametrize("seed", range(6))
def test_what_passes_keeps_every_pair_by_its_shortest_path(seed):
    rng = np.random.default_rng(seed)
    query = random_tree(rng, 6) if seed % 2 else random_graph(rng, 6, one_way=seed)
    mechanism = ib.certify(half(query, 1.9), query, "1.9")
    assert keeps_all_pairs(mechanism)


def test_a_violation_one_unit_beyond_the_ratio_is_found_and_named():
    p = exp_lower_bound(Fraction(1, 2))
    low = 1 << 60
    high = low * p >> EXP_BITS
    edges = (Edge(0, 1, Fraction(1)), Edge(1, 0, Fraction(3)))
    for extra, fine in ((0, True), (1, False)):
        weights = np.array([[high + extra, low], [TOTAL - high - extra, TOTAL - low]])
        if fine:
            check_edges(weights, edges, Fraction(1, 2))
            continue
        with pytest.raises(PrivacyViolation) as caught:
            check_edges(weights, edges, Fraction(1, 2))
        assert caught.value.answers == (0, 1)


def test_a_one_way_edge_allows_a_zero_only_on_its_free_side():
    query = ib.graph(["a", "b"], one_way=[("a", "b")])
    P = np.array([[1.0, 0.5], [0.0, 0.5]])
    mechanism = ib.certify(P, query, 1)
    assert mechanism.weights[1, 0] == 0
    assert mechanism.tight_epsilon() == pytest.approx(np.log(2))
    with pytest.raises(PrivacyViolation):
        ib.certify(P[:, ::-1], query, 1)
    assert ib.audit(P[:, ::-1], query).epsilon == np.inf


def test_separate_parts_may_be_told_apart():
    query = ib.graph(["a", "b", "c", "d"], [("a", "b"), ("c", "d")])
    ib.certify(np.repeat(np.eye(4)[:, [0, 2]], 2, axis=1), query, 1)


@pytest.mark.parametrize(
    ("weights", "edges"),
    [
        (np.array([[TOTAL, TOTAL]]), [Edge(0, 2, Fraction(1))]),
        (np.array([[TOTAL, TOTAL]]), [Edge(-1, 0, Fraction(1))]),
        (np.array([[TOTAL, TOTAL - 1]]), [Edge(0, 1, Fraction(1))]),
        (np.array([[TOTAL + 1, TOTAL], [-1, 0]]), [Edge(0, 1, Fraction(1))]),
        (np.array([[1.0, 1.0]]), [Edge(0, 1, Fraction(1))]),
        (np.array([TOTAL]), [Edge(0, 1, Fraction(1))]),
    ],
)
def test_the_checker_refuses_what_is_no_distribution_over_the_answers(weights, edges):
    with pytest.raises(InvalidDistribution):
        check_edges(weights, edges, Fraction(1))


def test_audit_names_the_edge_that_reveals_most_per_unit_of_length():
    query = ib.graph(["a", "b", "c"], [("a", "b", 4), ("b", "c", "0.5")])
    P = np.array([[0.8, 0.2, 0.25], [0.2, 0.8, 0.75]])
    P = np.vstack([P, np.zeros(3)])
    found = ib.audit(P, query)
    by_hand = max(
        abs(np.log(P[i, j] / P[i, k])) / length for i in range(2) for j, k, length in ((0, 1, 4), (1, 2, 0.5))
    )
    assert found.epsilon == pytest.approx(by_hand, rel=1e-14)
    assert found.answers == (2, 1)
    exact = [[Fraction(str(value)) for value in row] for row in P.round(2)]
    assert ib.audit(exact, query).answers == (2, 1)


def made():
    return ib.certify(half(ib.grid(2, 3, step="0.5")), ib.grid(2, 3, step="0.5"), 1)


def sealed(content):
    return Document.wrap(MECHANISM, content)


def test_a_passport_spells_the_graph_and_is_read_back_the_same(tmp_path):
    for query in (ib.grid(2, 3), ib.tree({"b": "a", "c": ("a", "1/3")}), ib.graph(["x", "y"], one_way=[("x", "y", 2)])):
        mechanism = ib.certify(half(query), query, 1)
        mechanism.save(tmp_path / "m.json")
        assert ib.load(tmp_path / "m.json") == mechanism
        assert ib.verify(tmp_path / "m.json").is_valid


def test_passports_of_answers_on_a_line_have_no_places():
    assert "places" not in to_passport(ib.catalog.uniform(ib.count(3), 1)).content["query"]


@pytest.mark.parametrize(
    "change",
    [
        lambda q: q["neighbours"]["graph"]["lengths"].__setitem__(0, "1000"),
        lambda q: q["neighbours"]["graph"]["lengths"].__setitem__(0, "0"),
        lambda q: q["neighbours"]["graph"]["lengths"].__setitem__(0, "-1"),
        lambda q: q["neighbours"]["graph"]["lengths"].__setitem__(0, "nan"),
        lambda q: q["neighbours"]["graph"]["lengths"].__setitem__(0, 1),
        lambda q: q["neighbours"]["graph"]["lengths"].append("1"),
        lambda q: q["neighbours"]["graph"]["edges"].__setitem__(0, "0 1 1"),
        lambda q: q["neighbours"]["graph"]["edges"].__setitem__(0, "0 9"),
        lambda q: q["neighbours"]["graph"]["edges"].__setitem__(0, "0 0"),
        lambda q: q["neighbours"]["graph"]["edges"].__setitem__(0, "0 1 0 1"),
        lambda q: q["neighbours"]["graph"]["edges"].__setitem__(0, ""),
        lambda q: q["neighbours"]["graph"].__setitem__("edges", "0 1"),
        lambda q: q["neighbours"]["graph"].__setitem__("more", "0 1"),
        lambda q: q["neighbours"].__setitem__("graph", []),
        lambda q: q.__setitem__("neighbours", {"everyone": True}),
        lambda q: q.__setitem__("labels", ["a"] * 6),
        lambda q: q.__setitem__("labels", ["a", "b", "c", "d", "e", "f"]),
        lambda q: q.__setitem__("places", None),
        lambda q: q["places"].__setitem__(0, "0 1/2"),
        lambda q: q["places"].__setitem__(0, "0"),
        lambda q: q["places"].__setitem__(0, "0 x"),
        lambda q: q["places"].pop(),
        lambda q: q.__setitem__("rounds", True),
    ],
)
def test_a_changed_graph_in_a_passport_is_refused(change):
    content = json.loads(json.dumps(to_passport(made()).content))
    assert load(sealed(content)) == made()
    change(content["query"])
    with pytest.raises(PassportError):
        load(sealed(content))


def test_two_weights_as_a_law_are_refused_on_a_graph():
    """They are checked for neighbours at distance 1; an edge may be shorter."""
    query = ib.graph(["a", "b", "c"], [("a", "b", "0.1"), ("b", "c", "0.1")])
    with rejects(InvalidDistribution, about="weights"):
        Mechanism(query, Fraction(1), make_tight_response(3, Fraction(1)), Origin("by hand"))


def test_edges_of_lengths_with_one_hash_are_grouped_in_the_order_of_their_first_edge(monkeypatch):
    edges = [Edge(j, j + 1, Fraction((7, 3, 7, 5)[j % 4], 2)) for j in range(8)]
    monkeypatch.setattr(Fraction, "__hash__", None)  # no dictionary of lengths, which a file chooses
    assert edges_by_length(edges) == [
        (Fraction(7, 2), [(0, 1), (2, 3), (4, 5), (6, 7)]),
        (Fraction(3, 2), [(1, 2), (5, 6)]),
        (Fraction(5, 2), [(3, 4), (7, 8)]),
    ]
