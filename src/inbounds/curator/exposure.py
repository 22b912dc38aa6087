"""What accounts that share their answers could know by now (004 §5.3), for the owner.

All accounts with the same answer hold the same output. So k of them together know what one of them knows:

    now             the expected loss of the best estimates from one output
    drawn_for_each  the expected loss from k independent outputs, if the curator drew for each account

All answers that a coalition holds are private at the sum, over different answers, of the largest epsilon it holds.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any, NamedTuple

from inbounds.attack import simulate_collusion
from inbounds.attack.repeated import CollusionResult
from inbounds.curator.design_pool import DesignPool
from inbounds.curator.evaluations import DatasetStatus
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

MOST_KEPT = 20 * MOST_QUESTIONS
"""Estimates that are kept in memory, so that only those of new answers are computed."""


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


class AnswerEstimates(NamedTuple):
    """The number of possible true answers, and what holders know of one: see `ExposedAnswer`."""

    answers: int | None
    now: Mapping[str, float]
    drawn_for_each: Mapping[str, float]


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


Held = Mapping[str, Mapping[str, Fraction]]
"""For each stored answer the accounts that hold it, each with the epsilon at which it is private."""


def compute_exposure(
    status: DatasetStatus,
    people: Population,
    held: Held,
    questions: Mapping[str, Mapping[str, Any]],
    expose: Callable[[str, Fraction, int], AnswerEstimates],
) -> Exposure:
    """Compute the exposure from the issued answers; the time is linear in their number.

    questions: the last ones, by key. expose: returns what so many holders of an answer know at a level.
    """
    accounts: dict[str, Fraction] = {}
    for holders in held.values():
        for name, epsilon in holders.items():
            accounts[name] = accounts.get(name, Fraction(0)) + epsilon
    return Exposure(
        status.name,
        status.observations,
        people,
        dict(sorted(accounts.items())),
        largest_coalitions(held, accounts),
        tuple(_expose_answer(question, key, held[key], expose) for key, question in questions.items()),
    )


def _expose_answer(
    question: Mapping[str, Any],
    key: str,
    holders: Mapping[str, Fraction],
    expose: Callable[[str, Fraction, int], AnswerEstimates],
) -> ExposedAnswer:
    """Measure the finest level that the holders have."""
    finest, count = max(holders.values()), len(holders)
    return ExposedAnswer(question, finest, count, *expose(key, finest, count))


def largest_coalitions(held: Held, accounts: Mapping[str, Fraction]) -> tuple[Coalition, ...]:
    """Return for each number of accounts the largest epsilon that so many hold together.

    That is, summed over answers, the largest epsilon at which one of them holds it. accounts: what each holds alone.
    """
    whole = sum((max(holders.values()) for holders in held.values()), Fraction(0))
    if len(accounts) > MOST_ENUMERATED:
        alone = accumulate(sorted(accounts.values(), reverse=True))
        return tuple(Coalition(k, min(some, whole), k == len(accounts)) for k, some in enumerate(alone, 1))
    unseen = _unseen_weights(held, {name: 1 << k for k, name in enumerate(accounts)})
    best = [Fraction(0)] * (len(accounts) + 1)
    everybody = len(unseen) - 1
    for some in range(len(unseen)):
        best[some.bit_count()] = max(best[some.bit_count()], whole - unseen[everybody ^ some])
    return tuple(Coalition(k, epsilon, True) for k, epsilon in enumerate(best) if k)


def _unseen_weights(held: Held, bits: Mapping[str, int]) -> list[Fraction]:
    """Return for each set of accounts how much epsilon only its members hold; a set is a sum of bits.

    An answer that is held at several epsilons counts in steps: each step for those who hold it at that epsilon or more.
    """
    steps = Counter[tuple[int, Fraction]]()
    for holders in held.values():
        members = 0
        ordered = sorted(set(holders.values()), reverse=True)
        for epsilon, lower in zip(ordered, [*ordered[1:], Fraction(0)], strict=True):
            members |= sum(bits[name] for name, own in holders.items() if own == epsilon)
            steps[members, epsilon - lower] += 1
    weights = [Fraction(0)] * (1 << len(bits))
    for (members, epsilon), times in steps.items():
        weights[members] += times * epsilon
    for bit in bits.values():
        for some in range(len(weights)):
            if some & bit:
                weights[some] += weights[some ^ bit]
    return weights


def estimate_answer(drew: Sequence[Mechanism], holders: int) -> AnswerEstimates:
    """Measure what the holders of an answer know; with several group sizes, for the largest."""
    usable = [one for one in drew if len(one.query.answers) <= MOST_ANSWERS and one.query.is_ordered]
    if not usable:
        return AnswerEstimates(None, {}, {})
    mechanism = max(usable, key=lambda one: len(one.query.answers))
    one, *more = simulate_collusion(mechanism, sorted({1, holders}), runs=200)
    many = more[0] if more else one
    return AnswerEstimates(len(mechanism.query.answers), _format_row(one), _format_row(many))


def _format_row(row: CollusionResult) -> dict[str, float]:
    return {str(name): loss for name, loss in row.loss.items()}
