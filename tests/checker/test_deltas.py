"""Records of plans with a delta: what no plan, account or number of persons allows is refused, also in the browser."""

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from fractions import Fraction
from typing import Any

import pytest

import inbounds as ib
from checker.forgeries import Forgery, Original
from checker.plans import plan_of
from checker.released import Published, publish, sign
from inbounds.accounting.declared_answers import FACTOR_STEP, MOST_ANSWERS, DeclaredAnswer, declared_delta
from inbounds.checker import account, check_record
from inbounds.checker.passports import connect
from inbounds.checker.plan import read_plan
from inbounds.checker.statement import format_statement
from inbounds.checker.together import delta_together, enclose_exp
from inbounds.errors import PassportError
from inbounds.plan.load import parse_plan
from raising import rejects

STATISTICS: list[dict[str, Any]] = [
    {"count": "x > 3", "name": "n", "budget_share": "1/2"},
    *({"count": f"x = {k}", "name": f"is {k}"} for k in range(4)),
]
DELTAS = {"privacy": {"epsilon": 2, "delta": "1/100", "persons": 100}}

MOVED_TWICE: list[dict[str, Any]] = [{"sum": "y", "budget_share": "1/2"}, {"median": "x"}]
"""One number of each is moved twice by a changed record that stays in its group."""

CHANGED = {"privacy": {**DELTAS["privacy"], "neighbours": "change one record"}}


@pytest.fixture(scope="module")
def published_delta(tmp_path_factory, designs) -> Published:
    plan = plan_of(STATISTICS, "at most", **DELTAS)
    found = publish(tmp_path_factory.mktemp("deltas"), plan, cache=designs)
    assert ib.verify(found.record, passports=found.passports).is_valid
    return found


@pytest.fixture(scope="module")
def with_delta(published_delta) -> Original:
    return Original.read(published_delta.record, published_delta.table)


def lies(original: Original) -> Iterator[Forgery]:
    """Records in which everything but the named lie fits together."""
    changes: dict[str, Callable[[Any], object]] = {
        "a larger factor": lambda lie: _scale(lie, range(5), FACTOR_STEP),
        "one statistic at a larger factor": lambda lie: _scale(lie, [0], FACTOR_STEP),
        "a smaller delta": lambda lie: _set_delta(lie, Fraction(1, 200)),
        "no delta": lambda lie: _set_delta(lie, None),
        "a delta of 1": lambda lie: _set_delta(lie, Fraction(1)),
        "more persons": lambda lie: lie["plan"].update(persons=101),
        "no number of persons": lambda lie: lie["plan"].pop("persons"),
        "another delta beside the epsilon": lambda lie: lie["epsilon"].update(delta="1/200"),
        "an epsilon of its own": lambda lie: lie["plan"]["statistics"][1].update(epsilon="1/4"),
        "less spent": lambda lie: lie["epsilon"].update(spent="1"),
    }
    for name, change in changes.items():
        lie = deepcopy(original.record)
        change(lie)
        yield Forgery(name, sign(lie), original.table)


def _scale(lie: Any, places: Any, more: Fraction) -> None:
    factor = Fraction(lie["account"][0]["spent"])  # its part of epsilon 2 is 1
    for k in places:
        line = lie["account"][k]
        spent = Fraction(line["spent"]) * (factor + more) / factor
        drawn = Fraction(line["draw_epsilon"]) * spent / Fraction(line["spent"])
        line |= {"spent": str(spent), "draw_epsilon": str(drawn)}
        for made in lie["mechanisms"]:
            if made["statistic"] == line["statistic"]:
                made["epsilon"] = str(drawn)


def _set_delta(lie: Any, delta: Fraction | None) -> None:
    for part in (lie["plan"], lie["epsilon"]):
        part.pop("delta")
        part |= {} if delta is None else {"delta": str(delta)}
    if delta is None:
        del lie["plan"]["persons"]
    try:
        lie["statement"] = format_statement(read_plan(lie["plan"], lie["groups"]), Fraction(lie["epsilon"]["spent"]))
    except PassportError:
        assert delta == 1


def test_no_lie_about_a_delta_passes_the_rules(with_delta, subtests):
    check_record(sign(with_delta.record))
    for lie in lies(with_delta):
        with subtests.test(lie.name), pytest.raises(PassportError):
            check_record(lie.record)


