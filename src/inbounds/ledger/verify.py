"""Verify a ledger: walk the chain, add everything up again, compare with what the ledger states.

Totals, digests and order are all computed again. A ledger alone cannot show that its end was cut off, as in an old copy
that was restored; a head kept elsewhere does.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

from inbounds.errors import LedgerError, PassportError
from inbounds.files import (
    LEDGER,
    LEDGER_HEAD,
    Document,
    FileFormat,
    FileLike,
    Json,
    refuse_unknown_fields,
    sha256_hex,
)
from inbounds.ledger.entries import KINDS, START, Entry
from inbounds.ledger.population import Population, is_edition_of, validate_period
from inbounds.ledger.units import RULES, Rule, budget_units, charge_units

HEAD_FIELDS = dict.fromkeys(("ledger", "entries", "entry_sha256"))
PEOPLE_FIELDS = dict.fromkeys(
    ("name", "budget", "spent", "left", "rule", "unit", "epsilon", "delta", "budget_units", "spent_units",
     "every", "period", "earlier", "earlier_units", "answer_delta", "delta_budget", "delta_spent", "delta_left",
     "delta_budget_units", "delta_spent_units", "delta_earlier_units")
)  # fmt: skip
ENTRY_FIELDS = dict.fromkeys(
    ("number", "time", "kind", "people", "units", "key", "digest", "facts", "previous", "sha256")
)
FACTS = {
    "ledger": {"format", "version"},
    "people": {"rule", "epsilon", "delta", "every", "period", "answer_delta"},
    "budget": {"epsilon", "delta", "purpose"},
    "period": {"period", "purpose"},
    "charge": {"delta", "parts", "purpose", "source", "edition"},
    "draw": set(),
    "answer": set(),
}
"""What an entry of each kind may say beside its fields."""


@dataclass(frozen=True)
class LedgerHead:
    """The end of a ledger: its id, the number of entries, the digest of the last."""

    ledger: str
    entries: int
    sha256: str

    @property
    def content(self) -> Json:
        """The fields of the file."""
        return {"ledger": self.ledger, "entries": self.entries, "entry_sha256": self.sha256}

    def to_document(self) -> Document:
        """Return the head in its envelope, to be kept elsewhere."""
        return Document.wrap(LEDGER_HEAD, self.content)

    def to_json(self) -> Json:
        """Return the same as plain JSON values."""
        return self.to_document().to_json()

    @staticmethod
    def load(file: FileLike) -> "LedgerHead":
        """Read a head from the file that `inbounds ledger head --out` wrote."""
        return HEAD_FILE.read(file)


def head_from_document(document: Document) -> LedgerHead:
    """Return the head that a document states."""
    content = document.content
    refuse_unknown_fields(content, HEAD_FIELDS, "the head")
    ledger, entries, last = (content.get(name) for name in HEAD_FIELDS)
    if not (isinstance(ledger, str) and type(entries) is int and isinstance(last, str)):
        raise PassportError("a ledger's head must have a ledger, a number of entries and the digest of the last")
    return LedgerHead(ledger, entries, last)


HEAD_FILE = FileFormat(LEDGER_HEAD, "ledger's head", head_from_document)


@dataclass(frozen=True)
class StoredContent:
    """What a ledger stores beside its entries: entry and digest of each answer, in order; charge and digest of draws.

    An export has none of it, only the digests in its entries.
    """

    answers: Iterable[tuple[int, str]]
    draws: Mapping[int, str]


@dataclass(frozen=True)
class LedgerReport:
    """The result of a verification. waiting: draws whose answers were not computed yet."""

    head: LedgerHead
    people: tuple[Population, ...]
    charges: int
    answers: int
    compared: LedgerHead | None = None
    whole: bool = True
    """Whether the bytes of the answers were there to be checked; an export has only their digests."""
    waiting: int = 0

    def sentences(self) -> list[str]:
        """Return the result as sentences."""
        chain = f"{self.head.entries} entries form one chain, which ends in {self.head.sha256}"
        spent = f"{self.charges} charges add up to the amounts stated, within every budget"
        answers = (
            f"{self.answers} stored answers have {'the digests stated' if self.whole else 'digests'}, each its charge"
        )
        if self.compared is None:
            cut = "no head was compared: only one kept elsewhere can show that the end was not cut off"
        else:
            cut = (
                f"it holds the entry {self.compared.entries} of the head given: nothing up to there was changed or lost"
            )
        noun = "draws wait for their answers" if self.waiting > 1 else "draw waits for its answer"
        waiting = [f"{self.waiting} {noun}: the same question again computes it"] if self.waiting else []
        return [chain, spent, answers, *waiting, cut]


@dataclass
class _Account:
    """The sums of the entries so far."""

    place: str
    id: str = ""
    last: str = START
    count: int = 0
    people: dict[str, Population] = field(default_factory=dict)
    spent: dict[str, int] = field(default_factory=dict)
    delta_spent: dict[str, int] = field(default_factory=dict)
    charged: dict[str, str] = field(default_factory=dict)
    answered: dict[str, tuple[int, str]] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    drawn: dict[int, str] = field(default_factory=dict)

    def wrong(self, entry: Entry, what: str) -> LedgerError:
        """Build the error about an entry."""
        return LedgerError(f"{self.place} was changed: entry {entry.number} {what}", entry.number)

    def take(self, entry: Entry) -> None:
        """Check one entry: its place in the chain, its digest, its meaning."""
        if entry.number != self.count + 1:
            raise self.wrong(entry, f"follows entry {self.count}")
        if entry.previous != self.last:
            raise self.wrong(entry, "does not name the digest of the entry before it")
        if entry.sha256 != sha256_hex(entry.content):
            raise self.wrong(entry, "does not have the digest stated")
        if entry.kind not in KINDS or (entry.kind == "ledger") != (entry.number == 1):
            raise self.wrong(entry, f"cannot be of the kind {entry.kind!r} here")
        try:
            if not set(entry.parsed_facts) <= FACTS[entry.kind]:
                raise self.wrong(entry, "has a field that no rule knows")
            getattr(self, f"_{entry.kind}")(entry)
        except (KeyError, TypeError, ValueError, ZeroDivisionError, AssertionError):
            raise self.wrong(entry, "lacks a field of its kind, or has a wrong one") from None
        self.count, self.last = entry.number, entry.sha256

    def _ledger(self, entry: Entry) -> None:
        if not entry.key:
            raise ValueError
        self.id = entry.key

    def _people(self, entry: Entry) -> None:
        facts = entry.parsed_facts
        rule, epsilon, delta = facts["rule"], _exact(facts["epsilon"]), _exact(facts["delta"])
        if entry.people is None or entry.people in self.people or rule not in RULES:
            raise self.wrong(entry, "adds people who exist already, or under an unknown rule")
        every, period = facts.get("every"), facts.get("period")
        if (every is None) != (period is None) or (every is not None and epsilon is None):
            raise self.wrong(entry, "adds people whose budget cannot renew")
        if every is not None:
            validate_period(period, every)
        part = _exact(facts.get("answer_delta"))
        if any(one is not None and not 0 < one < 1 for one in (delta, part)) or (part is not None and rule == "sum"):
            raise self.wrong(entry, "adds people with an impossible delta")
        own = _allowed_delta(delta if rule == "sum" else part)
        declared = entry.people, rule, epsilon, delta, entry.units, 0, every, period
        people = Population(*declared, answer_delta=part, delta_budget_units=own)
        self.people[people.name], self.spent[people.name] = self._check_allowance(entry, people), 0
        self.delta_spent[people.name] = 0

    def _budget(self, entry: Entry) -> None:
        before, facts = self.people[_text(entry.people)], entry.parsed_facts
        after = before._replace(epsilon=Fraction(facts["epsilon"]), budget_units=entry.units)
        if "delta" in facts:
            delta = Fraction(facts["delta"])
            if before.rule != "sum" or not 0 < delta < 1:
                raise self.wrong(entry, "raises a delta that is fixed, or cannot be")
            own = before.delta_earlier_units + _allowed_delta(delta)
            after = after._replace(delta=delta, delta_budget_units=own)
        if before.budget_units is None or entry.units is None:
            raise self.wrong(entry, "does not raise a budget")
        rises = entry.units - before.budget_units, after.delta_budget_units - before.delta_budget_units
        if min(rises) < 0 or max(rises) == 0:
            raise self.wrong(entry, "does not raise a budget")
        self.people[before.name] = self._check_allowance(entry, after)

    def _period(self, entry: Entry) -> None:
        name, period = _text(entry.people), entry.parsed_facts["period"]
        before = self.people[name]
        if before.every is None or before.period is None or validate_period(period, before.every) <= before.period:
            raise self.wrong(entry, "opens a period that is not later than the one before")
        own = before.delta if before.rule == "sum" else before.answer_delta
        allowed = 0 if own is None else self.delta_spent[name] + _allowed_delta(own)
        after = before._replace(period=period, earlier_units=self.spent[name], budget_units=entry.units)
        after = after._replace(delta_earlier_units=self.delta_spent[name], delta_budget_units=allowed)
        self.people[name] = self._check_allowance(entry, after)

    def _check_allowance(self, entry: Entry, people: Population) -> Population:
        """Check that the units of a budget are those of its epsilon and delta under its rule."""
        at = None if people.delta is None else people.delta - (people.answer_delta or 0)
        allowed = None if people.epsilon is None else budget_units(people.rule, people.epsilon, at)
        if people.budget_units != (None if allowed is None else people.earlier_units + allowed):
            raise self.wrong(entry, "gives a budget of other units than its epsilon allows")
        return people

    def _charge(self, entry: Entry) -> None:
        before, key = self.people[_text(entry.people)], _text(entry.key)
        if key in self.charged:
            raise self.wrong(entry, "charges under the key of an earlier one")
        if entry.units != _cost(before.rule, tuple(entry.parsed_facts["parts"])):
            raise self.wrong(entry, "charges other units than its parts cost")
        if before.period is not None and not is_edition_of(_text(entry.parsed_facts["edition"]), before.period):
            raise self.wrong(entry, "charges for an edition of another period")
        delta = Fraction(entry.parsed_facts.get("delta", 0))
        if delta < 0:
            raise self.wrong(entry, "charges less than nothing")
        self.delta_spent[before.name] += -(-delta * 10**18 // 1)
        if self.delta_spent[before.name] > before.delta_budget_units:
            raise self.wrong(entry, "spends more than the delta budget")
        self.spent[before.name] += entry.units
        if before.budget_units is not None and self.spent[before.name] > before.budget_units:
            raise self.wrong(entry, "spends more than the budget")
        self.charged[key], self.numbers[key] = before.name, entry.number

    def _answer(self, entry: Entry) -> None:
        key = _text(entry.key)
        if key in self.answered or self.charged.get(key) != entry.people:
            raise self.wrong(entry, "answers without a charge, or a second time")
        self.answered[key] = entry.number, _text(entry.digest)

    def _draw(self, entry: Entry) -> None:
        key = _text(entry.key)
        if key in self.answered or self.charged.get(key) != entry.people or self.numbers[key] in self.drawn:
            raise self.wrong(entry, "draws without a charge, after its answer, or a second time")
        self.drawn[self.numbers[key]] = _text(entry.digest)

    @property
    def waiting(self) -> int:
        """Count the draws without an answer."""
        return len(self.drawn.keys() - {self.numbers[key] for key in self.answered})

    def totals(self) -> list[Population]:
        """Return the populations with the sums of their charges, ordered by name."""
        spent = ((population, self.spent[name], self.delta_spent[name]) for name, population in self.people.items())
        return sorted((population.with_spent(units, deltas) for population, units, deltas in spent), key=_name)


def verify_entries(
    place: str,
    entries: Iterable[Entry],
    people: Sequence[Population],
    stored: StoredContent | None,
    head: LedgerHead | None = None,
) -> LedgerReport:
    """Add up the entries and compare with the totals, with what is stored beside them and with a head.

    stored: None if only digests are known, as in an exported ledger.
    """
    account, mark = _Account(place), START
    for entry in entries:
        account.take(entry)
        if head is not None and entry.number == head.entries:
            mark = entry.sha256
    if not account.count:
        raise LedgerError(f"{place} has no entries; a ledger has at least its first")
    if account.totals() != sorted(people, key=_name):
        raise LedgerError(f"{place} was changed: the amounts spent differ from the sum of its entries")
    if stored is not None and list(stored.answers) != list(account.answered.values()):
        raise LedgerError(f"{place} was changed: the stored answers differ from those that its entries name")
    current = LedgerHead(account.id, account.count, account.last)
    if head is not None:
        compare_heads(place, current, head, mark)
    if stored is not None and stored.draws != account.drawn:
        raise LedgerError(f"{place} was changed: the stored draws differ from those that its entries name")
    counts = len(account.charged), len(account.answered)
    return LedgerReport(current, tuple(account.totals()), *counts, head, stored is not None, account.waiting)


def compare_heads(place: str, current: LedgerHead, head: LedgerHead, mark: str) -> None:
    """Raise LedgerError unless a ledger continues a head; mark: the digest of its entry with the head's number."""
    if head.ledger != current.ledger:
        raise LedgerError(f"{place} is another ledger than the head given")
    if head.entries > current.entries:
        raise LedgerError(
            f"{place} is older than the head given: it has {current.entries} entries, the head {head.entries}; it was "
            "restored or cut off, and does not know all that was spent"
        )
    if mark != head.sha256:
        raise LedgerError(f"{place} was changed: its entry {head.entries} is not that of the head given", head.entries)


