"""Write and read the record of a composition: how often each mechanism answered, and the composed guarantee.

A mechanism's passport is about one answer. The record of several answers has the passports of all mechanisms, the
number of answers of each, and the composed guarantee. Reading checks everything again: every passport is certified,
the sum and the tight epsilon are recomputed.
"""

import os
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction

from inbounds.accounting.compose import Composition, to_delta
from inbounds.errors import PassportError
from inbounds.exact import Number, round_up_to_float, to_fraction
from inbounds.files import COMPOSITION, Document, FileFormat, FileLike, Json, as_passport_error, refuse_unknown_fields
from inbounds.mechanism import load
from inbounds.mechanism import passport as passports
from inbounds.trusted.limits import MOST_TIMES

CLOSE = 1e-9
"""The relative difference allowed between tight epsilons, which are floats, on two machines."""


@dataclass(frozen=True)
class CompositionRecord:
    """A composition and its guarantee: `epsilon` at `delta`, and the sums of the epsilons and of the deltas."""

    composition: Composition
    delta: Fraction
    epsilon: float

    @classmethod
    def from_composition(cls, composition: Composition, delta: Number) -> "CompositionRecord":
        """Compute the tight epsilon of a composition at delta."""
        return cls(composition, to_fraction(delta, "delta"), composition.epsilon(delta))

    @property
    def basic(self) -> Fraction:
        """Return the sum of the epsilons of all answers."""
        return self.composition.basic

    @property
    def digests(self) -> tuple[str, ...]:
        """Return the sha256 of each mechanism's passport."""
        return tuple(m.sha256 for m in self.composition.mechanisms)

    def __str__(self) -> str:
        kind = "to the same question" if self.composition.same_question else "about the same people"
        count = self.composition.answers
        subject = f"1 answer {kind} is" if count == 1 else f"{count} answers {kind} are together"
        basic, basic_delta = format_upper_bound(float(self.basic)), self.composition.basic_delta
        whole = f"({basic}, {format_upper_bound(round_up_to_float(basic_delta))})" if basic_delta else basic
        return f"{subject} {whole}-private, and ({format_upper_bound(self.epsilon)}, {float(self.delta)!r})-private"

    def to_document(self) -> Document:
        """Return the record in its envelope."""
        members = [
            {"times": t, "sha256": digest, "passport": passports.to_passport(m).to_json()}
            for m, t, digest in zip(self.composition.mechanisms, self.composition.times, self.digests, strict=True)
        ]
        fields: Json = {
            "members": members,
            "same_question": self.composition.same_question,
            "basic_epsilon": str(self.basic),
            "delta": str(self.delta),
            "epsilon_at_delta": repr(self.epsilon),
            "statement": str(self),
        }
        return Document.wrap(COMPOSITION, fields)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the record; the file is written completely or not at all."""
        self.to_document().save(path)


def format_upper_bound(epsilon: float) -> str:
    """Write an epsilon with six significant digits, rounded up so that the statement stays true.

    >>> format_upper_bound(1.00000001), format_upper_bound(0.5), format_upper_bound(12.3456789)
    ('1.00001', '0.5', '12.3457')
    """
    with localcontext() as context:
        context.prec, context.rounding = 6, ROUND_CEILING
        return f"{(+Decimal(repr(epsilon))).normalize():f}"


def load_composition(file: FileLike) -> CompositionRecord:
    """Read a record, certify its mechanisms and compute the guarantee again; raise `PassportError` if it differs."""
    return COMPOSITION_RECORD.read(file)


FIELDS = {
    "members": [dict.fromkeys(("times", "sha256", "passport"))],
    **dict.fromkeys(("same_question", "basic_epsilon", "delta", "epsilon_at_delta", "statement")),
}
"""Every field of a record; the passports in it are read like passport files."""


def composition_from_document(document: Document) -> CompositionRecord:
    """Build a record from its document, and compute everything in it again."""
    content = document.content
    refuse_unknown_fields(content, FIELDS, "the record")
    with as_passport_error("the record is malformed", "the guarantee cannot be computed"):
        record = _parse_record(content)
        is_consistent = _is_consistent(content, record)
    if not is_consistent:
        raise PassportError("the guarantee does not follow from the mechanisms")
    return replace(record, epsilon=max(record.epsilon, record.composition.epsilon(record.delta)))


COMPOSITION_RECORD = FileFormat(COMPOSITION, "composition record", composition_from_document)


def _parse_record(content: Json) -> CompositionRecord:
    members = tuple(load.load(load.PASSPORT.parse(member["passport"])) for member in content["members"])
    times = tuple(member["times"] for member in content["members"])
    if not all(type(t) is int and t > 0 for t in times) or sum(times) > MOST_TIMES:
        raise ValueError(f"a record must count whole numbers of answers, and at most {MOST_TIMES} of them")
    if not isinstance(content["same_question"], bool):
        raise TypeError("same_question must be true or false")
    delta, epsilon = to_fraction(content["delta"], "delta"), float(content["epsilon_at_delta"])
    to_delta(delta)
    return CompositionRecord(Composition(members, times, content["same_question"]), delta, epsilon)


def _is_consistent(content: Json, record: CompositionRecord) -> bool:
    """Return whether every stated value follows from the mechanisms; a larger epsilon than necessary is accepted."""
    tight = record.composition.epsilon(record.delta)
    return (
        [member["sha256"] for member in content["members"]] == list(record.digests)
        and content["basic_epsilon"] == str(record.basic)
        and content["statement"] == str(record)
        and tight * (1 - CLOSE) <= record.epsilon <= max(tight * (1 + CLOSE), float(record.basic))
    )
