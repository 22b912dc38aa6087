"""Shuffled reports: the bound is never below the truth, equals the blanket's own number, and needs what it says."""

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from tests.raising import rejects

import inbounds as ib
from inbounds.directed_rounding import exp_below
from inbounds.local.amplification import Pair, ShuffledLaw, amplify, shuffled_law
from inbounds.mechanism.blanket import pairs_of_matrix
from inbounds.mechanism.laws import Response
from inbounds.query import category
from inbounds.trusted.bounds import TOTAL

EPSILONS = [Fraction(0), Fraction(1, 10), Fraction(2, 5)]


def true_delta(mechanism: ib.Mechanism, x: Fraction, reports: int) -> Fraction:
    """The delta of the multiset of reports, from every list of values and every list of outputs."""
    weights = mechanism.weights.tolist()
    outputs, answers = range(len(weights)), range(len(weights[0]))
    laws: dict[tuple[int, ...], Counter[tuple[int, ...]]] = {}
    for values in product(answers, repeat=reports):
        laws[values] = Counter()
        for drawn in product(outputs, repeat=reports):
            weight = 1
            for output, value in zip(drawn, values, strict=True):
                weight *= weights[output][value]
            laws[values][tuple(sorted(drawn))] += weight
    return (
        max(
            sum(
                (max(Fraction(0), Fraction(w) - x * laws[other, *values[1:]][drawn]) for drawn, w in law.items()),
                Fraction(0),
            )
            for values, law in laws.items()
            for other in answers
        )
        / TOTAL**reports
    )


def blanket_delta(pair: Pair, x: Fraction, reports: int) -> Fraction:
    """E max(0, Z_1 + … + Z_n)/n, from every list of summands."""
    law = pair.law
    values = [Fraction(p) - x * Fraction(q) for p, q in zip(law.upper, law.lower, strict=True)]
    atoms = [*zip(values, map(Fraction, law.blanket), strict=True), (Fraction(0), Fraction(law.rest))]
    total = pair.seen_delta(x)
    for chosen in product(atoms, repeat=reports):
        mass = Fraction(1)
        for _, m in chosen:
            mass *= m
        total += max(Fraction(0), sum((z for z, _ in chosen), Fraction(0))) * mass / reports
    return total


@pytest.mark.parametrize("reports", [1, 2, 3])
def test_the_bound_is_never_below_the_truth(reports: int) -> None:
    for mechanism in (
        ib.catalog.randomized_response(category(["a", "b", "c"]), 1),
        ib.catalog.truncated_geometric(ib.ordinal(0, 2), "0.7"),
    ):
        law = shuffled_law(mechanism, reports)
        for epsilon in EPSILONS:
            assert law.delta(epsilon) >= true_delta(mechanism, exp_below(epsilon), reports) > 0


def test_one_report_alone_has_exactly_its_own_delta() -> None:
    mechanism = ib.catalog.truncated_geometric(ib.ordinal(0, 4), "0.7")
    for epsilon in EPSILONS:
        exact = float(true_delta(mechanism, exp_below(epsilon), 1))
        assert exact <= float(shuffled_law(mechanism, 1).delta(epsilon)) <= exact * (1 + 1e-9)


@pytest.mark.parametrize("reports", [1, 2, 4])
def test_the_convolution_is_the_blankets_own_number(reports: int) -> None:
    law = shuffled_law(ib.catalog.truncated_geometric(ib.ordinal(0, 2), "0.7"), reports)
    for pair in law.pairs:
        for epsilon in EPSILONS[1:]:
            x = exp_below(epsilon)
            exact = blanket_delta(pair, x, reports)
            assert exact <= pair.delta(x, reports) <= exact * (1 + Fraction(1, 10**6))
            assert pair.rough_delta(x, reports)[0] >= exact


def test_outputs_that_some_answer_never_gives_are_counted_whole() -> None:
    half, quarter = TOTAL // 2, TOTAL // 4
    weights = np.array([[half, quarter], [half, half], [0, quarter]])
    for pair in map(Pair, pairs_of_matrix(weights)):
        for epsilon in EPSILONS[1:]:
            x = exp_below(epsilon)
            assert blanket_delta(pair, x, 3) <= pair.delta(x, 3) <= blanket_delta(pair, x, 3) * (1 + Fraction(1, 10**6))
    exposed = [pair.exposed for pair in pairs_of_matrix(weights)]
    assert ((Fraction(1, 4), Fraction(0)),) in exposed


def test_laws_that_treat_labels_alike_agree_with_their_matrix() -> None:
    query = category(list("abcde"))
    law = Response(5, TOTAL // 9)
    (pair,), (of_matrix,) = law.blanket_pairs(query), pairs_of_matrix(law.matrix(query))
    sets = ib.local.subset_selection(query, 1).law
    (of_sets,) = sets.blanket_pairs(query)
    holding = sets.design.holding
    held, missed = float(sets.hit / holding), float((1 - sets.hit) / (sets.output_count(query) - holding))
    assert np.isclose(of_sets.blanket.sum() + of_sets.rest, 1)
    assert np.isclose(of_sets.upper.max(), held / missed)
    for epsilon in EPSILONS[1:]:
        x = exp_below(epsilon)
        assert np.isclose(float(Pair(pair).delta(x, 50)), float(Pair(of_matrix).delta(x, 50)), rtol=1e-3)


def test_more_reports_hide_better_and_never_promise_less_than_alone() -> None:
    mechanism = ib.catalog.randomized_response(category(list("abcd")), 2)
    found = [amplify(mechanism, reports, "1e-6") for reports in (1, 100, 2_000)]
    epsilons = [one.epsilon for one in found]
    assert epsilons == sorted(epsilons, reverse=True)
    assert epsilons[0] <= Fraction(found[0].local_epsilon)
    assert epsilons[2] < Fraction(1, 3)
    law = shuffled_law(mechanism, 100)
    assert law.delta(epsilons[1]) <= Fraction(1, 10**6) < law.delta(epsilons[1] * Fraction(99, 100))
    assert law.delta(Fraction(3)) == 0


def test_the_worst_pair_of_values_decides() -> None:
    law = shuffled_law(ib.catalog.truncated_geometric(ib.ordinal(0, 3), "0.4"), 30)
    each = [ShuffledLaw((pair,), 30, law.local_epsilon).epsilon(Fraction(1, 10**4)) for pair in law.pairs]
    assert law.epsilon(Fraction(1, 10**4)) == pytest.approx(max(each), rel=2e-4)


def test_the_promise_names_what_it_rests_on() -> None:
    text = str(amplify(ib.catalog.randomized_response(category(["a", "b"]), 1), 1000, "1e-6"))
    for words in ("1000 or more people", "once each", "only the shuffled reports", "without a shuffler"):
        assert words in text


def test_wrong_requests_are_refused() -> None:
    mechanism = ib.catalog.randomized_response(category(["a", "b"]), 1)
    with rejects(ValueError, "delta"):
        amplify(mechanism, 100, 0)
    with rejects(ValueError, "delta"):
        amplify(mechanism, 100, 1)
    with rejects(ValueError, "reports"):
        amplify(mechanism, 0, "1e-6")
    with rejects(ValueError, "reports"):
        amplify(mechanism, 10**9 + 1, "1e-6")
    with rejects(TypeError, "mechanism"):
        amplify("median", 100, "1e-6")  # type: ignore[arg-type]
    with rejects(ib.TooLarge):
        next(pairs_of_matrix(np.ones((1024, 1024), dtype=np.int64)))
