"""What the tables of a ledger say, read inside a transaction."""

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from inbounds.errors import LedgerError
from inbounds.files import sha256_hex
from inbounds.ledger.entries import START, Entry
from inbounds.ledger.population import Population
from inbounds.ledger.store import Run
from inbounds.ledger.units import Rule

PAGE = 10_000
"""Entries that are read at once."""

EVERYBODY = "SELECT name, rule, epsilon, delta, budget, spent FROM people"


class LastEntry(NamedTuple):
    """The end of the chain."""

    number: int
    sha256: str


class PopulationState(NamedTuple):
    """Where people stand before a charge, as the tables have it: people, the end of the chain, and what was asked
    under the charge's key before, if anything was.
    """

    name: str
    rule: Rule
    epsilon: str | None
    delta: str | None
    budget: int | None
    spent: int
    number: int
    sha256: str
    digest: str | None

    def people(self, spent: int) -> Population:
        """They, having spent so much."""
        return Population(self.name, self.rule, _fraction(self.epsilon), _fraction(self.delta), self.budget, spent)


def population_state(run: Run, name: str, key: str, place: str) -> PopulationState:
    """All that a charge must know, in one statement."""
    (row,) = run(
        "SELECT name, rule, epsilon, delta, budget, spent, number, sha256, "
        "(SELECT digest FROM entries WHERE key = ? AND kind = 'charge') "
        "FROM (SELECT number, sha256 FROM entries ORDER BY number DESC LIMIT 1) AS last LEFT JOIN people ON name = ?",
        *(key, name),
    )
    if row[0] is None:
        raise check_unknown(name, place)
    return PopulationState(*row)


class StoredCharge(NamedTuple):
    """A charge as the tables have it: its entry, its people now, what was kept under it, and the end of the chain.

    draw: None where there is an answer, which it went into.
    """

    number: int
    sha256: str
    units: int
    people: tuple[Any, ...]
    answer: bytes | None
    draw: bytes | None
    last: LastEntry


def find_charge(run: Run, key: str) -> StoredCharge | None:
    """The charge under a key, in one statement."""
    found = run(
        "SELECT own.number, own.sha256, own.units, people.name, rule, epsilon, delta, budget, spent, answers.content, "
        "CASE WHEN answers.content IS NULL THEN draws.content END, last.number, last.sha256 "
        "FROM (SELECT number, sha256 FROM entries ORDER BY number DESC LIMIT 1) AS last CROSS JOIN entries AS own "
        "JOIN people ON people.name = own.people "
        "LEFT JOIN entries AS stored ON stored.key = own.key AND stored.kind = 'answer' "
        "LEFT JOIN answers ON answers.entry = stored.number LEFT JOIN draws ON draws.entry = own.number "
        "WHERE own.kind = 'charge' AND own.key = ?",
        key,
    )
    if not found:
        return None
    number, digest, units, *people, answer, draw, last, mark = found[0]
    return StoredCharge(number, digest, units, tuple(people), _bytes(answer), _bytes(draw), LastEntry(last, mark))


def _bytes(content: Any) -> bytes | None:
    return None if content is None else bytes(content)


def last_entry(run: Run) -> LastEntry:
    """The end of the chain; of an empty one, what its first entry names as the one before it."""
    rows = run("SELECT number, sha256 FROM entries ORDER BY number DESC LIMIT 1")
    return LastEntry(*rows[0]) if rows else LastEntry(0, START)


def digest_at(run: Run, number: int) -> str:
    """The digest of the entry of this number; of none, what a first entry names as the one before it."""
    rows = run("SELECT sha256 FROM entries WHERE number = ?", number)
    return rows[0][0] if rows else START


def first_key(run: Run) -> str | None:
    """The ledger's id, once it has begun."""
    rows = run("SELECT key FROM entries WHERE number = 1")
    return rows[0][0] if rows else None


def list_populations(run: Run) -> list[Population]:
    """All people, in the order of their names."""
    return [as_people(*row) for row in run(f"{EVERYBODY} ORDER BY name")]


def find_population(run: Run, name: str) -> Population | None:
    rows = run(f"{EVERYBODY} WHERE name = ?", name)
    return as_people(*rows[0]) if rows else None


def check_known(run: Run, name: str, place: str) -> Population:
    """The people of this name; a `LedgerError` if there are none."""
    found = find_population(run, name)
    if found is None:
        raise check_unknown(name, place)
    return found


def check_unknown(name: str, place: str) -> LedgerError:
    return LedgerError(f"people must be in the ledger, got {name!r}; inbounds ledger init {place} --people …")


def as_people(
    name: str, rule: Rule, epsilon: str | None, delta: str | None, budget: int | None, spent: int
) -> Population:
    """People as their row has them."""
    return Population(name, rule, _fraction(epsilon), _fraction(delta), budget, spent)


@lru_cache(maxsize=256)
def _fraction(text: str | None) -> Fraction | None:
    return None if text is None else Fraction(text)


def page_after(run: Run, last: int) -> list[Entry]:
    """The next entries after one."""
    found = run(
        "SELECT number, time, kind, people, units, key, digest, facts, previous, sha256 "
        "FROM entries WHERE number > ? ORDER BY number LIMIT ?",
        *(last, PAGE),
    )
    return [Entry(*row) for row in found]


def all_entries(run: Run) -> Iterator[Entry]:
    last = 0
    while page := page_after(run, last):
        yield from page
        last = page[-1].number


def draw_under(run: Run, charge: int) -> bytes | None:
    """What was drawn under the charge of this number."""
    rows = run("SELECT content FROM draws WHERE entry = ?", charge)
    return bytes(rows[0][0]) if rows else None


def stored_answers(run: Run) -> Iterator[tuple[int, str]]:
    """Entry and digest of every stored answer, one at a time: answers may be large."""
    for (number,) in run("SELECT entry FROM answers ORDER BY entry"):
        ((content,),) = run("SELECT content FROM answers WHERE entry = ?", number)
        yield number, sha256_hex(bytes(content))


def stored_draws(run: Run) -> dict[int, str]:
    """The charge and digest of every stored draw, read one at a time as answers are."""
    charges = [number for (number,) in run("SELECT entry FROM draws ORDER BY entry")]
    return {number: sha256_hex(draw_under(run, number) or b"") for number in charges}
