"""Requests to charge a ledger, and the receipts it gives."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from json.encoder import encode_basestring_ascii as quoted
from typing import Any, NamedTuple

from inbounds.exact import Number, to_epsilon, to_fraction
from inbounds.files import canonical_json, sha256_hex
from inbounds.ledger.population import Population, validate_name
from inbounds.ledger.units import Rule, charge_units


class Charge(NamedTuple):
    """A receipt: the charge is durable, and its holder may read the data.

    people: the population right after the charge. amount: exact, in its unit. delta: what the answer's own delta cost.
    answer: what was stored for this key before.
    repeated: the charge existed before and cost nothing now. draw: what was drawn under it before, if the answer was
    not computed yet.
    """

    key: str
    number: int
    sha256: str
    people: Population
    amount: Fraction
    delta: Fraction
    answer: bytes | None = None
    repeated: bool = False
    draw: bytes | None = None


@dataclass(frozen=True)
class StoredAnswer:
    """The stored bytes, which may be given out. drawn: whether they are those of this call's draw."""

    content: bytes
    charge: Charge
    drawn: bool


PLAIN = (str, int, float, Fraction)


@dataclass(frozen=True, slots=True, eq=False)
class Cost:
    """The epsilons of the parts of a question, and their delta in all. texts: the parts' canonical JSON, as in entries.

    Costs are compared by identity, because comparing fractions takes longer than the rest of a request.
    """

    parts: tuple[Fraction, ...]
    texts: str
    delta: Fraction = Fraction(0)

    @staticmethod
    def from_epsilon(epsilon: Number, parts: Sequence[Number] | None, delta: Number = 0) -> "Cost":
        """Build the cost of a whole in one part, or in parts that add up to it; raise ValueError if they do not."""
        if delta:
            whole_delta = to_fraction(delta, "delta")
            if not 0 <= whole_delta < 1:
                raise ValueError(f"delta must be at least 0 and below 1, got {delta}")
            return replace(Cost.from_epsilon(epsilon, parts), delta=whole_delta)
        if parts is None:
            return _in_one_part(epsilon if type(epsilon) in PLAIN else to_epsilon(epsilon))  # type: ignore[arg-type]
        whole, part_epsilons = to_epsilon(epsilon), tuple(map(to_epsilon, parts))
        if sum(part_epsilons, Fraction(0)) != whole:
            raise ValueError(f"parts must add up to epsilon {whole}, got {sum(part_epsilons, Fraction(0))}")
        return Cost.in_parts(part_epsilons)

    @staticmethod
    def in_parts(parts: tuple[Fraction, ...]) -> "Cost":
        """Build the cost of these parts."""
        return Cost(parts, canonical_json(list(map(str, parts))))


@lru_cache(maxsize=1024)
def price_units(rule: Rule, price: Cost) -> int:
    """Return the units of a cost under a rule, as `charge_units` does; cached."""
    return charge_units(rule, price.parts)


@lru_cache(maxsize=1024, typed=True)
def _in_one_part(epsilon: Any) -> Cost:
    """Build the cost of one part; cached, because most questions have one of a few costs. Only for types in PLAIN."""
    return Cost.in_parts((to_epsilon(epsilon),))


def _as_question(question: Any) -> str:
    """Return canonical JSON; raise TypeError for keys that are no text, which JSON would turn into text."""
    if question is None:
        return "null"
    text = canonical_json(question)
    if not _has_text_names(question):
        raise TypeError("question must name its values by text, got another name; write it as text")
    return text


def _has_text_names(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(name, str) and _has_text_names(inner) for name, inner in value.items())
    return not isinstance(value, list | tuple) or all(map(_has_text_names, value))


class ChargeRequest(NamedTuple):
    """A question, its people and its cost, and their digest: all that must be equal when a key is used again.

    facts: canonical JSON of delta, edition, parts, purpose and source, as in the entry. digest: of the canonical JSON
    of these, the people and the question. Both are written out by hand, because a charge does little else.
    """

    people: str
    price: Cost
    key: str
    facts: str
    digest: str
    edition: str = ""

    @staticmethod
    def from_arguments(
        people: str, price: Cost, key: str, purpose: str, question: Any, source: str = "", edition: str = ""
    ) -> "ChargeRequest":
        """Validate the arguments and build the request."""
        validate_name(people, "people")
        validate_name(key, "key")
        for name, text in (("purpose", purpose), ("edition", edition)):
            if text:
                validate_name(text, name)
        question_text, texts, purpose_text = _as_question(question), price.texts, quoted(purpose)
        data = f',"source":{quoted(source)}' if source else ""
        named = f'"delta":{quoted(str(price.delta))},' if price.delta else ""
        named += f'"edition":{quoted(edition)},' if edition else ""
        content = (
            f'{{{named}"parts":{texts},"people":{quoted(people)},"purpose":{purpose_text},'
            f'"question":{question_text}{data}}}'
        )
        facts = f'{{{named}"parts":{texts},"purpose":{purpose_text}{data}}}'
        return ChargeRequest(people, price, key, facts, sha256_hex(content), edition)