@pytest.fixture(scope="module")
def moved_twice(tmp_path_factory, designs) -> Original:
    plan = plan_of(MOVED_TWICE, "at most", **CHANGED)
    found = publish(tmp_path_factory.mktemp("twice"), plan, cache=designs)
    assert ib.verify(found.record, passports=found.passports).is_valid
    return Original.read(found.record, found.table)


def lies_about_numbers_moved_twice(original: Original) -> Iterator[Forgery]:
    """Records drawn at more than is private if one change may move one number twice, and not two numbers once."""
    for name, places in {"both": range(2), "the sum": [0]}.items():
        lie = deepcopy(original.record)
        _scale(lie, places, FACTOR_STEP)
        yield Forgery(f"a larger factor of {name}", sign(lie), original.table)


def test_a_number_that_one_change_moves_twice_is_one_answer(moved_twice):
    check_record(sign(moved_twice.record))
    for lie in lies_about_numbers_moved_twice(moved_twice):
        with pytest.raises(PassportError):
            check_record(lie.record)


def test_a_passport_with_a_delta_of_its_own_never_belongs_to_a_record(with_delta, published_delta):
    lines = check_record(sign(with_delta.record)).lines
    passports = {file.name: json.loads(file.read_text("utf-8")) for file in published_delta.passports}
    assert connect(lines, passports).missing == ()
    for passport in passports.values():
        passport["content"]["law"] = {"approximate": {"delta": "1/2", "matrix": []}}
    with pytest.raises(PassportError):
        connect(lines, passports)


def test_the_rules_bound_a_delta_no_higher_than_a_release_does_and_no_lower_than_it_is(subtests):
    cases = {
        "one": [Fraction(3, 2)],
        "alike": [Fraction(1, 5)] * 20,
        "of a common unit": [Fraction(1, 2), Fraction(1, 3), Fraction(1, 3), Fraction(1, 7)],
        "without a common unit": [Fraction(k + 7, 9973) for k in range(8)] + [Fraction(1, 3)],
    }
    for name, epsilons in cases.items():
        for epsilon in (Fraction(0), Fraction(1, 3), sum(epsilons) * Fraction(3, 4)):
            exact = _enumerated(epsilons, float(epsilon))
            ours = delta_together(epsilons, epsilon)
            theirs = declared_delta([DeclaredAnswer(one) for one in epsilons], epsilon)
            with subtests.test(f"{name}, {epsilon}"):
                assert exact * (1 - 1e-9) - 1e-15 <= float(ours) <= exact * 1.02 + 1e-15
                assert ours <= theirs


def _enumerated(epsilons: list[Fraction], epsilon: float) -> float:
    """delta over all signs of the losses, in floats."""
    import numpy as np

    losses, masses = np.zeros(1), np.ones(1)
    for one in map(float, epsilons):
        p = 1 / (1 + np.exp(-one))
        losses, masses = np.concatenate([losses + one, losses - one]), np.concatenate([masses * p, masses * (1 - p)])
    return float((masses * np.maximum(0, 1 - np.exp(np.minimum(0, epsilon - losses)))).sum())


def test_more_numbers_than_are_counted_together_must_add_up(with_delta, monkeypatch):
    assert check_record(sign(with_delta.record)).plan.delta
    monkeypatch.setattr(account, "MOST_TOGETHER", 4)
    with rejects(PassportError, about="add up"):
        check_record(sign(with_delta.record))


def test_a_person_in_very_many_groups_has_epsilons_that_add_up():
    plan = plan_of(STATISTICS, "at most", **DELTAS)
    groups = {"by": "g", "keys": [str(k) for k in range(MOST_ANSWERS)], "max_size": 3}
    parsed = parse_plan({**plan, "groups": groups, "people": {"id": "who", "max_groups": MOST_ANSWERS}}, frame=())
    assert sum(parsed.epsilons) == parsed.epsilon


def test_exponentials_of_the_rules_are_enclosed():
    import mpmath

    for x in (Fraction(0), Fraction(1, 3), Fraction(-5, 2), Fraction(40), Fraction(-64)):
        low, high = enclose_exp(x)
        with mpmath.workdps(120):
            exact = mpmath.exp(mpmath.mpf(x.numerator) / x.denominator) * mpmath.mpf(2) ** 256
            assert low <= exact <= high
            assert (high - low) <= 1 + exact * mpmath.mpf(2) ** -200
