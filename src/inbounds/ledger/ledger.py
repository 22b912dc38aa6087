"""The ledger: what was spent on whom, so that it is never overspent, by anyone, in any crash.

One transaction is a request (key and digest of what is asked), a conditional charge, and an entry. It is durable
before the data is read. Then the answer is drawn and its bytes are stored, and only then anybody sees it:

    charge → (durable) → draw → store → (durable) → give out

Where the answer is computed from what was drawn, the draw is stored by itself before that begins, so that nothing
which fails while computing, and might fail for some draws alone, can have another one made:

    charge → (durable) → draw → store the draw → (durable) → compute → store the answer → (durable) → give out

The same key again returns the stored answer and costs nothing, or the stored draw to compute it from; if neither is
stored nobody ever saw one, and the caller decides whether to read the data again under the charge that is there. Of two
who draw at once one is stored, and both go on from that one. Nothing is ever refunded.
"""

import secrets
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from os import PathLike
from pathlib import Path
from time import time
from types import TracebackType
from typing import Any

from inbounds.errors import BudgetExceeded, LedgerError
from inbounds.exact import Number
from inbounds.files import canonical_json, detect_format, sha256_hex
from inbounds.ledger import queries
from inbounds.ledger.charges import Charge, ChargeRequest, Cost, StoredAnswer, price_units
from inbounds.ledger.entries import Entry, canonical_entry
from inbounds.ledger.population import Population, is_same_population, new_population, validate_name
from inbounds.ledger.queries import LastEntry, PopulationState
from inbounds.ledger.store import Run, Store
from inbounds.ledger.units import MOST, UNITS, Rule, format_units
from inbounds.ledger.verify import LedgerHead, LedgerReport, StoredContent, compare_heads, load_export, verify_entries
from inbounds.optional import to_pandas_frame, to_polars_frame

FORMAT, VERSION = "inbounds ledger", 1


@lru_cache(maxsize=1)
def format_time(second: int) -> str:
    """A second since 1970 as entries have it, in UTC."""
    return datetime.fromtimestamp(second, UTC).isoformat()


def new_id() -> str:
    return secrets.token_hex(16)


