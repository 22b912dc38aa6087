"""The ledger: what was spent on whom, so that it is never overspent, by anyone, in any crash.

One transaction is a request (key and digest of what is asked), a conditional charge, and an entry. It is durable
before the data is read. Then the answer is drawn and its bytes are stored, and only then anybody sees it:

    charge → (durable) → draw → store → (durable) → give out

The same key again returns the stored answer and costs nothing; if none is stored none ever left, so it is drawn now,
under the charge that is there. Of two who draw at once one is stored, and both give out that one. Nothing is ever
refunded.
"""

import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from json.encoder import encode_basestring_ascii as quoted
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any

from inbounds.errors import LedgerError, OverBudget
from inbounds.files import canonical, format_of, sha256
from inbounds.ledger.amounts import MOST, RULES, UNITS, Rule, allowance, amount, cost
from inbounds.ledger.checking import Head, Verified, load_export, verified
from inbounds.ledger.entries import START, Entry
from inbounds.ledger.people import People, as_name
from inbounds.ledger.store import Run, Store
from inbounds.numbers import Number, as_epsilon, exact

FORMAT, VERSION = "inbounds ledger", 1

PAGE = 10_000
"""Entries that are read at once."""

AFTER = (
    "SELECT number, time, kind, people, units, key, digest, facts, previous, sha256 "
    "FROM entries WHERE number > ? ORDER BY number LIMIT ?"
)
"""The next entries, as `Entry` takes them."""


@dataclass(frozen=True)
class Charge:
    """A receipt: the charge is durable, and whoever holds this may read the data.

    people: they, right after the charge. amount: exact, in their unit. answer: what was stored for this key before.
    repeated: the charge was there already, and cost nothing now.
    """

    key: str
    number: int
    sha256: str
    people: People
    amount: Fraction
    answer: bytes | None = None
    repeated: bool = False


@dataclass(frozen=True)
class Answer:
    """What may be given out: the stored bytes. drawn: they are those of this call's draw."""

    content: bytes
    charge: Charge
    drawn: bool


@dataclass(frozen=True)
class ChargeRequest:
    """What is asked of whom at what price, and its digest: all that must be equal when a key comes again.

    facts: canonical JSON of purpose and parts, as the entry has them. digest: of the canonical JSON of these, the
    people and the question; both written out because a charge does little else.
    """

    people: str
    parts: tuple[Fraction, ...]
    key: str
    facts: str
    digest: str

    @staticmethod
    def of(people: str, parts: Sequence[Fraction], key: str, purpose: str, question: Any) -> "ChargeRequest":
        names = as_name(people, "people"), as_name(key, "key")
        if purpose:
            as_name(purpose, "purpose")
        texts = _texts(tuple(parts))
        asked = f'"people":{quoted(people)},"purpose":{quoted(purpose)},"question":{canonical(question)}'
        facts = f'{{"parts":{texts},"purpose":{quoted(purpose)}}}'
        return ChargeRequest(names[0], tuple(parts), names[1], facts, sha256(f'{{"parts":{texts},{asked}}}'))


@lru_cache(maxsize=1024)
def _texts(parts: tuple[Fraction, ...]) -> str:
    """Canonical JSON of the parts of a price; most questions cost one of a few."""
    return canonical(list(map(str, parts)))


def now() -> datetime:
    return datetime.now(UTC)


def fresh_id() -> str:
    return secrets.token_hex(16)