def parse_export(content: Mapping[str, Any], place: str) -> tuple[Iterator[Entry], list[Population]]:
    """Entries and people in the content of an exported ledger, none of them checked yet."""
    try:
        entries = [Entry.from_row(values) for values in content["entries"]]
        people = [_plain_people(values) for values in content["people"]]
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        raise LedgerError(f"{place} is not a whole exported ledger") from None
    return iter(entries), people


def _plain_people(values: Mapping[str, Any]) -> Population:
    facts: dict[str, Any] = {name: _exact(values[name]) for name in ("epsilon", "delta")}
    facts |= {name: None if values[name] is None else int(values[name]) for name in ("budget_units", "spent_units")}
    facts |= {name: values[name] for name in ("every", "period") if name in values}
    counts = ("earlier_units", "delta_budget_units", "delta_spent_units", "delta_earlier_units")
    facts |= {name: int(values[name]) for name in counts if name in values}
    facts["answer_delta"] = _exact(values.get("answer_delta"))
    return Population(str(values["name"]), values["rule"], **facts)


def _allowed_delta(delta: Fraction | None) -> int:
    """Return the units of 10^-18 that a declared delta allows, rounded down."""
    return 0 if delta is None else int(delta * 10**18)


@lru_cache(maxsize=4096)
def _cost(rule: Rule, parts: tuple[str, ...]) -> int:
    """Return the units of the texts in an entry, as `charge_units` does; cached, because few costs occur often."""
    epsilons = tuple(map(Fraction, parts))
    if not all(part > 0 for part in epsilons):
        raise ValueError("the parts of a charge must be positive")
    return charge_units(rule, epsilons)


