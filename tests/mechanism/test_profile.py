"""Privacy profiles of matrices: against all sets of outputs, a library of others, and identities."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import inbounds as ib
from inbounds.accounting import compose
from inbounds.directed_rounding import exp_above, exp_below
from inbounds.errors import TooLarge
from inbounds.mechanism import profile as profiles
from raising import rejects

LINE = ib.graph(["a", "b", "c"], [("a", "b"), ("b", "c", "1/2")])
QUERIES = (
    ib.count(1),
    ib.count(3),
    ib.total(2, 0, 2),
    ib.category(3),
    ib.ordinal(0, 3),
    ib.ordinal(0, 3, neighbours=[(0, 1), (1, 3), (2, 3)]),
    ib.interval(0, 6, 1, 6, holes=[(2, 3)]),
    LINE,
    ib.graph(["low", "middle", "high"], [("low", "middle")], one_way=[("middle", "high", "1/2")]),
)


def matrices(query):
    """Whole weights with zeros, their columns of one sum."""
    rng = np.random.default_rng(len(query.answers))
    for outputs in (1, 2, 5):
        for share in (0.0, 0.3):
            weights = rng.integers(1, 50, (outputs, len(query.answers)))
            weights[rng.random(weights.shape) < share] = 0
            weights[-1] += 300 - weights.sum(axis=0)
            yield weights


def all_pairs(query):
    """Ordered pairs with their distance, from the definition of every relation."""
    values, n = list(query.answers), len(query.answers)
    match query.neighbours:
        case ib.Reach(steps):
            apart = {
                (j, k): Fraction(1)
                for j in range(n)
                for k in range(n)
                if abs(values[j] - values[k]) <= steps * query.answers.unit
            }
        case ib.AllPairs():
            apart = {(j, k): Fraction(1) for j in range(n) for k in range(n)}
        case ib.Metric(unit):
            apart = {(j, k): abs(values[j] - values[k]) / unit for j in range(n) for k in range(n)}
        case ib.Graph(edges):
            apart = {(tail, head): length for tail, head, length in edges}
            if not query.is_ordered:
                for middle in range(n):
                    for j in range(n):
                        for k in range(n):
                            if (j, middle) in apart and (middle, k) in apart:
                                way = apart[j, middle] + apart[middle, k]
                                apart[j, k] = min(way, apart.get((j, k), way))
    return {pair: d for pair, d in apart.items() if pair[0] != pair[1]}


def delta_by_sets(weights, query, epsilon):
    """The least delta from the definition: every set of outputs, every pair; too small by less than 10^-50."""
    outputs = len(weights)
    sets = np.array([[s >> i & 1 for i in range(outputs)] for s in range(1 << outputs)], dtype=object)
    masses = sets @ weights.astype(object)
    total = int(weights[:, 0].sum())
    return max(
        max(Fraction(int(m[j])) - exp_above(epsilon * d) * int(m[k]) for m in masses) / total
        for (j, k), d in all_pairs(query).items()
    )


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_delta_is_the_largest_excess_over_all_sets_of_outputs(query):
    for weights in matrices(query):
        profile = ib.audit(weights, query).profile
        for epsilon in (Fraction(0), Fraction(1, 3), Fraction(2)):
            exactly = max(delta_by_sets(weights, query, epsilon), Fraction(0))
            assert exactly <= profile.delta(epsilon) <= exactly + Fraction(1, 10**45)
            assert ib.audit(weights, query).delta(epsilon) >= exactly


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_epsilon_is_the_inverse_of_delta(query):
    for weights in matrices(query):
        profile = ib.audit(weights, query).profile
        for epsilon in (Fraction(1, 7), Fraction(3, 2)):
            delta = profile.delta(epsilon)
            back = profile.epsilon_at(delta)
            assert back <= epsilon + Fraction(1, 10**40)
            assert profile.delta(back) <= delta + Fraction(1, 10**40)
        infinite = profile.infinite
        assert profile.delta(Fraction(60)) == pytest.approx(float(infinite), abs=1e-15)
        if infinite:
            assert profile.epsilon_at(infinite - Fraction(1, 10**30)) is None
            assert ib.audit(weights, query).epsilon_at(infinite / 2) == math.inf


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_delta_is_zero_from_the_tight_epsilon_on(query):
    for weights in matrices(query):
        found = ib.audit(weights, query)
        if found.epsilon < math.inf:
            assert found.delta(found.epsilon) == 0.0 == found.least_delta
            assert found.epsilon_at(0) == pytest.approx(found.epsilon, rel=1e-15)
            assert found.epsilon == 0 or found.delta(found.epsilon * (1 - 1e-9)) > 0


def test_delta_does_not_telescope_along_a_path():
    """Each edge keeps (1, 0.1); both together need more than 0.1 at epsilon 2, and the audit says so."""
    delta, e = Fraction(1, 10), exp_below(Fraction(1))
    second = delta
    third = e * second + delta
    weights = np.array([[1, 1 - second, 1 - third], [0, second, third]], dtype=object)
    path = ib.graph(["none", "one", "two"], [("none", "one"), ("one", "two")])
    for j in (0, 1):
        assert ib.audit(weights[:, j : j + 2], ib.count(1)).delta(1) == pytest.approx(0.1)
    assert ib.audit(weights, ib.count(2)).delta(1) == pytest.approx(0.1)
    assert ib.audit(weights, path).delta(1) == pytest.approx(float(third))
    far = ib.with_neighbours(ib.count(2), ib.Reach(2))
    groups = ib.accounting.group_privacy(1, delta, 2)
    assert groups[0] == 2
    assert groups[1] >= third
    assert ib.audit(weights, far).delta(2) == pytest.approx(float(third)) == pytest.approx(float(groups[1]))


def test_the_price_of_groups_bounds_every_matrix():
    rng = np.random.default_rng(5)
    for _ in range(20):
        weights = rng.integers(0, 9, (4, 4))
        weights[0] += 40 - weights.sum(axis=0)
        epsilon = Fraction(int(rng.integers(0, 20)), 10)
        one = ib.audit(weights, ib.count(3)).profile.delta(epsilon)
        for persons in (2, 3):
            several = ib.audit(weights, ib.with_neighbours(ib.count(3), ib.Reach(persons))).profile
            together = ib.accounting.group_privacy(epsilon, one, persons)
            assert several.delta(together[0]) <= together[1]


def test_groups_of_nobody_and_impossible_prices_are_refused(golden):
    def compute(bad):
        ib.accounting.group_privacy(*bad)

    golden.errors(
        "wrong_groups",
        [
            lambda: compute((-1, 0, 2)),
            lambda: compute((1, 2, 2)),
            lambda: compute((1, "0.1", 0)),
        ],
    )


def test_outputs_that_a_neighbour_cannot_give_count_at_every_epsilon():
    found = ib.audit([["0.75", "0"], ["0.25", "1"]], ib.count(1))
    assert (found.least_delta, found.delta(0), found.delta(1), found.delta(1000)) == (0.75,) * 4
    assert (found.epsilon_at("0.75"), found.epsilon_at("0.74")) == (0.0, math.inf)
    with rejects(ValueError, "delta"):
        found.epsilon_at(2)
    with rejects(ValueError, "epsilon"):
        found.delta(-1)


def test_vast_ratios_keep_their_delta():
    found = ib.audit([["1e-400", "1e-900"], ["1", "1"]], ib.count(1))
    assert found.profile.delta(Fraction(1150)) == pytest.approx(0)
    assert 0 < found.profile.delta(Fraction(1150)) < Fraction(1, 10**400)
    assert found.profile.delta(Fraction(1152)) == 0


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["0", "1/3", "1", "3"]))
def test_floats_only_select_the_pairs_that_are_compared_exactly(seed, text):
    """Entries of all magnitudes: the largest of all pairs' own profiles."""
    rng = np.random.default_rng(seed)
    matrix = rng.random((6, 5)) ** rng.integers(1, 40)
    profile = ib.audit(matrix / matrix.sum(axis=0), ib.category(5)).profile
    pairs = [profile._pair(index) for index in range(20)]
    epsilon = Fraction(text)
    assert profile.delta(epsilon) == max(pair.delta(epsilon) for pair in pairs)
    assert profile.infinite == max(pair.infinite for pair in pairs)
    for delta in (Fraction(0), profile.delta(epsilon), Fraction(1, 10**9)):
        assert profile.epsilon_at(delta) == max(pair.epsilon_at(delta) for pair in pairs)


