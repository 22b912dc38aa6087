"""Checking a ledger: walk the chain, add everything up again, compare with what the ledger says.

Nothing is believed: not the totals, not the digests, not the order. What cannot be seen from a ledger alone is that
its end was cut off, as in an old copy that was restored; a head kept elsewhere shows that.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from os import PathLike
from typing import Any

from inbounds.errors import LedgerError, PassportError
from inbounds.files import content_of, sha256
from inbounds.ledger.amounts import RULES, Rule, allowance, cost
from inbounds.ledger.entries import KINDS, START, Entry
from inbounds.ledger.people import People

FORMAT, VERSION = "inbounds ledger head", 1


@dataclass(frozen=True)
class Head:
    """Where a ledger ended: its id, how many entries, the digest of the last."""

    ledger: str
    entries: int
    sha256: str

    def plain(self) -> dict[str, Any]:
        return {"format": FORMAT, "version": VERSION, **self.__dict__}

    @staticmethod
    def load(path: str | PathLike[str]) -> "Head":
        """A head from the file that `inbounds ledger head --out` wrote."""
        found = content_of(path, "ledger's head")
        try:
            if (found["format"], found["version"]) != (FORMAT, VERSION):
                raise PassportError(f"{path} is not a ledger's head of version {VERSION}")
            return Head(str(found["ledger"]), int(found["entries"]), str(found["sha256"]))
        except (KeyError, TypeError, ValueError):
            raise PassportError(f"{path} is not a ledger's head") from None


@dataclass(frozen=True)
class KeptBytes:
    """What a ledger keeps beside its entries: entry and digest of each answer, in order; charge and digest of draws.

    An export has none of it, only the digests that its entries name.
    """

    answers: Iterable[tuple[int, str]]
    draws: Mapping[int, str]


@dataclass(frozen=True)
class Verified:
    """What was found true of a ledger. waiting: draws whose answers were not computed yet."""

    head: Head
    people: tuple[People, ...]
    charges: int
    answers: int
    compared: Head | None = None
    whole: bool = True
    """Whether the bytes of the answers were there to be checked; an export has only their digests."""
    waiting: int = 0

    def sentences(self) -> list[str]:
        chain = f"{self.head.entries} entries form one chain, which ends in {self.head.sha256}"
        spent = f"{self.charges} charges add up to what is said to be spent, within every budget"
        kept = (
            f"{self.answers} stored answers have {'the digests stated' if self.whole else 'digests'}, each its charge"
        )
        if self.compared is None:
            cut = "no head was compared: only one kept elsewhere can show that the end was not cut off"
        else:
            cut = (
                f"it holds the entry {self.compared.entries} of the head given: nothing up to there was changed or lost"
            )
        several = "draws wait for their answers" if self.waiting > 1 else "draw waits for its answer"
        waiting = [f"{self.waiting} {several}: the same question again computes it"] if self.waiting else []
        return [chain, spent, kept, *waiting, cut]


@dataclass
class _Account:
    """What the entries say, added up as they come."""

    place: str
    id: str = ""
    last: str = START
    count: int = 0
    people: dict[str, People] = field(default_factory=dict)
    spent: dict[str, int] = field(default_factory=dict)
    charged: dict[str, str] = field(default_factory=dict)
    answered: dict[str, tuple[int, str]] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    drawn: dict[int, str] = field(default_factory=dict)

    def wrong(self, entry: Entry, what: str) -> LedgerError:
        return LedgerError(f"{self.place} was changed: entry {entry.number} {what}")

    def take(self, entry: Entry) -> None:
        """One entry: its place in the chain, its digest, its meaning."""
        if entry.number != self.count + 1:
            raise self.wrong(entry, f"follows entry {self.count}")
        if entry.previous != self.last:
            raise self.wrong(entry, "does not name the digest of the one before it")
        if entry.sha256 != sha256(entry.content):
            raise self.wrong(entry, "does not have the digest stated")
        if entry.kind not in KINDS or (entry.kind == "ledger") != (entry.number == 1):
            raise self.wrong(entry, f"cannot be of the kind {entry.kind!r} here")
        try:
            getattr(self, f"_{entry.kind}")(entry)
        except (KeyError, TypeError, ValueError, ZeroDivisionError, AssertionError):
            raise self.wrong(entry, "does not say what an entry of its kind must say") from None
        self.count, self.last = entry.number, entry.sha256

    def _ledger(self, entry: Entry) -> None:
        if not entry.key:
            raise ValueError
        self.id = entry.key

    def _people(self, entry: Entry) -> None:
        said = entry.said
        rule, epsilon, delta = said["rule"], _exact(said["epsilon"]), _exact(said["delta"])
        if entry.people is None or entry.people in self.people or rule not in RULES:
            raise self.wrong(entry, "makes people who are there already, or under no known rule")
        made = People(entry.people, rule, epsilon, delta, entry.units, 0)
        self.people[made.name], self.spent[made.name] = self._allowed(entry, made), 0

    def _budget(self, entry: Entry) -> None:
        before = self.people[_text(entry.people)]
        after = before._replace(epsilon=Fraction(entry.said["epsilon"]), budget_units=entry.units)
        if before.budget_units is None or entry.units is None or entry.units <= before.budget_units:
            raise self.wrong(entry, "does not raise a budget")
        self.people[before.name] = self._allowed(entry, after)

    def _allowed(self, entry: Entry, people: People) -> People:
        """The units of a budget are those of its epsilon and delta under its rule."""
        allowed = None if people.epsilon is None else allowance(people.rule, people.epsilon, people.delta)
        if people.budget_units != allowed:
            raise self.wrong(entry, "gives a budget of other units than its epsilon allows")
        return people

    def _charge(self, entry: Entry) -> None:
        before, key = self.people[_text(entry.people)], _text(entry.key)
        if key in self.charged:
            raise self.wrong(entry, "charges under the key of an earlier one")
        if entry.units != _cost(before.rule, tuple(entry.said["parts"])):
            raise self.wrong(entry, "charges other units than its parts cost")
        self.spent[before.name] += entry.units
        if before.budget_units is not None and self.spent[before.name] > before.budget_units:
            raise self.wrong(entry, "spends more than the budget")
        self.charged[key], self.numbers[key] = before.name, entry.number

    def _answer(self, entry: Entry) -> None:
        key = _text(entry.key)
        if key in self.answered or self.charged.get(key) != entry.people:
            raise self.wrong(entry, "answers without a charge, or a second time")
        self.answered[key] = entry.number, _text(entry.digest)
        if "draw" in entry.said:
            self.drawn[self.numbers[key]] = str(entry.said["draw"])

    def waiting(self, draws: Mapping[int, str]) -> int:
        """Draws without an answer; a `LedgerError` unless all others are those that the answers name."""
        open_charges = {number for key, number in self.numbers.items() if key not in self.answered}
        if {number: digest for number, digest in draws.items() if number not in open_charges} != self.drawn:
            raise LedgerError(f"{self.place} was changed: the stored draws are not those its entries name")
        return len(draws) - len(self.drawn)

    def totals(self) -> list[People]:
        """Everybody with what the charges add up to, in the order of their names."""
        everybody = [who.having_spent(self.spent[name]) for name, who in self.people.items()]
        return sorted(everybody, key=_name)


def verified(
    place: str,
    entries: Iterable[Entry],
    people: Sequence[People],
    kept: KeptBytes | None,
    head: Head | None = None,
) -> Verified:
    """Entries added up anew and compared with the totals, what is kept beside them and a head.

    kept: None where only digests were taken along, as in an exported ledger.
    """
    account, mark = _Account(place), START
    for entry in entries:
        account.take(entry)
        if head is not None and entry.number == head.entries:
            mark = entry.sha256
    if not account.count:
        raise LedgerError(f"{place} has no entries; a ledger has at least its first")
    if account.totals() != sorted(people, key=_name):
        raise LedgerError(f"{place} was changed: what is said to be spent is not what its entries add up to")
    if kept is not None and list(kept.answers) != list(account.answered.values()):
        raise LedgerError(f"{place} was changed: the stored answers are not those its entries name")
    found = Head(account.id, account.count, account.last)
    if head is not None:
        compare(place, found, head, mark)
    counts = len(account.charged), len(account.answered)
    waiting = 0 if kept is None else account.waiting(kept.draws)
    return Verified(found, tuple(account.totals()), *counts, head, kept is not None, waiting)


def compare(place: str, found: Head, head: Head, mark: str) -> None:
    """Whether a ledger that ends in `found` goes on from a head; mark: the digest of its entry of the head's number."""
    if head.ledger != found.ledger:
        raise LedgerError(f"{place} is another ledger than the head given")
    if head.entries > found.entries:
        raise LedgerError(
            f"{place} is older than the head given: it has {found.entries} entries, the head {head.entries}; it was "
            "restored or cut off, and does not know all that was spent"
        )
    if mark != head.sha256:
        raise LedgerError(f"{place} was changed: its entry {head.entries} is not that of the head given")


