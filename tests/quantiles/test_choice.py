"""The choice between path scores, the oblivious optimum and the central records, and what it guarantees."""

import math

import numpy as np
import pytest

import inbounds as ib
from inbounds.design.quantiles.choose import ANSWER, PLAIN, SIDED, answers_may_suffice
from inbounds.mechanism.laws import CentralRecords, PermuteAndFlip

from .small import changed, histograms


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
    assert min(choice.errors, key=choice.errors.get) == PLAIN
    assert str(choice).startswith("path scores: ")


def test_few_records_and_little_epsilon_are_answered_by_the_oblivious_optimum():
    choice = ib.design_quantile(ib.median(0, 100, size=2), "0.2")
    assert sees_the_answer_alone(choice.mechanism)
    assert min(choice.errors, key=choice.errors.get) == ANSWER
    assert "oblivious" in str(choice)


@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "2"])
@pytest.mark.parametrize(("size", "width"), [(2, 3), (5, 20), (12, 20)])
def test_without_a_prior_what_is_chosen_errs_on_no_group_of_the_family_much_more_than_plain_path_scores(
    size, width, epsilon
):
    search = ib.QuantileSearch()
    query = ib.median(0, width, size=size)
    chosen, scores = ib.design_quantile(query, epsilon).mechanism, ib.design_permute_flip(query, epsilon)
    groups = search.family(query)
    limits = search.guard * errors_of(scores, groups) + search.negligible
    assert (errors_of(chosen, groups) <= limits + 1e-9).all()


@pytest.mark.parametrize("at", ["0", "1/2", "1"])
@pytest.mark.parametrize("epsilon", ["1/5", "1", "4"])
def test_what_is_chosen_keeps_epsilon_on_all_tiny_groups(at, epsilon):
    query = ib.quantile(at, 0, 3, size=4)
    mechanism = ib.design_quantile(query, epsilon).mechanism
    groups = histograms(4, 3)
    laws = dict(zip(groups, mechanism.probabilities(np.array(groups)), strict=True))
    ratios = [(laws[group] / laws[near]).max() for group in groups for near in changed(group)]
    assert math.log(max(ratios)) <= float(mechanism.epsilon) + 1e-9


def test_a_prior_decides_alone():
    query, middle = ib.median(0, 20, size=10), np.exp(-0.5 * ((np.arange(21) - 10) / 2) ** 2)
    assert isinstance(ib.design_quantile(query, 1).mechanism.law, PermuteAndFlip)
    choice = ib.design_quantile(query, 1, prior=middle)
    assert sees_the_answer_alone(choice.mechanism)
    assert choice.mechanism.loss(prior=middle) == choice.errors[ANSWER] == min(choice.errors.values())


@pytest.mark.parametrize("epsilon", [0.3, 2])
def test_no_oblivious_mechanism_is_below_the_bound_that_rules_it_out(epsilon):
    query = ib.median(0, 8, size=9)
    expected = ib.design_permute_flip(query, epsilon).channel()
    best = ib.optimal(query.as_range_query, epsilon, prior=expected.prior)
    assert best.loss(prior=expected.prior) >= math.exp(-epsilon) * expected.constant_loss() * (1 - 1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1, 3])
def test_limits_that_a_law_over_the_answer_keeps_do_not_rule_it_out(epsilon):
    answers = np.arange(9)
    made = ib.optimal(ib.extreme(0, 8), epsilon), ib.catalog.randomized_response(ib.extreme(0, 8), epsilon)
    for mechanism in made:
        assert answers_may_suffice(answers, mechanism.loss_per_answer("absolute"), epsilon)
    least = math.exp(-epsilon) * 8 / 2
    ends = np.array([0, 8])
    assert answers_may_suffice(ends, np.full(2, least * (1 + 1e-9)), epsilon)
    assert not answers_may_suffice(ends, np.full(2, least * (1 - 1e-9)), epsilon)


def test_an_oblivious_choice_has_a_passport_too(tmp_path):
    mechanism = ib.design_quantile(ib.median(0, 100, size=2), "0.2").mechanism
    mechanism.save(tmp_path / "q.json")
    assert ib.load(tmp_path / "q.json") == mechanism
    assert mechanism.sample([3, 3]) in range(101)


def test_with_a_prior_few_values_are_answered_from_the_central_records_where_that_is_better():
    query, prior = ib.median(1, 3, size=9), [4, 3, 4]
    choice = ib.design_quantile(query, 1, prior=prior)
    assert isinstance(choice.mechanism.law, CentralRecords)
    assert choice.mechanism.law.length > 1
    name = str(choice).partition(":")[0]
    assert "central records" in name
    assert choice.errors[name] == choice.mechanism.loss(prior=prior) == min(choice.errors.values())
    for other in (ib.design_quantile(query, 1), ib.design_quantile(ib.median(1, 3, maximum=9), 1, prior=prior)):
        assert set(other.errors) <= {PLAIN, SIDED, ANSWER}