def _exact(text: str | None) -> Fraction | None:
    return None if text is None else Fraction(text)


def _text(value: str | None) -> str:
    if value is None:
        raise ValueError
    return value


def _name(people: Population) -> str:
    return people.name


def export_entries(head: LedgerHead, entries: Iterable[Entry], people: Sequence[Population]) -> Document:
    """Return a ledger in its envelope, without the bytes of its answers, for a checker elsewhere."""
    totals = [
        {
            **population.to_json(),
            "budget_units": _number(population.budget_units),
            "spent_units": str(population.spent_units),
            **({"earlier_units": str(population.earlier_units)} if population.every else {}),
            **(_delta_units(population) if population.delta_budget_units else {}),
        }
        for population in people
    ]
    content = {"head": head.content, "people": totals, "entries": [entry.to_json() for entry in entries]}
    return Document.wrap(LEDGER, content)


def _delta_units(population: Population) -> dict[str, str]:
    counts = {"delta_budget_units": population.delta_budget_units, "delta_spent_units": population.delta_spent_units}
    earlier = {"delta_earlier_units": population.delta_earlier_units} if population.every else {}
    return {name: str(units) for name, units in {**counts, **earlier}.items()}


def _number(units: int | None) -> str | None:
    return None if units is None else str(units)


def load_export(file: FileLike, head: LedgerHead | None = None) -> LedgerReport:
    """Check an exported ledger as `Ledger.verify` checks the ledger itself."""
    return verify_export(EXPORT.load(file), head)


def verify_export(document: Document, head: LedgerHead | None = None) -> LedgerReport:
    """Verify an export that was read."""
    content, place = document.content, str(document.path or "the export")
    known = {"head": HEAD_FIELDS, "people": [PEOPLE_FIELDS], "entries": [ENTRY_FIELDS]}
    refuse_unknown_fields(content, known, "the exported ledger", LedgerError)
    entries, people = parse_export(content, place)
    report = verify_entries(place, entries, people, None, head)
    stated = content.get("head")
    if stated != report.head.content or type(stated["entries"]) is not int:
        raise LedgerError(f"{place} was changed: its head is not that of its entries")
    return report


EXPORT = FileFormat(LEDGER, "exported ledger", verify_export, LedgerError)
