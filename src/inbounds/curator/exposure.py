"""What accounts that compare notes could know by now (004 §5.3), for the owner.

All accounts that were given one answer hold the same report. So k of them together know what one of them knows:

    now                 the expected loss of the best estimates from one report
    drawn for each      what it would be from k independent reports, as of a curator that draws anew for everybody

and what a coalition holds in all is private at the sum, over different answers, of the largest epsilon in its hands.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

from inbounds.attack import learned
from inbounds.attack.repeated import Learned
from inbounds.curator.designing import Designer
from inbounds.curator.evaluations import DatasetStatus
from inbounds.curator.given import Given
from inbounds.ledger import Ledger, People
from inbounds.mechanism import Mechanism
from inbounds.numbers import all_digits
from inbounds.tables.booking import read

MOST_ENUMERATED = 12
"""Accounts up to which every coalition is looked at; beyond, a bound is stated."""

MOST_ANSWERS = 257
"""Possible answers up to which estimates are computed."""

MOST_QUESTIONS = 50
"""Of the last answers estimates are computed."""


def drew(ledger: Ledger, designer: Designer, key: str, level: Fraction) -> list[Mechanism]:
    """What drew the numbers of a stored answer, at a level where it has levels."""
    charge = ledger.find(key)
    if charge is None or charge.answer is None:
        return []
    record = read(charge.answer)[1]
    if "levels" in record:
        lines = [line for line in record["levels"] if line["level"] == str(level)]
        return [designer.level(line["sha256"], Fraction(line["epsilon"])) for line in lines]
    return designer.mechanisms(sorted({line["sha256"] for line in record["mechanisms"]}))


@dataclass(frozen=True)
class Coalition:
    """The most that any so many accounts hold together. exact: found by looking at all; else no more than this."""

    accounts: int
    epsilon: Fraction
    exact: bool


@dataclass(frozen=True)
class KnownAnswer:
    """What the holders of one answer know. answers: how many true answers are possible. now, drawn_for_each: expected
    absolute errors of their estimates, by the estimate's name; empty where there are too many answers."""

    question: Mapping[str, Any]
    epsilon: Fraction
    accounts: int
    answers: int | None
    now: Mapping[str, float]
    drawn_for_each: Mapping[str, float]


@dataclass(frozen=True)
class Exposure:
    """What any coalition could know by now. accounts: the epsilon of what each holds.

    observations: how often they may have seen one bit beside, because an evaluation failed.
    """

    dataset: str
    observations: int
    people: People
    accounts: Mapping[str, Fraction]
    coalitions: tuple[Coalition, ...]
    questions: tuple[KnownAnswer, ...]

    def plain(self) -> dict[str, Any]:
        """Plain JSON values; epsilons as exact decimals in text."""
        return {
            "dataset": self.dataset,
            "observations": self.observations,
            "people": self.people.plain(),
            "accounts": {name: all_digits(epsilon) for name, epsilon in self.accounts.items()},
            "coalitions": [{**vars(one), "epsilon": all_digits(one.epsilon)} for one in self.coalitions],
            "questions": [{**vars(one), "epsilon": all_digits(one.epsilon)} for one in self.questions],
        }


Held = Mapping[str, Fraction]
"""The stored answers that somebody holds, by their keys, and the epsilon at which each is private."""


def exposed(
    status: DatasetStatus,
    people: People,
    given: Sequence[Given],
    questions: Mapping[str, tuple[Mapping[str, Any], Fraction]],
    drew: Callable[[str, Fraction], list[Mechanism]],
) -> Exposure:
    """From what was given to whom. questions: by key, what was asked and its epsilon. drew: what drew an
    answer, at the level of an epsilon."""
    hands: dict[str, dict[str, Fraction]] = {}
    for one in given:
        own = hands.setdefault(one.account, {})
        epsilon = questions[one.key][1] if one.level is None else Fraction(one.level)
        own[one.key] = max(epsilon, own.get(one.key, Fraction(0)))
    last = list(dict.fromkeys(one.key for one in reversed(given)))[:MOST_QUESTIONS]
    return Exposure(
        status.name,
        status.observations,
        people,
        {name: epsilon_of([own]) for name, own in sorted(hands.items())},
        tuple(_largest(list(hands.values()), k) for k in range(1, len(hands) + 1)),
        tuple(_known(questions[key][0], [own[key] for own in hands.values() if key in own], key, drew) for key in last),
    )


def epsilon_of(hands: Sequence[Held]) -> Fraction:
    """What some accounts hold together is private at this: of every answer the finest, and these add up."""
    together: dict[str, Fraction] = {}
    for own in hands:
        for key, epsilon in own.items():
            together[key] = max(epsilon, together.get(key, Fraction(0)))
    return sum(together.values(), Fraction(0))


def _largest(hands: Sequence[Held], k: int) -> Coalition:
    if len(hands) <= MOST_ENUMERATED:
        return Coalition(k, max(epsilon_of(some) for some in combinations(hands, k)), True)
    alone = sorted((epsilon_of([own]) for own in hands), reverse=True)
    return Coalition(k, min(sum(alone[:k], Fraction(0)), epsilon_of(hands)), k == len(hands))


def _known(
    question: Mapping[str, Any], held: Sequence[Fraction], key: str, drew: Callable[[str, Fraction], list[Mechanism]]
) -> KnownAnswer:
    """The measures of the finest level in the holders' hands; several sizes of groups: of the largest."""
    finest, k = max(held), len(held)
    usable = [made for made in drew(key, finest) if len(made.query.answers) <= MOST_ANSWERS and made.query.ordered]
    if not usable:
        return KnownAnswer(question, finest, k, None, {}, {})
    made = max(usable, key=lambda one: len(one.query.answers))
    one, *more = learned(made, sorted({1, k}), runs=200)
    many = more[0] if more else one
    return KnownAnswer(question, finest, k, len(made.query.answers), _named(one), _named(many))


def _named(row: Learned) -> dict[str, float]:
    return {str(name): loss for name, loss in row.loss.items()}
