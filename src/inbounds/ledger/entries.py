"""Entries: what happened to a ledger, one line each, in a chain of digests.

    sha256(entry) = SHA-256 of the canonical JSON of the entry, which contains the sha256 of the previous one

Canonical JSON: sorted keys, no spaces, ASCII, whole numbers that may exceed 2^53 as decimal text. The chain shows that
nothing before its head was changed, removed or inserted. Only a head that is kept elsewhere shows that the end was not
cut off.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii as quoted
from typing import Any

from inbounds.files import canonical_json

START = "0" * 64
"""The previous digest of the first entry."""

KINDS = ("ledger", "people", "budget", "period", "charge", "draw", "answer")

TEXTS = ("time", "kind", "previous", "sha256")
TEXTS_OR_NONE = ("people", "key", "digest")


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a ledger.

    kind: ledger (the first; `key` is the ledger's id), people (a budget of `units`), budget (raised to `units`), period
    (a renewed budget: with it `units` may be spent in all), charge (`units` spent under `key` for the question with
    this `digest`), draw and answer (the bytes with this `digest` were stored for the charge with this `key`).

    facts: canonical JSON of all other facts: purpose, parts, source and edition of a charge; rule, epsilon, delta and
    period of people.
    """

    number: int
    time: str
    kind: str
    people: str | None
    units: int | None
    key: str | None
    digest: str | None
    facts: str
    previous: str
    sha256: str = ""

    @property
    def content(self) -> str:
        """Return the canonical JSON of all fields but the digest."""
        texts = self.facts, self.previous
        return canonical_entry(
            self.number, self.time, self.kind, self.people, self.units, self.key, self.digest, *texts
        )

    @property
    def parsed_facts(self) -> dict[str, Any]:
        """Return the facts as plain values."""
        facts: dict[str, Any] = json.loads(self.facts)
        return facts

    def to_json(self) -> dict[str, Any]:
        """Return the entry as plain JSON values, with its digest."""
        return {**json.loads(self.content), "sha256": self.sha256}

    @staticmethod
    def from_row(values: Mapping[str, Any]) -> "Entry":
        """Build an entry from plain values; raise TypeError for wrong types. The digest is not checked here."""
        if not (type(values["number"]) is int and all(isinstance(values[name], str) for name in TEXTS)):
            raise TypeError("an entry must have a whole number, and texts")
        if not all(values[name] is None or isinstance(values[name], str) for name in TEXTS_OR_NONE):
            raise TypeError("an entry must have texts, or none")
        units = None if values["units"] is None else int(values["units"])
        texts = {name: values[name] for name in (*TEXTS, *TEXTS_OR_NONE)}
        return Entry(number=values["number"], units=units, facts=canonical_json(values["facts"]), **texts)


def canonical_entry(
    number: int,
    time: str,
    kind: str,
    people: str | None,
    units: int | None,
    key: str | None,
    digest: str | None,
    facts: str,
    previous: str,
) -> str:
    """Write the canonical JSON that an entry's digest is of; by hand, because charging does little else."""
    return (
        f'{{"digest":{_text(digest)},"facts":{facts},"key":{_text(key)},"kind":{quoted(kind)},"number":{number},'
        f'"people":{_text(people)},"previous":{quoted(previous)},"time":{quoted(time)},'
        f'"units":{_text(None if units is None else str(units))}}}'
    )


def _text(value: str | None) -> str:
    return "null" if value is None else quoted(value)