def read_export(content: Mapping[str, Any], place: str) -> tuple[Iterator[Entry], list[People]]:
    """Entries and people of an exported ledger, none of them believed."""
    try:
        entries = [Entry.of(values) for values in content["entries"]]
        people = [_plain_people(values, content["format"]) for values in content["people"]]
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        raise LedgerError(f"{place} is not a whole exported ledger") from None
    return iter(entries), people


def _plain_people(values: Mapping[str, Any], kind: str) -> People:
    facts = {name: _exact(values[name]) for name in ("epsilon", "delta")}
    units = {name: None if values[name] is None else int(values[name]) for name in ("budget_units", "spent_units")}
    return People(name=str(values["name"]), rule=values["rule"], **facts, **units)  # type: ignore[arg-type]


@lru_cache(maxsize=4096)
def _cost(rule: Rule, parts: tuple[str, ...]) -> int:
    """As `cost`, of the texts in an entry; most charges of a ledger cost one of a few prices. None gives back."""
    each = tuple(map(Fraction, parts))
    if not all(part > 0 for part in each):
        raise ValueError("the parts of a charge must be positive")
    return cost(rule, each)


def _exact(text: str | None) -> Fraction | None:
    return None if text is None else Fraction(text)


def _text(value: str | None) -> str:
    if value is None:
        raise ValueError
    return value


