"""Compositions of mechanisms with a delta: against enumeration, and against the composition of their promises."""

import math
from fractions import Fraction

import numpy as np
import pytest

import inbounds as ib
from inbounds.accounting import CompositionRecord, group_privacy
from inbounds.accounting.declared_answers import DeclaredAnswer, declared_delta
from inbounds.accounting.pairs import neighbouring_pairs
from inbounds.trusted.bounds import TOTAL
from raising import rejects


@pytest.fixture(scope="module")
def cut():
    """Noise that is cut off, with its delta."""
    at = np.arange(7)
    matrix = np.maximum(0.0, np.exp(-np.abs(at[:, None] - at) / 2) - 0.06)
    matrix /= matrix.sum(axis=0)
    return ib.certify(matrix, ib.count(6), "0.6", delta=ib.audit(matrix, ib.count(6)).delta("0.6"))


def exact_delta(weights, pair, times, epsilon):
    """delta of `times` answers about one pair, over all paths, in floats."""
    p, q = np.ones(1), np.ones(1)
    upper, lower = (weights[:, at] / TOTAL for at in pair)
    for _ in range(times):
        p, q = np.outer(p, upper).ravel(), np.outer(q, lower).ravel()
    return float(np.maximum(0.0, p - np.exp(epsilon) * q).sum())


@pytest.mark.parametrize("times", [1, 2, 4])
def test_a_composition_is_tight_about_one_question_and_never_below_any(cut, times):
    pairs = [(j, k) for j in range(7) for k in (j - 1, j + 1) if 0 <= k < 7]
    one, any_question = (ib.compose(cut, times, same_question=same) for same in (True, False))
    for epsilon in (0.0, 0.6, 1.5, 2.4):
        exact = max(exact_delta(cut.weights, pair, times, epsilon) for pair in pairs)
        assert exact - 1e-9 <= one.delta(epsilon) <= exact * 1.001 + 1e-6
        assert any_question.delta(epsilon) >= exact - 1e-9
    target = one.delta("0.6")
    assert one.epsilon(target) <= 0.6 + 1e-6


@pytest.mark.parametrize("name", ["cut noise", "a threshold"])
def test_googles_accountant_finds_the_same_deltas(cut, name):
    """It rounds each loss up to 1e-4; what only one of two neighbours can give is its mass at infinity."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    mechanism = cut if name == "cut noise" else ib.catalog.threshold(ib.count(9), 1, "1/50")
    times, step, found = 3, 1e-4, {}
    for j, k in neighbouring_pairs(mechanism.query):
        columns = (mechanism.weights[:, x].tolist() for x in (j, k))
        upper, lower = ({i: math.log(w / TOTAL) for i, w in enumerate(column) if w} for column in columns)
        one = pld.from_two_probability_mass_functions(lower, upper, value_discretization_interval=step, symmetric=False)
        for epsilon in (0.5, 1.5):
            for at in (epsilon, epsilon + times * step):
                delta = one.self_compose(times).get_delta_for_epsilon(at)
                found[at] = max(found.get(at, 0.0), delta)
    for epsilon in (0.5, 1.5):
        ours = ib.compose(mechanism, times, same_question=True).delta(epsilon)
        assert found[epsilon + times * step] - 1e-9 <= ours <= found[epsilon] * 1.01


def test_no_composition_promises_less_than_the_sum_or_than_what_leaks(cut):
    composition = ib.compose(cut, 3)
    assert (composition.basic, composition.basic_delta) == (Fraction(9, 5), 3 * cut.delta)
    assert composition.delta(composition.basic) <= float(composition.basic_delta) * (1 + 1e-12)
    assert composition.epsilon(composition.basic_delta) <= float(composition.basic)
    weights = cut.weights
    leak = max(int(weights[weights[:, k] == 0, j].sum()) for j in range(7) for k in (j - 1, j + 1) if 0 <= k < 7)
    with rejects(ValueError, "delta", about="0.0252525"):
        composition.epsilon(Fraction(leak, TOTAL))
    assert leak / TOTAL < composition.delta(50) < 3 * leak / TOTAL + float(cut.delta) / 100


def test_pure_and_leaky_answers_add_up_to_no_more_than_their_promises(cut):
    pure = ib.catalog.truncated_geometric(ib.count(6), "0.3")
    mixed = ib.compose([cut, pure], times=[2, 5])
    for epsilon in ("1/2", "1", "2"):
        promised = declared_delta(
            [DeclaredAnswer(cut.epsilon, 2, cut.delta), DeclaredAnswer(pure.epsilon, 5)], Fraction(epsilon)
        )
        alone = ib.compose(cut, 2).delta(epsilon)
        assert alone - 1e-9 <= mixed.delta(epsilon) <= float(promised) * 1.01


def test_a_record_of_answers_with_deltas_is_checked_again(cut, tmp_path):
    record = CompositionRecord.from_composition(ib.compose(cut, 2), "1/4")
    assert f"({float(cut.epsilon * 2):g}, " in str(record)
    record.save(tmp_path / "together.json")
    assert ib.verify(tmp_path / "together.json").is_valid


def test_persons_together_cost_more_than_the_sum_of_their_deltas(cut):
    epsilon, delta = group_privacy(cut.epsilon, cut.delta, 2)
    two = ib.audit(cut.matrix, ib.with_neighbours(ib.count(6), ib.Reach(2))).delta(epsilon)
    assert float(cut.delta) < two <= float(delta)


def test_declared_answers_follow_the_optimal_composition_of_leaky_responses():
    """One leaky randomized response keeps (e, d) exactly; two of them are enumerated."""
    epsilon, delta = Fraction(1, 2), Fraction(1, 20)
    p = 1 / (1 + np.exp(-0.5))
    law = [(0.05, 0.0), (0.0, 0.05), (0.95 * p, 0.95 * (1 - p)), (0.95 * (1 - p), 0.95 * p)]
    both = np.array([[a * c, b * d] for a, b in law for c, d in law])
    for at in (0.0, 0.3, 1.0):
        exact = float(np.maximum(0, both[:, 0] - np.exp(at) * both[:, 1]).sum())
        ours = declared_delta([DeclaredAnswer(epsilon, 2, delta)], Fraction(str(at)))
        assert abs(float(ours) - exact) < 1e-12
