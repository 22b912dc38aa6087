"""What accounts that share their answers could know by now (004 §5.3), for the owner.

All accounts with the same answer hold the same report. So k of them together know what one of them knows:

    now             the expected loss of the best estimates from one report
    drawn_for_each  the expected loss from k independent reports, if the curator drew for each account

All answers that a coalition holds are private at the sum, over different answers, of the largest epsilon it holds.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

from inbounds.attack import simulate_collusion
from inbounds.attack.repeated import CollusionResult
from inbounds.curator.design_pool import DesignPool
from inbounds.curator.evaluations import DatasetStatus
from inbounds.curator.issued import IssuedAnswer
from inbounds.exact import format_all_digits
from inbounds.ledger import Ledger, Population
from inbounds.mechanism import Mechanism
from inbounds.releases.charge_session import decode_table

MOST_ENUMERATED = 12
"""Accounts up to which every coalition is enumerated; beyond, a bound is computed."""

MOST_ANSWERS = 257
"""Possible answers up to which estimates are computed."""

MOST_QUESTIONS = 50
"""How many of the last answers get estimates."""


def find_mechanisms_drawn(ledger: Ledger, designer: DesignPool, key: str, level: Fraction) -> list[Mechanism]:
    """Find the mechanisms that drew a stored answer, at one level if it has levels."""
    charge = ledger.find(key)
    if charge is None or charge.answer is None:
        return []
    record = decode_table(charge.answer)[1]
    if "levels" in record:
        lines = [line for line in record["levels"] if line["level"] == str(level)]
        return [designer.level(line["sha256"], Fraction(line["epsilon"])) for line in lines]
    return designer.mechanisms(sorted({line["sha256"] for line in record["mechanisms"]}))


@dataclass(frozen=True)
class Coalition:
    """The largest epsilon that so many accounts hold together. exact: from all subsets; otherwise an upper bound."""

    accounts: int
    epsilon: Fraction
    exact: bool


@dataclass(frozen=True)
class ExposedAnswer:
    """What the holders of one answer know.

    answers: the number of possible true answers. now, drawn_for_each: expected absolute errors of their estimates, by
    the name of the estimate; empty if there are too many answers.
    """

    question: Mapping[str, Any]
    epsilon: Fraction
    accounts: int
    answers: int | None
    now: Mapping[str, float]
    drawn_for_each: Mapping[str, float]


@dataclass(frozen=True)
class Exposure:
    """What any coalition could know by now. accounts: the epsilon of the answers that each holds.

    observations: how often accounts may have seen one more bit, because an evaluation failed.
    """

    dataset: str
    observations: int
    people: Population
    accounts: Mapping[str, Fraction]
    coalitions: tuple[Coalition, ...]
    questions: tuple[ExposedAnswer, ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; epsilons as exact decimals in text."""
        return {
            "dataset": self.dataset,
            "observations": self.observations,
            "people": self.people.to_json(),
            "accounts": {name: format_all_digits(epsilon) for name, epsilon in self.accounts.items()},
            "coalitions": [{**vars(one), "epsilon": format_all_digits(one.epsilon)} for one in self.coalitions],
            "questions": [{**vars(one), "epsilon": format_all_digits(one.epsilon)} for one in self.questions],
        }


Held = Mapping[str, Fraction]
"""The stored answers that an account holds: for each key the epsilon at which it is private."""


def compute_exposure(
    status: DatasetStatus,
    people: Population,
    issued: Sequence[IssuedAnswer],
    questions: Mapping[str, tuple[Mapping[str, Any], Fraction]],
    drew: Callable[[str, Fraction], list[Mechanism]],
) -> Exposure:
    """Compute the exposure from the issued answers.

    questions: for each key the question and its epsilon. drew: returns the mechanisms that drew an answer at a level.
    """
    hands: dict[str, dict[str, Fraction]] = {}
    for one in issued:
        held = hands.setdefault(one.account, {})
        epsilon = questions[one.key][1] if one.level is None else Fraction(one.level)
        held[one.key] = max(epsilon, held.get(one.key, Fraction(0)))
    last = list(dict.fromkeys(one.key for one in reversed(issued)))[:MOST_QUESTIONS]
    return Exposure(
        status.name,
        status.observations,
        people,
        {name: joint_epsilon([held]) for name, held in sorted(hands.items())},
        tuple(_largest(list(hands.values()), k) for k in range(1, len(hands) + 1)),
        tuple(
            _expose_answer(questions[key][0], [held[key] for held in hands.values() if key in held], key, drew)
            for key in last
        ),
    )


def joint_epsilon(hands: Sequence[Held]) -> Fraction:
    """Return the epsilon at which the answers of some accounts are private together: of each answer the largest,
    summed.
    """
    together: dict[str, Fraction] = {}
    for held in hands:
        for key, epsilon in held.items():
            together[key] = max(epsilon, together.get(key, Fraction(0)))
    return sum(together.values(), Fraction(0))


def _largest(hands: Sequence[Held], k: int) -> Coalition:
    if len(hands) <= MOST_ENUMERATED:
        return Coalition(k, max(joint_epsilon(some) for some in combinations(hands, k)), True)
    alone = sorted((joint_epsilon([held]) for held in hands), reverse=True)
    return Coalition(k, min(sum(alone[:k], Fraction(0)), joint_epsilon(hands)), k == len(hands))


def _expose_answer(
    question: Mapping[str, Any], held: Sequence[Fraction], key: str, drew: Callable[[str, Fraction], list[Mechanism]]
) -> ExposedAnswer:
    """Measure the finest level that the holders have; with several group sizes, for the largest."""
    finest, k = max(held), len(held)
    usable = [
        mechanism
        for mechanism in drew(key, finest)
        if len(mechanism.query.answers) <= MOST_ANSWERS and mechanism.query.is_ordered
    ]
    if not usable:
        return ExposedAnswer(question, finest, k, None, {}, {})
    mechanism = max(usable, key=lambda one: len(one.query.answers))
    one, *more = simulate_collusion(mechanism, sorted({1, k}), runs=200)
    many = more[0] if more else one
    return ExposedAnswer(question, finest, k, len(mechanism.query.answers), _format_row(one), _format_row(many))


def _format_row(row: CollusionResult) -> dict[str, float]:
    return {str(name): loss for name, loss in row.loss.items()}