class Ledger:
    """A ledger in a store; `Ledger.open` for a file or a PostgreSQL database. clock, ids: for tests.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Ledger.open(folder + "/budget.db") as ledger:
    ...     made = ledger.create_people("pupils", epsilon=2)
    ...     receipt = ledger.charge("pupils", "0.5", key="term 1", purpose="how many like school")
    ...     print(ledger.people()[0])
    pupils: epsilon 0.5 of 2 spent, 1.5 left
    """

    def __init__(self, store: Store, *, clock: Callable[[], datetime] = now, ids: Callable[[], str] = fresh_id) -> None:
        self._store, self._clock, self._ids = store, clock, ids
        with store.reading() as run:
            begun = _first(run)
        self.id = begun or self._begin()

    @staticmethod
    def open(place: str | PathLike[str], *, create: bool = True) -> "Ledger":
        """The ledger in a file, or behind a postgresql:// URL; made where there is none, unless not `create`."""
        return Ledger(stored(place, create=create))

    def _begin(self) -> str:
        with self._store.writing() as run:
            begun = _first(run)
            if begun is not None:  # somebody else was faster
                return begun
            made = as_name(self._ids(), "id")
            self._append(run, "ledger", key=made, facts=canonical({"format": FORMAT, "version": VERSION}))
            return made

    @property
    def place(self) -> str:
        """The file, or the URL without its password."""
        return self._store.place

    @property
    def brought_forward(self) -> str:
        """In words, that it was of an older version when it was opened; nothing otherwise."""
        taken = self._store.taken
        if not taken or taken[0] == 1:
            return ""
        return f"{self.place} was a ledger of version {taken[0] - 1} and was brought forward to {taken[-1]}"

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._store.close()

    def __repr__(self) -> str:
        return f"Ledger({self.place!r})"

    # --- people -------------------------------------------------------------------------------------------

    def create_people(
        self, name: str, epsilon: Number | None = None, rule: Rule = "sum", delta: Number | None = None
    ) -> People:
        """People with a budget; without epsilon, what is spent on them is counted without a cap.

        rule: "sum" (pure epsilons add up) or "zcdp" (for epsilon at delta; many small questions cost less together).
        The same people again are returned as they are; with another budget or rule they are refused.
        """
        made = declared(as_name(name, "people"), epsilon, rule, delta)
        with self._store.writing() as run:
            there = _people(run, name)
            if there:
                return _the_same(there[0], made)
            facts = (str(made.epsilon) if made.epsilon else None, str(made.delta) if made.delta else None)
            run("INSERT INTO people VALUES (?, ?, ?, ?, ?, 0)", name, rule, *facts, made.budget_units)
            said = {"rule": rule, "epsilon": facts[0], "delta": facts[1]}
            self._append(run, "people", people=name, units=made.budget_units, facts=canonical(said))
        return made

    def raise_budget(self, people: str, epsilon: Number, *, purpose: str = "") -> People:
        """Raise the budget of people to `epsilon` in all, under their rule; an entry says so. It never falls."""
        with self._store.writing() as run:
            before = _known(run, people, self.place)
            if before.budget_units is None:
                raise ValueError(f"people must have a budget to raise, got {people}, counted without a cap")
            after = declared(people, epsilon, before.rule, before.delta)
            assert after.budget_units is not None
            if after.budget_units < before.budget_units:
                raise ValueError(f"epsilon must be at least the budget it raises, {before.epsilon}, got {epsilon}")
            if after.budget_units > before.budget_units:
                values = after.budget_units, str(after.epsilon), people
                run("UPDATE people SET budget = ?, epsilon = ? WHERE name = ?", *values)
                said = {"epsilon": str(after.epsilon), "purpose": purpose and as_name(purpose, "purpose")}
                self._append(run, "budget", people=people, units=after.budget_units, facts=canonical(said))
            return _known(run, people, self.place)

    def people(self) -> list[People]:
        """Everybody in the ledger, in the order of their names."""
        with self._store.reading() as run:
            return _people(run)

    def about(self, name: str) -> People:
        """The people of this name; a `LedgerError` if there are none."""
        with self._store.reading() as run:
            return _known(run, name, self.place)

    # --- charges and answers ------------------------------------------------------------------------------

    def charge(
        self,
        people: str,
        epsilon: Number,
        *,
        key: str | None = None,
        purpose: str = "",
        parts: Sequence[Number] | None = None,
        question: Any = None,
    ) -> Charge:
        """Spend epsilon on people; durable when this returns. `OverBudget` names what is left, and charges nothing.

        key: the request's name; the same key again with the same content returns the same charge and costs nothing,
        with other content it is refused; a random one without. parts: the epsilons of independent parts that make
        up the whole, which zCDP adds up one by one. question: plain values that say what is asked, for the digest.
        """
        whole = _epsilon(epsilon)  # type: ignore[arg-type]
        each = (whole,) if parts is None else tuple(_epsilon(part) for part in parts)  # type: ignore[arg-type]
        if parts is not None and sum(each, Fraction(0)) != whole:
            raise ValueError(f"parts must add up to epsilon {whole}, got {sum(each, Fraction(0))}")
        request = ChargeRequest.of(people, each, self._ids() if key is None else key, purpose, question)
        with self._store.writing() as run:
            return self._again(run, request) or self._charge(run, request)

    def find(self, key: str) -> Charge | None:
        """The charge under a key, with its answer if one is stored; nothing is charged."""
        with self._store.reading() as run:
            return self._found(run, key)

    def store(self, charge: Charge, content: bytes) -> bytes:
        """Keep the answer of a charge; durable when this returns. What is returned, and nothing else, may be given out.

        Whoever stores first wins: the bytes that are there already are returned, and these discarded.
        """
        with self._store.writing() as run:
            there = self._found(run, charge.key)
            if there is None or there.sha256 != charge.sha256:
                raise LedgerError(f"{self.place} lost a charge that it had acknowledged; no answer is given out")
            if there.answer is not None:
                return there.answer
            number, _ = self._append(run, "answer", charge.people.name, key=charge.key, digest=sha256(content))
            run("INSERT INTO answers VALUES (?, ?)", number, content)
        return content

    def answered(
        self, people: str, epsilon: Number, draw: Callable[[Charge], bytes], *, key: str, **asked: Any
    ) -> Answer:
        """The whole protocol: charge, draw if no answer is stored, store, return what is stored.

        draw reads the data, and is called only when the charge is durable. asked: as of `charge`.
        """
        charge = self.charge(people, epsilon, key=key, **asked)
        if charge.answer is not None:
            return Answer(charge.answer, charge, drawn=False)
        content = draw(charge)
        kept = self.store(charge, content)
        return Answer(kept, charge, drawn=kept == content)

    def _charge(self, run: Run, request: ChargeRequest) -> Charge:
        before = _known(run, request.people, self.place)
        units = cost(before.rule, request.parts)
        spent = run(
            "UPDATE people SET spent = spent + ? WHERE name = ? AND coalesce(budget, ?) - spent >= ? RETURNING spent",
            *(units, request.people, MOST, units),
        )
        if not spent:
            budget = amount(before.rule, before.budget_units or MOST)
            asked = amount(before.rule, units)
            raise OverBudget(request.people, asked, budget - before.spent, budget, UNITS[before.rule])
        number, digest = self._append(run, "charge", request.people, units, request.key, request.digest, request.facts)
        return Charge(request.key, number, digest, before.having_spent(spent[0][0]), amount(before.rule, units))

    def _again(self, run: Run, request: ChargeRequest) -> Charge | None:
        """The charge that is there under the same key, if it is for the same."""
        found = run("SELECT digest FROM entries WHERE kind = 'charge' AND key = ?", request.key)
        if not found:
            return None
        if found[0][0] != request.digest:
            raise LedgerError(
                f"key must be new for another question, price or people, got {request.key!r} of an earlier charge; "
                "give another key"
            )
        return self._found(run, request.key)

    def _found(self, run: Run, key: str) -> Charge | None:
        rows = run("SELECT number, people, units, sha256 FROM entries WHERE kind = 'charge' AND key = ?", key)
        if not rows:
            return None
        number, name, units, digest = rows[0]
        who = _known(run, name, self.place)
        stored = run(
            "SELECT content FROM answers JOIN entries ON entry = number WHERE kind = 'answer' AND key = ?", key
        )
        content = bytes(stored[0][0]) if stored else None
        return Charge(key, number, digest, who, amount(who.rule, units), content, repeated=True)

    def _append(
        self,
        run: Run,
        kind: str,
        people: str | None = None,
        units: int | None = None,
        key: str | None = None,
        digest: str | None = None,
        facts: str = "{}",
    ) -> tuple[int, str]:
        """The next entry of the chain: its number and digest."""
        last = run("SELECT number, sha256 FROM entries ORDER BY number DESC LIMIT 1")
        number, previous = last[0] if last else (0, START)
        time = self._clock().astimezone(UTC).isoformat(timespec="seconds")
        values = (number + 1, time, kind, people, units, key, digest, facts, previous)
        signed = sha256(Entry(*values).content)
        run("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", *values, signed)
        return number + 1, signed

    # --- reading ------------------------------------------------------------------------------------------

    def entries(self) -> Iterator[Entry]:
        """Every entry, the first first."""
        last = 0
        while True:
            with self._store.reading() as run:  # page by page: whoever reads may charge in between
                page = run(AFTER, last, PAGE)
            yield from (Entry(*row) for row in page)
            if not page:
                return
            last = page[-1][0]

    def head(self) -> Head:
        """How many entries there are and the digest of the last: kept elsewhere, it shows a ledger that was cut off."""
        with self._store.reading() as run:
            ((number, digest),) = run("SELECT number, sha256 FROM entries ORDER BY number DESC LIMIT 1")
        return Head(self.id, number, digest)

    def verify(self, head: Head | None = None) -> Verified:
        """Walk the chain, add everything up again, and compare; a `LedgerError` says what is wrong.

        head: one kept elsewhere; the ledger must hold its last entry.
        """
        problems = self._store.guards()
        if problems:
            raise LedgerError(f"{self.place} was changed: {'; '.join(problems)}")
        with self._store.reading() as run:
            return verified(self.place, _all_entries(run), _people(run), _stored_answers(run), head)