def _name(people: People) -> str:
    return people.name


def exported(head: Head, entries: Iterable[Entry], people: Sequence[People]) -> dict[str, Any]:
    """A ledger as plain JSON values, without the bytes of its answers, for a checker elsewhere."""
    totals = [
        {**who.plain(), "budget_units": _number(who.budget_units), "spent_units": str(who.spent_units)}
        for who in people
    ]
    return {
        "format": "inbounds ledger",
        "version": 1,
        "head": head.plain(),
        "people": totals,
        "entries": [entry.plain() for entry in entries],
    }


def _number(units: int | None) -> str | None:
    return None if units is None else str(units)


def load_export(path: str | PathLike[str], head: Head | None = None) -> Verified:
    """Check an exported ledger as `Ledger.verify` checks the ledger itself."""
    content = content_of(path, "exported ledger")
    if not isinstance(content, dict) or (content.get("format"), content.get("version")) != ("inbounds ledger", 1):
        raise LedgerError(f"{path} is not an exported ledger of version 1")
    entries, people = read_export(content, str(path))
    found = verified(str(path), entries, people, None, head)
    if json.dumps(found.head.plain(), sort_keys=True) != json.dumps(content.get("head"), sort_keys=True):
        raise LedgerError(f"{path} was changed: its head is not that of its entries")
    return found
