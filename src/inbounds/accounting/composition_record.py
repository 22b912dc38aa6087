"""The record of a composition: which mechanisms answered how often, and what they promise together.

A mechanism's passport is about one answer. A publisher of more answers keeps a record: the passports of all mechanisms,
the number of answers of each, and the composed guarantee. Reading checks everything again: every passport is
certified, the sum and the tight epsilon are recomputed.
"""

import os
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction

from inbounds.accounting.compose import Composition, to_delta
from inbounds.errors import PassportError
from inbounds.exact import Number, to_fraction
from inbounds.files import COMPOSITION, Document, FileFormat, FileLike, Json, as_passport_error, refuse_unknown_fields
from inbounds.mechanism import load
from inbounds.mechanism import passport as passports
from inbounds.trusted.limits import MOST_TIMES

CLOSE = 1e-9
"""The relative difference allowed between tight epsilons, which are floats, on two machines."""


@dataclass(frozen=True)
class CompositionRecord:
    """A composition and its guarantee: `epsilon` at `delta`, and the sum `basic` at delta 0."""

    composition: Composition
    delta: Fraction
    epsilon: float

    @classmethod
    def from_composition(cls, composition: Composition, delta: Number) -> "CompositionRecord":
        return cls(composition, to_fraction(delta, "delta"), composition.epsilon(delta))

    @property
    def basic(self) -> Fraction:
        return self.composition.basic

    @property
    def digests(self) -> tuple[str, ...]:
        """The sha256 digest of each mechanism's passport."""
        return tuple(m.sha256 for m in self.composition.mechanisms)

    def __str__(self) -> str:
        kind = "to the same question" if self.composition.same_question else "about the same people"
        count = self.composition.answers
        subject = f"1 answer {kind} is" if count == 1 else f"{count} answers {kind} are together"
        return (
            f"{subject} {format_upper_bound(float(self.basic))}-private, and "
            f"({format_upper_bound(self.epsilon)}, {float(self.delta)!r})-private"
        )

    def to_document(self) -> Document:
        """The record in its envelope."""
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
        """Write the record; the file appears whole or not at all."""
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
    """Read a record, certify its mechanisms and compute the guarantee anew; any doubt is a `PassportError`."""
    return COMPOSITION_RECORD.read(file)


FIELDS = {
    "members": [dict.fromkeys(("times", "sha256", "passport"))],
    **dict.fromkeys(("same_question", "basic_epsilon", "delta", "epsilon_at_delta", "statement")),
}
"""Every field of a record; the passports in it are read as passports are."""


def composition_from_document(document: Document) -> CompositionRecord:
    """A record from its document, with everything in it computed again."""
    content = document.content
    refuse_unknown_fields(content, FIELDS, "the record")
    with as_passport_error("the record is malformed", "the guarantee cannot be computed"):
        record = _record(content)
        follows = _follows(content, record)
    if not follows:
        raise PassportError("the guarantee does not follow from the mechanisms")
    return replace(record, epsilon=max(record.epsilon, record.composition.epsilon(record.delta)))


COMPOSITION_RECORD = FileFormat(COMPOSITION, "composition record", composition_from_document)


def _record(content: Json) -> CompositionRecord:
    members = tuple(load.load(load.PASSPORT.parse(member["passport"])) for member in content["members"])
    times = tuple(member["times"] for member in content["members"])
    if not all(type(t) is int and t > 0 for t in times) or sum(times) > MOST_TIMES:
        raise ValueError(f"a record must count whole numbers of answers, and at most {MOST_TIMES} of them")
    if not isinstance(content["same_question"], bool):
        raise TypeError("same_question must be true or false")
    delta, claimed = to_fraction(content["delta"], "delta"), float(content["epsilon_at_delta"])
    to_delta(delta)
    return CompositionRecord(Composition(members, times, content["same_question"]), delta, claimed)


def _follows(content: Json, record: CompositionRecord) -> bool:
    """Return whether every stated value follows from the mechanisms; an epsilon larger than necessary is still true."""
    tight = record.composition.epsilon(record.delta)
    return (
        [member["sha256"] for member in content["members"]] == list(record.digests)
        and content["basic_epsilon"] == str(record.basic)
        and content["statement"] == str(record)
        and tight * (1 - CLOSE) <= record.epsilon <= float(record.basic)
    )