@lru_cache(maxsize=1024, typed=True)
def _epsilon(value: Any) -> Fraction:
    """As `as_epsilon`; most questions cost one of a few prices."""
    return as_epsilon(value)


_FIXED = ("name", "rule", "epsilon", "delta", "budget_units")


def stored(place: str | PathLike[str], *, create: bool) -> Store:
    """The store behind a path or URL."""
    if isinstance(place, str) and place.startswith(("postgresql://", "postgres://")):
        from inbounds.ledger.postgres import Postgres

        return Postgres(place, create=create)
    if isinstance(place, str) and "://" in place:
        raise ValueError("a ledger must be a file or a postgresql:// URL; give another place")
    from inbounds.ledger.sqlite import Sqlite

    return Sqlite(Path(place), create=create)


def declared(name: str, epsilon: Number | None, rule: Rule, delta: Number | None) -> People:
    """People as they are declared, nothing spent yet."""
    if rule not in RULES:
        raise ValueError(f"rule must be one of {', '.join(RULES)}, got {rule!r}")
    if rule == "zcdp" and (epsilon is None or delta is None):
        raise ValueError("epsilon and delta must both be given under zcdp; the budget is the rho that converts to them")
    if rule == "sum" and delta is not None:
        raise ValueError("delta must not be given where epsilons add up; under rule zcdp it is")
    whole = None if epsilon is None else exact(epsilon, "epsilon")
    chance = None if delta is None else exact(delta, "delta")
    if whole is not None and not whole > 0:
        raise ValueError(f"epsilon must be positive, got {epsilon}")
    if chance is not None and not 0 < chance < 1:
        raise ValueError(f"delta must be between 0 and 1, got {delta}")
    return People(name, rule, whole, chance, None if whole is None else allowance(rule, whole, chance), 0)


