"""The choice between path scores and the oblivious optimum, and what it guarantees."""

import math

import numpy as np
import pytest

import inbounds as ib
from inbounds.design.quantiles.choose import REGRET
from inbounds.mechanism.laws import CentralRecords, PermuteAndFlip


def errors_of(mechanism, groups):
    query = mechanism.query
    distances = np.abs(np.arange(query.width + 1) - query.true_positions(groups)[:, None])
    return (mechanism.probabilities(groups) * distances).sum(axis=1)


def sees_the_answer_alone(mechanism):
    law = mechanism.law
    return isinstance(law, CentralRecords) and (law.first, law.length) == (mechanism.query.rank, 1)


def test_many_records_are_answered_by_path_scores():
    choice = ib.design_quantile(ib.median(0, 20, size=300), 4)
    assert isinstance(choice.mechanism.law, PermuteAndFlip)
    assert choice.errors[0] <= choice.errors[1]
    assert "path scores" in str(choice)


def test_few_records_and_little_epsilon_are_answered_by_the_oblivious_optimum():
    choice = ib.design_quantile(ib.median(0, 100, size=2), "0.2")
    assert sees_the_answer_alone(choice.mechanism)
    assert choice.errors[1] < choice.errors[0]
    assert "oblivious" in str(choice)


def test_without_a_prior_what_is_chosen_never_loses_much_more_than_path_scores():
    rng = np.random.default_rng(2)
    for size in (2, 5, 12):
        for width in (3, 20):
            for epsilon in ("0.1", "0.5", "2"):
                query = ib.median(0, width, size=size)
                chosen, scores = ib.design_quantile(query, epsilon).mechanism, ib.design_permute_flip(query, epsilon)
                shapes = rng.dirichlet(np.full(width + 1, 0.1), size=100)
                groups = np.array([rng.multinomial(size, shape) for shape in shapes])
                assert (errors_of(chosen, groups) <= REGRET * errors_of(scores, groups)).all()


def test_a_prior_decides_alone():
    query, middle = ib.median(0, 20, size=10), np.exp(-0.5 * ((np.arange(21) - 10) / 2) ** 2)
    assert isinstance(ib.design_quantile(query, 1).mechanism.law, PermuteAndFlip)
    choice = ib.design_quantile(query, 1, prior=middle)
    assert sees_the_answer_alone(choice.mechanism)
    assert choice.mechanism.loss(prior=middle) == choice.errors[1] < choice.errors[0]


@pytest.mark.parametrize("epsilon", [0.3, 2])
def test_no_oblivious_mechanism_is_below_the_bound_that_rules_it_out(epsilon):
    query = ib.median(0, 8, size=9)
    expected = ib.design_permute_flip(query, epsilon).channel()
    best = ib.optimal(query.as_range_query, epsilon, prior=expected.prior)
    assert best.loss(prior=expected.prior) >= math.exp(-epsilon) * expected.constant_loss() * (1 - 1e-9)


def test_an_oblivious_choice_has_a_passport_too(tmp_path):
    mechanism = ib.design_quantile(ib.median(0, 100, size=2), "0.2").mechanism
    mechanism.save(tmp_path / "q.json")
    assert ib.load(tmp_path / "q.json") == mechanism
    assert mechanism.sample([3, 3]) in range(101)


def test_with_a_prior_few_values_are_answered_from_the_central_records_where_that_is_better():
    query, prior = ib.median(1, 3, size=9), [4, 3, 4]
    choice = ib.design_quantile(query, 1, prior=prior)
    assert isinstance(choice.mechanism.law, CentralRecords)
    assert choice.central == choice.mechanism.loss(prior=prior) < min(choice.errors)
    assert "central records" in str(choice)
    assert ib.design_quantile(query, 1).central is None
    assert ib.design_quantile(ib.median(1, 3, maximum=9), 1, prior=prior).central is None
