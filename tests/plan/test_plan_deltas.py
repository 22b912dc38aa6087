"""Plans with a delta: what they draw at, what they refuse, and what their ledger is charged."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import inbounds as ib
from inbounds.accounting.declared_answers import FACTOR_STEP, DeclaredAnswer, declared_delta, largest_factor
from inbounds.checker.together import delta_together
from inbounds.plan.load import parse_plan
from inbounds.releases.budget import plan_budget
from inbounds.schema.errors import PlanError

COUNTS = [{"count": f"x > {k}", "name": f"above {k}"} for k in range(30)]


def plan_of(privacy: dict[str, Any], groups: dict[str, Any] | None = None, **more: Any):
    content = {
        "groups": {"by": "g", "keys": ["a", "b", "c"], **(groups or {"max_size": 50})},
        "columns": {"x": {"low": 0, "high": 40}},
        "privacy": privacy,
        "statistics": COUNTS,
        **more,
    }
    return parse_plan(content, frame=[])


DELTA = {"epsilon": 1, "delta": "1e-6", "persons": 1000}


def test_statistics_are_drawn_at_the_largest_factor_that_is_private_together():
    plan = plan_of(DELTA)
    assert len(set(plan.epsilons)) == 1
    own = plan.epsilons[0]
    assert own > Fraction(1, 30)
    assert declared_delta([DeclaredAnswer(own, 30)], Fraction(1)) <= plan.delta
    assert declared_delta([DeclaredAnswer(own + FACTOR_STEP / 30, 30)], Fraction(1)) > plan.delta
    assert (plan.total_epsilon, plan.charged_epsilons) == (1, (1,))
    pure = plan_of({"epsilon": 1})
    assert (sum(pure.epsilons), pure.charged_epsilons) == (1, pure.epsilons)


def test_the_places_that_one_change_moves_are_answers_of_their_own():
    once = plan_of(DELTA)
    twice = plan_of({**DELTA, "neighbours": "change one record"})
    persons = plan_of(DELTA, people={"id": "who", "max_records": 2, "max_groups": 2})
    assert once.epsilons[0] < twice.epsilons[0] == persons.epsilons[0]
    assert declared_delta([DeclaredAnswer(twice.epsilons[0] / 2, 60)], Fraction(1)) <= twice.delta


def test_many_answers_gain_as_much_as_the_rules_of_the_checker_allow():
    """Their probabilities are tiny, and their numbers of ways huge: neither may make the other's rounding large."""
    factor = largest_factor([DeclaredAnswer(Fraction(1, 400), 400)], Fraction(1), Fraction(1, 10**6))
    assert factor is not None
    assert factor > Fraction(47, 10)
    scaled = [Fraction(1, 400) * factor] * 400
    assert delta_together(scaled, Fraction(1)) <= Fraction(1, 10**6)
    above = [Fraction(1, 400) * (factor + 10 * FACTOR_STEP)] * 400
    assert delta_together(above, Fraction(1)) > Fraction(1, 10**6)


@pytest.mark.parametrize("number", [1, 2])
def test_a_delta_covers_a_record_that_stays_in_its_group_and_changes_sign(number):
    """It moves one number by 2, as far as a record removed and one added: one loss of epsilon, not two of half."""
    sums = [{"sum": "x", "name": f"s{k}"} for k in range(number)]
    privacy = {"epsilon": 1, "delta": "1/100", "persons": 100, "neighbours": "change one record"}
    plan = plan_of(privacy, {"max_size": 3}, columns={"x": {"low": -1, "high": 1}}, statistics=sums)
    line = plan_budget(plan)[0]
    made = ib.optimal(line.statistic.query(plan.context, 3), line.drawn_at).matrix.T
    worst = 0.0
    for j, k in [(j, j + 2) for j in range(5)] + [(j + 2, j) for j in range(5)]:
        p, q = made[j], made[k]
        for _ in range(number - 1):
            p, q = np.outer(p, made[j]).ravel(), np.outer(q, made[k]).ravel()
        worst = max(worst, float(np.maximum(0, p - math.e * q).sum()))
    assert worst <= plan.delta


def test_one_number_that_a_changed_record_moves_twice_is_one_place():
    kinds = [{"sum": "y"}, {"median": "x"}, {"quantile": "x", "at": "0.9"}, {"sum": "x"}, {"mean": "y"}, {"mode": "c"}]
    columns = {"x": {"low": 0, "high": 40}, "y": {"low": -1, "high": 2}, "c": {"labels": ["p", "q"]}}
    plan = plan_of({**DELTA, "neighbours": "change one record"}, columns=columns, statistics=kinds)
    assert [plan.independent_parts(statistic) for statistic in plan.statistics] == [1, 1, 1, 2, 2, 2]


def test_a_delta_is_at_most_one_over_the_number_of_persons_unless_the_plan_says_otherwise():
    sizes = {"size": [300, 300, 400]}
    for privacy, groups in [({"persons": 1000}, None), ({}, sizes), ({"persons": 1, "allow_large_delta": True}, None)]:
        assert plan_of({"epsilon": 1, "delta": "1/1000", **privacy}, groups).delta == Fraction(1, 1000)
    assert plan_of({"epsilon": 1, "delta": "1/2", "allow_large_delta": True}).summary()["allow_large_delta"]
    for privacy, groups, field in [
        ({"persons": 1001}, None, "delta"),
        ({}, None, "persons"),
        ({"persons": 0}, None, "persons"),
        ({"persons": 5}, sizes, "persons"),
        ({}, {"size": [300, 300, 401]}, "delta"),
    ]:
        with pytest.raises(PlanError) as refused:
            plan_of({"epsilon": 1, "delta": "1/1000", **privacy}, groups)
        assert refused.value.path == ("privacy", field)


@pytest.mark.parametrize(
    ("privacy", "path"),
    [
        ({"delta": 1}, ("privacy", "delta")),
        ({"delta": -1}, ("privacy", "delta")),
        ({"delta": "1e-19"}, ("privacy", "delta")),
        ({"delta": "much"}, ("privacy", "delta")),
        ({"persons": 5}, ("privacy", "persons")),
        ({"allow_large_delta": True}, ("privacy", "allow_large_delta")),
        ({"delta": "1e-6", "allow_large_delta": "yes"}, ("privacy", "allow_large_delta")),
    ],
)
def test_what_makes_no_sense_is_refused_where_it_stands(privacy, path):
    with pytest.raises(PlanError) as refused:
        plan_of({"epsilon": 1, **privacy})
    assert refused.value.path == path


def test_a_statistic_has_no_epsilon_of_its_own_beside_a_delta():
    with pytest.raises(PlanError) as refused:
        plan_of(DELTA, statistics=[{**COUNTS[0], "epsilon": "1/2"}, COUNTS[1]])
    assert refused.value.path == ("statistics", 0, "epsilon")
    shares = plan_of(DELTA, statistics=[{**COUNTS[0], "budget_share": "1/2"}, *COUNTS[1:]]).epsilons
    assert shares[0] == 29 * shares[1]
