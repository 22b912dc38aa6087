"""Entries: what happened to a ledger, one line each, in a chain that no line can be taken from.

    sha256(entry) = SHA-256 of the canonical JSON of the entry, which names the sha256 of the one before

Canonical JSON: keys in order, no spaces, ASCII, whole numbers that may exceed 2^53 as decimal text. The chain shows
that nothing was changed, left out or put in before its head; only a head kept elsewhere shows that nothing was cut
off at the end.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii as quoted
from typing import Any

from inbounds.files import canonical_json

START = "0" * 64
"""What the first entry names as the one before it."""

KINDS = ("ledger", "people", "budget", "charge", "answer")

TEXTS = ("time", "kind", "previous", "sha256")
TEXTS_OR_NONE = ("people", "key", "digest")


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a ledger.

    kind: ledger (the first: `key` is the ledger's id), people (a budget of `units`), budget (raised to `units`),
    charge (`units` spent under `key` for the question with this `digest`), answer (the bytes with this `digest` were
    stored for the charge with this `key`).
    facts: canonical JSON of whatever else is said: purpose and parts of a charge, rule, epsilon and delta of people.
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
        """The canonical JSON of all but its own digest."""
        texts = self.facts, self.previous
        return canonical_entry(
            self.number, self.time, self.kind, self.people, self.units, self.key, self.digest, *texts
        )

    @property
    def parsed_facts(self) -> dict[str, Any]:
        """The facts as plain values."""
        found: dict[str, Any] = json.loads(self.facts)
        return found

    def to_json(self) -> dict[str, Any]:
        """The entry as plain JSON values, its digest among them."""
        return {**json.loads(self.content), "sha256": self.sha256}

    @staticmethod
    def from_row(values: Mapping[str, Any]) -> "Entry":
        """The entry of such values, of their types; whether its digest is right is for the checker to say."""
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
    """The canonical JSON that an entry's digest is of; written out because charging and verifying do little else."""
    return (
        f'{{"digest":{_text(digest)},"facts":{facts},"key":{_text(key)},"kind":{quoted(kind)},"number":{number},'
        f'"people":{_text(people)},"previous":{quoted(previous)},"time":{quoted(time)},'
        f'"units":{_text(None if units is None else str(units))}}}'
    )


def _text(value: str | None) -> str:
    return "null" if value is None else quoted(value)
