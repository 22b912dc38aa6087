"""Levels and coalitions: one chain for all readers, charged once; comparing notes gains nobody more than the charge."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import inbounds as ib
from conftest import Judge
from curator.pupils import account
from inbounds.accounting import make_chain
from inbounds.curator import CuratorUnavailable, Forbidden
from inbounds.curator.exposure import MOST_ENUMERATED, largest_coalitions
from inbounds.query import count
from inbounds.releases.aggregate import TrueAnswers
from inbounds.releases.charge_session import decode_table
from inbounds.releases.levels import LEVEL, ChainedDraw
from inbounds.releases.write import write_release
from inbounds.schema.errors import PlanError
from inbounds.trusted.samplers import seeded_entropy
from raising import raises_at, rejects

LEVELS = {"public": "0.25", "partner": "0.5", "inner": 1}
LIKES = {"count": "likes = 'yes'", "by": ["school"]}


@pytest.fixture
def three(opened):
    """A curator with levels, and an account of each."""
    curator = opened(levels=LEVELS)
    return curator, {name: account(curator, name, "3", name) for name in LEVELS}


def test_each_account_sees_its_own_level_and_all_are_charged_once(three):
    curator, people = three
    answers = {name: curator.ask(own, "pupils", LIKES) for name, own in people.items()}
    assert [answers[name].epsilon for name in LEVELS] == ["0.25", "0.5", "1"]
    assert [answers[name].cost.account for name in LEVELS] == ["0.25", "0.5", "1"]
    assert [answers[name].cost.people for name in LEVELS] == ["1", "0", "0"]
    assert all(len(answer.table["count"]) == 2 for answer in answers.values())
    assert all(LEVEL not in answer.table for answer in answers.values())
    assert curator.people(curator.settings.datasets["pupils"]).spent == 1
    errors = [answers[name].table["count_error"][0] for name in LEVELS]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > errors[-1]


def test_a_chain_whose_table_was_not_made_is_not_drawn_again(three, monkeypatch):
    curator, people = three
    drawn, own = [], ChainedDraw.draw

    def draw(self, *given):
        drawn.append(own(self, *given))
        return drawn[-1]

    def fail(self, rows):
        raise MemoryError

    monkeypatch.setattr(ChainedDraw, "draw", draw)
    with monkeypatch.context() as patch:
        patch.setattr(ChainedDraw, "answers", fail)
        for _ in range(3):
            with pytest.raises(CuratorUnavailable):
                curator.ask(people["inner"], "pupils", LIKES)
    answer = curator.ask(people["inner"], "pupils", LIKES)
    assert len(drawn) == 1
    assert answer.table["count"] == drawn[0][0].tolist()
    assert curator.people(curator.settings.datasets["pupils"]).spent == 1


def test_no_account_chooses_its_level(three):
    curator, people = three
    with raises_at(PlanError, ("epsilon",), about="level"):
        curator.ask(people["public"], "pupils", {**LIKES, "epsilon": 1})
    assert curator.ask(people["public"], "pupils", {**LIKES, "epsilon": "0.25"}).epsilon == "0.25"
    with rejects(ValueError, "level"):
        curator.add_account("eve", {"pupils": None}, levels={"pupils": "root"})


def test_an_account_whose_level_is_no_more_sees_nothing(opened):
    eve = account(opened(levels=LEVELS), "eve", None, "inner")
    with pytest.raises(Forbidden):
        opened(levels={"public": "0.25"}).ask(eve, "pupils", LIKES)


def test_sums_of_levels_are_of_one_level(three):
    curator, people = three
    fine = curator.ask(people["partner"], "pupils", {**LIKES, "by": ["school", "year"]})
    coarse = curator.ask(people["partner"], "pupils", {**LIKES, "by": []})
    assert (coarse.how, coarse.table["count"]) == ("sum", [sum(fine.table["count"])])


def test_what_has_no_chain_is_refused_before_it_is_charged(three):
    curator, people = three
    for question in ({"mean": "age"}, {"median": "age"}, {"crosstab": ["likes", "year"]}):
        with raises_at(PlanError, (), about="levels"):
            curator.ask(people["inner"], "pupils", {**question, "allow_useless": True})
    assert curator.people(curator.settings.datasets["pupils"]).spent == 0


def test_the_chain_that_drew_is_read_by_its_digest(three):
    import json

    curator, people = three
    answer = curator.ask(people["partner"], "pupils", LIKES)
    (line,) = answer.mechanisms
    assert json.loads(curator.mechanism(people["partner"], line["sha256"]))["sha256"] == line["sha256"]


# --- by exact enumeration -----------------------------------------------------------------------------------


def leveled_of(curator, size, epsilons):
    """The chain that the curator draws a count in groups of a size from."""
    asked = curator.price(account(curator, f"of {size}", None, "inner"), "pupils", {"count": "age > 12"})
    ready = curator.designer.design(asked.workload, allow_useless=True)
    return ChainedDraw.from_design(ready.designed, epsilons)


def test_every_coalition_is_private_at_its_largest_epsilon_by_exact_enumeration(opened):
    """The joint law of the reports that the members are given, under every pair of neighbouring answers: no output is
    likelier by more than exp of the largest epsilon among them, which is at most what the people were charged."""
    curator, judge = opened(levels=LEVELS, groups={"max_size": 3}), Judge()
    leveled = leveled_of(curator, 3, [Fraction(1), Fraction(1, 2), Fraction(1, 4)])
    (chain,) = leveled.chains
    for k in (1, 2, 3):
        for members in combinations(range(3), k):
            law = chain.joint(members)
            flat = law.reshape(-1, law.shape[-1])
            largest = max(chain.epsilons[member] for member in members)
            most = judge.exp(largest)[1]
            for one in range(flat.shape[1] - 1):
                for row in flat:
                    assert int(row[one]) <= most * int(row[one + 1])
                    assert int(row[one + 1]) <= most * int(row[one])
            assert largest <= 1


def test_the_stored_table_is_drawn_from_the_chain(opened):
    """Reports of all levels together have the joint law of the chain: a chi-square statistic of 26 degrees of freedom
    is above 121 with a probability below 1e-13, and the seed is fixed."""
    curator = opened(levels=LEVELS, groups={"max_size": 2})
    leveled = leveled_of(curator, 2, [Fraction(1), Fraction(1, 2), Fraction(1, 4)])
    many, rng = 100_000, np.random.default_rng(0)
    draws = seeded_entropy(rng)
    size = leveled.chains[0].first.query.shape[0]
    assert size == 3
    truths = np.full(many, 2)
    asked = replace(leveled.designed.workload, members=(np.arange(many),))
    wide = replace(leveled, designed=replace(leveled.designed, workload=asked))
    one = wide._first(truths, draws)
    two = wide._degrade(0, one, draws)
    three = wide._degrade(1, two, draws)
    seen = np.zeros((size,) * 3)
    np.add.at(seen, (one, two, three), 1)
    law = leveled.chains[0].joint([0, 1, 2])[..., 2]
    expected = many * (law / law.sum()).astype(float)
    statistic = ((seen - expected) ** 2 / expected).sum()
    assert statistic < 121
    wrong = many * (leveled.chains[0].joint([0, 1, 2])[..., 1] / law.sum()).astype(float)
    assert ((seen - wrong) ** 2 / wrong).sum() > 121


def test_a_table_of_levels_has_the_rows_of_every_level(opened):
    curator = opened(levels=LEVELS)
    asked = curator.price(account(curator, "ana", None, "inner"), "pupils", LIKES)
    ready = curator.designer.design(asked.workload, allow_useless=True)
    leveled = ChainedDraw.from_design(ready.designed, [Fraction(1), Fraction(1, 2), Fraction(1, 4)])
    rows = leveled.draw(TrueAnswers((np.array([5, 7]),)), draws=seeded_entropy(np.random.default_rng(0)))
    found = leveled.answers(rows)
    columns = {column.name: list(column.values) for column in found.columns}
    assert columns[LEVEL] == ["1", "1", "1/2", "1/2", "1/4", "1/4"]
    assert columns["school"] == ["north", "south"] * 3
    assert {line["level"] for line in found.levels} == {"1", "1/2", "1/4"}


def test_a_coalition_replayed_from_its_answers_loses_no_more_than_the_charge(three):
    """Of each stored answer the finest level in the members' hands; together at most what the ledger says was spent."""
    curator, people = three
    for question in (LIKES, {"count": "age > 12"}, {"histogram": "likes", "by": ["year"]}):
        for own in people.values():
            curator.ask(own, "pupils", question)
    owner = curator.account(curator.add_account("owner", role="owner"))
    exposure = curator.exposure(owner, "pupils")
    spent = curator.people(curator.settings.datasets["pupils"]).spent
    assert [one.epsilon for one in exposure.coalitions] == [3, 3, 3]
    assert all(one.epsilon <= spent for one in exposure.coalitions)
    assert exposure.accounts == {"public": Fraction(3, 4), "partner": Fraction(3, 2), "inner": 3}