class Ledger:
    """A ledger in a store; `Ledger.open` for a file or a PostgreSQL database. clock, ids: for tests.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Ledger.open(folder + "/budget.db") as ledger:
    ...     made = ledger.add_population("pupils", epsilon=2)
    ...     receipt = ledger.charge("pupils", "0.5", key="term 1", purpose="how many like school")
    ...     print(ledger.people()[0])
    pupils: epsilon 0.5 of 2 spent, 1.5 left
    """

    def __init__(self, store: Store, *, clock: Callable[[], float] = time, ids: Callable[[], str] = new_id) -> None:
        if not hasattr(store, "look"):
            raise TypeError(f"store must be an open store, got {type(store).__name__}; ib.Ledger.open opens a file")
        self._store, self._clock, self._ids = store, clock, ids
        self.id = queries.first_key(store.look) or self._begin()

    @staticmethod
    def open(place: str | PathLike[str], *, create: bool = True) -> "Ledger":
        """The ledger in a file, or behind a postgresql:// URL; made where there is none, unless not `create`."""
        return Ledger(decode_stored(place, create=create))

    def _begin(self) -> str:
        with self._store.writing() as run:
            begun = queries.first_key(run)
            if begun is not None:  # somebody else was faster
                return begun
            made = validate_name(self._ids(), "id")
            self._append(
                run,
                queries.last_entry(run),
                "ledger",
                key=made,
                facts=canonical_json({"format": FORMAT, "version": VERSION}),
            )
            return made

    @property
    def place(self) -> str:
        """The file, or the URL without its password."""
        return self._store.place

    @property
    def brought_forward(self) -> str:
        """In words, that it was of an older version when it was opened; nothing otherwise."""
        taken = self._store.acquire
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

    def __str__(self) -> str:
        """Its place, and what was spent on whom, a line for each people."""
        return "\n".join([repr(self), *map(str, self.people())])

    def _repr_html_(self) -> str:
        """What a notebook shows: who, what was spent on them, what is left, and the head to compare with."""
        from inbounds.ledger.budget_page import notebook_view

        return notebook_view(self.place, self.head(), self.people())

    def to_pandas(self) -> Any:
        """A pandas frame with a row for each people; amounts as exact decimals in text."""
        return to_pandas_frame([who.to_json() for who in self.people()])

    def to_polars(self) -> Any:
        """A Polars frame with a row for each people; amounts as exact decimals in text."""
        return to_polars_frame([who.to_json() for who in self.people()])

    # --- people -------------------------------------------------------------------------------------------

    def add_population(
        self, name: str, epsilon: Number | None = None, rule: Rule = "sum", delta: Number | None = None
    ) -> Population:
        """People with a budget; without epsilon, what is spent on them is counted without a cap.

        rule: "sum" (pure epsilons add up) or "zcdp" (for epsilon at delta; many small questions cost less together).
        The same people again are returned as they are; with another budget or rule they are refused.
        """
        made = new_population(validate_name(name, "people"), epsilon, rule, delta)
        with self._store.writing() as run:
            there = queries.find_population(run, name)
            if there is not None:
                return is_same_population(there, made)
            facts = (str(made.epsilon) if made.epsilon else None, str(made.delta) if made.delta else None)
            run("INSERT INTO people VALUES (?, ?, ?, ?, ?, 0)", name, rule, *facts, made.budget_units)
            said = {"rule": rule, "epsilon": facts[0], "delta": facts[1]}
            self._append(run, queries.last_entry(run), "people", name, made.budget_units, facts=canonical_json(said))
        return made

    def raise_budget(self, people: str, epsilon: Number, *, purpose: str = "") -> Population:
        """Raise the budget of people to `epsilon` in all, under their rule; an entry says so. It never falls."""
        there = self.population(people)
        after = new_population(
            people, epsilon, there.rule, there.delta
        )  # rule and delta never change; zCDP takes its time
        with self._store.writing() as run:
            before = queries.check_known(run, people, self.place)
            if before.budget_units is None:
                way = "create people with a budget under another name, and name them in plans from now on"
                raise ValueError(f"people must have a budget to raise, got {people}, counted without a cap; {way}")
            assert after.budget_units is not None
            if after.budget_units < before.budget_units:
                raise ValueError(f"epsilon must be at least the budget it raises, {before.epsilon}, got {epsilon}")
            if after.budget_units > before.budget_units:
                values = after.budget_units, str(after.epsilon), people
                run("UPDATE people SET budget = ?, epsilon = ? WHERE name = ?", *values)
                said = {"epsilon": str(after.epsilon), "purpose": purpose and validate_name(purpose, "purpose")}
                self._append(
                    run, queries.last_entry(run), "budget", people, after.budget_units, facts=canonical_json(said)
                )
            return queries.check_known(run, people, self.place)

    def people(self) -> list[Population]:
        """Everybody in the ledger, in the order of their names."""
        return queries.list_populations(self._store.look)

    def population(self, name: str) -> Population:
        """The people of this name; a `LedgerError` if there are none."""
        return queries.check_known(self._store.look, name, self.place)

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
        """Spend epsilon on people; durable when this returns. `BudgetExceeded` names what is left, and charges nothing.

        key: the request's name; the same key again with the same content returns the same charge and costs nothing,
        with other content it is refused; a random one without. parts: the epsilons of independent parts that make
        up the whole, which zCDP adds up one by one. question: plain values that say what is asked, for the digest.
        """
        price = Cost.from_epsilon(epsilon, parts)
        request = ChargeRequest.from_arguments(people, price, self._ids() if key is None else key, purpose, question)
        with self._store.writing() as run:
            before = queries.population_state(run, people, request.key, self.place)
            return self._charge(run, request, before) if before.digest is None else self._again(run, request, before)

    def find(self, key: str) -> Charge | None:
        """The charge under a key, with its answer if one is stored; nothing is charged."""
        kept = queries.find_charge(self._store.look, key)
        return None if kept is None else _as_charge(key, kept)

    def has(self, key: str) -> bool:
        """Whether something was charged under a key."""
        return bool(self._store.look("SELECT 1 FROM entries WHERE kind = 'charge' AND key = ?", key))

    def store(self, charge: Charge, content: bytes) -> bytes:
        """Keep the answer of a charge; durable when this returns. What is returned, and nothing else, may be given out.

        Whoever stores first wins: the bytes that are there already are returned, and these discarded.
        """
        _check_bytes(content, "an answer")
        with self._store.writing() as run:
            there = self._acknowledge(run, charge)
            if there.answer is not None:
                return there.answer
            facts = canonical_json({} if there.draw is None else {"draw": sha256_hex(there.draw)})
            last, name = there.last, there.people[0]
            number, _ = self._append(run, last, "answer", name, key=charge.key, digest=sha256_hex(content), facts=facts)
            run("INSERT INTO answers VALUES (?, ?)", number, content)
        return content

    def store_draw(self, charge: Charge, content: bytes) -> bytes:
        """Keep what was drawn under a charge, before anything is computed from it; durable when this returns.

        The answer is computed from what is returned and nothing else: whoever stores first wins, as with `store`. Bytes
        whose number depends on what was drawn would let a full disk choose between draws; give all draws as many.
        """
        _check_bytes(content, "a draw")
        with self._store.writing() as run:
            there = self._acknowledge(run, charge)
            if there.draw is not None:
                return there.draw
            if there.answer is None:  # else it is answered, by somebody who kept no draw; `store` returns that
                run("INSERT INTO draws VALUES (?, ?)", there.number, content)
        return content

    def _acknowledge(self, run: Run, charge: Charge) -> queries.StoredCharge:
        """The charge as it is there now, with what was stored under it."""
        there = queries.find_charge(run, charge.key)
        if there is None or there.sha256 != charge.sha256:
            raise LedgerError(f"{self.place} lost a charge that it had acknowledged; no answer is given out")
        return there

    def stored_answers(
        self, people: str, epsilon: Number, draw: Callable[[Charge], bytes], *, key: str, **asked: Any
    ) -> StoredAnswer:
        """The whole protocol: charge, draw if no answer is stored, store, return what is stored.

        draw reads the data, and is called only when the charge is durable. asked: as of `charge`.
        """
        charge = self.charge(people, epsilon, key=key, **asked)
        if charge.answer is not None:
            return StoredAnswer(charge.answer, charge, drawn=False)
        content = draw(charge)
        kept = self.store(charge, content)
        return StoredAnswer(kept, charge, drawn=kept == content)

    def _charge(self, run: Run, request: ChargeRequest, before: PopulationState) -> Charge:
        """The condition is checked here, as the only writer, and by the database itself (`CHECK (spent <= budget)`)."""
        units, spent = price_units(before.rule, request.price), before.spent
        asked, budget = format_units(before.rule, units), before.budget or MOST
        if units > budget - spent:
            left = format_units(before.rule, budget - spent)
            raise BudgetExceeded(request.people, asked, left, format_units(before.rule, budget), UNITS[before.rule])
        run("UPDATE people SET spent = spent + ? WHERE name = ?", units, request.people)
        last, what = LastEntry(before.number, before.sha256), (request.key, request.digest, request.facts)
        number, digest = self._append(run, last, "charge", request.people, units, *what)
        return Charge(request.key, number, digest, before.people(spent + units), asked)

    def _again(self, run: Run, request: ChargeRequest, before: PopulationState) -> Charge:
        """The charge that is there under the same key, if it is for the same."""
        if before.digest != request.digest:
            raise LedgerError(
                f"key must be new for another question, price or people, got {request.key!r} of an earlier charge; "
                "give another key"
            )
        there = queries.find_charge(run, request.key)
        assert there is not None  # its digest was
        return _as_charge(request.key, there)

    def _append(
        self,
        run: Run,
        last: LastEntry,
        kind: str,
        people: str | None = None,
        units: int | None = None,
        key: str | None = None,
        digest: str | None = None,
        facts: str = "{}",
    ) -> LastEntry:
        """The next entry of the chain: its number and digest."""
        values = (
            last.number + 1,
            format_time(int(self._clock())),
            kind,
            people,
            units,
            key,
            digest,
            facts,
            last.sha256,
        )
        signed = sha256_hex(canonical_entry(*values))
        run("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", *values, signed)
        return LastEntry(last.number + 1, signed)

    # --- reading ------------------------------------------------------------------------------------------

    def entries(self) -> Iterator[Entry]:
        """Every entry, the first first."""
        last = 0
        while True:
            with self._store.reading() as run:  # page by page: whoever reads may charge in between
                page = queries.page_after(run, last)
            yield from page
            if not page:
                return
            last = page[-1].number

    def head(self) -> LedgerHead:
        """How many entries there are and the digest of the last: kept elsewhere, it shows a ledger that was cut off."""
        return LedgerHead(self.id, *queries.last_entry(self._store.look))

    def check_continues(self, head: LedgerHead) -> None:
        """A `LedgerError` unless the chain goes through a head that was seen before; only that entry is looked up."""
        with self._store.reading() as run:
            found, mark = LedgerHead(self.id, *queries.last_entry(run)), queries.digest_at(run, head.entries)
        compare_heads(self.place, found, head, mark)

    def verify(self, head: LedgerHead | None = None) -> LedgerReport:
        """Walk the chain, add everything up again, and compare; a `LedgerError` says what is wrong.

        head: one kept elsewhere; the ledger must hold its last entry.
        """
        problems = self._store.guards()
        if problems:
            raise LedgerError(f"{self.place} was changed: {'; '.join(problems)}")
        with self._store.reading() as run:
            kept = StoredContent(queries.stored_answers(run), queries.stored_draws(run))
            return verify_entries(self.place, queries.all_entries(run), queries.list_populations(run), kept, head)


