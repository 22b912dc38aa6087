"""What a ledger is asked to charge, and the receipts it gives."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from json.encoder import encode_basestring_ascii as quoted
from typing import Any, NamedTuple

from inbounds.files import canonical, sha256
from inbounds.ledger.amounts import Rule, cost
from inbounds.ledger.people import People, as_name
from inbounds.numbers import Number, as_epsilon


class Charge(NamedTuple):
    """A receipt: the charge is durable, and whoever holds this may read the data.

    people: they, right after the charge. amount: exact, in their unit. answer: what was stored for this key before.
    repeated: the charge was there already, and cost nothing now. draw: what was drawn under it before, if the answer
    was not computed yet.
    """

    key: str
    number: int
    sha256: str
    people: People
    amount: Fraction
    answer: bytes | None = None
    repeated: bool = False
    draw: bytes | None = None


@dataclass(frozen=True)
class Answer:
    """What may be given out: the stored bytes. drawn: they are those of this call's draw."""

    content: bytes
    charge: Charge
    drawn: bool


PLAIN = (str, int, float, Fraction)


@dataclass(frozen=True, slots=True, eq=False)
class Price:
    """The epsilons of the parts of a question. texts: their canonical JSON, as the entry has them.

    Prices are told apart by which they are: fractions take longer to compare than all the rest of a request.
    """

    parts: tuple[Fraction, ...]
    texts: str

    @staticmethod
    def of(epsilon: Number, parts: Sequence[Number] | None) -> "Price":
        """The price of a whole in one part, or in parts that add up to it."""
        if parts is None:
            return _in_one_part(epsilon if type(epsilon) in PLAIN else as_epsilon(epsilon))  # type: ignore[arg-type]
        whole, each = as_epsilon(epsilon), tuple(map(as_epsilon, parts))
        if sum(each, Fraction(0)) != whole:
            raise ValueError(f"parts must add up to epsilon {whole}, got {sum(each, Fraction(0))}")
        return Price.in_parts(each)

    @staticmethod
    def in_parts(parts: tuple[Fraction, ...]) -> "Price":
        return Price(parts, canonical(list(map(str, parts))))


@lru_cache(maxsize=1024)
def units_of(rule: Rule, price: Price) -> int:
    """What a price costs under a rule, as `cost`."""
    return cost(rule, price.parts)


@lru_cache(maxsize=1024, typed=True)
def _in_one_part(epsilon: Any) -> Price:
    """Most questions cost one of a few prices. Of types that are PLAIN, equal values mean the same."""
    return Price.in_parts((as_epsilon(epsilon),))


def _as_question(question: Any) -> str:
    """Canonical JSON of plain values; a name that is no text is refused, because JSON would write it as one."""
    text = canonical(question)
    if not _named_by_text(question):
        raise TypeError("question must name its values by text, got another name; write it as text")
    return text


def _named_by_text(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(name, str) and _named_by_text(inner) for name, inner in value.items())
    return not isinstance(value, list | tuple) or all(map(_named_by_text, value))


class ChargeRequest(NamedTuple):
    """What is asked of whom at what price, and its digest: all that must be equal when a key comes again.

    facts: canonical JSON of purpose and parts, as the entry has them. digest: of the canonical JSON of these, the
    people and the question; both written out because a charge does little else.
    """

    people: str
    price: Price
    key: str
    facts: str
    digest: str

    @staticmethod
    def of(people: str, price: Price, key: str, purpose: str, question: Any) -> "ChargeRequest":
        as_name(people, "people")
        as_name(key, "key")
        if purpose:
            as_name(purpose, "purpose")
        why, what, texts = quoted(purpose), "null" if question is None else _as_question(question), price.texts
        asked = f'{{"parts":{texts},"people":{quoted(people)},"purpose":{why},"question":{what}}}'
        return ChargeRequest(people, price, key, f'{{"parts":{texts},"purpose":{why}}}', sha256(asked))