@pytest.mark.parametrize("several", [5, MOST_ENUMERATED + 1])
def test_the_epsilon_of_coalitions_is_that_of_the_definition(several):
    """Of each answer the largest epsilon that a member holds, summed; of many accounts a bound from above."""
    random, names = np.random.default_rng(several), [f"account {k}" for k in range(several)]
    held = {}
    for k in range(20):
        members = [name for name in names if random.random() < 0.4] or names[:1]
        held[f"{k}"] = {name: Fraction(int(random.integers(1, 5)), 7) for name in members}
    alone = {name: sum((own.get(name, 0) for own in held.values()), Fraction(0)) for name in names}
    found = largest_coalitions(held, alone)
    assert [one.accounts for one in found] == list(range(1, several + 1))
    for k, one in enumerate(found[: 3 if several > 5 else None], 1):
        defined = max(
            sum(max(own.get(name, Fraction(0)) for name in some) for own in held.values())
            for some in combinations(names, k)
        )
        assert one.exact == (several == 5)
        assert one.epsilon == defined if one.exact else one.epsilon >= defined
    assert found[-1].epsilon == sum(max(own.values()) for own in held.values())


def test_exposure_says_what_holders_of_one_answer_know_and_would_know_from_draws_of_their_own(curator):
    several = [account(curator, name) for name in ("ana", "bob", "eve")]
    question = {"count": "likes = 'yes'", "by": ["school", "year"], "epsilon": 1}
    for own in several:
        curator.ask(own, "pupils", question)
    owner = curator.account(curator.add_account("owner", role="owner"))
    (known,) = curator.exposure(owner, "pupils").questions
    assert (known.accounts, known.epsilon, known.answers) == (3, 1, 13)
    assert known.now["guess"] > known.drawn_for_each["guess"] > 0
    found = make_chain(count(12), [1]).first.bayes_loss("absolute")
    assert known.now["guess"] == pytest.approx(found, rel=0.02)


def test_exposure_measures_nothing_of_a_quantile_but_counts_its_epsilon(curator, ana):
    curator.ask(ana, "pupils", {"median": "age", "by": ["school"], "epsilon": 1})
    owner = curator.account(curator.add_account("owner", role="owner"))
    exposure = curator.exposure(owner, "pupils")
    (known,) = exposure.questions
    assert (known.epsilon, known.answers, known.now) == (1, None, {})
    assert [one.epsilon for one in exposure.coalitions] == [1]


@pytest.mark.parametrize("levels", [LEVELS, {}])
def test_the_record_that_is_stored_with_an_answer_can_be_verified(opened, tmp_path, levels):
    curator = opened(levels=levels)
    eve = account(curator, "eve", None, "inner") if levels else account(curator, "eve")
    curator.ask(eve, "pupils", LIKES if levels else {**LIKES, "epsilon": "1"})
    ledger = curator._connections.ledger
    (entry,) = [entry for entry in ledger.entries() if entry.kind == "charge"]
    charge = ledger.find(entry.key)
    table, record = decode_table(charge.answer)
    write_release(table, record, tmp_path / "answer.csv")
    found = ib.verify(tmp_path / "answer.csv.release.json")
    assert found.is_valid, found.reason
