"""What a ledger is asked to charge, and the receipts it gives."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from json.encoder import encode_basestring_ascii as quoted
from typing import Any, NamedTuple

from inbounds.exact import Number, to_epsilon
from inbounds.files import canonical_json, sha256_hex
from inbounds.ledger.population import Population, validate_name
from inbounds.ledger.units import Rule, charge_units


class Charge(NamedTuple):
    """A receipt: the charge is durable, and whoever holds this may read the data.

    people: they, right after the charge. amount: exact, in their unit. answer: what was stored for this key before.
    repeated: the charge was there already, and cost nothing now. draw: what was drawn under it before, if the answer
    was not computed yet.
    """

    key: str
    number: int
    sha256: str
    people: Population
    amount: Fraction
    answer: bytes | None = None
    repeated: bool = False
    draw: bytes | None = None


@dataclass(frozen=True)
class StoredAnswer:
    """What may be given out: the stored bytes. drawn: they are those of this call's draw."""

    content: bytes
    charge: Charge
    drawn: bool


PLAIN = (str, int, float, Fraction)


@dataclass(frozen=True, slots=True, eq=False)
class Cost:
    """The epsilons of the parts of a question. texts: their canonical JSON, as the entry has them.

    Prices are told apart by which they are: fractions take longer to compare than all the rest of a request.
    """

    parts: tuple[Fraction, ...]
    texts: str

    @staticmethod
    def from_epsilon(epsilon: Number, parts: Sequence[Number] | None) -> "Cost":
        """The price of a whole in one part, or in parts that add up to it."""
        if parts is None:
            return _in_one_part(epsilon if type(epsilon) in PLAIN else to_epsilon(epsilon))  # type: ignore[arg-type]
        whole, each = to_epsilon(epsilon), tuple(map(to_epsilon, parts))
        if sum(each, Fraction(0)) != whole:
            raise ValueError(f"parts must add up to epsilon {whole}, got {sum(each, Fraction(0))}")
        return Cost.in_parts(each)

    @staticmethod
    def in_parts(parts: tuple[Fraction, ...]) -> "Cost":
        return Cost(parts, canonical_json(list(map(str, parts))))


@lru_cache(maxsize=1024)
def price_units(rule: Rule, price: Cost) -> int:
    """What a price costs under a rule, as `charge_units`."""
    return charge_units(rule, price.parts)


@lru_cache(maxsize=1024, typed=True)
def _in_one_part(epsilon: Any) -> Cost:
    """Most questions cost one of a few prices. Of types that are PLAIN, equal values mean the same."""
    return Cost.in_parts((to_epsilon(epsilon),))


def _as_question(question: Any) -> str:
    """Canonical JSON of plain values; a name that is no text is refused, because JSON would write it as one."""
    text = canonical_json(question)
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
    price: Cost
    key: str
    facts: str
    digest: str

    @staticmethod
    def from_arguments(people: str, price: Cost, key: str, purpose: str, question: Any) -> "ChargeRequest":
        validate_name(people, "people")
        validate_name(key, "key")
        if purpose:
            validate_name(purpose, "purpose")
        why, what, texts = quoted(purpose), "null" if question is None else _as_question(question), price.texts
        asked = f'{{"parts":{texts},"people":{quoted(people)},"purpose":{why},"question":{what}}}'
        return ChargeRequest(people, price, key, f'{{"parts":{texts},"purpose":{why}}}', sha256_hex(asked))