def _the_same(there: People, made: People) -> People:
    if any(getattr(there, name) != getattr(made, name) for name in _FIXED):
        raise ValueError(f"people must have another name, got {there.name}, who are there already: {there}")
    return there


def _first(run: Run) -> str | None:
    rows = run("SELECT key FROM entries WHERE number = 1")
    return rows[0][0] if rows else None


def _people(run: Run, name: str | None = None) -> list[People]:
    """All people, or those of this name."""
    everybody = "SELECT name, rule, epsilon, delta, budget, spent FROM people"
    rows = run(f"{everybody} ORDER BY name") if name is None else run(f"{everybody} WHERE name = ?", name)
    return [People(row[0], row[1], _fraction(row[2]), _fraction(row[3]), row[4], row[5]) for row in rows]


def _known(run: Run, name: str, place: str) -> People:
    found = _people(run, name)
    if not found:
        raise LedgerError(f"people must be in the ledger, got {name!r}; inbounds ledger create {place} --people …")
    return found[0]


@lru_cache(maxsize=256)
def _fraction(text: str | None) -> Fraction | None:
    return None if text is None else Fraction(text)


def _all_entries(run: Run) -> Iterator[Entry]:
    last = 0
    while page := run(AFTER, last, PAGE):
        yield from (Entry(*row) for row in page)
        last = page[-1][0]


def _stored_answers(run: Run) -> Iterator[tuple[int, str]]:
    """Entry and digest of every stored answer, one at a time: answers may be large."""
    for (number,) in run("SELECT entry FROM answers ORDER BY entry"):
        ((content,),) = run("SELECT content FROM answers WHERE entry = ?", number)
        yield number, sha256(bytes(content))


def verify_ledger(
    place: str, head: Head | None = None, *, tell: Callable[[str], None] = lambda sentence: None
) -> Verified:
    """What is true of a ledger, or of an exported one; `tell` hears that an older one was brought forward."""
    if "://" not in place and format_of(place) == FORMAT:
        return load_export(place, head)
    with Ledger.open(place, create=False) as ledger:
        if ledger.brought_forward:
            tell(ledger.brought_forward)
        return ledger.verify(head)
