"""SQL queries of a ledger's tables, run inside a transaction."""

import json
import re
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from json.encoder import encode_basestring_ascii as quoted
from typing import Any, NamedTuple

from inbounds.errors import LedgerError
from inbounds.files import sha256_hex
from inbounds.ledger.entries import START, Entry
from inbounds.ledger.population import Every, Population
from inbounds.ledger.store import DamagedNumber, Run
from inbounds.ledger.units import RULES, Rule

PAGE = 10_000
"""Number of entries that are read at once."""

EVERYBODY = (
    "SELECT name, rule, epsilon, delta, budget, spent, every, period, earlier, "
    "answer_delta, delta_budget, delta_spent, delta_earlier FROM people"
)


class LastEntry(NamedTuple):
    """The end of the chain."""

    number: int
    sha256: str


class PopulationState(NamedTuple):
    """A population before a charge, the end of the chain, and the digest of an earlier question under the key."""

    name: str
    rule: Rule
    epsilon: str | None
    delta: str | None
    budget: int | None
    spent: int
    every: Every | None
    period: str | None
    earlier: int
    answer_delta: str | None
    delta_budget: int
    delta_spent: int
    delta_earlier: int
    number: int
    sha256: str
    digest: str | None

    def people(self, spent: int, delta_spent: int) -> Population:
        """Return the population with so many units spent."""
        return population_from_row(*self[:5], spent, *self[6:11], delta_spent, self.delta_earlier)


def population_state(run: Run, name: str, key: str, place: str) -> PopulationState:
    """Read all that a charge needs, in one statement; raise LedgerError if there is no such population."""
    (row,) = run(
        "SELECT name, rule, epsilon, delta, budget, spent, every, period, earlier, "
        "answer_delta, delta_budget, delta_spent, delta_earlier, number, sha256, "
        "(SELECT digest FROM entries WHERE key = ? AND kind = 'charge') "
        "FROM (SELECT number, sha256 FROM entries ORDER BY number DESC LIMIT 1) AS last LEFT JOIN people ON name = ?",
        *(key, name),
    )
    if row[0] is None:
        raise unknown_population_error(name, place)
    return PopulationState(*row)


class StoredCharge(NamedTuple):
    """A charge in the tables: its entry, its population now, what was stored under it, and the end of the chain.

    draw: None if there is an answer, which was computed from it.
    """

    number: int
    sha256: str
    units: int
    delta: Fraction
    people: tuple[Any, ...]
    answer: bytes | None
    draw: bytes | None
    last: LastEntry


def find_charge(run: Run, key: str, place: str) -> StoredCharge | None:
    """Read the charge under a key, in one statement; raise LedgerError if what is stored under it was damaged."""
    rows = run(
        "SELECT own.number, own.sha256, own.units, own.facts, name, rule, epsilon, delta, budget, spent, every, "
        "period, earlier, answer_delta, delta_budget, delta_spent, delta_earlier, "
        "answers.content, stored.digest, CASE WHEN answers.content IS NULL THEN draws.content END, drawn.digest, "
        "last.number, last.sha256 "
        "FROM (SELECT number, sha256 FROM entries ORDER BY number DESC LIMIT 1) AS last CROSS JOIN entries AS own "
        "JOIN people ON people.name = own.people "
        "LEFT JOIN entries AS stored ON stored.key = own.key AND stored.kind = 'answer' "
        "LEFT JOIN entries AS drawn ON drawn.key = own.key AND drawn.kind = 'draw' "
        "LEFT JOIN answers ON answers.entry = stored.number LEFT JOIN draws ON draws.entry = own.number "
        "WHERE own.kind = 'charge' AND own.key = ?",
        key,
    )
    if not rows:
        return None
    number, digest, units, facts, *people, answer, answered, draw, drawn, last, mark = rows[0]
    answer, draw = _checked(answer, answered, number, place), _checked(draw, drawn, number, place)
    delta = Fraction(json.loads(facts).get("delta", 0))
    return StoredCharge(number, digest, units, delta, tuple(people), answer, draw, LastEntry(last, mark))


def _checked(content: Any, digest: str | None, charge: int, place: str) -> bytes | None:
    """Return stored bytes; raise LedgerError unless they are those of which an entry states the digest."""
    if content is None:
        return None
    if sha256_hex(bytes(content)) != digest:
        raise LedgerError(f"{place} was damaged: what is stored for its charge {charge} is not what its entries name")
    return bytes(content)


def last_entry(run: Run) -> LastEntry:
    """Read the end of the chain; for an empty one, the previous digest of a first entry."""
    rows = run("SELECT number, sha256 FROM entries ORDER BY number DESC LIMIT 1")
    return LastEntry(*rows[0]) if rows else LastEntry(0, START)