def _as_charge(key: str, kept: queries.StoredCharge) -> Charge:
    """The receipt of a charge that was there before."""
    who = queries.as_people(*kept.people)
    cost = format_units(who.rule, kept.units)
    return Charge(key, kept.number, kept.sha256, who, cost, kept.answer, repeated=True, draw=kept.draw)


def _check_bytes(content: object, name: str) -> None:
    if not isinstance(content, bytes):
        raise TypeError(f"{name} must be bytes, got {type(content).__name__}; encode it")


def decode_stored(place: str | PathLike[str], *, create: bool) -> Store:
    """The store behind a path or URL."""
    if isinstance(place, str) and place.startswith(("postgresql://", "postgres://")):
        from inbounds.ledger.postgres import Postgres

        return Postgres(place, create=create)
    if isinstance(place, str) and "://" in place:
        raise ValueError("a ledger must be a file or a postgresql:// URL; give another place")
    from inbounds.ledger.sqlite import Sqlite

    return Sqlite(Path(place), create=create)


def verify_ledger(
    place: str, head: LedgerHead | None = None, *, tell: Callable[[str], None] = lambda sentence: None
) -> LedgerReport:
    """What is true of a ledger, or of an exported one; `tell` hears that an older one was brought forward."""
    if "://" not in place and detect_format(place) == FORMAT:
        return load_export(place, head)
    with Ledger.open(place, create=False) as ledger:
        if ledger.brought_forward:
            tell(ledger.brought_forward)
        return ledger.verify(head)