@pytest.mark.parametrize("made", [
    ib.catalog.truncated_geometric(ib.count(6), "0.5"),
    ib.catalog.randomized_response(ib.category(["a", "b", "c"]), 1),
    ib.catalog.explicit_fair(ib.count(5), "0.7"),
], ids=str)  # fmt: skip
def test_one_answer_composes_to_its_own_profile(made):
    found = ib.audit(made.weights, made.query)
    for epsilon in ("0.1", "0.4"):
        assert compose(made).delta(epsilon) == pytest.approx(found.delta(epsilon), rel=1e-12)


def test_a_library_of_others_finds_the_same_profile():
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    weights = np.array([[70, 20, 1], [20, 60, 19], [10, 20, 80]])
    found = ib.audit(weights, ib.count(2))
    for epsilon in (0.1, 0.5, 1.0, 1.4):
        theirs = 0.0
        for j, k in ((0, 1), (1, 0), (1, 2), (2, 1)):
            upper, lower = ({i: math.log(w / 100) for i, w in enumerate(weights[:, at])} for at in (j, k))
            law = pld.from_two_probability_mass_functions(lower, upper, value_discretization_interval=1e-6)
            theirs = max(theirs, law.get_delta_for_epsilon(epsilon))
        assert found.delta(epsilon) == pytest.approx(theirs, abs=3e-6)


def test_a_profile_too_large_is_refused_in_words(monkeypatch):
    monkeypatch.setattr(profiles, "MOST_TERMS", 10)
    with rejects(TooLarge, about="neighbours"):
        ib.audit(np.eye(4), ib.count(3)).delta(1)


def test_a_matrix_changed_after_its_audit_keeps_its_profile():
    matrix = np.array([[0.75, 0.25], [0.25, 0.75]])
    found = ib.audit(matrix, ib.count(1))
    matrix[:] = 0.5
    assert found.delta(0) == 0.5


@pytest.mark.parametrize("entries", [[[1, 1], [1, 1]], [[3, 1], [1, 3]], [[3, 0], [1, 4]], [[1, 0], [0, 1]]])
def test_a_profile_is_drawn_from_total_variation_to_its_end(entries):
    found = ib.audit(entries, ib.count(1))
    (axis,) = found.plot().axes
    lines = axis.get_lines()
    assert len(lines) == (2 if found.least_delta else 1)
    if found.delta(0) > 0:
        assert lines[0].get_ydata()[0] == found.delta(0)