def digest_at(run: Run, number: int) -> str:
    """Read the digest of the entry with this number; without one, the previous digest of a first entry."""
    rows = run("SELECT sha256 FROM entries WHERE number = ?", number)
    return rows[0][0] if rows else START


def first_key(run: Run) -> str | None:
    """Read the ledger's id; None if it has no entries yet."""
    rows = run("SELECT key FROM entries WHERE number = 1")
    return rows[0][0] if rows else None


def list_populations(run: Run) -> list[Population]:
    """Read all populations, ordered by name."""
    return [population_from_row(*row) for row in run(f"{EVERYBODY} ORDER BY name")]


def find_population(run: Run, name: str) -> Population | None:
    """Read the population of this name; None if there is none."""
    rows = run(f"{EVERYBODY} WHERE name = ?", name)
    return population_from_row(*rows[0]) if rows else None


def require_population(run: Run, name: str, place: str) -> Population:
    """Read the population of this name; raise LedgerError if there is none."""
    population = find_population(run, name)
    if population is None:
        raise unknown_population_error(name, place)
    return population


def unknown_population_error(name: str, place: str) -> LedgerError:
    """Build the error for an unknown population."""
    return LedgerError(f"people must be in the ledger, got {name!r}; inbounds ledger init {place} --people …")


def population_from_row(
    name: str,
    rule: Rule,
    epsilon: str | None,
    delta: str | None,
    budget: int | None,
    spent: int,
    every: Every | None,
    period: str | None,
    earlier: int,
    answer_delta: str | None,
    *delta_units: int,
) -> Population:
    """Build a population from its row; raise DamagedNumber for a value that no ledger stores there."""
    units = spent, earlier, *delta_units, *(() if budget is None else (budget,))
    texts = name, *(one for one in (epsilon, delta, every, period, answer_delta) if one is not None)
    if not all(type(one) is int for one in units) or not all(type(one) is str for one in texts):
        raise DamagedNumber
    if rule not in RULES or (budget is None) != (epsilon is None) or (rule != "sum" and budget and delta is None):
        raise DamagedNumber
    renewal = every, period, earlier
    declared = name, rule, _fraction(epsilon), _fraction(delta)
    return Population(*declared, budget, spent, *renewal, _fraction(answer_delta), *delta_units)


@lru_cache(maxsize=256)
def _fraction(text: str | None) -> Fraction | None:
    try:
        return None if text is None else Fraction(text)
    except ValueError:
        raise DamagedNumber from None


def page_after(run: Run, last: int) -> list[Entry]:
    """Read the next entries after a number. In a damaged file a page may lead back; then reading would never end."""
    rows = run(
        "SELECT number, time, kind, people, units, key, digest, facts, previous, sha256 "
        "FROM entries WHERE number > ? ORDER BY number LIMIT ?",
        *(last, PAGE),
    )
    if not all(before < number for before, number in pairwise([last, *(row[0] for row in rows)])):
        raise DamagedNumber
    return [Entry(*row) for row in rows]


def all_entries(run: Run) -> Iterator[Entry]:
    """Yield every entry."""
    last = 0
    while page := page_after(run, last):
        yield from page
        last = page[-1].number


def charges_about(run: Run, source: str) -> list[tuple[str, str]]:
    """Read the people and the edition of every charge for data at a place."""
    ending = '"source":' + quoted(source) + "}"
    pattern = "%" + re.sub(r"([!%_])", r"!\1", ending)
    rows = run("SELECT people, facts FROM entries WHERE kind = 'charge' AND facts LIKE ? ESCAPE '!'", pattern)
    charges = [(people, json.loads(facts)) for people, facts in rows]
    return [(people, facts.get("edition", "")) for people, facts in charges if facts.get("source") == source]


def draw_under(run: Run, charge: int) -> bytes | None:
    """Read what was drawn under the charge of this number."""
    rows = run("SELECT content FROM draws WHERE entry = ?", charge)
    return bytes(rows[0][0]) if rows else None


def stored_answers(run: Run) -> Iterator[tuple[int, str]]:
    """Yield entry and digest of every stored answer, read one at a time because answers may be large."""
    for (number,) in run("SELECT entry FROM answers ORDER BY entry"):
        ((content,),) = run("SELECT content FROM answers WHERE entry = ?", number)
        yield number, sha256_hex(bytes(content))


def stored_draws(run: Run) -> dict[int, str]:
    """Read the charge and digest of every stored draw, one at a time."""
    charges = [number for (number,) in run("SELECT entry FROM draws ORDER BY entry")]
    return {number: sha256_hex(draw_under(run, number) or b"") for number in charges}
